"""Queries as texts: a name, columns, parameters and a filter, as "quantile pay q=0.9 where sex = F"."""

from __future__ import annotations

import re
import shlex
from typing import Any

from sfumato.core.registry import make_variant
from sfumato.core.wording import count
from sfumato.dp.queries import QUERIES
from sfumato.dp.queries.query import Query
from sfumato.errors import PolicyError

NAMES = {"histogram": "contingency-table", "median": "quantile"}  # what people call them, too; a median has no q
PLACES = {"contingency-table": ("by",), "count": (), "covariance": ("one", "other")}  # of columns; else "column"
EXAMPLE = '"mean age where sex = F"'


def parse_query(given: Any) -> Query:
    """A query from its text; a query as it is.

    >>> parse_query("quantile pay q=0.9 where sex = F")
    Quantile(column='pay', q=0.9, candidates=1000, where='sex = F')
    """
    if not isinstance(given, str):
        return QUERIES.value(given)
    head, *filters = re.split(r"\bwhere\b", given, maxsplit=1, flags=re.IGNORECASE)
    try:
        name, *words = shlex.split(head)
    except ValueError:
        raise PolicyError("this is no query", got=repr(given), allowed=EXAMPLE) from None
    parameters: dict[str, Any] = {"where": filters[0].strip()} if filters else {}
    if filters and not parameters["where"]:
        raise PolicyError("a query ends after where", got=repr(given), allowed=EXAMPLE)
    columns: list[str] = []
    for word in words:
        key, equals, value = word.partition("=")
        if equals:
            parameters[key] = _value(value)
        else:
            columns += [part for part in word.split(",") if part]
    if name == "median" and "q" in parameters:
        raise PolicyError("a median has no q", hint="ask for a quantile")
    name = NAMES.get(name, name)
    names = PLACES.get(name, ("column",))
    if names == ("by",):
        parameters["by"] = columns
    elif len(columns) > len(names):
        what = f"{name} is of {count(len(names), 'column')}"
        raise PolicyError(what, got=", ".join(columns), allowed=EXAMPLE)
    else:
        placed = dict(zip(names, columns, strict=False))
        if both := {*placed} & {*parameters}:
            raise PolicyError(f"{name}: {min(both)} is given twice", got=repr(given), allowed=EXAMPLE)
        parameters |= placed
    found: Query = make_variant(QUERIES, "query", name, parameters)
    return found


def _value(text: str) -> Any:
    if "," in text:
        return [_value(part) for part in text.split(",") if part]
    for make in (int, float):
        try:
            return make(text)
        except ValueError:
            continue
    return text
