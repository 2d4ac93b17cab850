"""Record swapping: households at risk exchange their areas with similar ones (Dalenius and Reiss 1982; Zayatz,
"Disclosure avoidance practices and research at the U.S. Census Bureau", Journal of Official Statistics 23, 2007)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import polars as pl

from sfumato.core.compiled import inner, kernel
from sfumato.core.keys import first_of
from sfumato.core.masked import Change, Context, Fact, MaskStep
from sfumato.core.parameters import Column, ColumnNames, Share, Whole, Written, column_names
from sfumato.core.wording import count, number, percent, quoted
from sfumato.engines.order import numbered
from sfumato.errors import ColumnError, warn


class NoPartnerWarning(UserWarning):
    """Households at risk stay in their area."""


@dataclass(frozen=True)
class RecordSwapping(MaskStep):
    """Let whole households exchange their areas with similar ones elsewhere, those at risk first.

    columns: the areas, from the coarsest to the finest. household: the column that says which rows are one; without it
    each row is. risk: columns by which a household is at risk. k: it is in an area where fewer than k rows are like one
    of its rows in these columns; such households are swapped out of it, level by level, as far as partners are found.
    rate: the share of households that are swapped in all, in each of the finest areas. similar: columns that both
    households of a pair are equal in, or several such lists, tried in order; both always have as many rows. carry:
    further columns of a household that go with the area.
    """

    household: Annotated[Any, Column()] = None
    risk: Annotated[Any, ColumnNames()] = ()
    k: Annotated[Any, Whole()] = 3
    rate: Annotated[Any, Share()] = 0.05
    similar: Annotated[Any, Written("lists", "column")] = ()
    carry: Annotated[Any, ColumnNames()] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        self.settle(similar=_profiles(self.similar, f"{self.name}: similar"))
        if not self.columns:
            raise self.refuse("it needs the columns of the areas", allowed='from the coarsest, as ["state", "county"]')
        moved = {*self.columns, *self.carry}
        if both := sorted((moved & {*self.risk, self.household}) | ({*self.columns} & {*self.carry})):
            raise self.refuse(f"{quoted(both)} cannot go with the area and be something else too")
        if not self.risk and not self.rate:
            raise self.refuse("nothing says which households are swapped", hint="give risk columns, or a rate")

    kinds = ("number", "category", "date")
    leaves = (
        "Most households stay where they are; one that found no partner, or whose other columns or number tell its "
        "area, can still be found there."
    )

    @property
    def changes(self) -> tuple[str, ...]:
        """The areas, and what goes with them."""
        return (*self.columns, *self.carry)

    @property
    def needs(self) -> tuple[str, ...]:
        """Everything it looks at beside the areas."""
        own = () if self.household is None else (self.household,)
        every = (*own, *self.risk, *(name for profile in self.similar for name in profile), *self.carry)
        return tuple(dict.fromkeys(name for name in every if name not in self.columns))

    def sentence(self) -> str:
        """What it does."""
        risky = f"those that fewer than {number(self.k)} rows of an area are like in {quoted(self.risk)}"
        whose = [*([risky] if self.risk else []), *([f"others up to {percent(self.rate)} of all"] if self.rate else [])]
        moved = quoted((*self.columns, *self.carry))
        return f"households exchange {moved} with similar ones elsewhere: {', then '.join(whose)}"

    def apply(self, columns: pl.DataFrame, context: Context) -> Change:
        """Find partners level by level, and exchange."""
        table, of = context.table, self._households(context.table)
        size = np.bincount(of)
        first = first_of(of, len(size))
        households = table[first]
        profiles = [_profile(size, households, names) for names in self.similar or ((),)]
        partner, random, stay = np.arange(len(size)), context.random.generator(), 0
        for level in range(1, len(self.columns) + 1):
            area = numbered(households, self.columns[:level])
            risky = self._risky(table, of, len(size), level)
            anywhere = np.full(int(area.max()) + 1, len(size))
            for profile in profiles:
                candidates = np.flatnonzero(risky & _single(partner))
                _exchange(random.permutation(candidates), profile, area, partner, anywhere, len(size), random)
            stay = max(stay, int((risky & _single(partner)).sum()))
        self._fill(profiles, area, partner, random)
        if _single(partner).all():
            what = "no household found a partner elsewhere, or there is one area only"
            raise self.refuse(what, hint="name fewer columns in similar, or coarser ones")
        if stay:
            what = f"{self.name}: {count(stay, 'household')} at risk found no partner and stayed"
            warn(NoPartnerWarning(f"{what}: add a list of fewer columns to similar"))
        swapped = round(float((~_single(partner)).mean()), 2)
        made = households[partner[of]].select(*self.columns, *self.carry)
        return Change(made, facts=self._facts(), published={"swapped": swapped})

    def _households(self, table: pl.DataFrame) -> np.ndarray:
        """The household of each row; a ColumnError where a column differs within one."""
        if self.household is None:
            return np.arange(table.height, dtype=np.int32)
        if table.get_column(self.household).null_count():
            raise ColumnError(
                f'{self.name}: "{self.household}" is missing in some rows', hint="each row needs a household"
            )
        of = numbered(table, [self.household]).astype(np.int32)
        one = first_of(of, int(of.max(initial=-1)) + 1)[of]
        for name in dict.fromkeys((*self.columns, *self.carry, *(n for profile in self.similar for n in profile))):
            code = numbered(table, [name])
            if (code != code[one]).any():
                what = f'{self.name}: "{name}" differs between rows of a household'
                raise ColumnError(what, hint="areas, carried and similar columns are those of households")
        return of

    def _risky(self, table: pl.DataFrame, of: np.ndarray, households: int, level: int) -> np.ndarray:
        """Which households have a row that is like fewer than k of its area."""
        risky = np.zeros(households, np.bool_)
        if self.risk:
            group = numbered(table, [*self.columns[:level], *self.risk])
            risky[of[np.bincount(group)[group] < self.k]] = True
        return risky

    def _fill(
        self, profiles: list[np.ndarray], area: np.ndarray, partner: np.ndarray, random: np.random.Generator
    ) -> None:
        """Swap households by chance until the rate is reached, in each area and in all."""
        target = np.floor(self.rate * np.bincount(area) + random.random(int(area.max()) + 1)).astype(np.int64)
        need = target - np.bincount(area[~_single(partner)], minlength=len(target))
        for profile in profiles:
            most = round(self.rate * len(partner)) - int((~_single(partner)).sum())
            if most > 1:
                candidates = np.flatnonzero(_single(partner))
                _exchange(random.permutation(candidates), profile, area, partner, need, most - 1, random)

    def _facts(self) -> tuple[Fact, ...]:
        """Areas stay as they were counted, also with what all pairs are equal in."""
        moved, profiles = (*self.columns, *self.carry), self.similar or ((),)
        shared = [name for name in profiles[0] if all(name in profile for profile in profiles)]
        facts = [Fact("marginals", moved, {"together": True} if len(moved) > 1 else {})]
        if more := tuple(name for name in dict.fromkeys((*shared, *self.by)) if name not in moved):
            facts.append(Fact("marginals", (*moved, *more), {"together": True}))
        return tuple(facts)


def _profiles(given: Any, what: str) -> tuple[tuple[str, ...], ...]:
    """Lists of columns, one or several; in the shell's form these have semicolons between them.

    >>> _profiles(["size", "type;size"], "similar"), _profiles([["size"]], "similar")
    ((('size', 'type'), ('size',)), (('size',),))
    """
    if given and isinstance(given, list | tuple) and not isinstance(given[0], str):
        return tuple(column_names(profile, what) for profile in given)
    flat = ",".join(column_names(given, what))
    if ";" in flat:
        return tuple(tuple(name.strip() for name in part.split(",") if name.strip()) for part in flat.split(";"))
    names = column_names(given, what)
    return (names,) if names else ()


def _profile(size: np.ndarray, households: pl.DataFrame, names: tuple[str, ...]) -> np.ndarray:
    """A number for each household, the same where size and these columns are."""
    frame = pl.DataFrame([pl.Series("\0size", size), *households.select(names).iter_columns()])
    return numbered(frame, frame.columns)


def _single(partner: np.ndarray) -> np.ndarray:
    """Which households have no partner yet."""
    return np.asarray(partner == np.arange(len(partner)))


def _exchange(
    candidates: np.ndarray,
    profile: np.ndarray,
    area: np.ndarray,
    partner: np.ndarray,
    need: np.ndarray,
    most: int,
    random: np.random.Generator,
) -> None:
    """Give candidates partners of the same profile in other areas, among households that have none yet."""
    free = np.flatnonzero(_single(partner))
    areas = int(area.max()) + 1
    cells, of = np.unique(profile[free].astype(np.int64) * areas + area[free], return_inverse=True)
    cell = np.full(len(partner), -1, np.int64)
    cell[free] = of
    bucket = cells // areas
    low, high = np.searchsorted(bucket, bucket, "left"), np.searchsorted(bucket, bucket, "right")
    members = free[np.argsort(of, kind="stable")]
    sizes = np.bincount(of, minlength=len(cells))
    draws = random.random(len(candidates))
    start = np.cumsum(sizes) - sizes
    swap_households(candidates, draws, cell, low, high, members, start, sizes, area, partner, need, most)


@inner
def _before(tree: np.ndarray, cell: int) -> int:
    """How many are free in the cells before one (Fenwick 1994)."""
    found = 0
    while cell > 0:
        found += tree[cell]
        cell &= cell - 1
    return found


@inner
def _take(
    household: int,
    cell: np.ndarray,
    members: np.ndarray,
    place: np.ndarray,
    start: np.ndarray,
    sizes: np.ndarray,
    tree: np.ndarray,
) -> None:
    """Take a household out of the free ones of its cell."""
    c = cell[household]
    sizes[c] -= 1
    other = members[start[c] + sizes[c]]
    members[place[household]], place[other] = other, place[household]
    c += 1
    while c < len(tree):
        tree[c] -= 1
        c += c & -c


@kernel
def swap_households(
    candidates: np.ndarray,
    draws: np.ndarray,
    cell: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    members: np.ndarray,
    start: np.ndarray,
    sizes: np.ndarray,
    area: np.ndarray,
    partner: np.ndarray,
    need: np.ndarray,
    most: int,
) -> None:
    """Each candidate, while its area needs some, exchanges with one drawn from the free ones of its profile elsewhere.

    Cells are profile and area; those of one profile follow each other, cells low[c] to high[c] for each of them.
    """
    tree = np.zeros(len(sizes) + 1, np.int64)
    for c in range(len(sizes)):
        tree[c + 1] += sizes[c]
        up = c + 1 + ((c + 1) & -(c + 1))
        if up < len(tree):
            tree[up] += tree[c + 1]
    place = np.empty(len(partner), np.int64)
    for i in range(len(members)):
        place[members[i]] = i
    top = 1
    while 2 * top < len(tree):
        top *= 2
    done = 0
    for i in range(len(candidates)):
        one = candidates[i]
        if done >= most:
            break
        if partner[one] != one or need[area[one]] <= 0:
            continue
        c = cell[one]
        below = _before(tree, low[c])
        outside = _before(tree, high[c]) - below - sizes[c]
        if outside == 0:
            continue
        rank = below + int(draws[i] * outside)
        if rank >= _before(tree, c):
            rank += sizes[c]
        found, step = 0, top
        while step > 0:
            if found + step < len(tree) and tree[found + step] <= rank:
                found += step
                rank -= tree[found]
            step //= 2
        other = members[start[found] + rank]
        _take(one, cell, members, place, start, sizes, tree)
        _take(other, cell, members, place, start, sizes, tree)
        partner[one], partner[other] = other, one
        need[area[one]] -= 1
        need[area[other]] -= 1
        done += 2
