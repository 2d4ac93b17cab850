"""Local suppression: single cells are blanked until every class that remains is large enough."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from sfumato.cells import Cells, roll_up
from sfumato.kernels.argus import add_unsafe, blank_if_enough, break_unsafe, group_without, rows_of, sums_of

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
                used = add_unsafe(classes.of_cell, classes.size, self.least, whole, mask, head, link, bits, used)
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
