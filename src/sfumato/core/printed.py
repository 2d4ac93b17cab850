"""The printed form of a value: the one text that stands for it in labels, files and comparisons.

Columns of few texts are held as numbers of these: compared, sorted and copied as numbers, and printed once per text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import polars as pl

from sfumato.errors import ColumnError

T = TypeVar("T")
SEEN, FEW = 4096, 3072  # values that tell whether a column has few different ones, and how many are few
MOST = 1 << 16  # texts that are held as numbers
TOGETHER = 1 << 12  # texts of several columns that are written as one
LARGEST_KEY = 1 << 62  # a number of several codes: one above it could wrap, and merge tuples that differ


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
    if isinstance(dtype, pl.Enum):  # by its texts: a cast takes six times as long
        return plain_values(dtype.categories).gather(series.to_physical()).alias(series.name)
    text = series.cast(pl.String)
    return plain_values(text) if isinstance(dtype, pl.String | pl.Categorical) else text


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


def coded(column: pl.Series) -> pl.Series:
    """A column of texts as an Enum of those that it has, sorted, in memory of their own; as it is where they are many.

    >>> coded(pl.Series(["b", "a", None])).dtype.categories.to_list()
    ['a', 'b']
    """
    if column.dtype != pl.String or column.head(SEEN).n_unique() > FEW:
        return column
    known = (column.drop_nulls() if column.null_count() else column).unique()
    if len(known) > MOST:
        return column
    return column.cast(pl.Enum(known.sort().to_list()))


def categories(column: pl.Series) -> pl.Series | None:
    """The texts of an Enum; None for other columns, and where the empty text is among them, which is missing.

    >>> categories(pl.Series(["b"], dtype=pl.Enum(["a", "b"]))).to_list()
    ['a', 'b']
    """
    dtype = column.dtype  # each look at it makes it anew
    if not isinstance(dtype, pl.Enum):
        return None
    listed = dtype.categories
    return None if (listed == "").any() else listed


def text_column(name: str, texts: Sequence[str | None], number: np.ndarray) -> pl.Series:
    """The text of each row by its number, as an Enum of those that are used, sorted, in memory of their own.

    >>> text_column("age", ["30", "2*", None], np.array([1, 1, 2])).to_list()
    ['2*', '2*', None]
    """
    used = (np.bincount(number, minlength=len(texts)) > 0).tolist()
    there = [text if some else None for text, some in zip(texts, used, strict=True)]
    words = sorted({text for text in there if text is not None})
    rank = {text: i for i, text in enumerate(words)}
    column = pl.Series(name, np.array([rank.get(text or "", 0) for text in there], np.uint32)[number])
    if any(some and text is None for text, some in zip(texts, used, strict=True)):
        column = column.set(pl.Series(np.array([text is None for text in there])[number]), None)
    return column.cat.to(pl.Enum(words))


def as_text(column: pl.Series) -> pl.Series:
    """An Enum as its texts: gathered, which takes a sixth of the time of a cast."""
    if not isinstance(column.dtype, pl.Enum):
        return column
    return column.dtype.categories.gather(column.to_physical()).alias(column.name)


def released_types(coded: Mapping[str, pl.DataType], original: Mapping[str, pl.DataType]) -> dict[str, pl.DataType]:
    """The types of released columns: an Enum stands for texts, unless the original column is one."""
    return {
        name: pl.String() if isinstance(dtype, pl.Enum) and not isinstance(original[name], pl.Enum) else dtype
        for name, dtype in coded.items()
    }


def with_texts(frame: pl.DataFrame, original: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """A frame of released columns with their types."""
    types = released_types(frame.schema, original)
    return frame.with_columns(as_text(column) for column in frame.iter_columns() if column.dtype != types[column.name])


def pack_numbers(numbers: Iterable[tuple[T, int]], join: Callable[[T, int, T], T]) -> list[T]:
    """Numbers of columns, each below its size, as few whole ones of 64 bits in the order of their tuples; `join` makes
    one of a number, the size of the next, and that.

    >>> pack_numbers([("a", 9), ("b", 5), ("c", 1 << 60)], lambda key, size, number: f"{key} * {size} + {number}")
    ['a * 5 + b', 'c']
    """
    found: list[T] = []
    domain = LARGEST_KEY
    for number, size in numbers:
        if domain * size >= LARGEST_KEY:  # a wider number would wrap: begin another
            found.append(number)
            domain = size
        else:
            found[-1] = join(found[-1], size, number)
            domain *= size
    return found


def tuple_keys(columns: Sequence[pl.Series]) -> pl.DataFrame:
    """Numbers that are equal where the printed texts of some columns are, for each row, in one column or few."""
    found = pack_numbers(map(_numbers, columns), lambda key, size, number: key * size + number)
    return pl.DataFrame({f"q{i}": key for i, key in enumerate(found)})


def _numbers(column: pl.Series) -> tuple[np.ndarray, int]:
    """A number for each printed text of a column, one more for missing, and how many there are."""
    listed = categories(column)
    if listed is not None:
        size, physical = len(listed), column.to_physical()
    else:
        physical = printed(column).cast(pl.Categorical).to_physical()
        size = int(physical.max() or 0) + 1  # type: ignore[arg-type]
    number = physical.cast(pl.Int64)
    return (number.fill_null(size) if number.null_count() else number).to_numpy(), size + 1


@dataclass(frozen=True, eq=False)
class FieldTexts:
    """The columns of a frame as they stand in the lines of a file, neighbours that have few texts as one column.

    `parts` are a text per number and the number of each row, or a column with None; `field` gives the texts of a
    column as they stand in a line, also that of missing.
    """

    parts: list[tuple[pl.Series, np.ndarray | None]]
    field: Callable[[pl.Series], pl.Series]

    @staticmethod
    def of(frame: pl.DataFrame, separator: str, field: Callable[[pl.Series], pl.Series]) -> FieldTexts:
        parts: list[tuple[pl.Series, np.ndarray | None]] = []
        for column in frame.iter_columns():
            if not isinstance(column.dtype, pl.Enum):
                parts.append((column, None))
                continue
            words = field(column.dtype.categories.extend_constant(None, 1))
            number = column.to_physical().cast(pl.UInt32).fill_null(len(words) - 1).to_numpy()
            before, numbers = parts[-1] if parts else (words, None)
            if numbers is None or len(before) * len(words) > TOGETHER:
                parts.append((words, number))
                continue
            pairs = np.divmod(np.arange(len(before) * len(words)), len(words))
            parts[-1] = before.gather(pairs[0]) + separator + words.gather(pairs[1]), numbers * len(words) + number
        return FieldTexts(parts, field)

    def rows(self, low: int, size: int) -> pl.DataFrame:
        """So many rows, to be written without quotes."""
        found = [
            self.field(texts.slice(low, size)) if number is None else texts.gather(number[low : low + size])
            for texts, number in self.parts
        ]
        return pl.DataFrame([column.alias(str(i)) for i, column in enumerate(found)])
