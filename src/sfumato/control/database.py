"""StatisticalDatabase: exact answers about sets of people, refused where they would tell about one of them."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sfumato.control.controls import QUERY_CONTROLS, CountAuditing, RandomSample, RoundedAnswers, SumAuditing
from sfumato.control.controls.mixed import MixedKinds
from sfumato.control.controls.model import OFFLINE, SIMULATABLE, AskedSet, ControlState, QueryControl, Setting
from sfumato.control.log import Journal, LoggedQuery, QueryLog
from sfumato.control.query import COUNT, MAX, MIN, SetQuery, parse_set_query
from sfumato.control.table import changed_people, decimals_of, numbers_of, people_of, read_people
from sfumato.core.parameters import column_names, known_columns, mapping, one_of, real_number, whole_number
from sfumato.core.wording import listed as listed_words
from sfumato.errors import ColumnError, PolicyError, QueryRefused, ReadError, did_you_mean, warn

TOGETHER, APART = "together", "apart"
PERTURBED = ("rounded", "sampled")


class OfflineAuditingWarning(UserWarning):
    """Refusals look at true answers, and so may tell something themselves."""


class AssumedKeysWarning(UserWarning):
    """Columns are taken to be known to everybody, since no keys were named: exact counts by them are answered."""


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
    data: a frame or a file with a row for each person; it is read into memory.
    controls: what decides which queries are answered, as [sf.SumAuditing()]; a query is answered if none refuses it.
    values: columns of numbers that sums, means and extremes are of; they are private. keys: columns that everybody may
        know, which formulas use; all others unless given, with a warning where they are audited. bounds: of values,
        what everybody knows of them, for SumAuditing(interval=...).
    users: "together", as if they told each other all answers; or "apart", each by what they were told themselves.
    auditing: "simulatable", where no refusal looks at an answer; or "offline".
    person: a column that says who it is, for `update`. changes: people who must have changed before a new snapshot
        stands.
    log: a file that keeps what was asked and told, so that nothing is forgotten; in memory unless given.

    >>> import sfumato as sf
    >>> data = {"row": [1, 2, 3], "wage": [20.0, 30.0, 40.0]}
    >>> database = sf.StatisticalDatabase(data, controls=[sf.SumAuditing()], values=["wage"], keys=["row"])
    >>> database.ask("sum wage").value
    90.0
    >>> database.ask("sum wage where row > 1")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    sfumato.errors.QueryRefused: the query is refused: with what was answered of "wage", somebody's value ...
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
        person: str | None = None,
        changes: int = 10,
        log: str | Path | None = None,
    ) -> None:
        listed = [controls] if isinstance(controls, str) or not isinstance(controls, Iterable) else controls
        self.controls: tuple[QueryControl, ...] = tuple(QUERY_CONTROLS.value(one) for one in listed)
        self.audits = frozenset[str]().union(*(one.audits for one in self.controls))
        self.users = one_of(users, "users", (TOGETHER, APART))
        self.auditing = one_of(auditing, "auditing", (SIMULATABLE, OFFLINE))
        self._changes = whole_number(changes, "changes", 1)
        self._check_controls()
        table = read_people(data)
        self._person = person
        self._columns(table, values, keys)
        self._names, people = people_of(table, person, {})
        self._numbers = {name: numbers_of(table, name) for name in self.values}
        self._decimals = {name: decimals_of(numbers) for name, numbers in self._numbers.items()}
        ends = self._bounds(bounds)
        self._snapshot, self._asked_so_far = 1, 0
        self._journal = None if log is None else Journal(log, table, self.columns)
        secret = secrets.token_bytes(32) if self._journal is None else self._journal.secret
        self._setting = Setting(table, people, len(people), self.keys, self.values, ends, self.auditing, secret)
        self._states: dict[str, list[ControlState]] = {}
        self._entries: list[LoggedQuery] = []
        self._lock = threading.Lock()
        try:
            self._states_of("")
            self._remember()
        except BaseException:
            self.close()
            raise
        if keys is None and self.audits and self.keys:
            columns = listed_words(f'"{name}"' for name in self.keys)
            warn(
                AssumedKeysWarning(f"everybody is taken to know {columns} of everybody; name what they do know: keys=")
            )
        if self.auditing == OFFLINE:
            what = "offline auditing looks at true answers: a refusal may tell something about them"
            warn(OfflineAuditingWarning(what))

    # What it is of

    def _check_controls(self) -> None:
        if not self.controls:
            raise PolicyError("a statistical database needs a control", allowed=", ".join(QUERY_CONTROLS))
        samples = sum(isinstance(one, RandomSample) for one in self.controls)
        if samples > 1:
            raise PolicyError("answers are estimated from one sample", got=f"{samples} controls random-sample")
        if self.audits and samples:
            what = "answers that are estimated from samples cannot be audited"
            raise PolicyError(what, hint="leave out the sample, or the auditing")
        rounded = any(isinstance(one, RoundedAnswers) for one in self.controls)
        if rounded and {MIN, MAX} & self.audits and self.auditing == SIMULATABLE:
            what = "refusals of audited extremes would tell of the answers what rounding hides"
            raise PolicyError(what, hint='leave out the rounding, or give auditing="offline"')

    def _columns(self, table: pl.DataFrame, values: Iterable[str], keys: Iterable[str] | None) -> None:
        """Which columns are keys, values, and counted only."""
        self.values = column_names(values, "values")
        counted = [name for one in self.controls if isinstance(one, CountAuditing) for name in one.columns]
        self.counted = tuple(dict.fromkeys(counted))
        private = {*self.values, *self.counted}
        others = [name for name in table.columns if name not in private and name != self._person]
        self.keys = tuple(others) if keys is None else column_names(keys, "keys")
        known_columns((*self.values, *self.counted, *self.keys), table.columns)
        for name in self.keys:
            if name in private:
                raise PolicyError(f'"{name}" is a key, and private', hint="a key is what everybody may know")
        if both := sorted({*self.values} & {*self.counted}):
            raise PolicyError(f'"{both[0]}" is in values, and counted', hint="its sums and counts would tell together")

    def _bounds(self, bounds: Mapping[str, Sequence[float]] | None) -> dict[str, tuple[float, float]]:
        found = {}
        for name, ends in mapping(bounds, "bounds", self.values, "the list of values").items():
            pair = list(ends) if isinstance(ends, Sequence) and not isinstance(ends, str) else []
            low, high = (
                [real_number(one, f'a bound of "{name}"', -np.inf) for one in pair] if len(pair) == 2 else (0, 0)
            )
            if not low < high:
                raise PolicyError(f'bounds of "{name}" must be a least number and a greater one')
            if not ((self._numbers[name] >= low) & (self._numbers[name] <= high)).all():
                raise PolicyError(f'some values of "{name}" are beyond their bounds')
            found[name] = float(low), float(high)
        if found and not any(isinstance(one, SumAuditing) and one.interval for one in self.controls):
            hint = "auditing without one takes values to be any numbers"
            raise PolicyError("bounds are of SumAuditing(interval=...)", hint=hint)
        return found

    @property
    def columns(self) -> dict[str, str]:
        """What each column is that may be asked about."""
        named = dict.fromkeys(self.keys, "key") | dict.fromkeys(self.values, "value")
        return named | dict.fromkeys(self.counted, "counted")

    @property
    def schema(self) -> pl.Schema:
        """The types of the columns."""
        return self._setting.table.schema

    # Asking

    def ask(self, query: Any, user: str = "") -> ControlledAnswer:
        """The answer to a query, as "sum wage where region = north"; QueryRefused where a control refuses it."""
        asked = parse_set_query(query)
        if others := [name for name in asked.columns if name not in self.columns]:
            hint = did_you_mean(others[0], self.columns)
            raise ColumnError(f'queries may not use "{others[0]}"', allowed=", ".join(self.columns), hint=hint)
        if asked.column is not None and asked.column not in self.values:
            allowed = ", ".join(self.values) or "counts alone"
            raise ColumnError(f'"{asked.column}" is not among the values that are asked for', allowed=allowed)
        with self._lock:
            return self._answer(asked, str(user))

    def _answer(self, query: SetQuery, user: str) -> ControlledAnswer:
        table = self._setting.table
        rows = query.where.rows(table)
        states = self._states_of(user)
        asked, values, answer = self._of(query, rows)
        reason, control = self._not_covered(query, asked), ""
        for state, name in zip(states, [*(one.model for one in self.controls), ""], strict=False):
            if reason is not None:
                break
            reason, control = state.refusal(asked), name
        told, changed = answer, dict.fromkeys(PERTURBED)
        for state in sorted(states, key=lambda one: hasattr(one, "rounded")) if reason is None else ():  # rounded last
            told = state.given(asked, values, told)
            changed |= {name: getattr(state, name) for name in PERTURBED if hasattr(state, name)}
        number, refused = self._asked_so_far + 1, reason is not None
        entry = LoggedQuery(
            number, user, str(query), query.kind, query.column, np.sort(asked.members).astype(np.int32),
            None if refused else told, reason, self._snapshot,
        )  # fmt: skip
        if self._journal is None:
            self._entries.append(entry)
        else:
            self._journal.append(entry)
        self._asked_so_far = number
        if reason is not None:
            raise QueryRefused(f"the query is refused: {reason}", reason=reason, control=control)
        for state in states:
            state.record(asked, answer)
        return ControlledAnswer(told, number, **changed, snapshot=self._snapshot)

    def _of(self, query: SetQuery, rows: np.ndarray) -> tuple[AskedSet, np.ndarray | None, float]:
        """The set of a query, its values, and the true answer."""
        members = self._setting.people[rows]
        inside = np.zeros(self._setting.everybody, np.bool_)
        inside[members] = True
        values = None if query.column is None else self._numbers[query.column][rows]
        answer = 0.0
        if len(members) or query.kind == COUNT:
            answer = query.exact(members if values is None else values, self._decimals.get(query.column or ""))
        looked = answer if self.auditing == OFFLINE else None
        return AskedSet(query, inside, members, rows, self._snapshot, looked), values, answer

    def _not_covered(self, query: SetQuery, asked: AskedSet) -> str | None:
        """Why a query is refused whatever was asked before: nobody is meant, or no auditor can follow."""
        if self.audits:  # first, since whether anybody is meant by what is private tells something
            counted = self.counted if query.kind == COUNT else ()
            if private := [name for name in query.where.columns if name not in (*self.keys, *counted)]:
                return f'a formula that uses "{private[0]}", which is private, cannot be audited'
            if query.kind != COUNT and query.kind not in self.audits:
                return f"no control here audits a {query.kind}"
        return "nobody is in the query set" if query.kind != COUNT and not len(asked.members) else None

    def _states_of(self, user: str) -> list[ControlState]:
        own = user if self.users == APART else ""
        if own not in self._states:
            mixed: list[ControlState] = [MixedKinds()] if self.audits else []
            self._states[own] = [*(control.start(self._setting) for control in self.controls), *mixed]
        return self._states[own]

    # What was asked

    @property
    def log(self) -> QueryLog:
        """What was asked and told; it stays with the owner."""
        with self._lock:
            if self._journal is not None:
                return self._journal.log()
            people = len(self._names) or self._setting.table.height  # of all snapshots
            return QueryLog(people, self.columns, tuple(self._entries))

    def _remember(self) -> None:
        """Put the controls where they were after what the log has."""
        for entry in () if self._journal is None else self._journal.log().entries:
            self._asked_so_far = entry.number
            if entry.answer is None:
                continue
            query = parse_set_query(entry.query)
            rows = query.where.rows(self._setting.table)
            if not np.array_equal(np.flatnonzero(rows), entry.rows):
                raise ReadError("the log is of another table", hint="begin another log for another table")
            asked, _, answer = self._of(query, rows)
            for state in self._states_of(entry.user):
                if state.refusal(asked) is not None:
                    what = f"the log has an answer that these controls refuse: number {entry.number}"
                    raise PolicyError(what, hint="keep the controls that it was begun with")
                state.record(asked, answer)

    def update(self, data: Any) -> bool:
        """Give a newer table. It stands from now on if enough people came, went or changed, and True is returned; else
        answers stay those of the table before."""
        if self._person is None:
            raise PolicyError("a new snapshot needs to know who is who", hint='name a column: person="id"')
        if self._journal is not None:
            raise PolicyError("a log in a file is of one snapshot", hint="begin another database and log")
        for control in self.controls:
            if not control.carries:
                what = f"{control.model} does not hold over snapshots"
                raise PolicyError(what, hint="begin another database, whose people were not asked about before")
        table = read_people(data)
        with self._lock:
            old = self._setting
            if table.schema != old.table.schema:
                raise ColumnError("a new snapshot has other columns, or columns of other types")
            names, people = people_of(table, self._person, self._names)
            if changed_people(old.table, table, self._person) < self._changes:
                return False
            numbers = {name: numbers_of(table, name) for name in self.values}
            self._names, self._numbers = names, numbers
            self._decimals = {name: decimals_of(own) for name, own in numbers.items()}
            self._setting = replace(old, table=table, people=people, everybody=len(names))
            self._snapshot += 1
            for states in self._states.values():
                for state in states:
                    state.update(self._setting)
            return True

    def close(self) -> None:
        """Let go of the log."""
        if self._journal is not None:
            self._journal.close()
