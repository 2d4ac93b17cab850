"""Workers: processes that do the work of the studio, so that its page never waits for it.

A task is a function of `sfumato.studio.tasks`, named "module.function", with plain arguments and a plain result; it
takes `progress` as its last argument. A call can be cancelled: the task is asked to stop, and its process is ended
where it does not. A process that dies, of too much memory for example, fails its one call and is replaced. One process
is left to short tasks, so that a page answers while others search; one that is not needed any more ends.
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
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

from sfumato.errors import Cancelled, SfumatoError
from sfumato.studio.log import FAULT, place_of

Report = Callable[[str, float | None], None]
GRACE = 2.0  # seconds that a cancelled task has to stop by itself
OFTEN = 0.1  # seconds between reports of progress
TURN = 0.2  # seconds between two looks of a call that waits for its turn, at whether it was cancelled
SPARE = 3.0  # seconds of a long task after which another process is started, for short ones
IDLE = 60.0  # seconds after which a process that had nothing to do ends, if it is not the last
SHARE = 2  # all workers together may use this part of the machine's memory: one half
PACKAGE = "sfumato.studio.tasks"
LONG = frozenset(
    {
        "search.find",
        "compare.measured",
        "compare.attacked",
        "compare.mapped",
        "picture.partition",
        "release.make",
        "statistical.tried",
        "statistical.make",
    }
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
    ready: bool = False  # whether it has loaded what it needs
    busy: bool = False
    long: bool = False  # whether it is busy with a task that may take long
    calls: int = 0


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
    """A few processes, which the calls of all pages share. They are started as they are needed; `ahead`, all are."""

    def __init__(self, most: int = 2, memory: int | None = None, ahead: bool = False) -> None:
        self.most, self.ahead = most, ahead
        self.memory = memory or _machine_memory() // SHARE // most
        self._workers: list[_Worker] = []
        self._free = asyncio.Condition()
        self._starting: set[asyncio.Task[None]] = set()
        self._slots: dict[str, Job] = {}
        self._closed = self._broken = False

    def warm(self) -> None:
        """Start the first process before it is needed, and before there is a loop."""
        self._workers.append(self._start(prepared=True))

    async def get_ready(self) -> None:
        """Wait for it, and start the others where that is asked for: one by one, not to slow the first page."""
        for worker in self._workers:
            await self._loaded(worker)
        while self.ahead and len(self._workers) < self.most and not self._closed:
            self._workers.append(self._start(prepared=True))
            await self._loaded(self._workers[-1])

    def _begin(self) -> None:
        """Start another process, if there may be one and none is being started."""
        if len(self._workers) < self.most and all(one.ready for one in self._workers) and not self._closed:
            worker = self._start()
            self._workers.append(worker)
            task = asyncio.get_running_loop().create_task(self._loaded(worker))
            self._starting.add(task)
            task.add_done_callback(self._starting.discard)

    async def _loaded(self, worker: _Worker) -> None:
        """Wait until a process has loaded what it needs."""
        try:
            await asyncio.to_thread(worker.pipe.recv)
            ready = True
        except (EOFError, OSError):
            ready = False
        async with self._free:
            worker.ready = ready
            if ready:
                self._end_later(worker)
            else:
                self._workers.remove(worker)
                self._broken = True
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
            work = asyncio.create_task(self._work(worker, task, arguments, job))
            work.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody may wait for it
            try:
                return await asyncio.shield(work)
            except asyncio.CancelledError:
                job.cancel()
                raise
        finally:
            if slot is not None and self._slots.get(slot) is job:
                del self._slots[slot]

    async def _work(self, worker: _Worker, task: str, arguments: tuple[Any, ...], job: Job) -> Any:
        """Have a worker do a task; it is free again when that has ended, whether somebody waits for it or not."""
        spare = asyncio.get_running_loop().call_later(SPARE, self._keep_one_free) if job.long else None
        try:
            return await asyncio.to_thread(self._call, worker, task, arguments, job)
        finally:
            if spare is not None:
                spare.cancel()
            await self._release(worker)

    async def _take(self, about: str, job: Job) -> _Worker:
        waited = False
        async with self._free:
            while True:
                if job.cancelled or self._closed:
                    raise Cancelled
                if self._broken:
                    self._broken = False
                    raise TaskFailed("the work cannot be started: too little memory is free", "Stopped")
                if not job.long or sum(one.long for one in self._workers) < max(1, self.most - 1):
                    idle = [one for one in self._workers if one.ready and not one.busy]
                    if idle:
                        found = min(idle, key=lambda one: (one.about != about, bool(one.about)))
                        found.busy, found.long, found.about = True, job.long, about
                        found.calls += 1
                        return found
                    if waited or not self._workers:  # most are free again sooner than another is ready
                        self._begin()
                waited = True
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._free.wait(), TURN)

    async def _release(self, worker: _Worker) -> None:
        async with self._free:
            worker.busy = worker.long = False
            if not worker.process.is_alive() and worker in self._workers:
                self._workers.remove(worker)
            else:
                self._end_later(worker)
            self._free.notify_all()

    def _keep_one_free(self) -> None:
        if all(one.busy for one in self._workers):
            self._begin()

    def _end_later(self, worker: _Worker) -> None:
        if len(self._workers) > 1 and not self.ahead:
            asyncio.get_running_loop().call_later(IDLE, self._retire, worker, worker.calls)

    def _retire(self, worker: _Worker, calls: int) -> None:
        """End a process that was not called since."""
        if worker.calls == calls and not worker.busy and worker in self._workers and len(self._workers) > 1:
            self._workers.remove(worker)
            worker.process.kill()

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
        print(f"{place_of(error)} of {task}", file=sys.stderr)
        return "failed", FAULT, "Fault", None
