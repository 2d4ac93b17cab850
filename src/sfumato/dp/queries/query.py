"""Query: what every private question states before it is asked, and how its noisy numbers become an answer."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Protocol

import numpy as np

from sfumato.core.conditions import Condition, parse_filter
from sfumato.core.registry import variant_name
from sfumato.dp.rows import PrivateRows
from sfumato.dp.values import Public, Unit

HALVINGS = 100


@dataclass(frozen=True)
class Part:
    """Whole numbers that are noised together: how many there are, their L1 sensitivity, what a step of them is worth,
    and which share of the epsilon they take. Where there are `candidates`, the best of these is drawn by its score
    instead, which a unit changes by the sensitivity at most."""

    width: int
    sensitivity: int
    step: float = 1.0
    share: int = 1
    candidates: tuple[float, ...] | None = None
    score_change: float = 0.0


class Query(Protocol):
    """A private question: a frozen value. Its parts and sensitivities follow from what is public alone."""

    where: Any
    how: ClassVar[str] = ""  # how the sensitivity was found

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """Its filter."""
        return parse_filter(self.where)

    @property
    def name(self) -> str:
        """Its name in the table of queries."""
        return variant_name(type(self).__name__)

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The columns that it looks at, beside those of its filter."""

    @abstractmethod
    def parts(self, public: Public, unit: Unit) -> tuple[Part, ...]:
        """What is noised; it refuses what makes no sense of these columns."""

    @abstractmethod
    def exact(self, rows: PrivateRows) -> list[np.ndarray]:
        """The whole numbers of each part, or the scores of its candidates."""

    @abstractmethod
    def answer(self, noisy: Sequence[Sequence[float]], scales: Sequence[float], public: Public) -> tuple[Any, Any]:
        """The value, and its 95% interval where noise alone tells it; of noisy numbers in the unit of the column."""

    def form(self, public: Public) -> dict[str, Any]:
        """What is asked, in a normal form: the same question has the same."""
        own = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "where"}  # type: ignore[arg-type]
        where = sorted(
            [one.column, one.sign, sorted([text is None, text or ""] for text in one.values)] for one in self.conditions
        )
        names = sorted({*self.columns, *(one.column for one in self.conditions)})
        ends = {name: list(public.bounds[name]) for name in names if name in public.bounds}
        keys = {name: list(public.keys[name]) for name in names if name in public.keys}
        types = {name: str(public.schema[name]) for name in names if name in public.schema}
        return {"query": self.name, **own, "where": where, "bounds": ends, "keys": keys, "types": types}


def within(scales: Sequence[float], share: float = 0.95) -> float:
    """Half the width of the interval that the sum of independent Laplace noises lies in with a probability.

    >>> round(within([2.0]), 6)
    5.991465
    """
    known = sorted(scale for scale in scales if scale > 0)
    apart = [scale * (1 + 1e-5 * i) for i, scale in enumerate(known)]  # equal ones would divide by zero
    if not apart:
        return 0.0
    squares = [scale * scale for scale in apart]
    weights = [
        math.prod(own / (own - other) for j, other in enumerate(squares) if j != i) for i, own in enumerate(squares)
    ]

    def beyond(t: float) -> float:
        return sum(weight * math.exp(-t / scale) for weight, scale in zip(weights, apart, strict=True))

    low, high = 0.0, sum(apart) * math.log(len(apart) / (1 - share)) + 1e-300
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if beyond(middle) > 1 - share else (low, middle)
    return high


def whole_interval(scale: float, share: float = 0.95) -> int:
    """The same of discrete Laplace noise alone: the fewest steps that hold the share.

    >>> whole_interval(2.0)
    6
    """
    a = math.exp(-1 / max(scale, 1e-9))
    if a < 1e-300:
        return 0
    return max(0, math.ceil(math.log((1 - share) * (1 + a) / 2) / math.log(a) - 1))
