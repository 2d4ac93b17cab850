"""Steps on an out-of-core table. Its rows come batch by batch, once for each step that has to know all of them, and
once to be written; random numbers are those of the same rows in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import starmap
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.masked import Change, Context, Fact
from sfumato.core.parameters import weights_of
from sfumato.core.printed import plain_values
from sfumato.core.progress import Progress
from sfumato.core.protocols import Masker
from sfumato.core.random_stream import RandomStream
from sfumato.core.registry import variant_name
from sfumato.core.wording import quoted
from sfumato.engines.batches import CHANGED, At, OutOfCoreRows, with_rows
from sfumato.engines.files.recode import Tuples
from sfumato.engines.files.table import ScannedFile
from sfumato.engines.files.write import write_frames
from sfumato.engines.order import INPUT, numbered
from sfumato.engines.protocol import COUNT, RESERVED_PREFIX, Plan, refuse_many
from sfumato.errors import ColumnError, PolicyError, ReadError
from sfumato.masking.run import (
    Masked,
    by_strata,
    changes_by_strata,
    common_facts,
    joined,
    with_columns,
)
from sfumato.release.facts import FACTS

HELD = 1 << 20  # counted tuples that wait before those that are alike are put together
MADE = RESERVED_PREFIX + "made"
KEYED = 'state the columns that tell rows apart, as in row_key=["id"]'


@dataclass(eq=False)
class MapStage:
    """A step that makes one value of each: what becomes of each value of a column, by its stratum."""

    step: Masker
    maps: dict[str, tuple[Tuples, pl.Series]]
    change: Change

    def __call__(self, table: pl.DataFrame, at: At) -> pl.DataFrame:
        """The columns anew, of some rows."""
        return pl.DataFrame([self._mapped(table, name) for name in self.maps])

    def _mapped(self, table: pl.DataFrame, name: str) -> pl.Series:
        tuples, made = self.maps[name]
        place = tuples(_keys(table, (*self.step.by, name)))
        if len(place) and place.max() == tuples.absent:
            raise ReadError(CHANGED, hint="run it again")
        return made.gather(place).alias(name)


@dataclass(eq=False)
class RowStage:
    """A step that works row by row: what it has to know of all rows, of each stratum, and its random numbers."""

    step: Masker
    stream: RandomStream
    weight: str | None
    hierarchies: Mapping[str, Any]
    seen: Sequence[Any]
    strata: Tuples | None = None
    types: dict[str, pl.DataType] = field(default_factory=dict)
    told: dict[int, tuple[tuple[Fact, ...], Mapping[str, Any]]] = field(default_factory=dict)  # by stratum

    def __call__(self, table: pl.DataFrame, at: At) -> pl.DataFrame:
        """The columns anew, of some rows."""
        stream = at(self.stream) if self.step.draws else self.stream
        context = Context(table, stream, self.weight, weights_of(table, self.weight), self.hierarchies)
        columns = table.select(self.step.columns)
        if self.strata is None:
            parts = [(0, np.arange(table.height), self.step.apply(columns, replace(context, seen=self.seen[0])))]
        else:
            stratum = self.strata(_keys(table, self.step.by)).to_numpy().astype(np.int64)
            if (stratum == self.strata.absent).any():
                raise ReadError(CHANGED, hint="run it again")
            parts = changes_by_strata(self.step, columns, context, stratum, len(self.seen), self.seen)
        for number, _, change in parts:
            before = self.told.get(number, (change.facts, {}))[0]
            self.told[number] = tuple(fact for fact in before if fact in change.facts), change.published
        rows = np.concatenate([rows for _, rows, _ in parts])
        made = pl.concat([change.columns for _, _, change in parts], how="vertical_relaxed")[np.argsort(rows)]
        if not self.types:
            self.types = dict(made.schema)
        try:
            return made.cast(self.types)  # type: ignore[arg-type]
        except pl.exceptions.PolarsError:  # whose message may hold cells
            what = f"{variant_name(type(self.step).__name__)} makes numbers that are too large"
            raise ColumnError(f"{what} in {quoted(self.types)}") from None

    @property
    def change(self) -> Change:
        """What is told of it, once all rows were changed."""
        nothing = pl.DataFrame(schema=self.types)
        if self.strata is None:
            return Change(nothing, facts=self.told[0][0], published=self.told[0][1])
        facts = [fact for facts, _ in self.told.values() for fact in facts]
        return Change(nothing, facts=common_facts(facts, len(self.seen)), published={"strata": len(self.seen)})


Stage = MapStage | RowStage


@dataclass(frozen=True, eq=False)
class StoredMasking:
    """Steps that know what they have to know of all rows, so that they can be done to some of them."""

    rows: OutOfCoreRows
    weight: str | None
    stages: tuple[Stage, ...] = ()

    def __call__(self, frame: pl.DataFrame, at: At) -> pl.DataFrame:
        """Rows after the steps, with numbers and dates as such."""
        table = self.rows.as_typed(frame)
        for stage in self.stages:
            table = table.with_columns(stage(table, at).iter_columns())
        return table

    @property
    def changed(self) -> set[str]:
        """The columns that the steps change."""
        return {name for stage in self.stages for name in stage.step.changes}

    @property
    def first(self) -> pl.DataFrame:
        """A few rows after the steps."""
        made = self(*self.rows.first)
        for stage in self.stages:
            if isinstance(stage, RowStage):
                stage.told.clear()  # of rows that come again
        return made

    def needs(self, more: Iterable[str] = ()) -> set[str]:
        """The columns that the steps look at, and further ones."""
        own = {name for stage in self.stages for name in _looked(stage.step)}
        return {*own, *more, *([] if self.weight is None else [self.weight])}

    def before(self, step: Masker) -> StoredMasking:
        """The steps that change what another one looks at."""
        looked, stages = {*_looked(step), *([] if self.weight is None else [self.weight])}, list[Stage]()
        for stage in reversed(self.stages):
            if {*stage.step.changes} & looked:
                stages, looked = [stage, *stages], {*looked, *_looked(stage.step)}
        return replace(self, stages=tuple(stages))

    def found(self, columns: Sequence[str]) -> Masked:
        """What is told of the steps, once all rows were changed; what compares with the original is not checked."""
        found = Masked(pl.DataFrame(schema=dict.fromkeys(columns, pl.Null())), np.empty(0, np.int64))
        for stage in self.stages:
            public = tuple(fact for fact in stage.change.facts if not FACTS[fact.fact].private)
            found = joined(found, stage.step, replace(stage.change, facts=public), self.weight, 0)
        return found


def _looked(step: Masker) -> tuple[str, ...]:
    """The columns that a step looks at."""
    return (*step.columns, *step.by, *step.needs)


def settle(
    rows: OutOfCoreRows, steps: Sequence[Masker], streams: Sequence[RandomStream], *,
    weight: str | None, hierarchies: Mapping[str, Any], apart: Sequence[str], most: int, report_progress: Progress,
) -> StoredMasking:  # fmt: skip
    """Look at all rows for each step, as the steps before it left them."""
    found = StoredMasking(rows, weight)
    for given, stream in zip(steps, streams, strict=True):
        step = with_columns(given, found.first, apart)
        refuse_unstored(step, rows)
        what = f"looking at all rows for {variant_name(type(step).__name__)}"
        before = found.before(step)
        batches = rows.batches(before.needs(_looked(step)), what, report_progress)
        frames = starmap(before, batches)
        make = _mapped if step.stored == "map" else _by_rows
        stage: Stage = make(step, frames, stream, weight, hierarchies, most)
        found = replace(found, stages=(*found.stages, stage))
    return found


def refuse_unstored(step: Masker, rows: OutOfCoreRows) -> None:
    """Raise a PolicyError for a step that cannot be done to an out-of-core table."""
    name, engine = variant_name(type(step).__name__), rows.engine
    if step.stored is None or step.own_strata:
        what = f"{name} needs all rows at once, and those of {engine.called} are out-of-core"
        hint = "take another step, or read the table into memory, or a part of it that fits"
        raise PolicyError(what, hint=hint)
    if step.draws and not rows.row_key and INPUT not in engine.orders:
        what = f"{name} draws a number for each row, and the rows of {engine.called} have no order"
        raise PolicyError(what, hint=KEYED)


def _mapped(
    step: Masker, frames: Iterable[pl.DataFrame], stream: RandomStream, weight: str | None,
    hierarchies: Mapping[str, Any], most: int,
) -> MapStage:  # fmt: skip
    """What becomes of each value, from the counts of all; a step that `weighs` sees each as often as it is there."""
    weighed = weight if step.weighs else None
    counts = {name: _Counts([*step.by, name, *([] if weighed is None else [weighed])], most) for name in step.columns}
    for frame in frames:
        for one in counts.values():
            one.add(frame)
    maps, facts, published = {}, list[Fact](), dict[str, Any]()
    for name, one in counts.items():
        table = one.frame()
        if step.weighs:
            table = table[np.repeat(np.arange(table.height), table.get_column(COUNT).to_numpy())]
        context = Context(table, stream, weighed, weights_of(table, weighed), hierarchies)
        change = by_strata(step, table.select([name]), context)
        pairs = table.select(*step.by, name).with_columns(change.columns.get_column(name).alias(MADE))
        pairs = pairs.unique(subset=[*step.by, name], maintain_order=True) if step.weighs else pairs
        maps[name] = Tuples(pairs.drop(MADE)), pairs.get_column(MADE)
        facts += [fact for fact in change.facts if fact not in facts]
        for key, value in change.published.items():
            published[key] = {**published.get(key, {}), **value} if isinstance(value, Mapping) else value
    nothing = pl.DataFrame([made.clear().alias(name) for name, (_, made) in maps.items()])
    return MapStage(step, maps, Change(nothing, facts=tuple(facts), published=published))


def _by_rows(
    step: Masker, frames: Iterable[pl.DataFrame], stream: RandomStream, weight: str | None,
    hierarchies: Mapping[str, Any], most: int,
) -> RowStage:  # fmt: skip
    """What a step has to know of all rows, by stratum."""
    seen: dict[tuple[Any, ...], Any] = {}
    for frame in frames:
        for key, rows in _strata(frame, step.by):
            table = frame if rows is None else frame[rows]
            context = Context(table, stream, weight, weights_of(table, weight), hierarchies)
            found = step.look(table.select(step.columns), context)
            seen[key] = found if seen.get(key) is None else reduce(add, (seen[key], found))
            refuse_many(len(seen), most)
    if not step.by:
        return RowStage(step, stream, weight, hierarchies, [seen[()]])
    dtypes = dict(_keys(frame, step.by).schema)
    strata = pl.DataFrame(list(seen), schema=dtypes, orient="row")
    order = np.argsort(numbered(strata, list(step.by)))
    every = list(seen.values())
    return RowStage(step, stream, weight, hierarchies, [every[i] for i in order.tolist()], Tuples(strata[order]))


def _strata(frame: pl.DataFrame, by: Sequence[str]) -> Iterator[tuple[tuple[Any, ...], np.ndarray | None]]:
    """The strata of some rows, each with its rows."""
    if not by:
        yield (), None
        return
    keys = _keys(frame, by)
    number = numbered(keys, list(by))
    order = np.argsort(number, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(number[order])) + 1):
        yield keys.row(int(rows[0])), rows


def _keys(table: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Columns whose values are told apart: what is not a number is missing."""
    columns = map(table.get_column, names)
    return pl.DataFrame([c.fill_nan(None) if c.dtype.is_float() else c for c in columns])


