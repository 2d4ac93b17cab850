"""Conditions on rows, such as "age > 40 and sex in (F, M)": a small grammar, and what it says of typed columns."""

from __future__ import annotations

import datetime as dt
import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NoReturn

import polars as pl

from sfumato.core.label_grammar import WHOLE
from sfumato.core.parameters import known_columns
from sfumato.errors import PolicyError

TOKENS = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|(==|<=|>=|!=|=|<|>|\(|\)|,)|([^\s=!<>(),"']+))""")
SIGNS = ("=", "!=", "<", "<=", ">", ">=", "in")
ORDERED = ("<", "<=", ">", ">=")
MISSING = "missing"
MOST, VALUES = 50, 1000  # conditions of a filter, and values that a column is compared with in one


@dataclass(frozen=True)
class Condition:
    """A column, a sign and the texts that it is compared with; None is a missing value."""

    column: str
    sign: str
    values: tuple[str | None, ...]


class Words:
    """The words of a text, taken one after the other; `what` it should be, and an example of it."""

    def __init__(self, text: Any, what: str, example: str) -> None:
        self.what, self.example = what, example
        if not isinstance(text, str):
            raise PolicyError(f"a {what} must be a text", got=type(text).__name__, allowed=example)
        self.text, self.left = text, deque[tuple[str, str]]()
        place, end = 0, len(text.rstrip())
        while place < end:
            found = TOKENS.match(text, place)
            if found is None:
                self.refuse("a quote is not closed, or a sign is not known")
            double, single, sign, word = found.groups()
            quoted = double if double is not None else single
            kind = "quoted" if quoted is not None else "sign" if sign else "word"
            self.left.append((kind, quoted if quoted is not None else "=" if sign == "==" else sign or word))
            place = found.end()

    def refuse(self, why: str) -> NoReturn:
        """Say what is wrong with the text."""
        raise PolicyError(f"this is no {self.what}: {why}", got=repr(self.text), allowed=self.example)

    def next(self) -> tuple[str, str]:
        """The kind of the next word, and the word."""
        if not self.left:
            self.refuse("it ends too soon")
        return self.left.popleft()

    def take(self, *options: str) -> str:
        """The next word, which is one of these."""
        kind, word = self.next()
        if kind == "quoted" or word.lower() not in options:
            self.refuse(f'"{options[-1]}" is not where it should be')
        return word.lower()

    def name(self) -> str:
        """The next word, which is a name or a value."""
        kind, word = self.next()
        if kind == "sign":
            self.refuse("a sign stands where a column or a value should be")
        return word

    def value(self) -> str | None:
        """A value; None for missing, without quotes."""
        bare = bool(self.left) and self.left[0] == ("word", MISSING)
        word = self.name()
        return None if bare else word

    def values(self) -> tuple[str | None, ...]:
        """Values in brackets."""
        self.take("(")
        found = [self.value()]
        while self.take(",", ")") == ",":
            found.append(self.value())
        return tuple(found)

    def condition(self) -> Condition:
        """A column, a sign, and a value or several."""
        column, sign = self.name(), self.take(*SIGNS)
        return Condition(column, sign, self.values() if sign == "in" else (self.value(),))

    def clause(self) -> tuple[Condition, ...]:
        """A condition; or one in other words: not in (a, b), between a and b, is missing, is not missing."""
        said = [word.lower() for kind, word in islice(self.left, 1, 3) if kind == "word"]
        if said[:1] == ["between"]:
            column, _ = self.name(), self.take("between")
            low = self.value()
            self.take("and")
            return Condition(column, ">=", (low,)), Condition(column, "<=", (self.value(),))
        if said == ["not", "in"]:
            column, _, _ = self.name(), self.take("not"), self.take("in")
            return tuple(Condition(column, "!=", (value,)) for value in self.values())
        if said[:1] == ["is"]:
            column, _ = self.name(), self.take("is")
            there = self.take("not", MISSING) == "not"
            if there:
                self.take(MISSING)
            return (Condition(column, "!=" if there else "=", (None,)),)
        return (self.condition(),)

    def conditions(self) -> tuple[Condition, ...]:
        """Conditions joined by and, to the end."""
        found = [*self.clause()]
        while self.left:
            self.take("and")
            found += self.clause()
        return tuple(found)


def parse_filter(text: Any) -> tuple[Condition, ...]:
    """Conditions joined by and, each once; none of an empty text or None. Conditions as they are, or as plain values,
    are taken.

    >>> parse_filter("age > 40 and sex in (F, M)")[1]
    Condition(column='sex', sign='in', values=('F', 'M'))
    >>> parse_filter("age between 18 and 65 and town not in (a, b) and pay is not missing") == parse_filter(
    ...     "age >= 18 and age <= 65 and town != a and town != b and pay != missing"
    ... )
    True
    """
    if text is None or text == "":
        return ()
    if isinstance(text, list | tuple):
        return _few(_checked(one) if isinstance(one, Condition) else _plain_condition(one) for one in text)
    return _few(Words(text, "filter", "age > 40 and sex = F").conditions())


def _few(given: Iterable[Condition]) -> tuple[Condition, ...]:
    """Conditions without those that were there before; all that a column is not equal to are one, as a list is."""
    found = [*dict.fromkeys(given)]
    others, unequal = _apart(found)
    if (number := len(others) + len(unequal)) > MOST:
        raise PolicyError("a filter has too many conditions", got=f"{number:,}", allowed=f"up to {MOST}")
    for name, values in [*((one.column, one.values) for one in others), *unequal.items()]:
        if len(values) > VALUES:
            what = f'a filter compares "{name}" with too many values'
            raise PolicyError(what, got=f"{len(values):,}", allowed=f"up to {VALUES:,}")
    return tuple(found)


def _apart(conditions: Iterable[Condition]) -> tuple[list[Condition], dict[str, tuple[str | None, ...]]]:
    """Conditions, and by column what it is not equal to."""
    others: list[Condition] = []
    unequal: dict[str, list[str | None]] = {}
    for one in conditions:
        if one.sign == "!=":
            unequal.setdefault(one.column, []).extend(one.values)
        else:
            others.append(one)
    return others, {name: tuple(values) for name, values in unequal.items()}


def _checked(one: Condition) -> Condition:
    listed = (
        isinstance(one.values, list | tuple) and len(one.values) >= 1 and (one.sign == "in" or len(one.values) == 1)
    )
    texts = listed and all(value is None or isinstance(value, str) for value in one.values)
    if not isinstance(one.column, str) or one.sign not in SIGNS or not texts:
        raise PolicyError("this is no condition", allowed='Condition("age", ">", ("40",))')
    return Condition(one.column, one.sign, tuple(one.values))


def _plain_condition(given: Any) -> Condition:
    """A condition from a mapping, as {"column": "age", "sign": ">", "value": 40}; null is a missing value."""
    example = '{"column": "age", "sign": ">", "value": 40}'
    if not isinstance(given, Mapping) or {*given} != {"column", "sign", "value"}:
        raise PolicyError("this is no condition", got=type(given).__name__, allowed=example)
    column, sign, value = given["column"], given["sign"], given["value"]
    values = value if sign == "in" and isinstance(value, list) else [value]
    plain = all(one is None or isinstance(one, str | int | float) for one in values)
    if not isinstance(column, str) or sign not in SIGNS or not values or not plain:
        raise PolicyError("this is no condition", allowed=example)
    return Condition(column, sign, tuple(None if one is None else _text(one) for one in values))


def _text(value: str | int | float) -> str:
    return str(value).lower() if isinstance(value, bool) else value if isinstance(value, str) else repr(value)


def expression(conditions: Sequence[Condition], schema: Mapping[str, pl.DataType]) -> pl.Expr:
    """Which rows meet all conditions, as an expression of Polars: by the types of the columns alone, so that what is
    refused tells nothing of the rows. A missing value meets no condition but that it is missing.

    >>> frame = pl.DataFrame({"age": [30, 50, None]})
    >>> frame.select(expression(parse_filter("age > 40"), frame.schema)).to_series().to_list()
    [False, True, False]
    """
    known_columns([one.column for one in conditions], schema)
    others, unequal = _apart(dict.fromkeys(conditions))
    joined = [*others, *(Condition(name, "!=", values) for name, values in unequal.items())]
    met = [_meets(one, schema[one.column]) for one in joined]
    return pl.all_horizontal(met) if met else pl.lit(True)


def _meets(condition: Condition, dtype: pl.DataType) -> pl.Expr:
    """Whether a value meets a condition; of "!=" with several values, all of them."""
    column, sign = pl.col(condition.column), condition.sign
    if sign in ORDERED and (None in condition.values or not (dtype.is_numeric() or dtype.is_temporal())):
        what = f'a filter asks for an order of "{condition.column}", which has none'
        raise PolicyError(what, got=repr(sign), allowed="=, != or in")
    values = [typed_value(text, condition.column, dtype) for text in condition.values if text is not None]
    if sign in ORDERED:
        compared = {
            "<": column < values[0],
            "<=": column <= values[0],
            ">": column > values[0],
            ">=": column >= values[0],
        }
        return compared[sign].fill_null(value=False)
    among = _among(column, values, dtype).fill_null(value=False)
    if sign == "!=":
        return column.is_not_null() & ~among
    return among | column.is_null() if None in condition.values else among


def _among(column: pl.Expr, values: list[Any], dtype: pl.DataType) -> pl.Expr:
    """Whether a value is one of some; the list is looked up where its values have the very type of the column."""
    whole = dtype == pl.Int64 and all(isinstance(value, int) and -(2**63) <= value < 2**63 for value in values)
    if len(values) > 1 and (whole or dtype in (pl.String, pl.Float64)):
        return column.is_in(values)
    return pl.any_horizontal([pl.lit(value=False), *(column.eq(value) for value in values)])


def typed_value(text: str, name: str, dtype: pl.DataType) -> Any:
    """A text as a value of the type of a column."""
    try:
        if dtype == pl.Boolean:
            return {"true": True, "false": False}[text.lower()]
        if dtype.is_integer() and re.fullmatch(WHOLE, text):
            return int(text)
        if dtype.is_numeric():
            if not text.isascii():  # float() takes the digits of all scripts
                raise ValueError
            return float(text)
        if dtype == pl.Duration:  # which no text is compared with
            raise ValueError
        if dtype.is_temporal():
            kind: Any = dt.date if dtype == pl.Date else dt.time if dtype == pl.Time else dt.datetime
            moment = kind.fromisoformat(text)
            zoned = getattr(dtype, "time_zone", None) is not None
            if kind is dt.datetime and zoned != (moment.tzinfo is not None):
                raise ValueError
            return moment
    except (ValueError, KeyError, TypeError):
        if dtype == pl.Duration:
            hint = "make it a number, of days or seconds"
            raise PolicyError(f'"{name}" is a span of time, which no filter compares', hint=hint) from None
        wanted = "a number" if dtype.is_numeric() else "true or false" if dtype == pl.Boolean else "an ISO date or time"
        if getattr(dtype, "time_zone", None) is not None:
            wanted += " with its zone"
        raise PolicyError(f'"{name}" is compared with what is not {wanted}', got=repr(text)) from None
    return text
