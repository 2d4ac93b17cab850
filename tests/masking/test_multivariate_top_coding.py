"""Multivariate top coding: who is pulled, along the ray, to the chi-square ellipsoid; refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from sfumato.errors import ColumnError, PolicyError
from sfumato.masking.multivariate_top_coding import MultivariateTopCoding
from sfumato.masking.robust import robust_moments, squared_distances
from sfumato.release.facts import as_dict, check_public
from sfumato.verbs.steps import parse
from tests.masking.conftest import Apply

RNG = np.random.default_rng(5)
NORMAL = RNG.multivariate_normal([50, 1000], [[100, 720], [720, 6400]], 1000)
FAR = np.array([[20.0, 1400.0], [400.0, 1000.0], [75.0, 700.0]])  # none of the outer two is far in a column alone
TABLE = pl.DataFrame(np.concatenate([NORMAL, FAR]), schema=["x", "y"])


def test_rows_outside_the_ellipsoid_are_pulled_back_along_the_ray(apply: Apply) -> None:
    change = apply(parse("multivariate-top-coding x,y alpha=0.01"), TABLE)
    before, after = TABLE.to_numpy(), change.columns.to_numpy()
    centre, covariance = robust_moments(before)
    reach = 9.2103  # the 99% quantile of chi-square with two degrees of freedom
    out = squared_distances(before, centre, covariance) > reach
    assert out[-3:].all()
    assert 3 <= out[:-3].sum() <= 20
    assert (before[~out] == after[~out]).all()
    assert squared_distances(after[out], centre, covariance) == pytest.approx(np.full(out.sum(), reach), rel=1e-2)
    ray, pulled = before[out] - centre, after[out] - centre
    cross = (ray[:, 0] * pulled[:, 1] - ray[:, 1] * pulled[:, 0]) / np.abs(ray).prod(axis=1)
    assert np.abs(cross).max() < 0.01
    for fact in change.facts:
        assert check_public(change.columns, None, as_dict(fact, 0)).holds
        assert not check_public(TABLE.with_columns(pl.all() * 10), None, as_dict(fact, 0)).holds


def test_whole_numbers_and_missing_values_stay(apply: Apply) -> None:
    whole = TABLE.select(pl.all().round(0).cast(pl.Int64))
    holes = pl.concat([whole, pl.DataFrame({"x": [None, 50, 9000], "y": [1000, None, None]}, schema=whole.schema)])
    change = apply(MultivariateTopCoding(["x", "y"], alpha=0.01), holes)
    assert change.columns.schema == holes.schema
    assert change.columns.null_count().row(0) == (1, 2)
    assert change.columns["x"][-2] == 50
    assert change.columns["x"][-1] == change.facts[0].parameters["high"]  # missing elsewhere, and yet cut


def test_what_has_no_ellipsoid_is_refused(apply: Apply, run: Any) -> None:
    with pytest.raises(ColumnError, match="one value only"):
        apply(MultivariateTopCoding(["x"]), pl.DataFrame({"x": [1.0] * 9}))
    with pytest.raises(ColumnError, match="too few rows have all values"):
        apply(MultivariateTopCoding(["x", "y"]), TABLE.head(3))
    with pytest.raises(PolicyError, match="alpha is out of range"):
        MultivariateTopCoding("x", alpha=0.7)
    with pytest.raises(ColumnError, match="does not fit"):
        run(TABLE.with_columns(z=pl.lit("a")), MultivariateTopCoding("z"))
