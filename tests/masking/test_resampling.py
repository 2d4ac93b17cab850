"""Resampling: the worked example in both of its versions, order, missing values."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sfumato.errors import ColumnError, PolicyError
from sfumato.masking.resampling import Resampling, in_order_of, mean_of_ranks
from sfumato.verbs.steps import parse
from tests.masking.conftest import Apply
from tests.masking.tables import numbers

S1 = [260, 170, 200, 280, 190, 185, 200, 290, 170, 300, 200]
S2 = [220, 280, 210, 310, 290, 180, 285, 265, 150, 270]  # and its last value
S3 = [170, 290, 220, 270, 185, 300, 250, 260, 190, 270, 200]
S4 = [210, 190, 230, 200, 185, 260, 220, 290, 230, 310, 170]


@pytest.mark.parametrize(
    ("last", "released"),
    [
        (298, [261.25, 165, 223.75, 275, 202.5, 193.75, 235, 292, 180, 305, 242.5]),
        (190, [260, 165, 212.5, 273.75, 200, 188.75, 233.75, 290, 180, 305, 240]),  # as textbooks print it
    ],
)
def test_the_worked_example(last: int, released: list[float]) -> None:
    samples = [np.sort(sample) for sample in (S1, [*S2, last], S3, S4)]
    assert in_order_of(np.array(S1), mean_of_ranks(samples)).tolist() == released


def test_order_and_distribution_stay(apply: Apply) -> None:
    frame = numbers(missing=True)
    made = apply(parse("resampling income,tax t=2"), frame).columns
    for name in made.columns:
        x, y = frame[name].drop_nulls().to_numpy(), made[name].drop_nulls().to_numpy()
        assert made[name].is_null().equals(frame[name].is_null())
        assert (np.diff(y[np.lexsort((y, x))]) >= 0).all()
        assert np.quantile(y, [0.25, 0.5, 0.75]) == pytest.approx(np.quantile(x, [0.25, 0.5, 0.75]), rel=0.05)
        assert (x == y).mean() < 0.05


def test_one_sample_has_original_values_only(apply: Apply) -> None:
    frame = pl.DataFrame({"x": [3, 1, 4, 1, 5, None, 9]})
    made = apply(Resampling("x", t=1), frame, seed=2).columns
    assert made.schema == {"x": pl.Int64}
    assert set(made["x"].drop_nulls()) < set(frame["x"].drop_nulls())


def test_refusals(apply: Apply) -> None:
    with pytest.raises(PolicyError, match="t is out of range"):
        Resampling(t=0)
    with pytest.raises(ColumnError, match="one value only"):
        apply(Resampling("x"), pl.DataFrame({"x": [1, 1]}))


@pytest.mark.parametrize("step", ["resampling x", "lossy-compression x keep=0.2"])
def test_equal_values_do_not_tell_the_order_of_the_rows(apply: Apply, step: str) -> None:
    frame = pl.DataFrame({"x": [i // 40 * 10.5 for i in range(200)]})
    y = apply(parse(step), frame).columns["x"].to_numpy().reshape(5, 40)
    slopes = [np.corrcoef(np.arange(40), part)[0, 1] for part in y if np.ptp(part) > 1e-9]
    assert max(map(abs, slopes)) < 0.6
