"""Matching: which released records a person's original values may have become, and how far each is from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.cells import Cells, count_cells
from sfumato.core.label_grammar import NUMBER
from sfumato.core.microdata import Attribute, encode
from sfumato.measures.attacks.classes import Encoded
from sfumato.measures.labels_cover import Cover, read_labels


@dataclass(frozen=True, eq=False)
class MatchedColumn:
    """A column on both sides: released labels, original values, and which label covers which values."""

    name: str
    labels: tuple[str | None, ...]
    values: tuple[str | None, ...]
    cover: Cover


class Matching:
    """Released rows on some columns, as cells of equal labels, ready to be matched with original rows.

    `targets` are the tables whose rows will be looked up: all original values that a label may cover come from them.
    A released label that cannot be read covers every value; but with `strangers`, where some released people are in
    none of the targets, it is a value of theirs, if the column prints values at all. By default that is so where the
    release has more rows than the targets.
    """

    def __init__(
        self,
        released: pl.DataFrame,
        names: Sequence[str],
        targets: Sequence[pl.DataFrame],
        hierarchies: Mapping[str, Any] | None = None,
        wildcard: bool = False,
        encoded: Encoded | None = None,
        strangers: bool | None = None,
    ) -> None:
        self._encoded = encoded = encoded or Encoded()
        self.rows, self.names = released.height, tuple(names)
        if strangers is None:
            strangers = released.height > sum(table.height for table in targets)
        reading = {"unread": True, "strangers": strangers, "wildcard": wildcard}
        self.columns: list[MatchedColumn] = []
        self._place: list[dict[str | None, int]] = []
        codes = []
        for name in names:
            categories, code = encoded(released, name)
            codes.append(code)
            texts = dict.fromkeys(text for table in targets for text in encoded(table, name)[0].text)
            values = tuple(texts)
            spec = (hierarchies or {}).get(name)
            cover = read_labels(categories.text, values, spec, name=name, **reading)
            self.columns.append(MatchedColumn(name, categories.text, values, cover))
            self._place.append({text: i for i, text in enumerate(values)})
        self.cells: Cells
        self.cells, self.cell_of_row = count_cells(self.names, codes, [len(c.labels) for c in self.columns])

    def values_of(self, table: pl.DataFrame, rows: np.ndarray | None = None) -> np.ndarray:
        """The numbers of the values of some rows of a target table, as int64 [rows, columns]."""
        found = []
        for name, place in zip(self.names, self._place, strict=True):
            categories, code = self._encoded(table, name)
            number = np.array([place[text] for text in categories.text], np.int64)
            found.append(number[code if rows is None else code[rows]])
        return np.stack(found, axis=1)

    def candidates(self, values: np.ndarray) -> np.ndarray:
        """The cells whose labels cover these values, one per column: the records that the person may be."""
        sets = []
        for column, value in zip(self.columns, values.tolist(), strict=True):
            sets.append(column.cover.labels_of(value))
        held = [self._held[i][0][labels + 1] - self._held[i][0][labels] for i, labels in enumerate(sets)]
        least = int(np.argmin([int(h.sum()) for h in held]))  # start from the column that leaves the fewest cells
        start, by_label = self._held[least]
        found = gather(start, by_label, sets[least])
        for i, labels in enumerate(sets):
            if i != least and len(found):
                inside = np.zeros(len(self.columns[i].labels), np.bool_)
                inside[labels] = True
                found = found[inside[self.cells.codes[i][found]]]
        return np.sort(found)

    @cached_property
    def _held(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each column the cells of each label."""
        found = []
        for column, code in zip(self.columns, self.cells.codes, strict=True):
            order = np.argsort(code, kind="stable")
            found.append((np.searchsorted(code[order], np.arange(len(column.labels) + 1)), order))
        return found

    @cached_property
    def rows_of_cell(self) -> tuple[np.ndarray, np.ndarray]:
        """The released rows of each cell: those of cell c are rows[start[c]:start[c + 1]]."""
        order = np.argsort(self.cell_of_row, kind="stable")
        return np.concatenate([[0], np.cumsum(self.cells.count)]), order


def gather(start: np.ndarray, items: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """The items of all keys, one key after the other: those of key k are items[start[k]:start[k + 1]]."""
    if len(keys) and int(keys[-1]) - int(keys[0]) + 1 == len(keys) and bool((np.diff(keys) == 1).all()):
        return items[start[keys[0]] : start[keys[-1] + 1]]
    width = start[keys + 1] - start[keys]
    first = np.cumsum(width) - width
    return items[np.arange(int(width.sum())) + np.repeat(start[keys] - first, width)]


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
