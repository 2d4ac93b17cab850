"""Workers: results, messages without values, cancelling, memory, and a death that costs one call."""

from __future__ import annotations

import asyncio
import importlib
import os
import time
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

from sfumato.errors import Cancelled
from sfumato.studio.context import PageContext
from sfumato.studio.server import Studio
from sfumato.studio.texts import Texts
from sfumato.studio.worker import LONG, Job, TaskFailed, Workers, _Worker

TASK = "data.summary"


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    folder = tmp_path_factory.mktemp("table")
    pl.DataFrame({"age": [31, 42, None], "sex": ["f", "m", "f"]}).write_csv(folder / "t.csv")
    return {"tables": {"input": {"path": "t.csv"}}, "folder": str(folder)}


def idle_workers(count):
    """As many workers without a process as there may be."""
    workers = Workers(count, memory=1)
    workers._workers += [_Worker(SimpleNamespace(is_alive=lambda: True), None, ready=True) for _ in range(count)]
    return workers


def test_long_tasks_leave_one_worker_to_short_ones_and_one_that_waits_is_cancelled():
    async def run():
        workers = idle_workers(2)
        searching = await workers._take("a", Job("search.find"))
        second = Job("release.make")
        waiting = asyncio.create_task(workers._take("b", second))
        await asyncio.sleep(0.01)
        short = await asyncio.wait_for(workers._take("b", Job(TASK)), 1)
        assert short is not searching
        await workers._release(short)
        await asyncio.sleep(0.01)
        assert not waiting.done()  # its turn comes after the other long one
        second.cancel()
        with pytest.raises(Cancelled):
            await asyncio.wait_for(waiting, 1)
        third = asyncio.create_task(workers._take("b", Job("search.find")))
        await asyncio.sleep(0.01)
        await workers._release(searching)
        assert await asyncio.wait_for(third, 1) is short  # where its table is

    asyncio.run(run())


def test_a_worker_that_has_nothing_to_do_ends_and_the_last_one_stays():
    async def run():
        workers, ended = idle_workers(2), []
        for worker in workers._workers:
            worker.process.kill = lambda worker=worker: ended.append(worker)
        first, second = workers._workers
        workers._retire(first, first.calls + 1)  # it was called since
        assert ended == []
        workers._retire(first, first.calls)
        workers._retire(second, second.calls)
        assert (ended, workers._workers) == ([first], [second])

    asyncio.run(run())


@pytest.mark.slow
def test_a_worker_is_busy_until_its_task_ends_though_nobody_waits_for_it():
    async def run():
        workers = idle_workers(1)
        [worker] = workers._workers
        workers._call = lambda worker, task, arguments, job: time.sleep(0.2)
        job = Job(TASK)
        waiting = asyncio.create_task(workers.run(TASK, job=job))
        await asyncio.sleep(0.05)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert (worker.busy, job.cancelled) == (True, True)
        await asyncio.sleep(0.4)
        assert not worker.busy

    asyncio.run(run())


def test_long_tasks_exist():
    for task in LONG:
        module, function = task.split(".")
        assert callable(getattr(importlib.import_module(f"sfumato.studio.tasks.{module}"), function))


def test_work_for_a_page_that_was_closed_is_cancelled():
    async def run():
        workers = idle_workers(1)
        await workers._take("", Job("search.find"))
        context = PageContext(Studio(Path(), workers), "", Texts("en"))
        waiting = asyncio.create_task(context.run("search.find"))
        await asyncio.sleep(0.01)
        context.leave()
        with pytest.raises(asyncio.CancelledError):  # so that the view ends, too
            await asyncio.wait_for(waiting, 1)
        assert context.jobs == set()

    asyncio.run(run())


@pytest.mark.slow
def test_a_worker_answers_fails_stops_and_dies(table, capfd):
    async def run():
        workers = Workers(1)
        try:
            first = await workers.run(TASK, table)
            assert (first["rows"], [one["name"] for one in first["columns"]]) == (3, ["age", "sex"])
            with pytest.raises(TaskFailed, match=r"cannot be read|does not exist|no such|not found") as refused:
                await workers.run(TASK, {**table, "tables": {"input": {"path": "gone.csv"}}})
            assert refused.value.kind == "ReadError"
            with pytest.raises(TaskFailed, match="a fault of Sfumato"):
                await workers.run(TASK, None)
            job = Job(TASK)
            job.cancel()
            with pytest.raises(Cancelled):
                await workers.run(TASK, table, job=job)
            slow = asyncio.create_task(workers.run(TASK, table, slot="s"))
            await asyncio.sleep(0)
            newer = await workers.run(TASK, table, slot="s")
            with pytest.raises(Cancelled):
                await slow
            assert newer["rows"] == 3
            assert len(workers._workers) == 1
            os.kill(workers._workers[0].process.pid, 9)
            time.sleep(0.2)
            with pytest.raises(TaskFailed, match="the work stopped"):
                await workers.run(TASK, table)
            assert (await workers.run(TASK, table))["rows"] == 3
        finally:
            workers.close()

    asyncio.run(run())
    said = capfd.readouterr().err
    assert "TypeError in" in said
    assert "31" not in said.replace(":31 ", "")
