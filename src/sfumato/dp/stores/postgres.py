"""A ledger in a database of PostgreSQL, over ADBC: two tables in the first schema of the search path."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from sfumato.dp.stores.protocol import TABLES, WAIT
from sfumato.engines.sql.connect import place
from sfumato.engines.sql.link import DRIVERS, Link, reason
from sfumato.errors import OutputError, ReadError

MAKING = 5_713_281_640_031  # of the advisory lock, so that one process makes the tables
SETTINGS = (
    "SELECT set_config('synchronous_commit', "
    "CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, false), "
    f"set_config('lock_timeout', '{WAIT:.0f}s', false), "
    f"set_config('idle_in_transaction_session_timeout', '{WAIT:.0f}s', false)"  # of a process that is stopped meanwhile
)
PLACE = (
    "SELECT CAST(current_database() AS text), CAST(current_schema() AS text), CASE WHEN "
    "has_function_privilege('pg_catalog.pg_control_system()', 'EXECUTE') THEN 'server' ELSE 'address' END"
)
SERVERS = {  # what tells a server from others, where it may be asked and where not
    "server": "SELECT CAST(system_identifier AS text) FROM pg_catalog.pg_control_system()",
    "address": "SELECT COALESCE(CAST(inet_server_addr() AS text), 'local') || ':' || COALESCE(inet_server_port(), 0)",
}
SCHEMA = (
    *TABLES,
    # not B-trees, whose entries have a length that a query may exceed
    "CREATE INDEX ledger_by_request ON ledger_entries USING hash (request)",
    "CREATE INDEX ledger_by_query ON ledger_entries USING hash (query)",
    "CREATE FUNCTION ledger_refuse() RETURNS trigger LANGUAGE plpgsql AS "
    "'BEGIN RAISE EXCEPTION ''rows are only added''; END'",
    "CREATE TRIGGER never_changed BEFORE UPDATE OR DELETE ON ledger_entries "
    "FOR EACH ROW EXECUTE FUNCTION ledger_refuse()",
    "CREATE TRIGGER never_emptied BEFORE TRUNCATE ON ledger_entries "
    "FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse()",
)
# of the catalogue itself: what a name stands for may be remembered from before another process made it
MADE = "SELECT count(*) > 0 FROM pg_catalog.pg_class WHERE relname = 'ledger_head' AND pg_table_is_visible(oid)"
LOST = ("connection", "server closed", "SSL SYSCALL")  # words of libpq, where there is no SQLSTATE


class PostgresStore:
    """Two tables of a database. A connection that was lost is made anew by the next transaction."""

    def __init__(self, address: str, make: bool = True) -> None:
        self._address = place(address)
        self.shown = self._address.shown
        self._link: Link | None = None
        with self._faults("opened"):
            self._connect()
            ((database, schema, known),) = self._execute(PLACE)
            ((server,),) = self._execute(SERVERS[known])
            self.place = f"postgresql: {server} {database} {schema}"
            self._prepare(make)

    def _connect(self) -> None:
        self.close()
        self._link = self._address.link(write=True)
        self._execute(SETTINGS)
        self._link.commit()

    def _prepare(self, make: bool) -> None:
        if not self._is_made() and not make:
            self.close()
            raise ReadError(f"there is no ledger of Sfumato in {self.shown}", hint="is the address right?")
        if not self._is_made():
            self._execute("SELECT CAST(pg_advisory_xact_lock(?1) AS text)", [MAKING])
            if not self._is_made():  # nor by another process meanwhile
                for statement in SCHEMA:
                    self._execute(statement)
        self.commit()

    def _is_made(self) -> bool:
        return bool(self._execute(MADE)[0][0])

    @contextmanager
    def _faults(self, done: str = "written") -> Iterator[None]:
        try:
            yield
        except Exception as error:
            if type(error).__module__.partition(".")[0] not in DRIVERS and not isinstance(error, OSError):
                raise
            why = reason(error)
            if _is_lost(error):
                why = "the connection was lost"
                self.close()  # the server undoes what was not committed
            what = f"the ledger in {self.shown} cannot be {done}: {why}"
            raise OutputError(what, hint="nothing was answered") from None

    def begin(self) -> None:
        """Begin a transaction that is alone: the head, which every writer writes, is held until its end."""
        self._start("LOCK TABLE ledger_head IN EXCLUSIVE MODE")

    def look(self) -> None:
        """Begin a transaction that only reads, all of one moment."""
        self._start("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")

    def _start(self, statement: str) -> None:
        """The first statement of a transaction; of a new connection where it was lost since the last transaction."""
        with self._faults("opened"):
            if self._link is not None:
                try:
                    self._execute(statement)
                    return
                except Exception as error:
                    if not _is_lost(error):
                        raise
            self._connect()
            self._execute(statement)

    def run(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a statement, and give its rows."""
        with self._faults():
            return self._execute(statement, values)

    def _execute(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._connection().cursor() as cursor:
            cursor.execute(statement.replace("?", "$"), tuple(values) or None)
            return list(cursor.fetchall()) if cursor.description else []

    def stream(self, statement: str) -> Iterator[tuple[Any, ...]]:
        """The rows of a statement, as they come."""
        with self._faults("read"), self._connection().cursor() as cursor:
            cursor.execute(statement)
            for batch in cursor.fetch_record_batch():
                yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)

    def _connection(self) -> Any:
        """The connection of the transaction: never a new one, which would know nothing of it."""
        if self._link is None:
            what = f"the ledger in {self.shown} cannot be written: the connection was lost"
            raise OutputError(what, hint="nothing was answered")
        return self._link.connection  # type: ignore[attr-defined]

    def commit(self) -> None:
        """Keep what was done, durably: `synchronous_commit` is on."""
        with self._faults():
            self._connection().commit()

    def rollback(self) -> None:
        """Undo what was done since the transaction began."""
        if self._link is not None:
            try:
                self._link.rollback()
            except Exception:  # it is lost, and the server undoes it
                self.close()

    def close(self) -> None:
        """Let go of the connection."""
        link, self._link = self._link, None
        if link is not None:
            with suppress(Exception):
                link.close()


def _is_lost(error: BaseException) -> bool:
    state = getattr(error, "sqlstate", None)
    if state:
        return str(state)[:2] == "08" or str(state) in ("57P01", "57P02", "57P03", "25P03")
    return any(word in str(error) for word in LOST)
