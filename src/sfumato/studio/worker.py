"""Workers: processes that do the work of the studio, so that its page never waits for it.

A task is a function of `sfumato.studio.tasks`, named "module.function", with plain arguments and a plain result; it
takes `progress` as its last argument. A call can be cancelled: the task is asked to stop, and its process is ended
where it does not. A process that dies, of too much memory for example, fails its one call and is replaced. One process
is left to short tasks, so that a page answers while others search.
"""

from __future__ import annotations

import asyncio
import importlib
import multiprocessing
import os
import pkgutil
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from sfumato.errors import Cancelled, SfumatoError

Report = Callable[[str, float | None], None]
GRACE = 2.0  # seconds that a cancelled task has to stop by itself
OFTEN = 0.1  # seconds between reports of progress
TURN = 0.2  # seconds between two looks of a call that waits for its turn, at whether it was cancelled
SHARE = 2  # all workers together may use this part of the machine's memory: one half
PACKAGE = "sfumato.studio.tasks"
LONG = frozenset(
    {"search.find", "compare.measured", "compare.attacked", "compare.mapped", "picture.partition", "release.make"}
)  # tasks that run a search, or many


class TaskFailed(SfumatoError):
    """A task could not be done; the message is for people."""

    def __init__(self, message: str, kind: str = "", details: Any = None) -> None:
        super().__init__(message)
        self.kind, self.details = kind, details


@dataclass(eq=False)
class _Worker:
    process: Any
    pipe: Connection
    about: str = ""  # what its caches are about
    busy: bool = False
    long: bool = False  # whether it is busy with a task that may take long


@dataclass(eq=False)
class Job:
    """A call under way."""

    task: str
    message: str = ""
    share: float | None = None
    began: float = field(default_factory=time.monotonic)
    cancelled: bool = False

    @property
    def long(self) -> bool:
        """Whether it may take long: others of its kind may have to wait for it, short ones never do."""
        return self.task in LONG

    @property
    def seconds(self) -> float:
        """How long it has run."""
        return time.monotonic() - self.began

    def cancel(self) -> None:
        """Ask it to stop."""
        self.cancelled = True


class Workers:
    """A few processes, which the calls of all pages share."""

    def __init__(self, most: int = 2, memory: int | None = None) -> None:
        self.most = most
        self.memory = memory or _machine_memory() // SHARE // most
        self._workers: list[_Worker] = []
        self._free = asyncio.Condition()
        self._slots: dict[str, Job] = {}
        self._closed = False

    def warm(self) -> None:
        """Start the first process before it is needed."""
        self._workers.append(self._start(prepared=True))

    async def warm_others(self) -> None:
        """Start the others as well, each when the one before it is ready: at once they would slow the first page."""
        while len(self._workers) < self.most and not self._closed:
            if self._workers:
                await asyncio.to_thread(self._workers[-1].pipe.poll, 60)
            async with self._free:
                if len(self._workers) < self.most and not self._closed:
                    self._workers.append(self._start())
                    self._free.notify_all()

    async def run(
        self, task: str, *arguments: Any, about: str = "", slot: str | None = None, job: Job | None = None
    ) -> Any:
        """The result of a task. `about` says whose tables it uses, so that it goes where they are in memory; a later
        call in the same `slot` cancels this one, which then raises Cancelled."""
        job = job or Job(task)
        if slot is not None:
            if (earlier := self._slots.get(slot)) is not None:
                earlier.cancel()
            self._slots[slot] = job
        try:
            worker = await self._take(about, job)
            try:
                return await asyncio.to_thread(self._call, worker, task, arguments, job)
            finally:
                await self._release(worker)
        finally:
            if slot is not None and self._slots.get(slot) is job:
                del self._slots[slot]

    async def _take(self, about: str, job: Job) -> _Worker:
        async with self._free:
            while True:
                if job.cancelled or self._closed:
                    raise Cancelled
                if not job.long or sum(one.long for one in self._workers) < max(1, self.most - 1):
                    idle = [one for one in self._workers if not one.busy]
                    found = next((one for one in idle if one.about == about), None)
                    if found is None and len(self._workers) < self.most and not any(not one.about for one in idle):
                        found = self._start()
                        self._workers.append(found)
                    if found is None and idle:
                        found = min(idle, key=lambda one: bool(one.about))
                    if found is not None:
                        found.busy, found.long, found.about = True, job.long, about
                        return found
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._free.wait(), TURN)

    async def _release(self, worker: _Worker) -> None:
        async with self._free:
            worker.busy = worker.long = False
            if not worker.process.is_alive() and worker in self._workers:
                self._workers.remove(worker)
            self._free.notify_all()

    def _start(self, prepared: bool = False) -> _Worker:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        arguments = theirs, self.memory, prepared
        process = context.Process(target=serve, args=arguments, daemon=True, name="sfumato-studio-worker")
        process.start()
        theirs.close()
        return _Worker(process, ours)

    def _call(self, worker: _Worker, task: str, arguments: tuple[Any, ...], job: Job) -> Any:
        """In a thread: send, follow the progress, and receive."""
        asked_at = None
        try:
            worker.pipe.send((task, arguments))
            while True:
                if job.cancelled and asked_at is None:
                    asked_at = time.monotonic()
                    worker.pipe.send("cancel")
                if worker.pipe.poll(0.05):
                    kind, *found = worker.pipe.recv()
                    if kind == "progress":
                        job.message, job.share = found
                        continue
                    if kind == "ready":
                        continue
                    if kind == "done":
                        if job.cancelled:
                            raise Cancelled
                        return found[0]
                    if kind == "cancelled":
                        raise Cancelled
                    raise TaskFailed(*found)
                if asked_at is not None and time.monotonic() > asked_at + GRACE:
                    worker.process.kill()
                    raise Cancelled
        except (EOFError, OSError):
            worker.process.kill()
            worker.process.join(5)
            if job.cancelled or self._closed:
                raise Cancelled from None
            memory = f"{self.memory / 2**30:.1f} GiB"
            raise TaskFailed(f"the work stopped: it may have needed more memory than its {memory}", "Stopped") from None

    def close(self) -> None:
        """End all processes."""
        self._closed = True
        for worker in self._workers:
            worker.process.kill()


