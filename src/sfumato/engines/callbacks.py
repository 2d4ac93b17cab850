"""Work in threads: what can be interrupted here, and Python that Polars calls from threads of its own.

A query that fails, or is interrupted, leaves such a call under way: what it uses must not be closed, nor this process
end, before it has come back.
"""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

import polars as pl
from polars.io.plugins import register_io_source

from sfumato.core.progress import interruptible

T = TypeVar("T")
QUIET = 0.05  # seconds without a call after which none is under way
LONGEST = 30.0  # seconds that the end of this process waits

_under_way: set[object] = set()
_changed = threading.Condition()


@contextmanager
def called() -> Iterator[None]:
    """A call of Polars, while it is under way."""
    token = object()
    with _changed:
        _under_way.add(token)
    try:
        yield
    finally:
        with _changed:
            _under_way.discard(token)
            _changed.notify_all()


@atexit.register
def _settle() -> None:
    """Wait until Polars makes no call any more: a thread that came back later would abort this process."""
    end = time.monotonic() + LONGEST
    with _changed:
        while _under_way and time.monotonic() < end:
            while _under_way and _changed.wait(max(0.0, end - time.monotonic())):
                pass
            _changed.wait(QUIET)


def patiently(work: Callable[[], T], cancel: Callable[[], object]) -> T:
    """What `work` gives; an interrupt cancels it and is raised here, once it has come to its end."""
    return interruptible(lambda report: work(), cancel=cancel)


class Pulled:
    """Frames that Polars pulls from, until `close`; what stops them is in `error`, and ends them as if at their end.

    `cancel` ends the step that is under way, where that is possible.
    """

    def __init__(self, frames: Iterator[pl.DataFrame], cancel: Callable[[], object] = lambda: None) -> None:
        self.frames, self.cancel = frames, cancel
        self.error: BaseException | None = None
        self._step, self._closed = threading.Lock(), False

    def scan(self, schema: dict[str, pl.DataType]) -> pl.LazyFrame:
        """The frames as a lazy frame, which can be collected once."""

        def source(
            columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, batch: int | None
        ) -> Iterator[pl.DataFrame]:
            while (found := self._next()) is not None:
                yield found

        return register_io_source(source, schema=schema)

    def close(self) -> None:
        """Let no more be pulled, wait for the step that is under way, and end the frames here."""
        self._closed = True
        if not self._step.acquire(blocking=False):
            self.cancel()
            self._step.acquire()
        with suppress(Exception):  # what the driver says now helps nobody
            self.frames.close()  # type: ignore[attr-defined]
        self._step.release()

    def _next(self) -> pl.DataFrame | None:
        with called(), self._step:
            if self._closed:
                return None
            try:
                return next(self.frames, None)
            except BaseException as error:
                self.error = error
                return None
