"""Public domains: what the columns of a table may hold, as its owner states it, and never as the table does; so that
counts have the same cells whoever is in it."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import polars as pl

from sfumato.core.parameters import is_whole, known_columns, mapping, shown
from sfumato.core.printed import printed
from sfumato.core.wording import is_real
from sfumato.engines.protocol import COUNT
from sfumato.errors import SHOWN, ColumnError, PolicyError

MOST_VALUES = 100_000  # of a column
FARTHEST = 2.0**52
DIGITS = 6  # that tell, of real numbers that are drawn
EPOCH = dt.date(1970, 1, 1)
SECOND = 1_000_000  # in microseconds, the step of times that are drawn

Kind = Literal["category", "whole", "real", "date", "datetime"]


@dataclass(frozen=True, eq=False, repr=False)
class DomainColumn:
    """A column by its public domain, as codes from 0: listed values, or bins between cut points, then missing.

    Bins are closed below, and the last one above too; a cut point that is given twice is a bin of its own. Numbers
    beyond the first and the last cut point are counted in the first and the last bin. Whatever else is not in the
    domain is missing, where a value may be, and else not counted (-1).

    >>> column = domain_column("age", pl.Int64(), (0, 18, 65, 120), None, 20, True)
    >>> column.encode(pl.Series([3, 18, 119, 500, None])).tolist(), column.size
    ([0, 1, 2, 2, 3], 4)
    """

    name: str
    kind: Kind
    values: pl.Series  # of a category, what the codes stand for; else empty; in the type that is released
    cuts: np.ndarray  # of numbers
    missing: bool

    @cached_property
    def known(self) -> int:
        """How many codes of values there are."""
        return len(self.values) if self.kind == "category" else len(self.cuts) - 1

    @property
    def size(self) -> int:
        """How many codes there are."""
        return self.known + self.missing

    def encode(self, column: pl.Series) -> np.ndarray:
        """The code of each value; nothing is refused, whatever it is."""
        codes = self._categories(column) if self.kind == "category" else self._bins(column)
        return np.where(codes < 0, self.known, codes) if self.missing else codes

    def _categories(self, column: pl.Series) -> np.ndarray:
        if self.values.dtype.is_numeric():
            texts, own = _numbers(column), _numbers(self.values)
        else:
            texts, own = printed(column).alias("v"), printed(self.values)
        codes = pl.DataFrame({"v": own, "c": np.arange(self.known)})
        joined = texts.to_frame("v").join(codes, on="v", how="left", maintain_order="left", validate="m:1")
        found = joined.get_column("c")  # one for each row: a row that counted twice would break the promise
        return found.fill_null(-1).cast(pl.Int64).to_numpy()

    def _bins(self, column: pl.Series) -> np.ndarray:
        x = _physical(column, self.kind).to_numpy()
        gone = np.isnan(x)
        inside = np.clip(np.where(gone, self.cuts[0], x), self.cuts[0], self.cuts[-1])
        codes = np.minimum(np.searchsorted(self.cuts, inside, side="right") - 1, self.known - 1)
        for point in np.flatnonzero(np.diff(self.cuts) == 0):
            codes[inside == self.cuts[point]] = point
        return np.where(gone, -1, codes)

    def decode(self, codes: np.ndarray, rng: np.random.Generator) -> pl.Series:
        """A value of each code: that which it stands for, or any of its bin, each alike."""
        gone = codes >= self.known
        if self.kind == "category":
            number = pl.Series(np.where(gone, 0, codes))
            return self.values.gather(number).set(pl.Series(gone), None).alias(self.name)
        code = np.where(gone, 0, codes)
        low, high = self.cuts[code], self.cuts[code + 1]
        u, step = rng.random(len(code)), float(SECOND) if self.kind == "datetime" else 1.0
        if self.kind == "real":
            digits = max(2, DIGITS - 1 - math.floor(math.log10(self.cuts[-1] - self.cuts[0])))
            x = np.clip(np.round(low + u * (high - low), digits), self.cuts[0], self.cuts[-1])
            return pl.Series(self.name, x + 0.0).set(pl.Series(gone), None).cast(self.values.dtype)
        last = code == self.known - 1
        steps = np.maximum(np.ceil((high - low) / step) + (last | (low == high)), 1)  # the last bin has its end too
        whole = np.minimum(low + step * np.floor(u * steps), self.cuts[-1]).astype(np.int64)
        narrow = pl.Int32() if self.kind == "date" else pl.Int64()
        return pl.Series(self.name, whole).set(pl.Series(gone), None).cast(narrow).cast(self.values.dtype)


def domain_column(name: str, dtype: pl.DataType, bounds: Any, keys: Any, bins: int, missing: bool) -> DomainColumn:
    """A column by its bounds or cut points, or by its possible values.

    What is released is of the kind that the domain is of, whatever the table has: whole numbers where all bounds are,
    real numbers, dates, times, or the listed values. The type of the table is taken where it is of that kind, too.
    """
    if keys is None and bounds is None and dtype == pl.Boolean:
        keys = [False, True]  # which every such column may be
    if keys is not None:
        return DomainColumn(name, "category", _values(name, keys, dtype), np.empty(0), missing)
    kind, cuts = _cut_points(name, bounds)
    if len(cuts) == 2:
        cuts = np.linspace(cuts[0], cuts[1], bins + 1)
        if kind == "whole" and cuts[-1] - cuts[0] < bins:
            cuts = np.arange(cuts[0], cuts[-1] + 2)
        elif kind != "real":
            cuts = np.unique(np.ceil(cuts))
        if kind == "whole" and cuts[-1] > bounds[-1]:  # one value each: the last bin begins where it ends
            cuts = np.append(cuts[:-1], cuts[-2])
    types: Mapping[str, pl.DataType] = {"whole": pl.Int64(), "real": pl.Float64(), "date": pl.Date()}
    own = types.get(kind, pl.Datetime("us"))
    alike = dtype.is_integer() if kind == "whole" else dtype.is_float() or dtype.is_decimal()
    if kind in ("whole", "real") and alike:
        own = dtype
    if kind != "datetime":
        ends = pl.Series([cuts[0], cuts[-1]])
        ends = ends if kind == "real" else ends.cast(pl.Int64)
        if (ends.cast(pl.Int32) if kind == "date" else ends).cast(own, strict=False).null_count():
            own = types[kind]  # a type that holds less than the bounds
    return DomainColumn(name, kind, pl.Series(name, [], own), cuts.astype(np.float64), missing)


@dataclass(frozen=True, eq=False, repr=False)
class DomainTable:
    """A table by the codes of its columns: rows in memory, or what an engine counts of some columns at a time."""

    columns: tuple[DomainColumn, ...]
    _codes: tuple[np.ndarray, ...] = ()
    _count: Callable[[Sequence[str]], pl.DataFrame] | None = None

    @staticmethod
    def of(columns: Sequence[DomainColumn], table: pl.DataFrame) -> DomainTable:
        """The rows of a table."""
        codes = (column.encode(table.get_column(column.name)) for column in columns)
        return DomainTable(tuple(columns), tuple(one.astype(np.int32) for one in codes))

    @staticmethod
    def counted(columns: Sequence[DomainColumn], count: Callable[[Sequence[str]], pl.DataFrame]) -> DomainTable:
        """A table that is counted elsewhere."""
        return DomainTable(tuple(columns), (), count)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many codes each column has."""
        return tuple(column.size for column in self.columns)

    def counts(self, which: Sequence[int], groups: Sequence[np.ndarray] | None = None) -> np.ndarray:
        """How many rows have each combination of codes, or of `groups` of them, of some columns: one row adds to one
        cell at most, and to no other."""
        rows = None
        if self._count is None:
            codes = [self._codes[i] for i in which]
        else:
            frame = self._count([self.columns[i].name for i in which])
            codes = [self.columns[i].encode(frame.get_column(self.columns[i].name)) for i in which]
            rows = frame.get_column(COUNT).cast(pl.Int64).to_numpy()
        shape = [self.sizes[i] if groups is None else int(groups[i].max()) + 1 for i in which]
        cell, there = np.zeros(len(codes[0]), np.int64), np.ones(len(codes[0]), np.bool_)
        for i, code, size in zip(which, codes, shape, strict=True):
            if not self.columns[i].missing:
                there &= code >= 0
            cell *= size
            cell += code if groups is None else groups[i][code]
        if not there.all():
            cell, rows = cell[there], rows if rows is None else rows[there]
        found = np.bincount(cell, rows, math.prod(shape))
        return found.astype(np.int64).reshape(shape)


