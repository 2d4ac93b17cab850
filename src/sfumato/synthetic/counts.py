"""Tables of counts: columns as few codes, of rows or of the distinct tuples of an engine, and values inside a code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl

from sfumato.core.keys import rank_tuples, tally
from sfumato.engines.protocol import COUNT
from sfumato.synthetic.columns import SyntheticColumn, column_of, mostly_alone

Count = Callable[[Sequence[str]], pl.DataFrame]  # distinct tuples of columns, and in COUNT how many rows have them
GROUPS = 64  # of the codes of a column, where others depend on it
INSIDE = ("donor", "uniform")  # how a value is drawn inside a bin


@dataclass(frozen=True, eq=False, repr=False)
class CodedColumn:
    """A column as codes from 0: bins of numbers, levels of categories, and missing after them.

    >>> column = coded_column(pl.Series("x", [1, 1, 1, 5, 6, None]), None, 2)
    >>> column.codes(pl.Series("x", [1, 6, None])).tolist(), column.size
    ([0, 1, 2], 3)
    """

    column: SyntheticColumn
    points: np.ndarray  # its different values, ascending
    often: np.ndarray  # rows that have each
    code: np.ndarray  # that each is of
    lacking: int  # rows that miss it

    @cached_property
    def size(self) -> int:
        """How many codes there are."""
        return self.known + (self.lacking > 0)

    @cached_property
    def known(self) -> int:
        """How many codes of values there are."""
        return int(self.code[-1]) + 1 if len(self.code) else 0

    @cached_property
    def counts(self) -> np.ndarray:
        """The rows of each code."""
        found = np.bincount(self.code, weights=self.often, minlength=self.known).astype(np.int64)
        return np.append(found, self.lacking) if self.lacking else found

    @cached_property
    def _ends(self) -> np.ndarray:
        """Where the points of each code end."""
        return np.searchsorted(self.code, np.arange(self.known), side="right")

    @property
    def firsts(self) -> np.ndarray:
        """A value of each code, nan or -1 of missing."""
        found = self.points[np.append(0, self._ends[:-1])] if self.known else self.points
        missing = np.nan if self.column.is_number else -1
        return np.append(found, missing).astype(np.float64) if self.lacking else found

    def cut(self, marks: np.ndarray) -> CodedColumn:
        """The same with bins cut between neighbours that have different marks."""
        if not self.known:
            return self
        code = np.append(0, np.cumsum((np.diff(self.code) > 0) | (np.diff(marks) != 0)))
        return replace(self, code=code)

    def codes(self, values: pl.Series) -> np.ndarray:
        """The code of each value."""
        x = self.column.encode(values)
        if not self.column.is_number:
            return np.where(x < 0, self.known, x).astype(np.int64)
        found = np.searchsorted(self.points[self._ends - 1], x)
        return np.where(np.isnan(x), self.known, np.minimum(found, max(self.known - 1, 0)))

    def values(self, codes: np.ndarray, rng: np.random.Generator, inside: str | None) -> np.ndarray:
        """A value of each code: one of its own, as often as they are, or of the range that they span. Unless `inside`
        says which, one of its own, or between two neighbours where most rows have a number of their own."""
        if not self.column.is_number:
            return np.where(codes < self.known, codes, -1)
        found = np.full(len(codes), np.nan)
        there = codes < self.known
        code = codes[there]
        last = self._ends[code] - 1
        first = np.append(0, self._ends[:-1])[code]
        if inside != "uniform":
            upto, u = np.cumsum(self.often), rng.random(len(code))
            if inside is None and mostly_alone(self.often, int(self.counts.sum())):
                middle = upto - self.often / 2  # from that of the first to that of the last, so that no end is drawn
                at = middle[first] + u * (middle[last] - middle[first])
                found[there] = np.interp(at, middle, self.points)
            else:
                low = (upto - self.often)[first]
                row = np.floor(low + u * (upto[last] - low))
                found[there] = self.points[np.searchsorted(upto, row, side="right")]
        else:
            low, high = self.points[first], self.points[last]
            whole = 1.0 if self.column.step else 0.0  # each whole number alike
            drawn = low - whole / 2 + rng.random(len(code)) * (high - low + whole)
            found[there] = np.clip(drawn, low, high)
        return found


def coded_column(values: pl.Series, weights: np.ndarray | None, bins: int) -> CodedColumn:
    """A column as codes: numbers in bins of about equal counts, frequent ones each by itself. `weights` are the rows
    of each value, where values are distinct ones that were counted."""
    column = column_of(values)
    x = column.encode(values)
    rows = np.ones(len(x), np.int64) if weights is None else weights
    missing = np.isnan(x) if column.is_number else x < 0
    points, of = np.unique(x[~missing], return_inverse=True)
    often = np.bincount(of, weights=rows[~missing], minlength=len(points)).astype(np.int64)
    code = np.arange(len(points))
    if column.is_number and len(points) > bins:
        share = often / often.sum()
        bin = np.floor((np.cumsum(share) - share / 2) * bins)
        alone = share >= 1 / bins
        code = np.append(0, np.cumsum((np.diff(bin) > 0) | alone[1:] | alone[:-1]))
    return CodedColumn(column, points, often, code, int(rows[missing].sum()))


Cut = Callable[[Sequence[CodedColumn]], tuple[CodedColumn, ...]]


@dataclass(frozen=True, eq=False, repr=False)
class CodedTable:
    """A table by the codes of its columns: its rows in memory, or what an engine counts of some columns at a time."""

    columns: tuple[CodedColumn, ...]
    rows: int
    _codes: tuple[np.ndarray, ...] = ()
    _count: Count | None = None

    @staticmethod
    def of(table: pl.DataFrame, bins: int, cut: Cut = tuple) -> CodedTable:
        """The rows of a table; `cut` may cut the bins of columns further."""
        columns = cut([coded_column(column, None, bins) for column in table.iter_columns()])
        coded = zip(columns, table.iter_columns(), strict=True)
        return CodedTable(columns, table.height, tuple(column.codes(values) for column, values in coded))

    @staticmethod
    def counted(count: Count, columns: Mapping[str, pl.DataType], bins: int, cut: Cut = tuple) -> CodedTable:
        """A table that is counted elsewhere, with the types of its columns."""
        found = []
        for name, dtype in columns.items():
            frame = count([name])
            found.append(coded_column(frame.get_column(name).cast(dtype), _rows_of(frame), bins))
        return CodedTable(cut(found), int(found[0].counts.sum()), (), count)

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [one.column.name for one in self.columns]

    def codes(self, which: Sequence[int]) -> tuple[list[np.ndarray], np.ndarray | None]:
        """The codes of some columns, of rows or of tuples, and how many rows have each tuple."""
        if self._count is None:
            return [self._codes[i] for i in which], None
        names = [self.columns[i].column.name for i in which]
        frame = self._count(names)
        codes = [self.columns[i].codes(frame.get_column(name)) for i, name in zip(which, names, strict=True)]
        return codes, _rows_of(frame)


def _rows_of(frame: pl.DataFrame) -> np.ndarray:
    return frame.get_column(COUNT).cast(pl.Int64).to_numpy()


def tuples(codes: Sequence[np.ndarray], sizes: Sequence[int], rows: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """The number of each entry's tuple among the distinct ones, and how many rows have each of these."""
    of, groups = rank_tuples(codes, sizes, len(codes[0]) if codes else 0)
    return of, tally(of, groups, rows)


