"""Ledger: what was spent of a privacy budget, by whom and for which answer, in rows that cannot be changed unnoticed.

Rows are only added. Each holds the hash of the one before it, and the last is signed by the owner's key; its number and
hash are also kept in the owner's folder, so that a dropped row, a changed field, and an older copy put back are found.
A charge is on disk before noise is drawn, and an answer before anybody sees it: a crash costs budget and tells nothing.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import secrets
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from pathlib import Path
from typing import Any

from sfumato.core.accounting import NOTHING, Budget, PrivacyCost
from sfumato.core.parameters import path_of
from sfumato.errors import BrokenPromise, BudgetSpent, MissingExtra, OutputError, PolicyError, ReadError

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
WAIT = 60.0  # seconds for another process to finish its row
FIRST = "0" * 64
SPENT_NOTHING = {"epsilon": "0", "delta": "0", "rho": "0"}
SCHEMA = """
CREATE TABLE IF NOT EXISTS entries (
  number INTEGER PRIMARY KEY, dataset TEXT NOT NULL, analyst TEXT NOT NULL, purpose TEXT NOT NULL,
  request TEXT NOT NULL, state TEXT NOT NULL, charge TEXT NOT NULL, query TEXT NOT NULL,
  epsilon TEXT NOT NULL, delta TEXT NOT NULL, rho TEXT NOT NULL,
  answer TEXT NOT NULL, time TEXT NOT NULL, hash TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS by_request ON entries (request);
CREATE INDEX IF NOT EXISTS by_query ON entries (query, state);
CREATE TABLE IF NOT EXISTS head (
  one INTEGER PRIMARY KEY CHECK (one = 1), number INTEGER, hash TEXT, signature TEXT, key TEXT
);
CREATE TRIGGER IF NOT EXISTS never_changed BEFORE UPDATE ON entries
  BEGIN SELECT RAISE(ABORT, 'rows are only added'); END;
CREATE TRIGGER IF NOT EXISTS never_dropped BEFORE DELETE ON entries
  BEGIN SELECT RAISE(ABORT, 'rows are only added'); END;
"""


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


def entry_hash(previous: str, number: int, values: Mapping[str, str]) -> str:
    """The hash of a row: over that of the row before it, its number and its fields, each with its length."""
    digest = hashlib.sha256()
    for text in (previous, str(number), *(values[name] for name in FIELDS)):
        data = text.encode()
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()


def owner_folder() -> Path:
    """Where the owner keeps what stands outside of every ledger, made on first use."""
    folder = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "sfumato" / "ledgers"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise OutputError(f"the folder of ledgers {folder} cannot be made: {error.strerror}") from None
    return folder


class BudgetLedger:
    """The ledger of one dataset, in a file of SQLite; without a path in memory, for as long as the process lives."""

    def __init__(self, path: Any, dataset: str, checked: bool = True) -> None:
        self.path = None if path is None else path_of(path)
        self.dataset = dataset
        self._totals: dict[tuple[str, str], PrivacyCost] = {}
        self._read = 0  # rows that the totals hold
        self._process = os.getpid()
        try:
            if self.path is not None and not self.path.exists():
                _make(self.path)  # so that the files that SQLite lays beside it are the owner's alone, too
            self._db = sqlite3.connect(":memory:" if self.path is None else self.path, WAIT, isolation_level=None)
            self._db.execute("PRAGMA synchronous=FULL")
            if self._db.execute("SELECT name FROM sqlite_master WHERE name = 'head'").fetchone() is None:
                self._db.execute("PRAGMA journal_mode=WAL")
                self._db.executescript(f"BEGIN IMMEDIATE; {SCHEMA} COMMIT;")
        except (sqlite3.Error, OSError) as error:
            raise OutputError(f"the ledger {self.path} cannot be opened: {error}") from None
        first = self._db.execute("SELECT dataset FROM entries WHERE number = 1").fetchone()
        if first is not None and first[0] != dataset:
            raise PolicyError(f"{self.path} is the ledger of another dataset", hint="each dataset has one of its own")
        if checked and (faults := self.verify()):
            raise BrokenPromise(f"the ledger {self.path} was changed: {faults[0]}")

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """One transaction, alone; all of it or nothing. What the owner has seen of it must be there."""
        if os.getpid() != self._process:
            raise PolicyError("a ledger is not shared with a process that was forked", hint="open it there")
        try:
            self._db.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            raise OutputError(f"the ledger {self.path} cannot be written: {error}") from None
        try:
            self._check_seen()
            yield
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            self._back()
            raise OutputError(
                f"the ledger {self.path} cannot be written: {error}", hint="nothing was answered"
            ) from None
        except BaseException:
            self._back()
            raise
        self._keep_head()

    def _back(self) -> None:
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")

    def _last(self) -> Entry | None:
        row = self._db.execute("SELECT * FROM entries ORDER BY number DESC LIMIT 1").fetchone()
        return None if row is None else _entry(row)

    def _add(self, **values: str) -> int:
        """A further row, and the head signed; within a transaction."""
        last, now = self._last(), time.time()
        if last is not None and now < float(last.time) - SLACK:
            raise PolicyError("the clock stands before the last row of the ledger", hint="set the clock")
        number = 1 if last is None else last.number + 1
        row = {"dataset": self.dataset, "charge": "", "answer": "", **SPENT_NOTHING, "time": f"{now:.6f}", **values}
        found = entry_hash(FIRST if last is None else last.hash, number, row)
        marks = ", ".join("?" * (len(FIELDS) + 2))
        self._db.execute(f"INSERT INTO entries VALUES ({marks})", (number, *(row[name] for name in FIELDS), found))
        signature, public = sign_head(self.id_of(number, found), number, found)
        self._db.execute("REPLACE INTO head VALUES (1, ?, ?, ?, ?)", (number, found, signature, public))
        return number

    def id_of(self, number: int, found: str) -> str:
        """What tells this ledger from others: the hash of its first row."""
        return (
            found if number == 1 else str(self._db.execute("SELECT hash FROM entries WHERE number = 1").fetchone()[0])
        )

    # What was spent

    def register(self, budget: Budget) -> Budget:
        """The budget of the dataset, over all analysts and purposes: that of the first time it is opened."""
        with self._transaction():
            row = self._db.execute("SELECT * FROM entries WHERE number = 1").fetchone()
            if row is None:
                self._add(
                    analyst="", purpose="", request="", state=REGISTERED, query=budget.accounting,
                    epsilon=str(budget.epsilon), delta=str(budget.delta),
                )  # fmt: skip
                return budget
        first = _entry(row)
        return Budget(Decimal(first.epsilon), Decimal(first.delta), first.query)

    def spent(self, analyst: str | None = None, purpose: str | None = None) -> PrivacyCost:
        """What was charged so far: of the dataset, an analyst, or one purpose of theirs."""
        asked = "SELECT * FROM entries WHERE number > ? AND state = ? ORDER BY number"
        for row in self._db.execute(asked, (self._read, RESERVED)).fetchall():
            entry = _entry(row)
            key = entry.analyst, entry.purpose
            self._totals[key] = self._totals.get(key, NOTHING).plus(entry.cost)
            self._read = entry.number
        own = [cost for (who, why), cost in self._totals.items() if analyst in (None, who) and purpose in (None, why)]
        return reduce(PrivacyCost.plus, own, NOTHING)

    def spent_by(self) -> list[dict[str, str]]:
        """What each analyst has spent for each purpose, the whole dataset last."""
        whole = self.spent()
        rows = [(*key, *cost.parts) for key, cost in sorted(self._totals.items())]
        rows.append(("", "", *whole.parts))
        names = ("analyst", "purpose", "epsilon", "delta", "rho")
        return [dict(zip(names, map(str, row), strict=True)) for row in rows]

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
        """
        with self._transaction():
            theirs = self._entries("request = ? AND analyst = ? AND purpose = ?", request, analyst, purpose)
            if any(entry.query != query for entry in theirs):
                raise PolicyError("this request was another query before", hint="a new query is a new request")
            answered = self._entries("query = ? AND state = ?", query, ANSWERED)
            for entry in answered:
                if share or (entry.analyst, entry.purpose) == (analyst, purpose):
                    return None, entry.answer
            for entry in self._entries("query = ? AND state = ?", query, RESERVED):  # charged, and not answered yet
                if (entry.analyst, entry.purpose) == (analyst, purpose):
                    return entry.number, None
            for spent, most, whose in (
                (self.spent(analyst, purpose), budget, f'the budget of "{analyst}"'),
                (self.spent(), whole, "the budget of the dataset"),
            ):
                if not most.holds(spent, cost):
                    what = f"{whose} does not hold what the answer costs, and nothing was charged"
                    raise BudgetSpent(what, got=f"a cost of {cost}", allowed=f"{most.left(spent)} left of {most}")
            number = self._add(
                analyst=analyst, purpose=purpose, request=request, state=RESERVED, query=query,
                epsilon=str(cost.epsilon), delta=str(cost.delta), rho=str(cost.rho),
            )  # fmt: skip
        return number, None

    def follow(self, number: int, state: str, answer: str = "") -> str:
        """A later state of a charge: committed before noise is drawn, answered before anybody sees the answer.

        The answer that is given: where another process has answered the same charge meanwhile, that one, and what was
        drawn here is seen by nobody.
        """
        charge = self._entries("number = ?", number)[0]
        with self._transaction():
            if stored := self._entries("charge = ? AND state = ?", str(number), ANSWERED):
                return stored[0].answer
            self._add(
                charge=str(number),
                analyst=charge.analyst, purpose=charge.purpose,
                request=charge.request, state=state, query=charge.query,
                answer=answer,
            )  # fmt: skip
        return answer

    def entries(self) -> list[Entry]:
        """All rows."""
        return [_entry(row) for row in self._db.execute("SELECT * FROM entries ORDER BY number").fetchall()]

    def _entries(self, where: str, *values: Any) -> list[Entry]:
        found = self._db.execute(f"SELECT * FROM entries WHERE {where} ORDER BY number", values)
        return [_entry(row) for row in found.fetchall()]

    # What keeps it true

    def verify(self) -> list[str]:
        """What is wrong with the ledger: rows that were changed or dropped, a head that is not its own, an older copy
        than the owner has seen, or one that the owner has not seen."""
        first = self._db.execute("SELECT hash FROM entries WHERE number = 1").fetchone()
        seen = None if first is None else _seen(first[0])  # before the rows, which others may add to
        self._db.execute("BEGIN")
        try:
            rows = self.entries()
            head = self._db.execute("SELECT number, hash, signature, key FROM head").fetchone()
        finally:
            self._db.execute("COMMIT")
        if not rows:
            return ["rows that the owner has seen are gone"] if head or self._was_here() else []
        previous = FIRST
        for number, entry in enumerate(rows, 1):
            values = {name: getattr(entry, name) for name in FIELDS}
            if entry.number != number or entry_hash(previous, number, values) != entry.hash:
                return [f"row {number} is not the one that was written"]
            previous = entry.hash
        if head is None or (head[0], head[1]) != (len(rows), previous):
            return ["the head is not that of the last row"]
        if head[3] != owner_public() or not head_is_signed(rows[0].hash, *head):
            return ["the head is not signed by the owner's key"]
        if self.path is None:
            return []
        if seen is None:
            return ["the owner has not seen it: it is new to this folder of theirs"]
        return [] if _holds(rows, seen) else ["it is an older copy, or another one, than the owner has seen"]

    def _was_here(self) -> bool:
        """Whether the owner has seen a ledger at this place."""
        place = "" if self.path is None else str(self.path.resolve())
        found = owner_folder().glob("*.json") if place else ()
        return any(_seen(file.stem)["path"] == place for file in found)  # type: ignore[index]

    def _check_seen(self) -> None:
        """Refuse to go on from rows that are not those which the owner has seen; within a transaction."""
        if self.path is None:
            return
        first = self._db.execute("SELECT hash FROM entries WHERE number = 1").fetchone()
        seen = None if first is None else _seen(first[0])
        if seen is not None:
            row = self._db.execute("SELECT hash FROM entries WHERE number = ?", (seen["number"],)).fetchone()
            if row is None or row[0] != seen["hash"]:
                raise BrokenPromise(f"the ledger {self.path} is an older copy, or another one, than the owner has seen")

    def adopt(self) -> None:
        """Take over a ledger that comes from another place of the same owner, as it is now."""
        if (faults := self.verify()) and "the owner has not seen it" not in faults[0]:
            raise BrokenPromise(f"the ledger {self.path} was changed: {faults[0]}")
        self._keep_head()

    def _keep_head(self) -> None:
        """Keep number and hash of the head in the owner's folder; a later one of another process stays."""
        if self.path is None:
            return
        head = self._db.execute("SELECT number, hash FROM head").fetchone()
        first = self.id_of(0, "")
        folder = owner_folder()
        with (folder / f"{first}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            seen = _seen(first)
            if seen is not None and seen["number"] >= head[0]:
                return
            part = folder / f".{first}-{secrets.token_hex(4)}"
            with part.open("w") as file:
                json.dump({"number": head[0], "hash": head[1], "path": str(self.path.resolve())}, file)
                file.flush()
                os.fsync(file.fileno())
            part.replace(folder / f"{first}.json")


def _holds(rows: Sequence[Entry], seen: Mapping[str, Any]) -> bool:
    number = int(seen["number"])
    return number <= len(rows) and rows[number - 1].hash == seen["hash"]


def _make(path: Path) -> None:
    """An empty file of the owner's alone; that of another process where it was faster."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def open_ledger(path: Any) -> BudgetLedger:
    """The ledger of a file, whichever dataset it is of, and whether or not it is as it was written."""
    place = path_of(path)
    try:
        with sqlite3.connect(f"{place.resolve().as_uri()}?mode=ro", uri=True) as db:
            row = db.execute("SELECT dataset FROM entries WHERE number = 1").fetchone()
    except sqlite3.Error:
        row = None
    if row is None:
        raise ReadError(f"{place} is no ledger of Sfumato")
    return BudgetLedger(place, str(row[0]), checked=False)


def _entry(row: tuple[Any, ...]) -> Entry:
    return Entry(int(row[0]), *map(str, row[1:]))


def _seen(first: str) -> dict[str, Any] | None:
    """The head that the owner has seen."""
    try:
        found = json.loads((owner_folder() / f"{first}.json").read_text("utf-8"))
        return {"number": int(found["number"]), "hash": str(found["hash"]), "path": str(found["path"])}
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        raise ReadError("what the owner keeps of the ledger cannot be read", hint=str(owner_folder())) from None


def _said(ledger: str, number: int, found: str) -> bytes:
    return f"sfumato ledger 1\n{ledger}\n{number}\n{found}\n".encode()


def _keys() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise MissingExtra("cryptography", "dp") from None
    return ed25519


def _owner_key() -> Any:
    """The owner's key of ledgers, made on first use."""
    ed25519, path = _keys(), owner_folder() / "key"
    if not path.exists():
        part = path.parent / f".key-{secrets.token_hex(4)}"
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(ed25519.Ed25519PrivateKey.generate().private_bytes_raw())
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(part, path)
        except FileExistsError:  # another process was faster
            pass
        finally:
            part.unlink()
    return ed25519.Ed25519PrivateKey.from_private_bytes(path.read_bytes())


def owner_public() -> str:
    """The owner's public key."""
    return str(_owner_key().public_key().public_bytes_raw().hex())


def sign_head(ledger: str, number: int, found: str) -> tuple[str, str]:
    """The owner's signature of the last row of a ledger, and the public key."""
    key = _owner_key()
    return key.sign(_said(ledger, number, found)).hex(), key.public_key().public_bytes_raw().hex()


def head_is_signed(ledger: str, number: int, found: str, signature: str, key: str) -> bool:
    """Whether the signature is that of the key."""
    from cryptography.exceptions import InvalidSignature

    try:
        public = _keys().Ed25519PublicKey.from_public_bytes(bytes.fromhex(key))
        public.verify(bytes.fromhex(signature), _said(ledger, number, found))
    except (InvalidSignature, ValueError):
        return False
    return True
