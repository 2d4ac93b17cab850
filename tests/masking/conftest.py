"""What tests of single steps need: a context with fixed random numbers."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest

from sfumato.core.masked import Change, Context
from sfumato.core.protocols import Masker
from sfumato.core.random_stream import RandomStream
from sfumato.masking.run import Masked, masked

Apply = Callable[..., Change]


@pytest.fixture(scope="session")
def apply() -> Apply:
    """Apply one step to the columns it names, without strata; `seed` is one byte."""

    def run(step: Masker, frame: pl.DataFrame, seed: int = 1, **context: object) -> Change:
        stream = RandomStream(bytes([seed]) * 32)
        return step.apply(frame.select(step.columns), Context(frame, stream, **context))  # type: ignore[arg-type]

    return run


@pytest.fixture(scope="session")
def run() -> Callable[..., Masked]:
    """Run steps as `sf.mask` does; `seed` is one byte."""

    def run(frame: pl.DataFrame, *steps: Masker, seed: int = 1, weight: str | None = None) -> Masked:
        streams = [RandomStream(bytes([seed]) * 32).part(i) for i in range(len(steps))]
        return masked(frame, steps, streams, weight=weight)

    return run
