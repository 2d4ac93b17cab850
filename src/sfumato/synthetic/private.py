"""What private generators share: a budget that is spent on noisy counts and choices, a public domain, and a model that
is made of nothing else."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from sfumato.core.accounting import (
    DECIMALS,
    EXACT,
    EXACT_DOWN,
    ROUNDED,
    ExactReal,
    PrivacyCost,
    epsilon_of,
    exact,
    gaussian_rho,
)
from sfumato.core.mechanisms import choose, gaussian, laplace
from sfumato.core.parameters import Whole, Written, YesNo, column_names
from sfumato.errors import PolicyError
from sfumato.synthetic.counts import Count
from sfumato.synthetic.domain import DomainColumn, DomainTable, domain_of, plain_domain
from sfumato.synthetic.fitting import NoisyMargin
from sfumato.synthetic.generator import FitContext, SyntheticGenerator
from sfumato.synthetic.marginals import Clique
from sfumato.synthetic.model import FittedModel

DELTA = 1e-9
ROUNDING = 1 + 2.0**-20  # of a sensitivity: more than sums of floating point numbers may lose of a score


@dataclass(frozen=True)
class SpentPart:
    """A part of what a release costs: what was drawn, how, how often, and for what in all."""

    what: str
    mechanism: str
    times: int
    cost: str
    unit: str  # rho, or epsilon

    def to_dict(self) -> dict[str, Any]:
        """As a manifest has it."""
        return {"what": self.what, "mechanism": self.mechanism, "times": self.times, self.unit: self.cost}


@dataclass
class Spending:
    """A budget that noisy counts and choices are paid from: rho, or epsilon where delta is 0.

    Nothing is drawn that there is no budget for. Costs are exact decimals that add up to no more than the whole.
    """

    whole: Decimal
    pure: bool
    spent: Decimal = Decimal(0)
    _parts: dict[tuple[str, str], tuple[int, Decimal]] = field(default_factory=dict)

    @staticmethod
    def of(cost: PrivacyCost) -> Spending:
        """What a cost is made of: its rho, or its epsilon where it has none."""
        return Spending(cost.rho or cost.epsilon, not cost.rho)

    @property
    def left(self) -> Decimal:
        """What is left."""
        return EXACT.subtract(self.whole, self.spent)

    def share(self, part: float, times: int = 1) -> Decimal:
        """A part of the whole, once for each of some draws, rounded down."""
        each = EXACT_DOWN.divide(EXACT_DOWN.multiply(self.whole, Decimal(repr(part))), Decimal(times))
        return each.quantize(ROUNDED.scaleb(-DECIMALS), context=EXACT_DOWN)

    def deviation(self, cost: Decimal) -> float:
        """The standard deviation of the noise of a count that costs so much."""
        return math.sqrt(2) / float(cost) if self.pure else 1 / math.sqrt(2 * float(cost))

    def noisy(self, counts: np.ndarray, cost: Decimal, what: str) -> np.ndarray:
        """Counts of which one row changes one, by 1 at most, with noise that is drawn once for all of them."""
        self._take(cost, what, "geometric" if self.pure else "discrete-gaussian")
        values = counts.ravel().tolist()
        made = laplace(values, 1, cost) if self.pure else gaussian(values, 1.0, cost)
        return np.array(made.values, np.float64).reshape(counts.shape)

    def choose(self, scores: Sequence[float], sensitivity: float, cost: Decimal, what: str) -> int:
        """The number of one of some candidates, better scores likelier."""
        self._take(cost, what, "noisy max" if self.pure else "exponential")
        return choose(scores, sensitivity * ROUNDING, cost, zcdp=not self.pure)

    def _take(self, cost: Decimal, what: str, mechanism: str) -> None:
        if not 0 < cost <= self.left:
            raise PolicyError("the budget is too small for what is to be drawn of it", hint="a larger epsilon or delta")
        self.spent = EXACT.add(self.spent, cost)
        times, before = self._parts.get((what, mechanism), (0, Decimal(0)))
        self._parts[what, mechanism] = times + 1, EXACT.add(before, cost)

    @property
    def parts(self) -> tuple[SpentPart, ...]:
        """What was drawn, and for what."""
        unit = "epsilon" if self.pure else "rho"
        return tuple(
            SpentPart(what, how, times, f"{cost.normalize():f}", unit)
            for (what, how), (times, cost) in self._parts.items()
        )


@dataclass(frozen=True)
class PrivateGenerator(SyntheticGenerator):
    """A generator whose model is differentially private: what it costs, and the public domains of the columns.

    epsilon: what the table may cost. delta: the probability that it costs more; with 0 the noise is that of pure
    differential privacy, and there is more of it. bounds: of columns of numbers or dates, the least and the greatest
    value that one could have, or cut points from the one to the other, from outside of the table. keys: of other
    columns, their possible values. missing: columns that may lack a value, all unless given. bins: how many there are
    between two bounds, in one of which numbers are drawn. i_know: whether an epsilon above 20 is meant.
    """

    epsilon: Annotated[Any, ExactReal(above=True, needed=True)] = None
    delta: Annotated[Any, ExactReal(0, 1, below=True)] = DELTA
    bounds: Annotated[Any, Written("mapping", "column")] = None
    keys: Annotated[Any, Written("mapping", "column")] = None
    missing: Annotated[Any, Written("columns", "column")] = None
    bins: Annotated[Any, Whole(2, 1000)] = 20
    i_know: Annotated[Any, YesNo()] = False

    def __post_init__(self) -> None:
        if self.epsilon is None:
            raise self.refuse("epsilon is not given", allowed="such as 1: what the table may cost")
        super().__post_init__()
        cost = self.cost
        if cost.delta and not cost.rho:
            raise self.refuse("epsilon or delta is so small that nothing can be drawn")
        self.settle(
            epsilon=_number(cost.epsilon),
            delta=_number(cost.delta),
            bounds=plain_domain(self.bounds, f"{self.name}: bounds"),
            keys=plain_domain(self.keys, f"{self.name}: keys"),
            missing=_lacking(self.missing, f"{self.name}: missing"),
        )

    fits_counts: ClassVar[bool] = True
    leaves: ClassVar[str] = (
        "Noise hides what any one row adds, and so what few rows have in common: rare values and combinations are "
        "lost, or appear where nobody has them. What holds of many people is told, of those who are not in it, too."
    )

    def parameters(self) -> dict[str, Any]:
        """Its parameters as plain values; that no column lacks a value is one."""
        found = {name: value for name, value in super().parameters().items() if name != "i_know" or value}
        return found | ({"missing": []} if self.missing == [] else {})

    @property
    def private(self) -> bool:
        """Always."""
        return True

    @property
    def pairs(self) -> bool:
        """Noise is added to all that it keeps."""
        return False

    @property
    def bounded(self) -> bool:
        """Numbers stay within the bounds that were stated, and not within those of the table."""
        return False

    @property
    def cost(self) -> PrivacyCost:
        """What a release costs: epsilon and delta, and the rho that they have room for where delta is above 0."""
        epsilon = epsilon_of(self.epsilon, i_know=bool(self.i_know))
        delta = exact(self.delta, "delta", strict=False)
        if delta >= 1:
            raise self.refuse(
                "delta is out of range", got=f"{delta}", allowed="from 0, and far below one over the rows"
            )
        return PrivacyCost(epsilon, delta, gaussian_rho(epsilon, delta) if delta else Decimal(0))

    def domain(self, schema: Mapping[str, pl.DataType]) -> tuple[DomainColumn, ...]:
        """The columns of a table by their public domains."""
        return domain_of(schema, self.bounds, self.keys, self.missing, self.bins)

    def fit(self, table: pl.DataFrame, context: FitContext) -> PrivateModel:
        """Learn from noisy counts of rows."""
        return self._modelled(DomainTable.of(self.domain(table.schema), table), context)

    def fit_counts(self, count: Count, columns: Mapping[str, pl.DataType], context: FitContext) -> PrivateModel:
        """The same of a table that is counted elsewhere; `columns` are their types."""
        return self._modelled(DomainTable.counted(self.domain(columns), count), context)

    def _modelled(self, table: DomainTable, context: FitContext) -> PrivateModel:
        spending = Spending.of(self.cost)
        cliques, total = self.learn(table, spending, context)
        rows = max(1, round(total))
        return PrivateModel(table.columns, tuple(cliques), rows, spending.parts)

    @abstractmethod
    def learn(self, table: DomainTable, spending: Spending, context: FitContext) -> tuple[list[Clique], float]:
        """Tables from which columns are drawn in turn, and the noisy number of rows."""


@dataclass(frozen=True, eq=False, repr=False)
class PrivateModel(FittedModel):
    """Tables of shares that were made of noisy counts, from which columns are drawn in turn."""

    parts: ClassVar[tuple[type, ...]] = (DomainColumn, Clique, SpentPart)

    columns: tuple[DomainColumn, ...]
    cliques: tuple[Clique, ...]  # columns of higher numbers are codes within the groups of a column
    rows: int  # noisy
    spent: tuple[SpentPart, ...]

    def draw(self, rows: int, rng: np.random.Generator) -> pl.DataFrame:
        """Draw one clique after the other, as many rows of each value as its share is of them."""
        drawn: dict[int, np.ndarray] = {}
        for clique in self.cliques:
            clique.draw(drawn, rows, rng, even=True)
        d = len(self.columns)
        return pl.DataFrame([column.decode(drawn.get(d + i, drawn[i]), rng) for i, column in enumerate(self.columns)])


def measured_ones(table: DomainTable, spending: Spending, cost: Decimal) -> tuple[list[NoisyMargin], float]:
    """Noisy counts of each column, and the noisy number of rows: the mean of their totals, weighted by precision."""
    found, deviation = [], spending.deviation(cost)
    for i in range(len(table.columns)):
        counts = spending.noisy(table.counts([i]), cost, "counts of one column")
        found.append(NoisyMargin((i,), counts, deviation))
    weights = np.array([1 / one.counts.size for one in found])
    total = float(np.dot(weights, [one.counts.sum() for one in found]) / weights.sum())
    return found, max(total, 1.0)


def pooled(ones: Sequence[NoisyMargin], least: float) -> list[np.ndarray]:
    """The group of each code of each column: its own, but codes with a noisy count below `least` are one."""
    groups = []
    for one in ones:
        rare = one.counts < least
        if rare.sum() < 2:
            rare[:] = False
        code = np.cumsum(~rare) - 1
        groups.append(np.where(rare, code.max() + 1 if (~rare).any() else 0, np.maximum(code, 0)))
    return groups


def grouped(one: NoisyMargin, group: np.ndarray) -> NoisyMargin:
    """Noisy counts of groups: each has the noise of those that it is made of."""
    counts = np.bincount(group, one.counts)
    return NoisyMargin(one.columns, counts, one.deviation, np.sqrt(np.bincount(group)))


def expansions(ones: Sequence[NoisyMargin], groups: Sequence[np.ndarray]) -> list[Clique]:
    """How codes are drawn within their groups: by their noisy counts, as far as these are above 0."""
    found, d = [], len(ones)
    for i, (one, group) in enumerate(zip(ones, groups, strict=True)):
        if int(group.max()) + 1 == len(group):
            continue
        weight = np.maximum(one.counts, 0.0) + 1e-9
        table = np.zeros((int(group.max()) + 1, len(group)))
        table[group, np.arange(len(group))] = weight
        found.append(Clique.of((i, d + i), (i,), table / table.sum()))
    return found


def shares(values: np.ndarray) -> np.ndarray:
    """Counts with noise as shares: the nearest ones that are not negative and add up to 1 (Duchi et al. 2008).

    >>> shares(np.array([3.0, 1.0, -1.0])).round(3).tolist()
    [0.833, 0.167, 0.0]
    """
    flat = values.ravel()
    total = max(float(flat.sum()), 1.0)
    ordered = np.sort(flat)[::-1]
    over = (np.cumsum(ordered) - total) / np.arange(1, len(ordered) + 1)
    last = int(np.flatnonzero(ordered > over)[-1])
    found = np.maximum(flat - over[last], 0.0)
    return np.asarray(found / found.sum()).reshape(values.shape)


def _lacking(given: Any, what: str) -> list[str] | None:
    """The columns that may lack a value; None for all, and False for none."""
    return None if given is None else [] if given is False else list(column_names(given, what))


def _number(value: Decimal) -> int | float:
    """A decimal as the number whose shortest text it is."""
    return int(value) if value == value.to_integral_value() else float(value)
