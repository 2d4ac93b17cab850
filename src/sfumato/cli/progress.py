"""Progress on standard error: on a terminal, and only for work that takes over a second."""

from __future__ import annotations

import sys
import threading
from types import TracebackType
from typing import TYPE_CHECKING

from sfumato.cli.console import clean, complain

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

DELAY = 1.0  # seconds before anything shows
ONCE = "compiling"  # this message is told at once and everywhere: it explains a wait that comes once


class Progress:
    """A context manager to call with a message and the share done, or None where nobody knows."""

    def __init__(self, first: str) -> None:
        self.message = first
        self.share: float | None = None
        self.lock = threading.Lock()
        self.bar: Bar | None = None
        self.task: TaskID | None = None
        self.timer = threading.Timer(DELAY, self._show)
        self.timer.daemon = True
        self.told = self.over = False

    def __enter__(self) -> Progress:
        if sys.stderr.isatty():
            self.timer.start()
        return self

    def __call__(self, message: str, share: float | None = None) -> None:
        with self.lock:
            self.message, self.share = message, share
            if message.startswith(ONCE) and not self.told:
                self.told = True
                complain(message)
            if self.bar is not None and self.task is not None:
                self.bar.update(self.task, description=clean(message), total=1.0 if share is not None else None)
                self.bar.update(self.task, completed=share or 0.0)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.timer.cancel()
        with self.lock:
            if self.bar is not None:
                self.bar.stop()
            self.bar, self.over = None, True

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar

        columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
        with self.lock:
            if self.over:  # the timer fired late
                return
            self.bar = Bar(*columns, console=Console(stderr=True), transient=True)
            total = 1.0 if self.share is not None else None
            self.task = self.bar.add_task(clean(self.message), total=total)
            self.bar.update(self.task, completed=self.share or 0.0)
            self.bar.start()
