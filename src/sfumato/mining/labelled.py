"""Tables to learn classes from: the target as codes, and each feature as ordered numbers or as values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise

import numpy as np
import polars as pl

from sfumato.core.printed import printed
from sfumato.core.wording import count
from sfumato.errors import ColumnError, Infeasible, PolicyError
from sfumato.mining.values import MiningProblem

MOST_CLASSES = 100
MISSING = "(missing)"


@dataclass(frozen=True, eq=False)
class Feature:
    """A column to learn from: of numbers, codes follow their order, and the missing come last."""

    name: str
    code: np.ndarray
    texts: tuple[str, ...]  # of each code
    number: np.ndarray | None  # of each code; not finite where missing

    def between(self, code: int, after: int) -> str:
        """The roundest number that parts the values up to a code from those of a later one on."""
        assert self.number is not None
        return roundest(float(self.number[code]), float(self.number[after]))


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """People with a class each, and what it is learned from."""

    target: str
    classes: tuple[str, ...]
    label: np.ndarray
    features: tuple[Feature, ...]


def labelled_rows(problem: MiningProblem, target: str) -> LabelledRows:
    """The table, whose target is never missing and has no class of fewer than k people."""
    table = problem.table
    if table is None:
        raise PolicyError("a model of classes is learned from a table, and these are baskets", hint="leave item out")
    if target not in table.columns:
        raise ColumnError(f'the table has no column "{target}"')
    if table.width < 2:
        raise ColumnError(f'there is no column to predict "{target}" from')
    classes, label = _coded(printed(table.get_column(target)))
    if None in classes:
        raise ColumnError(f'"{target}" is missing in some rows', hint="drop them")
    sizes = np.bincount(label, minlength=len(classes))
    if len(classes) > MOST_CLASSES:
        raise PolicyError(f'"{target}" has too many values', got=len(classes), allowed=f"up to {MOST_CLASSES}")
    if sizes.min() < problem.k:
        rare = int((sizes < problem.k).sum())
        what = f'{count(rare, "value")} of "{target}" {"has" if rare == 1 else "have"} fewer than {problem.k} people'
        raise Infeasible(what, hint="group the values of the target, or take a smaller k")
    features = tuple(_feature(column) for column in table.iter_columns() if column.name != target)
    return LabelledRows(target, tuple(map(str, classes)), label, features)


def _coded(texts: pl.Series) -> tuple[list[str | None], np.ndarray]:
    known = texts.drop_nulls().unique().sort()
    code = texts.cast(pl.Enum(known)).to_physical().cast(pl.Int64).fill_null(known.len()).to_numpy()
    return [*known.to_list(), *([None] if texts.null_count() else [])], code


def _feature(column: pl.Series) -> Feature:
    if column.dtype.is_numeric():
        values = column.cast(pl.Float64).fill_nan(None)
        number = values.drop_nulls().unique().sort().to_numpy()
        code = np.searchsorted(number, values.fill_null(math.inf).to_numpy())
        number = np.append(number, math.inf) if values.null_count() else number
        return Feature(column.name, code, tuple(map(str, number)), number)
    texts, code = _coded(printed(column))
    missing = MISSING
    while missing in texts:
        missing = f"({missing})"
    return Feature(column.name, code, tuple(missing if text is None else text for text in texts), None)


def roundest(low: float, high: float) -> str:
    """The number with the fewest digits from one number on and below another.

    >>> roundest(37, 43), roundest(0.1234, 0.1301), roundest(37, 38), roundest(-3, 2), roundest(17, float("inf"))
    ('40', '0.13', '37', '0', '20')
    """
    if low <= 0 < high:
        return "0"
    high = 2 * low if math.isinf(high) else high  # before the missing
    first, after = Decimal(repr(low)), Decimal(repr(high))
    for power in range(max(first.adjusted(), after.adjusted()) + 1, -20, -1):
        step = Decimal(1).scaleb(power)
        found = (first / step).to_integral_value("ROUND_CEILING") * step
        found += step if found == first and found + step < after else 0  # rather a number that nobody has
        if found < after:
            return _plain(found)
    return _plain(first)


def _plain(value: Decimal) -> str:
    text = f"{value:f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) or "0"


def binned(feature: Feature, bins: int) -> Feature:
    """Numbers as ranges with about as many people each, whose ends are round."""
    if feature.number is None:
        return feature
    values = feature.number[np.isfinite(feature.number)]
    if len(values) < 2:
        return Feature(feature.name, feature.code, tuple(MISSING if math.isinf(n) else "any" for n in feature.number),
                       None)  # fmt: skip
    known = feature.code[feature.code < len(values)]
    share = np.cumsum(np.bincount(known, minlength=len(values))) / len(known)
    cut = np.unique(np.searchsorted(share, np.arange(1, bins) / bins).clip(0, len(values) - 2))
    ends = [feature.between(int(code), int(code) + 1) for code in cut]
    names = [f"<= {ends[0]}", *(f"({a}, {b}]" for a, b in pairwise(ends)), f"> {ends[-1]}", MISSING]
    group = np.where(np.isfinite(feature.number), np.searchsorted(cut, np.arange(len(feature.number))), len(ends) + 1)
    return Feature(feature.name, group[feature.code], tuple(names), None)
