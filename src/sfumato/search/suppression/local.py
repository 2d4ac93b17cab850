"""Local suppression: groups over any columns, minimal unsafe combinations, and the cells that break them."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from sfumato.core.cells import Cells, roll_up
from sfumato.core.compiled import kernel
from sfumato.core.keys import SPREAD


@kernel
def mixed(code: Any, column: Any) -> Any:
    """Spread a code of a column over 64 bits."""
    key = (np.int64(code) * 64 + column + 1) * SPREAD
    key ^= key >> 29
    key *= SPREAD
    return key ^ (key >> 32)


@kernel
def sums_of(codes: np.ndarray) -> np.ndarray:
    """Per entry (a row of codes) the sum of its spread codes: without some columns, theirs are taken off."""
    sums = np.zeros(len(codes), np.int64)
    for e in range(len(codes)):
        for c in range(codes.shape[1]):
            sums[e] += mixed(codes[e, c], c)
    return sums


@kernel
def group_without(codes: np.ndarray, sums: np.ndarray, take: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, int]:
    """The group of each taken entry and the number of groups: entries that are equal in all but the columns.

    Entries with equal sums are compared in full, so that the groups are exact.
    """
    entries = len(take)
    capacity = np.int64(16)
    while capacity < 2 * entries:
        capacity *= 2
    keys = np.empty(capacity, np.int64)
    group = np.full(capacity, -1, np.int32)
    leader = np.empty(entries, np.int64)
    of = np.empty(entries, np.int32)
    matters = np.ones(codes.shape[1], np.bool_)
    for c in columns:
        matters[c] = False
    groups = 0
    for i in range(entries):
        e = take[i]
        key = sums[e]
        for c in columns:
            key -= mixed(codes[e, c], c)
        j = (key ^ (key >> 32)) & (capacity - 1)
        while group[j] >= 0:
            if keys[j] == key:
                other = leader[group[j]]
                same = True
                for c in range(codes.shape[1]):
                    if matters[c] and codes[e, c] != codes[other, c]:
                        same = False
                        break
                if same:
                    break
            j = (j + 1) & (capacity - 1)
        if group[j] < 0:
            group[j] = groups
            keys[j] = key
            leader[groups] = e
            groups += 1
        of[i] = group[j]
    return of, groups


@kernel
def rows_of(of: np.ndarray, groups: int, take: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Rows per group."""
    size = np.zeros(groups, np.int64)
    for i in range(len(take)):
        size[of[i]] += count[take[i]]
    return size


@kernel
def blank_if_enough(
    codes: np.ndarray,
    sums: np.ndarray,
    count: np.ndarray,
    small: np.ndarray,
    columns: np.ndarray,
    blank: np.ndarray,
    least: int,
) -> np.ndarray:
    """Blank the columns of those small entries that then are equal in `least` rows: small entries, and entries in which
    the columns are blank already. Gives the small entries that are left."""
    entries = len(codes)
    take = np.empty(entries, np.int64)
    is_small = np.zeros(entries, np.bool_)
    for i in range(len(small)):
        take[i] = small[i]
        is_small[small[i]] = True
    taken = len(small)
    for e in range(entries):
        if is_small[e]:
            continue
        bare = True
        for c in columns:
            if codes[e, c] != blank[c]:
                bare = False
                break
        if bare:
            take[taken] = e
            taken += 1
    take = take[:taken]
    of, groups = group_without(codes, sums, take, columns)
    size = rows_of(of, groups, take, count)
    left = np.empty(len(small), np.int64)
    remain = 0
    for i in range(len(small)):
        e = small[i]
        if size[of[i]] >= least:
            for c in columns:
                sums[e] += mixed(blank[c], c) - mixed(codes[e, c], c)
                codes[e, c] = blank[c]
        else:
            left[remain] = e
            remain += 1
    return left[:remain]


@kernel
def add_unsafe(
    of: np.ndarray,
    size: np.ndarray,
    least: int,
    small: np.ndarray,
    combination: int,
    head: np.ndarray,
    link: np.ndarray,
    bits: np.ndarray,
    used: int,
) -> int:
    """Add a combination of columns to the list of each small entry in which it is rarer than `least` rows and holds no
    combination that is in the list already: those are the minimal unsafe ones. Returns how many links are used."""
    for e in small:
        if size[of[e]] >= least:
            continue
        at = head[e]
        while at >= 0 and bits[at] & combination != bits[at]:
            at = link[at]
        if at < 0:
            bits[used] = combination
            link[used] = head[e]
            head[e] = used
            used += 1
    return used


@kernel
def break_unsafe(
    head: np.ndarray, link: np.ndarray, bits: np.ndarray, weight: np.ndarray, by_weight: bool, gone: np.ndarray
) -> None:
    """Mark cells as gone until every unsafe combination of every entry has one: greedily the column that breaks most
    of those left (per weight, where asked), ties by the lighter column, then the first."""
    columns = len(weight)
    hits = np.zeros(columns, np.int64)
    for e in range(len(head)):
        broken = np.int64(0)
        while True:
            hits[:] = 0
            at = head[e]
            left = 0
            while at >= 0:
                if bits[at] & broken == 0:
                    left += 1
                    for a in range(columns):
                        hits[a] += bits[at] >> a & 1
                at = link[at]
            if left == 0:
                break
            best, best_score = -1, -1.0
            for a in range(columns):
                if hits[a] > 0:
                    score = hits[a] / weight[a] if by_weight else float(hits[a])
                    if score > best_score or (score == best_score and weight[a] < weight[best]):
                        best, best_score = a, score
            broken |= np.int64(1) << best
            gone[e, best] = True


