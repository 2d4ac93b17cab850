"""Rank swapping: how far values move, what is kept, the three windows, refusals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest

from sfumato.errors import ColumnError, PolicyError
from sfumato.masking.rank_swapping import RankSwapping, partners
from sfumato.release.facts import as_dict, check_private, check_public
from sfumato.verbs.steps import parse
from tests.masking.conftest import Apply

PAY = pl.DataFrame({"id": np.arange(2000), "pay": np.random.default_rng(3).normal(1000, 200, 2000)})


@pytest.mark.parametrize("p", [0.5, 5, 33.3, 100])
def test_no_value_moves_further_than_its_window(apply: Apply, p: float) -> None:
    frame = pl.DataFrame({"id": np.arange(301), "x": np.random.default_rng(1).permutation(301) * 1.0})
    change = apply(RankSwapping("x", p=p), frame)
    moved = (change.columns["x"] - frame["x"]).abs()
    assert 0 < moved.max() <= math.floor(p * 301 / 100)  # type: ignore[operator]
    assert (moved > 0).sum() >= 280
    released = frame.with_columns(change.columns["x"])
    assert [fact.fact for fact in change.facts] == ["marginals", "ranks"]
    for fact in change.facts:
        assert check_private(frame, released, as_dict(fact, 0), ["x"]).holds
    broken = released.with_columns(x=pl.col("x").sort())
    ranks = check_private(frame, broken, as_dict(change.facts[1], 0), ["x"])
    assert ranks.holds == (p == 100)
    assert not check_private(frame, released.with_columns(x=pl.col("x") + 1), as_dict(change.facts[0], 0), ["x"]).holds


def test_every_rank_has_one_partner_drawn_evenly() -> None:
    random, far = np.random.default_rng(1), []
    for _ in range(400):
        partner = partners(4, random.random(40))
        assert (partner[partner] == np.arange(40)).all()
        far.append(partner[0])
    assert np.bincount(far)[1:].min() > 70  # of 100


def test_equal_values_are_ranked_by_chance(apply: Apply) -> None:
    frame = pl.DataFrame({"x": [0] * 50 + [1] * 50})
    moved = np.zeros(100)
    for seed in range(60):
        moved += apply(RankSwapping("x", p=10), frame, seed).columns["x"].to_numpy() != frame["x"].to_numpy()
    by_ten = moved.reshape(10, 10).sum(axis=1)  # ranks by row would leave the first forty rows as they are
    assert by_ten.min() > 0.5 * by_ten.max()


@pytest.mark.parametrize("r0", [0.99, 0.9, 0.5])
def test_the_correlation_is_kept(apply: Apply, r0: float) -> None:
    change = apply(RankSwapping("pay", r0=r0), PAY)
    assert r0 <= np.corrcoef(PAY["pay"], change.columns["pay"])[0, 1] < r0 + 0.05
    assert [fact.fact for fact in change.facts] == ["marginals"]


def test_means_of_subsets_are_kept(apply: Apply) -> None:
    made = apply(parse("rank-swapping pay k0=0.1"), PAY).columns["pay"].to_numpy()
    random, bad = np.random.default_rng(1), 0
    for _ in range(300):
        rows = random.choice(2000, 50, replace=False)
        before = PAY["pay"].to_numpy()[rows].mean()
        bad += abs(made[rows].mean() - before) > 2 * 0.1 * PAY["pay"].to_numpy().mean() / math.sqrt(50)
    assert 0 < bad < 30


def test_ends_become_their_mean(apply: Apply) -> None:
    frame = pl.DataFrame({"x": [*range(100), None]})
    change = apply(RankSwapping("x", p=10, top=5, bottom=4), frame)
    made = change.columns["x"]
    assert (made.max(), made.min(), made.dtype, made[100]) == (97, 2, pl.Int64, None)
    assert (made[95:100].to_list(), made[0:4].to_list()) == ([97] * 5, [2] * 4)
    fact = as_dict(change.facts[0], 0)
    assert check_public(change.columns, None, fact).holds
    assert not check_public(frame, None, fact).holds
    with pytest.raises(PolicyError, match="stand out by their mean"):
        apply(RankSwapping("x", top=2), frame)


def test_dates_and_ordered_categories(apply: Apply) -> None:
    days = pl.DataFrame({"d": pl.date_range(pl.date(2020, 1, 1), pl.date(2020, 3, 30), eager=True)})
    change = apply(RankSwapping("d", p=10), days)
    assert 0 < (change.columns["d"] - days["d"]).dt.total_days().abs().max() <= 9  # type: ignore[operator]
    assert [fact.fact for fact in change.facts] == ["marginals"]
    sizes = pl.DataFrame({"x": ["S", "M", "L"] * 30})
    made = apply(RankSwapping("x", p=10, order=["S", "M", "L"]), sizes).columns["x"]
    assert not {("S", "L"), ("L", "S")} & set(zip(sizes["x"], made, strict=True))
    assert (made != sizes["x"]).any()
    with pytest.raises(ColumnError, match="have no order"):
        apply(RankSwapping("x"), sizes)
    with pytest.raises(ColumnError, match="are for numbers"):
        apply(RankSwapping("d", top=5), days)


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"p": 101}, "p is out of range"),
        ({"p": 0}, "p is out of range"),
        ({"p": 5, "r0": 0.9}, "give one of them"),
        ({"k0": 0}, "k0 is out of range"),
        ({"top": 60, "bottom": 40}, "leave nothing"),
    ],
)
def test_windows_that_make_no_sense_are_refused(parameters: dict[str, Any], match: str) -> None:
    with pytest.raises(PolicyError, match=match):
        RankSwapping("x", **parameters)


def test_columns_that_cannot_be_swapped_are_refused(apply: Apply, run: Any) -> None:
    with pytest.raises(ColumnError, match="one value only"):
        apply(RankSwapping("x", p=50), pl.DataFrame({"x": [1, 1]}))
    with pytest.raises(PolicyError, match="no rank is near enough"):
        apply(RankSwapping("x", p=5), pl.DataFrame({"x": [1, 2, 3]}))
    with pytest.raises(PolicyError, match="no window is so narrow"):
        apply(RankSwapping("x", r0=1), pl.DataFrame({"x": [1, 2, 3]}))
    with pytest.raises(PolicyError, match=r"stratum 2 of 2"):
        run(pl.DataFrame({"x": [*range(40), 1, 2], "s": [1] * 40 + [2] * 2}), RankSwapping("x", by="s"))
    found = run(pl.DataFrame({"x": [*range(80)], "s": [1, 2] * 40}), RankSwapping("x", by="s"))
    assert [fact.fact for _, fact in found.facts] == ["marginals"]


def test_facts_about_the_original_need_the_original(run: Any) -> None:
    found = run(PAY, parse("rounding pay base=100"), RankSwapping("pay"))
    assert found.facts == ()