def domain_of(
    schema: Mapping[str, pl.DataType], bounds: Any, keys: Any, missing: Sequence[str] | None, bins: int
) -> tuple[DomainColumn, ...]:
    """The columns of a table by their public domains; refused where one has none."""
    ends, values = mapping(bounds, "bounds"), mapping(keys, "keys")
    known_columns([*ends, *values, *(missing or ())], schema)
    for name in schema:
        if name in ends and name in values:
            raise ColumnError(f'"{name}" has both bounds and keys', hint="numbers have bounds, categories keys")
    stated = {*ends, *values, *(name for name, dtype in schema.items() if dtype == pl.Boolean)}
    if lacking := [name for name in schema if name not in stated]:
        named = ", ".join(f'"{name}"' for name in lacking[:SHOWN])
        what = f"{named} {'has' if len(lacking) == 1 else 'have'} no public domain"
        numbers, others = f'bounds={{"{lacking[0]}": (least, greatest)}}', f'keys={{"{lacking[0]}": ["a", "b"]}}'
        hint = f"{numbers} of numbers and dates, {others} of others, from outside the table: what it holds would tell"
        raise PolicyError(what, hint=f"{hint} of people")
    return tuple(
        domain_column(name, dtype, ends.get(name), values.get(name), bins, missing is None or name in missing)
        for name, dtype in schema.items()
    )


