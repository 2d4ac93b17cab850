"""Rate limits: so many requests a minute, and a minute's worth at once; the token bucket of Turner, "New directions in
communications", 1986."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

MOST = 10_000  # names that are remembered


@dataclass
class TokenBucket:
    """Requests that are left of a minute's worth."""

    rate: float  # a minute
    clock: Callable[[], float] = time.monotonic
    left: float = field(init=False)
    at: float = field(init=False)

    def __post_init__(self) -> None:
        self.left, self.at = float(self.rate), self.clock()

    def take(self) -> float:
        """0 where a request may be made, which is taken; else how many seconds to wait."""
        if wait := self.wait():
            return wait
        self.left -= 1
        return 0.0

    def wait(self) -> float:
        """The same, and nothing is taken."""
        now = self.clock()
        self.left = min(self.rate, self.left + (now - self.at) * self.rate / 60)
        self.at = now
        return 0.0 if self.left >= 1 else (1 - self.left) * 60 / self.rate


class RateLimits:
    """A bucket for each name: a user, or where somebody fails to be one."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._buckets: dict[tuple[str, float], TokenBucket] = {}

    def take(self, name: str, rate: float) -> float:
        """0, or how many seconds to wait."""
        key = name, rate
        if key not in self._buckets:
            while len(self._buckets) >= MOST:
                self._buckets.pop(next(iter(self._buckets)))
            self._buckets[key] = TokenBucket(rate, self._clock)
        return self._buckets[key].take()

    def wait(self, name: str, rate: float) -> float:
        """The same, and nothing is taken."""
        bucket = self._buckets.get((name, rate))
        return 0.0 if bucket is None else bucket.wait()
