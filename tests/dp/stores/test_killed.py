"""Many processes ask one ledger and are killed at any moment: no budget is overspent, and no answer charged twice."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter, defaultdict

import pytest

from sfumato.dp.ledger import ANSWERED, RESERVED, BudgetLedger
from tests.conftest import ROOT
from tests.dp.stores.workers import CHARGES, whole_budget
from tests.fuzz import FUZZ

PROCESSES, KILLS = min(100, 8 * FUZZ), min(200, 20 * FUZZ)  # `make fuzz`: 100 processes and 200 kills


@pytest.mark.slow
def test_processes_that_are_killed_overspend_nothing_and_pay_once(place, tmp_path):
    folder = tmp_path / "workers"
    folder.mkdir()
    words = [sys.executable, "-m", "tests.dp.stores.workers", str(place.address), str(folder), PROCESSES, KILLS]
    done = subprocess.run([str(word) for word in words], cwd=ROOT, capture_output=True, text=True, timeout=2400)
    faults = [file.read_text() for file in folder.glob("*.fault")]
    assert not faults, faults[0]
    assert done.returncode == 0, done.stderr[-2000:]
    ledger = BudgetLedger(place.address, "table")
    assert ledger.verify() == []
    assert ledger.spent().epsilon == whole_budget(KILLS).epsilon  # all of it, and no more
    rows = ledger.entries()
    charged = Counter(row.request for row in rows if row.state == RESERVED)
    answers = Counter(row.request for row in rows if row.state == ANSWERED)
    assert set(charged.values()) == {1}
    assert len(charged) == CHARGES * KILLS
    assert set(answers.values()) == {1}
    stored = {row.request: row.answer for row in rows if row.state == ANSWERED}
    given = defaultdict(set)
    for file in folder.glob("*.given"):
        for line in file.read_text().splitlines():
            request, text = line.split(" ")
            given[request].add(text)
    assert len(given) >= CHARGES * KILLS - KILLS - PROCESSES  # what nobody was given, somebody's death or the end took
    assert {request: {stored[request]} for request in given} == given
    ledger.close()
