"""No Python in what the shell says: each hint names a flag, or the key of a policy file."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import sfumato
from sfumato.cli.phrases import PHRASES, in_flags
from sfumato.errors import MissingExtra
from tests.syntax import tree_of

from .conftest import Run, policy_text

PYTHON = re.compile(
    r"\bsf\.\w|\bsfumato\.\w+\(|=\[|\b[a-z_]+=\"|\b[a-z_]+=(?:True|False|None)\b|\b[a-zA-Z_]+\([^()\s][^()]*\)"
)
# said where no command leads: to somebody who has a Release, an open connection or a class of their own in hand
ELSEWHERE = (
    "rename one of them, or drop the index: frame.reset_index(drop=True)",  # of frames
    'unseen="suppress" withholds such rows, unseen="generalise" gives them a coarser label',  # of sf.Anonymizer
    'the path of a folder, or sf.Folder("out", format="csv")',
    'the path of a folder, sf.Folder("out", format="csv"), or for a database sf.Table("release")',
    "read its data with sf.read, sf.scan or sf.Database; the verbs take the release as it is",
    "sf.register makes a class a ",
    'metric="gower"',
    "releases=[second]",
    'previous="first/", or None for the first',
    'state="stream.state"',  # of a streaming frame of Spark
    'name a column: person="id"',  # of a new snapshot
    'protect it, and write it by safe.save("earlier/")',  # of what is no path
    '{"size": [sf.QuerySetSize(3)]}',  # of sf.attack_controls
    "value maps are written by release.value_map().save(path)",
)
QUASI = ("--quasi", "age,zip,sex")


def messages() -> Iterator[tuple[str, str]]:
    """The texts of the source that are raised or warned with: hints, what is allowed, what is wrong."""
    package = Path(sfumato.__file__).parent
    for path in sorted(package.rglob("*.py")):
        if path.relative_to(package).parts[0] in ("report", "comparing", "testing", "cli"):
            continue
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Raise):
                found: list[ast.AST] = [node]
            elif isinstance(node, ast.keyword) and node.arg in ("hint", "allowed", "got"):
                found = [node.value]
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                named = node.targets[0].id.lower()
                found = [node.value] if named in ("hint", "what", "load", "instead", "why", "told") else []
            else:
                continue
            for part in (inner for one in found for inner in ast.walk(one)):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield f"{path.name}:{part.lineno}", part.value


@pytest.mark.slow
def test_every_message_of_the_library_has_words_for_the_shell() -> None:
    found = dict(messages())
    assert len(found) > 500
    python = {at: text for at, text in found.items() if PYTHON.search(in_flags(text)) and text not in ELSEWHERE}
    assert python == {}


@pytest.mark.slow
def test_every_phrase_is_still_said() -> None:
    package = Path(sfumato.__file__).parent
    files = [path for path in package.rglob("*.py") if path.relative_to(package).parts[0] not in ("cli", "report")]
    said = "\n".join(text for path in files for text in _texts(path))
    own = r"\bsf\.suggest"  # the warning has words of its own for the shell
    stale = []
    for phrase, words in PHRASES.items():
        if not re.search(phrase, said) and not phrase.startswith(own):
            stale.append(phrase)
        said = re.sub(phrase, words, said)  # a phrase may be made of those before it
    assert stale == []


def _texts(path: Path) -> Iterator[str]:
    """The texts of a file; what is filled in is a number or a name."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.JoinedStr):
            for filled in ("7", '"a"'):
                yield "".join(str(part.value) if isinstance(part, ast.Constant) else filled for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@pytest.mark.parametrize(
    "arguments",
    [
        ("anonymize", "patients.csv", *QUASI, "--k", "4", "-o", "out"),  # a name has no role
        ("anonymize", "patients.csv", "--quasi", "agee", "--k", "0", "--loss", "nop", "--search", "none", "-o", "out"),
        ("anonymize", "patients.csv", *QUASI, "--k", "99", "--identifying", "name", "-o", "out"),
        ("anonymize", "patients.csv", *QUASI, "--k", "4", "--levels", "age=1", "--search", "mondrian", "-o", "out"),
        ("anonymize", "patients.csv", *QUASI, "--k", "4", "--hierarchy", "age=nonsense", "-o", "out"),
        ("anonymize", "patients.csv", *QUASI, "--k", "4", "--order", "sideways", "-o", "out"),
        ("anonymize", "patients.csv", *QUASI, "--k", "4", "--normalise", "age", "-o", "out"),
        ("anonymize", "patients.csv", *QUASI, "--require", "t-closeness disease", "-o", "out"),
        ("anonymize", "patients.csv", *QUASI, "--k", "4", "--stream", "--search", "minimal-suppression", "-o", "out"),
        ("anonymize", "patients.csv", *QUASI, "--k", "4", "--stream", "--max-cells", "2", "-o", "out"),
        ("anonymize", "patients.csv", *QUASI, "--k", "4", "--search", "samarati by=minimal", "-o", "out"),
        ("anonymize", "patients.csv", *QUASI, "--quasi", "age", "--k", "4", "--search", "k-member", "-o", "out"),
        ("anonymize", "two.csv", *QUASI, "--k", "4", "-o", "out"),
        ("anonymize", "twice.csv", "--quasi", "age", "--k", "4", "-o", "out"),
        ("anonymize", "strange.xyz", "--quasi", "age", "--k", "4", "-o", "out"),
        ("anonymize", "patients.csv", "--encoding", "utf-16", *QUASI, "--k", "4", "-o", "out"),
        ("anonymize", "policy.toml"),
        ("verify", "patients.csv", *QUASI),
        ("verify", "patients.csv", "--k", "3"),
        ("verify", "nowhere"),
        ("risk", "patients.csv"),
        ("risk", "patients.csv", *QUASI, "--population", "3"),
        ("risk", "patients.csv", *QUASI, "--stream", "--household", "zip"),
        ("utility", "patients.csv", "two.csv"),
        ("utility", "patients.csv", "patients.csv", "--key", "nope"),
        ("attack", "patients.csv"),
        ("attack", "patients.csv", *QUASI, "--external", "patients.csv", "--key", "nope"),
        ("attack", "--input", "oracle://host/db", "--table", "t"),
        ("inspect", "--input", "oracle://host/db", "--table", "t"),
        ("report", "patients.csv"),
        ("compare", "patients.csv", *QUASI, "--k", "4", "--search", "none"),
        ("lattice", "patients.csv", "--k", "4"),
        ("sign", "nowhere", "--key", "none.pem"),
    ],
)  # fmt: skip
def test_a_refusal_speaks_of_flags(run: Run, patients: Path, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    (tmp_path / "two.csv").write_text("age,zip\n30,1\n31\n")
    (tmp_path / "twice.csv").write_text("age,age\n30,1\n")
    (tmp_path / "strange.xyz").write_text("age\n30\n")
    (tmp_path / "policy.toml").write_text(policy_text(age="age = 5"))
    done = run(*arguments)
    assert done.code == 2
    assert done.err
    assert PYTHON.search(done.err) is None, done.err


def test_a_folder_that_exists_names_the_flag(run: Run, patients: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    done = run("anonymize", "patients.csv", *QUASI, "--k", "4", "-o", "out")
    assert "choose another folder, or give --overwrite" in done.err


def test_a_missing_extra_names_what_to_type() -> None:
    told = str(MissingExtra("fastexcel", "excel"))
    assert 'pip install "sfumato[excel]"' in told
    assert 'make setup, or .venv/bin/pip install -e ".[excel]"' in told
