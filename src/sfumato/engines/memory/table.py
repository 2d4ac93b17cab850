"""MemoryTable: a frame of any library, or a file that was read; a release of it is again a frame of that kind."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property
from itertools import compress
from pathlib import Path
from typing import Any, ClassVar, Literal

import narwhals as nw
import numpy as np
import polars as pl

from sfumato.core.fingerprint import fingerprint
from sfumato.core.parameters import weights_of
from sfumato.core.printed import (
    coded,
    count_numbers,
    known,
    plain,
    refuse_unprintable,
    text_numbers,
    with_texts,
)
from sfumato.core.progress import Progress
from sfumato.engines.files.bytes import FORMATS, write_table
from sfumato.engines.files.count import singled
from sfumato.engines.files.read import how_read, read, read_table
from sfumato.engines.files.table import ScannedFile
from sfumato.engines.memory.pandas import from_pandas, objects, plain_categories, to_pandas, with_index
from sfumato.engines.order import INPUT
from sfumato.engines.protocol import COUNT, Engine, Plan, reading_without, refuse_many
from sfumato.errors import ColumnError, EmptyTable, InputError

Kind = Literal["polars", "lazy", "pandas", "arrow", "dict"]
ALLOWED = "a frame of pandas, Polars (eager or lazy) or PyArrow, a dict of lists, or the path of a file"


class MemoryTable(Engine):
    """A table in memory: a frame of pandas, Polars or PyArrow, a dict of lists, or a file that is read.

    Each row can be told from the others here, so that what is decided is a label per row: `Plan.taken` and
    `Plan.labels`. `came_from` are the rows of the original that the rows of a release are.

    >>> MemoryTable({"age": [30, 30, 41]}).count(["age"], lambda message, share: None, 9).sort("age").rows()
    [(30, 2), (41, 1)]
    """

    in_memory: ClassVar[bool] = True
    keeps: ClassVar = "frame"
    formats: ClassVar = tuple(FORMATS)
    called: ClassVar = "a table in memory"
    place: ClassVar[dict[str, Any]] = {}

    def __init__(
        self,
        data: Any,
        came_from: np.ndarray | None = None,
        reading: Mapping[str, Any] | None = None,
        make: Callable[[], Any] | None = None,
    ) -> None:
        if isinstance(data, str | Path):
            read = read_table(data)
            data, reading = read.frame, read.record
        self.frame, self.kind = enter(data)
        self.given = self.frame  # all rows, whichever are left out
        self.reading = reading or (how_read(data) if isinstance(data, pl.DataFrame) else {})
        self.came_from = came_from
        if make is None:
            self.data = data
        else:
            self.make = make

    @cached_property
    def data(self) -> Any:
        """What its user has: of a release a frame of the kind that came in, made when it is first asked for."""
        return self.make()

    @cached_property
    def coded(self) -> dict[str, pl.Series]:
        """The columns of few texts, as an Enum of these."""
        found = (coded(column) for column in self.frame.iter_columns() if column.dtype == pl.String)
        return {column.name: column for column in found if column.dtype != pl.String}

    def missing(self, columns: Sequence[str]) -> tuple[int, int]:
        """How many rows have a missing value in one of the columns, and how many rows there are."""
        return int((~self._known(columns)).sum()), self.frame.height

    def without_missing(self, columns: Sequence[str], gone: int) -> MemoryTable:
        """The table without the rows that have a missing value in one of the columns."""
        rows = _filtered(self.data, self.frame, self.kind, self._known(columns))
        found = MemoryTable(rows, reading=reading_without(self.reading, columns, gone))
        found.given = self.given
        return found

    def _known(self, columns: Sequence[str]) -> pl.Series:
        """Which rows have a value in all of the columns."""
        values = pl.DataFrame([self.frame.get_column(name).alias(str(i)) for i, name in enumerate(columns)])
        return values.select(known(values.schema)).to_series()

    def schema(self) -> dict[str, pl.DataType]:
        """Column to type, in order."""
        return dict(self.frame.schema)

    def snapshot(self, write: bool) -> AbstractContextManager[MemoryTable]:
        """The frame itself, which nobody changes."""
        return nullcontext(self)

    def rows(self) -> int:
        """How many rows there are."""
        return self.frame.height

    def sample(self, rows: int) -> pl.DataFrame:
        """All rows."""
        return self.frame

    def positive(self, column: str) -> bool:
        """Whether every row has a finite number above 0 in a column."""
        try:
            return weights_of(self.frame, column) is not None
        except ColumnError:
            return False

    def fingerprint(self, secret: bytes | None) -> str | None:
        """HMAC-SHA256 of the column names and printed values, in order."""
        every = self.given is self.frame
        return fingerprint(self.given.with_columns(self.coded.values()) if every else self.given, secret)

    def count(
        self, columns: Sequence[str], report_progress: Progress, most: int = sys.maxsize, work: Path | None = None
    ) -> pl.DataFrame:
        """Distinct tuples of columns, and in `COUNT` how many rows have them."""
        keys = [str(i) for i in range(len(columns))]  # a column may be called "*"
        frame = pl.DataFrame([self.frame.get_column(name).alias(key) for name, key in zip(columns, keys, strict=True)])
        frame = frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
        values = frame.select(plain(key, frame.schema[key]) for key in keys)
        found = values.group_by(keys).agg(pl.len().cast(pl.Int64).alias(COUNT))
        refuse_many(found.height, most)
        found.columns = [*columns, COUNT]
        return found

    def singled(self, sets: Sequence[Sequence[str]]) -> list[int]:
        """For each set of columns how many rows have values of them that no other row has."""
        return singled(self.frame.lazy().with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String)), sets)

    def recode(self, plan: Plan, file: Path, format: str, report_progress: Progress) -> ScannedFile:
        """Write the rows as the plan says."""
        table = self._recoded(plan)[0]
        write_table(plan.numbers.write(table) if plan.numbers.form else table, file, format)
        return ScannedFile(file, format)

    @contextmanager
    def release(
        self, plan: Plan, name: str | None, overwrite: bool, report_progress: Progress
    ) -> Iterator[MemoryTable]:
        """The rows as the plan says, few texts as an Enum of these; `data` is a frame of the kind that came in."""
        report_progress("recoding", None)
        table, rows = self._recoded(plan)
        table = forget_others(table)
        untouched = [column for column in table.columns if column not in plan.labels]
        types = self.frame.schema

        def make() -> Any:
            written = with_texts(table, types)
            written = plan.numbers.write(written) if plan.numbers.form else written
            return leave(written, self.data, self.kind, rows, untouched)

        released = MemoryTable(table, rows, make=make)
        if self.kind in ("pandas", "arrow"):  # it takes columns from the frame that came in, which may be changed later
            _ = released.data
        yield released

    def _recoded(self, plan: Plan) -> tuple[pl.DataFrame, np.ndarray]:
        """The released table, in its order, and which rows of this one its rows are."""
        if plan.taken is None:
            return pl.DataFrame(list(map(self.frame.get_column, plan.columns))), np.arange(self.frame.height)
        rows, every = plan.taken, len(plan.taken) == self.frame.height
        columns = {}
        for name in plan.columns:
            given = self.frame.get_column(name)
            own = self.coded.get(name, given)
            column = plan.labels[name] if name in plan.labels else own if every else own.gather(rows)
            columns[name] = column if isinstance(given.dtype, pl.Enum) else coded(column)
        table = pl.DataFrame(columns)
        if plan.order.name == INPUT:
            return table, rows
        places = plan.order.places(table)
        return table[places], rows[places]

    def as_given(self, released: pl.DataFrame, rows: np.ndarray | None = None) -> Any:
        """A frame of the kind that came in."""
        own = [name for name in released.columns if name in self.frame.columns] if rows is not None else []
        return leave(released, self.data, self.kind, rows, own)

    def kept(self, data: Any) -> MemoryTable:
        """A released frame."""
        return MemoryTable(data)


def enter(data: Any) -> tuple[pl.DataFrame, Kind]:
    """A table of any kind as a Polars frame, and the kind; the input is not modified.

    Parameters
    ----------
    data
        A frame of pandas, Polars (eager or lazy) or PyArrow, or of any library that narwhals can make eager; a dict of
        lists; or the path of a file. Frames of other libraries and files come back as Polars.

    Raises
    ------
    InputError
        For anything else.
    ColumnError
        Where a column is named twice or holds lists, structs or bytes.
    EmptyTable
        Where there are no rows or no columns.

    Examples
    --------
    >>> enter({"age": [30, 41]})[1]
    'dict'
    """
    frame, kind = _enter(data)
    if frame.width == 0 or frame.height == 0:
        raise EmptyTable("the table has no rows" if frame.width else "the table has no columns")
    frame = _text_objects(frame)
    refuse_unprintable(frame.schema)
    return frame.with_columns(pl.col(pl.Null).cast(pl.String)), kind


def _enter(data: Any) -> tuple[pl.DataFrame, Kind]:
    if isinstance(data, str | Path):
        return read(data), "polars"
    if isinstance(data, pl.DataFrame):
        return data, "polars"
    if isinstance(data, pl.LazyFrame):
        return _collect(data), "lazy"
    if nw.dependencies.is_pandas_dataframe(data):
        data = with_index(data)
        return from_pandas(data, _names(data.columns)), "pandas"
    if nw.dependencies.is_pyarrow_table(data):
        return _from_arrow(data, _names(data.column_names)), "arrow"
    if isinstance(data, Mapping):
        return _from_dict(data, _names(data)), "dict"
    return _from_narwhals(data), "polars"


def _filtered(data: Any, frame: pl.DataFrame, kind: Kind, known: pl.Series) -> Any:
    """Some rows of what came in, as the same kind of frame."""
    if kind == "pandas":
        return data[known.to_numpy()]
    if kind == "arrow":
        return data.filter(known.to_arrow())
    if kind == "dict":
        return {name: list(compress(values, known)) for name, values in data.items()}
    return frame.filter(known).lazy() if kind == "lazy" else frame.filter(known)


def leave(
    released: pl.DataFrame, original: Any, kind: Kind, rows: np.ndarray | None, untouched: Collection[str]
) -> Any:
    """A released table as the kind of frame that came in; index, attributes and metadata are not those of the input.

    Parameters
    ----------
    released
        All released columns, in order.
    original, kind
        What came in, and the kind that `enter` found.
    rows
        The positions of the kept rows in the input, in the order of the release; None where all are kept, in order.
    untouched
        The columns released as they are: for pandas and PyArrow they keep their type.

    Examples
    --------
    >>> data = {"age": [30, 41]}
    >>> leave(pl.DataFrame({"age": ["[30, 40)"]}), data, "dict", None, [])
    {'age': ['[30, 40)']}
    """
    if kind == "pandas":
        return to_pandas(released, original, rows, untouched)
    if kind == "arrow":
        return _to_arrow(released, original, untouched)
    if kind == "dict":
        return released.to_dict(as_series=False)
    return released.lazy() if kind == "lazy" else released


def _names(labels: Iterable[Any]) -> list[str]:
    labels = list(labels)
    if any(isinstance(label, tuple) for label in labels):
        raise ColumnError("the columns have names of several levels", hint="flatten the names first")
    names = [str(label) for label in labels]
    for i, name in enumerate(names, 1):
        if re.search("[\ud800-\udfff]", name):
            raise ColumnError(f"the name of column {i} is not valid Unicode", hint="rename it: it has a lone surrogate")
    twice = [f'"{name}"' for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ColumnError(f"two columns have the same name: {', '.join(twice)}", hint="rename one of them")
    return names


def _collect(frame: pl.LazyFrame) -> pl.DataFrame:
    try:
        return frame.collect()
    except (pl.exceptions.PolarsError, OSError):  # its message may hold cells
        raise InputError("the lazy frame cannot be collected", hint="call .collect() on it to see why") from None


def _text_objects(frame: pl.DataFrame) -> pl.DataFrame:
    held = [name for name, dtype in frame.schema.items() if isinstance(dtype, pl.Object)]
    return frame.with_columns(objects(frame.get_column(name).to_list(), name, "other") for name in held)


def _from_arrow(table: Any, names: list[str]) -> pl.DataFrame:
    columns = {}
    for name, column in zip(names, table.columns, strict=True):
        try:
            if str(column.type).startswith("decimal256"):  # Polars stops the process over it
                raise TypeError
            columns[name] = plain_categories(pl.Series(name, column))
        except Exception:  # a type that Polars does not know; its message may hold cells
            raise ColumnError(f'column "{name}" cannot be read', got=f"type {column.type}") from None
    return pl.DataFrame(columns)


def _to_arrow(released: pl.DataFrame, original: Any, untouched: Collection[str]) -> Any:
    import pyarrow as pa

    columns = dict(zip(released.columns, released.to_arrow(compat_level=pl.CompatLevel.oldest()).columns, strict=True))
    for name in columns.keys() & set(untouched):
        kind = original.schema.field(name).type
        if pa.types.is_dictionary(kind):
            columns[name] = columns[name].dictionary_encode()
        elif not pa.types.is_null(kind):
            columns[name] = columns[name].cast(kind)
    return pa.table(columns)


def _from_dict(data: Mapping[Any, Any], names: list[str]) -> pl.DataFrame:
    columns = {}
    for name, values in zip(names, data.values(), strict=True):
        kinds = set(map(type, values)) - {type(None)} if isinstance(values, list | tuple) else set()
        numbers = kinds == {int, float} and not any(type(v) is int and abs(v) > 2**53 for v in values)
        try:
            if len(kinds) > 1 and not numbers:  # Polars would settle for the type of the first value
                raise TypeError
            columns[name] = pl.Series(name, values, dtype=pl.Float64 if numbers else None, strict=not numbers)
        except Exception:  # mixed types, or no list at all
            if not isinstance(values, list | tuple | np.ndarray):
                raise InputError(f'column "{name}" is not a list', got=type(values).__name__, allowed="lists") from None
            columns[name] = objects(list(values), name, "other")
    if len({len(column) for column in columns.values()}) > 1:
        raise InputError("the columns are not equally long")
    return pl.DataFrame(columns)


def _from_narwhals(data: Any) -> pl.DataFrame:
    wrong = InputError("this is no table", got=f"type {type(data).__module__}.{type(data).__name__}", allowed=ALLOWED)
    try:
        frame = nw.from_native(data)
    except TypeError:
        raise wrong from None
    try:
        eager = frame.collect(backend="polars") if isinstance(frame, nw.LazyFrame) else frame
        return eager.to_polars()
    except Exception:  # the message of a foreign library may hold cells
        raise wrong from None


def forget_others(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame alone: rows that were left out must not come along in the buffers of texts or in enumerations."""
    reduced = []
    for series in frame.iter_columns():
        if series.dtype == pl.String:
            reduced.append((series + "x").str.strip_suffix("x"))  # the one way that copies only what is there
        dtype = series.dtype
        if isinstance(dtype, pl.Enum):
            values = dtype.categories
            used = np.flatnonzero(count_numbers(text_numbers(series), len(values) + 1)[:-1])
            if len(used) < len(values):
                number = np.zeros(len(values), np.min_scalar_type(len(values)))
                number[used] = np.arange(len(used))
                kept = pl.Series(series.name, number).gather(series.to_physical())
                reduced.append(kept.cat.to(pl.Enum(values.gather(used).to_list())))
    return frame.with_columns(reduced)
