"""Measure: one figure about a table, with its range and a sentence that says what it means."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sfumato.core.wording import Described, count, listed, number

Z = 1.959963984540054  # of a 95% interval


@dataclass(frozen=True)
class Measure:
    """A value, the range it can lie in, a sentence, and an interval and a baseline where it has one.

    `value` is nan only where it is not defined, and then the sentence says why. `details` holds plain values.
    """

    name: str
    value: float
    range: tuple[float, float]
    sentence: str
    interval: tuple[float, float] | None = None
    baseline: float | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for json: what is not finite is None."""
        return {
            "name": self.name,
            "value": finite(self.value),
            "range": [finite(end) for end in self.range],
            "sentence": self.sentence,
            "interval": None if self.interval is None else [finite(end) for end in self.interval],
            "baseline": None if self.baseline is None else finite(self.baseline),
            "details": _plain_tree(self.details),
        }


class Summary(Described, dict[str, Any]):
    """What was measured, by name; it shows its measures."""

    def described(self) -> tuple[str, Sequence[tuple[str, str]]]:
        """The measures, each with its value."""
        about = f" by {listed(self['quasi'])}" if self.get("quasi") else ""
        rows = self["rows"]["released"] if isinstance(self["rows"], Mapping) else self["rows"]
        facts = [(measure["name"], number(measure["value"], "not defined")) for measure in self["measures"]]
        return f"{count(rows, 'row')}{about}", facts


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """The 95% interval of a share. Wilson, JASA 1927.

    >>> [round(end, 4) for end in wilson(5, 10)]
    [0.2366, 0.7634]
    """
    if trials == 0:
        return 0.0, 1.0
    share, z2 = successes / trials, Z * Z
    middle = (share + z2 / (2 * trials)) / (1 + z2 / trials)
    half = Z * math.sqrt(share * (1 - share) / trials + z2 / (4 * trials**2)) / (1 + z2 / trials)
    low, high = max(0.0, middle - half), min(1.0, middle + half)
    return (0.0 if successes == 0 else low), (1.0 if successes == trials else high)


def finite(value: float) -> float | None:
    """A number that json knows: None for what is not finite."""
    return float(value) if math.isfinite(value) else None


def _plain_tree(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain_tree(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain_tree(entry) for entry in value]
    return finite(value) if isinstance(value, float) else value
