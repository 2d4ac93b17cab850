"""Microaggregation of numbers, dates and categories together, in the distance of Gower, A general coefficient of
similarity and some of its properties, 1971; Domingo-Ferrer and Torra 2005."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from sfumato.core.masked import Change, Context, Fact, as_numbers, kind_of_column
from sfumato.core.microdata import Attribute, microdata
from sfumato.core.parameters import PerColumn, Real, known_columns
from sfumato.core.progress import stoppable
from sfumato.hierarchies.spec import parse
from sfumato.search.microaggregation.aggregated import aggregate_labels, modes
from sfumato.search.microaggregation.kernels import gower_mdav
from sfumato.search.microaggregation.step import Microaggregation, by_missing


@dataclass(frozen=True)
class GowerMicroaggregation(Microaggregation):
    """Group rows of numbers, dates and categories together, around far rows as MDAV does, in the distance of Gower.

    Two rows differ in a number by its share of the range, in a category by 0 or 1, with a hierarchy by the share of its
    levels on which they do; `weights` maps columns to how much they count. Numbers and dates take the mean or median of
    their group, categories the most frequent one, or with a hierarchy the lowest node above them.

    weights: how much each column counts, 1 unless given.
    """

    weights: Annotated[Mapping[str, Any] | None, PerColumn(Real())] = None

    kinds: ClassVar[tuple[str, ...]] = ("number", "date", "category")

    def groups(self, x: np.ndarray, k: int) -> np.ndarray:
        """The group of each row of numbers, in their ranges."""
        return self._groups(_spanned(x), np.ones(x.shape[1]), np.zeros(x.shape[1], np.bool_), k)

    def sentence(self) -> str:
        """What it does."""
        return (
            f"rows in groups of at least {self.k} that are near: numbers become the {self.aggregate}, "
            "categories the most frequent one or what stands above them"
        )

    def apply(self, columns: pl.DataFrame, context: Context) -> Change:
        """Aggregate each group."""
        k, names = self.size(columns.height), columns.columns
        known_columns(self.weights or {}, names, f"{self.name}: what it takes")
        missing = np.column_stack([column.is_null().to_numpy() for column in columns.iter_columns()])
        sides = [_side(column, context) for column in columns.iter_columns()]
        weight = [float((self.weights or {}).get(name, 1)) for name in names]
        of = np.full(columns.height, -1)
        for rows, there in by_missing(missing, k):
            x = np.concatenate([sides[c].matrix[rows] for c in there], axis=1)
            each = np.concatenate([np.full(sides[c].width, weight[c] / sides[c].width) for c in there])
            category = np.concatenate([np.full(sides[c].width, sides[c].category) for c in there])
            of[rows] = of.max() + 1 + self._groups(x, each, category, k)
        made = [self._aggregate(column, side, of) for column, side in zip(columns.iter_columns(), sides, strict=True)]
        return Change(pl.DataFrame(made), facts=(Fact("groups", tuple(names), {"k": k}),))

    def _groups(self, x: np.ndarray, weight: np.ndarray, category: np.ndarray, k: int) -> np.ndarray:
        order = np.lexsort(x.T[::-1])
        groups = np.empty(len(x), np.int64)
        groups[order] = stoppable(gower_mdav, np.ascontiguousarray(x[order].T), weight, category, k)
        return groups

    def _aggregate(self, column: pl.Series, side: _Side, of: np.ndarray) -> pl.Series:
        """The column anew; missing where a row has no group, or had no value."""
        rows = np.flatnonzero((of >= 0) & column.is_not_null().to_numpy())
        rows = rows[np.argsort(of[rows], kind="stable")]
        inside = np.unique(of[rows], return_inverse=True)[1].reshape(-1)
        if not side.category:
            y = np.full((len(column), 1), np.nan)
            y[rows] = self.aggregated(side.value[rows, None], inside)
            if kind_of_column(column) == "number":
                return as_numbers(column.to_frame(), y).to_series()
            days = pl.Series(column.name, np.round(y[:, 0])).fill_nan(None).cast(pl.Int64)
            return days.cast(column.to_physical().dtype).cast(column.dtype)
        starts, one, attribute = (
            np.flatnonzero(np.diff(inside, prepend=-1)),
            np.ones(len(rows), np.int64),
            side.attribute,
        )
        at = np.full(len(column), -1)
        if attribute.hierarchy is not None:
            labels = aggregate_labels(attribute, side.codes[rows], one, starts, "mean")
            at[rows] = labels.of[inside]
            words = pl.Series(column.name, [*labels.text, None], pl.String)
        else:
            at[rows] = modes(side.codes[rows], one, inside, len(starts))[inside]
            first = np.unique(side.codes, return_index=True)  # a row of each value
            row_of = np.zeros(int(side.codes.max()) + 1, np.int64)
            row_of[first[0]] = first[1]
            words = pl.concat([column.gather(row_of), pl.Series(column.name, [None], column.dtype)])
        return words.gather(np.where(at < 0, len(words) - 1, at))


@dataclass(frozen=True, eq=False)
class _Side:
    """A column as rows are told apart by it: its number in its range, or categories, level by level."""

    matrix: np.ndarray
    category: bool
    value: np.ndarray
    codes: np.ndarray
    attribute: Attribute

    @property
    def width(self) -> int:
        return self.matrix.shape[1]


def _side(column: pl.Series, context: Context) -> _Side:
    name = column.name
    category = kind_of_column(column) == "category"
    recipes = {name: parse(context.hierarchies[name])} if category and name in context.hierarchies else {}
    micro = microdata(column.to_frame(), {name: "quasi"}, recipes)
    attribute, codes = micro.attribute(name), np.asarray(micro.codes[name], np.int64)
    if category:
        levels = [codes] if attribute.hierarchy is None else [of[codes] for of in attribute.ladder.of[:-1]]
        return _Side(np.stack(levels, axis=1).astype(np.float64), True, codes, codes, attribute)
    value = column.to_physical().cast(pl.Float64).fill_null(np.nan).to_numpy()
    return _Side(_spanned(value[:, None]), False, value, codes, attribute)


def _spanned(x: np.ndarray) -> np.ndarray:
    """Columns from 0 to 1; constant ones are 0."""
    low, high = np.nanmin(x, axis=0), np.nanmax(x, axis=0)
    return np.asarray((x - low) / np.where(high > low, high - low, 1.0))
