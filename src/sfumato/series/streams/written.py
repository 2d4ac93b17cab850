"""A stream that is written to a folder: a batch is written aside, then the state tells of it, then it gets its name.

Whenever a run is killed, the next one neither loses a row nor releases one twice.
"""

from __future__ import annotations

import json
import os
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.core.parameters import one_of, path_of, real_number
from sfumato.core.protocols import BY_CONSTRUCTION, PROVEN, STATED
from sfumato.engines.atomic import atomic_file, hold
from sfumato.engines.files.bytes import sha256, write_table
from sfumato.errors import OutputError, PolicyError
from sfumato.release.manifest import NAME, STREAM
from sfumato.release.stream_folder import REPORT, examined_stream, promises_before
from sfumato.release.verify import INTEGRITY
from sfumato.report.stream import first_rows, labels_of, stream_report
from sfumato.series.streams.request import StreamSpec
from sfumato.series.streams.state import StreamState, load_state, save_state, state_place
from sfumato.series.streams.stream import Stream

FORMATS = ("csv", "parquet")


class WrittenStream(Stream):
    """The released frames of a stream, each of which is a file of a folder by then."""

    def __init__(
        self,
        spec: StreamSpec,
        to: Any,
        state: Any,
        once: bool,
        finish: bool,
        format: str,
        poll: float,
        arriving: tuple[Path, ...] = (),
    ) -> None:
        super().__init__((), spec)
        self._format = one_of(format, "format", FORMATS)
        self._once, self._finish, self._poll = once or finish, finish, float(real_number(poll, "poll", above=True))
        if to is None:
            raise PolicyError("it is not said where the released files go", hint='to="out/"')
        self._to = path_of(to)
        if any(self._to.resolve() == folder.resolve() for folder in arriving):
            raise PolicyError("files cannot be released into the folder in which they arrive")
        self._place = None if state is None else state_place(state, self._to, *arriving)
        self._lock = self._held()
        self._taken: list[str] = []
        self._batches: list[dict[str, Any]] = []
        self._schema: pl.DataFrame | None = None
        self._first: pl.DataFrame | None = None  # the first batch, as it was published
        try:
            self._resume()
        except BaseException:
            self._unlock()
            raise

    def __next__(self) -> Any:
        return next(self._source)  # what a generator gives is released already

    def close(self) -> None:
        """Stop: rows that wait stay in the state, if there is one."""
        super().close()
        self._unlock()

    @property
    def _asked(self) -> str:
        """What is asked: a run that goes on is asked for the same."""
        return json.dumps(self._spec.plain(), sort_keys=True)

    def _take(self, frame: pl.DataFrame) -> pl.DataFrame | None:
        """Let a batch arrive; what is released by then."""
        if self._ended:
            raise PolicyError("this stream was finished", hint="begin another, with a state and a folder of its own")
        if self._run is None:
            self._run = self._spec.algorithm.run(self._spec.bind(frame))
            self._schema = frame.clear()
        return self._run.take(frame)

    def _last(self) -> pl.DataFrame | None:
        """What still waits when nothing more comes."""
        found = None if self._run is None else self._run.finish()
        self._leave(found, True)
        return found

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _held(self) -> int | None:
        if self._place is None:
            return None
        try:
            self._place.parent.mkdir(parents=True, exist_ok=True)
            return hold(self._place.with_name(self._place.name + ".lock"))
        except BlockingIOError:
            raise OutputError(f'another run has the state "{self._place}"') from None

    def _resume(self) -> None:
        """Go on where the state says, and end what a killed run had begun."""
        state = None if self._place is None else load_state(self._place)
        self._to.mkdir(parents=True, exist_ok=True)
        if state is None:
            for aside in self._to.glob(".batch-*"):  # of a run that was killed before it had a state
                aside.unlink()
            if any(not one.name.startswith(".") for one in self._to.iterdir()):
                hint = "name its state" if self._place is None else "is its state elsewhere?"
                raise OutputError(f"{self._to} is not empty, and no state tells how to go on", hint=hint)
            return
        if state.asked != self._asked:
            raise PolicyError("the state belongs to a stream with other settings", hint="give the same settings")
        self._taken, self._batches = list(state.taken), [dict(one) for one in state.batches]
        for aside in self._to.glob(".batch-*"):
            name = aside.name.removeprefix(".")
            if any(one["file"] == name for one in self._batches):
                os.replace(aside, self._to / name)
            else:
                aside.unlink()
        if state.run is not None:
            self._schema = state.tables["schema"]
            self._run = self._spec.algorithm.run(self._spec.bind(self._schema))
            self._run.restore(state.run, state.arrays, state.tables)
        self._ended = state.finished
        self._tell(state.finished)

    def _leave(self, found: pl.DataFrame | None, finished: bool) -> None:
        """Give a batch its place: first aside, then in the state, then under its name."""
        aside, name = None, f"batch-{len(self._batches) + 1:06d}.{self._format}"
        if found is not None:
            aside = self._to / f".{name}"
            aside.unlink(missing_ok=True)
            with atomic_file(aside) as part:
                write_table(found, part, self._format)
            self._batches.append({"file": name, "rows": found.height, "sha256": sha256(aside)})
        if self._place is not None:
            plain, arrays, tables = ({}, {}, {}) if self._run is None else self._run.stored()
            if self._schema is not None:
                tables = {**tables, "schema": self._schema}
            run = plain if self._run is not None else None
            batches = tuple(self._batches)
            taken = tuple(self._taken)
            save_state(self._place, StreamState(self._asked, taken, batches, finished, run, arrays, tables))
        if aside is not None:
            os.replace(aside, self._to / name)
        if aside is not None or finished:
            self._tell(finished)

    def _tell(self, finished: bool) -> None:
        """Write the manifest. How many rows were suppressed is told at the end alone: in the meantime it would tell
        when."""
        spec = self._spec
        waits = spec.algorithm.waits
        document: dict[str, Any] = {
            "sfumato": version("sfumato"),
            "stream": STREAM,
            **({"about": dict(spec.about)} if spec.about else {}),
            "quasi": list(spec.roles.quasi[0]),
            "sensitive": list(spec.roles.sensitive),
            "insensitive": list(spec.roles.insensitive),
            "search": {"name": spec.algorithm.name, **spec.algorithm.parameters()},
            "counts": "people" if spec.person is not None else "rows",
            "k": spec.k if waits else None,
            "l": dict(spec.l),
            "delay": spec.delay if waits else 0,
            "ends": spec.ends,
            "domains": {name: "given" if name in spec.domains else "learned" for name in spec.roles.quasi[0]},
            "known": {
                "rows per class": PROVEN if waits else None,
                "values per class": PROVEN if spec.l else None,
                "different people": STATED if waits and spec.person is not None else None,
                "people who show a value": None if waits else BY_CONSTRUCTION,
                "delay": BY_CONSTRUCTION,
            },
            "files": self._batches,
            "finished": finished,
        }
        if finished:
            document["suppressed"] = self.suppressed
        page = self._report(document)
        with atomic_file(self._to / REPORT, overwrite=True) as part:
            part.write_text(page, encoding="utf-8")
        document["beside"] = [{"file": REPORT, "sha256": sha256(self._to / REPORT)}]
        with atomic_file(self._to / NAME, overwrite=True) as part:
            part.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")

    def _report(self, document: dict[str, Any]) -> str:
        """The report of what is published by now; at the end all of it is counted again from the files."""
        if self._first is None:
            self._first = first_rows(self._to, document)
        if not document["finished"]:
            return stream_report(document, promises_before(document), self._first, None)
        found = examined_stream(self._to, document)
        held = [promise for promise in found.promises if promise.model != INTEGRITY or not promise.holds]
        labels = None if found.outcome == "broken" else labels_of(self._to, document)
        return stream_report(document, held, self._first, labels)
