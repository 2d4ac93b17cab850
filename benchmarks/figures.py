"""What is measured, and how: a Figure is a median of warm calls beside its target."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Figure:
    """One measured number: the median of its runs, the least of them, and the most it should be."""

    group: str
    name: str
    value: float
    unit: str = "s"  # "s", "GiB", or "" for a loss
    target: float | None = None
    least: float | None = None
    runs: int = 1
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def met(self) -> bool | None:
        """Whether the figure is within its target; None without one."""
        return None if self.target is None else self.value <= self.target


@dataclass(frozen=True)
class Comparison:
    """One tool on one table: seconds, loss, and the same of ours on the same table. None: not finished in time."""

    rows: int
    tool: str
    method: str
    suppression: float
    seconds: float | None
    loss: float | None
    our_seconds: float
    our_loss: float
    limit: float

    @property
    def times(self) -> float | None:
        """How many times our time the tool takes."""
        return None if self.seconds is None else self.seconds / self.our_seconds

    @property
    def losses(self) -> float | None:
        """How many times our loss the tool loses."""
        return None if self.loss is None else self.loss / self.our_loss


@dataclass(frozen=True)
class Agreement:
    """One tool and ours on one table, where both find the same value: seconds of each. None: not finished in time."""

    group: str
    rows: int
    tool: str
    measure: str
    table: str
    value: float
    seconds: float | None
    our_seconds: float
    limit: float

    @property
    def times(self) -> float | None:
        """How many times our time the tool takes."""
        return None if self.seconds is None else self.seconds / self.our_seconds


def figure(
    group: str, name: str, values: Sequence[float], unit: str = "s", target: float | None = None, **details: Any
) -> Figure:
    """The figure of several runs, told as progress.

    >>> figure("g", "n", [3.0, 1.0, 2.0], target=2.5).value
    2.0
    """
    found = Figure(group, name, statistics.median(values), unit, target, min(values), len(values), details)
    goal = "" if target is None else f", target {target:g}, {'met' if found.met else 'MISSED'}"
    say(f"  {name}: {found.value:.3g} {unit}".rstrip() + goal)
    return found


def say(text: str) -> None:
    """A line of progress."""
    print(text, file=sys.stderr, flush=True)


def warm(run: Callable[[], T], times: int) -> list[T]:
    """What the second and later calls give; the first one compiles, loads and fills caches."""
    run()
    return [run() for _ in range(times)]


def timed(run: Callable[[], T]) -> tuple[float, T]:
    """Seconds of a call, and what it gives."""
    began = time.perf_counter()
    given = run()
    return time.perf_counter() - began, given


def spent(run: Callable[[], T]) -> tuple[float, T]:
    """CPU seconds of a call, of all its threads, and what it gives."""
    began = time.process_time()
    given = run()
    return time.process_time() - began, given


def cpu(run: Callable[[], T]) -> tuple[float, T]:
    """CPU seconds of a second call, of all its threads, and what it gives."""
    run()
    return spent(run)
