"""Differentially private microaggregation: noise on the means of groups that one row hardly changes (J. Soria-Comas,
J. Domingo-Ferrer, D. Sánchez, S. Martínez, "Enhancing data utility in differential privacy via microaggregation-based
k-anonymity", VLDB Journal 23(5), 2014)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from sfumato.core.accounting import EXACT_DOWN, Epsilon, PrivacyCost, epsilon_of
from sfumato.core.masked import Change, Context, Fact, MaskStep, numbers_of, refuse_few
from sfumato.core.mechanisms import laplace
from sfumato.core.parameters import Whole, Written, real_number, shown
from sfumato.core.wording import number, quoted
from sfumato.errors import ColumnError

STEPS = 2**20  # of the grid between two bounds
MOST_COLUMNS = 31  # whose order is one number


@dataclass(frozen=True)
class DPMicroaggregation(MaskStep):
    """Replace rows by the noisy means of groups of k, formed in an order that no row changes for the others.

    Rows stand along a fixed curve through the bounds, and each k that follow each other are a group. A row that is
    replaced by another changes each group by one row at most, and a mean by 1/k of the bounds. Every released column
    is one of it: rows leave as the means of their group.

    k: rows of a group. epsilon: of the whole table, the same part for each column; neighbours replace one row. bounds:
    column to the least and the greatest value, known from elsewhere: values beyond are moved to them.
    """

    k: Annotated[Any, Whole()] = 10
    epsilon: Annotated[Any, Epsilon()] = 1.0
    bounds: Annotated[Any, Written("mapping", "column", needed=True)] = None

    kinds = ("number",)
    private: ClassVar[bool] = True
    leaves = (
        "Groups of rows that are alike in one column may differ in others: with several columns, means of k rows far "
        "apart lie near the middle, and noise grows with the number of groups. Take k above the root of the rows."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self.settle(bounds=self._bounds(self.bounds))
        self.settle(columns=self.columns or tuple(self.bounds))
        if self.by:
            raise self.refuse("groups of one order are made of all rows", got="by", hint="leave by out")
        if {*self.columns} != {*self.bounds}:
            odd = sorted({*self.columns} ^ {*self.bounds})
            raise self.refuse(f"each column has bounds, and each with bounds is one; not so of {quoted(odd)}")
        if len(self.columns) > MOST_COLUMNS:
            raise self.refuse("too many columns", got=len(self.columns), allowed=f"at most {MOST_COLUMNS}")

    def _bounds(self, given: Any) -> dict[str, tuple[float, float]]:
        """Column to its two bounds, checked."""
        allowed = '{"age": (0, 120)}, in the shell bounds=age:0|120'
        if not isinstance(given, Mapping) or not given or not all(isinstance(name, str) for name in given):
            what = "bounds are asked for, column by column: they may not come from the table"
            raise self.refuse(what, got=shown(given), allowed=allowed)
        found = {}
        for name, ends in given.items():
            if not isinstance(ends, list | tuple) or len(ends) != 2:
                raise self.refuse(f'bounds of "{name}" are two numbers', allowed=allowed)
            low, high = (real_number(end, f'{self.name}: a bound of "{name}"', -1e15, 1e15) for end in ends)
            if not low < high:
                raise self.refuse(f'the bounds of "{name}" are not a least and a greatest value', allowed=allowed)
            found[name] = (low, high)
        return found

    @property
    def cost(self) -> PrivacyCost:
        """What it costs."""
        return PrivacyCost(epsilon_of(self.epsilon))

    @property
    def shares(self) -> list[Decimal]:
        """The part of epsilon of each column: what is left of a division is the last one's."""
        each = EXACT_DOWN.divide(self.cost.epsilon, Decimal(len(self.columns)))
        each = each.quantize(Decimal("1e-12"), "ROUND_DOWN")
        return [*[each] * (len(self.columns) - 1), self.cost.epsilon - each * (len(self.columns) - 1)]

    @property
    def accounting(self) -> list[dict[str, Any]]:
        """What is drawn, column by column."""
        return [{"what": f"means of {name}", "mechanism": "geometric", "epsilon": f"{share.normalize():f}"}
                for name, share in zip(self.columns, self.shares, strict=True)]  # fmt: skip

    def sentence(self) -> str:
        """What it does."""
        k, epsilon = number(self.k), number(self.epsilon)
        return f"rows become the means of groups of {k} in a fixed order, with noise of epsilon {epsilon} in all"

    def numbers(self, columns: pl.DataFrame) -> np.ndarray:
        """The columns as numbers; what cannot be released is refused, which costs nothing."""
        x = numbers_of(columns, self)
        if np.isnan(x).any():
            name = columns.columns[int(np.flatnonzero(np.isnan(x).any(axis=0))[0])]
            what = f'{self.name}: column "{name}" has missing values, which would tell where they are'
            raise ColumnError(what, hint="drop these rows, or give them a value that does not follow from the table")
        refuse_few(len(x), self.k, self)
        return x

    def apply(self, columns: pl.DataFrame, context: Context) -> Change:
        """The means of the groups with noise, for each of their rows."""
        x = self.numbers(columns)
        ends = [self.bounds[name] for name in columns.columns]
        grid = on_grid(x, ends)
        group = ordered_groups(grid, self.k)
        size = np.bincount(group)
        made = np.empty_like(x)
        for j, share in enumerate(self.shares):
            sums = np.bincount(group, weights=grid[:, j]).astype(np.int64)
            noisy = laplace(sums.tolist(), sum_sensitivity(len(size), len(ends)), share).values
            low, high = ends[j]
            unit = (high - low) / STEPS
            means = np.round(low + unit * np.array(noisy, np.float64) / size, max(math.ceil(-math.log10(unit)), 0))
            made[:, j] = np.clip(means, low, high)[group]
        facts = [Fact("between", (name,), {"low": low, "high": high}) for name, (low, high) in self.bounds.items()]
        made_of = {name: made[:, j] for j, name in enumerate(columns.columns)}  # decimals, whatever the type was
        return Change(pl.DataFrame(made_of), facts=tuple(facts))


