"""Rows of a real, a synthetic and a held-out table as numbers for a model, encoded alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.measures.risk.synthetic_tables import JointColumn, SyntheticTables
from sfumato.measures.utility.regression import Design

MOST_LEVELS = 254  # that a boosted tree tells apart; the rarest beyond are one
MOST_DUMMIES = 64  # of a category in a regression; the rarest beyond are one
BINS = 10


@dataclass(frozen=True)
class Term:
    """A parameter of a regression: what it stands for, and the real value of its zero and of its unit."""

    column: str
    value: str | None = None  # of a category
    missing: bool = False  # an indicator of missing numbers
    centre: float = 0.0
    scale: float = 1.0

    @property
    def name(self) -> str:
        """As it is shown: the column, and the value it is compared with the reference by."""
        return f"{self.column} = {self.value}" if self.value is not None else self.column + " missing" * self.missing


def numbers_of(column: JointColumn) -> np.ndarray:
    """The number of each row of all tables, nan where missing; what is infinite is the farthest finite number."""
    assert column.position is not None
    place = column.position
    finite = place[np.isfinite(place)]
    low, high = (finite.min(), finite.max()) if len(finite) else (0.0, 0.0)
    return np.where(np.isnan(place), np.nan, np.clip(place, low, high))[column.code]


def some_rows(rows: np.ndarray, most: int, rng: np.random.Generator) -> np.ndarray:
    """At most so many of the rows, drawn at random, in their order."""
    return rows if len(rows) <= most else rows[np.sort(rng.permutation(len(rows))[:most])]


def levels_of(column: JointColumn, real: int, most: int) -> tuple[np.ndarray, list[str | None]]:
    """The level of each row of all tables, and their texts: the `most` frequent ones among the first `real` rows.

    The others are one last level, named by None as missing values are.
    """
    if column.size <= most:
        return column.code, list(column.text)
    often = np.argsort(-np.bincount(column.code[:real], minlength=column.size), kind="stable")[: most - 1]
    kept = np.sort(often)
    place = np.full(column.size, len(kept), np.int32)
    place[kept] = np.arange(len(kept))
    return place[column.code], [*(column.text[i] for i in kept.tolist()), None]


def binned(column: JointColumn, real: int, bins: int = BINS) -> tuple[np.ndarray, int]:
    """The bin of each row, missing values last, and how many bins there are; a category's values are its bins.

    Numbers are cut at the quantiles of the first `real` rows, a value on a cut belonging to the bin above it. Where the
    values of these rows are as few as the bins, each is a bin, and what no such row has is the first one.
    """
    if column.position is None:
        return column.code, column.size
    x = numbers_of(column)
    known = x[:real][~np.isnan(x[:real])]
    values = np.unique(known)
    few = len(values) <= bins
    cuts = values if few else np.unique(np.quantile(known, np.arange(1, bins) / bins))
    found = np.searchsorted(cuts, x, "right")
    if few:
        found[np.bincount(column.code[:real], minlength=column.size)[column.code] == 0] = 0
    return np.where(np.isnan(x), len(cuts) + 1, found), len(cuts) + 2


def boosted_rows(tables: SyntheticTables, names: Sequence[str]) -> tuple[np.ndarray, list[int]]:
    """Rows of all tables for boosted trees, nan where missing; and which columns are categories."""
    parts, categories = [], []
    for i, name in enumerate(names):
        column = tables.column(name)
        if column.position is not None:
            parts.append(numbers_of(column))
            continue
        level, text = levels_of(column, tables.original.height, MOST_LEVELS)
        gone = column.size <= MOST_LEVELS and text[-1] is None
        parts.append(np.where(gone & (level == len(text) - 1), np.nan, level))
        categories.append(i)
    return np.column_stack(parts), categories


def design(tables: SyntheticTables, names: Sequence[str]) -> tuple[Design, list[Term]]:
    """Rows of all tables for a regression, and its parameters, the intercept first.

    A number is in standard deviations from its mean, a missing one an indicator. A category is an indicator of each
    value but the most frequent among the real rows.
    """
    real = tables.original.height
    index = np.zeros((len(names) + 1, tables.rows), np.int32)
    value, terms = np.ones(index.shape), [Term("intercept")]
    for at, name in enumerate(names, 1):
        column = tables.column(name)
        if column.position is not None:
            x = numbers_of(column)
            gone = np.isnan(x)
            largest = float(np.abs(x[~gone]).max()) if not gone.all() else 0.0
            unit = largest if largest > 0 else 1.0
            known = x[~gone] / unit
            centre, scale = (float(known.mean()), float(known.std())) if len(known) else (0.0, 0.0)
            scale = scale if scale > 1e-12 else 1.0
            value[at, ~gone] = (known - centre) / scale
            index[at] = len(terms) + gone
            terms.append(Term(name, centre=centre * unit, scale=scale * unit))
            if gone.any():
                terms.append(Term(name, missing=True))
            continue
        level, text = levels_of(column, real, MOST_DUMMIES)
        usual = int(np.bincount(level[:real], minlength=len(text)).argmax())
        others = [i for i in range(len(text)) if i != usual]
        place = np.full(len(text), -1, np.int32)
        place[others] = len(terms) + np.arange(len(others))
        index[at] = place[level]
        terms += [Term(name, "other or missing" if text[i] is None else text[i]) for i in others]
    return Design(index, value, len(terms)), terms
