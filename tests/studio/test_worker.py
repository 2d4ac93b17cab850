"""Workers: results, messages without values, cancelling, memory, and a death that costs one call."""

from __future__ import annotations

import asyncio
import os
import time

import polars as pl
import pytest

from sfumato.errors import Cancelled
from sfumato.studio.worker import Job, TaskFailed, Workers

TASK = "data.summary"


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    folder = tmp_path_factory.mktemp("table")
    pl.DataFrame({"age": [31, 42, None], "sex": ["f", "m", "f"]}).write_csv(folder / "t.csv")
    return {"tables": {"input": {"path": "t.csv"}}, "folder": str(folder)}


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
