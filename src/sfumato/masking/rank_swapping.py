"""Rank swapping: values exchange with others of near rank (Moore, "Controlled data-swapping techniques for masking
public use microdata sets", U.S. Bureau of the Census, RR 96-04, 1996)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import polars as pl

from sfumato.core.compiled import kernel
from sfumato.core.masked import Change, Context, Fact, MaskStep, kind_of_column
from sfumato.core.microdata import encode
from sfumato.core.parameters import Real, Written
from sfumato.core.wording import number
from sfumato.errors import ColumnError
from sfumato.hierarchies.order import order, order_of_column, ranks_in

PERCENT = 5  # unless a window is given
FEWEST = 3  # values that are grouped


@dataclass(frozen=True)
class RankSwapping(MaskStep):
    """Exchange each value with one drawn from the next p percent of ranks.

    One of three says how wide the window is. p: in percent of the values, 5 unless given. r0: the least correlation of
    the column before and after. k0: the bound on means: that of a random subset of N rows moves by at most
    2 k0 mean / sqrt(N), as a rule of 95 percent (Moore 1996).

    top: the percentage of largest numbers that all become their mean, and do not swap. bottom: that of smallest ones.
    order: the order of the values of a column of texts.
    """

    p: Annotated[Any, Real(0, 100, above=True)] = None
    r0: Annotated[Any, Real(-1, 1)] = None
    k0: Annotated[Any, Real(0, above=True)] = None
    top: Annotated[Any, Real(0, 100)] = 0
    bottom: Annotated[Any, Real(0, 100)] = 0
    order: Annotated[Any, Written("list")] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if sum(given is not None for given in (self.p, self.r0, self.k0)) > 1:
            raise self.refuse("p, r0 and k0 each say how wide the window is", hint="give one of them")
        if self.top + self.bottom >= 100:
            raise self.refuse("top and bottom leave nothing to swap", got=f"{number(self.top + self.bottom)} percent")
        if self.order is not None:
            self.settle(order=order(self.order).values)

    kinds = ("number",)
    named_kinds = ("date", "category")
    leaves = (
        "Whoever knows the window and some columns of a person can still tell which rows are near enough; values far "
        "from all others move to rows nearby in rank only."
    )

    def sentence(self) -> str:
        """What it does."""
        width = f"the next {number(PERCENT if self.p is None else self.p)} percent of ranks"
        if self.r0 is not None:
            width = f"ranks so near that the column keeps a correlation of {number(self.r0)} with itself"
        if self.k0 is not None:
            width = (
                f"ranks so near that means of subsets of N rows stay within 2 x {number(self.k0)} / sqrt(N) of theirs"
            )
        ends = " and ".join(
            f"the {'largest' if end == 'top' else 'smallest'} {number(getattr(self, end))} percent"
            for end in ("top", "bottom")
            if getattr(self, end)
        )
        return f"values exchange with others from {width}" + (f"; {ends} become their mean" if ends else "")

    def apply(self, columns: pl.DataFrame, context: Context) -> Change:
        """Swap each column for itself."""
        made, facts = [], list[Fact]()
        for column in columns.iter_columns():
            swapped, more = self._swapped(column, context)
            made.append(swapped)
            facts += more
        return Change(pl.DataFrame(made), facts=tuple(facts))

    def _swapped(self, column: pl.Series, context: Context) -> tuple[pl.Series, list[Fact]]:
        """The column anew, and what can be checked of it."""
        name, kind = column.name, kind_of_column(column)
        x, known = self._positions(column, context)
        random = context.random.part(name).generator()
        mixed = random.permutation(len(known))  # equal values are in the order of chance, not of the rows
        ascending = mixed[np.argsort(x[mixed], kind="stable")]
        x, ranked = x[ascending], known[ascending]
        if x[0] == x[-1]:
            raise ColumnError(f'{self.name}: "{name}" has one value only', hint="leave constant columns out")
        if kind != "number" and (self.top or self.bottom or self.k0 is not None):
            raise ColumnError(f'{self.name}: top, bottom and k0 are for numbers, and "{name}" has none', got=kind)
        high, low = (math.floor(end * len(known) / 100) for end in (self.top, self.bottom))
        for end, group in ((self.top, high), (self.bottom, low)):
            if end and group < FEWEST:
                what = f'top or bottom is too small for "{name}", or a stratum: so few values stand out by their mean'
                raise self.refuse(what, got=f"{group} of {len(known):,} values", allowed=f"at least {FEWEST}")
        inner = ranked[low : len(ranked) - high]
        partner = self._partners(x[low : len(x) - high], len(known), name, random)
        source = np.arange(len(column))
        source[inner] = inner[partner]
        swapped = column.gather(source)
        if not high and not low:
            facts = [Fact("marginals", (name,))]
            if kind == "number" and self.r0 is None and self.k0 is None:
                facts.append(Fact("ranks", (name,), {"percent": PERCENT if self.p is None else self.p}))
            return swapped, facts
        bounds: dict[str, float] = {}
        floats = swapped.cast(pl.Float64).to_numpy().copy()
        for end, group in (("low", ranked[:low]), ("high", ranked[len(ranked) - high :])):
            if len(group):
                mean = float(floats[group].mean())
                bounds[end] = round(mean) if column.dtype.is_integer() else mean
                floats[group] = bounds[end]
        ended = pl.Series(name, floats, nan_to_null=True)
        return ended.cast(pl.Int64) if column.dtype.is_integer() else ended, [Fact("between", (name,), bounds)]

    def _positions(self, column: pl.Series, context: Context) -> tuple[np.ndarray, np.ndarray]:
        """A number for each known value, by which they are ranked, and the rows that have one."""
        name, kind = column.name, kind_of_column(column)
        if kind == "category":
            stated = order_of_column(column, self.order, context.hierarchies)
            categories, codes = encode(column)
            place = categories.position if stated is None else ranks_in(stated, categories.text, name)
            if place is None:
                hint = "give their order, or leave it out"
                raise ColumnError(f'{self.name}: the values of "{name}" have no order', got="texts", hint=hint)
            x = place[codes]
        else:
            x = column.to_physical().cast(pl.Float64).fill_null(np.nan).to_numpy()
            if np.isinf(x).any():
                raise ColumnError(f'{self.name}: column "{name}" has infinite values')
        known = np.flatnonzero(~np.isnan(x))
        if not len(known):
            raise ColumnError(f'{self.name}: column "{name}" has no value in any row', hint="leave it out")
        return x[known], known

    def _partners(self, x: np.ndarray, rows: int, name: str, random: np.random.Generator) -> np.ndarray:
        """The rank that each rank exchanges with, of sorted values."""
        draws = random.random(len(x))
        if self.r0 is None and self.k0 is None:
            window = math.floor((PERCENT if self.p is None else self.p) * rows / 100)
            if window < 1:
                got = f"{number(PERCENT if self.p is None else self.p)} percent of {rows:,} values"
                raise self.refuse(f'p is too small for "{name}", or a stratum of it: no rank is near enough', got=got)
            return np.asarray(partners(window, draws))
        mean = float(x.mean())
        most = (self.k0 * mean) ** 2 * len(x) if self.r0 is None else 2 * (1 - self.r0) * float(((x - mean) ** 2).sum())
        near, far, found = 0, len(x) - 1, None
        while far - near > near // 100:  # the widest window, to a percent of it, whose squared moves add up to no more
            window = -(-(near + far) // 2)
            tried = partners(window, draws)
            if float(((x - x[tried]) ** 2).sum()) <= most:
                near, found = window, tried
            else:
                far = window - 1
        if found is None:
            asked = f"r0={number(self.r0)}" if self.k0 is None else f"k0={number(self.k0)}"
            raise self.refuse(
                f'no window is so narrow for "{name}", or a stratum of it',
                got=asked,
                hint="ask for less, or group the largest values",
            )
        return np.asarray(found)


@kernel
def partners(window: int, draws: np.ndarray) -> np.ndarray:
    """For each rank the one it exchanges with, drawn from those of the next `window` ranks that are still free."""
    rows = len(draws)
    partner, free, place = np.arange(rows), np.empty(rows, np.int64), np.full(rows, -1, np.int64)
    count, end = 0, 0
    for i in range(rows):
        while end < rows and end <= i + window:
            free[count] = end
            place[end] = count
            count += 1
            end += 1
        if place[i] < 0:
            continue
        count -= 1
        free[place[i]] = free[count]
        place[free[count]] = place[i]
        place[i] = -1
        if count == 0:
            continue
        j = free[int(draws[i] * count)]
        count -= 1
        free[place[j]] = free[count]
        place[free[count]] = place[j]
        place[j] = -1
        partner[i], partner[j] = j, i
    return partner
