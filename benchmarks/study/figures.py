"""The figures of the study, each beside ours: level vectors, suppressed rows, rows out, classes and the sum of LM."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sfumato as sf
from benchmarks.study import inputs
from benchmarks.study.inputs import Case, release
from sfumato.core.registry import variant_name
from sfumato.search.lattice.samarati import Samarati

EXACT, SIX_DIGITS = 1e-9, 5e-7  # how far a loss may be off: the study's is printed in full, or with six digits
PLAIN = sf.Mondrian(cut="lower-median", categories="order")
FIRST = sf.Mondrian(cut="lower-median", dimension="first", categories="order")


@dataclass(frozen=True)
class Told:
    """What the study says of a run; None where it says nothing."""

    loss: float
    vector: tuple[int, ...] | None = None
    suppressed: int | None = None
    rows: int | None = None
    classes: int | None = None
    within: float = EXACT


@dataclass(frozen=True)
class Run:
    """One run of the study."""

    name: str
    case: Callable[[], Case]
    search: Any
    told: Told


SAMARATI = (
    Run(
        "Adult: age, gender, race, marital_status, k=10, maxsup=20",
        inputs.adult,
        Samarati(),
        Told(2.0554451968758, (1, 0, 1, 2), 7, 30155),
    ),
    Run("the same, least loss of the whole lattice", inputs.adult, sf.Optimal(),
        Told(1.1141447295714, (4, 0, 0, 1), 13, 30149)),
    Run("Bank as the study read it: age, job, k=3, maxsup=10", inputs.bank_as_read, Samarati(),
        Told(0.2893336015017, (3, 0), 6, 4514)),
    Run("Bank read rightly, job of height 3", inputs.bank, Samarati(), Told(1.0017695200177, (0, 3), 8, 4513)),
    Run("the same, least loss of the whole lattice", inputs.bank, sf.Optimal(),
        Told(0.2893332797115, (3, 0), 6, 4515)),
)  # fmt: skip
MONDRIAN = (
    Run("Adult: age, education_num; widest normalised range", inputs.adult_numbers, PLAIN,
        Told(0.2534571759985, classes=242)),
    Run("the same, first allowed column", inputs.adult_numbers, FIRST, Told(0.2807992699393, classes=254)),
    Run("Adult: age, education_num, hours_per_week; widest", lambda: inputs.adult_numbers("hours_per_week"), PLAIN,
        Told(0.4470501626507, classes=743)),
    Run("Bank: age, job; widest", inputs.bank_plain, PLAIN, Told(0.1549702103198, classes=131)),
    Run("Adult: age, education_num; the better balanced cut", inputs.adult_numbers, sf.Mondrian(),
        Told(0.0044540607, classes=549)),
    Run("Adult: with hours_per_week; the better balanced cut", lambda: inputs.adult_numbers("hours_per_week"),
        sf.Mondrian(), Told(0.0600935821, classes=1403)),
)  # fmt: skip


DEFAULTS = {  # table of the page: cases
    "samarati": (
        ("Adult: age, gender, race, marital_status, k=10, maxsup=20", inputs.adult),
        ("Bank: age, job, k=3, maxsup=10", inputs.bank),
    ),
    "mondrian": (
        ("Adult: age, education_num", inputs.adult_numbers),
        ("Adult: with hours_per_week", lambda: inputs.adult_numbers("hours_per_week")),
        ("Bank: age, job", inputs.bank_plain),
    ),
}


@dataclass(frozen=True)
class Draw:
    """A loss of Mondrian that is one random draw of many, as a whole number of parts, and the range of all draws."""

    name: str
    case: Callable[[], Case]
    loss: float
    numerator: int
    reachable: Mapping[str, float]  # by full enumeration of the choices
    within: float


DRAWS = (
    Draw("Adult: age, education_num", inputs.adult_numbers, 0.2577096464479936, 8511477,
         {"least": 0.247148, "greatest": 0.286694, "mean": 0.261020}, SIX_DIGITS),
    Draw("Bank as the study read it: age, job", inputs.bank_plain_as_read, 0.16187029719369647, 547277,
         {"least": 0.093883986, "greatest": 0.244517238}, EXACT),
)  # fmt: skip
SATISFYING = 20  # of the 60 nodes of Adult, k=10, maxsup=20
MINIMAL = {  # the k-minimal ones: sum of LM, suppressed
    (4, 0, 0, 1): (1.114145, 13),
    (4, 0, 1, 0): (2.000597, 9),
    (4, 1, 0, 0): (2.000928, 14),
    (1, 0, 1, 2): (2.055445, 7),
    (2, 1, 1, 1): (2.235980, 16),
    (3, 1, 0, 2): (2.257184, 15),
}


def compare(run: Run, file: Path | None = None) -> dict[str, Any]:
    """A run's figures: theirs, ours, and whether all that they tell agrees; its released table goes into a `file`."""
    done = release(run.case(), run.search)
    if file is not None:
        done.table.write_csv(file)
    levels = done.solution.levels
    ours = {
        "vector": None if levels is None else tuple(levels.values()),
        "suppressed": done.solution.verdict.suppressed,
        "rows": done.table.height,
        "classes": done.verification.classes[0]["classes"],
        "loss": done.solution.verdict.loss,
    }
    told = {name: getattr(run.told, name) for name in ours}
    same = [abs(ours["loss"] - run.told.loss) <= run.told.within]
    same += [told[name] == ours[name] for name in ours if name != "loss" and told[name] is not None]
    return {"run": run.name, "theirs": told, "ours": ours, "agree": all(same)}


