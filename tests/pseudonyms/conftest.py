"""What tests of pseudonyms need: a key file, and a step applied as `sf.mask` does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from sfumato.core.masked import Change, Context, MaskStep
from sfumato.core.random_stream import RandomStream
from sfumato.pseudonyms.key_file import new

Apply = Callable[..., Change]


@pytest.fixture(scope="session")
def apply() -> Apply:
    """Apply one step to the columns it names."""

    def run(step: MaskStep, frame: pl.DataFrame) -> Change:
        return step.apply(frame.select(step.columns), Context(frame, RandomStream(bytes(32))))

    return run


@pytest.fixture
def key(tmp_path: Path) -> Path:
    """A key file."""
    return new(tmp_path / "keys" / "study.key").path
