"""What the studio shows of the library has its line in every language: forms, messages, progress, reasons."""

from __future__ import annotations

import ast
from collections import defaultdict
from itertools import islice, product
from pathlib import Path

import pytest

import sfumato
from sfumato import errors
from sfumato.report.translation import Missing, translated
from sfumato.studio.tasks import forms
from sfumato.studio.texts import Texts
from tests.syntax import tree_of

SOURCE = Path(sfumato.__file__).parent
# Where messages come from that a steward meets: pages, files, hierarchies, criteria, searches, policies, signatures.
SAID_BY = [
    "studio", "policyfile", "hierarchies", "criteria", "losses", "search", "core/forms.py", "core/hierarchy.py",
    "core/lattice.py", "core/parameters.py", "core/policy.py", "core/roles.py", "core/spelling.py", "engines/atomic.py",
    "engines/files/delimited.py", "engines/files/forms.py", "engines/files/read.py", "engines/files/source.py",
    "engines/files/table.py", "engines/sql/connect.py", "engines/sql/link.py", "engines/sql/table.py",
    "engines/sql/types.py", "measures/standards/thresholds.py", "release/about.py", "release/pipeline.py",
    "release/request.py", "release/signature.py", "release/verify.py", "service/address.py", "service/client.py",
    "verbs/inspect.py", "masking", "pseudonyms", "synthetic", "core/masked.py", "verbs/mask.py", "verbs/synthesize.py",
    "verbs/steps.py", "dp/account.py", "tables",
]  # fmt: skip
# Of the shell, or of Python alone.
NOT_SHOWN = {
    "studio/server.py", "criteria/audit.py", "criteria/named.py", "hierarchies/spec.py", "policyfile/dump.py",
    "policyfile/baskets.py", "policyfile/stream.py", "policyfile/control.py", "search/mondrian/goals.py",
    "pseudonyms/rotation.py", "synthetic/combining.py", "synthetic/model.py", "tables/given.py",
    "policyfile/fragments.py", "policyfile/mine.py", "pseudonyms/sealed_cells.py", "search/fragments/slicing.py",
    *(f"criteria/sets/{name}.py" for name in ("fragmentation", "l_diverse_slicing", "loose_association")),
}  # fmt: skip
ERRORS = {name for name in vars(errors) if isinstance(getattr(errors, name), type)} - {"MissingExtra", "Path"}
PROGRESS = {"report_progress", "progress", "report"}
HOLE = "\0"
FILLED = ("x", "12", '"x"', "", "12 rows", 'did you mean "x"?')  # what may stand in a hole
PARTS = {  # of sentences that are put together elsewhere
    f"{HOLE} has {HOLE}:",
    "a table of a database is",
    "several files are",
    f"{HOLE} never read into memory; leave it out",
    f"an out-of-core original cannot be compared with{HOLE}",
    f"there is no PDF of an out-of-core release{HOLE}",
    "some cells are",
    f"{HOLE} does",
    "--suggest names one and its cost, ",
    f"{HOLE} says {HOLE}",
    f'{HOLE}. hierarchies={{{HOLE}: "learned"}} takes them for numbers',
    f"{HOLE}, though {HOLE} so. Codes are whole numbers or texts: make them such first",
    f'{HOLE}. hierarchies={{{HOLE}: "flat"}} takes them for codes',
    f"{HOLE}, which would give the suppressed rows away",
    f'{HOLE}: "{HOLE}" has {HOLE}',
    f"{HOLE} in {HOLE}",
    f"{HOLE} as many values as rows: {HOLE}",
    f"column {HOLE} has",
    f"columns {HOLE} have",
    f"drop {HOLE}",
    f"{HOLE} {HOLE} no public domain",
    f"{HOLE} are reversed, equal or not finite",
    f"{HOLE} have a cut point more than twice, or too many",
    f"{HOLE} have a missing one among them",
    f"{HOLE} have one twice, or are too many",
    f"{HOLE} of people",
    f'the values of "{HOLE}"',
    f"this is no formula: {HOLE}",
    f"{HOLE}: {HOLE} differ{HOLE} within {HOLE}",
    f"{HOLE}, given the others: no table has them all",
    f'"{HOLE}": {HOLE} of the table {HOLE} not',
    f"one, or {HOLE}",
    f'{HOLE} {HOLE} of "{HOLE}" stand for two different cells, such as a value called "{HOLE}", or a town and a region'
    " of one name",
}
# Parameters as they are written.
WRITTEN = {
    '{"age": (0, 120)}, in the shell bounds=age:0|120', "keep, order", "rank", "a and b", "share", "top=100000", "keep",
    "k=3 or threshold=0.1", "size=1000 or fraction=0.1", f"length={HOLE}", 'to="out/"', "=, != or in",
    "for example: weight / (height * height)",
}  # fmt: skip


