"""What a store of a ledger does: statements that both databases understand, and transactions of two kinds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

WAIT = 60.0  # seconds for another process to finish its rows
TABLES = (
    """CREATE TABLE ledger_entries (
  number INTEGER PRIMARY KEY, dataset TEXT NOT NULL, analyst TEXT NOT NULL, purpose TEXT NOT NULL,
  request TEXT NOT NULL, state TEXT NOT NULL, charge TEXT NOT NULL, query TEXT NOT NULL,
  epsilon TEXT NOT NULL, delta TEXT NOT NULL, rho TEXT NOT NULL,
  answer TEXT NOT NULL, time TEXT NOT NULL, hash TEXT NOT NULL
)""",
    """CREATE TABLE ledger_head (
  one INTEGER PRIMARY KEY CHECK (one = 1), number INTEGER NOT NULL, hash TEXT NOT NULL, signature TEXT NOT NULL,
  key TEXT NOT NULL
)""",
    "CREATE INDEX ledger_by_charge ON ledger_entries (charge)",
)


class LedgerStore(Protocol):
    """Where the rows of a ledger are. It is used by one thread at a time.

    shown: what messages call it. place: what tells it from other stores of the owner; empty where it is in memory.
    Neither holds a user or a password. Whatever goes wrong is an OutputError, and what was not committed is undone.
    """

    shown: str
    place: str

    def begin(self) -> None:
        """Begin a transaction that is alone: nobody else writes until it ends, and it sees all that was written."""

    def look(self) -> None:
        """Begin a transaction that only reads, all of one moment."""

    def run(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a statement, with values where it has ?1, ?2, ..., and give its rows."""

    def stream(self, statement: str) -> Iterator[tuple[Any, ...]]:
        """The rows of a statement, as they come."""

    def commit(self) -> None:
        """Keep what was done, durably."""

    def rollback(self) -> None:
        """Undo what was done since the transaction began; without one nothing."""

    def close(self) -> None:
        """Let go of it."""
