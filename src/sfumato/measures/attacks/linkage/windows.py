"""Linkage within windows of ranks: who knows how far ranks were swapped looks at rows near enough in all columns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from sfumato.core.printed import printed

PEOPLE = 2_000  # looked for: of more, some drawn by a fixed seed
PAIRS = 1 << 24  # people times rows that are compared at a time


def window_linkage(
    released: pl.DataFrame, original: pl.DataFrame, truth: np.ndarray, percent: Mapping[str, float], same: Sequence[str]
) -> float:
    """The share of people who are found by somebody who knows that no rank of some columns moved by more than so many
    percent, and that others stayed as they were: of n rows that a person can have become, one is picked blindly.

    Parameters: two tables; `truth`, the released row of each original one; `percent` of the ranks by column; `same`,
    columns that were not changed.

    >>> table = pl.DataFrame({"pay": [10.0, 20, 30, 40]})
    >>> window_linkage(table[[1, 0, 3, 2]], table, np.arange(4), {"pay": 25.0}, [])
    0.416...

    Nin, Herranz and Torra, Rethinking rank swapping to decrease disclosure risk, 2008.
    """
    people = np.arange(original.height)
    if len(people) > PEOPLE:
        people = np.sort(np.random.default_rng(0).choice(people, PEOPLE, replace=False))
    columns = [_ranks(original[name], released[name], share) for name, share in percent.items()]
    columns += [_codes(original[name], released[name]) for name in same]
    found, step = 0.0, max(1, PAIRS // released.height)
    for some in np.split(people, range(step, len(people), step)):
        near = np.ones((len(some), released.height), np.bool_)
        for (low, high), (least, most) in columns:
            near &= (least[None, :] <= high[some, None]) & (most[None, :] >= low[some, None])
        own = near[np.arange(len(some)), truth[some]]
        found += float((own / np.maximum(near.sum(axis=1), 1)).sum())
    return found / len(people)


Bounds = tuple[np.ndarray, np.ndarray]


def _ranks(before: pl.Series, after: pl.Series, percent: float) -> tuple[Bounds, Bounds]:
    """The ranks that each person's value may have moved to, and those that each released value has; -1 is missing."""
    numbers = [printed(column).cast(pl.Float64, strict=False) for column in (before, after)]
    values = np.sort(numbers[0].drop_nulls().to_numpy())
    sides = []
    for column in numbers:
        x, lacks = column.to_numpy(), column.is_null().to_numpy()
        low, high = np.searchsorted(values, x, "left"), np.searchsorted(values, x, "right") - 1
        sides.append((np.where(lacks, -1, low), np.where(lacks, -1, high), lacks))
    (low, high, lacks), (least, most, _) = sides
    window = math.floor(percent * len(values) / 100)
    return (np.where(lacks, -1, np.maximum(low - window, 0)), np.where(lacks, -1, high + window)), (least, most)


def _codes(before: pl.Series, after: pl.Series) -> tuple[Bounds, Bounds]:
    """The same of a column that was not changed: equal values only."""
    texts = pl.concat([printed(before), printed(after)]).rank("dense").fill_null(0).cast(pl.Int64).to_numpy()
    ours, theirs = texts[: len(before)], texts[len(before) :]
    return (ours, ours), (theirs, theirs)
