"""Query: what every private question states before it is asked, and how its noisy numbers become an answer."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import polars as pl

from sfumato.core.conditions import Condition, parse_filter
from sfumato.core.parameters import Written, check_fields
from sfumato.core.registry import variant_name
from sfumato.dp.rows import PrivateRows
from sfumato.dp.values import Public, Unit

HALVINGS = 60
TAIL = 0.05  # beyond an interval
CLOSED = 4  # scales of which the law of the sum is taken in closed form
REACH, POINTS = 60.0, 2000  # of the integral that it is taken by else
FARTHEST = 10.0  # standard deviations, beyond which nothing is
Z95 = 1.959963984540054  # of the normal law


@dataclass(frozen=True)
class Part:
    """Whole numbers that are noised together: how many there are, their L1 sensitivity, what a step of them is worth,
    and which share of the cost they take; `l2` is their L2 sensitivity, where it is less than L1.

    Where there are `candidates`, `chosen` of them are drawn by their scores instead, which a unit changes by
    `score_change` at most; `monotonic`: one that comes moves all scores one way. In each of several `cells`, which no
    row is in two of, some are chosen; then `score_change` is the sum over the cells, and `l2` the root of the sum of
    squares. Where there are `keys`, the numbers are of keys that nobody knew of, and those of which a threshold is
    reached are found.
    """

    width: int
    sensitivity: int
    step: float = 1.0
    share: int = 1
    l2: float | None = None
    candidates: tuple[Any, ...] | None = None
    score_change: float = 0.0
    monotonic: bool = False
    chosen: int = 1
    cells: int = 1
    keys: tuple[int, int, int] | None = None  # groups of a unit, its rows in all, and in one group


@dataclass(frozen=True)
class Law:
    """What noise of a law leaves open with 95% probability, half its width: of sums of independent noises by their
    scales, and of one noise on whole numbers; and how likely such a sum is beyond a distance from 0."""

    within: Callable[[Sequence[float]], float]
    whole: Callable[[float], int]
    beyond: Callable[[Sequence[float], float], float]


class Draw(Protocol):
    """Draws the next part that a query has stated; the scales of those that were drawn are known to it."""

    scales: list[float]

    def __call__(self, values: Any) -> Any:
        """The numbers with noise, in the unit of their column; or what is chosen of candidates."""


@runtime_checkable
class Query(Protocol):
    """A private question: a frozen value. Its parts and sensitivities follow from what is public alone.

    where: the rows that are asked about, as "sex = F and age >= 18"; all without it. column: the one that is asked
    about. by: columns whose public values and bins are the groups. bins: of columns with bounds, how many of equal
    width, or their edges; one for all, or for each column. target: the column that a model predicts. features: the
    columns that it predicts by.
    """

    where: Annotated[Any, Written("text")]
    how: ClassVar[str] = ""  # how the sensitivity was found
    needs_delta: ClassVar[bool] = False  # for keys that nobody knew of
    adaptive: ClassVar[bool] = False  # whether later parts depend on what was drawn of earlier ones

    def __post_init__(self) -> None:
        check_fields(self, "")

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

    def run(self, rows: PrivateRows, draw: Draw) -> list[Any]:
        """The noisy numbers of each part, in the unit of its column, or what was chosen; a query whose later questions
        depend on earlier answers draws its parts one after the other."""
        return [draw(values) for values in self.exact(rows)]

    @abstractmethod
    def answer(self, noisy: Sequence[Any], scales: Sequence[float], public: Public, law: Law) -> tuple[Any, Any]:
        """The value, and its 95% interval where noise alone tells it; of what was drawn of each part."""

    def plain(self, value: Any) -> Any:
        """The value of an answer as a ledger keeps it, in plain values."""
        return {"frame": value.to_dict(as_series=False)} if isinstance(value, pl.DataFrame) else value

    def read(self, stored: Any) -> Any:
        """The value of an answer from what a ledger keeps."""
        return pl.DataFrame(stored["frame"]) if isinstance(stored, dict) and "frame" in stored else stored

    def form(self, public: Public) -> dict[str, Any]:
        """What is asked, in a normal form: the same question has the same."""
        own = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "where"}  # type: ignore[arg-type]
        where = sorted(
            [one.column, one.sign, sorted([text is None, text or ""] for text in one.values)] for one in self.conditions
        )
        names = sorted({*self.columns, *(one.column for one in self.conditions)})
        ends = {name: list(public.bounds[name]) for name in names if name in public.bounds}
        keys = {name: list(public.keys[name]) for name in names if name in public.keys}
        types = {name: public.type_name(name) for name in names if name in public.schema}
        return {"query": self.name, **own, "where": where, "bounds": ends, "keys": keys, "types": types}


def within(scales: Sequence[float], share: float = 0.95) -> float:
    """Half the width of the interval that the sum of independent Laplace noises lies in with a probability.

    >>> round(within([2.0]), 6)
    5.991465
    """
    known = [scale for scale in scales if scale > 0]
    if not known:
        return 0.0
    many = len(known) > CLOSED
    tail = _beyond_many(known) if many else _beyond_few(known)
    low, high = 0.0, sum(known) * math.log(len(known) / (1 - share)) + 1e-300
    for _ in range(30 if many else HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if tail(middle) > 1 - share else (low, middle)
    return high


def beyond(scales: Sequence[float], distance: float) -> float:
    """How likely the sum of independent Laplace noises is farther from 0 than a distance.

    >>> round(beyond([2.0], 5.991465), 6)
    0.05
    """
    known = [scale for scale in scales if scale > 0]
    if not known:
        return float(distance <= 0)
    return (_beyond_many if len(known) > CLOSED else _beyond_few)(known)(distance)


def _beyond_few(scales: Sequence[float]) -> Callable[[float], float]:
    apart = [scale * (1 + 1e-4 * i) for i, scale in enumerate(sorted(scales))]  # equal ones would divide by zero
    squares = [scale * scale for scale in apart]
    weights = [
        math.prod(own / (own - other) for j, other in enumerate(squares) if j != i) for i, own in enumerate(squares)
    ]
    return lambda t: sum(weight * math.exp(-t / scale) for weight, scale in zip(weights, apart, strict=True))


def _beyond_many(scales: Sequence[float]) -> Callable[[float], float]:
    """By the characteristic function of the sum, whose closed form would subtract large numbers: Gil-Pelaez 1951."""
    unit = math.sqrt(2 * float(np.square(scales).sum()))  # a standard deviation
    u = (np.arange(POINTS) + 0.5) * (REACH / POINTS)
    law = np.exp(-np.log1p(np.square(np.outer(np.array(scales) / unit, u))).sum(axis=0)) / u

    def tail(t: float) -> float:
        if t > FARTHEST * unit:
            return 0.0
        return 1 - 2 / math.pi * float(np.dot(np.sin(u * (t / unit)), law)) * (REACH / POINTS)

    return tail


def whole_interval(scale: float, share: float = 0.95) -> int:
    """The same of discrete Laplace noise alone: the fewest steps that hold the share.

    >>> whole_interval(2.0)
    6
    """
    a = math.exp(-1 / max(scale, 1e-9))
    if a < 1e-300:
        return 0
    return max(0, math.ceil(-scale * math.log((1 - share) * (1 + a) / 2) - 1))


def normal_within(scales: Sequence[float]) -> float:
    """Half the width of the interval that a sum of independent normal noises lies in with a probability of 95%.

    >>> round(normal_within([3.0, 4.0]), 6)
    9.79982
    """
    return Z95 * math.hypot(*scales)


def normal_whole(scale: float) -> int:
    """The same of discrete normal noise alone: the fewest steps that hold the share."""
    if scale > 100:  # where it is as the normal law, to a step
        return math.ceil(Z95 * scale)
    law, total, k = [1.0], 1.0, 0
    while len(law) <= 40 * scale + 1:
        law.append(math.exp(-0.5 * (len(law) / max(scale, 1e-9)) ** 2))
        total += 2 * law[-1]
    held = law[0]
    while held < 0.95 * total:
        k += 1
        held += 2 * law[k]
    return k


def normal_beyond(scales: Sequence[float], distance: float) -> float:
    """How likely the sum of independent normal noises is farther from 0 than a distance."""
    scale = math.hypot(*scales)
    return math.erfc(distance / scale / math.sqrt(2)) if scale > 0 else float(distance <= 0)


LAPLACE = Law(within, whole_interval, beyond)
GAUSSIAN = Law(normal_within, normal_whole, normal_beyond)


def ratio_interval(
    total: float, rows: float, ends: tuple[float, float], errors: Callable[[float], Sequence[float]], law: Law
) -> tuple[float, tuple[float, float]]:
    """The ratio of a noisy total to noisy rows, held between ends that it cannot pass, and its 95% interval; Fieller,
    "Some problems in interval estimation", 1954.

    The interval holds each ratio v of which total - v rows is not beyond its noise: the scales of that are `errors` of
    v, since the same is 0 without noise. So it is exact though the rows are few; where fewer than one are left, it is
    all that there is between the ends.
    """
    value = min(max(total / max(rows, 1.0), ends[0]), ends[1])
    if rows < 1:
        return value, ends

    def is_open(v: float) -> bool:
        return law.beyond(errors(v), abs(v - value) * rows) > TAIL

    near = 2 * law.within(errors(value)) / rows  # nearly always beyond it
    low, high = (_last_open(value, end, near, is_open) for end in ends)
    return value, (low, high)


def _last_open(value: float, end: float, near: float, is_open: Callable[[float], bool]) -> float:
    """The number farthest from a value, towards an end, that is open."""
    if is_open(end):
        return end
    inside, outside = value, value + math.copysign(min(near, abs(end - value)), end - value)
    if is_open(outside):
        inside, outside = outside, end
    for _ in range(30):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if is_open(middle) else (inside, middle)
    return outside
