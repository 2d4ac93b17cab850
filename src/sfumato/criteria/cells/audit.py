"""The audit of a published table: whether any attacker narrows a hidden cell further than is allowed.

It reads the published table and, where the owner gives them, true values and required protection. It shares nothing
with what protects tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import polars as pl

from sfumato.core.wording import Described, count, number
from sfumato.criteria.cells.attackers import CONTRIBUTOR, OUTSIDER, Attacker, contributor_attackers
from sfumato.criteria.cells.intervals import HiddenRanges, outsider_ranges
from sfumato.criteria.cells.published import PublishedCells
from sfumato.errors import PolicyError

TOGETHER = 20  # contributors with shares from whom on they are first tried all at once


@dataclass(frozen=True, eq=False, repr=False)
class TableAudit(Described):
    """What attackers compute of the hidden cells.

    `intervals` has the labels of each hidden cell, the `low` and `high` that the named `attacker` is left with, and
    whether it is `exposed`: for those that are, the weakest kind of attacker who exposes it; else the outsider.
    `exact` is false where time was over: intervals may then be wider in truth, never narrower.
    """

    hidden: int
    exposed: int
    narrowest: float
    attackers: int
    exact: bool
    intervals: pl.DataFrame = field(repr=False)

    def described(self) -> tuple[str, Sequence[tuple[str, str]]]:
        """How many cells are hidden, and how many of them are exposed, and to whom."""
        by = self.intervals.filter("exposed").get_column("attacker").value_counts(sort=True).iter_rows()
        facts = [
            ("hidden", count(self.hidden, "cell")),
            ("attackers", f"an outsider and {count(self.attackers, 'other')}"),
            ("exposed", count(self.exposed, "cell")),
            *((f"exposed to {'an' if kind == OUTSIDER else 'a'} {kind}", count(often, "cell")) for kind, often in by),
            ("narrowest interval", number(self.narrowest if self.hidden else None, "none")),
        ]
        if not self.exact:
            facts.append(("time limit", "reached; some intervals are in truth wider"))
        return f"Audit of a table: {'safe' if not self.exposed else 'not safe'}", facts


@dataclass(frozen=True, eq=False)
class Requirement:
    """How far each hidden cell must be able to go: down to `low`, up to `high`, and `width` between the two."""

    low: np.ndarray
    high: np.ndarray
    width: np.ndarray
    near: np.ndarray

    def met(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Whether intervals are wide enough."""
        down, up = low <= self.low + self.near, high >= self.high - self.near
        with np.errstate(invalid="ignore"):  # ends that nothing is known of yet
            return down & up & (high - low >= self.width - self.near)

    @cached_property
    def asks(self) -> np.ndarray:
        """Of which cells anything is required."""
        return (self.low != self.high) | (self.width > 0)

    def of(self, cells: np.ndarray) -> Requirement:
        """That of some cells."""
        return Requirement(self.low[cells], self.high[cells], self.width[cells], self.near[cells])


def audit_cells(
    published: PublishedCells,
    *,
    contributors: np.ndarray | None = None,
    coalition: int = 1,
    true: np.ndarray | None = None,
    below: np.ndarray | None = None,
    above: np.ndarray | None = None,
    sliding: np.ndarray | None = None,
    largest: np.ndarray | None = None,
    absolute: float | None = None,
    seconds: float = np.inf,
) -> TableAudit:
    """Audit a table against an outsider and, where `contributors` has their number per cell, against contributors.

    Without required protection a hidden cell is exposed if it is determined. With it, if it cannot be `below` under and
    `above` over its true value, or its interval is narrower than `sliding`; what attackers are told beforehand is not
    asked of the table. All arrays have the shape of the table. `largest` contributions add attackers who know theirs.
    After `seconds` the rest is decided by the points found so far: cells may be said to be exposed that are not.
    """
    ranges = outsider_ranges(published, true=true, absolute=absolute, seconds=seconds)
    need = requirement(ranges, true, below, above, sliding)
    low, high = ranges.low.copy(), ranges.high.copy()
    safe = need.met(low, high)
    kind = np.full(len(low), OUTSIDER, object)
    amount, exact = 0, ranges.exact
    if contributors is not None:
        _check(published, contributors, coalition)
        values = known_values(published, contributors, true, largest)
        every = [
            *contributor_attackers(published, contributors, ranges.component, coalition=coalition, largest=largest)
        ]
        amount, doubtful = len(every), exposed_to_shares(ranges, every, values, need)
        for one in every:
            skip = ~safe if doubtful is None or not _by_shares(one, need) else ~(safe & doubtful)
            for cells, lows, highs, proven in narrowed_cells(ranges, one, values, need, skip=skip):
                low[cells], high[cells], kind[cells], safe[cells] = lows, highs, one.kind, False
                exact = exact and proven
    frame = published.labelled(published.hidden_cells).with_columns(
        low=pl.Series(low),
        high=pl.Series(high),
        attacker=pl.Series(kind.tolist(), dtype=pl.String),
        exposed=pl.Series(~safe),
    )
    asked = np.ones(len(low), np.bool_) if published.asked is None else published.asked | ~safe
    narrowest = float((high - low)[asked].min()) if asked.any() else np.inf
    return TableAudit(int(asked.sum()), int((~safe).sum()), narrowest, amount, exact, frame.filter(pl.Series(asked)))


