"""Grouping by exact keys: count cells, roll them up, merge their histograms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sfumato.core.keys import first_of, merge_runs, number_tuples, rank_keys, rank_tuples, tally


@dataclass(frozen=True, eq=False)
class Histogram:
    """How often each value of a sensitive attribute occurs, per cell or class: a run of (value, count) for each.

    The run of class c is start[c]:start[c + 1], values ascending. `overall` counts the table before suppression.
    """

    start: np.ndarray  # int64 [classes + 1]
    value: np.ndarray  # int32 [entries]
    count: np.ndarray  # int64 [entries]
    overall: np.ndarray  # int64 [values]
    text: tuple[str | None, ...]
    ancestor: np.ndarray | None = None  # int32 [levels, values] where the attribute has a hierarchy


@dataclass(frozen=True, eq=False)
class Cells:
    """Distinct tuples of codes in lexicographic order, with rows per cell and sensitive histograms per cell."""

    names: tuple[str, ...]
    codes: np.ndarray  # int32 [columns, cells]
    count: np.ndarray  # int64 [cells]
    sizes: tuple[int, ...]  # number of values per column
    histograms: Mapping[str, Histogram] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.count)

    def take(self, cells: np.ndarray) -> Cells:
        """Some of the cells, by number, ascending."""
        histograms = {}
        for name, h in self.histograms.items():
            width = h.start[cells + 1] - h.start[cells]
            start = np.concatenate([[0], np.cumsum(width)])
            entry = np.arange(start[-1]) - np.repeat(start[:-1] - h.start[cells], width)
            histograms[name] = Histogram(start, h.value[entry], h.count[entry], h.overall, h.text, h.ancestor)
        return Cells(self.names, self.codes[:, cells], self.count[cells], self.sizes, histograms)


@dataclass(frozen=True, eq=False)
class Classes:
    """A grouping of cells: the class of each cell, and rows per class."""

    cells: Cells
    class_of_cell: np.ndarray  # int32 [cells]
    size: np.ndarray  # int64 [classes]
    counted: dict[str, Histogram] = field(default_factory=dict, init=False, repr=False)

    def histogram(self, attribute: str) -> Histogram:
        """Counts of a sensitive attribute per class, counted once."""
        if attribute not in self.counted:
            self.counted[attribute] = self._histogram(attribute)
        return self.counted[attribute]

    def _histogram(self, attribute: str) -> Histogram:
        h = self.cells.histograms[attribute]
        classes, values = len(self.size), len(h.overall)
        runs = merge_runs(self.class_of_cell, classes, h.start, h.value, h.count, values)
        if runs is None:
            of = np.repeat(self.class_of_cell, np.diff(h.start))
            runs = _runs(of, classes, h.value, values, h.count)
        return Histogram(*runs, h.overall, h.text, h.ancestor)


def classes_of(cells: Cells, class_of_cell: np.ndarray, classes: int) -> Classes:
    """The classes that `class_of_cell` makes of the cells."""
    return Classes(cells, class_of_cell, tally(class_of_cell, classes, cells.count))


def count_cells(
    names: Sequence[str], codes: Sequence[np.ndarray], sizes: Sequence[int], row_counts: np.ndarray | None = None
) -> tuple[Cells, np.ndarray]:
    """The one GROUP BY: cells of the coded columns, and the cell of each row, which counts `row_counts` times."""
    cell_of_row, cells = rank_tuples(codes, sizes, len(codes[0]))
    first = first_of(cell_of_row, cells)
    table = np.stack([np.asarray(code)[first].astype(np.int32) for code in codes])
    return Cells(tuple(names), table, tally(cell_of_row, cells, row_counts), tuple(sizes)), cell_of_row


def count_histogram(
    cell_of_row: np.ndarray,
    cells: int,
    code: np.ndarray,
    text: tuple[str | None, ...],
    ancestor: np.ndarray | None,
    row_counts: np.ndarray | None = None,
) -> Histogram:
    """How often each value of a sensitive attribute occurs in each cell."""
    runs = _runs(cell_of_row, cells, code, len(text), row_counts)
    return Histogram(*runs, tally(code, len(text), row_counts), text, ancestor)


def _runs(
    of: np.ndarray, groups: int, value: np.ndarray, values: int, row_counts: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Per group a run of (value, count), values ascending: where the runs begin, the values, the counts."""
    keys, rank = rank_keys(of.astype(np.int64) * values + value, groups * values)
    owner = keys // values
    start = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=groups))])
    return start, (keys - owner * values).astype(np.int32), tally(rank, len(keys), row_counts)


def roll_up(cells: Cells, tables: Sequence[np.ndarray], columns: Sequence[int]) -> Classes:
    """The classes of cells under a recoding: tables[i][code] is the label of a value of column columns[i].

    Two cells are one class where all their labels agree.
    """
    return classes_of(cells, *number_tuples([cells.codes[column] for column in columns], tables, len(cells)))