def entropy(counts: np.ndarray) -> float:
    """The entropy of shares, in nats.

    >>> round(entropy(np.array([1, 1, 2])) / float(np.log(2)), 9)
    1.5
    """
    total = counts.sum()
    return float(np.log(total) - (counts * np.log(np.maximum(counts, 1))).sum() / total) if total else 0.0


def mutual_information(one: np.ndarray, two: np.ndarray, both: np.ndarray) -> float:
    """What columns tell of others, in nats, less what they would by chance: from the counts of the combinations of the
    one, the others, and all of them.

    >>> half = np.array([500, 500])
    >>> round(mutual_information(half, half, half) / float(np.log(2)), 2)
    1.0
    """
    chance = (len(one) - 1) * (len(two) - 1) / (2 * max(int(both.sum()), 1))
    return entropy(one) + entropy(two) - entropy(both) - chance


def frequent_groups(column: CodedColumn) -> np.ndarray:
    """The group of each code: its own, where there are few, else those that are rare are one."""
    if column.size <= GROUPS:
        return np.arange(column.size)
    frequent = np.sort(np.argsort(-column.counts, kind="stable")[: GROUPS - 1])
    found = np.full(column.size, GROUPS - 1)
    found[frequent] = np.arange(GROUPS - 1)
    return found


def pair_information(table: CodedTable, groups: Sequence[np.ndarray]) -> np.ndarray:
    """The mutual information of each two columns, their codes in some groups."""
    n = len(table.columns)
    found = np.zeros((n, n))
    alone = [np.bincount(group, weights=c.counts) for group, c in zip(groups, table.columns, strict=True)]
    for i in range(n):
        for j in range(i):
            codes, rows = table.codes((i, j))
            grouped = [groups[y][code] for y, code in zip((i, j), codes, strict=True)]
            _, both = tuples(grouped, [len(alone[i]), len(alone[j])], rows)
            found[i, j] = found[j, i] = max(mutual_information(alone[i], alone[j], both), 0.0)
    return found


def spanning_order(information: np.ndarray) -> list[tuple[int, int]]:
    """The columns in an order in which each goes with one before it, by the tree of the largest mutual information
    (Chow and Liu 1968): the column, and the one before it, itself where nothing before tells of it.

    >>> spanning_order(np.array([[0, 2, 0], [2, 0, 1], [0, 1, 0]]))
    [(1, 1), (0, 1), (2, 1)]
    """
    n = len(information)
    if not n:
        return []
    first = int(np.argmax(information.sum(axis=1)))
    best, parent = information[first].copy(), np.full(n, first)
    left = np.ones(n, np.bool_)
    found = [(first, first)]
    left[first] = False
    while left.any():
        x = int(np.argmax(np.where(left, best, -1.0)))
        found.append((x, int(parent[x]) if best[x] > 0 else x))
        left[x] = False
        closer = information[x] > best
        best, parent = np.where(closer, information[x], best), np.where(closer, x, parent)
    return found
