"""Recoding: a Solution applied to the rows of a table."""

from __future__ import annotations

import numpy as np
import polars as pl

from sfumato.engines.frames import forget_others
from sfumato.microdata import Attribute, Microdata
from sfumato.recode.texts import global_labels, texts_of_classes, texts_of_labels
from sfumato.search.problem import Partition, Solution


def recode(
    frame: pl.DataFrame,
    micro: Microdata,
    solution: Solution,
    of_row: np.ndarray,
    columns: tuple[str, ...],
    part: bool = False,
) -> tuple[np.ndarray, dict[str, pl.Series]]:
    """The rows that stay, in input order, and the released column of each quasi-identifier.

    A column in which nothing was blurred keeps its type; the others become text. With `part` the rows are some of a
    table that is released as a whole: labels may name values that other rows of it have.
    """
    rows = np.flatnonzero(solution.kept[of_row]) if not solution.kept.all() else np.arange(len(of_row))
    released = {}
    for name in columns:
        attribute = micro.attribute(name)
        if isinstance(solution.recoding, Partition):
            labels, number = solution.recoding.labels[name], solution.recoding.of_cell[of_row[rows]]
            kept = np.arange(len(attribute.categories)) if part else micro.codes[name][rows]
            words = texts_of_classes(labels, kept)
        else:
            labels, number = global_labels(attribute, solution.recoding), micro.codes[name][rows]
            words = texts_of_labels(labels, number)
        if _unblurred(attribute, words, labels.of[number], micro.codes[name][rows]):
            as_it_is = pl.DataFrame({name: _as_it_is(frame.get_column(name), rows)})
            released[name] = forget_others(as_it_is).get_column(name)
        else:
            used = np.bincount(number, minlength=len(labels.of)) > 0  # what no kept row has must not be in memory
            text = [words[label] if there else None for label, there in zip(labels.of, used, strict=True)]
            released[name] = pl.Series(name, text, dtype=pl.String).gather(number)
    return rows, released


def _unblurred(attribute: Attribute, words: list[str | None], label: np.ndarray, code: np.ndarray) -> bool:
    """Whether every row that stays has its own value as its label; what became of others does not matter."""
    code_of = {text: i for i, text in enumerate(attribute.categories.text)}
    used = np.flatnonzero(np.bincount(label, minlength=len(words)))
    own = np.full(len(words), -1, np.int64)
    own[used] = [code_of.get(words[i], -1) for i in used]
    return bool((own[label] == code).all())


def _as_it_is(series: pl.Series, rows: np.ndarray) -> pl.Series:
    """The rows of a column that was not blurred, with one form of missing and of zero."""
    taken = series.gather(rows)
    if taken.dtype.is_float():
        known = taken.fill_nan(None)
        return known.set(known == 0, 0.0)
    if taken.dtype == pl.String:
        return taken.set(taken == "", None) if (taken == "").any() else taken
    return taken
