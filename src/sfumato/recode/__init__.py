"""Recoding: a Solution applied to the rows of a table."""

from __future__ import annotations

import numpy as np
import polars as pl

from sfumato.labels import Labels, at_level, set_text
from sfumato.microdata import Microdata
from sfumato.search.problem import Columns, Partition, Solution


def recode(
    frame: pl.DataFrame, micro: Microdata, solution: Solution, of_row: np.ndarray, columns: tuple[str, ...]
) -> tuple[np.ndarray, dict[str, pl.Series]]:
    """The rows that stay, in input order, and the released column of each quasi-identifier.

    A column in which nothing was blurred keeps its type; the others become text.
    """
    rows = np.flatnonzero(solution.kept[of_row]) if not solution.kept.all() else np.arange(len(of_row))
    recoding, released = solution.recoding, {}
    for name in columns:
        attribute = micro.attribute(name)
        if isinstance(recoding, Partition):
            labels, number = recoding.labels[name], recoding.of_cell[of_row[rows]]
            text = [labels.text[label] for label in labels.of]
        else:
            number = micro.codes[name][rows]
            labels = (
                recoding.labels[name] if isinstance(recoding, Columns) else at_level(attribute, recoding.levels[name])
            )
            text = _texts_of_codes(labels, number)
        if _unblurred(labels):
            released[name] = _as_it_is(frame.get_column(name), rows)
        else:
            released[name] = pl.Series(name, text, dtype=pl.String).gather(number)
    return rows, released


def _texts_of_codes(labels: Labels, kept: np.ndarray) -> list[str | None]:
    """The label of each code. Learned sets are printed from the kept rows alone: a value that occurs only in
    suppressed rows must not show."""
    attribute = labels.attribute
    texts = [labels.text[label] for label in labels.of]
    if attribute.hierarchy is None and not attribute.categories.ordered:
        members: dict[int, list[str | None]] = {}
        present = np.flatnonzero(np.bincount(kept, minlength=len(texts)))
        for code in present:
            members.setdefault(int(labels.of[code]), []).append(attribute.categories.text[code])
        for code in present:
            label, values = int(labels.of[code]), members[int(labels.of[code])]
            if not labels.star[label]:
                texts[code] = values[0] if len(values) == 1 else set_text(values)
    return texts


def _unblurred(labels: Labels) -> bool:
    """Whether every label is the one value that it covers."""
    values = labels.attribute.categories.text
    return bool((labels.leaves == 1).all()) and [values[i] for i in labels.lo] == list(labels.text)


def _as_it_is(series: pl.Series, rows: np.ndarray) -> pl.Series:
    """The rows of a column that was not blurred, with one form of missing and of zero."""
    taken = series.gather(rows)
    if taken.dtype.is_float():
        known = taken.fill_nan(None)
        return known.set(known == 0, 0.0)
    if taken.dtype == pl.String:
        return taken.set(taken == "", None) if (taken == "").any() else taken
    return taken
