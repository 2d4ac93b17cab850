"""Ledger: what was spent of a privacy budget, by whom and for which answer, in rows that cannot be changed unnoticed.

Rows are only added. Each holds the hash of the one before it, and the last is signed by the owner's key; its number and
hash are also kept in the owner's folder, so that a dropped row, a changed field, and an older copy put back are found.
A charge is on disk before noise is drawn, and an answer before anybody sees it: a crash costs budget and tells nothing.

Budgets are checked and rows are added by one transaction, which is alone. What threads want to add while another
transaction is under way goes into the next one together (DeWitt et al., "Implementation techniques for main memory
database systems", 1984: group commit): each of them is given its result only once all of it is on disk.
"""

from __future__ import annotations

import copy
import hashlib
import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from functools import reduce
from typing import Any

from sfumato.core.accounting import NOTHING, Budget, PrivacyCost, advanced_of, exact, least_epsilon, pure_as_rho
from sfumato.dp.owner import (
    SeenHead,
    head_is_signed,
    keep_head,
    owner_public,
    seen_head,
    sign_head,
    was_seen_at,
)
from sfumato.dp.stores import open_store
from sfumato.errors import BrokenPromise, BudgetSpent, OutputError, PolicyError, ReadError, SfumatoError

__all__ = ["ANSWERED", "COMMITTED", "REGISTERED", "RESERVED", "BudgetLedger", "Entry", "open_ledger"]

FIELDS = (
    "dataset",
    "analyst",
    "purpose",
    "request",
    "state",
    "charge",
    "query",
    "epsilon",
    "delta",
    "rho",
    "answer",
    "time",
)
REGISTERED, RESERVED, COMMITTED, ANSWERED = "registered", "reserved", "committed", "answered"
SLACK = 2.0  # seconds that clocks of processes may differ by
DELTA = 1e-6  # that other accounts are shown for
TOGETHER = 100  # changes that one transaction holds at most
FIRST = "0" * 64
GONE = "rows that the owner has seen are gone"
NOT_SEEN = "the owner has not seen it: it is new to this folder of theirs"
SPENT_NOTHING = {"epsilon": "0", "delta": "0", "rho": "0"}
COLUMNS = ", ".join(("number", *FIELDS, "hash"))
ROWS = f"SELECT {COLUMNS} FROM ledger_entries"
CHARGES = f"{ROWS} WHERE number > ?1 AND state = '{RESERVED}' ORDER BY number"
HEAD = "SELECT number, hash, signature, key FROM ledger_head"
NEW_HEAD = (
    "INSERT INTO ledger_head (one, number, hash, signature, key) VALUES (1, ?1, ?2, ?3, ?4) ON CONFLICT (one) "
    "DO UPDATE SET number = excluded.number, hash = excluded.hash, signature = excluded.signature, key = excluded.key"
)


@dataclass(frozen=True)
class Entry:
    """A row of the ledger."""

    number: int
    dataset: str
    analyst: str
    purpose: str
    request: str
    state: str
    charge: str  # the number of the row that a later state is of
    query: str
    epsilon: str
    delta: str
    rho: str
    answer: str
    time: str
    hash: str

    @property
    def cost(self) -> PrivacyCost:
        """What it charged."""
        return PrivacyCost(Decimal(self.epsilon), Decimal(self.delta), Decimal(self.rho))


def entry_hash(previous: str, number: int, fields: Sequence[str]) -> str:
    """The hash of a row: over that of the row before it, its number and its fields, each with its length."""
    parts = [text.encode() for text in (previous, str(number), *fields)]
    return hashlib.sha256(b"".join(len(part).to_bytes(8, "big") + part for part in parts)).hexdigest()


@dataclass
class _Spent:
    """What was charged so far, by analyst and purpose, and in all."""

    by: dict[tuple[str, str], PrivacyCost] = field(default_factory=dict)
    whole: PrivacyCost = NOTHING

    def add(self, entry: Entry) -> None:
        """Count a row, which is a charge or not."""
        if entry.state == RESERVED:
            key = entry.analyst, entry.purpose
            self.by[key] = self.by.get(key, NOTHING).plus(entry.cost)
            self.whole = self.whole.plus(entry.cost)

    def copy(self) -> _Spent:
        """One that is added to, while this stays."""
        return _Spent(dict(self.by), self.whole)

    def of(self, analyst: str | None, purpose: str | None) -> PrivacyCost:
        """That of an analyst, of one purpose of theirs, or of all."""
        if analyst is None and purpose is None:
            return self.whole
        if analyst is not None and purpose is not None:
            return self.by.get((analyst, purpose), NOTHING)
        own = [cost for (who, why), cost in self.by.items() if analyst in (None, who) and purpose in (None, why)]
        return reduce(PrivacyCost.plus, own, NOTHING)


