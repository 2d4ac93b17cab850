"""Processes that ask a ledger and are killed at any moment: python -m tests.dp.stores.workers ADDRESS FOLDER N KILLS.

Two of them ask the same requests at the same time, and one that is killed is started anew and asks again what it was
not given. What each was given is written to a file of its own. A process of one thread forks them, so that a hundred
are started in seconds.
"""

from __future__ import annotations

import importlib
import os
import random
import secrets
import signal
import sys
import time
import traceback
from decimal import Decimal
from pathlib import Path

from sfumato.core.accounting import Budget, PrivacyCost
from sfumato.dp.ledger import BudgetLedger
from sfumato.errors import BudgetSpent

COST = PrivacyCost(Decimal("0.01"))
CHARGES = 10  # that the budget holds, per kill
PAUSE = 0.2  # seconds between two kills, at most
LONGEST = 1800.0  # seconds for all of it


def whole_budget(kills: int) -> Budget:
    """The budget of the dataset."""
    return Budget(COST.epsilon * CHARGES * kills)


def work(address: str, folder: Path, worker: int, kills: int) -> None:
    """Ask until it is refused, and then go on asking."""
    whole = whole_budget(kills)
    ledger = BudgetLedger(address, "table")
    ledger.register(whole)
    name = f"client{worker // 2}"
    path = folder / f"{worker}.given"
    done = path.read_bytes().count(b"\n") if path.exists() else 0
    given = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    while not (folder / "stop").exists():
        request = f"{name}-{done}"
        try:
            number, text = ledger.reserve(name, "p", request, f"query {request}", COST, whole, whole, False)
            if number is not None:
                drawn = secrets.token_hex(8)
                text = ledger.answer(number, drawn)[0]
            assert text is not None
        except BudgetSpent:
            (folder / "spent").touch()
            time.sleep(0.01)
            continue
        os.write(given, f"{request} {text}\n".encode())
        done += 1


def start(address: str, folder: Path, worker: int, kills: int) -> int:
    """Fork a worker."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        work(address, folder, worker, kills)
        code = 0
    except BaseException:
        (folder / f"{worker}.fault").write_text(traceback.format_exc())
    finally:
        os._exit(code)


def main(address: str, folder: Path, processes: int, kills: int) -> int:
    """Start, kill and start again, until all kills are done and the budget is spent; then stop."""
    if address.startswith("postgresql:"):  # once, and not in each of them
        for name in ("adbc_driver_postgresql.dbapi", "pyarrow", "sfumato.dp.stores.postgres"):
            importlib.import_module(name)
    end = time.monotonic() + LONGEST
    running = {worker: start(address, folder, worker, kills) for worker in range(processes)}
    left = kills
    while (left or not (folder / "spent").exists()) and not list(folder.glob("*.fault")) and time.monotonic() < end:
        time.sleep(random.uniform(0, PAUSE))
        if left:
            worker = random.randrange(processes)
            os.kill(running[worker], signal.SIGKILL)
            os.waitpid(running[worker], 0)
            running[worker] = start(address, folder, worker, kills)
            left -= 1
    (folder / "stop").touch()
    failed = [worker for worker, child in running.items() if os.waitpid(child, 0)[1]]
    return 1 if failed or left else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])))
