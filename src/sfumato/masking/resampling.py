"""Resampling: each rank takes the mean of that rank in several samples (Heer, "A bootstrap procedure to preserve
statistical confidentiality in contingency tables", 1993; Domingo-Ferrer and Mateo-Sanz 1999)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import polars as pl

from sfumato.core.masked import Change, Context, MaskStep, as_numbers, numbers_of, refuse_constant
from sfumato.core.parameters import Whole


@dataclass(frozen=True)
class Resampling(MaskStep):
    """Draw samples of each column with replacement, sort them, and release the mean of each rank.

    t: the number of samples, each as large as the table. The means go back to the rows in the order of their values,
    those of equal values by chance. The more samples, the nearer each is to what was there.
    """

    t: Annotated[Any, Whole(1, 1000)] = 3

    kinds = ("number",)
    leaves = "The order of the rows stays: whoever has the largest value still has it, and it is of about that size."

    def sentence(self) -> str:
        """What it does."""
        if self.t == 1:
            return "numbers are replaced by those of their rank in a sample with replacement"
        return f"numbers are replaced by the mean of their rank in {self.t} samples with replacement"

    def apply(self, columns: pl.DataFrame, context: Context) -> Change:
        """Resample the known values of each column."""
        x, names = numbers_of(columns, self), columns.columns
        refuse_constant(x, names, self)
        y = x.copy()
        for i, name in enumerate(names):
            chance = context.random.part(name).generator()
            rows = chance.permutation(np.flatnonzero(~np.isnan(x[:, i])))  # equal values tell no order of rows
            values = np.sort(x[rows, i])
            samples = (sorted_sample(values, chance) for _ in range(self.t))
            y[rows, i] = in_order_of(x[rows, i], mean_of_ranks(samples))
        return Change(as_numbers(columns, y))


def in_order_of(original: np.ndarray, ascending: np.ndarray) -> np.ndarray:
    """Ascending values, given to rows in the order of the original; equal ones in the order of the rows.

    >>> in_order_of(np.array([5, 1, 5]), np.array([10.0, 20.0, 30.0])).tolist()
    [20.0, 10.0, 30.0]
    """
    found = np.empty(len(original))
    found[np.argsort(original, kind="stable")] = ascending
    return found


def sorted_sample(values: np.ndarray, chance: np.random.Generator) -> np.ndarray:
    """A sample with replacement of ascending values, ascending: how often each is drawn tells it without sorting."""
    often = np.bincount(chance.integers(len(values), size=len(values)), minlength=len(values))
    return np.repeat(values, often)


def mean_of_ranks(samples: Iterable[np.ndarray]) -> np.ndarray:
    """The mean of each rank over samples that ascend.

    >>> mean_of_ranks([np.array([1, 3]), np.array([2, 7])]).tolist()
    [1.5, 5.0]
    """
    total, often = np.zeros(1), 0
    for sample in samples:
        total, often = total + sample, often + 1
    return total / often
