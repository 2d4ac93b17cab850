"""A run over a stream: rows in, released rows out, each batch checked before it leaves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.hierarchy import kind_of
from sfumato.core.printed import plain_values, printed, refuse_unprintable
from sfumato.errors import ColumnError, did_you_mean
from sfumato.series.streams.boxes import Shape
from sfumato.series.streams.check import check_classes
from sfumato.series.streams.columns import QuasiColumns, learn, restored
from sfumato.series.streams.request import StreamRequest
from sfumato.series.streams.values import Grouping, Stored
from sfumato.series.streams.window import Outlet, Rules, Window

CHUNKS = 64  # pieces that the waiting rows may be in


class Door:
    """What comes in: each batch has the columns of the first, of the same kinds."""

    def __init__(self, request: StreamRequest, schema: Mapping[str, pl.DataType] | None = None) -> None:
        self.request = request
        self.schema = None if schema is None else dict(schema)
        self.order: list[str] = [] if schema is None else list(schema)

    def enter(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The columns that are looked at, in the types of the first batch."""
        request = self.request
        names = [name for name in frame.columns if name in request.looked_at]
        refuse_unprintable({name: frame.schema[name] for name in names})
        if self.schema is None:
            self.schema = {name: frame.schema[name] for name in names}
            self.order = names
        absent = [name for name in self.schema if name not in frame.columns]
        if absent:
            what = f'a batch has no column "{absent[0]}", which the first one had'
            raise ColumnError(what, hint=did_you_mean(absent[0], frame.columns))
        known = {*self.schema, *request.identifying}
        if strange := [name for name in frame.columns if name not in known]:
            what = f'a batch has a column "{strange[0]}" that the first one had not'
            raise ColumnError(what, hint="each batch of a stream has the same columns")
        if request.person is not None:
            who = plain_values(frame.get_column(request.person))
            if who.null_count():
                what = f'column "{request.person}" does not say of each row whose it is'
                raise ColumnError(what, got=f"{who.null_count()} missing", hint="leave such rows out, or name them")
        return frame.select(self._as_first(frame.get_column(name)) for name in self.order)

    def _as_first(self, column: pl.Series) -> pl.Series:
        assert self.schema is not None
        dtype, name = self.schema[column.name], column.name
        if column.dtype == dtype:
            return column
        if column.null_count() == len(column):
            return pl.Series(name, [None] * len(column), dtype=dtype)
        old, new = kind_of(dtype), kind_of(column.dtype)
        alike = old == new or {old, new} <= {"integer", "decimal"} or old == "text"
        try:
            if not alike:
                raise pl.exceptions.InvalidOperationError
            cast = printed(column).cast(dtype) if old == "text" else column.cast(dtype)
            if old != "text" and not bool((cast.cast(column.dtype) == column).fill_null(True).all()):
                raise pl.exceptions.InvalidOperationError
        except pl.exceptions.PolarsError:  # its message may hold cells
            what = f'column "{name}" has another type than in the first batch'
            raise ColumnError(what, got=str(column.dtype), allowed=str(dtype)) from None
        return cast


