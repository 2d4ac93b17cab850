"""A full disk and a lost connection at every step: nothing is answered that was not charged, nothing charged twice."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from sfumato.core.accounting import Budget, PrivacyCost
from sfumato.dp.ledger import BudgetLedger
from sfumato.errors import OutputError
from tests.dp.stores.conftest import LedgerPlace, server_place
from tests.postgres import run

WHOLE = Budget(Decimal(1))
CENT = PrivacyCost(Decimal("0.01"))
STEPS = 12  # statements of a charge and its answer: more than there are


def answer(ledger: BudgetLedger, request: str, text: str = "") -> str:
    number, stored = ledger.reserve("a", "p", request, f"query of {request}", CENT, WHOLE, WHOLE, False)
    if number is None:
        assert stored is not None
        return stored
    return ledger.answer(number, f"answer to {request}{text}")[0]


def opened(address: Any) -> BudgetLedger:
    ledger = BudgetLedger(address, "table")
    ledger.register(WHOLE)
    return ledger


def check(ledger: BudgetLedger, requests: int) -> None:
    """Each request was charged once and answered once."""
    assert ledger.verify() == []
    states = [entry.state for entry in ledger.entries()]
    assert ledger.spent().epsilon == CENT.epsilon * requests
    assert states.count("reserved") == states.count("answered") == requests


class FaultyStore:
    """A store that something happens to before or after one of its calls."""

    def __init__(self, store: Any, at: int, fault: Any, after: bool) -> None:
        self.store, self.at, self.fault, self.after, self.calls = store, at, fault, after, 0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.store, name)
        if name not in ("begin", "run", "commit"):
            return found

        def call(*values: Any) -> Any:
            self.calls += 1
            if self.calls - 1 != self.at:
                return found(*values)
            if not self.after:
                self.fault(self.store)
            result = found(*values)
            if self.after:
                self.fault(self.store)
            return result

        return call


def fails(_: Any) -> None:
    raise OutputError("the ledger cannot be written: what was done is not known")


def ends(store: Any) -> None:
    """The server ends the connection."""
    address = store.server
    run(address, f"SELECT pg_terminate_backend({store.process})")
    for _ in range(500):
        if run(address, f"SELECT count(*) FROM pg_stat_activity WHERE pid = {store.process}") == [(0,)]:
            return
        time.sleep(0.01)
    raise AssertionError("the server goes on with it")


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("fault", [fails, pytest.param(ends, marks=pytest.mark.slow)])
def test_a_step_that_fails_is_made_again_under_the_same_charge(place, fault, after):
    if fault is ends and place.name == "sqlite":
        return  # it has no connection
    ledger, raised, calls = opened(place.address), 0, 0
    store = ledger._store
    for step in range(STEPS):
        if fault is ends:
            store.process = ledger._store.run("SELECT pg_backend_pid()")[0][0]
            store.server = place.address
            store.rollback()
        ledger._store = FaultyStore(store, step, fault, after)
        try:
            given = answer(ledger, f"r{step}")
        except OutputError as error:
            assert "answer to" not in str(error)
            raised += 1
            given = ""
        calls = max(calls, ledger._store.calls)
        ledger._store = store
        assert answer(ledger, f"r{step}") in (given or f"answer to r{step}",)
    assert STEPS > raised >= 8
    assert calls == 10  # begin, find, add, head and commit, twice
    check(ledger, STEPS)
    ledger.close()


def test_a_connection_that_was_lost_meanwhile_is_made_anew(place):
    if place.name == "sqlite":
        return
    ledger = opened(place.address)
    run(place.address, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    assert answer(ledger, "r") == "answer to r"
    run(place.address, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    assert ledger.spent() == CENT
    check(ledger, 1)
    ledger.close()


def fill(disk: Path, spare: int) -> None:
    """Leave so many pages free on a disk."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError:
            pass
        file.truncate(max(0, file.tell() - 4096 * spare))


def fill_and_ask(ledger: BudgetLedger, disk: Path) -> int:
    """Ask with each number of pages free, and again once there is room; how often there was not enough."""
    raised = 0
    for spare in range(STEPS):
        fill(disk, spare)
        text = secrets.token_hex(6000)  # an answer of some pages, which no database makes shorter
        try:
            answer(ledger, f"r{spare}", text)
        except OutputError as error:
            assert "answer to" not in str(error)
            raised += 1
        (disk / "ballast").unlink()
        assert answer(ledger, f"r{spare}", text) == f"answer to r{spare}{text}"
    check(ledger, STEPS)
    return raised


@pytest.mark.slow
@pytest.mark.parametrize("whose", ["ledger", "owner", "both"])
def test_a_full_disk_at_every_step(disk, tmp_path, monkeypatch, whose):
    small = disk("2m")
    config = tmp_path / "config" if whose == "ledger" else small / "config"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(config))
    path = tmp_path / "ledger.sqlite" if whose == "owner" else small / "ledger.sqlite"
    fill(small, 0)
    with pytest.raises(OutputError):
        opened(path)
    (small / "ballast").unlink()
    ledger = opened(path)
    raised = fill_and_ask(ledger, small)
    assert raised >= 2 if whose != "owner" else raised == 0  # the head is written in its place
    ledger.close()


def outside(address: str, statement: str) -> None:
    """Run a statement outside of a transaction."""
    import adbc_driver_postgresql.dbapi

    with adbc_driver_postgresql.dbapi.connect(address, autocommit=True) as link, link.cursor() as cursor:
        cursor.execute(statement)


@pytest.mark.slow
@pytest.mark.postgres
def test_a_full_disk_of_the_server(postgres, disk):
    small = disk("2m")
    folder = small / "tables"
    folder.mkdir()
    small.parent.chmod(0o755)  # the server's user goes through it
    if os.geteuid() == 0:
        user = next(name for name in ("postgres", "nobody") if name in {one.pw_name for one in pwd.getpwall()})
        shutil.chown(folder, user)
    name = f"small{os.getpid()}"
    outside(postgres, f"CREATE TABLESPACE {name} LOCATION '{folder}'")
    place: LedgerPlace = server_place(postgres)
    ledger = opened(f"{place.address}%20-cdefault_tablespace%3D{name}")
    try:
        assert fill_and_ask(ledger, small) >= 2
    finally:
        ledger.close()
        place.execute("DROP TABLE ledger_entries, ledger_head")
        outside(postgres, f"DROP TABLESPACE {name}")
