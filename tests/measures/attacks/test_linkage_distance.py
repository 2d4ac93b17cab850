"""Distance-based linkage: tables worked by hand, brute force, and the two ends of protection."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import PolicyError
from sfumato.measures.attacks.linkage.distance import distance_linkage
from tests.fuzz import examples


def numbers(n: int, columns: int = 3, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame({f"x{i}": rng.normal(size=n) for i in range(columns)})


def mixed(n: int) -> pl.DataFrame:
    rng = np.random.default_rng(2)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "income": rng.lognormal(10, 1, n),
            "job": rng.choice(["a", "b", "c"], n),
            "sex": rng.choice(["f", "m"], n),
        }
    )


def test_four_rows() -> None:
    table = {"age": [21, 25, 33, 38], "income": [10, 20, 30, 40]}
    release = {"age": [22, 24, 24, 37], "income": [11, 19, 19, 42]}
    attack = distance_linkage(release, table)
    # rows 0 and 3 are nearest to their own; row 1 to its own and an equal one; row 2 went far
    assert attack.success == pytest.approx((1 + 0.5 + 0 + 1) / 4)
    assert attack.baseline == pytest.approx(1 / 4)
    assert attack.exposed == (0, 3, 1)
    assert attack.details["metric"] == "euclidean"


def test_standard_deviations_are_the_unit() -> None:
    # unscaled, income would decide and link row 0 to row 1; in standard deviations age does
    table = {"age": [0, 1, 0, 1], "income": [0, 1000, 3000, 4000]}
    release = {"age": [0, 1, 0, 1], "income": [900, 1000, 3000, 4000]}
    assert distance_linkage(release, table, ["age", "income"]).success == 1


def test_four_rows_of_gower() -> None:
    table = {"age": [20, 30, 40, 60], "sex": ["f", "m", "f", "m"]}
    release = {"age": [30, 30, 40, 60], "sex": ["f", "m", "m", "m"]}
    attack = distance_linkage(release, table)
    # row 0: its own is 10/40 of the range away, same sex: 1/8, the least; rows 1 and 3: nothing changed
    # row 2: its own has another sex: 1/2; record 0 is nearer, at 1/8
    assert attack.success == pytest.approx(3 / 4)
    assert attack.details["metric"] == "gower"


def brute(release: pl.DataFrame, table: pl.DataFrame) -> np.ndarray:
    """Credits by all distances, for columns of numbers (x) and names (n)."""
    total = np.zeros((table.height, release.height))
    for name in table.columns:
        ours, theirs = release[name].to_list(), table[name].to_list()
        known = [v for v in ours + theirs if v is not None]
        span = (max(known) - min(known) or 1) if name.startswith("x") and known else 1
        for i, a in enumerate(theirs):
            for j, b in enumerate(ours):
                if a is None or b is None:
                    total[i, j] += 0.5
                else:
                    total[i, j] += abs(a - b) / span if name.startswith("x") else a != b
    least = total.min(axis=1, keepdims=True)
    tied = total <= least + 1e-9
    return np.where(np.diag(tied), 1 / tied.sum(axis=1), 0.0)


@settings(max_examples=examples(60))
@given(data=st.data(), rows=st.integers(1, 25), nulls=st.booleans())
def test_gower_against_all_pairs(data: st.DataObject, rows: int, nulls: bool) -> None:
    number, text = st.integers(0, 6), st.sampled_from(["a", "b", "ß"])
    if nulls:
        number, text = number | st.none(), text | st.none()

    def table() -> pl.DataFrame:
        row = st.tuples(number, text, number)
        drawn = data.draw(st.lists(row, min_size=rows, max_size=rows))
        return pl.DataFrame(drawn, {"x": pl.Int64, "n": pl.String, "x2": pl.Int64}, orient="row")

    people, release = table(), table()
    attack = distance_linkage(release, people, metric="gower")
    assert attack.success == pytest.approx(float(brute(release, people).mean()))


@pytest.mark.parametrize("columns", [1, 2, 6])
def test_euclid_against_all_pairs(columns: int) -> None:
    table = numbers(700, columns)
    release = table + 0.3 * numbers(700, columns, seed=1)
    x, y = table.to_numpy(), release.to_numpy()
    far = (((x[:, None] - y[None]) / x.std(axis=0)) ** 2).sum(axis=2)
    assert distance_linkage(release, table).success == pytest.approx(
        float((far.argmin(axis=1) == np.arange(700)).mean())
    )


def test_ties_on_a_grid_are_shared() -> None:
    # each person is as far from the record before as from the one behind, and its own is one of them
    table, release = {"x": [0.5, 1.5, 2.5]}, {"x": [0, 1, 2]}
    assert distance_linkage(release, table).success == pytest.approx((0.5 + 0.5 + 1) / 3)


@pytest.mark.parametrize("table", [numbers(500), mixed(500)], ids=["numbers", "mixed"])
def test_a_copy_is_found_and_a_blank_table_is_not(table: pl.DataFrame) -> None:
    copy = distance_linkage(table, table)
    assert copy.success == 1
    for blank in ("*", None):
        nothing = pl.DataFrame({name: pl.Series([blank] * table.height, dtype=pl.String) for name in table.columns})
        attack = distance_linkage(nothing, table)
        assert attack.success == pytest.approx(attack.baseline)


def test_ranges_count_by_what_they_cover() -> None:
    table = {"age": [21, 28, 33, 38], "name": ["a", "b", "c", "d"]}
    release = {"age": ["[20, 30)", "[20, 30)", "33", "3*"], "name": ["a", "*", "{c, d}", "d"]}
    assert distance_linkage(release, table).success == 1


def test_more_noise_finds_fewer() -> None:
    table = numbers(2000, 4)
    found = [distance_linkage(table + noise * numbers(2000, 4, seed=3), table).success for noise in (0.05, 0.3, 2)]
    assert found[0] > found[1] > found[2]


def test_codes_may_be_names() -> None:
    table, release = {"roof": [1, 2, 9], "x": [1.0, 2.0, 3.0]}, {"roof": [2, 2, 9], "x": [1.0, 2.0, 3.0]}
    assert distance_linkage(release, table, categorical=["roof"]).details["metric"] == "gower"
    assert distance_linkage(release, table).details["metric"] == "euclidean"


def test_dates_are_ordered() -> None:
    table = pl.DataFrame({"born": ["1980-01-01", "1990-01-01", "2000-01-01"]}).with_columns(
        pl.col("born").str.to_date()
    )
    release = pl.DataFrame({"born": ["1980-02-01", "1991-01-01", "1999-06-01"]})
    assert distance_linkage(release, table).success == 1


@pytest.mark.parametrize(
    "column",
    [
        [2**63 - 1, 0, 1],
        [float("nan"), float("inf"), 1.0],
        [None, None, None],
        [1, 1, 1],
        ["x", "1", None],
        [1e308, -1e308, 0],
    ],
)
def test_nasty_columns(column: list) -> None:
    attack = distance_linkage({"a": column}, {"a": column})
    assert 1 / 3 - 1e-9 <= attack.success <= 1


def test_refusals() -> None:
    with pytest.raises(PolicyError, match="not known which released row"):
        distance_linkage({"x": [1]}, {"x": [1, 2]})
    with pytest.raises(PolicyError, match="gower"):
        distance_linkage({"x": ["a"]}, {"x": ["a"]}, metric="euclidean")
    with pytest.raises(PolicyError, match="unknown metric"):
        distance_linkage({"x": [1]}, {"x": [1]}, metric="manhattan")
