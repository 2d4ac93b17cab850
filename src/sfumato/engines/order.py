"""The order that released rows leave in. By default the canonical one: a function of the released rows alone.

Rows are sorted by what is printed of them: quasi-identifiers first, in the order of the policy, then the other released
columns in the order of the table. Texts compare byte by byte, as UTF-8, and a missing value comes last. Rows that print
alike, yet differ (0.0 and -0.0; a missing value, NaN and the empty text), are told apart after all that is printed. So
where a row stood in the input, nobody can tell from where it stands in the release.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.printed import FEW, LARGEST_KEY, SEEN, categories, plain, printed, text_numbers
from sfumato.errors import PolicyError, did_you_mean, warn

LONG = 40  # bytes of texts that are compared as numbers
DIGITS = 17  # of whole numbers that are compared as numbers
PLACES, MOST = 4, 10**11  # digits after the point, and bound, of others that are
TENS = 10 ** np.arange(DIGITS + 1)
CANONICAL, RANDOM, INPUT = "canonical", "random", "input"
ORDERS = (CANONICAL, RANDOM, INPUT)


class RowOrderWarning(UserWarning):
    """The rows leave in the order of the input, which may say who they are."""


def order_of(given: Any) -> str:
    """The name of an order, checked; the order of the input draws a warning.

    >>> order_of("canonical")
    'canonical'
    """
    if not isinstance(given, str) or given not in ORDERS:
        got = repr(given) if isinstance(given, str) else type(given).__name__
        hint = did_you_mean(given, ORDERS) if isinstance(given, str) else None
        raise PolicyError("unknown order of the rows", got=got, allowed=", ".join(ORDERS), hint=hint)
    if given == INPUT:
        warn(
            RowOrderWarning(
                "the rows leave in the order of the input: whoever has a list in that order may tell whose a row is by "
                "its place. The canonical order, which is the default, tells nothing"
            )
        )
    return given


@dataclass(frozen=True)
class RowOrder:
    """The order of a release: its name, the quasi-identifiers that it begins with, the secret seed of a random one."""

    name: str = CANONICAL
    quasi: tuple[str, ...] = ()
    seed: int | None = field(default=None, repr=False)

    def places(self, table: pl.DataFrame) -> np.ndarray:
        """Which row of a table comes first, second and so on."""
        if self.name == CANONICAL:
            return arrangement(table, sorted_by(table.columns, self.quasi))
        if self.name == RANDOM:
            return np.random.default_rng(self.seed).permutation(table.height)
        return np.arange(table.height)


def sorted_by(columns: Iterable[str], quasi: Iterable[str]) -> list[str]:
    """The columns in the order that rows are compared by.

    >>> sorted_by(["cost", "zip", "age"], ["age", "zip"])
    ['age', 'zip', 'cost']
    """
    there = dict.fromkeys(columns)
    first = dict.fromkeys(name for name in quasi if name in there)
    return [*first, *(name for name in there if name not in first)]


def arrangement(frame: pl.DataFrame, by: Sequence[str]) -> np.ndarray:
    """The positions of the rows in canonical order; `by` are all columns, as `sorted_by` gives them.

    >>> arrangement(pl.DataFrame({"age": ["[30, 40]", None, "[20, 30)"], "cost": [1, 2, 3]}), ["age", "cost"]).tolist()
    [2, 0, 1]
    """
    key, domain = _key(frame, by)
    if domain <= 1 << 16:  # sorted by its digits
        return np.argsort(key.astype(np.uint16), kind="stable")
    return pl.Series(key).arg_sort().to_numpy()  # rows with the same number are alike


def numbered(frame: pl.DataFrame, by: Sequence[str]) -> np.ndarray:
    """A number for each row, in canonical order; rows that are alike have the same.

    >>> numbered(pl.DataFrame({"cost": [20, 10, 20]}), ["cost"]).tolist()
    [1, 0, 1]
    """
    return dense_ranks(pl.Series(_key(frame, by)[0]))[0]


def _key(frame: pl.DataFrame, by: Sequence[str]) -> tuple[np.ndarray, int]:
    """One number per row, in the order of the rows, and a bound of these: numbers sort ten times faster than texts."""
    columns = [frame.get_column(name) for name in by]
    sizes = [len(listed) + 1 for column in columns if (listed := categories(column)) is not None]
    small = len(sizes) == len(columns) and math.prod(sizes) <= 1 << 32
    key: np.ndarray = np.zeros(frame.height, np.uint32 if small else np.int64)
    domain = 1
    for column in (*columns, *(tie for column in columns if (tie := _tie(column)) is not None)):
        for code, size in _ranks(column):
            if domain * size >= LARGEST_KEY:  # a wider number would wrap
                key, domain = dense_ranks(pl.Series(key))
                if domain > frame.height:  # each row has a number of its own: no further column moves it
                    return key, domain
            if domain * size >= LARGEST_KEY:
                code, size = dense_ranks(pl.Series(code))
            key *= size
            key += code
            domain *= size
    return key, domain


def _ranks(column: pl.Series) -> Iterator[tuple[np.ndarray, int]]:
    """Per value a number in the order of the printed texts of the column, the greatest for missing, and a bound of the
    numbers; of long texts that of their first letters, of the next ones, and so on."""
    dtype = column.dtype
    if isinstance(dtype, pl.Enum):
        listed, code = dtype.categories, text_numbers(column)
        ranked = listed.is_sorted() and (not len(listed) or listed[0] != "")
        yield (code if ranked else _table(listed).astype(np.min_scalar_type(len(listed)))[code]), len(listed) + 1
        return
    few = column.head(SEEN).n_unique() <= FEW
    text = isinstance(dtype, pl.String | pl.Categorical)
    if not few and (decimals := _decimals(column)) is not None:
        yield decimals
        return
    if not few and text:
        yield from map(dense_ranks, _words(printed(column)))
        return
    # the others are printed once for each value that there is
    values = printed(column) if text else column.to_frame("v").select(plain("v", dtype)).to_series()
    if few:
        codes = Codes(values.unique())
        yield _table(codes.known)[codes(values).to_numpy()], codes.missing + 1
        return
    known = values.drop_nulls().unique()
    table = pl.DataFrame({"v": known, "rank": _table(known)[:-1]})
    found = values.to_frame("v").join(table, on="v", how="left", maintain_order="left").get_column("rank")
    yield found.fill_null(len(known)).to_numpy(), len(known) + 1


def _table(known: pl.Series) -> np.ndarray:
    """Per value of those that differ the rank of its printed text, then that of missing."""
    text, rank = printed(known), np.full(len(known) + 1, len(known))
    rank[text.arg_sort(nulls_last=True).to_numpy()[: text.count()]] = np.arange(text.count())
    return rank


def dense_ranks(values: pl.Series) -> tuple[np.ndarray, int]:
    """Per value its rank among those that differ, the last for missing, and how many ranks there are."""
    rank = values.rank("dense").cast(pl.Int64)
    most = int(rank.max() or 0)  # type: ignore[arg-type]
    return rank.fill_null(most + 1).to_numpy() - 1, most + 1


def value_ranks(values: pl.Series) -> tuple[np.ndarray, int]:
    """The ranks of values as databases and clusters sort them: texts and whole numbers by their texts, others as they
    are."""
    texts = values.dtype.is_integer() or isinstance(values.dtype, pl.Enum | pl.Categorical)
    return dense_ranks(printed(values) if texts else values)


def _words(text: pl.Series) -> Iterator[pl.Series]:
    """Texts as numbers, eight bytes each, in the order of the texts: they are ranked far faster."""
    longest = int(text.str.len_bytes().max() or 0)  # type: ignore[arg-type]
    if longest > LONG or text.str.contains("\0", literal=True).any():  # which is what shorter ones are filled with
        yield text
        return
    starts = range(0, max(1, longest), 8)
    padded = (text + "\0" * 8 * len(starts)).cast(pl.Binary)
    for start in starts:
        yield padded.bin.slice(start, 8).bin.reinterpret(dtype=pl.UInt64, endianness="big")


def _decimals(column: pl.Series) -> tuple[np.ndarray, int] | None:
    """Numbers of few digits, none or some of them after the point, as whole ones in the order of their texts, the
    greatest for missing, and a bound of these; None for other values.

    A minus comes before all digits. Then the digits before the point are compared as if all had as many; of two that
    are equal so the shorter comes first, as a point comes before all digits. Then what is after the point.
    """
    if column.dtype.is_integer():
        low, high = column.min(), column.max()
        if low is None or min(low, -high) <= -(10**DIGITS):  # type: ignore[operator]
            return None
        missing, places = column.is_null(), 0
        scaled = column.cast(pl.Int64).fill_null(0).to_numpy()
    elif column.dtype == pl.Float64:
        missing = column.is_null() | column.is_nan().fill_null(False)
        value = column.set(missing, 0.0).to_numpy()
        if (found := _places(value)) is None:
            return None
        places = found
        scaled = np.rint(value * 10**places).astype(np.int64)
    else:
        return None
    whole, part = np.abs(scaled), 0
    if places:
        whole, part = np.divmod(whole, 10**places)
    digits = np.searchsorted(TENS, whole, side="right").clip(1)
    longest = int(digits.max(initial=1))
    bound = 10 ** (longest + places) * (longest + 1)
    key = (whole * TENS[longest - digits] * (longest + 1) + digits) * 10**places + part
    if (below := scaled < 0).any():
        key, bound = np.where(below, key, key + bound), 2 * bound
    if missing.any():
        key[missing.to_numpy()] = bound
    return key, bound + 1


def _places(value: np.ndarray) -> int | None:
    """The digits after the point that floats are printed with, at most; None where there are more than a few."""
    if not np.abs(value).max(initial=0) < MOST:
        return None
    for places in range(1, PLACES + 1):
        unit = 10.0**places
        # a decimal number of up to 15 digits is the shortest text of the float that is nearest to it
        if all((np.rint(some * unit) / unit == some).all() for some in (value[:SEEN], value)):
            return places
    return None


def _tie(column: pl.Series) -> pl.Series | None:
    """What tells values apart that print alike; None where there are none."""
    dtype = column.dtype
    if dtype == pl.String or (isinstance(dtype, pl.Enum) and categories(column) is None):
        empty = column == ""
        return empty.fill_null(False) if empty.any() else None
    if not dtype.is_float():
        return None
    nan, zero = column.is_nan(), column == 0
    if not nan.any() and not zero.any():
        return None
    below = np.signbit(column.fill_null(0).to_numpy())
    return pl.Series(2 * nan.fill_null(False).to_numpy().astype(np.int8) + (below & zero.fill_null(False).to_numpy()))


def is_canonical(text: pl.DataFrame, by: Sequence[str]) -> bool:
    """Whether rows stand in canonical order, from their printed texts.

    >>> is_canonical(pl.DataFrame({"age": ["2*", "3*", None], "cost": ["10", "9", "1"]}), ["age", "cost"])
    True
    """
    alike: pl.Series = pl.repeat(True, max(0, text.height - 1), eager=True, dtype=pl.Boolean)
    for name in by:
        column = text.get_column(name)
        before, after = column[:-1], column[1:]
        wrong = (before > after).fill_null(False) | (before.is_null() & after.is_not_null())
        if (wrong & alike).any():
            return False
        alike &= before.eq_missing(after)
        if not alike.any():
            break
    return True


SPAN = 1 << 18  # between the least and the greatest of whole numbers that are ranked by a table
LISTED = 1 << 16  # texts that are ranked by an Enum of them
ENDS = 1 << 62  # whole numbers beyond it are beside the ends of 64 bits
WHOLE = (pl.Boolean, pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32)  # what 64 bits hold


class Codes:
    """The code of each value of a column: its rank among the known ones, then one for missing, one for unknown."""

    def __init__(self, values: pl.Series) -> None:
        self.known = values.drop_nulls().unique().sort()
        self.missing, self.unknown = len(self.known), len(self.known) + 1
        self.size = len(self.known) + 2
        # a cast to an Enum takes time for each of its texts
        self.kind = pl.Enum(self.known) if values.dtype == pl.String and len(self.known) <= LISTED else None
        physical = self.known.to_physical()
        self.whole = physical.cast(pl.Int64) if physical.dtype in WHOLE else None
        self.near = None if self.whole is None else _Near.of(self.whole, self.unknown)

    def __call__(self, values: pl.Series) -> pl.Series:
        """Codes as Int64, without nulls."""
        lacks = values.is_null() if values.null_count() else None
        if self.kind is not None:
            code = values.cast(self.kind, strict=False).to_physical().cast(pl.Int64)
        elif self.near is not None:
            code = self.near(values.to_physical().cast(pl.Int64))
        elif self.whole is not None:
            code = ranks(self.whole, values.to_physical().cast(pl.Int64))
        else:
            code = ranks(self.known, values)
        code = code.fill_null(self.unknown) if code.null_count() else code
        return code if lacks is None else code.set(lacks, self.missing)


@dataclass(frozen=True, eq=False)
class _Near:
    """Ranks of whole numbers that are near each other, from a table of all between the least and the greatest."""

    below: int  # one less than the least
    above: int
    rank: pl.Series

    @staticmethod
    def of(known: pl.Series, unknown: int) -> _Near | None:
        if not len(known) or known[-1] - known[0] > SPAN:
            return None
        below, above = known[0] - 1, known[-1] + 1
        if below < -ENDS or above > ENDS:
            return None
        rank = np.full(above - below + 1, unknown, np.int64)
        rank[known.to_numpy() - below] = np.arange(len(known))
        return _Near(below, above, pl.Series(rank))

    def __call__(self, values: pl.Series) -> pl.Series:
        return self.rank.gather(values.clip(self.below, self.above) - self.below)


def ranks(known: pl.Series, values: pl.Series) -> pl.Series:
    """The rank of each value among sorted ones, null where it is not one of them."""
    if not len(known):
        return pl.repeat(None, len(values), dtype=pl.Int64, eager=True)
    rank = known.search_sorted(values.fill_null(known[0])).cast(pl.Int64)
    rank = rank.clip(0, len(known) - 1)
    return rank.zip_with(known.gather(rank).eq_missing(values), pl.repeat(None, len(rank), dtype=pl.Int64, eager=True))
