"""Rounding: the worked example, unbiased random rounding, refusals."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sfumato.errors import ColumnError, PolicyError
from sfumato.masking.rounding import Rounding
from sfumato.release.facts import as_dict, check_public
from sfumato.verbs.steps import parse
from tests.masking.conftest import Apply


def test_the_worked_example(apply: Apply) -> None:
    frame = pl.DataFrame({"x": [0.0, 4.0, 14.9, 15.0, 44.9, 57.0, None]})
    change = apply(parse("rounding x base=10 points=10,20,30,40,50"), frame)
    assert change.columns["x"].to_list() == [10, 10, 10, 20, 40, 50, None]
    fact = as_dict(change.facts[0], 0)
    assert check_public(change.columns, None, fact).holds
    assert not check_public(frame, None, fact).holds


def test_random_rounding_is_unbiased(apply: Apply) -> None:
    frame = pl.DataFrame({"x": np.full(100_000, 13.0)})
    made = apply(Rounding("x", base=10, random=True), frame).columns["x"]
    assert set(made.unique()) == {10.0, 20.0}
    assert made.mean() == pytest.approx(13, abs=0.06)


def test_whole_numbers_stay_whole_and_texts_are_refused(apply: Apply) -> None:
    assert apply(Rounding("x", base=5), pl.DataFrame({"x": [1, 3]})).columns.schema == {"x": pl.Int64}
    with pytest.raises(ColumnError, match="takes columns of numbers"):
        apply(Rounding("x"), pl.DataFrame({"x": ["a"]}))
    with pytest.raises(PolicyError, match="successive multiples"):
        Rounding(base=10, points=[10, 25])
