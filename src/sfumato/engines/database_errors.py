"""Faults of databases in our own words: what drivers say may hold addresses, users and values of cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sfumato.engines.disk import is_full, no_space
from sfumato.errors import SfumatoError

DENIED = "42501"
FULL = "no space left on the disk of the database"
DRIVERS = ("adbc_driver_manager", "duckdb", "_duckdb", "pyarrow")
STATES = {
    DENIED: "the user may not do that there: permission denied",
    "42P01": "a table is not there, or not any more",
    "42703": "a column is not there any more",
    "42P07": "a table of that name was made meanwhile",
    "2BP01": "views or other tables depend on the table that would be replaced",
    "25006": "the database is read-only, or a standby: temporary tables cannot be made there",
    "3F000": "there is no such schema",
    "40001": "another transaction changed the same things; run it again",
    "40P01": "another transaction waits for the same things; run it again",
    "53100": FULL,
    "53200": "the database ran out of memory",
    "53300": "the database has too many connections",
    "55P03": "another transaction holds the table",
    "57014": "the statement was cancelled, or took longer than the database allows",
    "57P01": "the database shut the connection",
    "0A000": "the database cannot do that with this kind of table",
}
KINDS = {"08": "the connection was lost", "22": "a value cannot be turned into its type", "53": "it lacks resources"}
DUCKDB = {
    "PermissionException": "that is not permitted there",
    "OutOfMemoryException": "the database ran out of memory",
    "IOException": "the file cannot be read or written, is damaged, or is open in another process",
    "TransactionException": "another transaction changed the same things; run it again",
    "DependencyException": "other things depend on the table that would be replaced",
    "ConversionException": "a value cannot be turned into its type",
    "CatalogException": "a table is not there, or not any more",
    "ConnectionException": "the connection is closed",
}
PHRASES = {  # words that SQLite always uses, and what they mean; nothing else of its messages is shown
    "database is locked": "another process holds the database",
    "readonly database": "the database may not be written",
    "no such table": "a table is not there, or not any more",
    "malformed": "the file is damaged",
    "file is not a database": "the file is damaged, or encrypted",
    "read-only": "the database is opened read-only",
}


@contextmanager
def told(
    kind: type[SfumatoError], what: str, disks: Sequence[Path] = (), lacking: Callable[[], str] | None = None
) -> Iterator[None]:
    """Turn what a driver raises into an error of ours that says `what` could not be done, and why if that is known.

    `disks` are places that the database writes to, on this machine; `lacking` names rights that the user does not have.
    """
    try:
        yield
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in DRIVERS:
            raise
        denied = getattr(error, "sqlstate", None) in (DENIED, None)  # a driver does not always pass it on
        rights = lacking() if lacking is not None and denied else ""
        if rights:
            raise kind(f"{what}: the user lacks the right {rights}", hint="ask the owner of the database") from None
        raise kind(f"{what}: {reason(error, disks)}") from None


def reason(error: Exception, disks: Sequence[Path] = ()) -> str:
    """Why, in words that are ours."""
    name, state, message = type(error).__name__, getattr(error, "sqlstate", None), str(error)
    if is_full(error):
        return no_space(disks) if disks else FULL
    if state:
        return STATES.get(state) or KINDS.get(state[:2]) or f"the database refused (SQLSTATE {state})"
    if name in DUCKDB and type(error).__module__.lstrip("_").startswith("duckdb"):
        return next((said for phrase, said in PHRASES.items() if phrase in message), DUCKDB[name])
    return next((said for phrase, said in PHRASES.items() if phrase in message), f"the database refused ({name})")
