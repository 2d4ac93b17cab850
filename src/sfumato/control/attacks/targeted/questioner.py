"""Questioner: somebody who knows who a person is in the table, and asks for what they do not know of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, islice
from typing import Any

import numpy as np
import polars as pl

from sfumato.control.formula import LEAF, Formula
from sfumato.control.query import SetQuery
from sfumato.core.conditions import Condition
from sfumato.errors import PolicyError, QueryRefused

Ask = Callable[[SetQuery], float]  # raises QueryRefused
QUERIES = 400  # that a questioner puts, at most
FEW = 10  # values of a column that are padded with one by one


@dataclass
class Questioner:
    """Somebody with a register: the columns by which people are known, of all people of the table, in any order.

    `person` is a row of the register and `secret` what is looked for of them: the name of a column of numbers, whose
    sums are asked for, or a condition, such as ill = yes, which is counted.
    """

    ask_database: Ask
    register: pl.DataFrame
    person: int
    secret: str | Formula
    rng: np.random.Generator
    most: int = QUERIES
    queries: int = 0
    refusals: int = 0
    told: dict[str, float | None] = field(default_factory=dict)

    def ask(self, kind: str, where: Formula, again: bool = False) -> float | None:
        """The answer to a query; None where it is refused, or no query is left. What was asked before is remembered,
        unless `again`."""
        column = self.secret if isinstance(self.secret, str) and kind != "count" else None
        try:
            query = SetQuery(kind, column, where)
            text = str(query)
        except PolicyError:  # a formula that cannot be put
            return None
        if text in self.told and not again:
            return self.told[text]
        if self.queries == self.most:
            return None
        self.queries += 1
        try:
            self.told[text] = self.ask_database(query)
        except (QueryRefused, PolicyError):  # refused, or too long
            self.refusals += 1
            self.told[text] = None
        return self.told[text]

    def total(self, where: Formula, again: bool = False) -> float | None:
        """The sum of the secret over a set of people, or over the secret's own set put together with others."""
        return self.ask("sum" if isinstance(self.secret, str) else "count", where, again)

    def of(self, people: Formula, again: bool = False) -> float | None:
        """The sum over some people, or the count of those among them who meet the condition."""
        return self.total(people if isinstance(self.secret, str) else people & self.secret, again)

    @cached_property
    def whom(self) -> Formula:
        """The person, by as few columns as tell them from everybody else."""
        return next(self.identifications(), everybody())

    @property
    def wanted(self) -> Formula:
        """The set whose sum is the secret: the person, if they meet the condition."""
        return self.whom if isinstance(self.secret, str) else self.whom & self.secret

    def identifications(self) -> Iterator[Formula]:
        """The person by sets of columns, small ones first."""
        own = self.register.row(self.person, named=True)
        for size in range(1, self.register.width + 1):
            for names in combinations(self.register.columns, size):
                same = self.register.select(
                    pl.all_horizontal(pl.col(name).eq_missing(pl.lit(own[name])) for name in names).sum()
                ).item()
                if same == 1:
                    yield equal({name: own[name] for name in names})

    def conditions(self) -> tuple[Formula, ...]:
        """What is known of the person, a condition per column."""
        return tuple(equal({name: value}) for name, value in self.register.row(self.person, named=True).items())

    @cached_property
    def values(self) -> dict[str, list[Any]]:
        """The values of each column of the register, sorted."""
        columns = {name: self.register.get_column(name) for name in self.register.columns}
        return {name: column.drop_nulls().unique().sort().to_list() for name, column in columns.items()}

    def groups(self, least: float = 0.1, most: float = 0.9) -> Iterator[Formula]:
        """Sets of people to pad with: those of one value, where a column has few, and then those of some values of a
        column, each taken by a chance between `least` and `most`."""
        for name, values in self.values.items():
            yield from (equal({name: value}) for value in values if len(values) <= FEW)
        several = [name for name, values in self.values.items() if len(values) > 2]
        while several:
            for name in several:
                share = self.rng.uniform(least, most)
                some = [value for value in self.values[name] if self.rng.random() < share]
                if 0 < len(some) < len(self.values[name]):
                    yield among(name, some)

    def apart(self, least: float = 0.1, most: float = 0.9) -> Iterator[Formula]:
        """Sets of people without the person."""
        return (group & ~self.whom for group in self.groups(least, most))


def everybody() -> Formula:
    """The formula that all people meet."""
    return Formula()


def equal(values: dict[str, Any]) -> Formula:
    """Whoever has these values."""
    found = Formula()
    for name, value in values.items():
        found &= Formula(LEAF, (), Condition(name, "=", (None if value is None else str(value),)))
    return found


def among(name: str, values: list[Any]) -> Formula:
    """Whoever has one of these values."""
    return Formula(LEAF, (), Condition(name, "in", tuple(map(str, values))))


def few(groups: Iterator[Formula], most: int = 60) -> Iterator[Formula]:
    """The first of many."""
    return islice(groups, most)