def on_grid(x: np.ndarray, ends: Sequence[tuple[float, float]]) -> np.ndarray:
    """Values in steps of a public grid, 0 to `STEPS` from bound to bound; those beyond are moved to the bounds."""
    low, high = np.array(ends, np.float64).T
    return np.clip(np.rint((np.clip(x, low, high) - low) * (STEPS / (high - low))), 0, STEPS).astype(np.int64)


def ordered_groups(grid: np.ndarray, k: int) -> np.ndarray:
    """The group of each row: along a Z-order curve (Morton 1966), k rows after k rows; the last has up to 2k - 1.

    The order is total on what rows may say: rows that differ in a column stand apart in a way that no other row
    matters to. Of one column it is that of its values.

    >>> ordered_groups(np.array([[5], [1], [9], [7], [3]]), 2).tolist()
    [1, 0, 1, 1, 0]
    """
    bits = min(62 // grid.shape[1], 20)
    curve = np.zeros(len(grid), np.int64)
    cells = [(column << bits) // (STEPS + 1) for column in grid.T]
    for bit in range(bits - 1, -1, -1):
        for cell in cells:
            curve = (curve << 1) | ((cell >> bit) & 1)
    order = np.lexsort((*grid.T[::-1], curve))
    groups = np.minimum(np.arange(len(grid)) // k, max(len(grid) // k - 1, 0))
    found = np.empty(len(grid), np.int64)
    found[order] = groups
    return found


def sum_sensitivity(groups: int, columns: int) -> int:
    """By how many steps the sums of a column over all groups change together, where one row is replaced by another.

    Each group changes by one row at most, and its sum by the bounds at most. Where one column makes the order, all
    rows between the two places move on by one: the sums change one way, and by the bounds in all.
    """
    return STEPS if columns == 1 else STEPS * groups


def plain_noise_scale(bounds: tuple[float, float], epsilon: float) -> float:
    """The scale of Laplace noise on each row of a column, without groups: what there is to compare with."""
    return (bounds[1] - bounds[0]) / epsilon


def mean_noise_scale(bounds: tuple[float, float], epsilon: float, rows: int, k: int, columns: int) -> float:
    """The scale of the noise on a mean of k rows.

    >>> mean_noise_scale((0, 100), 1, 10_000, 100, 1), mean_noise_scale((0, 100), 1, 10_000, 200, 2)
    (1.0, 25.0)
    """
    return sum_sensitivity(rows // k, columns) / STEPS * plain_noise_scale(bounds, epsilon) / k
