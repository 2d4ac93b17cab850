"""Features: columns of both tables as numbers for a learner, encoded alike."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.measures.utility.column import Column

MOST_VALUES = 64  # of a categorical column; rarer ones are one feature together
BINS = 10


def features_of(columns: Sequence[Column]) -> tuple[np.ndarray, np.ndarray]:
    """The original and the released rows as matrices with the same features.

    A number or date is the midpoint of its label in standard deviations of the original, and where the release has
    ranges the width of its label as well; a missing one is the mean with the full width. A category is, per value, the
    share of its label that this value is: 1 for the value itself where nothing is generalised.
    """
    parts = [_numbers(column) if column.place is not None else _categories(column) for column in columns]
    return np.hstack([before for before, _ in parts]), np.hstack([after for _, after in parts])


def shares_of(columns: Sequence[Column]) -> tuple[np.ndarray, np.ndarray]:
    """The same with numbers and dates as shares of ten bins of equal frequency: for models of categories."""
    parts = [
        _shares(column, *column.bins(BINS)) if column.place is not None else _categories(column) for column in columns
    ]
    return np.hstack([before for before, _ in parts]), np.hstack([after for _, after in parts])


def _numbers(column: Column) -> tuple[np.ndarray, np.ndarray]:
    place = column.place
    assert place is not None
    own, middle, width = place[: column.values], column.midpoint, column.width
    before = own[column.code]
    known = np.isfinite(before)
    mean = float(before[known].mean()) if known.any() else 0.0
    scale = float(before[known].std()) if known.any() else 0.0
    scale = scale if scale > 0 else 1.0
    span = float(np.ptp(own[np.isfinite(own)])) if known.any() else 0.0

    def scaled(x: np.ndarray, w: np.ndarray) -> np.ndarray:
        there = np.isfinite(x)
        return np.stack([np.where(there, x - mean, 0.0) / scale, np.where(there, w, span) / scale], axis=1)

    labels, values = scaled(middle, width), scaled(own, np.zeros(len(own)))
    found = values[column.code], labels[column.label]
    if not (labels[:, 1] > 0).any() and not (values[:, 1] > 0).any():
        return found[0][:, :1], found[1][:, :1]
    return found


def _categories(column: Column) -> tuple[np.ndarray, np.ndarray]:
    if len(column.support) <= MOST_VALUES:
        return _shares(column, np.arange(len(column.support)), len(column.support))
    kept = np.sort(np.argsort(-column.before, kind="stable")[:MOST_VALUES])
    place = np.full(len(column.support), len(kept))  # the rest together
    place[kept] = np.arange(len(kept))
    return _shares(column, place, len(kept) + 1)


def _shares(column: Column, place: np.ndarray, features: int) -> tuple[np.ndarray, np.ndarray]:
    """Per row, the share of its values that stand at each place."""
    shares = np.zeros((len(column.text), features))
    owner = np.repeat(np.arange(len(column.text)), column.size)
    np.add.at(shares, (owner, place[column.members]), np.repeat(1 / np.maximum(column.size, 1), column.size))
    return np.eye(features)[place[column.code]], shares[column.label]