def requirement(
    ranges: HiddenRanges,
    true: np.ndarray | None,
    below: np.ndarray | None,
    above: np.ndarray | None,
    sliding: np.ndarray | None,
) -> Requirement:
    """What is required of the hidden cells; without anything, that they are not determined.

    A bound that is as near to the true value as solvers are exact counts as equal to it.
    """
    published, near = ranges.published, ranges.near
    size = len(near)
    if below is None and above is None and sliding is None:
        width = np.ones(size) if published.whole else 2 * near
        return Requirement(np.full(size, np.inf), np.full(size, -np.inf), width, near)
    if true is None and not (below is None and above is None):
        raise PolicyError("required protection is around true values, and these are not given")
    asked = [_hidden(published, one, name) for one, name in ((below, "below"), (above, "above"), (sliding, "sliding"))]
    down, up, wide = (np.where(one > 0, np.maximum(one, 2 * near), 0.0) for one in asked)
    if true is None:
        return Requirement(np.full(size, np.inf), np.full(size, -np.inf), wide, near)
    least, most = published.bounds()
    value = true.reshape(-1)[published.hidden_cells]
    if published.whole:
        down, up, wide = np.ceil(asked[0]), np.ceil(asked[1]), np.ceil(asked[2])
    low, high = np.maximum(value - down, least), np.minimum(value + up, most)
    unknown = np.isnan(value)  # nothing can be asked of them but a width
    return Requirement(np.where(unknown, np.inf, low), np.where(unknown, -np.inf, high), wide, near)


def known_values(
    published: PublishedCells, contributors: np.ndarray, true: np.ndarray | None, largest: np.ndarray | None = None
) -> np.ndarray:
    """The values of the hidden cells as those know them who are alone in one: what they contribute, or of counts how
    many they are."""
    if true is None and largest is not None:
        true = largest.reshape(*published.values.shape, -1).sum(-1)
    elif true is None and not published.whole:
        raise PolicyError("contributors know values, and the true values are not given")
    return (contributors if true is None else true).reshape(-1)[published.hidden_cells].astype(float)


def _by_shares(attacker: Attacker, need: Requirement) -> bool:
    """Whether somebody knows shares alone, of cells that nothing is required of."""
    return not attacker.known and not any(need.asks[cell] for cell, _ in attacker.at_least)


def exposed_to_shares(
    ranges: HiddenRanges, attackers: Sequence[Attacker], values: np.ndarray, need: Requirement
) -> np.ndarray | None:
    """The cells that are narrowed too far by whoever knows all shares of cells that nothing is required of: whoever
    knows some of them narrows no others. None where so few know shares that each is tried."""
    floors: dict[int, float] = {}
    for one in attackers:
        if _by_shares(one, need):
            for cell, share in one.at_least:
                floors[cell] = max(share, floors.get(cell, share))
    if len(floors) < TOGETHER:
        return None
    found = np.zeros(len(ranges.low), np.bool_)
    everybody = Attacker(CONTRIBUTOR, (), tuple(sorted(floors.items())))
    for cells, *_ in narrowed_cells(ranges, everybody, values, need):
        found[cells] = True
    return found


def narrowed_cells(
    ranges: HiddenRanges, attacker: Attacker, values: np.ndarray, need: Requirement, skip: np.ndarray | None = None
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, bool]]:
    """The hidden cells that an attacker narrows too far, with their intervals, by component.

    Cells that are the attacker's own are none of them, nor those to `skip`, nor those settled for outsiders.
    """
    bounds = {cell: (values[cell], values[cell]) for cell in attacker.known if not np.isnan(values[cell])}
    bounds |= {cell: (floor, ranges.high[cell]) for cell, floor in attacker.at_least}
    cells = np.array([c for c in bounds if ranges.component[c] >= 0 and ranges.high[c] > ranges.low[c]], np.int64)
    for part in np.unique(ranges.component[cells]):
        body, own = ranges.polytopes[part], cells[ranges.component[cells] == part]
        everywhere = body.equations.cells
        free = np.isin(everywhere, attacker.known) | (ranges.high == ranges.low)[everywhere]
        if skip is not None:
            free |= skip[everywhere]
        if free.all():
            continue
        asked = need.of(everywhere)
        for cell, floor in attacker.at_least:  # what they know is not asked of the table
            here = ranges.place[cell]
            if ranges.component[cell] == part:
                asked.low[here] = max(asked.low[here], floor)
        low, high = (np.array([bounds[int(cell)][side] for cell in own]) for side in (0, 1))

        def enough(
            least: np.ndarray, most: np.ndarray, free: np.ndarray = free, asked: Requirement = asked
        ) -> np.ndarray:
            return free | asked.met(least, most)

        found, mine = body.narrowed(ranges.place[own], low, high, enough)
        if len(found):
            yield everywhere[found], mine.low[found], mine.high[found], mine.exact


def _hidden(published: PublishedCells, asked: np.ndarray | None, name: str) -> np.ndarray:
    if asked is None:
        return np.zeros(len(published.hidden_cells))
    if asked.shape != published.values.shape:
        raise PolicyError(f'the protection "{name}" does not have a number for each cell')
    found = np.nan_to_num(asked.reshape(-1)[published.hidden_cells].astype(float), nan=0.0)
    if (found < 0).any():
        raise PolicyError(f'the protection "{name}" has a negative number')
    return found


def _check(published: PublishedCells, contributors: np.ndarray, coalition: int) -> None:
    if contributors.shape != published.values.shape or not np.issubdtype(contributors.dtype, np.integer):
        raise PolicyError("the contributors do not have a whole number for each cell")
    if (contributors < 0).any():
        raise PolicyError("a number of contributors is negative")
    if coalition < 1:
        raise PolicyError("a coalition has no members", got=coalition, allowed="1 or more")
