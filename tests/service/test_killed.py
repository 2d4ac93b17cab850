"""The service is killed at any moment while many clients ask: nothing is overspent, and no answer charged twice."""

from __future__ import annotations

import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import defaultdict
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pytest

from sfumato.dp.ledger import ANSWERED, RESERVED, open_ledger
from tests.fuzz import FUZZ
from tests.service.running import KEYS, write

CLIENTS = min(100, 16 * FUZZ)
KILLS = 3 if FUZZ == 1 else min(200, 10 * FUZZ)  # with SFUMATO_FUZZ=20: 100 clients and 200 kills
MOST = 200 if FUZZ == 1 else 10_000  # answers that the budget of 20 holds
COST = Decimal(20) / MOST


class Clients:
    """Clients that ask until the budget is spent; each makes a request again until it is answered or refused."""

    def __init__(self, url: str) -> None:
        self.url, self.given = url, defaultdict[str, set[Any]](set)
        self.stop, self.faults = threading.Event(), list[str]()
        self.spent = threading.Event()

    def work(self, number: int) -> None:
        with httpx.Client(timeout=30, trust_env=False, headers={"Authorization": f"Bearer {KEYS['ann']}"}) as client:
            for i in range(1000):
                request = f"{number // 2}-{i}"  # two clients ask the same at the same time
                query = f"count where age > {number // 2}.{i:03}1"
                answer = self.ask(client, {"query": query, "epsilon": str(COST), "request": request})
                if answer is None:
                    return
                self.given[request].add(answer)

    def ask(self, client: httpx.Client, question: dict[str, Any]) -> Any:
        while not self.stop.is_set():
            try:
                got = client.post(self.url + "/ask", json=question)
            except httpx.HTTPError:  # it was killed, and takes seconds to start
                time.sleep(0.5)
                continue
            if got.status_code == 200:
                return got.json()["value"]
            if got.status_code == 402:
                self.spent.set()
                return None
            self.faults.append(got.text.strip())
            return None
        return None


@pytest.mark.slow
def test_a_killed_service_overspends_nothing_and_charges_once(tmp_path: Path) -> None:
    write(tmp_path, tick=1)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    command = [sys.executable, "-m", "sfumato", "query", "serve", str(tmp_path / "policy.toml"), "--port", str(port)]
    clients = Clients(f"http://127.0.0.1:{port}")
    threads = [threading.Thread(target=clients.work, args=(n,), daemon=True) for n in range(CLIENTS)]
    for thread in threads:
        thread.start()
    chance = random.Random(1)
    for kill in range(KILLS + 1):
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        try:
            assert server.stdout.readline().startswith("answers at"), f"after {kill} kills"
            if kill < KILLS:
                time.sleep(chance.uniform(0.05, 0.6))
            else:
                for thread in threads:
                    thread.join(300)
                assert not any(thread.is_alive() for thread in threads)
        finally:
            server.send_signal(signal.SIGKILL)
            server.wait(20)
            server.stdout.close()
            if kill == KILLS:
                clients.stop.set()
    assert clients.faults == []
    assert clients.spent.is_set()
    assert all(len(values) == 1 for values in clients.given.values())  # a request has one answer
    ledger = open_ledger(tmp_path / "service" / "patients.sqlite")
    assert ledger.verify() == []
    assert ledger.spent("ann").epsilon == COST * MOST  # all of it, and no more
    rows = ledger.entries()
    charged = [row.request for row in rows if row.state == RESERVED]
    assert len(charged) == len(set(charged)) == MOST
    answered = [row.request for row in rows if row.state == ANSWERED]
    assert len(answered) == len(set(answered))
    assert {*clients.given} <= {*answered}
    ledger.close()