@dataclass
class _Change:
    """What a thread wants of the ledger: the rows it has to see, and what it then adds or finds."""

    decide: Callable[[_Page], Any]
    numbers: tuple[int, ...] = ()
    requests: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    charges: tuple[str, ...] = ()
    done: bool = False
    result: Any = None
    error: SfumatoError | None = None


@dataclass
class _Page:
    """What one transaction sees of the ledger, and adds to it."""

    dataset: str
    entries: list[Entry]  # the first and the last of all, those that were looked for, and what was added
    spent: _Spent
    added: list[Entry] = field(default_factory=list)

    @property
    def first(self) -> Entry | None:
        """The first row of all."""
        return self.entries[0] if self.entries else None

    @property
    def last(self) -> Entry | None:
        """The last row of all."""
        return self.entries[-1] if self.entries else None

    def add(self, **values: str) -> Entry:
        """A further row."""
        last, now = self.last, time.time()
        if last is not None and now < float(last.time) - SLACK:
            raise PolicyError("the clock stands before the last row of the ledger", hint="set the clock")
        number = 1 if last is None else last.number + 1
        row = {"dataset": self.dataset, "charge": "", "answer": "", **SPENT_NOTHING, "time": f"{now:.6f}", **values}
        fields = [row[name] for name in FIELDS]
        found = entry_hash(FIRST if last is None else last.hash, number, fields)
        entry = _entry((number, *fields, found))
        self.entries.append(entry)
        self.added.append(entry)
        self.spent.add(entry)
        return entry

    def follow(self, charge: Entry, state: str, answer: str = "") -> None:
        """A row with a later state of a charge."""
        self.add(
            charge=str(charge.number), analyst=charge.analyst, purpose=charge.purpose, request=charge.request,
            state=state, query=charge.query, answer=answer,
        )  # fmt: skip


