"""What an algorithm for streams is, and what is asked of it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from sfumato.core.parameters import check_fields
from sfumato.core.registry import field_values, variant_name

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    from sfumato.core.roles import Roles
    from sfumato.series.streams.boxes import Shape
    from sfumato.series.streams.request import StreamRequest
    from sfumato.series.streams.window import Outlet, Rules, Window

Stored = tuple[dict[str, Any], dict[str, "np.ndarray"], dict[str, "pl.DataFrame"]]


class StreamRun(Protocol):
    """A run over a stream: it counts rows so far, and can be stored and gone on with."""

    arrived: int
    released: int
    suppressed: int
    lost: float  # the sum of what released rows lose

    def take(self, frame: pl.DataFrame) -> pl.DataFrame | None:
        """Let rows arrive, one after the other; what is released by then, or None where nothing is."""

    def finish(self) -> pl.DataFrame | None:
        """Release the rows that wait, as far as they can be placed."""

    def stored(self) -> Stored:
        """All that a run is, as plain values, arrays and tables."""

    def restore(
        self, plain: Mapping[str, Any], arrays: Mapping[str, np.ndarray], tables: Mapping[str, pl.DataFrame]
    ) -> None:
        """Go on from what was stored."""


class StreamAlgorithm:
    """How rows of a stream are released: a frozen dataclass."""

    reuse = 0  # how many arrivals long a published range may be used again
    waits: ClassVar[bool] = True  # whether rows wait for others; else each passes at once, or is dropped

    def __post_init__(self) -> None:
        check_fields(self, self.name)

    @property
    def name(self) -> str:
        """Its name in the table."""
        return variant_name(type(self).__name__)

    def parameters(self) -> dict[str, Any]:
        """Its parameters as plain values."""
        return field_values(self)

    def check(self, roles: Roles, person: str | None) -> None:
        """Refuse roles that the algorithm has no use for."""

    @abstractmethod
    def run(self, request: StreamRequest) -> StreamRun:
        """A run over a stream."""


@dataclass(frozen=True)
class Grouping(StreamAlgorithm):
    """An algorithm under which rows wait, and leave in classes."""

    def run(self, request: StreamRequest) -> StreamRun:
        """A run over a stream."""
        from sfumato.series.streams.run import WindowRun

        return WindowRun(request, self)

    @abstractmethod
    def window(self, columns: int, sensitive: int, delay: int, k: int, seed: int) -> Window:
        """A window without rows."""

    @abstractmethod
    def advance(
        self, window: Window, rules: Rules, shape: Shape, first: int, rows: Sequence[np.ndarray], end: bool
    ) -> Outlet:
        """Take rows that arrive as number `first` and on, and publish what may wait no longer; all, at the end."""