def plain_domain(given: Any, what: str) -> dict[str, list[Any]] | None:
    """Bounds or keys as a policy file has them: lists of numbers and texts, dates as texts."""
    if given is None:
        return None
    found = {}
    for name, values in mapping(given, what).items():
        if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray | pl.Series) or not len(values):
            allowed = "(0, 120)" if what.endswith("bounds") else '["a", "b"]'
            raise PolicyError(f'{what}: what is given for "{name}" must be a list', got=shown(values), allowed=allowed)
        found[name] = [_plain(one) for one in values]
    return found


def _plain(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    return value.isoformat() if isinstance(value, dt.date | dt.time) else value


def _cut_points(name: str, given: Sequence[Any]) -> tuple[Kind, np.ndarray]:
    """The kind of a column of numbers, and its cut points as numbers."""
    what, allowed = f'the bounds of "{name}"', "a least value and a greater one, or cut points between them"
    if any(isinstance(value, str) for value in given):
        try:
            texts = [str(value) for value in given]
            days = [dt.date.fromisoformat(text) for text in texts] if all(len(text) == 10 for text in texts) else None
            times = [dt.datetime.fromisoformat(text) for text in texts] if days is None else []
        except ValueError:
            raise PolicyError(f"{what} must be numbers or dates", allowed='(0, 120), ("1990-01-01", ...)') from None
        kind: Kind = "date" if days is not None else "datetime"
        zero = dt.datetime(1970, 1, 1)
        cuts = np.array([(day - EPOCH).days for day in days or ()], np.float64)
        if days is None:
            cuts = np.array(
                [(time.replace(tzinfo=None) - zero) // dt.timedelta(microseconds=1) for time in times], float
            )
    elif all(is_real(value) for value in given):
        kind = "whole" if all(is_whole(value) for value in given) else "real"
        cuts = np.array(given, np.float64)
    else:
        raise PolicyError(f"{what} must be numbers or dates", allowed="(0, 120)")
    far = kind != "datetime" and bool((np.abs(cuts) > FARTHEST).any())
    if len(cuts) < 2 or not np.isfinite(cuts).all() or far or (np.diff(cuts) < 0).any() or cuts[0] == cuts[-1]:
        raise PolicyError(f"{what} are reversed, equal or not finite", allowed=allowed)
    if (np.diff(cuts, 2)[np.diff(cuts)[:-1] == 0] == 0).any() or len(cuts) > MOST_VALUES:
        raise PolicyError(f"{what} have a cut point more than twice, or too many", allowed=allowed)
    return kind, cuts


def _values(name: str, given: Sequence[Any], dtype: pl.DataType) -> pl.Series:
    """The listed values of a category, in the type that is released."""
    what = f'the values of "{name}"'
    if any(value is None or value == "" for value in given):
        raise PolicyError(f"{what} have a missing one among them", hint="missing= says where values may be missing")
    flags = all(isinstance(value, bool) for value in given)
    numbers = not flags and all(is_real(value) for value in given)
    if flags:
        values = pl.Series(name, list(given), pl.Boolean)
    elif numbers:
        whole = all(is_whole(value) for value in given)
        values = (
            pl.Series(name, list(given), pl.Int64) if whole else pl.Series(name, list(map(float, given)), pl.Float64)
        )
        if (dtype.is_integer() if whole else dtype.is_float()) and not values.cast(dtype, strict=False).null_count():
            values = values.cast(dtype)
    else:
        values = pl.Series(name, [printed(pl.Series([value], strict=False))[0] for value in given], pl.String)
        if isinstance(dtype, pl.Categorical) or (
            isinstance(dtype, pl.Enum) and not values.cast(dtype, strict=False).null_count()
        ):
            values = values.cast(dtype)
    alike = _numbers(values).n_unique() < len(values) if values.dtype.is_numeric() else False
    if len(given) > MOST_VALUES or values.n_unique() < len(values) or alike:
        raise PolicyError(f"{what} have one twice, or are too many", allowed=f"up to {MOST_VALUES} different ones")
    return values


def _numbers(column: pl.Series) -> pl.Series:
    """Values as numbers, missing where they are none."""
    if column.dtype.is_temporal():
        return pl.Series(column.name, [None], pl.Float64).new_from_index(0, len(column))
    if isinstance(column.dtype, pl.Categorical | pl.Enum):
        column = column.cast(pl.String)
    found = column.cast(pl.Float64, strict=False)
    return found.fill_nan(None) + 0.0


def _physical(column: pl.Series, kind: Kind) -> pl.Series:
    """Values as numbers, dates as days and times as microseconds, nan where they are none."""
    if kind in ("whole", "real"):
        return _numbers(column).fill_null(np.nan)
    if not column.dtype.is_temporal():
        texts = printed(column)
        whole = texts.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f", time_unit="us", strict=False)
        days = texts.str.to_date("%Y-%m-%d", strict=False).cast(pl.Datetime("us"))
        column = whole.zip_with(whole.is_not_null(), days)
    if isinstance(column.dtype, pl.Time | pl.Duration):
        return pl.Series([math.nan]).new_from_index(0, len(column))
    zoned = column.dtype if isinstance(column.dtype, pl.Datetime) else None
    column = column.dt.replace_time_zone(None) if zoned is not None and zoned.time_zone else column
    found = column.cast(pl.Date) if kind == "date" else column.cast(pl.Datetime("us"))
    return found.to_physical().cast(pl.Float64).fill_null(math.nan)