def _machine_memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


# In the process of a worker


def serve(pipe: Connection, memory: int, prepared: bool) -> None:
    """Do one task after another. One that is prepared has loaded all that first tasks need; others are smaller."""
    _limit(memory)
    _end_with_parent()
    import sfumato.studio.tasks  # the slow imports, before the first call

    for module in pkgutil.iter_modules(sfumato.studio.tasks.__path__):
        importlib.import_module(f"{PACKAGE}.{module.name}")
    pipe.send(("ready",))
    if prepared:
        _prepare()
    while True:
        try:
            found = pipe.recv()
        except (EOFError, OSError):
            return
        if found != "cancel":  # which may come after the end of what it was meant for
            pipe.send(_done(pipe, *found))


def _prepare() -> None:
    for name in ("dp", "verbs.inspect", "verbs.steps", "cli.lattice"):
        importlib.import_module(f"sfumato.{name}")
    with suppress(ImportError, AttributeError):  # half a second of Numba's, before its first kernel
        from numba.core.registry import cpu_target

        cpu_target.typing_context.refresh()
        cpu_target.target_context.refresh()


def _limit(memory: int) -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))


def _end_with_parent() -> None:
    """No worker outlives the studio, however that ended."""

    def watch() -> None:
        multiprocessing.parent_process().join()  # type: ignore[union-attr]
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _done(pipe: Connection, task: str, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    module, function = task.split(".")
    last = 0.0

    def progress(message: str, share: float | None = None) -> None:
        nonlocal last
        if pipe.poll() and pipe.recv() == "cancel":
            raise Cancelled
        if time.monotonic() > last + OFTEN:
            last = time.monotonic()
            pipe.send(("progress", message, share))

    try:
        work = getattr(importlib.import_module(f"{PACKAGE}.{module}"), function)
        return "done", work(*arguments, progress)
    except Cancelled:
        return ("cancelled",)
    except SfumatoError as error:
        return "failed", str(error), type(error).__name__, getattr(error, "faults", None)
    except MemoryError:
        return "failed", "this needs more memory than the studio may use", "MemoryError", None
    except Exception as error:  # where it happened goes to the log, what it held goes nowhere
        frame = traceback.extract_tb(error.__traceback__)[-1]
        print(f"{type(error).__name__} in {Path(frame.filename).name}:{frame.lineno} of {task}", file=sys.stderr)
        return "failed", "this did not work: a fault of Sfumato, noted in the log of the studio", "Fault", None
