"""Answers a second through the service: many clients on loopback, each answer charged and stored with fsync.

`python -m benchmarks.load` starts the service as a process of its own, over a table of 100,000 rows, and prints what it
answers a second and how long an answer takes, ticks included.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
import polars as pl

from sfumato.service.secret import hash_key, new_api_key

POLICY = """
[service]
port = 0
tick = {tick}

[datasets.patients]
path = "data.parquet"
epsilon = 1000
i_know = true
bounds.age = [0, 120]
keys.sex = ["F", "M"]
{ledger}

[users.ann]
role = "analyst"
key = "{key}"
rate = 1000000

[[grants]]
user = "ann"
dataset = "patients"
epsilon = 1000
"""


@dataclass(frozen=True)
class Load:
    """Answers a second, the median and the 99th percentile of their seconds, and CPU seconds of the server for one."""

    rate: float
    middle: float
    late: float
    cpu: float


def cpu_seconds(process: int) -> float:
    """CPU seconds that a process has taken."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def client(port: int, key: str, questions: list[str], end: float, seconds: list[float]) -> None:
    """One connection that asks until the end, each question anew."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while questions and time.monotonic() < end:
        body = json.dumps({"sql": questions.pop(), "epsilon": "0.001"}).encode()
        head = (
            f"POST /ask HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\nContent-Length: {len(body)}\r\n"
        )
        start = time.monotonic()
        writer.write(f"{head}Content-Type: application/json\r\n\r\n".encode() + body)
        headers = await reader.readuntil(b"\r\n\r\n")
        length = int(headers.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
        answer = json.loads(await reader.readexactly(length))
        if "value" not in answer:
            raise SystemExit(f"not answered: {answer}")
        seconds.append(time.monotonic() - start)
    writer.close()


async def load(port: int, key: str, clients: int, seconds: float) -> list[float]:
    """How long each answer took."""
    questions = [f"SELECT count(*) FROM patients WHERE age > {i / 1000} AND sex = 'F'" for i in range(100_000)]
    found: list[float] = []
    end = time.monotonic() + seconds
    await asyncio.gather(*(client(port, key, questions, end, found) for _ in range(clients)))
    return found


def measure(clients: int, seconds: float, tick: int = 50, ledger: str = "") -> Load:
    """What a number of clients see."""
    with tempfile.TemporaryDirectory(prefix="sfumato-load-") as name:
        folder, key = Path(name), new_api_key()
        rng = np.random.default_rng(1)
        table = {"age": rng.integers(0, 100, 100_000), "sex": rng.choice(["F", "M"], 100_000)}
        pl.DataFrame(table).write_parquet(folder / "data.parquet")
        (folder / "policy.toml").write_text(POLICY.format(key=hash_key(key), tick=tick, ledger=ledger))
        environment = {**os.environ, "XDG_CONFIG_HOME": str(folder / "config")}
        command = [sys.executable, "-m", "sfumato", "query", "serve", str(folder / "policy.toml")]
        server = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            port = int(server.stdout.readline().rpartition(":")[2])
            asyncio.run(load(port, key, clients, 1))  # warm
            before = cpu_seconds(server.pid)
            found = asyncio.run(load(port, key, clients, seconds))
            spent = cpu_seconds(server.pid) - before
        finally:
            server.terminate()
            server.wait(30)
    late = sorted(found)[int(len(found) * 0.99)]
    return Load(len(found) / seconds, median(found), late, spent / len(found))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description="Answers a second of the service.")
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=10)
    given = parser.parse_args()
    found = measure(given.clients, given.seconds)
    cpu = f"{1000 * found.cpu:.1f} ms of the server's CPU"
    print(f"{given.clients} clients: {found.rate:.0f} answers a second, each {cpu}")
    print(f"half within {found.middle:.3f} s, 99% within {found.late:.3f} s, ticks included")


if __name__ == "__main__":
    main()
