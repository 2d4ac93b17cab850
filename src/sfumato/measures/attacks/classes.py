"""Classes of a released table, with the sensitive values in each: what the attacks on one table look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.cells import Histogram, count_cells, count_histogram
from sfumato.core.hierarchy import Categories
from sfumato.core.microdata import Attribute, encode
from sfumato.core.parameters import column_names, known_columns
from sfumato.core.progress import check_cancelled
from sfumato.engines.memory.table import enter
from sfumato.errors import PolicyError


@dataclass(frozen=True, eq=False)
class View:
    """A released table as an attacker sees it: the class of each row, and the values of one sensitive column.

    With `row_counts` an entry of `class_of_row` and `code` stands for so many rows, all alike.
    """

    rows: int
    quasi: tuple[str, ...]
    sensitive: Attribute
    class_of_row: np.ndarray  # int32 [rows]
    code: np.ndarray  # int32 [rows]: the sensitive value
    size: np.ndarray  # int64 [classes]
    row_counts: np.ndarray | None = None

    @cached_property
    def histogram(self) -> Histogram:
        """How often each sensitive value occurs in each class."""
        return count_histogram(
            self.class_of_row, len(self.size), self.code, self.sensitive.categories.text, None, self.row_counts
        )

    @cached_property
    def everyone(self) -> View:
        """The same table to an attacker who knows no quasi-identifier: everybody is in one class."""
        nobody = np.zeros(len(self.code), np.int32)
        return View(self.rows, (), self.sensitive, nobody, self.code, np.array([self.rows], np.int64), self.row_counts)

    @cached_property
    def entry_of_row(self) -> np.ndarray:
        """The entry of the histogram that counts each row."""
        h, values = self.histogram, len(self.sensitive.categories)
        owner = np.repeat(np.arange(len(self.size)), np.diff(h.start))
        return np.searchsorted(owner * values + h.value, self.class_of_row.astype(np.int64) * values + self.code)

    def total(self, value: np.ndarray) -> float:
        """The sum over all rows of what each has."""
        return float(value.sum() if self.row_counts is None else (value * self.row_counts).sum())

    @cached_property
    def size_of_entry(self) -> np.ndarray:
        """The size of the class that each entry of the histogram belongs to."""
        return np.repeat(self.size, np.diff(self.histogram.start))


def view(
    released: Any, quasi: Any, sensitive: str, hierarchy: Any = None, *, row_counts: np.ndarray | None = None
) -> View:
    """The classes of a released table over its quasi-identifiers, as they print; missing is a value of its own.

    With `row_counts` a row of the table stands for so many.
    A View of the same columns stays as it is, so that several attacks can share one.
    """
    from sfumato.measures.labels_cover import hierarchy_of

    names = tuple(dict.fromkeys(column_names(quasi, "quasi")))
    if isinstance(released, View):
        if (released.quasi, released.sensitive.name) != (names, sensitive):
            raise PolicyError("the view is of other columns")
        if hierarchy is None:
            return released
        categories = released.sensitive.categories
        tree = hierarchy_of(hierarchy, categories.text, sensitive)
        return replace(released, sensitive=Attribute(sensitive, "sensitive", categories, tree))
    frame = enter(released)[0]
    known_columns((*names, sensitive), frame.columns)
    if sensitive in names:
        raise PolicyError(f'the column "{sensitive}" is both quasi-identifying and sensitive', allowed="one role")
    categories, code = encode(frame.get_column(sensitive))
    tree = hierarchy_of(hierarchy, categories.text, sensitive)
    class_of_row, size = classes(frame, names, row_counts)
    rows = int(size.sum())
    return View(rows, names, Attribute(sensitive, "sensitive", categories, tree), class_of_row, code, size, row_counts)


def classes(
    frame: pl.DataFrame, names: Sequence[str], row_counts: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The class of each row and the size of each class; `row_counts` as for `view`."""
    if not names:
        rows = frame.height if row_counts is None else row_counts.sum()
        return np.zeros(frame.height, np.int32), np.array([rows], np.int64)
    coded = [encode(frame.get_column(name)) for name in names]
    sizes = [len(categories) for categories, _ in coded]
    cells, class_of_row = count_cells(names, [codes for _, codes in coded], sizes, row_counts)
    return class_of_row, cells.count


def tables_with(names: Sequence[str], released: Any, original: Any, **others: Any) -> list[pl.DataFrame]:
    """A release, its original, and the others that are given, as frames that have these columns; messages name them."""
    found = {"release": enter(released)[0], "original": enter(original)[0]}
    found |= {what: enter(table)[0] for what, table in others.items() if table is not None}
    for what, frame in found.items():
        known_columns(names, frame.columns, f"the {what}")
    return list(found.values())


class Encoded:
    """Columns as codes, each encoded once however often it is looked at."""

    def __init__(self) -> None:
        self._kept: dict[tuple[int, str], tuple[pl.DataFrame, Categories, np.ndarray]] = {}

    def __call__(self, frame: pl.DataFrame, name: str) -> tuple[Categories, np.ndarray]:
        check_cancelled()
        key = (id(frame), name)
        if key not in self._kept:
            self._kept[key] = (frame, *encode(frame.get_column(name)))  # the frame stays, or its id could be another's
        return self._kept[key][1:]


def of_values(view: View, values: Any) -> np.ndarray:
    """Which codes of the sensitive column are among the values given, by printed form."""
    if isinstance(values, str) or not isinstance(values, Sequence | set | frozenset):
        raise PolicyError("values must be a list of values of the sensitive column", got=type(values).__name__)
    wanted = {None if value is None else str(value) for value in values}
    return np.array([text in wanted for text in view.sensitive.categories.text], np.bool_)
