"""SyntheticTables: real rows, synthetic rows and held-out rows of the same columns, coded together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.keys import number_tuples, tally
from sfumato.core.microdata import encode
from sfumato.core.parameters import column_names, known_columns
from sfumato.engines.memory.table import enter
from sfumato.errors import ColumnError, PolicyError
from sfumato.measures.risk.keys import quasi_of, stacked

EXACT = float(1 << 53)  # floats tell whole numbers below it apart


@dataclass(frozen=True, eq=False, repr=False)
class JointColumn:
    """A column of all tables, one after the other: a code per row, and where each code stands if it has an order."""

    code: np.ndarray  # int32
    size: int
    position: np.ndarray | None  # float64 per code, nan where it is missing
    text: tuple[str | None, ...]


@dataclass(frozen=True, eq=False)
class SyntheticTables:
    """The rows that a model was fitted on, those that were drawn from it, and real rows that it never saw.

    Values are compared as the library counts them: null, NaN and the empty text are one value, numbers are equal
    whatever type or spelling they come in (39, 39.0, "39"), other values where they print alike.
    """

    original: pl.DataFrame = field(repr=False)  # rows of people, as the others
    synthetic: pl.DataFrame = field(repr=False)
    hold_out: pl.DataFrame | None = field(repr=False)
    names: tuple[str, ...]
    _columns: dict[str, JointColumn] = field(default_factory=dict, repr=False)

    @cached_property
    def tables(self) -> list[pl.DataFrame]:
        """The tables that are there, in the order of their rows."""
        return [self.original, self.synthetic, *([] if self.hold_out is None else [self.hold_out])]

    @cached_property
    def rows(self) -> int:
        """Rows of all tables."""
        return sum(table.height for table in self.tables)

    def parts(self, found: np.ndarray) -> list[np.ndarray]:
        """What was found of all rows, per table."""
        return np.split(found, np.cumsum([table.height for table in self.tables])[:-1])

    def column(self, name: str) -> JointColumn:
        """A column of all tables, coded once."""
        if name not in self._columns:
            self._columns[name] = _joined([table.get_column(name) for table in self.tables])
        return self._columns[name]

    def groups(self, names: Sequence[str]) -> tuple[np.ndarray, int]:
        """The group of each row of all tables: rows that are equal in these columns are one; and how many there are."""
        columns = [self.column(name) for name in names]
        return number_tuples(
            [column.code for column in columns], [np.arange(column.size) for column in columns], self.rows
        )

    def counts(self, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The group of each row, and for each group the rows of the original and of the synthetic table."""
        of, groups = self.groups(names)
        original, synthetic = self.parts(of)[:2]
        return of, tally(original, groups), tally(synthetic, groups)


def tables_of(original: Any, synthetic: Any = None, hold_out: Any = None, columns: Any = None) -> SyntheticTables:
    """The tables on some columns, all that they share unless given; SyntheticTables stay as they are, on these columns.

    >>> tables_of({"age": [30, 41], "name": ["a", "b"]}, {"age": [30.0]}).names
    ('age',)
    """
    if isinstance(original, SyntheticTables):
        return original if columns is None else replace(original, names=_named(columns, {"the tables": original.names}))
    if synthetic is None:
        raise PolicyError("a measure of synthetic rows needs the original and the synthetic table", got="one table")
    tables = {"the original": enter(original)[0], "the synthetic table": enter(synthetic)[0]}
    if hold_out is not None:
        tables["the hold-out"] = enter(hold_out)[0]
    frames = list(tables.values())
    if columns is None:
        names = tuple(name for name in frames[0].columns if all(name in frame.columns for frame in frames))
        if not names:
            raise ColumnError("the original and the synthetic table share no column")
    else:
        names = _named(columns, {what: frame.columns for what, frame in tables.items()})
    return SyntheticTables(frames[0], frames[1], frames[2] if hold_out is not None else None, names)


def keyed(original: Any, synthetic: Any, hold_out: Any, quasi: Any) -> tuple[SyntheticTables, tuple[str, ...]]:
    """The tables, and the names of the keys, which they all have.

    >>> keyed({"age": [30], "sex": ["f"]}, {"age": [31], "sex": ["m"]}, None, ["age"])[1]
    ('age',)
    """
    tables = tables_of(original, synthetic, hold_out)
    names: tuple[str, ...] = ()
    for table, what in zip(tables.tables, ("the original", "the synthetic table", "the hold-out"), strict=False):
        names = quasi_of(table, quasi, what)
    return tables, names


def _named(columns: Any, there: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Names of columns, checked."""
    names = tuple(dict.fromkeys(column_names(columns, "columns")))
    if not names:
        raise PolicyError("columns is empty", allowed="one column or more")
    for what, known in there.items():
        known_columns(names, known, what)
    return names


def _joined(columns: Sequence[pl.Series]) -> JointColumn:
    found = _typed(columns[0], columns)
    for other in columns[1:]:
        found = stacked(found, _typed(other, columns))
    categories, code = encode(found)
    place, text = categories.position, categories.text
    if place is None:
        return JointColumn(code, len(categories), None, text)
    known = len(categories) - categories.missing
    new = np.ones(len(categories), np.bool_)
    if known and np.abs(place[:known]).max() < EXACT:
        new[1:known] = place[1:known] != place[: known - 1]  # texts may spell a number in several ways
    if new.all():
        return JointColumn(code, len(categories), place, text)
    of, first = (np.cumsum(new) - 1).astype(np.int32), np.flatnonzero(new)
    return JointColumn(of[code], len(first), place[first], tuple(text[i] for i in first.tolist()))


def _typed(series: pl.Series, among: Sequence[pl.Series]) -> pl.Series:
    """A column as it can be compared: dates as times among times, yes and no as the texts or numbers of others."""
    kinds = [other.dtype for other in among]
    if series.dtype == pl.Date and any(isinstance(kind, pl.Datetime) for kind in kinds):
        return series.cast(pl.Datetime("us"))
    if isinstance(series.dtype, pl.Datetime) and any(kind != series.dtype for kind in kinds):
        return series.dt.replace_time_zone(None).cast(pl.Datetime("us"))
    if pl.Boolean in kinds and series.dtype == pl.Boolean and any(kind.is_numeric() for kind in kinds):
        return series.cast(pl.Int64)
    if pl.Boolean in kinds and series.dtype == pl.String:
        return series.str.to_lowercase()
    return series
