"""Matching: which released records a person's original values may have become."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.cells import Cells, count_cells
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
    A released label that cannot be read covers every value.
    """

    def __init__(
        self,
        released: pl.DataFrame,
        names: Sequence[str],
        targets: Sequence[pl.DataFrame],
        hierarchies: Mapping[str, Any] | None = None,
        wildcard: bool = False,
        encoded: Encoded | None = None,
    ) -> None:
        self._encoded = encoded = encoded or Encoded()
        self.rows, self.names = released.height, tuple(names)
        self.columns: list[MatchedColumn] = []
        self._place: list[dict[str | None, int]] = []
        codes = []
        for name in names:
            categories, code = encoded(released, name)
            codes.append(code)
            texts = dict.fromkeys(text for table in targets for text in encoded(table, name)[0].text)
            values = tuple(texts)
            spec = (hierarchies or {}).get(name)
            cover = read_labels(categories.text, values, spec, unread=True, wildcard=wildcard, name=name)
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
