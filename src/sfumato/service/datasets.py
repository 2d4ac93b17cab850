"""Datasets of a service: registered once, asked on threads of their own, and erased after their end date.

Checks that look at the rows (a person column with missing values) are made when a dataset is registered, and told to
its owner; what an analyst is told depends on the request and on what is public alone.
"""

from __future__ import annotations

import asyncio
import os
import sys
from abc import abstractmethod
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from sfumato.core.mechanisms import laplace
from sfumato.dp.session import Session
from sfumato.dp.sql import parse_sql
from sfumato.dp.values import Public, Unit
from sfumato.engines.atomic import atomic_file
from sfumato.errors import OutputError, PolicyError, SfumatoError
from sfumato.service.audit import AuditLog
from sfumato.service.policy import DatasetTable, GrantTable, ServicePolicy

COPIES = "copies"
BLOCK = 2**20
THREADS = 32  # answers of a dataset that are under way at once

T = TypeVar("T")


class Closed(Protocol):
    """What holds a table until it is closed."""

    def close(self) -> None:
        """Let go of it."""


S = TypeVar("S", bound=Closed)


class Expired(SfumatoError):
    """The end date of a dataset has passed."""


class ServedSession(Session):
    """A session whose failures are told on the console of the owner."""

    def _note_failure(self, error: BaseException) -> None:
        complain(error)


class RegisteredDataset(Generic[S]):
    """A dataset that is registered: its session and the threads that it is used on; one, where the table is
    out-of-core, as a connection is of a thread."""

    verbatim: ClassVar[bool] = True  # no row has a say in how others are read

    def __init__(self, name: str, policy: ServicePolicy, log: AuditLog) -> None:
        self.name, self.table, self._policy, self._log = name, policy.datasets[name], policy, log
        threads = 1 if self.table.table is not None or self.table.stream else THREADS
        self._worker = ThreadPoolExecutor(threads, thread_name_prefix=f"dataset {name}")
        self._session: S | None = None
        self._views: dict[tuple[str, str], S] = {}  # of grants
        if not self.refuse_expired():
            self._session = self._worker.submit(self._register).result()
            log.write(event="registered", dataset=name, outcome="ok")

    # Retention

    def refuse_expired(self) -> bool:
        """Whether the end date has passed; the copy is erased then, which the log records once."""
        if self.table.until is None or today() <= self.table.until:
            return False
        session, self._session, self._views = self._session, None, {}
        if session is not None:
            self._worker.submit(session.close).result()
        if self.copy.exists():
            try:
                erase(self.copy)
                outcome = "the end date has passed"
            except OutputError as error:  # it is tried again
                complain(error)
                outcome = "failed"
            self._log.write(event="erased", dataset=self.name, outcome=outcome)
        return True

    @property
    def copy(self) -> Path:
        """Where the copy of its table is, which the service has made."""
        return self._policy.folder / COPIES / f"{self.name}.parquet"

    # Registering

    def _register(self) -> S:
        known = self.copy.exists()
        try:
            return self._session_of(self.table)
        except BaseException:
            if not known and self.copy.exists():  # of a table that is refused: its owner mends the file
                erase(self.copy)
                self._log.write(event="erased", dataset=self.name, outcome="refused")
            raise

    @abstractmethod
    def _session_of(self, table: DatasetTable) -> S:
        """What answers."""

    @abstractmethod
    def _view(self, grant: GrantTable, session: S) -> S:
        """What answers a grant."""

    @abstractmethod
    def check_grant(self, grant: GrantTable) -> None:
        """Refuse a grant that names what the dataset does not have."""

    @abstractmethod
    def described(self, grant: GrantTable | None) -> dict[str, Any]:
        """What is public of it, as far as a grant goes."""

    def _data(self) -> Any:
        import polars as pl

        import sfumato as sf

        table = self.table
        reading = {**table.reading, **({"verbatim": True} if self.verbatim else {})}
        if table.table is not None:
            return sf.Database(table.path if "://" in table.path else str(self._policy.home / table.path), table.table)
        if table.stream:
            return sf.scan(self._policy.home / table.path, **reading)
        if table.copied and self.copy.exists():
            return pl.read_parquet(self.copy)
        frame = sf.read(self._policy.home / table.path, **reading)
        if table.copied:
            with atomic_file(self.copy) as part:
                part.touch(0o600)
                frame.write_parquet(part)
            self._log.write(event="copied", dataset=self.name, outcome="ok")
        return frame

    # Asking

    async def run(self, grant: GrantTable | None, work: Callable[[S], T]) -> T:
        """What some work with the session of a grant, or that of the owner, gives; on a thread of the dataset."""
        if self.refuse_expired():
            raise Expired(f'the end date of "{self.name}" has passed: it is answered no more')

        def on_thread() -> T:
            if self._session is None:
                raise Expired(f'the end date of "{self.name}" has passed: it is answered no more')
            return work(self._session if grant is None else self._view(grant, self._session))

        return await asyncio.get_running_loop().run_in_executor(self._worker, on_thread)

    def close(self) -> None:
        """Let go of the table, and of the ledger or log."""
        session, self._session = self._session, None
        if session is not None:
            self._worker.submit(session.close).result()
        self._worker.shutdown()

    def refuse_unknown(self, grant: GrantTable, columns: Collection[str]) -> None:
        """Refuse a grant that names a column which the table does not have."""
        unknown = [name for name in (*(grant.columns or ()), *(grant.filters or ())) if name not in columns]
        if unknown:
            raise PolicyError(
                f'a grant of "{grant.user}" names a column that "{self.name}" does not have: "{unknown[0]}"'
            )


