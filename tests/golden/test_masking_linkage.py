"""Distance linkage of the masked Census table falls as each masker does more, and does not depend on row order."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.measures.attacks import distance_linkage

SWEPT = {
    "additive-noise share=": (0.1, 0.5, 1),
    "correlated-noise share=": (0.1, 0.5, 1),
    "multiplicative-noise share=": (0.1, 0.3, 0.8),
    "romm p=": (0.1, 0.3, 1),
    "rank-swapping p=": (1, 10, 40),
    "mdav k=": (3, 10, 25),
    "rounding base=": (1000, 10_000, 50_000),
}


@pytest.fixture(scope="module")
def census(shared: Any) -> pl.DataFrame:
    return pl.read_csv(shared / "data" / "sdc" / "CASCrefmicrodata.csv")


def linked(table: pl.DataFrame, step: str) -> float:
    """The share of people whose own masked record is the nearest, to whoever knows all columns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release = sf.mask(table, [step], rest="release", seed=1)
    assert release.rows is not None
    own = np.empty(table.height, np.int64)
    own[release.rows] = np.arange(table.height)
    return distance_linkage(release.table, table, table.columns, truth=own).success


@pytest.mark.slow
@pytest.mark.parametrize("step", SWEPT)
def test_linkage_falls_as_a_masker_does_more(census: pl.DataFrame, step: str) -> None:
    found = [linked(census, f"{step}{value}") for value in SWEPT[step]]
    assert found[0] > found[1] > found[2]
    assert found[2] < 0.25


@pytest.mark.parametrize("step", ["mdav k=5", "rounding base=10000"])
def test_linkage_does_not_depend_on_the_order_of_rows(census: pl.DataFrame, step: str) -> None:
    other = census[np.random.default_rng(3).permutation(census.height)]
    assert linked(other, step) == pytest.approx(linked(census, step), abs=1e-12)
