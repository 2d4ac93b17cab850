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
EMPTY = "sfumato: the empty text"  # what stands for it where it is no missing value
LARGEST_KEY = 1 << 62  # a number of several codes, of `core.keys` too: one above it could wrap, and merge tuples


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


def alike_as_one(table: pl.DataFrame, names: Iterable[str], rows: np.ndarray) -> dict[str, pl.Series]:
    """Of some rows, the columns in their plain form where values that print alike are told apart otherwise, as frames
    and Parquet do of NaN and null, of an empty text and null, and of the two zeros: a promise counts them as one."""
    found = {}
    for name in names:
        column = table.get_column(name)
        form = plain_values(column)
        if isinstance(column.dtype, pl.Enum | pl.Categorical):
            form = form.set(form.cast(pl.String) == "", None)
        zero = column == 0 if column.dtype.is_float() else None
        signed = zero is not None and bool(np.signbit(column.filter(zero).to_numpy()).any())
        if signed or form.null_count() > column.null_count():
            found[name] = form.gather(rows)
    return found


def told_apart(column: pl.Series) -> pl.Series:
    """The printed form of each value, with those apart that count as one and that a reader of the column can tell from
    each other: null and NaN, null and the empty text, the two zeros.

    >>> told_apart(pl.Series([0.0, -0.0, float("nan"), None])).to_list()
    ['0.0', '-0.0', 'NaN', None]
    """
    if not mixed(forms_of(column)):
        return printed(column)
    return column.to_frame("x").select(text_apart("x")).to_series().alias(column.name)


def text_apart(name: str) -> pl.Expr:
    """The same of a column of floats, texts or categories that is not yet read."""
    return pl.col(name).cast(pl.String).replace("", EMPTY)


def forms_of(column: pl.Series) -> set[str]:
    """Which of the forms of missing values and of zero a column has.

    >>> sorted(forms_of(pl.Series(["a", "", None])))
    ['empty', 'null']
    """
    found = {"null"} if column.null_count() else set()
    if column.dtype.is_float():
        negative = np.signbit(column.filter(column == 0).to_numpy())
        signs = {"-0.0": negative.any(), "0.0": not negative.all(), "nan": column.is_nan().any()}
        found |= {form for form, there in signs.items() if there}
    elif isinstance(column.dtype, pl.String | pl.Categorical | pl.Enum) and (column.cast(pl.String) == "").any():
        found.add("empty")
    return found


def mixed(forms: set[str]) -> bool:
    """Whether values that count as one can be told from each other, by the forms that a column has.

    >>> mixed({"null", "nan"}), mixed({"nan", "0.0"})
    (True, False)
    """
    return len(forms & {"null", "nan", "empty"}) > 1 or {"0.0", "-0.0"} <= forms


def is_printable(dtype: pl.DataType) -> bool:
    """Whether values of a type have a printed form.

    >>> is_printable(pl.Int64()), is_printable(pl.List(pl.Int64))
    (True, False)
    """
    return not (dtype.is_nested() or isinstance(dtype, pl.Binary | pl.Object))


def refuse_unprintable(schema: Mapping[str, pl.DataType]) -> None:
    """Raise a ColumnError that names all columns whose values have no printed form."""
    found = {name: dtype for name, dtype in schema.items() if not is_printable(dtype)}
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
    if column.dtype != pl.String:
        return column
    known = [text for text in column.head(SEEN).unique().to_list() if text is not None]
    if len(known) > min(FEW, MOST):
        return column
    found = column.cast(pl.Enum(sorted(known)), strict=False)  # the first values are often all that there are
    if found.null_count() == column.null_count():
        return found
    others = column.filter(found.is_null()).unique().drop_nulls()
    return column if len(known) + len(others) > MOST else column.cast(pl.Enum(sorted([*known, *others.to_list()])))


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


def text_numbers(column: pl.Series) -> np.ndarray:
    """The number of each row's text in an Enum, one more than the greatest for missing."""
    number = column.to_physical()
    if number.null_count():
        number = number.cast(pl.UInt32).fill_null(len(column.dtype.categories))  # type: ignore[attr-defined]
    return number.to_numpy()


