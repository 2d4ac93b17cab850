"""MASSC: strata of risk, near keys, rates, calibrated weights, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import ColumnError, PolicyError
from sfumato.masking.massc import MASSC, calibrated
from tests.masking.conftest import Apply

ROWS = 4000
RANDOM = np.random.default_rng(4)
TABLE = pl.DataFrame(
    {
        "age": np.minimum(RANDOM.exponential(12, ROWS).astype(int) + 20, 95),
        "sex": RANDOM.choice(["f", "m"], ROWS),
        "region": RANDOM.choice(["n", "s", "w"], ROWS, p=[0.7, 0.2, 0.1]),
        "pay": RANDOM.normal(2000, 300, ROWS).round(),
        "weight": RANDOM.uniform(1, 3, ROWS),
        "row": np.arange(ROWS),
    }
)
KEYS = ["sex", "region", "age"]
WEIGHTS = {"weight": "weight", "weights": TABLE["weight"].to_numpy()}
ALIKE = TABLE.select(pl.len().over(KEYS))["len"].to_numpy()


def both(change: Any) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows that stay, as they were and as they are."""
    return TABLE[change.rows], TABLE[change.rows].with_columns(change.columns.iter_columns())


def test_rates_are_those_of_the_strata(apply: Apply) -> None:
    change = apply(MASSC(KEYS, substitute=(0.5, 0.3, 0.1), keep=(0.4, 0.6, 0.8)), TABLE, **WEIGHTS)
    before, after = both(change)
    moved = pl.struct(KEYS)
    different = (before.select(moved).to_series() != after.select(moved).to_series()).to_numpy()
    alike = ALIKE[change.rows]
    assert (alike == 1).sum() > 30
    for low, high, takes, stays in ((1, 1, 0.5, 0.4), (2, 4, 0.3, 0.6), (5, ROWS, 0.1, 0.8)):
        here, every = (alike >= low) & (alike <= high), int(((low <= ALIKE) & (high >= ALIKE)).sum())
        assert different[here].sum() == pytest.approx(takes * every, abs=1)
        assert here.sum() == pytest.approx(every * (takes + stays * (1 - takes)), abs=2)
    assert change.published["strata"][1] == {"alike": "2 to 4", "substituted": 0.3, "kept": 0.6}


def test_keys_come_from_near_rows_of_the_stratum(apply: Apply) -> None:
    change = apply(MASSC(KEYS, substitute=1, keep=1), TABLE, **WEIGHTS)
    before, after = both(change)
    near = (before["sex"] == after["sex"]) & (before["region"] == after["region"])
    assert near.mean() > 0.95  # type: ignore[operator]
    gap = (before["age"] - after["age"]).filter(near).abs()
    assert gap.median() <= 3  # type: ignore[operator]
    keys = set(TABLE.select(KEYS).unique().rows())
    assert set(after.select(KEYS).rows()) <= keys
    size = dict(zip(TABLE.select(KEYS).rows(), ALIKE.tolist(), strict=True))
    assert {size[key] for key in after.filter(pl.Series(ALIKE[change.rows] == 1)).select(KEYS).rows()} == {1}


def test_weights_meet_the_totals_and_tell_nothing_of_strata(apply: Apply) -> None:
    change = apply(MASSC(KEYS, totals=["pay", "region"]), TABLE, **WEIGHTS)
    after = both(change)[1]
    assert after["weight"].min() > 0  # type: ignore[operator]
    for frame_sum in (pl.col("weight"), pl.col("weight") * pl.col("pay"), *(
        pl.col("weight").filter(pl.col("region") == region) for region in "nsw"
    )):  # fmt: skip
        assert after.select(frame_sum.sum()).item() == pytest.approx(TABLE.select(frame_sum.sum()).item(), rel=1e-9)
    plain = apply(MASSC(KEYS), TABLE, **WEIGHTS)
    ratio = plain.columns["weight"].to_numpy() / TABLE["weight"].to_numpy()[plain.rows]
    assert np.ptp(ratio) < 1e-9  # one factor for all


def test_calibration_without_a_solution_is_none() -> None:
    assert calibrated(np.ones(3), np.array([[1.0, 1], [1, 1], [1, 1]]), np.array([3.0, 4])) is None
    assert calibrated(np.ones(2), np.array([[1.0, 0.2], [1, 0.4]]), np.array([2.0, 5])) is None


def test_missing_values_stay_missing_and_small_strata_join(apply: Apply) -> None:
    frame = pl.DataFrame({"a": [1, 2, 3, None, None, 5] * 4 + [99], "b": ["x", "y", "x", "x", "y", None] * 4 + ["x"]})
    weights = {"weight": "w", "weights": np.ones(25)}
    frame = frame.with_columns(w=1.0)
    change = apply(MASSC(["a", "b"], substitute=1, keep=1), frame, **weights)
    for name in "ab":
        assert change.columns[name].is_null().equals(frame[name].is_null())
    assert (change.columns["a"] != frame["a"]).sum() > 10


def test_through_mask() -> None:
    release = sf.mask(TABLE.drop("row"), [MASSC(KEYS, totals="pay")], weight="weight", insensitive=["pay"], seed=3)
    assert [(fact.fact, fact.holds) for fact in release.facts] == [("rows", True), ("total", True)]
    assert 2800 < release.table.height < 3800
    assert set(release.manifest["changed"]) == {*KEYS, "weight"}


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"columns": ()}, "key columns"),
        ({"sizes": (5, 2)}, "must ascend"),
        ({"keep": (0.5, 0.5)}, "a share for each stratum"),
        ({"keep": 0}, "keep is out of range"),
        ({"substitute": 1.2}, "substitute is out of range"),
    ],
)
def test_what_makes_no_sense_is_refused(parameters: dict[str, Any], match: str) -> None:
    with pytest.raises(PolicyError, match=match):
        MASSC(**{"columns": "age", **parameters})


def test_tables_that_cannot_be_masked_are_refused(apply: Apply) -> None:
    with pytest.raises(PolicyError, match="survey weights, and there are none"):
        apply(MASSC(KEYS), TABLE)
    with pytest.raises(ColumnError, match="one combination"):
        apply(MASSC("sex"), TABLE.with_columns(sex=pl.lit("f")), **WEIGHTS)
    ages = TABLE.with_columns(age=pl.format("{} years", "age"))
    with pytest.raises(PolicyError, match="no row that is released"):
        apply(MASSC("sex", keep=0.01, substitute=0, totals="age"), ages, **WEIGHTS)