class BudgetLedger:
    """The ledger of one dataset: in a file of SQLite, or at an address of PostgreSQL; without either in memory, for as
    long as the process lives. Threads may share it."""

    def __init__(self, place: Any, dataset: str, checked: bool = True) -> None:
        self.dataset = dataset
        self._spent = _Spent()
        self._read = 0  # the last row that was counted as spent
        self._first: str | None = None  # its hash tells the ledger from others
        self._process = os.getpid()
        self._turn = threading.RLock()  # who has it may use the store
        self._waiting: deque[_Change] = deque()
        self._store = open_store(place)
        try:
            first = self._first_row()
            if first is not None and first.dataset != dataset:
                what = f"{self.shown} is the ledger of another dataset"
                raise PolicyError(what, hint="each dataset has one of its own")
            if checked and (faults := self.verify()):
                raise BrokenPromise(f"the ledger {self.shown} was changed: {faults[0]}")
        except BaseException:
            self._store.close()
            raise

    @property
    def shown(self) -> str:
        """What it is called in messages: its file, or its database without user and password."""
        return self._store.shown

    def __repr__(self) -> str:
        return f"<BudgetLedger of {self.dataset}: {self.shown}>"

    def close(self) -> None:
        """Let go of the store."""
        if os.getpid() == self._process:  # a forked process would end what is its parent's
            with self._turn:
                self._store.close()

    def _refuse_forked(self) -> None:
        if os.getpid() != self._process:
            raise PolicyError("a ledger is not shared with a process that was forked", hint="open it there")

    @contextmanager
    def _looking(self) -> Iterator[None]:
        """A transaction that only reads."""
        self._refuse_forked()
        with self._turn:
            self._store.look()
            try:
                yield
            finally:
                self._store.rollback()

    def _first_row(self) -> Entry | None:
        with self._looking():
            found = self._store.run(f"{ROWS} WHERE number = 1")
        return _entry(found[0]) if found else None

    # Changes: those that wait are made together

    def _make(self, change: _Change) -> Any:
        """Have a change made, by this thread or by one that makes those of several; its result, once it is durable."""
        self._refuse_forked()
        self._waiting.append(change)
        with self._turn:
            while not change.done:
                together = [self._waiting.popleft() for _ in range(min(TOGETHER, len(self._waiting)))]
                try:
                    self._make_all(together)
                except SfumatoError as error:
                    self._fail(together, error)
                except BaseException:
                    why = OutputError(f"the ledger {self.shown} was interrupted", hint="nothing was answered")
                    self._fail(together, why)
                    raise
                for one in together:
                    one.done = True
        if change.error is not None:
            raise change.error
        return change.result

    def _fail(self, changes: Sequence[_Change], error: SfumatoError) -> None:
        for change in changes:
            change.error, change.done = copy.copy(error), True  # each thread raises one of its own

    def _make_all(self, changes: Sequence[_Change]) -> None:
        """One transaction, alone; all of it or nothing. What the owner has seen must be there."""
        try:
            self._store.begin()
            page = self._page(changes)
            for change in changes:
                before = len(page.added)
                try:
                    change.result = change.decide(page)
                except SfumatoError as error:
                    if len(page.added) > before:
                        raise
                    change.error = error
            if page.added:
                self._write(page)
            self._store.commit()
        except BaseException:
            self._store.rollback()
            raise
        last = page.last
        if last is not None:
            self._spent, self._read = page.spent, last.number
            self._keep(last)

    def _page(self, changes: Sequence[_Change]) -> _Page:
        seen = None if self._first is None or not self._store.place else seen_head(self._first)
        wanted: dict[str, set[Any]] = {
            "number": {1, *([] if seen is None else [seen.number]), *(n for one in changes for n in one.numbers)},
            "request": {text for one in changes for text in one.requests},
            "query": {text for one in changes for text in one.queries},
            "charge": {text for one in changes for text in one.charges},
        }
        page = _Page(self.dataset, self._find(wanted), self._spent)
        if page.first is not None and self._first is None:
            self._first = page.first.hash
            return self._page(changes)
        self._check_seen(page, seen)
        page.spent = self._spent.copy()
        if page.last is not None and page.last.number > self._read:  # what other processes added
            for row in self._store.run(CHARGES, [self._read]):
                page.spent.add(_entry(row))
        return page

    def _find(self, wanted: Mapping[str, Collection[Any]]) -> list[Entry]:
        """The last row, and all that have one of the wanted values."""
        tests = ["number = (SELECT max(number) FROM ledger_entries)"]
        values: list[Any] = []
        for column, some in wanted.items():
            if some:
                marks = ", ".join(f"?{len(values) + i}" for i in range(1, len(some) + 1))
                tests.append(f"{column} IN ({marks})")
                values += some
        return [_entry(row) for row in self._store.run(f"{ROWS} WHERE {' OR '.join(tests)} ORDER BY number", values)]

    def _check_seen(self, page: _Page, seen: SeenHead | None) -> None:
        """Refuse to go on from rows that are not those which the owner has seen; within a transaction."""
        if not self._store.place:
            return
        if page.first is None or page.last is None:
            if self._first is not None:
                raise BrokenPromise(f"the ledger {self.shown} was changed: {GONE}")
            return
        if seen is None and page.last.number == 1 == page.first.number and page.first.hash == self._first:
            self._keep(page.first)  # whoever made it was stopped before; from here on there is no row without a head
        elif seen is None:
            raise BrokenPromise(f"the ledger {self.shown} was changed: {NOT_SEEN}")
        elif not any((entry.number, entry.hash) == (seen.number, seen.hash) for entry in page.entries):
            raise BrokenPromise(f"the ledger {self.shown} is an older copy, or another one, than the owner has seen")

    def _write(self, page: _Page) -> None:
        """Add the new rows, and sign the last."""
        width = len(FIELDS) + 2
        marks = [
            "(" + ", ".join(f"?{width * row + column}" for column in range(1, width + 1)) + ")"
            for row in range(len(page.added))
        ]
        values = [value for entry in page.added for value in vars(entry).values()]
        self._store.run(f"INSERT INTO ledger_entries ({COLUMNS}) VALUES {', '.join(marks)}", values)
        last = page.added[-1]
        self._first = self._first or page.added[0].hash
        signature, public = sign_head(self._first, last.number, last.hash)
        self._store.run(NEW_HEAD, [last.number, last.hash, signature, public])

    def _keep(self, last: Entry) -> None:
        """Keep number and hash of the last row in the owner's folder."""
        if self._store.place and self._first is not None:
            keep_head(self._first, SeenHead(last.number, last.hash, self._store.place))

    # What was spent

    def register(self, budget: Budget) -> Budget:
        """The budget of the dataset, over all analysts and purposes: that of the first time it is opened."""

        def decide(page: _Page) -> Budget:
            first = page.first
            if first is None:
                page.add(
                    analyst="", purpose="", request="", state=REGISTERED, query=budget.accounting,
                    epsilon=str(budget.epsilon), delta=str(budget.delta),
                )  # fmt: skip
                return budget
            return Budget(Decimal(first.epsilon), Decimal(first.delta), first.query)

        found: Budget = self._make(_Change(decide))
        return found

    def spent(self, analyst: str | None = None, purpose: str | None = None) -> PrivacyCost:
        """What was charged so far: of the dataset, an analyst, or one purpose of theirs."""
        return self._read_spent().of(analyst, purpose)

    def _read_spent(self) -> _Spent:
        with self._looking():
            for row in self._store.run(CHARGES, [self._read]):
                entry = _entry(row)
                self._spent.add(entry)
                self._read = entry.number
            return self._spent.copy()

    def spent_by(self) -> list[dict[str, str]]:
        """What each analyst has spent for each purpose, the whole dataset last."""
        found = self._read_spent()
        rows = [*sorted(found.by.items()), (("", ""), found.whole)]
        names = ("analyst", "purpose", "epsilon", "delta", "rho")
        return [dict(zip(names, (*key, *(f"{part:f}" for part in cost.parts)), strict=True)) for key, cost in rows]

    def composed(self, delta: Any = DELTA) -> dict[str, float | None]:
        """What all charges together amount to, by three accounts of them; the budget is held by plain sums, or those of
        rho, and by nothing else.

        plain: the sum of epsilons. advanced: the epsilon by advanced composition for a further delta. zcdp: that of the
        rhos, for which no charge may have been private by an epsilon and a delta alone. None where there is none.
        """
        own = exact(delta, "delta")
        if own >= 1:
            raise PolicyError("delta is out of range", got=f"{own}", allowed="far below 1")
        with self._looking():
            costs = [_entry(row).cost for row in self._store.run(CHARGES, [0])]
        epsilons = [float(cost.epsilon) for cost in costs]
        rhos = [cost.rho or pure_as_rho(cost.epsilon) for cost in costs]
        concentrated = all(cost.rho or not cost.delta for cost in costs)
        return {
            "plain": None if any(cost.rho for cost in costs) else math.fsum(epsilons),
            "advanced": None if any(cost.rho for cost in costs) else advanced_of(epsilons, float(own)),
            "zcdp": float(least_epsilon(sum(rhos, Decimal(0)), own)) if concentrated else None,
            "delta": float(own),
        }

    def reserve(
        self,
        analyst: str,
        purpose: str,
        request: str,
        query: str,
        cost: PrivacyCost,
        budget: Budget,
        whole: Budget,
        share: bool,
    ) -> tuple[int | None, str | None]:
        """Charge a query, or find that it was answered: the number of the charge, or the stored answer.

        A question that the analyst has had answered is answered by the same numbers, for nothing; with `share` also one
        that another has. A request that was charged and not answered is answered under the same charge.

        Two rows are added, reserved and committed, by one transaction: nothing happens between these states here, and
        when this returns both are on disk, so that the charge is durable before noise is drawn. A charge that was
        interrupted is committed once more, which shows how often it was drawn; only its one answer is ever given.
        """

        def own(entry: Entry) -> bool:
            return (entry.analyst, entry.purpose) == (analyst, purpose)

        def decide(page: _Page) -> tuple[int | None, str | None]:
            if any(own(entry) and entry.request == request and entry.query != query for entry in page.entries):
                raise PolicyError("this request was another query before", hint="a new query is a new request")
            same = [entry for entry in page.entries if entry.query == query]
            for entry in same:
                if entry.state == ANSWERED and (share or own(entry)):
                    return None, entry.answer
            for entry in same:  # charged, and not answered yet
                if entry.state == RESERVED and own(entry):
                    page.follow(entry, COMMITTED)
                    return entry.number, None
            for spent, most, whose in (
                (page.spent.of(analyst, purpose), budget, f'the budget of "{analyst}"'),
                (page.spent.whole, whole, "the budget of the dataset"),
            ):
                if not most.holds(spent, cost):
                    what = f"{whose} does not hold what the answer costs, and nothing was charged"
                    raise BudgetSpent(what, got=f"a cost of {cost}", allowed=f"{most.left(spent)} left of {most}")
            charge = page.add(
                analyst=analyst, purpose=purpose, request=request, state=RESERVED, query=query,
                epsilon=str(cost.epsilon), delta=str(cost.delta), rho=str(cost.rho),
            )  # fmt: skip
            page.follow(charge, COMMITTED)
            return charge.number, None

        found: tuple[int | None, str | None] = self._make(_Change(decide, requests=(request,), queries=(query,)))
        return found

    def answer(self, number: int, answer: str) -> tuple[str, bool]:
        """Store the answer of a charge, before anybody sees it: the answer that is given, and whether it is this one.

        Where another call has answered the same charge meanwhile, that one is given, and what was drawn here is seen by
        nobody.
        """

        def decide(page: _Page) -> tuple[str, bool]:
            for entry in page.entries:
                if entry.charge == str(number) and entry.state == ANSWERED:
                    return entry.answer, False
            page.follow(next(entry for entry in page.entries if entry.number == number), ANSWERED, answer)
            return answer, True

        found: tuple[str, bool] = self._make(_Change(decide, numbers=(number,), charges=(str(number),)))
        return found

    def entries(self) -> list[Entry]:
        """All rows."""
        with self._looking():
            return [_entry(row) for row in self._store.stream(f"{ROWS} ORDER BY number")]

    # What keeps it true

    def verify(self) -> list[str]:
        """What is wrong with the ledger: rows that were changed or dropped, a head that is not its own, an older copy
        than the owner has seen, or one that the owner has not seen."""
        first = self._first_row()
        durable = bool(self._store.place)
        seen = seen_head(first.hash) if first is not None and durable else None  # before the rows, which others add to
        with self._looking():
            fault, rows = self._verify_rows(first, seen)
        if first is None and rows and self._first_row() is not None:
            return self.verify()  # another process has just made it
        if fault is None and first is not None and durable and seen is None:
            strange = rows > 1 or was_seen_at(self._store.place)
            if seen_head(first.hash) is not None:  # asked last: another process has just made it
                return self.verify()
            fault = NOT_SEEN if strange else None
        if first is None and durable and was_seen_at(self._store.place):
            if self._first_row() is not None:
                return self.verify()
            fault = GONE
        if fault is None and first is not None:
            self._first = first.hash
        return [] if fault is None else [fault]

    def _verify_rows(self, first: Entry | None, seen: SeenHead | None) -> tuple[str | None, int]:
        """What is wrong with the rows and the head, and how many rows there are."""
        previous, number, found = FIRST, 0, seen is None
        for row in self._store.stream(f"{ROWS} ORDER BY number"):
            number += 1
            if row[0] != number or entry_hash(previous, number, row[1:-1]) != row[-1]:
                return f"row {number} is not the one that was written", number
            previous = row[-1]
            found = found or (seen is not None and (number, previous) == (seen.number, seen.hash))
        heads = self._store.run(HEAD)
        if not number:
            return (GONE if heads else None), 0
        if not heads or heads[0][:2] != (number, previous):
            return "the head is not that of the last row", number
        if first is None or heads[0][3] != owner_public() or not head_is_signed(first.hash, *heads[0]):
            return "the head is not signed by the owner's key", number
        return (None if found else "it is an older copy, or another one, than the owner has seen"), number

    def adopt(self) -> None:
        """Take over a ledger that comes from another place of the same owner, as it is now."""
        if (faults := self.verify()) and faults[0] != NOT_SEEN:
            raise BrokenPromise(f"the ledger {self.shown} was changed: {faults[0]}")
        with self._looking():
            rows = self._find({"number": {1}})
        if rows:
            self._first = rows[0].hash
            self._keep(rows[-1])


def open_ledger(place: Any) -> BudgetLedger:
    """The ledger of a file or an address, whichever dataset it is of, and whether or not it is as it was written."""
    store = open_store(place, make=False)
    try:
        store.look()
        row = store.run("SELECT dataset FROM ledger_entries WHERE number = 1")
        store.rollback()
        shown = store.shown
    finally:
        store.close()
    if not row:
        raise ReadError(f"{shown} is no ledger of Sfumato", hint="it has no rows")
    return BudgetLedger(place, str(row[0][0]), checked=False)


def _entry(row: tuple[Any, ...]) -> Entry:
    return Entry(int(row[0]), *map(str, row[1:]))
