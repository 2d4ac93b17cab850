"""Frames in and out: any kind of frame to Polars, and a release back to the kind that came in."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import narwhals as nw
import numpy as np
import polars as pl

from sfumato.core.printed import refuse_unprintable
from sfumato.engines.files.read import read
from sfumato.engines.memory.pandas import from_pandas, objects, plain_categories, to_pandas
from sfumato.errors import ColumnError, EmptyTable, InputError

Kind = Literal["polars", "lazy", "pandas", "arrow", "dict"]
ALLOWED = "a frame of pandas, Polars (eager or lazy) or PyArrow, a dict of lists, or the path of a file"


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
        return from_pandas(data, _names(data.columns)), "pandas"
    if nw.dependencies.is_pyarrow_table(data):
        return _from_arrow(data, _names(data.column_names)), "arrow"
    if isinstance(data, Mapping):
        return _from_dict(data, _names(data)), "dict"
    return _from_narwhals(data), "polars"


def leave(
    released: pl.DataFrame, original: Any, kind: Kind, rows: np.ndarray | None, untouched: Collection[str]
) -> Any:
    """A released table as the kind of frame that came in; the index, attributes and metadata of the input stay behind.

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
        if isinstance(series.dtype, pl.Enum):
            used = set(series.unique())
            values = [value for value in series.dtype.categories if value in used]
            reduced.append(series.cast(pl.String).cast(pl.Enum(values)))
    return frame.with_columns(reduced)
