"""Ctrl-C while kernels run: a clean end, never a crash."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from sfumato.search.problem import interruptible

SCRIPT = """
import numpy as np, polars as pl, sfumato as sf, sys
rng = np.random.default_rng(0)
table = pl.DataFrame({f"c{i}": rng.integers(0, 200, 100_000) for i in range(5)})
print("ready", flush=True)
try:
    sf.anonymize(table, quasi=table.columns, require=sf.KAnonymity(5), search="incognito").save(sys.argv[1])
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.exit(130)
"""


@pytest.mark.slow
@pytest.mark.parametrize("delay", [0.3, 0.9])
def test_interrupt_in_the_middle_of_kernels(delay: float, tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(tmp_path / "out")], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130
    assert not (tmp_path / "out").exists()


def test_work_stops_at_its_next_sign_of_progress() -> None:
    steps: list[int] = []

    def work(tell: object) -> None:
        for i in range(10_000):
            steps.append(i)
            if i == 3:
                os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)
            tell("working", None)  # type: ignore[operator]

    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals reach the main thread only")
    with pytest.raises(KeyboardInterrupt):
        interruptible(work, lambda message, share: None)
    assert len(steps) < 1_000


def test_what_the_work_gives_and_raises_comes_through() -> None:
    assert interruptible(lambda tell: 7, lambda message, share: None) == 7
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda tell: 1 / 0, lambda message, share: None)


def test_an_interrupt_while_the_work_is_handed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()

    def submit(pool: ThreadPoolExecutor, work: Callable[..., object], *given: object) -> Future[object]:
        real(pool, work, *given)
        raise KeyboardInterrupt

    def work(tell: Callable[[str, float | None], None]) -> None:
        try:
            while True:
                time.sleep(0.01)
                tell("working", None)
        finally:
            ended.set()

    real = ThreadPoolExecutor.submit
    monkeypatch.setattr(ThreadPoolExecutor, "submit", submit)
    with pytest.raises(KeyboardInterrupt):
        interruptible(work, lambda message, share: None)
    assert ended.is_set()
