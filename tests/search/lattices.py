"""Problems for the lattice searches, and every node judged the plain way."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.lattice import Node, lattice
from sfumato.core.policy import Policy
from sfumato.hierarchies import parse
from sfumato.losses import loss as parse_loss
from sfumato.search.problem import Problem, judge, level_columns, make_problem

ADULT = [
    "age", "work_class", "final_weight", "education", "education_num", "marital_status", "occupation", "relationship",
    "race", "gender", "capital_gain", "capital_loss", "hours_per_week", "native_country", "class",
]  # fmt: skip
NINE = [
    "sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation", "salary-class",
]  # fmt: skip
JOBS = {
    "admin.": "white-collar", "management": "white-collar", "blue-collar": "blue-collar", "housemaid": "blue-collar",
    "technician": "blue-collar", "services": "blue-collar", "self-employed": "self-employed",
    "entrepreneur": "self-employed", "unknown": "other", "unemployed": "other", "student": "other", "retired": "other",
}  # fmt: skip
GROUPS = {"white-collar": "employed", "blue-collar": "employed", "self-employed": "employed", "other": "other"}
RACE = sf.levels("person")
ZIP = sf.wide([(z, f"{z[:4]}*", f"{z[:3]}**") for z in ("02138", "02139", "02141")])
FIVE = [("asian", "02138"), ("asian", "02139"), ("asian", "02141"), ("black", "02138"), ("white", "02139")]


def posed(
    table: Mapping[str, Sequence[Any]] | pl.DataFrame,
    quasi: Sequence[str] | Sequence[Sequence[str]],
    require: Any,
    suppression: float | int = 0,
    loss: Any = "lm",
    hierarchies: Mapping[str, Any] | None = None,
    levels: Mapping[str, tuple[int, int]] | None = None,
) -> Problem:
    """A problem from a table and keywords, as `anonymize` takes them."""
    frame = table if isinstance(table, pl.DataFrame) else pl.DataFrame(dict(table), strict=False)
    sets = [quasi] if isinstance(quasi[0], str) else quasi
    criteria = tuple(require) if isinstance(require, list | tuple) else (require,)
    policy = Policy(tuple(tuple(s) for s in sets), criteria, suppression, parse_loss(loss))
    return make_problem(frame, policy, {name: parse(h) for name, h in (hierarchies or {}).items()}, levels or {})


def five(k: int, suppression: int, loss: Any = "lm") -> Problem:
    """Five people by race and ZIP."""
    table = {"race": [race for race, _ in FIVE], "zip": [code for _, code in FIVE]}
    return posed(table, ["race", "zip"], sf.KAnonymity(k), suppression, loss, {"race": RACE, "zip": ZIP})


def study(shared: Path, k: int = 10, suppression: int = 20) -> Problem:
    """Adult as the study has it."""
    table = sf.read(shared / "data/adult/adult.data", header=False).rename(lambda c: ADULT[int(c.split("_")[1]) - 1])
    table = table.filter(~pl.any_horizontal(pl.all() == "?"))
    quasi = ["age", "gender", "race", "marital_status"]
    trees = {"age": sf.intervals(5, 10, 20)} | {c: str(shared / f"data/adult/adult_{c}.txt") for c in quasi[1:]}
    return posed(table, quasi, sf.KAnonymity(k), suppression, sf.LM(aggregate="sum"), trees)


def bank(shared: Path, k: int, rows: slice = slice(None), levels: Any = None) -> Problem:
    """Bank with a job hierarchy of height 3; the study read it without its first row, and never generalised job."""
    table = sf.read(shared / "data/bank/bank.csv")[rows].select("age", "job")
    trees = {"age": sf.intervals(5, 10, 20), "job": sf.levels(JOBS, GROUPS, "*")}
    return posed(table, ["age", "job"], sf.KAnonymity(k), 10, sf.LM(aggregate="sum"), trees, levels)


def nine(shared: Path, suppression: float, require: Any = None) -> Problem:
    """Adult with all nine columns."""
    table = sf.read(shared / "data/arx/adult.csv")
    quasi = [name for name in NINE if require is None or name not in require.needs]
    trees = {c: str(shared / f"data/arx/adult_hierarchy_{c}.csv") for c in quasi}
    return posed(table, quasi, [sf.KAnonymity(5), *([require] if require else [])], suppression, "lm", trees)


def every(problem: Problem) -> dict[Node, Any]:
    """The verdict on every node, by grouping the labels it prints."""
    whole = lattice(problem.attributes, problem.levels)
    ranges = [range(low, high + 1) for low, high in zip(whole.least, whole.greatest, strict=True)]
    return {node: judge(problem, level_columns(problem, node))[1] for node in itertools.product(*ranges)}


def minimal(verdicts: Mapping[Node, Any]) -> list[Node]:
    """The satisfying nodes of which no other satisfying one is smaller in no place."""
    good = [node for node, verdict in verdicts.items() if verdict.satisfied]
    return [n for n in good if not any(m != n and all(a <= b for a, b in zip(m, n, strict=True)) for m in good)]


LETTERS = st.sampled_from(["a1", "a2", "b1", "b2", "c1", None])
TREE = sf.wide([(v, v[0], "ab" if v[0] in "ab" else "c", "*") for v in ("a1", "a2", "b1", "b2", "c1")])
CRITERIA = st.sampled_from(
    [
        [],
        [sf.DistinctLDiversity("s", 2)],
        [sf.EntropyLDiversity("s", 1.7)],
        [sf.RecursiveCLDiversity("s", 2.0, 2)],
        [sf.TCloseness("s", 0.4)],
        [sf.AlphaK(0.7, 2, "s")],
    ]
)


@st.composite
def problems(draw: st.DrawFn, more: Any = CRITERIA) -> Problem:
    """Small tables with hierarchies given or learned, missing values, level bounds, and one or two sets."""
    rows = draw(st.integers(1, 18))
    values = {"a": LETTERS, "b": st.integers(0, 6), "c": st.sampled_from("xy")}
    names = list(values)[: draw(st.integers(1, 3))]
    table = {name: draw(st.lists(values[name], min_size=rows, max_size=rows)) for name in names}
    table["s"] = draw(st.lists(st.sampled_from("pqr"), min_size=rows, max_size=rows))
    schema = {"a": pl.String, "b": pl.Int64, "c": pl.String, "s": pl.String}
    frame = pl.DataFrame(table, schema={name: schema[name] for name in table})
    sets = [["a", "b"], ["b", "c"]] if len(names) == 3 and draw(st.booleans()) else [names]
    trees = {"a": TREE} if draw(st.booleans()) else {}
    require = [sf.KAnonymity(draw(st.integers(1, 4))), *draw(more)]
    loss = draw(st.sampled_from(["lm", "discernibility", "height", "precision", "c-avg", "ncp"]))
    problem = posed(frame, sets, require, draw(st.sampled_from([0, 0, 1, 2, 0.3, 1.0])), loss, trees)
    if not draw(st.booleans()):
        return problem
    first = problem.attributes[0]
    low = draw(st.integers(0, first.ladder.height))
    bounds = {first.name: (low, draw(st.integers(low, first.ladder.height)))}
    return posed(frame, sets, require, problem.policy.suppression, loss, trees, bounds)


def prunable(problem: Problem) -> bool:
    """Whether the searches that prune take the criteria."""
    return problem.limit == 0 or all(c.monotonicity == "superset" for c in problem.policy.require)


def refused(search: Any, problem: Problem, name: str) -> None:
    """A search says that it cannot prune, and what to do."""
    with pytest.raises(sf.errors.PolicyError, match=f"{name} prunes the lattice.*suppress"):
        search(problem)