class _Counts:
    """The distinct tuples of columns, with how many rows have each; more than `most` are TooManyCells."""

    def __init__(self, names: Sequence[str], most: int) -> None:
        self.names, self.most = list(names), most
        self.keys = [str(i) for i in range(len(names))]  # a column may be called "*"
        self.parts: list[pl.DataFrame] = []
        self.waiting = 0

    def add(self, table: pl.DataFrame) -> None:
        """More rows."""
        found = pl.DataFrame(_keys(table, self.names).get_columns(), schema=self.keys)
        self.parts.append(found.group_by(self.keys).agg(pl.len().cast(pl.Int64).alias(COUNT)))
        self.waiting += self.parts[-1].height
        if self.waiting > HELD:
            self._compact()

    def _compact(self) -> None:
        self.parts = [pl.concat(self.parts).group_by(self.keys).agg(pl.col(COUNT).sum())]
        self.waiting = 0
        refuse_many(self.parts[0].height, self.most)

    def frame(self) -> pl.DataFrame:
        """The tuples, sorted, and in `COUNT` how many rows have each."""
        self._compact()
        found = self.parts[0].sort(self.keys)
        return pl.DataFrame(found.get_columns(), schema=[*self.names, COUNT])


class MaskedRows:
    """The rows that steps made of an out-of-core table, to be written."""

    def __init__(self, masking: StoredMasking) -> None:
        self.masking, engine = masking, masking.rows.engine
        self.formats, self.called = engine.formats, engine.called
        made = masking.first.schema
        self.types = {name: made[name] if name in masking.changed else t for name, t in engine.schema().items()}

    def recode(self, plan: Plan, file: Path, format: str, report_progress: Progress) -> ScannedFile:
        """Write the rows, in the order of the plan."""
        masking, schema = self.masking, {name: self.types[name] for name in plan.columns}

        def frames() -> Iterator[pl.DataFrame]:
            for frame, at in masking.rows.batches(masking.needs(plan.columns), "masking rows", report_progress):
                table = masking(frame, at)
                made = [(table if n in masking.changed else frame).get_column(n) for n in plan.columns]
                yield pl.DataFrame(list(map(plain_values, made)))  # what promises count as one value is one

        write_frames(with_rows(frames()), schema, file, format, plan.order)
        return ScannedFile(file, format)
