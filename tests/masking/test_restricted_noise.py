"""Restricted noise: exact moments, with weights and missing values, and noise all the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from sfumato.errors import ColumnError
from sfumato.masking.additive_noise import AdditiveNoise
from sfumato.masking.restricted_noise import RestrictedNoise
from sfumato.masking.rounding import Rounding
from sfumato.verbs.steps import parse
from tests.masking.conftest import Apply
from tests.masking.tables import holds, numbers

NAMES = ["age", "income", "tax"]
BOTH = {"means": True, "covariances": True}


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_moments_are_exact_and_values_are_not(apply: Apply, missing: bool, weighted: bool) -> None:
    frame = numbers(missing=missing)
    given: dict[str, Any] = {"weight": "weight", "weights": frame["weight"].to_numpy()} if weighted else {}
    change = apply(RestrictedNoise(NAMES, share=0.5), frame, **given)
    assert holds(change, frame) == BOTH
    known = frame["tax"].is_not_null().to_numpy()
    pair = frame["tax"].to_numpy()[known], change.columns["tax"].to_numpy()[known]
    assert np.corrcoef(*pair)[0, 1] == pytest.approx(1 / np.sqrt(1.25), abs=0.02)
    assert np.isnan(change.columns["tax"].to_numpy()[~known]).all()
    if not weighted:  # all known values, not of complete rows alone
        assert change.columns["tax"].mean() == pytest.approx(frame["tax"].mean(), rel=1e-12)
    assert holds(change, frame, change.columns.with_columns(pl.col("tax") * 1.00001)) == dict.fromkeys(BOTH, False)


def test_columns_of_odd_scales_and_linear_relations(apply: Apply) -> None:
    frame = numbers().select(
        pl.col("income") * 1e-9, far=pl.col("age") + 1e7, tax="tax", total=pl.col("income") + pl.col("tax") * 1e3
    )
    change = apply(RestrictedNoise(frame.columns), frame)
    assert holds(change, frame) == BOTH
    y = change.columns
    assert y["total"].to_numpy() == pytest.approx((y["income"] * 1e9 + y["tax"] * 1e3).to_numpy(), rel=1e-6)


def test_a_column_that_is_the_sum_of_others(apply: Apply) -> None:
    rng = np.random.default_rng(0)
    wage, rent = rng.normal(50, 9, 300).round(2), rng.normal(20, 4, 300).round(2)
    frame = pl.DataFrame({"wage": wage, "rent": rent, "total": (wage + rent).round(2), "again": wage})
    change = apply(RestrictedNoise(frame.columns, share=0.2), frame)
    assert holds(change, frame) == BOTH
    y = change.columns
    assert y["total"].to_numpy() == pytest.approx((y["wage"] + y["rent"]).to_numpy(), rel=1e-9)
    assert (y["wage"] - frame["wage"]).abs().min() > 0


def test_strata_keep_the_moments_of_all(run: Any) -> None:
    frame = numbers().with_columns(sex=pl.Series(["F", "M"] * 2000))
    found = run(frame, RestrictedNoise(["income", "tax"], by="sex"), weight="weight")
    assert [(fact.fact, dict(fact.parameters)) for _, fact in found.facts] == [
        ("means", {"weight": "weight"}),
        ("covariances", {"weight": "weight"}),
    ]
    for sex in "FM":
        rows = pl.col("sex") == sex
        means = [np.average(t["tax"], weights=t["weight"]) for t in (frame.filter(rows), found.table.filter(rows))]
        assert means[0] == pytest.approx(means[1], rel=1e-10)


def test_few_rows_that_are_alike_do_not_keep_their_value(apply: Apply) -> None:
    """Moments of rows with one value would be that value."""
    frame = numbers(100).with_columns(
        tax=pl.when(pl.row_index() > 4).then("tax"), income=pl.when(pl.row_index() > 4).then("income").otherwise(7.0)
    )
    made = apply(RestrictedNoise(NAMES), frame).columns["income"]
    assert (made.head(5) - 7).abs().min() > 1  # type: ignore[operator]


def test_too_few_rows_are_refused(apply: Apply) -> None:
    with pytest.raises(ColumnError, match="at least 10"):
        apply(RestrictedNoise(["age", "tax"]), numbers(3))


def test_values_far_from_zero_are_refused(apply: Apply) -> None:
    """Floats there have too few digits left for moments to be exact."""
    frame = numbers().with_columns(stamp=pl.col("age") * 1.25 + 1e12)
    with pytest.raises(ColumnError, match='"stamp" lies so far from zero'):
        apply(RestrictedNoise(["tax", "stamp"]), frame)


def test_short_floats_are_what_they_print(apply: Apply) -> None:
    frame = numbers().select(pl.col("income", "tax").cast(pl.Float32))
    assert holds(apply(RestrictedNoise(["income", "tax"]), frame), frame) == BOTH


def test_facts_go_where_weights_change(run: Any) -> None:
    frame = numbers()
    kept = run(frame, RestrictedNoise(["income", "tax"]), AdditiveNoise("age"), weight="weight")
    gone = run(frame, RestrictedNoise(["income", "tax"]), Rounding("weight", base=0.5), weight="weight")
    never = run(frame, Rounding("weight", base=0.5), RestrictedNoise(["income", "tax"]), weight="weight")
    named = [{fact.fact for _, fact in found.facts} for found in (kept, gone, never)]
    assert named == [{"means", "covariances", "points"}, {"points"}, {"points"}]


@pytest.mark.parametrize("step", ["restricted-noise", "romm"])
def test_moments_of_few_rows_with_missing_values_are_not_kept(apply: Apply, step: str) -> None:
    """Of three values their sum, that of their squares and one of them give the other two."""
    frame = numbers().with_columns(tax=pl.when(pl.int_range(pl.len()) >= 3).then("tax"))
    made = apply(parse(f"{step} income,tax"), frame).columns
    few = [table["income"].head(3).cast(pl.Float64) for table in (frame, made)]
    assert abs(few[0].mean() - few[1].mean()) > 1e-3 * abs(few[0].mean())
