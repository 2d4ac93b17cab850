"""The values of differential privacy: who is protected, what is public, what an answer costs, and the answer."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.accounting import PrivacyCost
from sfumato.core.label_grammar import WHOLE
from sfumato.core.parameters import column_name, known_columns, mapping, one_of, shown, whole_number
from sfumato.core.printed import is_printable, printed
from sfumato.core.registry import field_values
from sfumato.errors import ColumnError, PolicyError

NEIGHBOURS = ("add-remove", "replace")
MOST_ROWS = 10**6  # of a person
CELLS = 2**20  # bins or candidates of one query
PLAIN = (str, bool, np.bool_, Real, Decimal, dt.date, dt.time, dt.timedelta)  # what keys are; a datetime is a date


@dataclass(frozen=True)
class Unit:
    """What is protected: a row, or all rows of a person, of whom at most `rows` count; where rows are grouped, in at
    most so many `groups`, and at most `rows_per_group` in each.

    Neighbouring tables differ by one unit, which is added or removed, or with "replace" exchanged for another.
    """

    person: str | None = None
    rows: int = 1
    neighbours: str = "add-remove"
    groups: int | None = None
    rows_per_group: int | None = None

    def __post_init__(self) -> None:
        one_of(self.neighbours, "kind of neighbours", NEIGHBOURS)
        whole_number(self.rows, "rows_per_person", 1, MOST_ROWS)
        for what, most in (("groups_per_person", self.groups), ("rows_per_group", self.rows_per_group)):
            if most is not None:
                whole_number(most, what, 1, MOST_ROWS)
        if self.person is not None:
            column_name(self.person, "person")
        elif self.rows != 1 or self.groups is not None or self.rows_per_group is not None:
            raise PolicyError("rows_per_person is of persons, and no column of persons is named", hint="name person=")

    @property
    def times(self) -> int:
        """How often a unit changes what is counted: once where it comes or goes, twice where it is exchanged."""
        return 2 if self.neighbours == "replace" else 1

    @property
    def most_groups(self) -> int:
        """How many groups a unit is in, at most."""
        return min(self.rows, self.groups or self.rows)

    @property
    def in_group(self) -> int:
        """How many rows of a unit are in one group, at most."""
        return min(self.rows, self.rows_per_group or self.rows)

    @property
    def in_groups(self) -> int:
        """How many rows of a unit are in all groups together, at most."""
        return min(self.rows, self.most_groups * self.in_group)

    def form(self) -> dict[str, Any]:
        """Plain values."""
        return field_values(self)


@dataclass(frozen=True)
class Public:
    """What everybody may know of a table: its columns and types, and as its owner states them, from outside the table,
    the ends of numbers and the values of categories."""

    schema: Mapping[str, pl.DataType]
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def type_name(self, name: str) -> str:
        """The type of a column without its parameters: the categories of an Enum are values of the table."""
        return self.schema[name].base_type().__name__

    @staticmethod
    def of(schema: Mapping[str, pl.DataType], bounds: Any, keys: Any) -> Public:
        """What an owner states, checked."""
        ends = {} if bounds is None else mapping(bounds, "bounds")
        values = {} if keys is None else mapping(keys, "keys")
        known_columns([*ends, *values], schema)
        for name in values:
            if name in ends:
                raise ColumnError(f'"{name}" has both bounds and keys', hint="numbers have bounds, categories keys")
        return Public(
            schema,
            {name: _ends(name, given, schema[name]) for name, given in ends.items()},
            {name: _keys(name, given, schema[name]) for name, given in values.items()},
        )

    def ends(self, name: str) -> tuple[float, float]:
        """The bounds of a column; where there are none it is refused."""
        known_columns([name], self.schema)
        if name not in self.bounds:
            hint = f'bounds={{"{name}": (least, greatest)}}, from outside the table: what it holds would tell of people'
            raise PolicyError(f'"{name}" has no public bounds', hint=hint)
        return self.bounds[name]

    def values(self, name: str) -> tuple[str, ...]:
        """The public values of a column; where there are none it is refused."""
        known_columns([name], self.schema)
        if name not in self.keys:
            bins = f', or for bins bounds={{"{name}": (least, greatest)}}' if self.schema[name].is_numeric() else ""
            raise PolicyError(f'"{name}" has no public values', hint=f'keys={{"{name}": ["a", "b"]}}{bins}')
        return self.keys[name]


def _ends(name: str, given: Any, dtype: pl.DataType) -> tuple[float, float]:
    if isinstance(dtype, pl.Categorical | pl.Enum) or not is_printable(dtype):
        hint = "cast it to numbers, or to text that holds numbers; categories have keys"
        raise PolicyError(f'"{name}" has bounds and is no column of numbers', got=str(dtype), hint=hint)
    try:
        ends = () if isinstance(given, str | bytes | set | frozenset | Mapping) else tuple(given)
        if any(isinstance(end, bool | np.bool_) for end in ends):
            raise TypeError
        low, high = map(float, ends)
    except (TypeError, ValueError, OverflowError):
        raise PolicyError(f'the bounds of "{name}" must be two numbers', allowed="(0, 120)") from None
    if not (abs(low) < 1e15 and abs(high) < 1e15 and high - low > 1e-12 * max(abs(low), abs(high), 1e-9)):
        what = f'the bounds of "{name}" are reversed, equal or not finite'
        raise PolicyError(what, got=shown(f"{low}, {high}"), allowed="a least number and a greater one")
    return low, high


def _keys(name: str, given: Any, dtype: pl.DataType) -> tuple[str, ...]:
    if isinstance(given, str | bytes | bytearray) or not isinstance(given, Sequence) or not len(given):
        raise PolicyError(f'the values of "{name}" must be a list', got=type(given).__name__, allowed='["a", "b"]')
    known = [None if _is_missing(value) else value for value in given]
    try:
        if not all(value is None or isinstance(value, PLAIN) for value in known):
            raise TypeError
        values = _numbers(known, dtype) if dtype.is_numeric() else pl.Series(known, strict=False)
        texts = printed(values).to_list()
        if texts.count(None) != known.count(None):
            raise ValueError
    except (TypeError, ValueError, ArithmeticError, pl.exceptions.PolarsError):
        what = f'the values of "{name}" have one that the column cannot have'
        raise PolicyError(what, got=f"values for {dtype}", allowed="values of the type of the column") from None
    found = tuple("" if text is None else text for text in texts)
    if len(set(found)) < len(found):
        raise PolicyError(f'the values of "{name}" have one twice')
    return found


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value) or (isinstance(value, float) and math.isnan(value))


def _numbers(known: Sequence[Any], dtype: pl.DataType) -> pl.Series:
    """Numbers, also those in texts, as a column has them; none that it would round, and nothing that is no number."""
    if any(isinstance(value, bool | np.bool_ | dt.date | dt.time | dt.timedelta) for value in known):
        raise TypeError
    if dtype.is_integer():
        whole = [None if value is None else _whole(value) for value in known]
        return pl.Series(whole, dtype=dtype)
    if not all(value.isascii() for value in known if isinstance(value, str)):  # float() takes the digits of all scripts
        raise ValueError
    wanted = pl.Series([None if value is None else float(value) for value in known], dtype=pl.Float64)
    found = wanted.cast(dtype)
    same = np.isclose(found.cast(pl.Float64).drop_nulls().to_numpy(), wanted.drop_nulls().to_numpy(), 1e-6, 0.0)
    if not same.all():
        raise ValueError
    return found


def _whole(value: Any) -> int:
    """A whole number, also in a text; int() alone would cut 1.5, and take 1_000."""
    if isinstance(value, str) and not re.fullmatch(rf"\s*{WHOLE}\s*", value):
        raise ValueError
    found = int(value)
    if not isinstance(value, str) and found != value:
        raise ValueError
    return found


@dataclass(frozen=True)
class Answer:
    """A private answer. All of it may be published: it is made of noisy numbers, and of what is public.

    `interval` is the 95% interval of what noise leaves open of the exact answer, None where only more budget could
    tell; `scale` that of the noise, in the unit of the value. `again`: a stored answer, which cost nothing.
    `clipped`: about how many numbers were outside of their bounds, where that was paid for.
    """

    value: Any
    interval: Any
    scale: Any
    mechanism: str
    cost: PrivacyCost
    query: Mapping[str, Any]
    sensitivity: str
    again: bool = False
    clipped: int | None = None

    def plain(self) -> dict[str, Any]:
        """All of it in values that JSON knows; tables are lists of their rows, and costs exact decimals as texts."""
        costs = zip(("epsilon", "delta", "rho"), (f"{part:f}" for part in self.cost.parts), strict=True)
        return {
            "value": _rows(self.value), "interval": self.interval, "scale": self.scale, "mechanism": self.mechanism,
            "cost": str(self.cost), **dict(costs), "again": self.again, "clipped": self.clipped,
            "sensitivity": self.sensitivity,
        }  # fmt: skip


def _rows(value: Any) -> Any:
    if isinstance(value, list):
        return [_rows(one) for one in value]
    if isinstance(value, dict):
        return {name: _rows(one) for name, one in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return value.to_dicts() if isinstance(value, pl.DataFrame) else value
