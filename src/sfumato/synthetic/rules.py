"""Rules of a table, such as "if age < 16 then married = no", which every synthetic row keeps."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.conditions import Condition, Words
from sfumato.core.parameters import known_columns
from sfumato.core.wording import count
from sfumato.errors import PolicyError
from sfumato.synthetic.columns import SyntheticColumn

EXAMPLE = "for example: if age < 16 then married = no"


@dataclass(frozen=True)
class TableRule:
    """Where all conditions hold, a column has a value."""

    text: str
    conditions: tuple[Condition, ...]
    column: str
    value: str | None

    @property
    def needs(self) -> tuple[str, ...]:
        """The columns of its conditions."""
        return tuple(dict.fromkeys(one.column for one in self.conditions))


@dataclass(frozen=True, eq=False, repr=False)
class BoundRule:
    """A rule on the columns of a table, with its values as numbers or codes of these."""

    rule: TableRule
    conditions: tuple[tuple[str, str, np.ndarray], ...]
    value: float

    def meets(self, name: str, x: np.ndarray) -> np.ndarray:
        """The values of a column that meet all conditions on it."""
        found = [_meets(x, sign, values) for column, sign, values in self.conditions if column == name]
        return np.logical_and.reduce(found)

    def holds(self, x: Mapping[str, np.ndarray]) -> np.ndarray:
        """The rows where its conditions hold; a missing value meets none but that it is missing."""
        found = [_meets(x[name], sign, values) for name, sign, values in self.conditions]
        return np.logical_and.reduce(found)


def parse_rule(text: Any) -> TableRule:
    """A rule from its text: if, conditions joined by and, then, one column and its value.

    Signs are = != < <= > >= and in (a, b). Names and values with spaces stand in quotes; missing, without quotes, is a
    missing value.

    >>> rule = parse_rule('if age < 16 and sex in (F, M) then "marital status" = single')
    >>> rule.needs, rule.column, rule.value
    (('age', 'sex'), 'marital status', 'single')
    """
    words = Words(text, "rule", EXAMPLE)
    words.take("if")
    conditions = [words.condition()]
    while words.take("and", "then") == "and":
        conditions.append(words.condition())
    last = words.condition()
    if last.sign != "=" or words.left:
        words.refuse('after "then" it needs one column, = and a value')
    return TableRule(words.text, tuple(conditions), last.column, last.values[0])


def parse_conditions(text: Any) -> TableRule:
    """Conditions joined by and, as a rule that sets nothing.

    >>> parse_conditions("age < 16 and married = yes").needs
    ('age', 'married')
    """
    words = Words(text, "condition", "age < 16 and married = yes")
    return TableRule(words.text, words.conditions(), "", None)


def bind_conditions(rule: TableRule, columns: Mapping[str, SyntheticColumn]) -> BoundRule:
    """The conditions of a rule with their values as these columns have them."""
    known_columns(rule.needs, columns)
    conditions = tuple((one.column, one.sign, _typed(one, columns[one.column], rule)) for one in rule.conditions)
    return BoundRule(rule, conditions, np.nan)


def bind_rules(rules: Sequence[TableRule], columns: Mapping[str, SyntheticColumn]) -> list[BoundRule]:
    """The rules with their values as these columns have them."""
    found = []
    for rule in rules:
        known_columns((*rule.needs, rule.column), columns)
        if rule.column in rule.needs:
            raise PolicyError(f'a rule sets "{rule.column}" by its own value', got=repr(rule.text))
        conditions = bind_conditions(rule, columns).conditions
        value = _typed(Condition(rule.column, "=", (rule.value,)), columns[rule.column], rule)
        own = columns[rule.column]
        if not np.isnan(value[0]) and own.is_number and own.encode(own.decode(value))[0] != value[0]:
            raise PolicyError(f'a rule sets "{rule.column}" to no value of the column', got=repr(rule.text))
        found.append(BoundRule(rule, conditions, float(value[0])))
    return found


def check_rules(
    rules: Sequence[BoundRule], x: Mapping[str, np.ndarray], columns: Mapping[str, SyntheticColumn]
) -> None:
    """Refuse rules that rows of the table, or other rules, contradict."""
    faults = []
    for one in rules:
        own = x[one.rule.column]
        same = _absent(own) if np.isnan(one.value) else own == one.value
        if wrong := int((one.holds(x) & ~same).sum()):
            faults.append(f'"{one.rule.text}": {count(wrong, "row")} of the table {"does" if wrong == 1 else "do"} not')
    if faults:
        hint = "mend the rule, or the rows"
        raise PolicyError("rules contradict the table, where rows do not keep them:", faults, hint=hint)
    for one, other in combinations(rules, 2):
        same = np.array_equal([one.value], [other.value], equal_nan=True)
        if one.rule.column == other.rule.column and not same and _both(one, other, columns):
            faults.append(f'"{one.rule.text}" and "{other.rule.text}"')
    if faults:
        hint = "add a condition, so that no row meets the conditions of both"
        raise PolicyError("rules contradict each other, as a row may meet the conditions of both:", faults, hint=hint)


def _both(one: BoundRule, other: BoundRule, columns: Mapping[str, SyntheticColumn]) -> bool:
    """Whether a row may meet the conditions of both: whether each column has a value that does."""
    conditions = (*one.conditions, *other.conditions)
    for name in dict.fromkeys(name for name, _, _ in conditions):
        asked = [(sign, values) for column, sign, values in conditions if column == name]
        tried = _candidates(columns[name], np.concatenate([values for _, values in asked]))
        if not np.logical_and.reduce([_meets(tried, sign, values) for sign, values in asked]).any():
            return False
    return True


def _candidates(column: SyntheticColumn, borders: np.ndarray) -> np.ndarray:
    """Values of a column that meet every set of conditions with these borders that any value meets."""
    if not column.is_number:
        return np.arange(-1, column.levels)
    near = np.unique(np.concatenate([borders[~np.isnan(borders)], [column.low, column.high]]))
    if column.step:
        near = np.unique(np.concatenate([np.floor(near) - 1, np.floor(near), np.ceil(near), np.ceil(near) + 1]))
    else:
        near = np.concatenate([near, [(low + high) / 2 for low, high in pairwise(near)]])
    return np.append(near[(near >= column.low) & (near <= column.high)], np.nan)


def _absent(x: np.ndarray) -> np.ndarray:
    return np.isnan(x) if x.dtype.kind == "f" else x < 0


def _meets(x: np.ndarray, sign: str, values: np.ndarray) -> np.ndarray:
    gone = _absent(x)
    if sign in ("=", "in"):
        found = np.isin(x, values[~np.isnan(values)]) & ~gone
        return found | gone if np.isnan(values).any() else found
    value = values[0]
    if sign == "!=":
        return np.asarray(~gone) if np.isnan(value) else np.asarray(~gone & (x != value))
    compare = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}[sign]
    return np.asarray(compare(x, value) & ~gone)


def _typed(condition: Condition, column: SyntheticColumn, rule: TableRule) -> np.ndarray:
    """The texts of a condition as numbers or codes of its column; nan is a missing value."""
    ordered = column.is_number or isinstance(column.like.dtype, pl.Enum)
    if condition.sign in ("<", "<=", ">", ">=") and (not ordered or None in condition.values):
        what = f'a rule asks for an order of "{column.name}", which has none'
        raise PolicyError(what, got=repr(rule.text), allowed="=, != or in")
    return np.array([np.nan if one is None else _code(one, column, rule) for one in condition.values], np.float64)


def _code(text: str, column: SyntheticColumn, rule: TableRule) -> float:
    if column.kind == "category":
        code = int(column.encode(pl.Series([text]))[0])
        if code < 0:
            raise PolicyError(f'a rule names a value that "{column.name}" does not have', got=repr(rule.text))
        return float(code)
    dtype = column.like.dtype
    try:
        if dtype.is_numeric():
            return (float(text) - column.origin) / (column.step or 1)
        kind: Any = dt.date if dtype == pl.Date else dt.time if dtype == pl.Time else dt.datetime
        moment = kind.fromisoformat(text)
        physical = pl.Series([moment]).cast(dtype).to_physical()[0]
        return (int(physical) - column.origin) / column.step
    except (ValueError, TypeError, pl.exceptions.PolarsError):
        wanted = "a number" if dtype.is_numeric() else "a date or time as ISO 8601 writes it"
        what = f'a rule compares "{column.name}" with what is not {wanted}'
        raise PolicyError(what, got=repr(rule.text)) from None
