"""The ledger: budgets that cannot be overspent, answers that are charged once, and changes that are found."""

from __future__ import annotations

import shutil
import sqlite3
import stat
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.cli import main
from sfumato.dp.owner import owner_folder
from sfumato.errors import BrokenPromise, BudgetSpent, PolicyError

TABLE = pl.DataFrame({"age": [31, 42, 58, 42] * 10, "sex": ["F", "M"] * 20})


def session(folder: Path, epsilon: Any = 1, **more: Any) -> Any:
    return sf.dp.Session(TABLE, epsilon, bounds={"age": (0, 120)}, ledger=folder / "ledger.sqlite", **more)


def test_twenty_charges_of_a_twentieth_spend_the_budget_and_no_more(tmp_path):
    asked = session(tmp_path)
    for age in range(20):
        asked.count(where=f"age > {age}", epsilon=0.05)
    assert asked.left.epsilon == 0
    with pytest.raises(BudgetSpent, match="nothing was charged; got a cost of epsilon 0"):
        asked.count(where="age > 99", epsilon=0.01)
    assert session(tmp_path).left.epsilon == 0  # it stays spent


def test_the_same_question_has_the_same_answer_for_nothing(tmp_path):
    asked = session(tmp_path)
    first = asked.mean("age", where="sex = F and age > 30", epsilon=0.1)
    again = session(tmp_path).mean("age", where="age > 30 and sex = F", epsilon="0.10")
    assert (again.value, again.interval, again.again) == (first.value, first.interval, True)
    assert again.cost.epsilon == 0
    assert asked.left.epsilon == Decimal("0.9")
    asked.mean("age", where="age > 30 and sex = F", epsilon=0.2)
    asked.mean("age", where="age > 30 and sex = M", epsilon=0.1)
    assert asked.left.epsilon == Decimal("0.6")


def test_histograms_are_stored_too(tmp_path):
    one, two = (session(tmp_path).histogram("age", bins=4, epsilon=0.1) for _ in range(2))
    assert two.again
    assert one.value.equals(two.value)
    assert one.interval == two.interval


def test_analysts_have_budgets_and_the_dataset_has_one(tmp_path):
    first = session(tmp_path, 1, analyst="a", dataset_epsilon=1.5)
    with pytest.raises(PolicyError, match="stays as it was first stated"):
        session(tmp_path, 1, analyst="b", dataset_epsilon=20)
    second = session(tmp_path, 1, analyst="b")
    one = first.count(epsilon=1)
    with pytest.raises(BudgetSpent, match='budget of "a"'):
        first.count(where="age > 3", epsilon=0.1)
    assert second.left.epsilon == Decimal("0.5")
    with pytest.raises(BudgetSpent, match="budget of the dataset"):
        second.count(epsilon=1)
    shared = session(tmp_path, 1, analyst="b", share=True)
    assert shared.count(epsilon=1).value == one.value
    assert second.left.epsilon == Decimal("0.5")


