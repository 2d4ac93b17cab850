"""What Mondrian may choose its cuts by. LeFevre, DeWitt and Ramakrishnan, Workload-aware anonymization, KDD 2006."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sfumato.core.microdata import Attribute
from sfumato.errors import PolicyError, did_you_mean
from sfumato.search.mondrian.cuts import PartShape
from sfumato.search.mondrian.parts import OrderedColumn
from sfumato.search.mondrian.scores import ClassBits, Goal, Workload
from sfumato.search.problem import Problem

EPOCH = datetime.date(1970, 1, 1)


def goal_of(
    problem: Problem,
    columns: list[OrderedColumn],
    shape: PartShape,
    dimension: str,
    class_attribute: str | None,
    queries: Sequence[Mapping[str, Any]] | None,
) -> Goal | None:
    """The score that `dimension` asks for, or None where columns are tried by width or as they come."""
    if dimension == "ncp":
        return Goal()
    if dimension == "gain":
        histogram = problem.cells.histograms.get(str(class_attribute))
        if histogram is None:
            raise PolicyError(f'mondrian: there is no histogram of the class attribute "{class_attribute}"')
        x = np.arange(problem.rows + 1, dtype=np.float64)
        bits = x * np.log2(np.maximum(x, 1))
        classes = len(histogram.overall)
        return Goal(gain=ClassBits(histogram.start, histogram.value, histogram.count, classes, bits))
    if dimension == "workload":
        return Goal(workload=Workload(*_answers(columns, shape, queries or ())))
    return None


def plain_queries(queries: Any) -> tuple[dict[str, Any], ...]:
    """Queries in plain values, as they stand in a policy file: a value, [low, high], or {"any": [values]}.

    >>> plain_queries([{"age": (30, 40), "sex": "F", "job": {"cook"}}])
    ({'age': [30, 40], 'sex': 'F', 'job': {'any': ['cook']}},)
    """
    wrong = PolicyError(
        "mondrian: queries must be a sequence of mappings from column to what is asked of it",
        got=type(queries).__name__,
        allowed='a value, (low, high) with None for an open end, a set of values, or {"any": [values]}',
    )
    if isinstance(queries, str | Mapping) or not isinstance(queries, Sequence) or not queries:
        raise wrong
    found = []
    for query in queries:
        if not isinstance(query, Mapping) or not query or not all(isinstance(name, str) for name in query):
            raise wrong
        asked: dict[str, Any] = {}
        for name, what in query.items():
            values = what.get("any") if isinstance(what, Mapping) else what
            if isinstance(what, Mapping | set | frozenset):
                if not isinstance(values, set | frozenset | list | tuple) or (
                    isinstance(what, Mapping) and len(what) > 1
                ):
                    raise wrong
                asked[name] = {"any": sorted(map(_plain, values), key=lambda v: (str(type(v)), v))}
            elif isinstance(what, tuple | list):
                if len(what) != 2:
                    raise wrong
                asked[name] = [None if end is None else _plain(end) for end in what]
            else:
                asked[name] = _plain(what)
        found.append(asked)
    return tuple(found)


def _plain(value: Any) -> Any:
    """A value of a query as a number or a text."""
    if isinstance(value, datetime.date):  # datetimes are dates, too
        return value.isoformat()
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, np.number):
        value = value.item()
    if isinstance(value, str) or (isinstance(value, int | float) and value == value):
        return value
    raise PolicyError("mondrian: a query asks for numbers, texts and dates", got=type(value).__name__)


def _answers(
    columns: list[OrderedColumn], shape: PartShape, queries: Sequence[Mapping[str, Any]]
) -> tuple[np.ndarray, ...]:
    """Which places of each column match each query, in the arrays of a goal."""
    names = [column.attribute.name for column in columns]
    for query in queries:
        for name in query:
            if name not in names:
                raise PolicyError(
                    f'mondrian: a query asks for a column "{name}" that is no quasi-identifier',
                    hint=did_you_mean(name, names),
                )
    asks = np.array([[name in query for name in names] for query in queries])
    at = np.concatenate([[0], np.cumsum(shape.values + 1)])[:-1]
    match = np.zeros((len(queries), int((shape.values + 1).sum())), np.int32)
    edges = np.zeros(match.shape[1], np.int32)
    for i, column in enumerate(columns):
        here = slice(int(at[i]), int(at[i] + shape.values[i] + 1))
        change = np.zeros(int(shape.values[i]) + 1, np.bool_)
        for q, query in enumerate(queries):
            if names[i] in query:
                hits = _hits(column.attribute, query[names[i]])[column.codes]
                match[q, here] = np.concatenate([[0], np.cumsum(hits)])
                change[1:-1] |= hits[1:] != hits[:-1]
        edges[here] = np.cumsum(change)
    node_low, node_high = [np.zeros(0, np.int32)], [np.zeros(0, np.int32)]
    for column in columns:
        for level in () if column.tree is None else column.tree:
            place = np.arange(len(level), dtype=np.int32)
            low, high = np.empty(level.max() + 1, np.int32), np.empty(level.max() + 1, np.int32)
            low[level[::-1]], high[level] = place[::-1], place
            node_low.append(low[level])
            node_high.append(high[level])
    return asks, match, at, edges, np.concatenate(node_low), np.concatenate(node_high)


def _hits(attribute: Attribute, asked: Any) -> np.ndarray:
    """Which codes of a column match what a query asks of it; missing values match nothing."""
    categories = attribute.categories
    known = len(categories) - categories.missing
    hits = np.zeros(len(categories), np.bool_)
    if isinstance(asked, list | tuple):
        low, high = asked
        if categories.position is not None:
            place = categories.position[:known]
            low = -np.inf if low is None else _position(attribute, low)
            high = np.inf if high is None else _position(attribute, high)
            hits[:known] = (place >= low) & (place <= high)
        else:
            text = [str(v) for v in categories.text[:known]]
            hits[:known] = [(low is None or v >= str(low)) and (high is None or v <= str(high)) for v in text]
        return hits
    for value in asked["any"] if isinstance(asked, Mapping) else [asked]:
        if categories.position is not None and attribute.kind in ("integer", "decimal"):
            hits[:known] |= categories.position[:known] == _position(attribute, value)
        else:
            hits[:known] |= np.array([v == str(value) for v in categories.text[:known]], dtype=np.bool_)
    return hits


def _position(attribute: Attribute, value: Any) -> float:
    """Where a value of a query stands on the line of an ordered column."""
    try:
        if isinstance(value, str) and attribute.kind == "date":
            return float((datetime.date.fromisoformat(value) - EPOCH).days)
        if isinstance(value, str) and attribute.kind == "datetime":
            moment = datetime.datetime.fromisoformat(value)
            return (moment - datetime.datetime.combine(EPOCH, datetime.time())).total_seconds()
        return float(value)
    except (ValueError, TypeError, OverflowError):
        raise PolicyError(
            f'mondrian: a query asks column "{attribute.name}" for something that is no {attribute.kind}',
            got=type(value).__name__,
        ) from None
