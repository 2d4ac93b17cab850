"""The rows that queries look at: filtered, and cut to what one person may contribute."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.conditions import Condition, expression
from sfumato.core.printed import plain_values, printed
from sfumato.core.progress import quiet
from sfumato.dp.grid import Grid
from sfumato.dp.values import Public, Unit
from sfumato.engines.protocol import COUNT, Engine

MOST_TUPLES = 2**62  # no limit, that a database can write down
COUNTED = 4  # groupings of an out-of-core table that are kept
KEPT = 64  # columns of whole numbers that are

Places = Callable[["RowView"], np.ndarray]


@dataclass(frozen=True, eq=False, repr=False)
class RowView:
    """Rows that a query looks at: distinct tuples of its columns, and how often each counts; or rows as they are, each
    of which counts once, where `times` is None. `kept` are those that meet its filter; all, where it is None."""

    rows: PrivateRows
    columns: pl.DataFrame
    height: int
    kept: np.ndarray | None
    times: np.ndarray | None

    def total(self, there: np.ndarray | None = None) -> int:
        """How many rows there are, of those that are `there`."""
        if self.times is not None:
            return int(self.times.sum() if there is None else self.times[there].sum())
        return self.height if there is None else int(np.count_nonzero(there))

    def added(self, values: np.ndarray) -> int:
        """The sum of whole numbers over all rows."""
        return int(values.sum() if self.times is None else np.dot(values, self.times))

    def column(self, name: str) -> pl.Series:
        """The values of a column."""
        found = self.columns.get_column(name)
        return found if self.kept is None else found.gather(self.kept)

    def there(self, name: str) -> np.ndarray:
        """Which rows have a value in a column."""
        return self._own(("there", name), lambda: self.columns.get_column(name).is_not_null().to_numpy())

    def codes(self, name: str, key: Any = None, make: Callable[[pl.Series], np.ndarray] | None = None) -> np.ndarray:
        """Whole numbers that `make` gives to the values of a column, kept by a key; equal where the printed values are,
        unless told otherwise."""
        return self._own(("codes", name, key), lambda: (make or _codes)(self.columns.get_column(name)))

    def steps(self, name: str, grid: Grid) -> np.ndarray:
        """The numbers of a column in steps of a grid; 0 where there is none."""
        return self._own((name, grid), lambda: grid.whole(self.columns.get_column(name)))

    def per_cell(self, cell: np.ndarray, size: int, values: np.ndarray | None = None) -> np.ndarray:
        """How many rows are in each cell, or the sums of whole numbers there; -1 is no cell."""
        weights = values if self.times is None else self.times if values is None else values * self.times
        found = np.bincount(cell + 1, weights, size + 1)[1:]  # exact up to 2**53
        return found.astype(np.int64)

    def sorted_upto(self, name: str) -> tuple[np.ndarray, np.ndarray | None]:
        """The known numbers of a column in order, and how many rows there are up to each; None where it is its place.

        A column is sorted once, and kept: filtered rows are taken out of it in its order.
        """
        if self.times is None:
            order = self._whole(("order", name), lambda: _order(self.columns.get_column(name)))
            known = self._whole(("sorted", name), lambda: self.columns.get_column(name).to_numpy()[order])
            if self.kept is None:
                return known, None
            among = np.zeros(self.columns.height, np.bool_)
            among[self.kept] = True
            return known[among[order]], None
        column = self.column(name)
        order = _order(column)
        return column.to_numpy()[order], np.append(0, np.cumsum(self.times[order]))

    def _own(self, key: Any, make: Callable[[], np.ndarray]) -> np.ndarray:
        found = self._whole(key, make)
        return found if self.kept is None else found[self.kept]

    def _whole(self, key: Any, make: Callable[[], np.ndarray]) -> np.ndarray:
        """Of all rows: kept where these are those of the table, and not of one question."""
        if self.columns is not self.rows.held:
            return make()
        kept = self.rows.kept
        found = kept.pop(key) if key in kept else make()
        while len(kept) >= KEPT:
            kept.pop(next(iter(kept)))
        kept[key] = found  # last in the row of those that go
        return found


def _codes(column: pl.Series) -> np.ndarray:
    return printed(column).rank("dense").fill_null(0).cast(pl.Int64).to_numpy()


def _order(column: pl.Series) -> np.ndarray:
    known = np.flatnonzero(column.is_not_null().to_numpy())
    return known[np.argsort(column.to_numpy()[known], kind="stable")]


@dataclass(eq=False, repr=False)
class PrivateRows:
    """A table that only queries see, in memory or counted where it lives."""

    engine: Engine | None
    public: Public
    unit: Unit
    kept: dict[Any, np.ndarray] = field(default_factory=dict)
    held: pl.DataFrame | None = None  # the columns of rows in memory that were asked for, in plain values
    counted: dict[tuple[str, ...], tuple[pl.DataFrame, np.ndarray]] = field(default_factory=dict)

    def nobody(self) -> PrivateRows:
        """The same columns without a row: what cannot be asked of these cannot be asked of any."""
        return replace(self, engine=None, kept={}, held=None, counted={})

    def of(
        self,
        columns: Sequence[str],
        where: Sequence[Condition],
        places: Places | None = None,
        needed: Sequence[str] = (),
    ) -> RowView:
        """The columns of all rows that meet the conditions, numbers as such, and how often each counts.

        Of a person at most so many rows count, the first by their own values: no other person has a say in that. The
        filter comes first, so that a row that nobody asked for takes no place. `places` tells the group of each row,
        where a person is in so many groups at most. Rows that are in no group, or lack a value that is `needed`, answer
        nothing, and take no place of a person either.
        """
        names = list(dict.fromkeys([*columns, *(one.column for one in where)]))
        person = self.unit.person
        frame, times = self._tuples(names if person is None else [*names, person])
        kept = None
        if where:
            kept = np.flatnonzero(frame.select(self.expression(where)).to_series().to_numpy())
        height = (len(times) if times is not None else self._rows()) if kept is None else len(kept)
        view = RowView(self, frame, height, kept, times if times is None or kept is None else times[kept])
        return view if person is None else self._cut(view, names, person, places, needed)

    def _cut(
        self, view: RowView, names: Sequence[str], person: str, places: Places | None, needed: Sequence[str]
    ) -> RowView:
        """At most so many rows of each person, in the order of their values."""
        unit = self.unit
        who = view.codes(person)
        known = (view.column(name) for name in names)
        own = (c if c.dtype.is_numeric() or c.dtype.is_temporal() else printed(c) for c in known)
        keys = [column.rank("dense").fill_null(0).to_numpy() for column in own]
        times = np.ones(view.height, np.int64) if view.times is None else view.times
        limited = places is not None and (unit.groups is not None or unit.rows_per_group is not None)
        place = np.zeros(view.height, np.int64) if places is None else places(view)
        counts = np.logical_and.reduce([place >= 0, *(view.there(name) for name in needed)])
        place = np.where(counts, place if limited else 0, MOST_TUPLES)  # last, where they take nobody's place
        times = np.where(counts, times, 0)
        order = np.lexsort((*reversed(keys), place, who))
        who, place, often = who[order], place[order], times[order]
        starts = np.flatnonzero(np.diff(who, prepend=-1))
        if limited:
            groups = np.flatnonzero((np.diff(who, prepend=-1) != 0) | (np.diff(place, prepend=-2) != 0))
            often = _first(often, groups, unit.rows_per_group or unit.rows)
            number = np.cumsum(_marks(groups, len(who))) - 1
            number -= _spread(number[starts], starts, len(who))
            often = np.where(number < (unit.groups or unit.rows), often, 0)
        often = _first(often, starts, unit.rows)
        there = often > 0
        at = order[there]
        kept = at if view.kept is None else view.kept[at]
        return RowView(self, view.columns, len(kept), kept, often[there])

    def _rows(self) -> int:
        return 0 if self.engine is None else self.engine.rows()

    def _tuples(self, names: Sequence[str]) -> tuple[pl.DataFrame, np.ndarray | None]:
        """The columns of rows in memory; of others their distinct tuples, and how many rows have each."""
        if self.engine is None or self.engine.in_memory:
            held = [] if self.held is None else self.held.get_columns()
            known = {column.name for column in held}
            if lacking := [name for name in dict.fromkeys(names) if name not in known]:
                self.held = pl.DataFrame([*held, *(self._plain(self._column(name)) for name in lacking)])
            return pl.DataFrame() if self.held is None else self.held, None
        key = tuple(sorted(set(names)))
        if not key:
            first = next(iter(self.public.schema))
            return pl.DataFrame(), np.array([self.engine.missing([first])[1]])
        if key not in self.counted:
            found = self.engine.count(key, quiet, MOST_TUPLES)
            often = found.get_column(COUNT).cast(pl.Int64).to_numpy()
            if len(self.counted) >= COUNTED:
                self.counted.pop(next(iter(self.counted)))
            columns = [self._plain(found.get_column(name)) for name in key]
            self.counted[key] = pl.DataFrame(columns), often
        return self.counted[key]

    def _column(self, name: str) -> pl.Series:
        if self.engine is None:
            return pl.Series(name, [], self.public.schema[name])
        return self.engine.sample(self.engine.rows()).get_column(name)

    def expression(self, where: Sequence[Condition]) -> pl.Expr:
        """Conditions on the public types of the columns; those that make no sense are refused."""
        numbers = dict.fromkeys(self.public.bounds, pl.Float64())
        return expression(where, {**self.public.schema, **numbers})

    def _plain(self, column: pl.Series) -> pl.Series:
        """A column with one kind of missing value; of those with bounds, numbers."""
        found = plain_values(column)
        return found.cast(pl.Float64, strict=False).fill_nan(None) if column.name in self.public.bounds else found


def _marks(starts: np.ndarray, length: int) -> np.ndarray:
    found = np.zeros(length, np.int64)
    found[starts] = 1
    return found


def _spread(values: np.ndarray, starts: np.ndarray, length: int) -> np.ndarray:
    return np.repeat(values, np.diff(np.append(starts, length)))


def _first(often: np.ndarray, starts: np.ndarray, most: int) -> np.ndarray:
    """How often each entry counts, where of each run that begins at a start only the first so many rows count."""
    if not len(often):
        return often
    before = np.cumsum(often) - often
    before -= _spread(before[starts], starts, len(often))
    return np.clip(most - before, 0, often)
