"""Work that Ctrl-C can stop: it runs in a thread of its own, so that no signal falls into a compiled kernel."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

from sfumato.search.problem import Progress

T = TypeVar("T")


class _Stopped(Exception):
    """Ends the work at its next sign of progress."""


def interruptible(work: Callable[[Progress], T], progress: Progress) -> T:
    """What `work(progress)` gives. An interrupt stops it at its next call of progress, and is raised here.

    A signal that Python handles while a kernel hands its arrays back would end the process.
    """
    stop = threading.Event()

    def tell(message: str, share: float | None) -> None:
        if stop.is_set():
            raise _Stopped
        progress(message, share)

    pool = ThreadPoolExecutor(1)
    try:
        future = pool.submit(work, tell)
        while not wait([future], timeout=0.2).done:  # a signal may have reached another thread: look up now and then
            pass
        return future.result()
    except KeyboardInterrupt:
        stop.set()
        future.exception()  # wait until it has ended; a second interrupt does not wait
        raise
    finally:
        pool.shutdown(wait=False)
