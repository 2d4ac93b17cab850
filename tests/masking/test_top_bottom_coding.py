"""Top and bottom coding: bounds by value, percentile and z-score, replacements, bounds that are nobody's, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from sfumato.errors import ColumnError, PolicyError
from sfumato.masking.top_bottom_coding import TopBottomCoding
from sfumato.release.facts import as_dict, check_public
from sfumato.verbs.steps import masker, parse
from tests.masking.conftest import Apply

X = pl.DataFrame({"x": [3, 17, 40, 55, 88, 91, None]})
PAY = pl.DataFrame({"pay": np.exp(np.random.default_rng(3).normal(10, 1, 2000)).round(2)})


def test_by_value(apply: Apply) -> None:
    change = apply(parse("top-bottom-coding x top=60 bottom=10"), X)
    assert change.columns["x"].to_list() == [10, 17, 40, 55, 60, 60, None]
    assert change.columns.schema == {"x": pl.Int64}
    [fact] = (as_dict(fact, 0) for fact in change.facts)
    assert fact["parameters"] == {"low": 10, "high": 60}
    assert check_public(change.columns, None, fact).holds
    assert not check_public(change.columns.with_columns(x=pl.lit(61)), None, fact).holds
    assert apply(TopBottomCoding("x", top=60, replacement=99), X).columns["x"].to_list()[3:] == [55, 99, 99, None]
    assert apply(TopBottomCoding("x", bottom=60, replacement=99), X).facts[0].parameters == {"low": 60}


@pytest.mark.parametrize("sign", [1, -1])
def test_percentiles_are_moved_inward_to_round_numbers(apply: Apply, sign: int) -> None:
    frame = PAY * sign
    end, at = ("top", 99) if sign > 0 else ("bottom", 1)
    change = apply(TopBottomCoding("pay", kind="percentile", **{end: at}), frame)
    bound = change.published["bounds"]["pay"][end]
    beyond = (frame["pay"] * sign > bound * sign).sum()
    assert 20 <= beyond <= 26
    assert bound % 1000 == 0
    assert not (frame["pay"] == bound).any()
    assert (change.columns["pay"] != frame["pay"]).sum() == beyond
    [fact] = (as_dict(fact, 0) for fact in change.facts)
    assert fact["parameters"] == {"high" if sign > 0 else "low": bound}
    assert check_public(change.columns, None, fact).holds


def test_a_percentile_of_few_rows_lies_between_two_of_them(apply: Apply) -> None:
    frame = pl.DataFrame({"x": [1.5, 2.25, 3.75, 9.125]})
    assert apply(TopBottomCoding("x", top=75, kind="percentile"), frame).columns["x"].to_list() == [1.5, 2.25, 3, 3]
    many = pl.DataFrame({"x": [7] * 9 + [8]})
    assert apply(TopBottomCoding("x", top=80, kind="percentile"), many).columns["x"].to_list() == [7] * 10


def test_weights_count_in_percentiles_and_z_scores(apply: Apply) -> None:
    frame, weights = pl.DataFrame({"x": np.arange(1, 101)}), np.where(np.arange(100) < 50, 9.0, 1.0)
    step = TopBottomCoding("x", top=90, kind="percentile")
    assert apply(step, frame, weights=weights).published == {"bounds": {"x": {"top": 50}}}
    assert apply(step, frame).published == {"bounds": {"x": {"top": 90}}}
    z = TopBottomCoding("x", top=1, bottom=-1, kind="z-score")
    assert apply(z, frame).published == {"bounds": {"x": {"top": 78, "bottom": 22}}}  # 50.5 and 29.01
    assert apply(z, frame, weights=weights).published["bounds"]["x"]["top"] < 60


def test_means_and_medians_of_those_beyond(apply: Apply) -> None:
    frame = pl.DataFrame({"x": [1.0, 2.0, 11.5, 12.5, 13.37, 18.0, 30.0]})
    mean = apply(TopBottomCoding("x", top=10, replacement="mean"), frame)
    assert mean.columns["x"].sum() == pytest.approx(frame["x"].sum())
    assert mean.facts[0].parameters == {"high": pytest.approx(17.074)}
    median = apply(TopBottomCoding("x", top=10, replacement="median"), frame).columns["x"]
    assert median.to_list()[2:] == [15] * 5  # not 13.37, which is somebody's
    with pytest.raises(PolicyError, match=r"mean of few rows .* allowed: at least 5 rows"):
        apply(TopBottomCoding("x", top=12, replacement="mean"), frame)
    assert apply(TopBottomCoding("x", top=12, replacement="mean", least=4), frame).columns["x"][6] < 19
    whole = apply(TopBottomCoding("x", top=10, replacement="mean"), pl.DataFrame({"x": [11, 11, 11, 12, 12, 12, 14]}))
    assert whole.columns["x"].to_list() == [12] * 7


def test_strata_have_bounds_of_their_own(run: Any) -> None:
    frame = pl.DataFrame({"sex": ["f", "m"] * 50, "x": np.arange(100)})
    found = run(frame, TopBottomCoding("x", top=90, kind="percentile", by="sex"))
    highs = found.table.group_by("sex").agg(pl.col("x").max()).sort("sex").rows()
    assert highs == [("f", 88), ("m", 88)]
    assert [fact.parameters for _, fact in found.facts] == [{"high": 88}]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "give a top bound, a bottom bound or both"),
        ({"top": 3, "bottom": 3}, "must be below the top"),
        ({"top": 101, "kind": "percentile"}, "percentiles lie between 0 and 100"),
        ({"top": 3, "kind": "share"}, "unknown kind"),
        ({"top": 3, "replacement": "mode"}, "unknown replacement"),
        ({"top": 3, "least": 2}, "least is out of range"),
    ],
)
def test_bad_parameters_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        masker("top-bottom-coding", columns="x", **given)


def test_bad_columns_are_refused(apply: Apply) -> None:
    with pytest.raises(ColumnError, match="takes columns of numbers"):
        apply(TopBottomCoding("x", top=3), pl.DataFrame({"x": ["a"]}))
    with pytest.raises(ColumnError, match="one value only"):
        apply(TopBottomCoding("x", top=99, kind="percentile"), pl.DataFrame({"x": [1, 1]}))