class ServedDataset(RegisteredDataset[Session]):
    """A dataset with a budget: its session, and those of analysts."""

    def _session_of(self, table: DatasetTable) -> Session:
        laplace([0], 1, Decimal(1))  # so that libraries are loaded before the first answer
        parse_sql(f"SELECT count(*) FROM {self.name}")
        session = ServedSession(
            self._data(), table.epsilon, table.delta, bounds=table.bounds, keys=table.keys, person=table.person,
            rows_per_person=table.rows_per_person, groups_per_person=table.groups_per_person,
            rows_per_group=table.rows_per_group, neighbours=table.neighbours, ledger=self._policy.ledger(self.name),
            dataset=self.name, dataset_epsilon=table.epsilon, dataset_delta=table.delta, accounting=table.accounting,
            public_rows=table.public_rows, i_know=table.i_know,
        )  # fmt: skip
        self.public, self.unit = session.public, session.unit
        return session

    def _view(self, grant: GrantTable, session: Session) -> Session:
        key = grant.user, grant.purpose
        if key not in self._views:
            self._views[key] = session.for_analyst(
                grant.user, grant.epsilon, grant.delta, purpose=grant.purpose, share=self.table.share,
                public_rows=self.table.public_rows, i_know=self.table.i_know,
            )  # fmt: skip
        return self._views[key]

    def check_grant(self, grant: GrantTable) -> None:
        """Refuse a grant that names columns which the table does not have, or a budget that makes no sense."""
        if self._session is None:
            return
        self.refuse_unknown(grant, self.public.schema)
        session = self._session
        self._worker.submit(lambda: self._view(grant, session)).result()

    def described(self, grant: GrantTable | None) -> dict[str, Any]:
        """What is public of it, as far as a grant goes."""
        public: Public = self.public
        unit: Unit = self.unit
        names = [name for name in public.schema if grant is None or grant.columns is None or name in grant.columns]
        return {
            "dataset": self.name,
            "columns": {name: public.type_name(name) for name in names},
            "bounds": {name: list(ends) for name, ends in public.bounds.items() if name in names},
            "keys": {name: list(values) for name, values in public.keys.items() if name in names},
            "unit": unit.form(),
            "accounting": self.table.accounting,
            "until": None if self.table.until is None else self.table.until.isoformat(),
        }


def today() -> date:
    """The day, everywhere the same."""
    return datetime.now(UTC).date()


def erase(path: Path) -> None:
    """Overwrite a file, and remove it."""
    try:
        with path.open("r+b") as file:
            left = path.stat().st_size
            while left > 0:
                left -= file.write(bytes(min(BLOCK, left)))
            file.flush()
            os.fsync(file.fileno())
        path.unlink()
    except OSError as error:
        raise OutputError(f"the copy {path} cannot be erased: {error.strerror}") from None


def complain(error: BaseException) -> None:
    """Tell the owner on the console where an exception came from; not its message, which may quote a value."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = "" if trace is None else f" in {Path(trace.tb_frame.f_code.co_filename).name}, line {trace.tb_lineno}"
    print(f"sfumato: {type(error).__name__}{where}", file=sys.stderr, flush=True)