def test_a_request_is_charged_once_and_is_one_query(tmp_path, monkeypatch):
    asked = session(tmp_path)
    monkeypatch.setattr(sf.dp.Session, "_draw", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        asked.count(epsilon=0.5, request="r1")
    monkeypatch.undo()
    assert asked.left.epsilon == Decimal("0.5")
    asked.count(epsilon=0.5, request="r1")
    assert asked.left.epsilon == Decimal("0.5")
    with pytest.raises(PolicyError, match="another query"):
        asked.count(epsilon=0.1, request="r1")


CHANGES = [
    "UPDATE ledger_entries SET epsilon = '0.01' WHERE number = 2",
    "UPDATE ledger_entries SET answer = answer || ' ' WHERE state = 'answered'",
    "UPDATE ledger_entries SET purpose = 'other' WHERE number = 2",
    "UPDATE ledger_entries SET state = 'answered' WHERE number = 2",
    "DELETE FROM ledger_entries WHERE number = 3",
    "DELETE FROM ledger_entries WHERE number = (SELECT max(number) FROM ledger_entries)",
    "DELETE FROM ledger_entries",
    "UPDATE ledger_head SET signature = substr(signature, 3) || 'ab'",
]


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_changed_is_found(change, tmp_path):
    session(tmp_path).count(epsilon=0.5)
    db = sqlite3.connect(tmp_path / "ledger.sqlite")
    with pytest.raises(sqlite3.IntegrityError) if "ledger_entries" in change.split(" SET")[0] else _nothing():
        db.execute(change)
    db.executescript(f"DROP TRIGGER never_changed; DROP TRIGGER never_dropped; {change}")
    db.commit()
    with pytest.raises(BrokenPromise, match="was changed"):
        session(tmp_path)


class _nothing:
    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


def test_a_tail_that_is_cut_off_with_its_head_and_an_older_copy_are_found(tmp_path):
    asked = session(tmp_path)
    asked.count(epsilon=0.25)
    asked.ledger.close()
    shutil.copytree(tmp_path, tmp_path.parent / "copy")
    session(tmp_path).sum("age", epsilon=0.5)
    shutil.rmtree(tmp_path)
    shutil.copytree(tmp_path.parent / "copy", tmp_path)
    with pytest.raises(BrokenPromise, match="older copy"):
        session(tmp_path)
    shutil.rmtree(tmp_path.parent / "copy")


def test_a_ledger_of_another_key_or_place_is_found_until_it_is_adopted(tmp_path, monkeypatch):
    session(tmp_path).count(epsilon=0.25)
    (tmp_path / "home").mkdir()
    shutil.copytree(owner_folder(), tmp_path / "home" / "sfumato" / "ledgers", ignore=shutil.ignore_patterns("*.head"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    with pytest.raises(BrokenPromise, match="has not seen it"):
        session(tmp_path)
    assert main(["dp", "ledger", "adopt", str(tmp_path / "ledger.sqlite")]) == 0
    assert session(tmp_path).left.epsilon == Decimal("0.75")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "other"))
    with pytest.raises(BrokenPromise, match="not signed by the owner's key"):
        session(tmp_path)


def test_a_request_of_another_purpose_is_another_and_no_charge_is_drawn_twice(tmp_path):
    one = session(tmp_path, purpose="p").count(epsilon=0.5, request="r")
    other = session(tmp_path, purpose="q", dataset_epsilon=1)
    two = other.count(epsilon=0.5, request="r")
    assert (one.again, two.again) == (False, False)
    assert other.ledger.spent().epsilon == 1
    assert other.count(epsilon=0.5, request="r").value == two.value


def test_whoever_asks_while_another_draws_gets_the_same_answer(tmp_path, monkeypatch):
    """A client that gives up waiting and asks again must not see a second draw under the same charge."""
    first, second = session(tmp_path), session(tmp_path)
    draw, values = sf.dp.Session._draw, []

    def slow(self, *more):
        monkeypatch.setattr(sf.dp.Session, "_draw", draw)
        values.append(second.count(epsilon=0.01, request="r").value)
        return draw(self, *more)

    monkeypatch.setattr(sf.dp.Session, "_draw", slow)
    values.append(first.count(epsilon=0.01, request="r").value)
    assert values[0] == values[1]
    assert first.ledger.spent().epsilon == Decimal("0.01")


def test_a_copy_that_is_open_at_the_same_time_cannot_be_spent_from(tmp_path):
    first = session(tmp_path)
    first.ledger._store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copy(tmp_path / "ledger.sqlite", tmp_path / "copy.sqlite")
    copy = sf.dp.Session(TABLE, 1, bounds={"age": (0, 120)}, ledger=tmp_path / "copy.sqlite")
    first.count(epsilon=1)
    with pytest.raises(BrokenPromise, match="older copy"):
        copy.count(where="age > 3", epsilon=1)


def test_a_ledger_that_is_gone_does_not_begin_anew(tmp_path):
    asked = session(tmp_path)
    asked.count(epsilon=1)
    asked.ledger.close()
    for file in tmp_path.glob("ledger*"):
        file.unlink()
    with pytest.raises(BrokenPromise, match="are gone"):
        session(tmp_path)


def test_its_files_are_the_owners_alone(tmp_path):
    session(tmp_path).count(epsilon=1)
    assert {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()} == {0o600}


def test_a_ledger_of_another_dataset_and_a_clock_set_back_are_refused(tmp_path, monkeypatch):
    asked = session(tmp_path)
    with pytest.raises(PolicyError, match="another dataset"):
        session(tmp_path, dataset="other")
    now = time.time()
    monkeypatch.setattr("sfumato.dp.ledger.time.time", lambda: now - 100)
    with pytest.raises(PolicyError, match="clock"):
        asked.count(epsilon=0.1)
    assert asked.left.epsilon == 1