TRIED = 256  # sets of columns that are tried for the classes that are too small
IN_VAIN = 32  # sets that helped nobody, one after the other, before a column goes from all that is left


class Blanks:
    """Entries (distinct tuples of labels, with rows) some of whose cells are blanked.

    A blank is a value of its own: a class is entries that are equal, blanks included, and `blank[column]` is its code,
    that of missing values where there are some. `weight` says how much a column tells: its entropy.
    """

    def __init__(self, codes: np.ndarray, count: np.ndarray, blank: np.ndarray, least: int) -> None:
        self.state, self.blank = codes.astype(np.int32), blank.astype(np.int32)
        self.count, self.least = count, least
        self.sums = sums_of(self.state)
        self.by_column = np.ascontiguousarray(codes.T)
        self.identity = [np.arange(column.max() + 1) for column in self.by_column]
        self.everything = np.arange(len(codes))
        self.columns = np.flatnonzero((codes != codes[:1]).any(axis=0))  # others cannot tell anybody apart
        self.weight = np.array([_entropy(codes[:, c], count) for c in range(codes.shape[1])])

    def small(self) -> np.ndarray:
        """The entries whose class is too small."""
        of, groups = self._groups(self.everything, [])
        return np.flatnonzero(rows_of(of, groups, self.everything, self.count)[of] < self.least)

    def break_combinations(self, size: int, by_weight: bool) -> None:
        """Blank cells of entries with unsafe combinations: up to `size` columns whose labels fewer rows share than
        are asked for. Each entry loses few cells: a greedy hitting set of its minimal unsafe combinations."""
        small = self.small()
        head = np.full(len(self.state), -1, np.int64)
        link, bits, used = np.zeros(1024, np.int64), np.zeros(1024, np.int64), 0
        for width in range(1, size + 1):
            for chosen in combinations(self.columns.tolist(), width):
                columns = np.array(chosen, dtype=np.int64)
                whole = small[(self.state[np.ix_(small, columns)] != self.blank[columns]).all(axis=1)]
                shared = Cells((), self.by_column[columns], self.count, ())
                classes = roll_up(shared, [self.identity[c] for c in chosen], range(width))
                while used + len(whole) > len(link):
                    link, bits = np.concatenate([link, link]), np.concatenate([bits, bits])
                mask = sum(1 << c for c in chosen)
                used = add_unsafe(classes.class_of_cell, classes.size, self.least, whole, mask, head, link, bits, used)
        gone = np.zeros(self.state.shape, np.bool_)
        break_unsafe(head, link, bits, np.maximum(self.weight, 1e-9), by_weight, gone)
        self.state = np.where(gone, self.blank, self.state)
        self.sums = sums_of(self.state)

    def merge_small(self, spare: int) -> None:
        """Blank cells of entries in classes that are too small until there are none, or `spare` rows at most.

        Sets of columns are tried from the smallest on: where enough of the rows left are equal without them, those
        cells are blanked. What is left then loses the column without which it has the fewest classes, and so on.
        """
        tried = _sets_of_columns(self.columns.tolist(), self.weight)
        small = self.small()
        while len(small):
            vain = 0
            for columns in tried:
                if len(small) and vain < IN_VAIN:
                    before = len(small)
                    small = blank_if_enough(self.state, self.sums, self.count, small, columns, self.blank, self.least)
                    vain = vain + 1 if len(small) == before else 0
            if not len(small):
                return
            told = [c for c in self.columns.tolist() if (self.state[small, c] != self.blank[c]).any()]
            if not told:
                self._join(small, spare)
                return
            few = min(told, key=lambda c: (self._groups(small, [c])[1], self.weight[c]))
            self.state[small, few] = self.blank[few]
            self.sums = sums_of(self.state)
            small = np.intersect1d(small, self.small(), assume_unique=True)

    def _groups(self, take: np.ndarray, without: list[int]) -> tuple[np.ndarray, int]:
        of, groups = group_without(self.state, self.sums, take, np.array(without, dtype=np.int64))
        return np.asarray(of), int(groups)

    def _join(self, small: np.ndarray, spare: int) -> None:
        """Too few rows are blank in full: unless they may be suppressed, the class that costs least joins them."""
        if self.count[small].sum() <= spare:
            return
        rest = np.setdiff1d(self.everything, small)
        if len(rest):
            of, groups = self._groups(rest, [])
            told = (self.state[np.ix_(rest, self.columns)] != self.blank[self.columns]).sum(axis=1)
            cost = np.bincount(of, weights=self.count[rest] * told, minlength=groups)
            joined = rest[of == np.argmin(cost)]
            self.state[np.ix_(joined, self.columns)] = self.blank[self.columns]


def _sets_of_columns(columns: list[int], weight: np.ndarray) -> list[np.ndarray]:
    """Sets of columns by size, within a size the one that tells least first; as many as are worth trying."""
    found: list[np.ndarray] = []
    for size in range(1, len(columns)):
        sets = [np.array(chosen, dtype=np.int64) for chosen in combinations(columns, size)]
        if size > 1 and len(found) + len(sets) > TRIED:
            break
        found += sorted(sets, key=lambda chosen: float(weight[chosen].sum()))
    return found


def _entropy(codes: np.ndarray, count: np.ndarray) -> float:
    """Bits that a column tells."""
    rows = np.bincount(codes, weights=count)
    share = rows[rows > 0] / rows.sum()
    return float(-(share * np.log2(share)).sum())
