"""Compiled inner loops: the decorator that makes one, and threads to run them. Nothing but arrays goes in or out."""

from __future__ import annotations

import gc
import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from threading import Lock
from typing import Any

if "NUMBA_CACHE_DIR" not in os.environ and not os.access(Path(__file__).parent, os.W_OK):
    # a read-only installation would otherwise compile anew in every process
    os.environ["NUMBA_CACHE_DIR"] = str(Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sfumato")

import numba
import numpy as np
from numba.core import event

from sfumato.core.progress import check_cancelled, join_run
from sfumato.errors import PolicyError

ROOT = Path(__file__).parents[1]


def _sources() -> list[Path]:
    """The files that have kernels."""
    found = ((path, path.read_bytes()) for path in sorted(ROOT.rglob("*.py")))
    return [path for path, text in found if b"\n@kernel\n" in text or b"\n@inner\n" in text]


def _cache(folder: Path) -> Path:
    """Where numba keeps what it compiled of a folder."""
    if place := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(place) / f"{folder.name}_{hashlib.sha1(str(folder).encode()).hexdigest()}"
    return folder / "__pycache__"


def _forget_older(places: Iterable[Path], sources: Sequence[Path]) -> None:
    """Drop what was compiled from other sources: numba looks at the file of a kernel, not at those that it calls."""
    stamp = "\n".join(f"{p.relative_to(ROOT)} {p.stat().st_size} {p.stat().st_mtime_ns}" for p in sources)
    for place in places:
        mark = place / "kernels.sources"
        try:
            if mark.exists() and mark.read_text(encoding="utf-8") == stamp:
                continue
            place.mkdir(parents=True, exist_ok=True)  # one without a mark would be taken for older next time
            for file in place.glob("*.nb[ci]"):
                file.unlink(missing_ok=True)
            mark.write_text(stamp, encoding="utf-8")
        except OSError:
            continue  # a folder that cannot be written to holds nothing that this process compiled


_found = _sources()
_forget_older({_cache(path.parent) for path in _found}, _found)
OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "no_cfunc_wrapper": True}
kernel: Callable[..., Any] = numba.njit(**OPTIONS)
# Only kernels may call an inner one: without the ways in from Python it compiles sooner, and a call from there crashes.
inner: Callable[..., Any] = numba.njit(**OPTIONS | {"no_cpython_wrapper": True})
# A long one with one caller is written out there: else it is compiled on its own, and again with all that call it.
inlined: Callable[..., Any] = numba.njit(**OPTIONS | {"no_cpython_wrapper": True, "inline": "always"})


class _NoGarbage(event.Listener):
    """No looking for garbage while a kernel is compiled: the many new objects stay, and it took a tenth of the time."""

    def __init__(self) -> None:
        self.lock, self.compiling, self.enabled = Lock(), 0, False

    def on_start(self, found: Any) -> None:
        """One begins to be compiled, perhaps for another that calls it."""
        with self.lock:
            if self.compiling == 0:
                self.enabled = gc.isenabled()
                gc.disable()
            self.compiling += 1

    def on_end(self, found: Any) -> None:
        """It is compiled, or cannot be."""
        with self.lock:
            self.compiling -= 1
            if self.compiling == 0 and self.enabled:
                gc.enable()


event.register("numba:compile", _NoGarbage())  # type: ignore[no-untyped-call]


def warn_of_compiling(report_progress: Callable[[str, float | None], None], of: str = "core/keys") -> None:
    """Explain the wait that comes once on a machine, for the kernels of a module."""
    if not compiled(of):
        report_progress("compiling kernels, once on this machine (about 10 seconds)", None)


def compiled(of: str = "core/keys") -> bool:
    """Whether compiled kernels of a module are in the cache, so that the first call is quick."""
    module = ROOT / of
    return any(_cache(module.parent).glob(f"{module.name}*.nbi"))


VARIABLE = "SFUMATO_THREADS"


def threads() -> int:
    """How many threads work at once: as SFUMATO_THREADS says, else as many as there are cores for this process.

    >>> threads() >= 1
    True
    """
    given = os.environ.get(VARIABLE, "").strip()
    if not given:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not given.isascii() or not given.isdecimal() or int(given) < 1:
        raise PolicyError(f"{VARIABLE} must be a number of threads", got=repr(given), allowed="a whole number from 1")
    return int(given)


def workers() -> ThreadPoolExecutor:
    """A pool of as many threads as work at once, for this run; none is started before it has work."""
    return _Workers(threads(), initializer=join_run())


class _Workers(ThreadPoolExecutor):
    """A pool that begins nothing once the run is cancelled."""

    def submit(self, work: Callable[..., Any], /, *given: Any, **named: Any) -> Future[Any]:
        """Have a thread do the work."""
        return super().submit(_begin, work, *given, **named)


def _begin(work: Callable[..., Any], /, *given: Any, **named: Any) -> Any:
    check_cancelled()
    return work(*given, **named)


def share(run: Callable[[slice, int], object], weight: np.ndarray, pool: ThreadPoolExecutor) -> None:
    """Run over all entries, in a slice for each thread, of about the same weight; the last one runs here.

    `run` is given the slice and the number of its thread, for scratch of its own. What it finds must not depend on how
    the entries are cut into slices.

    >>> seen = []
    >>> with workers() as pool:
    ...     share(lambda part, thread: seen.extend(range(10)[part]), np.ones(10), pool)
    >>> sorted(seen) == list(range(10))
    True
    """
    upto = np.cumsum(weight)
    most = min(threads(), len(weight))
    cuts = np.searchsorted(upto, upto[-1] * np.arange(1, most) / most) if most > 1 else []
    ends = [0, *dict.fromkeys(int(cut) for cut in cuts if 0 < cut < len(weight)), len(weight)]
    parts = [slice(low, high) for low, high in pairwise(ends)]
    others = [pool.submit(run, part, thread) for thread, part in enumerate(parts[:-1])]
    run(parts[-1], len(parts) - 1)
    for other in others:
        other.result()
