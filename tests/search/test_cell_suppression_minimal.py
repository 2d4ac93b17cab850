"""Minimal local suppression: as few cells as brute force finds, importance, and the wildcard rule."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.microdata import microdata
from sfumato.core.policy import Policy
from sfumato.losses import loss as parse_loss
from sfumato.release.recode import recode
from sfumato.release.verify import verify_table
from sfumato.search.problem import Partition, Problem, Solution, counted, deal
from sfumato.search.suppression.minimal import MinimalSuppression
from tests.conformance.test_anonymize_then_verify import CALM, smallest_class, tables
from tests.fuzz import examples
from tests.search.lattices import posed
from tests.search.test_cell_suppression import JOBS, best_partition, frame

KEYS = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]
VALUE = st.sampled_from([0, 1, 2, None])
Row = tuple[Any, ...]


def suppressed(
    table: pl.DataFrame, k: int, search: MinimalSuppression, loss: Any = "lm"
) -> tuple[pl.DataFrame, Solution]:
    """The released table and the solution, as the verb makes them."""
    names = tuple(table.columns)
    policy = Policy((names,), (sf.KAnonymity(k),), 0, parse_loss(loss))
    micro = microdata(table, dict.fromkeys(names, "quasi"), {})
    cells, cell_of_row = counted(micro, names, ())
    solution = search(Problem(micro.schema, cells, policy, table.height))
    assert isinstance(solution.recoding, Partition)
    if solution.recoding.split is not None:
        cell_of_row = deal(cell_of_row, solution.recoding.split, np.zeros(table.height, np.int64))
    _, columns = recode(table, micro, solution, cell_of_row, names)
    return pl.DataFrame(columns), solution


def lost(before: pl.DataFrame, after: pl.DataFrame) -> dict[str, int]:
    """Cells that went per column; none may change otherwise, and none may appear."""
    count = {}
    for name in before.columns:
        was, now = before[name].cast(pl.String), after[name].cast(pl.String)
        assert (now.is_null() | (now == was)).all()
        count[name] = int((now.is_null() & was.is_not_null()).sum())
    return count


def match(one: Row, two: Row) -> bool:
    return all(a == b or a is None or b is None for a, b in zip(one, two, strict=True))


def without(row: Row, columns: Sequence[int]) -> Row:
    return tuple(None if i in columns else value for i, value in enumerate(row))


def fewest_own(rows: list[Row], k: int) -> int:
    """Each row alone: the fewest cells without which it matches k rows of the table."""
    total = 0
    for row in rows:
        known = [i for i, value in enumerate(row) if value is not None]
        total += next(
            size
            for size in range(len(known) + 1)
            for columns in itertools.combinations(known, size)
            if sum(match(without(row, columns), other) for other in rows) >= k
        )
    return total


def fewest(rows: list[Row], k: int) -> int:
    """Any cells of the table, by size."""
    cells = [(r, i) for r, row in enumerate(rows) for i, value in enumerate(row) if value is not None]
    for size in range(len(cells) + 1):
        for gone in itertools.combinations(cells, size):
            after = [without(row, [i for s, i in gone if s == r]) for r, row in enumerate(rows)]
            if all(sum(match(one, other) for other in after) >= k for one in after):
                return size
    raise AssertionError("blank rows all match")


def class_price(rows: list[Row]) -> int:
    """Cells with a value, in the columns in which a class differs; missing is a value."""
    price = 0
    for column in zip(*rows, strict=True):
        price += sum(v is not None for v in column) if len(set(column)) > 1 else 0
    return price


@settings(max_examples=examples(80), deadline=None, suppress_health_check=CALM)
@given(rows=st.lists(st.tuples(VALUE, VALUE, VALUE), min_size=3, max_size=7), k=st.integers(2, 3))
def test_as_few_as_brute_force_by_value(rows: list[Row], k: int) -> None:
    table = frame(rows).cast(pl.Int64)
    after, solution = suppressed(table, k, MinimalSuppression())
    assert sum(lost(table, after).values()) == best_partition(
        len(rows), k, lambda members: class_price([rows[r] for r in members])
    )
    assert solution.proven is not None
    assert solution.verdict.satisfied


@pytest.mark.slow
@settings(max_examples=examples(40), deadline=None, suppress_health_check=CALM)
@given(rows=st.lists(st.tuples(VALUE, VALUE, VALUE), min_size=3, max_size=4), k=st.integers(2, 3))
def test_as_few_as_brute_force_by_wildcard(rows: list[Row], k: int) -> None:
    table = frame(rows).cast(pl.Int64)
    for search, best in (
        (MinimalSuppression("wildcard"), fewest_own(rows, k)),
        (MinimalSuppression("wildcard", matches="release"), fewest(rows, k)),
    ):
        after, solution = suppressed(table, k, search)
        assert sum(lost(table, after).values()) == best
        assert solution.proven is not None
        assert verify_table(after, [after.columns], [sf.KAnonymity(k)], wildcard=True).holds


@pytest.mark.slow
@settings(max_examples=examples(30), deadline=None, suppress_health_check=CALM)
@given(seed=st.integers(0, 10**6), k=st.integers(2, 4))
def test_the_heuristic_is_near_the_optimum(seed: int, k: int) -> None:
    """Beyond the exact limit: never below the bound of each row alone, proven only where it meets that."""
    rng = np.random.default_rng(seed)
    rows = [tuple(row) for row in rng.integers(0, 3, (24, 4)).tolist()]
    table = frame(rows)
    after, solution = suppressed(table, k, MinimalSuppression(rounds=30))
    cells, bound = sum(lost(table, after).values()), fewest_own(rows, k)
    assert bound <= cells
    assert (solution.proven is not None) == (cells == bound)
    assert smallest_class(after, after.columns) >= k
    release, _ = suppressed(table, k, MinimalSuppression("wildcard", matches="release"))
    assert sum(lost(table, release).values()) <= min(cells, (k - 1) * 4)
    assert verify_table(release, [release.columns], [sf.KAnonymity(k)], wildcard=True).holds


@settings(max_examples=examples(40), deadline=None, suppress_health_check=CALM)
@given(seed=st.integers(0, 10**6), matches=st.sampled_from(["table", "release"]))
def test_nothing_is_suppressed_in_vain(seed: int, matches: str) -> None:
    """Giving back any one cell breaks the rule that was asked for."""
    rng = np.random.default_rng(seed)
    rows = [tuple(row) for row in rng.integers(0, 3, (30, 4)).tolist()]
    table = frame(rows)
    after, _ = suppressed(table, 3, MinimalSuppression("wildcard", matches=matches))
    shown = [tuple(None if v is None else int(v) for v in row) for row in after.iter_rows()]
    for r, row in enumerate(shown):
        for i, value in enumerate(row):
            if value is None:
                back = [*shown[:r], tuple(rows[r][j] if j == i else v for j, v in enumerate(row)), *shown[r + 1 :]]
                others = rows if matches == "table" else back
                changed = [back[r]] if matches == "table" else back
                assert any(sum(match(one, other) for other in others) < 3 for one in changed)


@pytest.mark.slow
def test_testdata(shared: Path) -> None:
    """sdcMicro suppresses 293 cells in the 281 rows that are rare."""
    table = sf.read(shared / "data/sdc/testdata.csv").select(KEYS)
    oracle = json.loads((shared / "oracles/sdc.json").read_text())["local_suppression"]["testdata_k3"]
    after, solution = suppressed(table, 3, MinimalSuppression("wildcard", importance=oracle["importance"]))
    per_column = lost(table, after)
    assert sum(per_column.values()) == 283 < oracle["total"] == 293
    assert solution.proven is not None
    assert solution.verdict.loss == pytest.approx(283 / 4580 / 7)
    assert max(per_column, key=lambda name: per_column[name]) == "relat"
    assert per_column["urbrur"] < 20
    rows = pl.any_horizontal(after[name].is_null() for name in KEYS)
    assert after.select(rows.sum()).item() == oracle["records_touched"] == 281
    assert verify_table(after, [KEYS], [sf.KAnonymity(3)], wildcard=True).promises[0].measured == 3
    least, _ = suppressed(table, 3, MinimalSuppression("wildcard", matches="release"))
    assert sum(lost(table, least).values()) <= 14  # two rows without any value match all others
    assert verify_table(least, [KEYS], [sf.KAnonymity(3)], wildcard=True).holds
    own, _ = suppressed(table, 3, MinimalSuppression())
    assert 357 <= sum(lost(table, own).values()) <= 370  # 357 is the optimum, by integer programming
    assert verify_table(own, [KEYS], [sf.KAnonymity(3)]).holds


def test_importance_and_weights() -> None:
    """Two rows that differ in two columns: the column that matters less goes, unless it costs more than both."""
    table = pl.DataFrame({"a": [1, 1, 2, 2], "b": [1, 2, 1, 2], "c": [1, 1, 1, 1]})
    assert lost(table, suppressed(table, 2, MinimalSuppression(importance={"a": 1, "b": 2}))[0])["b"] == 4
    assert lost(table, suppressed(table, 2, MinimalSuppression(importance={"a": 2, "b": 1}))[0])["a"] == 4
    wild = MinimalSuppression("wildcard", importance={"a": 2, "b": 1})
    assert lost(table, suppressed(table, 2, wild)[0]) == {"a": 4, "b": 0, "c": 0}
    table = pl.DataFrame({"a": [1, 2], "b": [1, 1], "c": [1, 1]})
    assert lost(table, suppressed(table, 2, MinimalSuppression(weights={"a": 5.0}))[0])["a"] == 2
    rows = pl.DataFrame({"a": [1, 1, 2], "b": [1, 2, 2], "c": [3, 4, 4], "d": [1, 2, 2]})
    cheap = suppressed(rows, 2, MinimalSuppression("wildcard", weights={"a": 9.0}))[0]
    dear = suppressed(rows, 2, MinimalSuppression("wildcard"))[0]
    assert lost(rows, cheap) == {"a": 1, "b": 2, "c": 2, "d": 2}
    assert lost(rows, dear) == {"a": 2, "b": 1, "c": 1, "d": 1}


def test_missing_values_match_anything() -> None:
    """Under the wildcard rule a row with a missing value is a match already; as a value of its own it is none."""
    table = pl.DataFrame({"a": [1, 1, 2, 2], "b": [1, None, 2, 2]})
    after, _ = suppressed(table, 2, MinimalSuppression("wildcard"))
    assert sum(lost(table, after).values()) == 0
    own, _ = suppressed(table, 2, MinimalSuppression())
    assert lost(table, own) == {"a": 0, "b": 1}
    assert own["b"].to_list()[:2] == [None, None]


@settings(max_examples=examples(120), deadline=None, suppress_health_check=CALM)
@given(
    table=tables(),
    k=st.integers(1, 4),
    matches=st.sampled_from(["table", "release"]),
    loss=st.sampled_from(["lm", "c-avg", "ncp"]),
)
def test_whatever_the_table_by_wildcard(table: dict[str, list[Any]], k: int, matches: str, loss: str) -> None:
    names = [name for name in table if name.startswith("q")]
    quasi = pl.DataFrame({name: pl.Series(name, table[name], strict=False) for name in names})
    search = MinimalSuppression("wildcard", matches=matches)
    if quasi.height < k:
        with pytest.raises(sf.errors.Infeasible):
            suppressed(quasi, k, search, loss)
        return
    after, solution = suppressed(quasi, k, search, loss)
    assert verify_table(after, [names], [sf.KAnonymity(k)], wildcard=True).holds
    assert after.height == quasi.height
    assert np.isfinite(solution.verdict.loss)


@pytest.mark.slow
def test_many_columns() -> None:
    """More sets of columns than are tried: still k rows, and no cell in vain under the wildcard rule."""
    rng = np.random.default_rng(5)
    table = pl.DataFrame({f"q{i}": rng.integers(0, 3, 60) for i in range(16)})
    after, solution = suppressed(table, 3, MinimalSuppression("wildcard"))
    assert verify_table(after, [after.columns], [sf.KAnonymity(3)], wildcard=True).holds
    assert solution.proven is None
    own, _ = suppressed(table, 3, MinimalSuppression(rounds=20))
    assert smallest_class(own, own.columns) >= 3
    assert sum(lost(table, own).values()) < 0.8 * 60 * 16


def test_what_is_refused() -> None:
    for wrong in (
        {"rule": "any"}, {"matches": "rows"}, {"rounds": 0}, {"importance": [1, 2]}, {"importance": {"a": 0}},
        {"importance": {"a": 1.5}}, {"weights": {"a": -1}}, {"weights": {"a": "x"}},
        {"importance": {"a": 1}, "weights": {"a": 1}},
    ):  # fmt: skip
        with pytest.raises(sf.errors.PolicyError, match="minimal-suppression"):
            MinimalSuppression(**wrong)
    with pytest.raises(sf.errors.PolicyError, match=r"no quasi-identifier.*did you mean"):
        MinimalSuppression(importance={"jobs": 1})(posed(JOBS, list(JOBS), sf.KAnonymity(2)))
    table = JOBS | {"illness": ["HIV", "HIV", "flu", "fever", "flu", "fever"]}
    diverse = posed(table, list(JOBS), [sf.KAnonymity(2), sf.DistinctLDiversity("illness", 2)])
    with pytest.raises(sf.errors.PolicyError, match="wildcard rule is for k-anonymity"):
        MinimalSuppression("wildcard")(diverse)
    assert MinimalSuppression("wildcard").wildcard
    assert not MinimalSuppression().wildcard


def test_with_other_criteria_no_minimum_is_claimed() -> None:
    """Six rows are solved exactly for k-anonymity; classes that alpha then refuses are united, which may cost more."""
    table = pl.DataFrame({"a": [0, 0, 1, 1, 2, 2], "b": [0, 1, 0, 1, 0, 1], "s": list("xxxyyy")})
    options: dict[str, Any] = {"quasi": ["a", "b"], "search": "minimal-suppression"}
    plain = sf.anonymize(table.drop("s"), **options, require=sf.KAnonymity(2))
    alpha = sf.anonymize(table, **options, sensitive=["s"], require=sf.AlphaK(0.5, 2, "s"))
    assert plain.solution.proven
    assert not alpha.solution.proven
    assert alpha.table.null_count().sum_horizontal()[0] >= plain.table.null_count().sum_horizontal()[0]