def count_numbers(number: np.ndarray, size: int) -> np.ndarray:
    """How often each number below `size` is there: some at a time, for what counts them makes them wide.

    >>> count_numbers(np.array([1, 1, 0], np.uint8), 3).tolist()
    [1, 2, 0]
    """
    found = np.zeros(size, np.int64)
    for low in range(0, len(number), MOST):
        found += np.bincount(number[low : low + MOST], minlength=size)
    return found


def new_rows(frame: pl.DataFrame) -> np.ndarray | None:
    """Which rows are another than the row before; None where few are alike, or columns are no Enums.

    >>> new_rows(pl.DataFrame({"age": pl.Series(["a", "a", "a", "b"], dtype=pl.Enum(["a", "b"]))})).tolist()
    [True, False, False, True]
    """
    if not frame.width or not frame.height or not all(isinstance(dtype, pl.Enum) for dtype in frame.dtypes):
        return None
    new = np.zeros(frame.height, np.bool_)
    new[0] = True
    for column in frame.iter_columns():
        number = text_numbers(column)
        new[1:] |= number[1:] != number[:-1]
    return new if 2 * np.count_nonzero(new) <= frame.height else None


def label_counts(column: pl.Series) -> pl.DataFrame:
    """The distinct printed values of a column in "label", missing as null, and how many rows have each in "rows".

    >>> label_counts(pl.Series(["b", "", None])).sort("rows").rows()
    [('b', 1), (None, 2)]
    """
    if (listed := categories(column)) is not None:
        rows = count_numbers(text_numbers(column), len(listed) + 1)
        return pl.DataFrame({"label": listed.extend_constant(None, 1), "rows": rows}).filter(pl.col("rows") > 0)
    found = column.alias("label").value_counts(name="rows")
    found = found.with_columns(printed(found.get_column("label")), pl.col("rows").cast(pl.Int64))
    if column.dtype.is_integer():  # of others several values may print alike: both zeros, all that is missing
        return found
    return found.group_by("label").agg(pl.col("rows").sum())


def text_column(name: str, texts: Sequence[str | None], number: np.ndarray, of: np.ndarray | None = None) -> pl.Series:
    """The text of each row by its number, or by what `of` makes of it, as an Enum of those that are used, sorted, in
    memory of their own.

    >>> text_column("age", ["30", "2*", None], np.array([1, 1, 2])).to_list()
    ['2*', '2*', None]
    """
    of = np.arange(len(texts)) if of is None else of
    used = np.zeros(len(texts), np.bool_)
    used[of[count_numbers(number, len(of)) > 0]] = True
    words = sorted({text for text, some in zip(texts, used.tolist(), strict=True) if some and text is not None})
    rank = {text: i for i, text in enumerate(words)}
    ranks = np.array([rank.get(text or "", 0) for text in texts], np.min_scalar_type(len(words)))[of]
    column = pl.Series(name, ranks[number])
    lacks = np.array([text is None for text in texts])
    if (used & lacks).any():
        column = column.set(pl.Series(lacks[of][number]), None)
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
            number = text_numbers(column)
            before, numbers = parts[-1] if parts else (words, None)
            if numbers is None or len(before) * len(words) > TOGETHER:
                parts.append((words, number))
                continue
            pairs = np.divmod(np.arange(len(before) * len(words)), len(words))
            together = numbers.astype(np.uint16) * len(words) + number
            parts[-1] = before.gather(pairs[0]) + separator + words.gather(pairs[1]), together
        return FieldTexts(parts, field)

    def rows(self, low: int, size: int) -> pl.DataFrame:
        """So many rows, to be written without quotes."""
        found = [
            self.field(texts.slice(low, size)) if number is None else texts.gather(number[low : low + size])
            for texts, number in self.parts
        ]
        return pl.DataFrame([column.alias(str(i)) for i, column in enumerate(found)])
