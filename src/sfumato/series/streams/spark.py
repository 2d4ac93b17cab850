"""A stream of Spark: the micro-batches of structured streaming are released into a folder, each of them once.

Spark gives a micro-batch again, under its number, where it was killed before its checkpoint told of it. The state has
the number of the last one that was taken, and the id of the checkpoint: what was taken is passed over, and a checkpoint
that does not belong to the state is refused.
"""

from __future__ import annotations

import json
import queue
from collections.abc import Iterator
from contextlib import suppress
from threading import Lock
from typing import Any

import polars as pl

from sfumato.engines.spark.count import as_polars
from sfumato.engines.spark.types import polars_type, reason
from sfumato.errors import OutputError, PolicyError, ReadError, SfumatoError
from sfumato.series.streams.request import StreamSpec
from sfumato.series.streams.written import WrittenStream

PATIENCE = 0.1  # seconds between two looks at the query


class SparkStream(WrittenStream):
    """The released frames of a streaming frame of Spark: Polars frames, since rows that wait are on this machine.

    The checkpoint of Spark is a folder beside the state, of the same name with `.spark` behind it.
    """

    def __init__(
        self, frame: Any, spec: StreamSpec, to: Any, state: Any, once: bool, finish: bool, format: str, poll: float
    ) -> None:
        if not getattr(frame, "isStreaming", False):
            what = "this frame of Spark has all of its rows already, and is no stream"
            raise PolicyError(what, hint="anonymize releases it; spark.readStream reads a stream")
        if type(frame).__module__.startswith("pyspark.sql.connect"):
            what = "batches of Spark Connect do not come to this machine"
            raise PolicyError(what, hint="stream from a classic session, in the driver")
        if state is None:
            what = "a stream of Spark needs a state, beside which its checkpoint stands"
            raise PolicyError(what, hint='state="stream.state"')
        self._frame = frame
        super().__init__(spec, to, state, once, finish, format, poll)
        assert self._place is not None
        self._checkpoint = self._place.with_name(self._place.name + ".spark")
        if self._taken and not (self._checkpoint / "metadata").is_file():
            self._unlock()
            what = f'there is no checkpoint "{self._checkpoint}", which belongs to the state'
            raise ReadError(what, hint="take both from one backup")
        self._turn, self._stopped = Lock(), False
        self._fault: BaseException | None = None
        self._ready: queue.Queue[pl.DataFrame] = queue.Queue(1)
        self._source = self._frames()

    @property
    def _asked(self) -> str:
        return json.dumps({**self._spec.plain(), "source": "spark"}, sort_keys=True)

    def close(self) -> None:
        """Stop, once the batch that is being taken has its place."""
        with self._turn:
            self._stopped = True
        super().close()

    def _frames(self) -> Iterator[Any]:
        query = None
        try:
            query = self._begin()
            while query.isActive or not self._ready.empty():
                with suppress(queue.Empty):
                    yield self._ready.get(timeout=PATIENCE)
            self._raise_fault(query)
            if self._finish and not self._ended:
                found = self._last()
                if found is not None:
                    yield found
        finally:
            with self._turn:
                self._stopped = True
            if query is not None:
                with suppress(Exception):
                    query.stop()
            self._unlock()

    def _begin(self) -> Any:
        self._checkpoint.mkdir(mode=0o700, parents=True, exist_ok=True)
        every = (
            {"availableNow": True}
            if self._once
            else {"processingTime": f"{max(1, round(self._poll * 1000))} milliseconds"}
        )
        place = self._checkpoint.absolute().as_uri()
        try:
            writer = self._frame.writeStream.foreachBatch(self._arrive).option("checkpointLocation", place)
            return writer.trigger(**every).start()
        except Exception as raised:  # its message may hold cells
            raise ReadError("Spark could not start the stream", got=reason(raised)) from None

    def _raise_fault(self, query: Any) -> None:
        if self._fault is not None:
            raise self._fault
        raised = query.exception()
        if raised is not None:
            raise ReadError("Spark ended the stream", got=reason(raised)) from None

    def _arrive(self, batch: Any, number: int) -> None:
        """Take a micro-batch; whatever is raised ends the query, and Spark gives the batch again to the next one."""
        with self._turn:
            if self._stopped:
                raise OutputError("the stream was stopped")
            try:
                found = self._once_only(batch, number)
            except BaseException as fault:
                own = isinstance(fault, SfumatoError)
                self._fault = fault if own else ReadError("a batch could not be read", got=reason(fault))  # type: ignore[arg-type]
                raise OutputError("the stream ended; its reader is told why") from None
        while found is not None and not self._stopped:
            with suppress(queue.Full):
                self._ready.put(found, timeout=PATIENCE)
                found = None

    def _once_only(self, batch: Any, number: int) -> pl.DataFrame | None:
        own = json.loads((self._checkpoint / "metadata").read_text(encoding="utf-8"))["id"]
        last = int(self._taken[1]) if self._taken else -1
        if self._taken and self._taken[0] != own:
            raise ReadError(f'the checkpoint "{self._checkpoint}" does not belong to the state',
                            hint="take both from one backup")  # fmt: skip
        if number <= last:
            return None
        if number > last + 1:
            what = f'the state "{self._place}" does not know of batches that the checkpoint beside it tells of'
            raise ReadError(what, hint="take both from one backup, or begin another stream")
        rows = as_polars(batch.toArrow(), {field.name: polars_type(field.dataType) for field in batch.schema})
        found = self._take(rows) if rows.height else None
        self._taken = [own, str(number)]
        self._leave(found, False)
        return found
