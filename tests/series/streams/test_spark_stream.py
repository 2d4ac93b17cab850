"""Streams of Spark: each micro-batch is released once, whenever a run ends, and whatever Spark gives again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import sfumato as sf
from sfumato.errors import ColumnError, OutputError, PolicyError, ReadError
from sfumato.series.streams import written as written_module
from tests.series.streams.test_folder import ASKED, arriving, batches

__all__ = ["arriving"]

pytestmark = pytest.mark.spark
COLUMNS = "who STRING, age BIGINT, sex STRING, disease STRING, row BIGINT"


@pytest.fixture
def frame(spark: Any, arriving: Path) -> Any:
    (arriving / "_half").unlink()
    reader = spark.readStream.schema(COLUMNS).option("header", True).option("maxFilesPerTrigger", 1)
    for i, file in enumerate(sorted(arriving.glob("*.csv"))):  # Spark takes the oldest first
        os.utime(file, (1_700_000_000 + i * 60,) * 2)
    return reader.csv(str(arriving))


def released(out: Path) -> list[Any]:
    return [sorted(one.rows()) for one in batches(out)]


def test_stopped_failed_and_repeated_batches_leave_once(
    frame: Any, arriving: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, out, state = tmp_path / "whole", tmp_path / "out", tmp_path / "s.state"
    with sf.stream(arriving, to=whole, state=tmp_path / "w.state", finish=True, **ASKED) as stream:
        every = sum(one.height for one in stream)
    asked = {**ASKED, "to": out, "state": state, "finish": True}
    for step in ("save_state", "write_table"):  # each dies once, at its second batch
        real, calls = getattr(written_module, step), 0

        def dying(*given: Any, real: Any = real, **more: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == 2:
                raise OSError("no room")
            return real(*given, **more)

        monkeypatch.setattr(written_module, step, dying)
        with pytest.raises((ReadError, OutputError), match="OSError"), sf.stream(frame, **asked) as stream:
            for _ in stream:
                pass
        monkeypatch.setattr(written_module, step, real)
    with sf.stream(frame, **asked) as stream:  # stopped by its reader
        next(stream)
    last = max((state.with_name("s.state.spark") / "commits").glob("[0-9]*"), key=lambda one: int(one.name))
    for one in (last, last.with_name(f".{last.name}.crc")):  # killed before Spark knew that its batch was taken
        one.unlink()
    with sf.stream(frame, **asked) as stream:
        for _ in stream:
            pass
    assert stream.waiting == 0
    assert released(out) == released(whole)
    assert sum(map(len, released(out))) == every
    assert sf.verify(out).outcome == "stated"
    with pytest.raises(OutputError, match="not empty"):
        sf.stream(frame, **{**asked, "state": tmp_path / "other"})
    with pytest.raises(PolicyError, match="a stream with other settings"):
        sf.stream(arriving, **asked)
    (state.with_name("s.state.spark") / "metadata").unlink()
    with pytest.raises(ReadError, match="no checkpoint"):
        sf.stream(frame, **asked)


def test_a_checkpoint_without_its_state_is_refused(frame: Any, tmp_path: Path) -> None:
    state = tmp_path / "s.state"
    with sf.stream(frame, to=tmp_path / "out", state=state, once=True, **{**ASKED, "delay": 200}) as stream:
        assert list(stream) == []
    assert stream.waiting == 90
    state.unlink()
    (tmp_path / "s.state.spark" / "commits" / "5").unlink()
    (tmp_path / "s.state.spark" / "commits" / ".5.crc").unlink()
    again = sf.stream(frame, to=tmp_path / "new", state=state, once=True, **{**ASKED, "delay": 200})
    with pytest.raises(ReadError, match="does not know of batches"), again:
        list(again)


def test_bad_batches_and_frames(spark: Any, frame: Any, tmp_path: Path) -> None:
    asked = {**ASKED, "to": tmp_path / "out", "state": tmp_path / "s"}
    with pytest.raises(PolicyError, match="is no stream"):
        sf.stream(spark.createDataFrame([(1,)], "age BIGINT"), **asked)
    with pytest.raises(PolicyError, match="needs a state"):
        sf.stream(frame, **{**asked, "state": None})
    nobody = frame.withColumn("who", frame["who"].substr(9, 1))
    with pytest.raises(ColumnError, match="whose it is") as told, sf.stream(nobody, once=True, **asked) as stream:
        list(stream)
    assert "p1" not in str(told.value)
    assert not released(tmp_path / "out")
