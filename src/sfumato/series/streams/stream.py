"""A stream as its user has it: an iterator over released frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any

from sfumato.engines.memory.table import Kind, enter, leave
from sfumato.errors import PolicyError
from sfumato.series.streams.request import StreamSpec
from sfumato.series.streams.values import StreamRun


class Stream(Iterator[Any]):
    """The released frames of a stream, as they become ready, of the kind that came in; `sf.stream` makes it.

    Its numbers are for the owner: what is suppressed is not published while the stream runs.
    """

    def __init__(self, source: Iterable[Any], spec: StreamSpec) -> None:
        if not isinstance(source, Iterable):
            what = "a stream is an iterator of frames, or a folder in which files arrive"
            raise PolicyError(what, got=type(source).__name__)
        self._source: Iterator[Any] = iter(source)
        self._spec = spec
        self._run: StreamRun | None = None
        self._like: Any = None
        self._kind: Kind = "polars"
        self._ended = False

    def __enter__(self) -> Stream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __next__(self) -> Any:
        nothing = object()
        while not self._ended:
            data = next(self._source, nothing)
            if data is nothing:
                self._ended = True
                found = None if self._run is None else self._run.finish()
            else:
                if is_empty(data):
                    continue
                frame, self._kind = enter(data)
                self._like = data
                if self._run is None:
                    self._run = self._spec.algorithm.run(self._spec.bind(frame))
                found = self._run.take(frame)
            if found is not None:
                return leave(found, self._like, self._kind, None, ())
        raise StopIteration

    def close(self) -> None:
        """End the stream where it is: rows that wait are not released."""
        self._ended = True
        if hasattr(self._source, "close"):
            self._source.close()

    @property
    def arrived(self) -> int:
        """How many rows have arrived."""
        return 0 if self._run is None else self._run.arrived

    @property
    def released(self) -> int:
        """How many of them were released."""
        return 0 if self._run is None else self._run.released

    @property
    def suppressed(self) -> int:
        """How many were suppressed: they could not be placed in time."""
        return 0 if self._run is None else self._run.suppressed

    @property
    def waiting(self) -> int:
        """How many still wait."""
        return self.arrived - self.released - self.suppressed

    @property
    def loss(self) -> float | None:
        """What released rows lose on average: the NCP of the ranges of their clusters, before ends are rounded."""
        return None if self._run is None or not self._run.released else self._run.lost / self._run.released

    def __repr__(self) -> str:
        return f"Stream(arrived={self.arrived}, released={self.released}, suppressed={self.suppressed})"


def is_empty(data: Any) -> bool:
    """Whether a batch has columns, and no rows."""
    shape = getattr(data, "shape", None)
    return isinstance(shape, tuple) and len(shape) == 2 and shape[0] == 0 and shape[1] > 0
