"""Insiders: contributors to a table, and what they know of hidden cells beside what is published.

J. J. Salazar-Gonzalez, Extending cell suppression to protect tabular data against several attackers, Inference Control
in Statistical Databases, LNCS 2316, 2002.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sfumato.tables.values import CellSums, StatTable


@dataclass(frozen=True, eq=False)
class Insiders:
    """What each insider knows, an entry per cell, in order of insiders.

    Insider `who` knows that `cell` is at most `down` below its value and `up` above it: both are 0 where nobody else
    contributes, and `up` is infinite where others do. `size`: how many contributors each is; `coalition`: how many at
    most tell each other what they know; no two of them who have shares of different cells. `made_of`: totals of few
    contributors with all parts that are not empty: to know these is to be all of them.
    """

    who: np.ndarray
    cell: np.ndarray
    down: np.ndarray
    up: np.ndarray
    size: np.ndarray
    coalition: int
    made_of: tuple[tuple[int, frozenset[int]], ...] = ()

    @cached_property
    def start(self) -> np.ndarray:
        """Where the entries of each insider start, and where the last one ends."""
        return np.searchsorted(self.who, np.arange(len(self.size) + 1))

    @cached_property
    def shares(self) -> np.ndarray:
        """Which of the insiders have a share of a cell beside others."""
        found = np.zeros(len(self.size), np.bool_)
        found[self.who[np.isinf(self.up)]] = True
        return found

    def entries(self, who: tuple[int, ...]) -> np.ndarray:
        """The entries of some insiders."""
        return np.concatenate([np.arange(self.start[k], self.start[k + 1]) for k in who])

    def within(self, place: np.ndarray) -> Insiders:
        """The same of some cells, by the new number of each cell, -1 for those that are left out."""
        at = place[self.cell]
        there = at >= 0
        _, who = np.unique(self.who[there], return_inverse=True)
        size = self.size[np.unique(self.who[there])]
        made = [(int(place[one]), frozenset(place[[*parts]].tolist())) for one, parts in self.made_of]
        known = tuple((one, parts) for one, parts in made if one >= 0 and -1 not in parts)
        return Insiders(who, at[there], self.down[there], self.up[there], size, self.coalition, known)

    def own(self, who: tuple[int, ...]) -> np.ndarray:
        """The cells that are the own of some insiders together, beside those of each."""
        of = self.entries(who)
        known, found = {*self.cell[of[self.up[of] == 0]].tolist()}, list[int]()
        while more := [one for one, parts in self.made_of if one not in known and parts <= known]:
            known.update(more)
            found += more
        return np.array(found, np.int64)


def no_insiders() -> Insiders:
    """Nobody but outsiders."""
    none = np.zeros(0, np.int64)
    return Insiders(none, none, np.zeros(0), np.zeros(0), none, 0)


def insiders_of(table: StatTable, sums: CellSums, least: np.ndarray, coalition: int) -> Insiders:
    """All contributors who know more of a cell than everybody does, that it is `least`; up to `coalition` together.

    Whoever are all contributors of a cell know it and every cell within it. A contributor who is one of more knows that
    a cell is no less than what they have in it, unless others may have less than nothing.
    """
    if not coalition:
        return no_insiders()
    people, value = table.contributors.ravel(), table.value.ravel()
    who, cell, size = _alone(people, sums, coalition)
    many = [len(size)]
    parts = [(who, cell, np.zeros(len(who)), np.zeros(len(who)))]
    sizes = [size]
    top = np.zeros((len(value), 0)) if table.negative else table.largest.reshape(len(value), -1)
    share = np.zeros(len(value))
    for n in range(1, min(coalition, top.shape[1]) + 1):
        share = share + top[:, n - 1]
        cells = np.flatnonzero((people > n) & (share > least) & (top[:, n - 1] > 0))
        down = np.maximum(value - share, 0.0)[cells]
        parts.append((many[-1] + np.arange(len(cells)), cells, down, np.full(len(cells), np.inf)))
        many.append(many[-1] + len(cells))
        sizes.append(np.full(len(cells), n))
    made = [np.concatenate(one) for one in zip(*parts, strict=True)]
    found = Insiders(made[0], made[1], made[2], made[3], np.concatenate(sizes), coalition)
    return replace(found, made_of=_made_of(people, sums, coalition)) if coalition > 1 else found


def _made_of(people: np.ndarray, sums: CellSums, most: int) -> tuple[tuple[int, frozenset[int]], ...]:
    """Each total of two to so many contributors, with its parts that are not empty."""
    found = []
    totals = sums.cell[sums.start[:-1]]
    for at in np.flatnonzero((people[totals] > 1) & (people[totals] <= most)):
        parts = sums.cell[sums.start[at] + 1 : sums.start[at + 1]]
        found.append((int(totals[at]), frozenset(parts[people[parts] > 0].tolist())))
    return tuple(found)


def _alone(people: np.ndarray, sums: CellSums, most: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Who (an insider per group of up to so many contributors who are all of a cell) knows which cells, and how many
    they are. A total of as many contributors as one of its parts has the same ones."""
    few, label = (people > 0) & (people <= most), np.arange(len(people))
    part = np.flatnonzero(sums.sign > 0)
    total, inner = sums.cell[sums.start[:-1]][sums.row[part]], sums.cell[part]
    same = few[total] & (people[total] == people[inner])
    while True:
        before = label.copy()
        least = np.minimum(label[total[same]], label[inner[same]])
        np.minimum.at(label, total[same], least)
        np.minimum.at(label, inner[same], least)
        if (label == before).all():
            break
    cells = np.flatnonzero(few)
    groups, who = np.unique(label[cells], return_inverse=True)
    order = np.argsort(total, kind="stable")
    first = np.searchsorted(total[order], np.arange(len(people) + 1))
    pairs = new = np.unique(who * len(people) + cells)
    while len(new):  # the parts of what they know, and theirs
        above = new % len(people)
        often = np.diff(first)[above]
        at = np.repeat(first[above] - np.cumsum(often) + often, often) + np.arange(int(often.sum()))
        below = np.unique(np.repeat(new - above, often) + inner[order[at]])
        new = np.setdiff1d(below, pairs, assume_unique=True)
        pairs = np.union1d(pairs, new)
    return pairs // len(people), pairs % len(people), people[groups]
