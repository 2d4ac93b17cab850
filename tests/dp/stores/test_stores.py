"""One ledger, two stores: the same rows, refusals and finds, by threads, and whatever is done behind its back."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.cli import main
from sfumato.core.accounting import Budget, PrivacyCost, delta_of
from sfumato.dp.ledger import FIELDS, BudgetLedger, open_ledger
from sfumato.dp.owner import owner_folder
from sfumato.errors import BrokenPromise, BudgetSpent, PolicyError, ReadError
from tests.dp.stores.conftest import server_place

TABLE = pl.DataFrame({"age": [31, 42, 58, 42] * 10})
WHOLE = Budget(Decimal(1))
CENT = PrivacyCost(Decimal("0.01"))


def opened(place: Any) -> BudgetLedger:
    ledger = BudgetLedger(place.address, "table")
    ledger.register(WHOLE)
    return ledger


def charge(ledger: BudgetLedger, request: str, query: str | None = None, cost: PrivacyCost = CENT) -> Any:
    return ledger.reserve("a", "p", request, query or f"query of {request}", cost, WHOLE, WHOLE, False)


def answer(ledger: BudgetLedger, request: str) -> str:
    number, stored = charge(ledger, request)
    return stored if number is None else ledger.answer(number, f"answer to {request}")[0]


def test_a_session_spends_of_it_and_no_more(place):
    with sf.dp.Session(TABLE, 1, bounds={"age": (0, 120)}, ledger=place.address) as asked:
        first = asked.count(where="age > 40", epsilon=0.5, request="r")
    with sf.dp.Session(TABLE, 1, bounds={"age": (0, 120)}, ledger=place.address) as asked:
        assert asked.count(where="age > 40", epsilon=0.5).value == first.value
        assert asked.left.epsilon == Decimal("0.5")
        with pytest.raises(BudgetSpent, match="nothing was charged"):
            asked.mean("age", epsilon=0.6)
        with pytest.raises(PolicyError, match="another query"):
            asked.count(epsilon=0.1, request="r")
        assert [entry.state for entry in asked.ledger.entries()] == ["registered", "reserved", "committed", "answered"]
    with pytest.raises(PolicyError, match="another dataset"):
        sf.dp.Session(TABLE, 1, ledger=place.address, dataset="other")


def test_of_two_calls_that_draw_under_one_charge_one_is_told_that_it_paid(place):
    """Also where both draw the same number, as a count often does."""
    ledger = opened(place)
    (one, _), (other, _) = charge(ledger, "r", "q"), charge(ledger, "s", "q")
    assert one == other
    assert [ledger.answer(one, "5"), ledger.answer(other, "5")] == [("5", True), ("5", False)]
    ledger.close()


def test_the_clock_may_not_be_set_back(place, monkeypatch):
    ledger, now = opened(place), time.time()
    monkeypatch.setattr("sfumato.dp.ledger.time.time", lambda: now - 100)
    with pytest.raises(PolicyError, match="clock"):
        charge(ledger, "r")
    monkeypatch.undo()
    assert ledger.spent().epsilon == 0


def test_threads_share_a_ledger_and_each_charge_is_counted_once(place):
    ledger = opened(place)
    alone, refused = ledger._make_all, []
    together: list[int] = []
    ledger._make_all = lambda changes: (together.append(len(changes)), alone(changes))[1]

    def ask(number: int) -> str | None:
        try:
            return answer(ledger, f"r{number % 150}")
        except BudgetSpent:
            refused.append(number)
            return None

    with ThreadPoolExecutor(16) as pool:
        given = list(pool.map(ask, range(300)))
    assert ledger.spent().epsilon == 1
    assert sum(text is not None for text in given[:150]) == sum(text is not None for text in given[150:]) == 100
    assert all(text in (None, f"answer to r{number % 150}") for number, text in enumerate(given))
    states = [entry.state for entry in ledger.entries()]
    assert states.count("reserved") == states.count("answered") == 100
    assert max(together) > 1  # changes that waited went into one transaction
    assert ledger.verify() == []
    ledger.close()


def test_a_transaction_that_fails_is_told_to_all_that_wait_in_it(place, monkeypatch):
    ledger = opened(place)
    started, gate = threading.Event(), threading.Event()

    def slow(*_: Any) -> Any:
        started.set()
        gate.wait(10)
        raise ZeroDivisionError

    with ThreadPoolExecutor(5) as pool:
        monkeypatch.setattr(ledger, "_write", slow)
        first = pool.submit(charge, ledger, "r0")
        started.wait(10)
        others = [pool.submit(charge, ledger, f"r{i}") for i in range(1, 5)]
        while len(ledger._waiting) < 4:
            time.sleep(0.01)
        gate.set()
        assert isinstance(first.exception(), ZeroDivisionError)
        told = [one.exception() for one in others]
    assert all(isinstance(error, ZeroDivisionError | sf.errors.OutputError) for error in told)
    monkeypatch.undo()
    assert ledger.spent().epsilon == 0
    assert answer(ledger, "r0") == "answer to r0"
    ledger.close()


def test_a_forked_process_is_refused_and_leaves_it_as_it_was(place):
    ledger = opened(place)
    child = os.fork()
    if not child:
        code = 1
        try:
            charge(ledger, "r")
        except PolicyError:
            ledger.close()
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert answer(ledger, "r") == "answer to r"
    ledger.close()


# Behind its back


@pytest.mark.parametrize("name", [*FIELDS, "number", "hash"])
def test_any_changed_field_is_found(place, name):
    ledger = opened(place)
    answer(ledger, "r")
    ledger.close()
    value = "99" if name == "number" else f"{name} || ' '"
    place.tamper(f"UPDATE ledger_entries SET {name} = {value} WHERE number = 3")
    with pytest.raises(BrokenPromise, match="was changed"):
        BudgetLedger(place.address, "table")


DROPPED = {
    "a row": ["DELETE FROM ledger_entries WHERE number = 3"],
    "the first row": ["DELETE FROM ledger_entries WHERE number = 1"],
    "the last row": ["DELETE FROM ledger_entries WHERE number = 7"],
    "all rows": ["DELETE FROM ledger_entries"],
    "all rows and the head": ["DELETE FROM ledger_entries", "DELETE FROM ledger_head"],
    "the head": ["DELETE FROM ledger_head"],
    "the signature": ["UPDATE ledger_head SET signature = 'ab' || substr(signature, 3)"],
    "the key": ["UPDATE ledger_head SET key = signature"],
}


@pytest.mark.parametrize("what", DROPPED)
def test_what_is_dropped_is_found(place, what):
    ledger = opened(place)
    for request in "rs":
        answer(ledger, request)
    ledger.close()
    place.tamper(*DROPPED[what])
    with pytest.raises(BrokenPromise, match="was changed"):
        BudgetLedger(place.address, "table")


def test_a_tail_cut_off_with_its_signed_head_is_an_older_copy_for_who_has_it_open_and_who_opens_it(place):
    """The attacker keeps the head of an earlier moment, which the owner did sign, and drops what came after."""
    ledger, other = opened(place), opened(place)
    answer(ledger, "r")
    number, found, signature, key = ledger._store.run("SELECT number, hash, signature, key FROM ledger_head")[0]
    ledger._store.rollback()
    answer(ledger, "s")
    ledger.close()
    back = f"number = {number}, hash = '{found}', signature = '{signature}', key = '{key}'"
    place.tamper(f"DELETE FROM ledger_entries WHERE number > {number}", f"UPDATE ledger_head SET {back}")
    with pytest.raises(BrokenPromise, match="older copy"):
        charge(other, "t")
    with pytest.raises(BrokenPromise, match="older copy"):
        BudgetLedger(place.address, "table")
    other.close()


def test_rows_are_only_added(place):
    opened(place).close()
    for change in ("UPDATE ledger_entries SET rho = '1'", "DELETE FROM ledger_entries"):
        with pytest.raises(Exception, match="only added"):
            place.execute(change)


def test_the_owners_folder_knows_it_by_its_first_row_and_survives_half_a_write(place):
    ledger = opened(place)
    answer(ledger, "r")
    first = ledger.entries()[0].hash
    file = owner_folder() / f"{first}.head"
    data = file.read_bytes()
    assert f"4 {ledger.entries()[-1].hash}".encode() in data
    older = 512 * (1 - data.index(b"4 ") // 512)
    file.write_bytes(data[:older] + b"5 beef".ljust(512) + data[older + 512 :])  # a crash in the midst of the next
    assert ledger.verify() == []
    answer(ledger, "s")
    assert ledger.verify() == []
    file.unlink()
    with pytest.raises(BrokenPromise, match="has not seen it"):
        charge(ledger, "t")
    assert main(["dp", "ledger", "adopt", str(place.address)]) == 0
    charge(ledger, "t")
    ledger.close()


def test_a_process_that_stops_before_the_owner_has_seen_the_first_row_does_no_harm(place, monkeypatch):
    monkeypatch.setattr("sfumato.dp.ledger.keep_head", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        opened(place)
    monkeypatch.undo()
    ledger = opened(place)
    charge(ledger, "r")
    assert ledger.verify() == []
    ledger.close()


def test_the_shell_shows_verifies_and_exports_it(place, capsys):
    with pytest.raises(ReadError, match="no ledger"):
        open_ledger(place.address)
    ledger = opened(place)
    answer(ledger, "r")
    ledger.close()
    for action, text in (("show", "0.01"), ("verify", "4 rows, as written"), ("export", '"state": "answered"')):
        assert main(["dp", "ledger", action, str(place.address)]) == 0
        assert text in capsys.readouterr().out
    place.tamper("UPDATE ledger_entries SET epsilon = '0' WHERE number = 2")
    assert main(["dp", "ledger", "verify", str(place.address)]) == 1
    assert "row 2 is not the one" in capsys.readouterr().out


def test_other_accounts_are_shown_beside_plain_sums(tmp_path, capsys):
    path = tmp_path / "ledger.sqlite"
    ledger = BudgetLedger(path, "table")
    whole = Budget(Decimal(20), Decimal("1e-6"))
    ledger.register(whole)
    for number in range(100):
        ledger.reserve("a", "", f"r{number}", f"q{number}", PrivacyCost(Decimal("0.1")), whole, whole, False)
    found = ledger.composed("1e-6")
    assert found["plain"] == pytest.approx(10)
    assert found["advanced"] == pytest.approx(6.308, abs=1e-3)
    assert delta_of(0.5, found["zcdp"]) == pytest.approx(1e-6, rel=1e-4)  # a hundred times 0.1 squared over 2
    assert main(["dp", "ledger", "show", str(path)]) == 0
    assert "advanced composition" in capsys.readouterr().out
    ledger.reserve("a", "", "r", "q", PrivacyCost(Decimal("0.1"), Decimal("1e-9")), whole, whole, False)
    assert ledger.composed()["zcdp"] is None
    assert ledger.spent_by()[-1]["delta"] == "0.000000001"
    with pytest.raises(PolicyError, match="delta is out of range"):
        ledger.composed(1)
    ledger.close()


@pytest.mark.postgres
def test_no_password_is_taken_or_shown(postgres, capsys):
    for address in (
        postgres.replace("@", ":secret9@"),
        f"{postgres}?password=secret9",
    ):
        with pytest.raises(PolicyError, match="must not hold a password") as caught:
            BudgetLedger(address, "table")
        assert "secret9" not in str(caught.value)
        assert main(["dp", "ledger", "show", address]) != 0
        said = capsys.readouterr()
        assert "secret9" not in said.out + said.err
    ledger = BudgetLedger(server_place(postgres).address, "table")  # that no other test writes to
    said = f"{ledger!r} {ledger.shown} {ledger._store.place}"
    assert "sfumato@" not in said
    assert "127.0.0.1" in said
    assert ledger._store.run("SELECT current_setting('synchronous_commit')") == [("on",)]
    ledger.close()


@pytest.mark.slow
def test_processes_that_begin_at_once_make_one_ledger(place):
    """Each opens it anew; all see the same first row."""

    def begin(_: int) -> str:
        ledger = opened(place)
        first = ledger.entries()[0].hash
        ledger.close()
        return first

    with ThreadPoolExecutor(12) as pool:
        assert len(set(pool.map(begin, range(12)))) == 1
