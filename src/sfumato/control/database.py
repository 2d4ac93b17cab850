"""StatisticalDatabase: exact answers about sets of people, refused where they would tell about one of them."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from sfumato.control.controls import QUERY_CONTROLS
from sfumato.control.controls.model import OFFLINE, SIMULATABLE, AskedSet, ControlState, QueryControl, Setting
from sfumato.control.log import LoggedQuery, QueryLog
from sfumato.control.query import COUNT, SetQuery, parse_set_query
from sfumato.core.parameters import column_names, known_columns, one_of
from sfumato.core.printed import plain_values
from sfumato.engines.tables import private_engine
from sfumato.errors import ColumnError, EmptyTable, PolicyError, QueryRefused, warn

TOGETHER, APART = "together", "apart"


class OfflineAuditingWarning(UserWarning):
    """Refusals look at true answers, and so may tell something themselves."""


@dataclass(frozen=True)
class ControlledAnswer:
    """What was told, and the number of the query; the base that it was rounded to, the share of people that it was
    estimated from, and the snapshot that it is of."""

    value: float
    number: int
    rounded: float | None = None
    sampled: float | None = None
    snapshot: int = 1


class StatisticalDatabase:
    """Counts, sums, means, least and greatest values over sets of people, under controls. Threads may share it.

    Parameters
    ----------
    data: a frame or a file with a row for each person; it is read into memory. controls: what decides which queries are
        answered, as [sf.SumAuditing()]. values: columns of numbers that are asked for and are private. keys: columns
        that formulas may use; all others unless given.
    """

    def __init__(
        self,
        data: Any,
        *,
        controls: Sequence[Any],
        values: Iterable[str] = (),
        keys: Iterable[str] | None = None,
        bounds: Mapping[str, Sequence[float]] | None = None,
        users: str = TOGETHER,
        auditing: str = SIMULATABLE,
    ) -> None:
        self.controls: tuple[QueryControl, ...] = tuple(QUERY_CONTROLS.value(one) for one in controls)
        if not self.controls:
            raise PolicyError("a statistical database needs a control", allowed=", ".join(QUERY_CONTROLS))
        self.users = one_of(users, "users", (TOGETHER, APART))
        self.auditing = one_of(auditing, "auditing", (SIMULATABLE, OFFLINE))
        if self.auditing == OFFLINE:
            what = "offline auditing looks at true answers: a refusal may tell something about them"
            warn(OfflineAuditingWarning(what))
        self._table = _read(data)
        self.values = column_names(values, "values")
        known_columns(self.values, self._table.columns)
        given = [one for one in self._table.columns if one not in self.values]
        self.keys = tuple(given) if keys is None else column_names(keys, "keys")
        known_columns(self.keys, self._table.columns)
        if both := sorted({*self.keys} & {*self.values}):
            raise PolicyError(f'"{both[0]}" is both in keys and in values', hint="a key is public, a value is private")
        self._numbers = {name: _numbers(self._table, name) for name in self.values}
        self._people = np.arange(self._table.height)
        self._snapshot = 1
        self._secret = secrets.token_bytes(32)
        self._states: dict[str, list[ControlState]] = {}
        self._entries: list[LoggedQuery] = []
        self._lock = threading.Lock()

    def ask(self, query: Any, user: str = "") -> ControlledAnswer:
        """The answer to a query, as "sum wage where region = north"; QueryRefused where a control refuses it."""
        asked = parse_set_query(query)
        known_columns(asked.columns, (*self.keys, *self.values))
        if asked.column is not None and asked.column not in self.values:
            raise ColumnError(
                f'"{asked.column}" is a key, and not asked for', allowed=", ".join(self.values) or "count"
            )
        with self._lock:
            return self._asked(asked, str(user))

    def _asked(self, query: SetQuery, user: str) -> ControlledAnswer:
        rows = query.where.rows(self._table)
        members = self._people[rows]
        inside = np.zeros(int(self._people.max()) + 1, np.bool_)
        inside[members] = True
        values = None if query.column is None else self._numbers[query.column][rows]
        refused = "nobody is in the query set" if query.kind != COUNT and not len(members) else None
        answer = 0.0 if refused else query.exact(members if values is None else values)
        looked = answer if self.auditing == OFFLINE else None
        asked = AskedSet(query, inside, members, rows, len(rows), self._snapshot, looked)
        states = self._states_of(user)
        for state in states if refused is None else ():
            refused = state.refusal(asked)
            if refused is not None:
                break
        told = answer
        for state in states:
            told = state.given(asked, values, told)
        number = len(self._entries) + 1
        row_numbers = np.flatnonzero(rows).astype(np.int32)
        self._entries.append(
            LoggedQuery(
                number, user, str(query), query.kind, query.column, row_numbers, None if refused else told, refused,
                self._snapshot,
            )
        )  # fmt: skip
        if refused is not None:
            raise QueryRefused(f"the query is refused: {refused}")
        for state in states:
            state.record(asked, answer)
        return ControlledAnswer(told, number, snapshot=self._snapshot)

    def _states_of(self, user: str) -> list[ControlState]:
        own = user if self.users == APART else ""
        if own not in self._states:
            setting = Setting(self._table, self._people, self.keys, self.values, {}, self._secret, self.auditing)
            self._states[own] = [control.start(setting) for control in self.controls]
        return self._states[own]

    @property
    def log(self) -> QueryLog:
        """What was asked and told; it stays with the owner."""
        columns = dict.fromkeys(self.keys, "key") | dict.fromkeys(self.values, "value")
        with self._lock:
            return QueryLog(self._table.height, columns, tuple(self._entries))


def _read(data: Any) -> pl.DataFrame:
    engine = private_engine(data)
    frame = engine.sample(engine.rows())
    if not frame.height:
        raise EmptyTable("the table has no rows")
    return pl.DataFrame([plain_values(column) for column in frame.get_columns()])


def _numbers(table: pl.DataFrame, name: str) -> np.ndarray:
    column = table.get_column(name)
    if not column.dtype.is_numeric():
        raise ColumnError(f'"{name}" is in values, and has no numbers')
    found = column.cast(pl.Float64, strict=False)
    if found.null_count() or not bool(found.is_finite().all()):
        what = f'some rows of "{name}" have no finite number'
        raise ColumnError(what, hint="who has none would be told by answers: drop these rows, or fill them")
    return found.to_numpy()
