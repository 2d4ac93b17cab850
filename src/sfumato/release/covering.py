"""Which rows of a table the labels of released classes cover: read off the labels alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.printed import printed
from sfumato.measures.labels_cover import read_labels

CLASS, ROW = "\0class", "\0row"  # columns of numbers


def covered_pairs(
    classes: pl.DataFrame, original: pl.DataFrame, names: Sequence[str], hierarchies: Mapping[str, Any]
) -> pl.DataFrame:
    """Pairs of a class and a row of the original that its labels cover in every column: their numbers.

    >>> classes, rows = pl.DataFrame({"age": ["2*", "3*"]}), pl.DataFrame({"age": [21, 40, 39]})
    >>> covered_pairs(classes, rows, ["age"], {}).rows()
    [(0, 0), (1, 2)]
    """
    pairs = pl.DataFrame({CLASS: np.zeros(0, np.int64), ROW: np.zeros(0, np.int64)})
    every = [(np.arange(classes.height), np.arange(original.height))]
    for name in sorted(names, key=lambda n: classes.get_column(n).n_unique()):  # columns of few labels split first
        text, label = printed(original.get_column(name)), classes.get_column(name)
        labels, values = (column.unique(maintain_order=True) for column in (label, text))
        cover = read_labels(labels.to_list(), values.to_list(), hierarchies.get(name), name=name).members
        value_of, label_of = (_places(column, of) for column, of in ((text, values), (label, labels)))
        every = [part for classes_, rows in every for part in _split(classes_, rows, label_of, value_of, cover)]
    found = [pl.DataFrame({CLASS: np.repeat(some, len(rows)), ROW: np.tile(rows, len(some))}) for some, rows in every]
    return pl.concat([pairs, *found])


def _places(column: pl.Series, values: pl.Series) -> np.ndarray:
    """The place of each value of a column among all of them."""
    place = pl.DataFrame({"value": values}).with_row_index("place")
    frame = (
        column.alias("value").to_frame().join(place, on="value", how="left", nulls_equal=True, maintain_order="left")
    )
    return frame["place"].cast(pl.Int64).to_numpy()


def _split(
    classes: np.ndarray, rows: np.ndarray, label_of: np.ndarray, value_of: np.ndarray, cover: Sequence[np.ndarray]
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Classes by their label in one more column, each with the rows that it covers of those that all others cover."""
    by_value = rows[np.argsort(value_of[rows], kind="stable")]
    value = value_of[by_value]
    for label in np.unique(label_of[classes]).tolist():
        start, stop = (np.searchsorted(value, np.sort(cover[label]), side) for side in ("left", "right"))
        width = stop - start
        inside = by_value[np.repeat(start - np.cumsum(width) + width, width) + np.arange(int(width.sum()))]
        if len(inside):
            yield classes[label_of[classes] == label], inside
