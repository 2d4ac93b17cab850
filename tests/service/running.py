"""A service as a process of its own, on a free port of loopback, for tests."""

from __future__ import annotations

import os
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import polars as pl

from sfumato.service.secret import hash_key, hash_password, new_api_key

USERS = ("ann", "bob", "eve", "slow", "aud", "own", "pam")
KEYS = {name: new_api_key() for name in USERS}
PASSWORD = "correct horse battery"
PASSWORD_HASH = hash_password(PASSWORD)
POLICY = """
[service]
port = 0
tick = {tick}
{service}

[datasets.patients]
path = "data.csv"
bounds.age = [0, 120]
bounds.pay = [0, 20]
keys.sex = ["F", "M"]
epsilon = 100
i_know = true
{dataset}

[datasets.gone]
path = "data.csv"
epsilon = 1
until = 2020-01-01

[users.ann]
role = "analyst"
key = "{ann}"
rate = 100000

[users.bob]
role = "analyst"
key = "{bob}"
rate = 100000

[users.eve]
role = "analyst"
key = "{eve}"
rate = 100000

[users.slow]
role = "analyst"
key = "{slow}"
rate = 3

[users.aud]
role = "auditor"
key = "{aud}"

[users.own]
role = "owner"
key = "{own}"
rate = 100000

[users.pam]
role = "analyst"
password = "{password}"

[[grants]]
user = "ann"
dataset = "patients"
epsilon = 40
i_know = true

[[grants]]
user = "bob"
dataset = "patients"
purpose = "study"
epsilon = 2
columns = ["age", "sex"]
filters = ["sex"]
queries = ["count", "mean", "contingency-table"]
groups = 5

[[grants]]
user = "eve"
dataset = "gone"
epsilon = 1

[[grants]]
user = "slow"
dataset = "patients"
epsilon = 1

[[grants]]
user = "pam"
dataset = "patients"
epsilon = 1
"""


def write(folder: Path, tick: int = 10, service: str = "", dataset: str = "", rows: int = 400) -> Path:
    """A policy and its table in a folder."""
    ages = [20 + i % 60 for i in range(rows)]
    table = {"age": ages, "pay": [i % 20 for i in range(rows)], "sex": ["F" if i % 3 else "M" for i in range(rows)]}
    pl.DataFrame(table).write_csv(folder / "data.csv")
    hashes: dict[str, Any] = {name: hash_key(key) for name, key in KEYS.items()}
    text = POLICY.format(tick=tick, service=service, dataset=dataset, password=PASSWORD_HASH, **hashes)
    (folder / "policy.toml").write_text(text.replace("epsilon = 40\ni_know = true", "epsilon = 20"))
    return folder / "policy.toml"


@dataclass
class Running:
    """A service that runs: its address, and how it is called."""

    url: str
    folder: Path
    process: subprocess.Popen[str]
    client: httpx.Client = field(repr=False)

    def call(self, method: str, path: str, who: str | None = "ann", **more: Any) -> httpx.Response:
        headers = {} if who is None else {"Authorization": f"Bearer {KEYS.get(who, who)}"}
        return self.client.request(method, self.url + path, headers=headers | more.pop("headers", {}), **more)

    def ask(self, who: str | None = "ann", **question: Any) -> httpx.Response:
        return self.call("POST", "/ask", who, json={"epsilon": 0.01, **question})

    def log(self) -> str:
        return (self.folder / "service" / "log.jsonl").read_text("utf-8")


@contextmanager
def running(folder: Path, *arguments: str, verify: ssl.SSLContext | bool = True, **policy: Any) -> Iterator[Running]:
    """A service over a policy, which is stopped at the end."""
    path = folder / "policy.toml"
    if not path.exists():
        write(folder, **policy)
    command = [sys.executable, "-m", "sfumato", "query", "serve", str(path), *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ})
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        line = process.stdout.readline()
        if not line.startswith("answers at "):
            process.kill()
            raise AssertionError(f"the service did not start: {process.stderr.read()}")
        with httpx.Client(verify=verify, timeout=60, trust_env=False) as client:
            yield Running(line.split()[-1], folder, process, client)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
        process.stdout.close()
        process.stderr.close()
