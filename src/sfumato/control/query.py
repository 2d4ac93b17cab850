"""Queries about a query set, as "sum wage where region = north": what is asked, of which column, of whom."""

from __future__ import annotations

import math
import re
import shlex
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.control.formula import LONGEST, Formula, parse_formula
from sfumato.core.parameters import Column, shown
from sfumato.errors import PolicyError, did_you_mean

COUNT, SUM, MEAN, MIN, MAX = "count", "sum", "mean", "min", "max"
KINDS = (COUNT, SUM, MEAN, MIN, MAX)
ALL_ROWS = Formula()
EXAMPLE = '"count where age > 40 and not (sex = F)", "sum wage where region = north"'


def added_up(values: np.ndarray, decimals: int | None) -> float:
    """A sum that tells nothing but the sum: floats that are added one by one are off by a little, which depends on each
    of them, and over many sets gives them away.

    >>> added_up(np.array([0.1, 0.2]), 1), added_up(np.array([1e16, 1.0, -1e16]), None)
    (0.3, 1.0)
    """
    if decimals is None:
        return math.fsum(values)
    scale = 10.0**decimals
    return float(np.rint(values * scale).sum() / scale)


@dataclass(frozen=True)
class SetQuery:
    """A count, or a sum, mean, min or max of a column, over the people whom a formula selects.

    >>> query = parse_set_query("sum wage where region = north")
    >>> query.kind, query.column, str(query.where), str(query)
    ('sum', 'wage', 'region = north', 'sum wage where region = north')
    """

    kind: str
    column: str | None = None
    where: Formula = ALL_ROWS

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            hint = "a quantile is asked with noise: sf.dp" if self.kind in ("median", "quantile") else None
            hint = hint or did_you_mean(str(self.kind), KINDS)
            raise PolicyError("unknown kind of query", got=shown(self.kind), allowed=", ".join(KINDS), hint=hint)
        if (self.column is None) != (self.kind == COUNT):
            what = "a count is of no column" if self.kind == COUNT else f"a {self.kind} is of a column"
            raise PolicyError(what, allowed=EXAMPLE)
        if self.column is not None:
            Column()(self.column, self.kind)
        object.__setattr__(self, "where", parse_formula(self.where))

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that it looks at."""
        own = () if self.column is None else (self.column,)
        return tuple(dict.fromkeys((*own, *self.where.columns)))

    def exact(self, values: np.ndarray, decimals: int | None = None) -> float:
        """The true answer, of the values of those who are meant, which have so many decimals; of a count, of anything
        that is as long."""
        if self.kind == COUNT:
            return float(len(values))
        if self.kind == SUM:
            return added_up(values, decimals)
        if not len(values):
            raise PolicyError(f"a {self.kind} of nobody")
        if self.kind == MEAN:
            return added_up(values, decimals) / len(values)
        return float(values.min() if self.kind == MIN else values.max())

    def __str__(self) -> str:
        head = self.kind if self.column is None else f"{self.kind} {shlex.quote(self.column)}"
        where = str(self.where)
        return f"{head} where {where}" if where else head


def parse_set_query(text: Any) -> SetQuery:
    """A query from its text; a query as it is."""
    if isinstance(text, SetQuery):
        return text
    if not isinstance(text, str) or len(text) > LONGEST:
        what = "a query is too long" if isinstance(text, str) else "a query is a text"
        raise PolicyError(what, got=None if isinstance(text, str) else type(text).__name__, allowed=EXAMPLE)
    head, *rest = re.split(r"\bwhere\b", text, maxsplit=1, flags=re.IGNORECASE)
    try:
        kind, *columns = shlex.split(head)
    except ValueError:
        raise PolicyError("this is no query", got=repr(text), allowed=EXAMPLE) from None
    if rest and not rest[0].strip():
        raise PolicyError("a query ends after where", got=repr(text), allowed=EXAMPLE)
    if len(columns) > 1:
        hint = f'a name with spaces stands in quotes: {kind} "{" ".join(columns)}"'
        raise PolicyError(f"a {kind} is of one column", got=", ".join(columns), allowed=EXAMPLE, hint=hint)
    return SetQuery(kind.lower(), columns[0] if columns else None, parse_formula(rest[0].strip() if rest else ""))
