"""Top-down specialisation: the worked example of the paper, validity and maximality of the cut."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.policy import Policy
from sfumato.losses import LM
from sfumato.search.cuts.tds import TDS, _Cut
from sfumato.search.problem import Problem, counted
from tests.conformance.test_anonymize_then_verify import tables
from tests.fuzz import examples
from tests.rows import as_they_came

# The compressed table of the paper: education, sex, hours, records with class Y and N.
PAPER = [
    ("9th", "M", 30, 0, 3), ("10th", "M", 32, 0, 4), ("11th", "M", 35, 2, 3), ("12th", "F", 37, 3, 1),
    ("Bachelors", "F", 42, 4, 2), ("Bachelors", "F", 44, 4, 0), ("Masters", "M", 44, 4, 0),
    ("Masters", "F", 44, 3, 0), ("Doctorate", "F", 44, 1, 0),
]  # fmt: skip
EDUCATION = sf.wide(
    [
        ("9th", "Junior Sec.", "Secondary", "*"),
        ("10th", "Junior Sec.", "Secondary", "*"),
        ("11th", "Senior Sec.", "Secondary", "*"),
        ("12th", "Senior Sec.", "Secondary", "*"),
        ("Bachelors", "Bachelors", "University", "*"),
        ("Masters", "Grad School", "University", "*"),
        ("Doctorate", "Grad School", "University", "*"),
    ]
)


def paper() -> pl.DataFrame:
    rows = [(e, s, h, c) for e, s, h, y, n in PAPER for c in ["Y"] * y + ["N"] * n]
    return pl.DataFrame(rows, schema=["education", "sex", "hours", "class"], orient="row")


def problem_of(frame: pl.DataFrame, k: int, recipes: dict[str, Any], seen: str | None) -> Problem:
    from sfumato.core.microdata import microdata
    from sfumato.hierarchies import parse

    quasi = tuple(c for c in frame.columns if c not in ("class", "s"))
    roles = dict.fromkeys(quasi, "quasi") | ({seen: "sensitive"} if seen else {})
    micro = microdata(frame, roles, {name: parse(recipe) for name, recipe in recipes.items()})
    cells, _ = counted(micro, quasi, [seen] if seen else [])
    policy = Policy((quasi,), (sf.KAnonymity(k),), 0, LM())
    return Problem(tuple(micro.attribute(name) for name in quasi), cells, policy, frame.height)


def bits(*counts: int) -> float:
    return -sum(c / sum(counts) * math.log2(c / sum(counts)) for c in counts if c)


def test_scores_of_the_paper() -> None:
    """InfoGain(ANY_Edu) = 0.2716, AnonyLoss = 34 - 16 = 18, Score = 0.0143 with 4-anonymity on education and sex."""
    problem = problem_of(paper().drop("hours"), 4, {"education": EDUCATION, "sex": "flat"}, "class")
    cut = _Cut(problem, "class")
    cut.best()
    education, sex = cut.blocks[0][0], cut.blocks[1][0]
    assert education.gain == pytest.approx(bits(21, 13) - 16 / 34 * bits(5, 11) - 18 / 34 * bits(16, 2))
    assert education.gain == pytest.approx(0.2716, abs=1e-4)
    assert education.least == 16
    assert education.gain / (34 - 16 + 1) == pytest.approx(0.0143, abs=1e-4)
    assert sex.gain == pytest.approx(bits(21, 13) - 16 / 34 * bits(6, 10) - 18 / 34 * bits(15, 3))
    assert sex.least == 16


def test_release_of_the_paper() -> None:
    options = {"hierarchies": {"education": EDUCATION, "sex": "flat"}, "search": TDS("class"), "insensitive": ["class"]}
    release = sf.anonymize(paper(), quasi=["education", "sex", "hours"], require=sf.KAnonymity(4), **options)
    assert release.verification.holds
    assert release.table.group_by("education", "sex", "hours").len()["len"].min() >= 4
    assert release.solution.verdict.suppressed == 0
    assert set(release.table["education"]) != {"*"}


def labels_of(release: sf.Release, name: str) -> dict[str, str | None]:
    return dict(release.value_map().columns[name])


@pytest.mark.slow
@pytest.mark.parametrize("seen", [None, "s"])
def test_the_cut_is_valid_and_nothing_more_can_be_specialised(seen: str | None) -> None:
    rng = random.Random(str(seen))
    trees = {
        "a": [("p1", "p", "*"), ("p2", "p", "*"), ("q1", "q", "*"), ("q2", "q", "*"), ("r", "r", "*")],
        "b": [("u", "*"), ("v", "*")],
    }
    for _ in range(25):
        n = rng.randint(6, 40)
        table = {
            "a": [rng.choice([row[0] for row in trees["a"]]) for _ in range(n)],
            "b": [rng.choice("uv") for _ in range(n)],
            "n": [rng.randint(0, 6) for _ in range(n)],
            "s": [rng.choice("xyz") for _ in range(n)],
        }
        k = rng.randint(2, 4)
        hierarchies = {"a": sf.wide(trees["a"]), "b": "flat"}
        options = {"quasi": ["a", "b", "n"], "insensitive": ["s"], "hierarchies": hierarchies}
        release = sf.anonymize(table, require=sf.KAnonymity(k), search=TDS(seen), ends="exact", **options)
        assert release.verification.holds
        best = sf.anonymize(
            table,
            require=sf.KAnonymity(k),
            search="optimal",
            **(options | {"hierarchies": hierarchies | {"n": sf.flat()}}),
        )
        assert release.solution.verdict.suppressed == 0 == best.solution.verdict.suppressed
        # every label of the trees that has children: splitting it alone must break k
        there = as_they_came(release)
        rows = list(zip(*(there[c].to_list() for c in "abn"), strict=True))
        for name, at in (("a", 0), ("b", 1)):
            for label in set(there[name]):
                values = {v for v, t in zip(table[name], there[name], strict=True) if t == label}
                level = next(i for row in trees[name] for i, t in enumerate(row) if t == label and row[0] in values)
                if len(values) == 1 or level == 0:
                    continue
                child = {row[0]: row[level - 1] for row in trees[name]}
                split = [
                    (*row[:at], child[table[name][i]] if row[at] == label else row[at], *row[at + 1 :])
                    for i, row in enumerate(rows)
                ]
                assert min(split.count(row) for row in split) < k


def test_continuous_columns_are_cut_where_the_class_changes() -> None:
    table = {"hours": [30] * 10 + [31] * 10 + [44] * 10 + [45] * 10, "class": ["N"] * 20 + ["Y"] * 20}
    release = sf.anonymize(
        table, quasi=["hours"], require=sf.KAnonymity(20), search=TDS("class"), insensitive=["class"], ends="exact"
    )
    assert set(release.table["hours"]) == {"[30, 31]", "[44, 45]"}


def test_levels_bound_the_cut() -> None:
    options = {
        "quasi": ["education"],
        "require": sf.KAnonymity(1),
        "search": "tds",
        "hierarchies": {"education": EDUCATION},
    }
    release = sf.anonymize(paper().select("education"), levels={"education": (1, 2)}, **options)
    assert set(release.table["education"]) == {"Junior Sec.", "Senior Sec.", "Bachelors", "Grad School"}
    with pytest.raises(sf.errors.PolicyError, match="on the fly"):
        sf.anonymize({"n": [1, 2]}, quasi=["n"], require=sf.KAnonymity(1), search="tds", levels={"n": 0})


def test_refusals() -> None:
    with pytest.raises(sf.errors.ColumnError, match="klass"):
        sf.anonymize(paper(), quasi=["sex"], rest="release", require=sf.KAnonymity(2), search=TDS("klass"))
    with pytest.raises(sf.errors.ColumnError):
        sf.anonymize(paper(), quasi=["sex"], rest="release", require=sf.KAnonymity(2), search=TDS("sex"))
    with pytest.raises(sf.errors.PolicyError):
        TDS(3)  # type: ignore[arg-type]
    with pytest.raises(sf.errors.Infeasible):
        sf.anonymize(
            paper(),
            quasi=["sex"],
            sensitive=["class"],
            rest="release",
            require=sf.DistinctLDiversity("class", 3),
            search="tds",
        )


@pytest.mark.slow
@settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    table=tables(),
    k=st.integers(1, 4),
    more=st.sampled_from([[], [sf.DistinctLDiversity("s", 2)], [sf.TCloseness("s", 0.4)]]),
    seen=st.booleans(),
)
def test_nasty_tables(table: dict[str, list[Any]], k: int, more: list[Any], seen: bool) -> None:
    quasi = [name for name in table if name.startswith("q")]
    try:
        release = sf.anonymize(
            table, quasi=quasi, sensitive=["s"], insensitive=[n for n in table if n not in (*quasi, "s")],
            require=[sf.KAnonymity(k), *more], search=TDS("s" if seen else None),
        )  # fmt: skip
    except (sf.errors.Infeasible, sf.errors.ColumnError) as no:
        assert str(no)
        return
    assert release.verification.holds
    assert release.table.height == len(table["s"])


def test_sets_of_columns_are_all_kept() -> None:
    names = ["education", "sex", "hours"]
    sets = [list(pair) for pair in itertools.combinations(names, 2)]
    release = sf.anonymize(paper(), quasi=sets, require=sf.KAnonymity(3), search="tds", insensitive=["class"])
    assert all(release.table.group_by(pair).len()["len"].min() >= 3 for pair in sets)
