"""The printed form of a value: the one text that stands for it in labels, files and comparisons."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from sfumato.errors import ColumnError


def printed(series: pl.Series) -> pl.Series:
    """The printed form of each value of a column, as text; missing stays missing.

    Within a column two values print alike only where they are equal. Whole numbers print as digits; floating point
    numbers as the shortest text that reads back as the same number (``1.0``, and ``0.0`` for either zero); dates and
    times as ISO 8601, with fractions of a second only where they are not zero and the offset where there is a time
    zone; booleans as ``true`` and ``false``; categories as their text. NaN and the empty text are missing.

    Parameters
    ----------
    series
        A column of any type but bytes, lists, structs and objects, which are a ColumnError.

    Examples
    --------
    >>> printed(pl.Series([1.0, -0.0, float("nan")])).to_list()
    ['1.0', '0.0', None]

    References
    ----------
    ISO 8601-1:2019; Adams, "Ryū: fast float-to-string conversion", PLDI 2018.
    """
    refuse_unprintable({series.name: series.dtype})
    dtype = series.dtype
    if dtype.is_float():
        return plain_values(series).cast(pl.String)
    if isinstance(dtype, pl.Datetime):
        return series.dt.to_string("%Y-%m-%dT%H:%M:%S%.f%:z" if dtype.time_zone else "%Y-%m-%dT%H:%M:%S%.f")
    if isinstance(dtype, pl.Time):
        return series.dt.to_string("%H:%M:%S%.f")
    if isinstance(dtype, pl.Duration):
        return series.dt.to_string("iso")
    text = series.cast(pl.String)
    return plain_values(text) if isinstance(dtype, pl.String | pl.Categorical | pl.Enum) else text


def plain(name: str, dtype: pl.DataType) -> pl.Expr:
    """A column in its plain form: null, NaN and the empty text are one missing value, either zero is 0.0.

    >>> pl.DataFrame({"x": [-0.0, float("nan")]}).select(plain("x", pl.Float64()))["x"].to_list()
    [0.0, None]
    """
    column = pl.col(name)
    if dtype.is_float():
        known = column.fill_nan(None)
        return pl.when(known == 0).then(pl.lit(0.0, dtype)).otherwise(known).alias(name)
    if dtype == pl.String:
        return pl.when(column != "").then(column).alias(name)
    return column


def known(schema: Mapping[str, pl.DataType]) -> pl.Expr:
    """Whether a row has a value in each of some columns, by their plain form.

    >>> pl.DataFrame({"x": ["a", ""]}).select(known({"x": pl.String()}))["x"].to_list()
    [True, False]
    """
    return pl.all_horizontal(plain(name, dtype).is_not_null() for name, dtype in schema.items())


def plain_values(series: pl.Series) -> pl.Series:
    """The values of a column in their plain form.

    >>> plain_values(pl.Series([-0.0, float("nan")])).to_list()
    [0.0, None]
    """
    if series.dtype == pl.String and not (series == "").any():  # quicker than a new column
        return series
    return series.to_frame("value").select(plain("value", series.dtype)).to_series().alias(series.name)


def refuse_unprintable(schema: Mapping[str, pl.DataType]) -> None:
    """Raise a ColumnError that names all columns whose values have no printed form."""
    found = {n: t for n, t in schema.items() if t.is_nested() or isinstance(t, pl.Binary | pl.Object)}
    if not found:
        return
    names, one = ", ".join(f'"{name}"' for name in found), len(found) == 1
    raise ColumnError(
        f"{'column' if one else 'columns'} {names} {'holds' if one else 'hold'} values that cannot be released as text",
        got=", ".join(dtype.base_type().__name__.lower() for dtype in found.values()),
        allowed="text, numbers, booleans, dates, times, categories",
        hint=f"leave the {'column' if one else 'columns'} out, or turn {'it' if one else 'them'} into text first",
    )


def printed_frame(frame: pl.DataFrame) -> pl.DataFrame:
    """Every column of a frame in its printed form."""
    return pl.DataFrame({series.name: printed(series) for series in frame.iter_columns()})
