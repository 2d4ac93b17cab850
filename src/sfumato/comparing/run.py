"""Run: the points of a plan on a pool of threads; what cannot be released is a row that says why."""

from __future__ import annotations

import math
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, TypeVar

from sfumato.errors import BrokenPromise, Infeasible, MissingExtra, OutputError, SfumatoError

T = TypeVar("T")
Row = dict[str, Any]
NOTHING: Mapping[str, Any] = dict.fromkeys(("risk", "utility", "loss", "suppressed", "classes", "seconds"))
SETTLED = ("done", "infeasible", "refused")  # a point that failed is tried again


class Stopped(Exception):
    """Ends a point at its next sign of progress."""


def attempt(work: Callable[[], Mapping[str, Any]]) -> Row:
    """The figures of a point, or why there are none. A missing library and a full disk end the whole run."""
    try:
        return {**work(), "status": "done", "reason": None}
    except (MissingExtra, OutputError, Stopped):
        raise
    except BrokenPromise as error:
        return {**NOTHING, "status": "failed", "reason": error.what}
    except SfumatoError as error:
        status = "infeasible" if isinstance(error, Infeasible) else "refused"
        return {**NOTHING, "status": status, "reason": str(error)}
    except Exception as error:  # the message may quote values: only the place is told
        place = _place(error)
        return {**NOTHING, "status": "failed", "reason": f"a fault of Sfumato: {type(error).__name__} at {place}"}


def finite(value: float) -> float | None:
    """A number that JSON knows."""
    return float(value) if math.isfinite(value) else None


def in_parallel(works: Sequence[Callable[[threading.Event], T]], workers: int, done: Callable[[T], None]) -> list[T]:
    """The results of `works` in their order; `done` hears of each here, in this thread.

    An interrupt, or an error of one, stops those that run at their next sign of progress, and is raised here.
    """
    stop, found = threading.Event(), {}
    pool = ThreadPoolExecutor(max_workers=workers, thread_name_prefix="compare")
    futures: dict[Future[T], int] = {}
    try:
        futures = {pool.submit(work, stop): i for i, work in enumerate(works)}
        left = set(futures)
        while left:
            ready, left = wait(left, timeout=0.2, return_when=FIRST_COMPLETED)  # a signal may reach another thread
            for future in sorted(ready, key=futures.__getitem__):
                found[futures[future]] = future.result()
                done(found[futures[future]])
    except BaseException:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)  # what runs ends soon; a second interrupt does not wait
        raise
    pool.shutdown()
    return [found[i] for i in range(len(works))]


def _place(error: BaseException) -> str:
    root = Path(__file__).resolve().parents[1]
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if Path(frame.filename).resolve().is_relative_to(root)]
    if not ours:
        return "an unknown place"
    return f"{Path(ours[-1].filename).resolve().relative_to(root.parent)}:{ours[-1].lineno}"
