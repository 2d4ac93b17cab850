"""A Plan applied to some rows of a stream: values to codes, codes to labels, with tables that are built once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from sfumato.core.printed import LARGEST_KEY, plain
from sfumato.engines.order import Codes, ranks
from sfumato.engines.protocol import LABEL, PIECE, Plan
from sfumato.errors import ReadError

DENSE = 1 << 22  # positions of a table that is worth its memory for any number of entries


class Tuples:
    """The place of a tuple in a frame of distinct ones, by an exact key: `absent` where it is not there."""

    def __init__(self, frame: pl.DataFrame) -> None:
        names = frame.columns
        self.absent = frame.height
        self.codes = {name: Codes(frame.get_column(name)) for name in names}
        self.before: Tuples | None = None
        domain, start = 1, 0
        for i, name in enumerate(names):
            if domain * self.codes[name].size >= LARGEST_KEY:  # a wider key would wrap: number the tuples so far
                self.before, start = Tuples(frame.select(names[:i]).unique(maintain_order=True)), i
                domain = self.before.absent + 1
            domain *= self.codes[name].size
        self.names = names[start:]
        key = self._key(frame)
        self.table: pl.Series | None = None
        if domain <= max(DENSE, 8 * frame.height):
            table = np.full(domain, self.absent, np.uint32)
            table[key.to_numpy()] = np.arange(frame.height, dtype=np.uint32)
            self.table = pl.Series(table)
        else:
            self.order = key.arg_sort()
            self.sorted = key.gather(self.order)

    def __call__(self, frame: pl.DataFrame) -> pl.Series:
        """The place of each row's tuple."""
        key = self._key(frame)
        if self.table is not None:
            return self.table.gather(key)
        rank = ranks(self.sorted, key)
        return self.order.gather(rank.fill_null(0)).cast(pl.UInt32).set(rank.is_null(), self.absent)

    def _key(self, frame: pl.DataFrame) -> pl.Series:
        key = pl.repeat(0, frame.height, dtype=pl.Int64, eager=True)
        if self.before is not None:
            key = self.before(frame).cast(pl.Int64)
        for name in self.names:
            codes = self.codes[name]
            key = key * codes.size + codes(frame.get_column(name))
        return key


class Mapper:
    """The rows that a plan releases, from rows as they came."""

    def __init__(self, plan: Plan, schema: Mapping[str, pl.DataType]) -> None:
        self.plan, self.keys = plan, list(plan.keys)
        touched = dict.fromkeys((*plan.keys, *plan.row_key, *plan.unchanged, *plan.maps))
        self.plain = [plain(name, schema[name]) for name in touched]
        self.gone = None if plan.suppressed_keys is None else Tuples(plan.suppressed_keys.select(self.keys))
        self.cells = None if plan.cells is None else Tuples(plan.cells.select(plan.cell_keys))
        self.dealt = None if plan.dealt is None else Tuples(plan.dealt.drop(PIECE))
        self.piece = None if plan.dealt is None else plan.dealt.get_column(PIECE).extend_constant(0, 1)
        beside = () if plan.cells is None else [s for s in plan.cells.iter_columns() if s.name.startswith(LABEL)]
        self.labels = {series.name.removeprefix(LABEL): _Labels.of(series) for series in beside}
        self.maps = {name: _Map(frame, name) for name, frame in plan.maps.items()}

    def schema(self, given: Mapping[str, pl.DataType]) -> dict[str, pl.DataType]:
        """Column to type of the rows that it makes; of those that are released the labels are texts."""
        made: dict[str, _Labels | _Map] = {**self.labels, **self.maps}
        return {name: made[name].texts.dtype if name in made else given[name] for name in self.plan.columns}

    @property
    def labelled(self) -> list[str]:
        """The columns of labels."""
        return [name for name in self.plan.columns if name in self.maps or name in self.labels]

    def __call__(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Those of the rows that stay, in their order, with their labels: as Enum, which is quick to sort."""
        level = rows.select(self.plain)
        made: dict[str, pl.Series] = {}
        if self.gone is not None:
            rows, level, _ = _kept(rows, level, self.gone(level) == self.gone.absent)
        if self.dealt is not None and self.piece is not None:
            level = level.with_columns(self.piece.gather(self.dealt(level)))
        if self.cells is not None:
            place = self.cells(level)
            rows, level, place = _kept(rows, level, place != self.cells.absent, place)
            made |= {name: labels(place) for name, labels in self.labels.items()}
        for name, of in self.maps.items():
            made[name] = of(level.get_column(name))
        for name in self.plan.unchanged:
            made[name] = level.get_column(name)
        return pl.DataFrame({name: made[name] if name in made else rows[name] for name in self.plan.columns})


@dataclass(frozen=True, eq=False)
class _Labels:
    """The label of each place, of few different ones."""

    texts: pl.Series

    @staticmethod
    def of(labels: pl.Series) -> _Labels:
        return _Labels(_listed(labels).rechunk())  # in one chunk gathering is fast

    def __call__(self, place: pl.Series) -> pl.Series:
        return self.texts.gather(place)


class _Map:
    def __init__(self, frame: pl.DataFrame, name: str) -> None:
        self.codes = Codes(frame.get_column(name))
        label = [None] * self.codes.size
        texts = frame.get_column(LABEL + name).cast(pl.String)
        self.texts = _listed(pl.Series(label, dtype=pl.String).scatter(self.codes(frame.get_column(name)), texts))

    def __call__(self, values: pl.Series) -> pl.Series:
        code = self.codes(values)
        if len(code) and code.max() == self.codes.unknown:
            raise ReadError("the table has other values than when it was counted: it was changed while it was read")
        return self.texts.gather(code)


def _listed(labels: pl.Series) -> pl.Series:
    return labels if isinstance(labels.dtype, pl.Enum) else labels.cast(pl.Enum(labels.drop_nulls().unique().sort()))


def _kept(
    rows: pl.DataFrame, level: pl.DataFrame, stay: pl.Series, place: pl.Series | None = None
) -> tuple[pl.DataFrame, pl.DataFrame, pl.Series]:
    where = stay if place is None else place
    return (rows, level, where) if stay.all() else (rows.filter(stay), level.filter(stay), where.filter(stay))
