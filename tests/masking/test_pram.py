"""PRAM: the worked example, invariance by each route, bands and groups, own matrices, refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from sfumato.errors import ColumnError, PolicyError
from sfumato.masking.pram import Pram, true_shares, two_stages
from sfumato.verbs.steps import parse
from tests.masking.conftest import Apply

P = np.array([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.1, 0.3, 0.6]])
SHARES = np.array([0.5, 0.3, 0.2])
OWN = {name: dict(zip("abc", row, strict=True)) for name, row in zip("abc", P.tolist(), strict=True)}
TABLE = pl.DataFrame({"x": ["a"] * 50 + ["b"] * 30 + ["c"] * 20})


def test_the_worked_example() -> None:
    expected = [[0.707292, 0.180625, 0.112083], [0.301042, 0.499375, 0.199583], [0.280208, 0.299375, 0.420417]]
    assert np.abs(two_stages(P, SHARES) - expected).max() < 5e-7
    half = Pram("x", matrix=OWN, invariant=True, alpha=0.5).transition(SHARES)
    assert np.diag(half).round(6).tolist() == [0.853646, 0.749688, 0.710208]


@pytest.mark.parametrize("route", ["two-stage", "equal-flows", "proportional"])
@pytest.mark.parametrize("pairs", [None, np.abs(np.subtract.outer(np.arange(4), np.arange(4))) <= 1])
def test_every_route_keeps_the_shares(route: str, pairs: Any) -> None:
    shares = np.array([0.6, 0.25, 0.15, 0.0])
    found = Pram("x", p=0.7, invariant=True, route=route).transition(shares, pairs)
    assert shares @ found == pytest.approx(shares)
    assert found.sum(axis=1) == pytest.approx(1)
    assert found.min() >= 0
    assert np.diag(found)[:3].max() < 1
    if route != "two-stage":
        assert np.diag(found).min() == pytest.approx(0.7)
        if pairs is not None:
            assert found[0, 2] == 0


def chi_square(apply: Apply, step: Pram, matrix: np.ndarray) -> float:
    """How likely so large a deviation of the counts of 200 releases from those of the original is."""
    counts = TABLE["x"].value_counts().sort("x")["count"].to_numpy()
    total = np.zeros(3)
    for seed in range(200):
        total += np.bincount(apply(step, TABLE, seed).columns["x"].cast(pl.Enum("abc")).to_physical(), minlength=3)
    spread = 200 * sum(n * (np.diag(row) - np.outer(row, row)) for n, row in zip(counts, matrix, strict=True))
    gap = (total - 200 * counts)[:2]
    return float(stats.chi2.sf(gap @ np.linalg.solve(spread[:2, :2], gap), 2))


@pytest.mark.slow
def test_released_shares_are_the_true_ones_on_average(apply: Apply) -> None:
    invariant = Pram("x", matrix=OWN, invariant=True, alpha=1)
    assert chi_square(apply, invariant, invariant.transition(SHARES)) > 0.001
    assert chi_square(apply, Pram("x", matrix=OWN), P) < 1e-6


def test_true_shares_are_estimated_from_a_release(apply: Apply) -> None:
    assert true_shares({"a": 0.48, "b": 0.32, "c": 0.2}, OWN) == pytest.approx(dict(zip("abc", SHARES, strict=True)))
    big = pl.DataFrame({"x": np.repeat(["a", "b", "c"], [50_000, 30_000, 20_000])})
    released = apply(Pram("x", matrix=OWN), big).columns["x"]
    assert true_shares(released, OWN)["a"] == pytest.approx(0.5, abs=0.01)
    with pytest.raises(PolicyError, match="no inverse"):
        true_shares({"a": 1}, {"a": {"a": 0.5, "b": 0.5}, "b": {"a": 0.5, "b": 0.5}})


def test_a_band_follows_the_order(apply: Apply) -> None:
    frame = pl.DataFrame({"x": ["low", "mid", "high"] * 200})
    made = apply(Pram("x", p=0.2, band=1, order=["low", "mid", "high"]), frame).columns["x"]
    pairs = set(zip(frame["x"], made, strict=True))
    assert ("low", "mid") in pairs
    assert ("mid", "high") in pairs
    assert not {("low", "high"), ("high", "low")} & pairs
    codes = pl.DataFrame({"x": [1, 2, 10] * 200})
    moved = set(zip(codes["x"], apply(Pram("x", p=0.2, band=1), codes).columns["x"], strict=True))
    assert (2, 10) in moved
    assert (1, 10) not in moved


def test_categories_stay_within_groups_of_the_hierarchy(apply: Apply) -> None:
    frame = pl.DataFrame({"x": ["flu", "asthma", "ulcer", "gastritis"] * 100})
    tree = {"flu": "lung", "asthma": "lung", "ulcer": "stomach", "gastritis": "stomach"}
    made = apply(Pram("x", p=0.3, within=1, invariant=True), frame, hierarchies={"x": tree}).columns["x"]
    assert (made != frame["x"]).sum() > 50
    assert made.replace_strict(tree).equals(frame["x"].replace_strict(tree))
    with pytest.raises(ColumnError, match="no hierarchy"):
        apply(Pram("x", within=1), frame)
    with pytest.raises(PolicyError, match="no groups there"):
        apply(Pram("x", within=2), frame, hierarchies={"x": tree})


def test_columns_together_take_tuples_that_are_there(apply: Apply) -> None:
    frame = pl.DataFrame({"a": ["x", "y", "z", None] * 100, "b": [1, 2, 3, 4] * 100})
    made = apply(Pram(["a", "b"], p=0.5, together=True), frame).columns
    assert made.unique().height == 4
    assert made.filter(pl.col("a").is_null())["b"].to_list() == [4] * 100
    assert (made["a"] != frame["a"]).sum() > 50
    each = apply(Pram(["a", "b"], p=0.5), frame).columns
    assert each.unique().height > 4
    assert each["a"].is_null().equals(frame["a"].is_null())


def test_a_matrix_may_have_more_categories_and_be_a_file(apply: Apply, tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text(
        "from,a,b,c,d\na,.5,.5,,\n".replace(",,", ",0,0") + "b,0,1,0,0\nc,0,0,0,1\nd,0,0,0,1\n"
    )
    made = apply(parse(f"pram x matrix={tmp_path / 'm.csv'}"), TABLE)
    assert set(made.columns["x"]) == {"a", "b", "d"}
    assert made.published == {"matrix": "own", "changed": {"x": 0.45}}
    numbers = pl.DataFrame({"x": [1, 2] * 20})
    assert apply(Pram("x", matrix={1: {3: 1}, 2: {2: 1}, 3: {3: 1}}), numbers).columns["x"].to_list() == [3, 2] * 20
    with pytest.raises(ColumnError, match="cannot hold"):
        apply(Pram("x", matrix={1: {"u": 1}, 2: {2: 1}, "u": {"u": 1}}), numbers)
    with pytest.raises(ColumnError, match="lacks 1 of the 3"):
        apply(Pram("x", matrix={"a": {"a": 1}, "b": {"b": 1}}), TABLE)


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"matrix": {"a": {"a": 0.5}, "b": {"b": 1}}}, "row 1 of a transition matrix does not add up"),
        ({"matrix": {"a": {"c": 1}, "b": {"b": 1}}}, "no row for 1 category"),
        ({"matrix": [[1]]}, "maps categories"),
        ({"matrix": OWN, "p": 0.5}, "says all"),
        ({"p": 1.5}, "out of range"),
        ({"alpha": 0.5}, "only an invariant"),
        ({"invariant": True, "route": "equal-flows", "alpha": 0.5}, "only two stages"),
        ({"invariant": True, "route": "magic"}, "unknown"),
        ({"band": 0}, "out of range"),
        ({"order": ["a", "b"]}, "for a band"),
        ({"together": True, "band": 1}, "together"),
    ],
)
def test_what_does_not_go_together_is_refused(parameters: dict[str, Any], match: str) -> None:
    with pytest.raises(PolicyError, match=match):
        Pram("x", **parameters)


def test_columns_that_cannot_change_are_refused(apply: Apply, run: Any) -> None:
    with pytest.raises(ColumnError, match="one value only"):
        apply(Pram("x"), pl.DataFrame({"x": ["a", "a"]}))
    with pytest.raises(ColumnError, match="no value in any row"):
        apply(Pram("x", matrix=OWN), pl.DataFrame({"x": pl.Series([None], dtype=pl.String)}))
    with pytest.raises(ColumnError, match="too many categories"):
        apply(Pram("x"), pl.DataFrame({"x": [f"v{i}" for i in range(1001)]}))
    with pytest.raises(ColumnError, match=r"stratum 2 of 2"):
        run(pl.DataFrame({"x": ["a", "b", "a"], "s": [1, 1, 2]}), Pram("x", by="s"))
    frame = pl.DataFrame({"n": [1, 2, 3], "x": ["a", "b", "a"]})
    assert run(frame, Pram()).changed == ("x",)
    assert run(frame, Pram("n")).changed == ("n",)


def test_no_entry_of_the_matrix_is_published(run: Any) -> None:
    found = run(TABLE, Pram("x", matrix=OWN, invariant=True))
    assert found.published[0] == {"matrix": "invariant, two-stage", "changed": {"x": 0.21}}
    assert {"matrix", "p", "alpha"} <= set(found.steps[0].secret)