def written(node):
    """The texts that an expression may be, with marks for what varies."""
    match node:
        case ast.Constant(value=str(text)):
            return [text.replace("{}", HOLE)]
        case ast.JoinedStr():
            return ["".join(part.value if isinstance(part, ast.Constant) else HOLE for part in node.values)]
        case ast.IfExp():
            return written(node.body) + written(node.orelse)
        case ast.BinOp(op=ast.Add()):
            return [a + b for a in written(node.left) or [HOLE] for b in written(node.right) or [HOLE]]
    return []


def arguments(call):
    """What of a call is shown to people."""
    name = getattr(call.func, "id", getattr(call.func, "attr", ""))
    if name in ERRORS or name == "refuse":
        return [*call.args[:1], *(one.value for one in call.keywords if one.arg in ("allowed", "hint"))]
    if name in ("Reason", "Suggestion"):
        return call.args[-1:]
    if name == "RiskThreshold":
        return call.args[1:2]
    faults = name == "append" and "fault" in getattr(getattr(call.func, "value", None), "id", "")
    return call.args[:1] if faults or name in PROGRESS | {"tell", "meant"} else []


def shown(path):
    """All texts of a file that are shown; a name stands for what its function gives it."""
    found = set()
    for scope in ast.walk(tree_of(path)):
        if not isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef | ast.Module):
            continue
        named = defaultdict(list)
        for node in ast.walk(scope):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                named[node.targets[0].id] += written(node.value)
        for node in ast.walk(scope):
            for one in arguments(node) if isinstance(node, ast.Call) else ():
                found.update(named[one.id] if isinstance(one, ast.Name) else written(one))
    return {text for text in found if any(letter.isalpha() for letter in text)}


def has_line(text):
    """Whether there is a line for a text, whatever fills its holes."""
    parts = text.split(HOLE)
    for filled in islice(product(FILLED, repeat=len(parts) - 1), 4000):
        missing = Missing()
        translated("".join(a + b for a, b in zip(parts, (*filled, ""), strict=True)), "it", missing)
        if not missing:
            return True
    return False


def files():
    """The files whose messages are shown."""
    places = [SOURCE / place for place in SAID_BY]
    found = [path for place in places for path in ([place] if place.is_file() else sorted(place.rglob("*.py")))]
    return [path for path in found if path.relative_to(SOURCE).as_posix() not in NOT_SHOWN]


@pytest.mark.slow
def test_messages_are_translated():
    found = {path: shown(path) for path in files()}
    assert sum(map(len, found.values())) > 600, "the patterns find few"
    lacking = {
        f"{path.relative_to(SOURCE)}: {text}"
        for path, texts in found.items()
        for text in texts - PARTS - WRITTEN
        if not has_line(text)
    }
    assert sorted(lacking) == []


def test_a_message_without_a_line_is_found(tmp_path):
    file = tmp_path / "new.py"
    file.write_text('def f(n):\n    what = f"no {n} anywhere"\n    raise PolicyError(what, hint="look elsewhere")\n')
    assert shown(file) == {f"no {HOLE} anywhere", "look elsewhere"}
    assert not any(map(has_line, shown(file)))


def test_all_parts_of_a_message_are_told():
    error = errors.PolicyError("the policy of the project has 2 faults:", [
        '[roles] quasi: quasi names a column "agee" that the table does not have; did you mean "age"?',
        "[[require]] 1 k: k-anonymity: k is out of range; got 0; allowed: a whole number >= 1",
    ])  # fmt: skip
    assert Texts("it").said(str(error)).splitlines() == [
        "la politica del progetto ha 2 errori:",
        '  - [roles] quasi: quasi indica una colonna "agee" che la tabella non ha; intendevi "age"?',
        "  - [[require]] 1 k: k-anonymity: k è fuori dai limiti; dato: 0; ammesso: un numero intero >= 1",
    ]
    assert Texts("en").said(str(error)) == str(error)


KINDS = (
    "criteria", "searches", "losses", "hierarchies", "steps", "generators", "rules", "protections", "verbs",
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_titles_summaries_and_parameters_are_translated(kind):
    missing = Missing()
    for one in forms.variants(kind, None).values():
        said = [one["stops"], one["leaves"], *(parameter["help"] for parameter in one["parameters"])]
        for text in (*said, *([one["summary"]] if kind != "criteria" else [])):
            translated(text, "it", missing)
    assert missing == []


def test_every_criterion_says_what_it_stops_and_what_it_leaves_open():
    for name, one in forms.variants("criteria", None).items():
        assert one["stops"], name
        assert one["leaves"], name
