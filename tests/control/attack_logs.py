"""Logs to attack: the table of the spec, and queries planted in a log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import polars as pl

import sfumato as sf
from sfumato.control import LoggedQuery, QueryLog
from sfumato.errors import QueryRefused

PATIENTS = pl.DataFrame(
    {
        "sex": list("FFFFMMMMMM"),
        "age": [29, 41, 35, 52, 29, 38, 47, 60, 33, 55],
        "ill": ["yes", "no", "no", "yes", "no", "yes", "no", "no", "yes", "no"],
    }
)


def ask_all(database: Any, queries: Iterable[str], user: str = "") -> list[float | None]:
    """The answers to queries, None where one is refused."""
    found: list[float | None] = []
    for query in queries:
        try:
            found.append(database.ask(query, user).value)
        except QueryRefused:
            found.append(None)
    return found


def sums(values: Sequence[float] | np.ndarray, sets: Iterable[Iterable[int]], error: Any = None) -> QueryLog:
    """A log of sums over sets of rows, with an error each."""
    entries = []
    for i, rows in enumerate(sets):
        members = np.array(sorted(rows))
        off = 0.0 if error is None else float(error[i])
        answer = float(np.asarray(values, float)[members].sum()) + off
        entries.append(LoggedQuery(i + 1, "", f"sum pay where g = {i}", "sum", "pay", members, answer, None, 1))
    return QueryLog(len(values), {"g": "key", "pay": "value"}, tuple(entries))


def database(table: pl.DataFrame, *controls: Any, **options: Any) -> sf.StatisticalDatabase:
    """A statistical database under some controls."""
    return sf.StatisticalDatabase(table, controls=list(controls), **options)
