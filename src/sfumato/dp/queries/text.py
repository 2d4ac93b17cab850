"""Queries as texts, as "quantile pay q=0.9 where sex = F", and in plain values, as JSON has them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from sfumato.core.forms import make_variant
from sfumato.core.parameters import column_name, shown
from sfumato.core.wording import count
from sfumato.dp.queries import QUERIES
from sfumato.dp.queries.grouped import Grouped
from sfumato.dp.queries.quantile import NEAR
from sfumato.dp.queries.query import Query
from sfumato.dp.queries.several import Several
from sfumato.dp.sql import LONGEST, looks_like_sql, parse_sql
from sfumato.errors import PolicyError

NAMES: dict[str, tuple[str, dict[str, Any]]] = {  # what people call them, too
    "bounds": ("approximate-bounds", {}),
    "histogram": ("contingency-table", {}),
    "median": ("quantile", {"q": 0.5}),
    "minimum": ("quantile", {"q": NEAR}),
    "maximum": ("quantile", {"q": 1 - NEAR}),
}
PLACES = {
    "contingency-table": ("by",),
    "frequent-keys": ("by",),
    "count": (),
    "covariance": ("one", "other"),
    "linear-regression": ("target",),
    "logistic-regression": ("target",),
    "naive-bayes": ("target",),
    "decision-tree": ("target",),
}  # of columns; else "column"
EXAMPLE = '"mean age where sex = F"'
JSON = '{"query": "mean", "column": "age", "where": "sex = F"}'
MARKS = re.compile(r""""[^"]*"|'[^']*'|;""")  # a text in quotes, or what stands between questions


def parse_query(given: Any) -> Query:
    """A query from its text, its SQL or its plain values; a query as it is.

    >>> parse_query("quantile pay q=0.9 where sex = F")
    Quantile(column='pay', q=0.9, candidates=1000, where='sex = F')
    >>> parse_query("median pay by=sex") == parse_query({"query": "grouped", "of": "median pay", "by": "sex"})
    True
    >>> parse_query({"query": "several", "queries": [{"query": "count"}, "mean age"]}) == parse_query("count; mean age")
    True
    """
    if isinstance(given, Mapping):
        return _plain(given)
    if not isinstance(given, str):
        return QUERIES.value(given)
    if looks_like_sql(given):
        return parse_sql(given).query
    if len(given) > LONGEST:
        raise PolicyError("a question is too long", got=f"{len(given):,} characters", allowed=f"{LONGEST:,}")
    if len(texts := _apart(given)) > 1:
        return Several([_text(text) for text in texts])
    return _text(given)


def parse_several(given: Any) -> Several:
    """Questions in a list, each a value, a text or a mapping, as one."""
    if isinstance(given, Query):
        return Several((given,))
    if isinstance(given, str | bytes | Mapping | set | frozenset) or not isinstance(given, Iterable):
        raise PolicyError("several are questions in a list", got=type(given).__name__, allowed=f"[{JSON}]")
    return Several([_inner(one) for one in given])


def _apart(given: str) -> list[str]:
    """A text at each semicolon that is not in quotes."""
    ends = [found.start() for found in MARKS.finditer(given) if found.group() == ";"]
    return [given[start:end] for start, end in zip([0, *(end + 1 for end in ends)], [*ends, len(given)], strict=True)]


def _plain(given: Mapping[str, Any]) -> Query:
    """A query from a mapping: its name under "query", and its parameters; those that are questions themselves too."""
    parameters = dict(given)
    name = parameters.pop("query", None)
    if not isinstance(name, str) or not all(isinstance(key, str) for key in parameters):
        raise PolicyError("a question in plain values has its name", got=shown(name), allowed=JSON)
    if name == "several":
        parameters["queries"] = parse_several(parameters.get("queries")).queries
    if name == "grouped" and "of" in parameters:
        parameters["of"] = _inner(parameters["of"])
    return _made(name, parameters)


def _inner(given: Any) -> Query:
    if not isinstance(given, str | Mapping | Query):
        raise PolicyError("not a question", got=type(given).__name__, allowed=JSON)
    return parse_query(given)


def _text(given: str) -> Query:
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
    names = PLACES.get(NAMES.get(name, (name,))[0], ("column",))
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
    return _made(name, parameters)


def _made(name: str, parameters: dict[str, Any]) -> Query:
    known, fixed = NAMES.get(name, (name, {}))
    if both := {*fixed} & {*parameters}:
        raise PolicyError(f"a {name} has no {min(both)}", hint="ask for a quantile")
    grouped = {}
    if "by" in parameters and known in QUERIES and "by" not in _fields(known):  # any other question, in groups
        grouped = {
            key: parameters.pop(key) for key in ("by", "bins") if key in parameters and key not in _fields(known)
        }
    for key in ("column", "one", "other", "target"):
        if key in parameters:
            column_name(parameters[key], f"{name}: {key}")
    try:
        made: Query = make_variant(QUERIES, "query", known, {**parameters, **fixed})
        found = Grouped(made, **grouped) if grouped else made
        found.conditions  # noqa: B018 a filter that cannot be read is refused here
    except (TypeError, ValueError, AttributeError, OverflowError):  # of values that are of another kind altogether
        raise PolicyError(f"{name} does not take these parameters", allowed=JSON) from None
    return found


def _fields(name: str) -> list[str]:
    return [field.name for field in fields(QUERIES[name].make)]  # type: ignore[arg-type]


def _value(text: str) -> Any:
    if "," in text:
        return [_value(part) for part in text.split(",") if part]
    for make in (int, float):
        try:
            return make(text)
        except ValueError:
            continue
    return text