class WindowRun:
    """Rows of a stream in, released rows out, by an algorithm under which rows wait."""

    def __init__(self, request: StreamRequest, algorithm: Grouping) -> None:
        self.request, self.algorithm = request, algorithm
        self.door = Door(request)
        self.columns: QuasiColumns | None = None
        self.window: Window | None = None
        self.rows: pl.DataFrame | None = None  # those that wait, and some that left; the first is number `start`
        self.start = self.arrived = self.released = self.suppressed = 0
        self.before: pl.DataFrame | None = None  # what the checker has to remember
        self.lost = 0.0  # the sum of what released rows lose
        self._shape: Shape | None = None

    @property
    def rules(self) -> Rules:
        """What a class has to keep."""
        asked = self.request
        least = np.array(list(asked.l.values()), np.int64)
        return Rules(asked.k, least, asked.delay, self.algorithm.reuse)

    def take(self, frame: pl.DataFrame) -> pl.DataFrame | None:
        """Let rows arrive, one after the other; what is released by then, or None where nothing is."""
        rows = self.door.enter(frame)
        if self.columns is None:  # nothing has to leave before the first window is full
            held = rows if self.rows is None else pl.concat([self.rows, rows])
            if held.height < self.request.delay:
                self.rows, self.arrived = held, held.height
                return None
            return self._begin(held, False)
        return self._advance(rows, self.columns, False)

    def finish(self) -> pl.DataFrame | None:
        """Release the rows that wait, as far as they can be placed."""
        if self.columns is None:
            return None if self.rows is None else self._begin(self.rows, True)
        return self._advance(self.rows.clear() if self.rows is not None else pl.DataFrame(), self.columns, True)

    def _begin(self, held: pl.DataFrame, end: bool) -> pl.DataFrame | None:
        asked = self.request
        columns = learn(held, asked.quasi, asked.recipes, asked.domains, asked.ends)
        columns.place(held)  # refused before anything is changed
        self.columns, self.rows, self.arrived = columns, None, 0
        self.window = self.algorithm.window(len(asked.quasi), len(asked.l), asked.delay, asked.k, asked.seed)
        return self._advance(held, self.columns, end)

    def _advance(self, rows: pl.DataFrame, columns: QuasiColumns, end: bool) -> pl.DataFrame | None:
        assert self.window is not None
        asked = self.request
        coded = (columns.place(rows) if rows.height else np.empty((0, len(asked.quasi))), *self._codes(rows))
        first = self.arrived
        self.rows = rows if self.rows is None else self.rows.vstack(rows)
        self.arrived += rows.height
        outlet = self.algorithm.advance(self.window, self.rules, self._measured(columns), first, coded, end)
        found = self._released(outlet, columns)
        oldest = max(self.arrived - asked.delay, self.start)
        self.rows, self.start = self.rows.slice(oldest - self.start), oldest
        if self.rows.n_chunks() > CHUNKS:
            self.rows = self.rows.rechunk()
        return found

    def _measured(self, columns: QuasiColumns) -> Shape:
        """The shape of the columns, made anew where trees grew."""
        if self._shape is None or len(self._shape.parent) < len(columns.trees.parent):
            self._shape = columns.shape()
        return self._shape

    def _codes(self, rows: pl.DataFrame) -> tuple[np.ndarray, np.ndarray]:
        """A number per row for its person, and per sensitive column for its value. They are hashes: two that meet make
        people fewer than they are, never more."""
        asked = self.request
        person = np.arange(self.arrived, self.arrived + rows.height)
        if asked.person is not None:
            person = hashed(rows.get_column(asked.person))
        value = np.empty((rows.height, len(asked.l)), np.int64)
        for j, name in enumerate(asked.l):
            value[:, j] = hashed(rows.get_column(name))
        return person, value

    def _released(self, outlet: Outlet, columns: QuasiColumns) -> pl.DataFrame | None:
        """The rows that leave, in canonical order, once the checker has counted them."""
        many, classes, gone = outlet.counts.tolist()
        self.suppressed += gone
        if many == 0:
            return None
        asked = self.request
        assert self.rows is not None
        of = outlet.of[:many]
        labels = columns.labels(outlet.lo[:classes], outlet.hi[:classes])[of]
        rows = self.rows[outlet.row[:many] - self.start]
        when = pl.Series(outlet.when[:many])
        person = pl.Series(outlet.row[:many].copy()) if asked.person is None else printed(rows.get_column(asked.person))
        values = {name: printed(rows.get_column(name)).fill_null("") for name in asked.l}
        reuse = self.rules.reuse
        self.before = check_classes(labels, person, when, values, asked.k, asked.l, reuse, self.before)
        self.released += many
        self.lost += float(outlet.loss[of].sum())
        names = [name for name in self.door.order if name in asked.released]
        found = pl.DataFrame([(labels if name in asked.quasi else rows).get_column(name) for name in names])
        return found.sort([*asked.quasi, *asked.sensitive, *asked.insensitive], nulls_last=True)

    def stored(self) -> Stored:
        """All that a run is, as plain values, arrays and tables: the rows that wait are among them."""
        plain: dict[str, Any] = {
            "start": self.start,
            "arrived": self.arrived,
            "released": self.released,
            "suppressed": self.suppressed,
            "lost": self.lost,
            "columns": None if self.columns is None else self.columns.stored(),
        }
        arrays = {} if self.window is None else dict(self.window._asdict())
        tables = {name: one for name, one in (("rows", self.rows), ("before", self.before)) if one is not None}
        return plain, arrays, tables

    def restore(
        self, plain: Mapping[str, Any], arrays: Mapping[str, np.ndarray], tables: Mapping[str, pl.DataFrame]
    ) -> None:
        """Go on from what was stored."""
        asked = self.request
        self.start, self.arrived = plain["start"], plain["arrived"]
        self.released, self.suppressed, self.lost = plain["released"], plain["suppressed"], plain["lost"]
        self.rows, self.before = tables.get("rows"), tables.get("before")
        if self.rows is not None:
            self.door = Door(asked, self.rows.schema)
        if plain["columns"] is None:
            return
        self.columns = restored(asked.quasi, asked.recipes, plain["columns"])
        self.window = Window(**{name: np.array(arrays[name]) for name in Window._fields})
        if self.rows is not None and self.rows.height:  # hashes may differ in another version of Polars
            slots = np.arange(self.start, self.start + self.rows.height) % asked.delay
            if asked.person is not None:
                self.window.person[slots] = hashed(self.rows.get_column(asked.person))
            for j, name in enumerate(asked.l):
                self.window.value[slots, j] = hashed(self.rows.get_column(name))


def hashed(column: pl.Series) -> np.ndarray:
    """A whole number per printed value."""
    return printed(column).fill_null("").hash(seed=7).to_numpy().view(np.int64)
