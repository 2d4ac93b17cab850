"""Criteria for one set of quasi-identifiers each: every promise that is printed holds, counted anew in plain Python."""

from __future__ import annotations

import random
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato import errors
from sfumato.criteria import criterion
from sfumato.search import SEARCHES
from tests.conformance.plain import class_holds, table_holds
from tests.fuzz import FUZZ, slow_but

COLUMNS = ["a", "b", "c"]
SETS = [["a"], ["b"], ["a", "b"], ["b", "c"], ["c", "a"], ["a", "b", "c"]]
ONE_SET = {  # searches that take one set of quasi-identifiers
    "k-optimize", "iterated", "refined", "k-member", "one-pass-k-means", "top-down", "bottom-up", "alpha-k-local",
    "mu-argus", "forest-suppression", "greedy-suppression", "forest-generalisation", "minimal-suppression",
}  # fmt: skip
BRIEF = {"genetic": sf.Genetic(evaluations=300), "annealing": sf.Annealing(evaluations=300)}


def drawn(rng: random.Random, rows: int = 40) -> dict[str, list[Any]]:
    """A small table, one number, two texts and two secrets."""
    return {
        "a": [rng.choice([20, 21, 25, 30, 38, 51]) for _ in range(rows)],
        "b": [rng.choice(["p1", "p1", "p2", "q1", "q2"]) for _ in range(rows)],
        "c": [rng.choice("xyyz") for _ in range(rows)],
        "s": [rng.choice("uuvw") for _ in range(rows)],
        "t": [rng.choice("mmn") for _ in range(rows)],
    }


def asked(rng: random.Random) -> list[Any]:
    """Some criteria, each for a set or for all."""
    made = [
        lambda q: sf.KAnonymity(rng.choice([2, 3, 5, 8]), quasi=q),
        lambda q: sf.DistinctLDiversity("s", rng.choice([2, 3]), quasi=q),
        lambda q: sf.EntropyLDiversity("t", 1.4, quasi=q),
        lambda q: sf.AlphaK(0.8, 2, "s", quasi=q),
        lambda q: sf.TCloseness("t", 0.4, quasi=q),
        lambda q: sf.AverageRisk(0.2, quasi=q),
    ]
    return [rng.choice(made)(rng.choice([*SETS, None])) for _ in range(rng.choice([1, 2, 3, 4]))]


def keeps(released: pl.DataFrame, quasi: list[str], one: Any, whole: Counter[str] | None) -> bool:
    """Whether released rows keep a criterion over some columns."""
    classes: dict[tuple[str, ...], list[str]] = {}
    secret = one.needs[0] if one.needs else None
    for row in released.iter_rows(named=True):
        classes.setdefault(tuple(str(row[name]) for name in quasi), []).append("" if secret is None else row[secret])
    whole = whole or Counter(value for values in classes.values() for value in values)
    sizes = [len(values) for values in classes.values()]
    return table_holds(one, sizes) and all(class_holds(one, v, whole, sorted(whole), {}) for v in classes.values())


def proven(release: Any, require: list[Any], table: dict[str, list[Any]]) -> None:
    """Each criterion is promised for its set, or for all, and each promise holds in the released table."""
    data = release.table if release.in_memory else pl.read_parquet(release.path / release.manifest["files"][0]["file"])
    promises = release.manifest["promises"]
    sets = [set(names) for names in release.manifest["policy"]["quasi"]]
    for one in require:
        mine = [p for p in promises if p["model"] == one.model and p["bound"] == one.bound]
        over = sets if one.quasi is None else [set(one.quasi)]
        assert all(any(set(p["quasi"]) == names for p in mine) for names in over)
    for promise in promises:
        one = criterion(promise["model"], **promise["parameters"])
        assert one.quasi is None or one.quasi == tuple(promise["quasi"])
        whole = Counter(table[one.needs[0]]) if one.uses_overall_distribution else None
        assert keeps(data, promise["quasi"], one, whole)
    assert {name for names in sets for name in names} == {n for c in require for n in c.quasi or COLUMNS}


@pytest.mark.parametrize(
    "search",
    slow_but(
        [
            n
            for n in SEARCHES
            if n not in ONE_SET and not SEARCHES[n].example.private and not SEARCHES[n].example.fragments
        ],
        "optimal",
        "incognito",
        "mondrian",
        "attribute-suppression",
    ),
)
def test_every_promise_holds(search: str) -> None:
    made = 0
    for trial in range(4 * FUZZ):
        rng = random.Random(f"{search} {trial}")
        table, require = drawn(rng), asked(rng)
        free = all(c.quasi for c in require)
        roles = {"quasi": COLUMNS} if not free or rng.random() < 0.3 else {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found = sf.anonymize(
                    table, **roles, require=require, search=BRIEF.get(search, search), rest="release",
                    suppression=rng.choice([0, 4, 12]),
                    hierarchies={"b": sf.wide([(v, v[0], "*") for v in ("p1", "p2", "q1", "q2")])},
                )  # fmt: skip
            except (errors.Infeasible, errors.PolicyError):
                continue
        made += 1
        proven(found, require, table)
        assert sf.verify(found.table, **roles, require=require).holds or any(
            c.uses_overall_distribution for c in require
        )
    assert made or search in ("samarati", "incognito", "ola", "spalm", "tuple-suppression", "tds")


def test_every_promise_of_a_file_holds(tmp_path: Path) -> None:
    made = 0
    for trial in range(6 * FUZZ):
        rng = random.Random(f"file {trial}")
        table, require = drawn(rng), asked(rng)
        pl.DataFrame(table).write_csv(tmp_path / "in.csv")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found = sf.anonymize(
                    sf.scan(tmp_path / "in.csv"), quasi=COLUMNS, require=require, rest="release",
                    suppression=rng.choice([0, 8]), to=tmp_path / f"out{trial}",
                )  # fmt: skip
            except (errors.Infeasible, errors.PolicyError):
                continue
        made += 1
        proven(found, require, table)
        assert sf.verify(tmp_path / f"out{trial}").holds
    assert made


@pytest.mark.parametrize("search", sorted(ONE_SET))
def test_searches_of_one_set_refuse_several(search: str) -> None:
    require = [sf.KAnonymity(2, quasi=["a", "b"]), sf.KAnonymity(3, quasi=["b", "c"])]
    with pytest.raises(errors.PolicyError, match="set"):
        sf.anonymize(drawn(random.Random(1)), require=require, search=search, rest="release")
