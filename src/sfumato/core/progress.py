"""Progress of a run, and the one way to end it early.

A verb works in a thread of its own. Its caller calls `progress` with all that the work reports, which waits for it, and
every `TICK` seconds with the last of that again. A message may tell the best solution so far (`SearchMessage`). What
`progress` raises, such as `Cancelled`, ends the run, as Ctrl-C does: the work stops at its next report or
`check_cancelled`, and kernels that run long look at `stop_flag`.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar, copy_context
from typing import Any, ParamSpec, TypeVar

import numpy as np

from sfumato.core.parameters import check_progress
from sfumato.errors import CALLER

Progress = Callable[[str, float | None], None]
TICK = 0.05  # seconds between two looks at what the work has reported
PATIENCE = 0.1  # seconds that a cancelled run is waited for; where its work does not end in time, it ends by itself
FIRST = "reading"  # what every verb does before it reports anything

P = ParamSpec("P")
T = TypeVar("T")


def quiet(message: str, share: float | None) -> None:
    """Progress that nobody looks at."""


class SearchMessage(str):
    """What a search is doing, with the loss of the best solution that it knows so far, and how many rows that one
    suppresses, None where it does not count them.

    >>> message = SearchMessage("breeding", 0.25)
    >>> message, message.loss, message.suppressed
    ('breeding', 0.25, None)
    """

    __slots__ = ("loss", "suppressed")
    loss: float
    suppressed: int | None

    def __new__(cls, text: str, loss: float, suppressed: int | None = None) -> SearchMessage:
        """The text with its figures."""
        found = super().__new__(cls, text)
        found.loss, found.suppressed = loss, suppressed
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return SearchMessage, (str(self), self.loss, self.suppressed)


class _Stopped(BaseException):
    """Ends the work of a run that was cancelled; no `except Exception` takes it for a fault."""


class _Run:
    """Work that can be cancelled."""

    def __init__(self) -> None:
        self.stop = np.zeros(1, np.bool_)
        self.reported: deque[tuple[str, float | None, threading.Event]] = deque()
        self.news, self.ended = threading.Event(), threading.Event()
        self.turn = threading.RLock()  # held by what must not be left half done
        self.cancels: list[Callable[[], object]] = []

    def check(self) -> None:
        if self.stop[0]:
            raise _Stopped

    def report(self, message: str, share: float | None) -> None:
        """Have the caller call `progress`, and wait for it."""
        heard = threading.Event()
        self.reported.append((message, share, heard))
        self.news.set()
        while not heard.wait(TICK):
            self.check()
        self.check()

    def watch(self, progress: Progress) -> None:
        """Hand on what is reported, until the work has ended."""
        last: tuple[str, float | None] = (FIRST, None)
        over = False
        while not over:
            self.news.wait(TICK)  # and not for ever: a signal may have reached another thread
            self.news.clear()
            over = self.ended.is_set()
            if not over and not self.reported:
                progress(*last)
            while self.reported:
                message, share, heard = self.reported.popleft()
                last = message, share
                try:
                    progress(message, share)
                except BaseException:
                    self.stop[0] = True
                    raise
                finally:
                    heard.set()

    def cancel(self) -> None:
        """Stop the work, and wait for what must not be left half done."""
        self.stop[0] = True
        while not self.ended.is_set():
            for cancel in tuple(self.cancels):
                with suppress(Exception):  # a driver that cannot, as that of SQLite, ends its statement first
                    cancel()
            if self.ended.wait(PATIENCE):
                return
            if self.turn.acquire(timeout=PATIENCE):
                self.turn.release()
                return


_RUN: ContextVar[_Run | None] = ContextVar("sfumato run", default=None)


def interruptible(
    work: Callable[[Progress], T], progress: Progress = quiet, cancel: Callable[[], object] | None = None
) -> T:
    """What `work(report)` gives; `progress` is called here. What it raises ends the work, as an interrupt does.

    Work with a `cancel`, such as a statement of a database, is ended by it, and waited for. Within a run, work belongs
    to that run. A signal that Python handles while a kernel hands its arrays back would end the process: no kernel runs
    in the main thread.
    """
    if (run := _RUN.get()) is not None:
        return _within(run, work, progress, cancel)
    run, context = _Run(), copy_context()
    context.run(_RUN.set, run)
    if progress is quiet and threading.current_thread() is not threading.main_thread():
        return context.run(lambda: _within(run, work, quiet, cancel))  # in this thread: nobody can interrupt it
    context.run(CALLER.set, sys._getframe(1))

    def begin() -> T:
        try:
            return context.run(lambda: _within(run, work, quiet if progress is quiet else run.report, cancel))
        finally:
            run.ended.set()
            run.news.set()

    pool = ThreadPoolExecutor(1, thread_name_prefix="sfumato")
    try:
        future = pool.submit(begin)
        run.watch(progress)
        return future.result()
    except BaseException:
        run.cancel()
        raise
    finally:
        pool.shutdown(wait=False)


class _Report:
    """Progress of a run, which is checked at each report. A release that keeps it is pickled with one that is quiet."""

    def __init__(self, run: _Run, progress: Progress) -> None:
        self.run, self.progress = run, progress

    def __call__(self, message: str, share: float | None) -> None:
        self.run.check()
        self.progress(message, share)

    def __reduce__(self) -> tuple[Callable[[], Progress], tuple[()]]:
        return _nobody, ()


def heard(progress: Progress) -> bool:
    """Whether somebody looks at what is told, so that it is worth to be put into words."""
    return (progress.progress if isinstance(progress, _Report) else progress) is not quiet


def _nobody() -> Progress:
    return quiet


def _within(run: _Run, work: Callable[[Progress], T], progress: Progress, cancel: Callable[[], object] | None) -> T:
    with nullcontext() if cancel is None else whole(cancel):
        return work(_Report(run, progress))


def cancellable(verb: Callable[P, T]) -> Callable[P, T]:
    """A verb that takes `progress`, which may cancel it."""

    @functools.wraps(verb)
    def run(*args: P.args, **given: P.kwargs) -> T:
        progress: Any = given.get("progress")
        check_progress(progress)

        def work(report: Progress) -> T:
            given["progress"] = report
            return verb(*args, **given)

        return interruptible(work, progress or quiet)

    return run


def check_cancelled() -> None:
    """End here where the run was cancelled; nothing elsewhere."""
    if (run := _RUN.get()) is not None:
        run.check()


def end_run() -> None:
    """Stop all work of this run, which has failed."""
    if (run := _RUN.get()) is not None:
        run.stop[0] = True


def join_run() -> Callable[[], object]:
    """What another thread calls to work for the run that this one is part of."""
    return functools.partial(_RUN.set, _RUN.get())


def stop_flag() -> np.ndarray:
    """A truth value that kernels look at: it turns true where the run is cancelled."""
    run = _RUN.get()
    return np.zeros(1, np.bool_) if run is None else run.stop


@contextmanager
def whole(cancel: Callable[[], object] | None = None) -> Iterator[None]:
    """What must not be left half done, such as to put output in its place: no run begins it that was cancelled, and one
    that is waits for it. `cancel` ends it sooner."""
    if (run := _RUN.get()) is None:
        yield
        return
    with run.turn:
        if cancel is not None:
            run.cancels.append(cancel)
        try:
            run.check()
            yield
        finally:
            if cancel is not None:
                run.cancels.remove(cancel)


def stoppable(kernel: Callable[..., T], *given: Any) -> T:
    """What a kernel finds that is handed the `stop_flag` last, and returns early where it turns true."""
    found = kernel(*given, stop_flag())
    check_cancelled()
    return found
