"""pandas frames in and out, with or without PyArrow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.roles import digits_of
from sfumato.engines.files.forms import ReadWarning
from sfumato.errors import ColumnError, SfumatoError, warn

NESTED = (list, dict, tuple, set, frozenset, np.ndarray, bytes, bytearray)
# what pandas finds in a column of objects, where Polars has a type for it
OBJECTS: dict[str, Any] = {
    "string": pl.String,
    "boolean": pl.Boolean,
    "integer": pl.Int64,
    "floating": pl.Float64,
    "date": pl.Date,
    "datetime": None,
}


# periods and time differences have no ranges here; what to give instead
AS_TEXT = {
    "period": 'give dates instead: frame["{}"].dt.to_timestamp()',
    "timedelta": 'give numbers instead: frame["{}"].dt.total_seconds()',
}


def with_index(frame: Any) -> Any:
    """A pandas frame with an index that has values as its first columns, under its names; others are dropped.

    An index of whole numbers without a name holds row numbers, in whatever order filtering, shuffling and joining left
    them. One without a name that holds anything else becomes the column "index", and the levels of a MultiIndex
    "level_0", "level_1", ...
    """
    index = frame.index
    if index.nlevels == 1 and index.name is None and index.dtype.kind in "iu":
        return frame.reset_index(drop=True)
    numbered = [f"level_{i}" for i in range(index.nlevels)] if index.nlevels > 1 else ["index"]
    names = [number if name is None else name for name, number in zip(index.names, numbered, strict=True)]
    taken = Counter(str(label) for label in (*frame.columns, *names))
    if twice := [str(name) for name in names if taken[str(name)] > 1]:
        what = f'the index is called "{twice[0]}", and so is a column, or another level of it'
        raise ColumnError(what, hint="rename one of them, or drop the index: frame.reset_index(drop=True)")
    return frame.reset_index(names=names)


def from_pandas(frame: Any, names: list[str]) -> pl.DataFrame:
    """A pandas frame as a Polars frame, column by column; an index that has values is in it already."""
    columns = {}
    for i, name in enumerate(names):
        try:
            columns[name] = column_from_pandas(frame.iloc[:, i], name)
        except SfumatoError:
            raise
        except Exception:  # whatever a foreign array raises, its message may hold cells
            raise ColumnError(f'column "{name}" cannot be read', got=f"type {frame.dtypes.iloc[i]}") from None
    return pl.DataFrame(columns)


def column_from_pandas(column: Any, name: str) -> pl.Series:
    """A pandas column as a Polars column; missing is None, NaN, NaT or NA.

    Numbers, booleans, timestamps and texts keep their type, but for codes of which some are missing: they are whole
    numbers. Categories become their values, ordered texts an Enum. What a table has no type for (mixed objects, whole
    numbers beyond 64 bits, decimals, periods, time differences, intervals) becomes its `str`; a warning says so of
    periods and time differences.
    """
    import pandas as pd

    dtype, missing = column.dtype, column.isna().to_numpy()
    if isinstance(dtype, pd.CategoricalDtype):
        values = column_from_pandas(pd.Series(dtype.categories), name)
        codes = pl.Series(column.cat.codes.to_numpy()).cast(pl.Int64)
        if dtype.ordered and values.dtype == pl.String and values.is_unique().all():
            values = values.cast(pl.Enum(values))
        return values.gather(codes.set(codes < 0, None)).alias(name)
    if isinstance(dtype, pd.SparseDtype):
        return column_from_pandas(column.sparse.to_dense(), name)
    if isinstance(dtype, pd.ArrowDtype) or getattr(dtype, "storage", None) == "pyarrow":
        return plain_categories(pl.Series(name, column.array.__arrow_array__()))
    if isinstance(dtype, pd.DatetimeTZDtype):
        return _zoned(column_from_pandas(column.dt.tz_convert("UTC").dt.tz_localize(None), name), str(dtype.tz))
    if isinstance(dtype, pd.StringDtype):
        return objects(column.to_numpy(dtype=object, na_value=None).tolist(), name, "string")
    if dtype.kind == "M":
        unit = np.datetime_data(dtype)[0]
        return pl.Series(name, column.to_numpy().astype(f"datetime64[{unit if unit in ('us', 'ns') else 'ms'}]"))
    if dtype.kind in "biuf":
        plain = dtype if isinstance(dtype, np.dtype) else dtype.numpy_dtype
        numbers = column.to_numpy() if isinstance(dtype, np.dtype) else column.to_numpy(plain, na_value=plain.type(0))
        series = pl.Series(name, numbers.astype("f4" if plain.str[1:] == "f2" else plain.newbyteorder("=")))
        series = series.set(pl.Series(missing), None) if missing.any() else series
        return _whole_codes(series) if missing.any() and plain.kind == "f" else series
    if hint := next((hint for kind, hint in AS_TEXT.items() if str(dtype).startswith(kind)), None):
        warn(ReadWarning(f'column "{name}" of type {dtype} is read as text; for ranges, {hint.format(name)}'))
    values = column.astype(object).where(~missing, None).to_list()  # the typed ones know None alone
    kind = pd.api.types.infer_dtype(column, skipna=True) if dtype.kind == "O" else "other"
    return objects(values, name, kind)


def _whole_codes(numbers: pl.Series) -> pl.Series:
    """Codes as whole numbers again: pandas makes them floating point where some are missing."""
    whole = digits_of(numbers.name) != "numbers" and bool(
        ((numbers == numbers.round()) & (numbers.abs() < 2**53)).all()
    )
    return numbers.cast(pl.Int64) if whole else numbers


def objects(values: list[Any], name: str, kind: str) -> pl.Series:
    """A column of Python objects: of one type if pandas says it is of that kind and it fits, else text."""
    if kind in OBJECTS:
        try:
            return pl.Series(name, values, OBJECTS[kind], strict=True)
        except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError):
            pass  # such as whole numbers beyond 64 bits, or times in several zones
    nested = next((type(value).__name__ for value in values if isinstance(value, NESTED)), None)
    if nested:
        raise ColumnError(
            f'column "{name}" holds values that cannot be released as text',
            got=nested,
            allowed="text, numbers, booleans, dates, times, categories",
            hint="leave the column out, or turn it into text first",
        )
    # one by one, because 1, 1.0 and True are equal yet print differently
    texts = [None if _missing(value) else str(value) for value in values]
    try:
        return pl.Series(name, texts, pl.String)
    except UnicodeEncodeError:
        hint = "remove lone surrogates first"
        raise ColumnError(f'column "{name}" holds text that is not valid Unicode', hint=hint) from None


def _missing(value: Any) -> bool:
    if isinstance(value, float | Decimal):
        return bool(value != value)
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def plain_categories(series: pl.Series) -> pl.Series:
    """A column of categories as the texts they stand for: an Arrow dictionary may list values that no row has."""
    return series.cast(pl.String) if isinstance(series.dtype, pl.Categorical | pl.Enum) else series


def to_pandas(released: pl.DataFrame, original: Any, rows: np.ndarray | None, untouched: Collection[str]) -> Any:
    """A released frame as a pandas frame: fresh index, no attributes, untouched columns in their own type."""
    import pandas as pd

    original = with_index(original)
    place = {str(label): i for i, label in enumerate(original.columns)}
    columns: dict[Any, Any] = {}
    untouched = set(untouched)
    for series in released.iter_columns():
        name = series.name
        label = original.columns[place[name]] if name in place else name
        dtype = original.dtypes.iloc[place[name]] if name in place else None
        # objects that were read as text leave as that text: an object may hold more than it prints
        as_text = dtype is not None and str(dtype) == "object" and series.dtype == pl.String
        if name in untouched and not as_text and not str(dtype).startswith("dictionary<"):
            column = original.iloc[:, place[name]]
            column = column.copy() if rows is None else column.take(rows)
            if isinstance(column.dtype, pd.CategoricalDtype):
                # neither may a category that only suppressed rows had come along, nor the order they were met in
                column = column.cat.remove_unused_categories()
                known = list(column.cat.categories)
                column = column if column.cat.ordered else column.cat.reorder_categories(sorted(known, key=str))
            columns[label] = column.reset_index(drop=True)
        else:
            columns[label] = _to_pandas_column(series)
    return pd.DataFrame(columns, copy=False)  # all of them are fresh


def _to_pandas_column(series: pl.Series) -> Any:
    import pandas as pd

    series = plain_categories(series)
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        zone = getattr(series.dtype, "time_zone", None)
        values = pd.Series(series.to_numpy())  # times come out in UTC
        return values.dt.tz_localize("UTC").dt.tz_convert(zone) if zone else values
    return series.to_pandas()  # ten times faster for text


def _zoned(utc: pl.Series, zone: str) -> pl.Series:
    try:
        return utc.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
    except pl.exceptions.PolarsError:  # a fixed offset has no name
        return utc.dt.replace_time_zone("UTC")
