"""Nearest: how far each released record is from a person's original values, labels and all."""

from __future__ import annotations

import numpy as np
import polars as pl

from sfumato.core.label_grammar import NUMBER
from sfumato.core.microdata import Attribute, encode
from sfumato.measures.attacks.matching import MatchedColumn, Matching, gather

TIE = 1e-9  # distances closer than this are the same
CACHED = 20_000_000  # distances kept in memory per column


class DistanceSpace:
    """Distances between original values and released cells: the mean over the columns, each from 0 to 1.

    The distance between a value and a label is the one expected where the label stands for any of the values that it
    covers: 0 or 1 for texts, the difference as a share of the range for numbers, dates and times (Gower). So a value
    that stayed as it is has distance 0 to itself, and a suppressed one the same from every record.
    """

    def __init__(self, matching: Matching) -> None:
        self.matching = matching
        self.columns = [_distance_of(column) for column in matching.columns]
        self._kept: list[dict[int, np.ndarray]] = [{} for _ in self.columns]

    def distances(self, values: np.ndarray) -> np.ndarray:
        """The distance of each cell from a person."""
        codes = self.matching.cells.codes
        total = np.zeros(codes.shape[1])
        for i, value in enumerate(values.tolist()):
            total += self._column(i, value)[codes[i]]
        return total / len(self.columns)

    def nearest(self, values: np.ndarray) -> np.ndarray:
        """The cells at the least distance."""
        distance = self.distances(values)
        return np.flatnonzero(distance <= distance.min() + TIE)

    def neighbours(self, values: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
        """The k nearest released rows; which of equally near ones is drawn."""
        distance, count = self.distances(values), self.matching.cells.count
        k = min(k, self.matching.rows)
        some = np.argpartition(distance, min(k, len(distance)) - 1)[:k]
        some = some[np.argsort(distance[some], kind="stable")]
        edge = distance[some[int(np.searchsorted(np.cumsum(count[some]), k))]]
        surely = self._rows(np.flatnonzero(distance < edge - TIE))
        tied = self._rows(np.flatnonzero(np.abs(distance - edge) <= TIE))
        return np.concatenate([surely, rng.choice(tied, k - len(surely), replace=False)])

    def _rows(self, cells: np.ndarray) -> np.ndarray:
        return gather(*self.matching.rows_of_cell, cells)

    def _column(self, i: int, value: int) -> np.ndarray:
        kept = self._kept[i]
        if value not in kept:
            if (len(kept) + 1) * len(self.matching.columns[i].labels) > CACHED:
                kept.clear()
            kept[value] = self.columns[i].distances(value)
        return kept[value]


class _Nominal:
    """Distance 0 between equal values and 1 between others."""

    def __init__(self, column: MatchedColumn) -> None:
        self.cover, self.size = column.cover, np.maximum(column.cover.size, 1)

    def distances(self, value: int) -> np.ndarray:
        distance = np.ones(len(self.size))
        labels = self.cover.labels_of(value)
        distance[labels] = 1 - 1 / self.size[labels]
        return distance


class _Ordered:
    """Distance by position, as a share of the range of the column."""

    def __init__(self, column: MatchedColumn, attribute: Attribute, order: np.ndarray) -> None:
        self.nominal = _Nominal(column)
        known = len(order) - attribute.categories.missing
        place = attribute.positions[:known]
        low, span = float(place[0]), attribute.span or 1.0
        self.place = (place - low) / span  # ascending, from 0 to 1
        self.below = np.concatenate([[0.0], np.cumsum(self.place)])
        rank = np.full(len(order), -1, np.int64)
        rank[order[:known]] = np.arange(known)
        self.rank = rank
        labels = len(column.labels)
        self.lo, self.hi = np.zeros(labels, np.int64), np.zeros(labels, np.int64)
        self.missing, self.number = np.zeros(labels), np.full(labels, np.nan)
        self.scattered: dict[int, np.ndarray] = {}
        plain = attribute.kind in ("integer", "decimal") and attribute.positions is attribute.categories.position
        for i, (label, members) in enumerate(zip(column.labels, column.cover.members, strict=True)):
            at = rank[members]
            self.missing[i] = int((at < 0).sum())
            at = at[at >= 0]
            if len(at):
                self.lo[i], self.hi[i] = int(at.min()), int(at.max()) + 1
                if self.hi[i] - self.lo[i] > len(at):
                    self.scattered[i] = self.place[at]
            elif not len(members) and plain and label is not None and NUMBER.match(label):
                self.number[i] = (float(label) - low) / span  # a number that the noise of a masker made

    def distances(self, value: int) -> np.ndarray:
        at = int(self.rank[value])
        if at < 0:
            return self.nominal.distances(value)
        x, lo, hi = self.place[at], self.lo, self.hi
        cut = np.clip(at, lo, hi)
        total = x * (2 * cut - lo - hi) - 2 * self.below[cut] + self.below[lo] + self.below[hi]
        count = (hi - lo).astype(np.float64)
        for i, places in self.scattered.items():
            total[i], count[i] = float(np.abs(places - x).sum()), len(places)
        several = count + self.missing
        distance = np.where(several > 0, (np.maximum(total, 0.0) + self.missing) / np.maximum(several, 1.0), 1.0)
        return np.where(np.isnan(self.number), distance, np.minimum(np.abs(self.number - x), 1.0))


def _distance_of(column: MatchedColumn) -> _Nominal | _Ordered:
    categories, code = encode(pl.Series(column.name, column.values, dtype=pl.String))
    if not categories.ordered:
        return _Nominal(column)
    order = np.empty(len(categories), np.int64)
    order[code] = np.arange(len(code))  # values are distinct
    return _Ordered(column, Attribute(column.name, "quasi", categories), order)