def defaults() -> list[dict[str, Any]]:
    """What plain `sf.anonymize` loses on the same tables, under the same promise."""
    found = []
    for table, cases in DEFAULTS.items():
        for name, case in cases:
            done = inputs.default(case())
            verdict, classes = done.solution.verdict, done.verification.classes[0]["classes"]
            facts = {"suppressed": verdict.suppressed, "rows": done.table.height, "classes": classes}
            search = variant_name(type(done.search).__name__)
            found.append({"table": table, "run": name, "search": search, **facts, "loss": verdict.loss})
    return found


def minimal() -> dict[str, Any]:
    """Every node of Adult's lattice that satisfies k=10 with 20 suppressed, and the k-minimal ones among them."""
    case, found = inputs.adult(), {}
    for node in itertools.product(range(5), range(2), range(2), range(3)):
        try:
            verdict = release(case, "optimal", levels=dict(zip(case.quasi, node, strict=True))).solution.verdict
        except sf.errors.Infeasible:
            continue
        found[node] = (verdict.loss, verdict.suppressed)
    least = [a for a in found if not any(b != a and all(x <= y for x, y in zip(b, a, strict=True)) for b in found)]
    rows = []
    for node in sorted(least, key=lambda node: found[node]):
        (loss, suppressed), told = found[node], MINIMAL.get(node)
        agree = told is not None and abs(loss - told[0]) <= SIX_DIGITS and suppressed == told[1]
        theirs = {"loss": told[0], "suppressed": told[1]} if told else None
        rows.append(
            {"vector": node, "theirs": theirs, "ours": {"loss": loss, "suppressed": suppressed}, "agree": agree}
        )
    agree = len(found) == SATISFYING and set(least) == set(MINIMAL) and all(row["agree"] for row in rows)
    return {"nodes": 60, "satisfying": len(found), "told": SATISFYING, "minimal": rows, "agree": agree}


def random_choices(draw: Draw, reach: dict[str, Any]) -> dict[str, Any]:
    """What random choices of the column can give, beside what the study says of it."""
    published = reach["published"]
    agree = published["reached"] and abs(published["numerator"] / published["of"] - draw.loss) <= 1e-15
    agree = agree and all(abs(reach[name] - told) <= draw.within for name, told in draw.reachable.items())
    return {"run": draw.name, "published": draw.loss, "theirs": dict(draw.reachable), "ours": reach, "agree": agree}
