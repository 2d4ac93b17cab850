"""A run ends where its progress raises, or where Ctrl-C is pressed while kernels run: cleanly, and without a crash."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.core.compiled import workers
from sfumato.core.progress import TICK, Progress, check_cancelled, interruptible, stop_flag, whole

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


def test_what_progress_raises_ends_the_work_and_is_raised() -> None:
    ended = threading.Event()

    def work(report: Progress) -> None:
        try:
            while True:
                time.sleep(0.01)
                check_cancelled()
        finally:
            ended.set()

    def progress(message: str, share: float | None) -> None:
        raise sf.Cancelled("enough")

    with pytest.raises(sf.Cancelled, match="enough"):
        interruptible(work, progress)
    assert ended.is_set()


@pytest.mark.slow
def test_progress_is_called_here_with_all_that_is_reported_and_now_and_then() -> None:
    heard: list[tuple[str, float | None]] = []
    threads: set[threading.Thread] = set()

    def work(report: Progress) -> int:
        report("first", None)
        report("second", 0.5)
        time.sleep(6 * TICK)
        return 3

    def progress(message: str, share: float | None) -> None:
        heard.append((message, share))
        threads.add(threading.current_thread())

    assert interruptible(work, progress) == 3
    assert list(dict.fromkeys(heard))[-2:] == [("first", None), ("second", 0.5)]
    assert heard.count(("second", 0.5)) > 1
    assert threads == {threading.current_thread()}


def test_work_that_does_not_look_up_is_left_to_end_by_itself() -> None:
    go, ended = threading.Event(), threading.Event()

    def work(report: Progress) -> None:
        go.wait(30)
        try:
            report("writing", None)
        except BaseException:
            ended.set()
            raise

    def progress(message: str, share: float | None) -> None:
        raise sf.Cancelled

    with pytest.raises(sf.Cancelled):
        interruptible(work, progress)
    assert not ended.is_set()
    go.set()
    assert ended.wait(10)


@pytest.mark.slow
def test_what_must_be_whole_is_waited_for_and_not_begun_once_cancelled() -> None:
    steps: list[str] = []
    inside = threading.Event()

    def work(report: Progress) -> None:
        with whole():
            inside.set()
            time.sleep(0.5)
            steps.append("put in place")
        with whole():
            steps.append("never")

    def progress(message: str, share: float | None) -> None:
        if inside.is_set():
            raise sf.Cancelled

    with pytest.raises(sf.Cancelled):
        interruptible(work, progress)
    assert steps == ["put in place"]
    time.sleep(0.1)
    assert steps == ["put in place"]


@pytest.mark.slow
def test_a_statement_is_cancelled_and_waited_for() -> None:
    running, stopped, ended = threading.Event(), threading.Event(), threading.Event()

    def statement(report: Progress) -> None:
        running.set()
        stopped.wait(30)
        time.sleep(0.3)
        ended.set()

    def progress(message: str, share: float | None) -> None:
        if running.is_set():
            raise sf.Cancelled

    with pytest.raises(sf.Cancelled):
        interruptible(lambda report: interruptible(statement, cancel=stopped.set), progress)
    assert ended.is_set()


def test_a_kernel_sees_the_flag_of_its_run_in_every_thread_of_the_pool() -> None:
    flags: list[np.ndarray] = []

    def work(report: Progress) -> None:
        flags.append(stop_flag())
        with workers() as pool:
            flags.append(pool.submit(stop_flag).result())
        while True:
            time.sleep(0.01)
            check_cancelled()

    def progress(message: str, share: float | None) -> None:
        if len(flags) == 2:
            raise sf.Cancelled

    with pytest.raises(sf.Cancelled):
        interruptible(work, progress)
    assert flags[0] is flags[1]
    assert flags[0].tolist() == [True]
    assert stop_flag().tolist() == [False]  # of no run


def test_a_warning_stands_at_the_line_of_the_caller() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sf.anonymize({"age": [1, 1], "ill": ["a", "b"]}, quasi=["age"], sensitive=["ill"], k=2)
    assert [w.filename for w in caught if w.category is sf.UnprotectedWarning] == [__file__]


@pytest.mark.slow
def test_cancelled_while_a_release_is_saved(tmp_path: Path) -> None:
    release = sf.anonymize({"age": list(range(300_000))}, quasi=["age"], k=5)

    def progress(message: str, share: float | None) -> None:
        raise sf.Cancelled

    with pytest.raises(sf.Cancelled):
        release.save(tmp_path / "out", progress=progress)
    until = time.monotonic() + 10
    while any(tmp_path.iterdir()) and time.monotonic() < until:
        time.sleep(0.01)
    assert list(tmp_path.iterdir()) == []
    assert (release.save(tmp_path / "out") / "manifest.json").exists()


def test_progress_that_cannot_be_called_is_refused() -> None:
    with pytest.raises(sf.errors.PolicyError, match="progress must be a function"):
        sf.risk({"age": [1, 1]}, quasi=["age"], progress="no")  # type: ignore[arg-type]
