"""Scale: from values to places on an axis, with ticks at round numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

WIDE = 20  # from this ratio of the greatest to the least value on, an axis is logarithmic


@dataclass(frozen=True)
class Scale:
    """Values from `low` to `high` on places from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high, here = (math.log(v) for v in (self.low, self.high, value)) if self.log else (
            self.low, self.high, value)  # fmt: skip
        return self.start + (self.end - self.start) * (here - low) / (high - low)

    def ticks(self, most: int) -> list[float]:
        """Round numbers within the range, at most so many."""
        if self.log:
            return _log_ticks(self.low, self.high, most)
        step = _step((self.high - self.low) / most)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [round(i * step, 14) for i in range(first, last + 1)]


def scale(values: Sequence[float], start: float, end: float, may_be_log: bool = False) -> Scale:
    """A scale that holds the values with some room around them.

    >>> scale([0.2, 0.4], 0, 100).ticks(5)
    [0.2, 0.25, 0.3, 0.35, 0.4]
    """
    low, high = min(values, default=0.0), max(values, default=1.0)
    if may_be_log and low > 0 and high / low >= WIDE:
        room = (high / low) ** 0.06
        return Scale(low / room, high * room, start, end, True)
    room = 0.06 * (high - low) or 0.05 * abs(high) or 0.5
    bottom = max(low - room, 0.0) if low >= 0 else low - room
    top = min(high + room, 1.0 + 0.02 * (high - bottom)) if high <= 1 else high + room
    return Scale(bottom, max(top, bottom + 1e-9), start, end)


def written(ticks: Sequence[float]) -> list[str]:
    """Ticks with as many digits as tell them apart.

    >>> written([0.1, 0.15, 0.2]), written([0.01, 0.1, 1.0])
    (['0.10', '0.15', '0.20'], ['0.01', '0.1', '1'])
    """
    if len(ticks) > 1 and ticks[0] > 0 and ticks[-1] / ticks[0] >= WIDE:
        return [f"{tick:.10f}".rstrip("0").rstrip(".") if tick >= 1e-6 else f"{tick:.0e}" for tick in ticks]
    apart = min((abs(b - a) for a, b in pairwise(ticks)), default=0.0) or 1.0
    digits = next((d for d in range(9) if all(abs(round(t, d) - t) < 1e-3 * apart for t in ticks)), None)
    return [f"{tick:,.{digits}f}" if digits is not None else f"{tick:.3g}" for tick in ticks]


def _step(least: float) -> float:
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * m for m in (1, 2, 2.5, 5, 10, 20) if power * m >= least * (1 - 1e-9))


def _log_ticks(low: float, high: float, most: int) -> list[float]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in ((1, 2, 5), (1, 3), (1,)):
        found = [round(d * 10.0**p, 12 - p) for p in powers for d in digits if low <= d * 10.0**p <= high]
        if len(found) <= most + 2:
            return found
    return found[:: math.ceil(len(found) / most)]
