"""What a step has to know of all rows, from parts of them: the sum of the parts is that of the whole."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.masked import Context
from sfumato.core.random_stream import RandomStream
from sfumato.masking.moments import Scatter

RANDOM = np.random.default_rng(5)
PARTS = ((0, 0), (0, 1), (1, 30), (30, 60))
TABLE = pl.DataFrame(
    {
        "age": RANDOM.integers(20, 60, 60),
        "tax": [None if i < 31 else float(x) for i, x in enumerate(RANDOM.lognormal(4, 0.4, 60))],
        "job": [None if i % 7 == 0 else str(job) for i, job in enumerate(RANDOM.choice(["cook", "nurse"], 60))],
    }
)


@pytest.mark.parametrize("weights", [None, RANDOM.uniform(1, 2, 60)])
def test_scatters_add_up(weights: np.ndarray | None) -> None:
    x = RANDOM.normal(1e6, 3, (60, 2))
    parts = [Scatter.of(x[low:high], None if weights is None else weights[low:high]) for low, high in PARTS]
    found, whole = reduce(add, parts), Scatter.of(x, weights)
    assert found.rows == 60
    np.testing.assert_allclose(found.mean, whole.mean, rtol=1e-14)
    np.testing.assert_allclose(found.covariance, whole.covariance, rtol=1e-9)


@pytest.mark.parametrize(
    "step",
    [
        sf.AdditiveNoise(["age", "tax"]),
        sf.MultiplicativeNoise(["age", "tax"]),
        sf.CorrelatedNoise(["age", "tax"]),
        sf.Rounding(["age", "tax"], base=2.5, random=True),
        sf.Pram("job", p=0.5),
        sf.Pram(["job", "age"], invariant=True, together=True),
    ],
    ids=lambda step: step.name,
)
def test_parts_are_masked_as_the_whole(step: Any) -> None:
    stream = RandomStream(bytes(32))
    columns = TABLE.select(step.columns)
    whole = step.apply(columns, Context(TABLE, stream))
    parts = [np.arange(low, high) for low, high in PARTS[1:]]
    seen = reduce(add, [step.look(columns[rows], Context(TABLE[rows], stream)) for rows in parts])
    made = [step.apply(columns[rows], Context(TABLE[rows], stream.at(rows), seen=seen)) for rows in parts]
    assert pl.concat([change.columns for change in made]).equals(whole.columns)
    assert all(change.facts == whole.facts for change in made)
    assert all(change.published == whole.published for change in made)
