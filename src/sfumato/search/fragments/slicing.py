"""Slicing: T. Li, N. Li, J. Zhang, I. Molloy, Slicing: a new approach for privacy preserving data publishing, IEEE
TKDE 24(3), 2012."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np

from sfumato.core.cells import Cells, Histogram
from sfumato.core.keys import first_of, rank_tuples
from sfumato.core.parameters import Whole, check_fields
from sfumato.core.policy import Policy, Verdict
from sfumato.core.protocols import Search
from sfumato.core.random_stream import stream_of
from sfumato.errors import Infeasible, PolicyError
from sfumato.search.fragments.anatomy import greatest, hint_of, mark_of, required_diversity
from sfumato.search.fragments.association import clustered, in_bins, mean_square_contingency, released_to
from sfumato.search.mondrian.mondrian import cut_buckets
from sfumato.search.problem import CellSplit, Problem, Slices, Solution

GROUPS = 3  # of columns, where that is not said
PAIRS = "what stands together in the sensitive group of columns"


@dataclass(frozen=True)
class Slicing(Search):
    """Put columns that go together into groups, and publish each of these by buckets of rows (_TS, heuristic).

    Columns are clustered by their mean-square contingency (k-medoids); one group holds the sensitive column. Buckets
    are cut as Mondrian cuts, on the quasi-identifiers, and nothing is generalised. A cut is made where both sides are
    l-diverse: among their rows with equal values of the columns beside the sensitive one, at most one in l has the same
    sensitive value. Which rows of a bucket belong together in two groups of columns is not published.

    `c`: groups of columns, 3 without one. `alpha`: columns of the sensitive group, those most associated with the
    sensitive one; without, as they are clustered, less those beside which l-diversity is impossible. `seed`: of what
    is drawn, the numbers of buckets and which rows are suppressed, under the owner's key; without one, by chance.
    """

    c: Annotated[int | None, Whole(2)] = None
    alpha: Annotated[int | None, Whole(1)] = None
    seed: Annotated[int | None, Whole(0)] = None

    code: ClassVar[str] = "_TS"
    guarantee: ClassVar[str] = "heuristic"
    fragments: ClassVar[bool] = True
    splits: ClassVar[bool] = True
    by_level: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_fields(self, "slicing")

    def __call__(self, problem: Problem) -> Solution:
        """Cluster the columns of the problem and cut its rows."""
        began = time.perf_counter()
        attribute, l = required_diversity(problem.policy.require)
        cells, histogram = problem.cells, problem.cells.histograms[attribute]
        value = histogram.value[histogram.start[:-1]]  # rows of a cell have one: see `counted(..., jointly=True)`
        codes, sizes = [*cells.codes, value], [*cells.sizes, len(histogram.overall)]
        ordered = [a.categories.ordered for a in problem.attributes]
        groups, distance = self._groups(codes, sizes, [*ordered, False], cells.count)
        most = min(problem.limit, problem.rows - 1)
        if self.alpha is None:  # no column stands beside the sensitive one at the cost of a row
            most = min(most, int(_beside(codes, sizes, groups[-1][-1:]).excess(cells.count, l).sum()))
        while True:
            beside = _beside(codes, sizes, groups[-1])
            excess = beside.excess(cells.count, l)
            suppressed = int(excess.sum())
            if suppressed <= most:
                break
            if self.alpha is not None or len(groups[-1]) == 1:
                raise self._infeasible(problem, attribute, l, suppressed, beside)
            groups = released_to(groups, distance)
        rng = stream_of(self.seed, mark_of(problem, value), "slicing").generator()
        left = cells.count - _drawn(cells.count, beside.pair, excess, rng)
        bucket, buckets, checks = _cut(problem, beside, left, l)
        bucket = np.where(left > 0, rng.permutation(buckets)[bucket], -1)
        split, kept = None, left > 0
        if suppressed:
            cell = np.concatenate([np.flatnonzero(left > 0), np.flatnonzero(left < cells.count)])
            rows = np.concatenate([left[left > 0], (cells.count - left)[left < cells.count]])
            stays = np.arange(len(cell)) < np.count_nonzero(kept)
            order = np.argsort(cell, kind="stable")
            split, kept = CellSplit(cell[order], rows[order]), stays[order]
            bucket = np.where(kept, bucket[cell[order]], -1)
        names = [*(a.name for a in problem.attributes), attribute]
        slices = tuple(tuple(names[i] for i in group) for group in groups)
        share = suppressed / problem.rows
        verdict = Verdict(True, suppressed, share, {a.name: share for a in problem.attributes})
        seconds = time.perf_counter() - began
        recoding = Slices(bucket, {}, split, columns=slices)
        return Solution(recoding, verdict, kept, False, checks, seconds, reproducible=self.seed is not None)

    def _groups(
        self, codes: list[np.ndarray], sizes: list[int], ordered: list[bool], weight: np.ndarray
    ) -> tuple[list[list[int]], np.ndarray]:
        """The groups of columns by number, that of the sensitive column last, and how far columns are apart."""
        n = len(codes)
        c = min(GROUPS, n if self.alpha is None else n - self.alpha + 1) if self.c is None else self.c
        if c > n or (self.alpha is not None and self.alpha + c - 1 > n):
            what = "slicing: more groups of columns than there are columns"
            raise PolicyError(
                what, got=f"{c} groups", allowed=f"2 to {n if self.alpha is None else n - self.alpha + 1}"
            )
        if c < 2:
            raise PolicyError(
                "slicing: alpha leaves no column for another group", got=self.alpha, allowed=f"1 to {n - 1}"
            )
        one = [
            in_bins(code, size, weight) if line else (code, size)
            for code, size, line in zip(codes, sizes, ordered, strict=True)
        ]
        distance = np.zeros((n, n))
        for i in range(n):
            for j in range(i):
                (ours, m), (theirs, k) = one[i], one[j]
                distance[i, j] = distance[j, i] = 1 - mean_square_contingency(ours, theirs, (m, k), weight)
        return clustered(distance, c, self.alpha), distance

    def _infeasible(self, problem: Problem, attribute: str, l: int, suppressed: int, beside: Beside) -> Infeasible:
        alone, limit = self.alpha in (None, 1), min(problem.limit, problem.rows - 1)
        what, count = f'a value of "{attribute}" has more than one row in {l}', problem.cells.count
        closest, hint = {"suppressed": suppressed}, "take a smaller alpha, or leave it out"
        if alone:
            l = min(l, len(beside.key) + 1)  # values there are
            closest["l"] = greatest(lambda fewer: int(beside.excess(count, fewer).sum()), l, limit)
            hint = hint_of(problem.policy.require, closest["l"], suppressed < problem.rows)
        else:
            what += " among those with equal values of the columns beside it"
        return Infeasible(
            f"{what}, so that a bucket would have too many of it",
            got=f"{suppressed} of {problem.rows} rows would have to be suppressed",
            allowed=f"at most {limit}",
            hint=hint,
            closest=closest,
        )


@dataclass(frozen=True, eq=False)
class Beside:
    """The distinct tuples of the sensitive group of columns: `pair` of each cell, and `key` of each pair, the number of
    what stands beside the sensitive value. Pairs ascend by key."""

    pair: np.ndarray
    key: np.ndarray

    def rows(self, count: np.ndarray) -> np.ndarray:
        """Rows of each pair."""
        return np.bincount(self.pair, count, minlength=len(self.key)).astype(np.int64)

    def excess(self, count: np.ndarray, l: int) -> np.ndarray:
        """How many rows of each pair are too many: the fewest without which no value has more than one row in l of
        those with an equal key."""
        rows = self.rows(count)
        high = np.zeros(int(self.key[-1]) + 1, np.int64)
        np.maximum.at(high, self.key, rows)
        low = np.zeros_like(high)
        while (low < high).any():  # the sum of min(n, t) is concave in t, so what is enough for t is enough for less
            middle = (low + high + 1) // 2
            stay = np.bincount(self.key, np.minimum(rows, middle[self.key]), minlength=len(high))
            enough = stay >= l * middle
            low, high = np.where(enough, middle, low), np.where(enough, high, middle - 1)
        return np.asarray(np.maximum(rows - low[self.key], 0))


def _beside(codes: list[np.ndarray], sizes: list[int], group: list[int]) -> Beside:
    """The pairs of the sensitive group of columns, of which the last is the sensitive one."""
    *others, value = group
    key, keys = np.zeros(len(codes[0]), np.int64), 1
    if others:
        key, keys = rank_tuples([codes[i] for i in others], [sizes[i] for i in others], len(key))
    pair, pairs = rank_tuples([key, codes[value]], [keys, sizes[value]], len(key))
    return Beside(pair, np.asarray(key)[first_of(pair, pairs)].astype(np.int64))


def _drawn(count: np.ndarray, pair: np.ndarray, excess: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """How many rows of each cell are suppressed: of each pair so many, any of them with the same chance."""
    if not excess.any():
        return np.zeros_like(count)
    some = np.flatnonzero(excess[pair] > 0)
    row = rng.permutation(np.repeat(some, count[some]))
    row = row[np.argsort(pair[row], kind="stable")]
    mine = pair[row]
    place = np.arange(len(row)) - np.searchsorted(mine, mine)
    return np.bincount(row[place < excess[mine]], minlength=len(count))


@dataclass(frozen=True)
class DiverseBuckets:
    """Whether buckets are l-diverse: of the rows with one key, at most one in l has the same sensitive value."""

    key: np.ndarray
    l: int
    monotonicity: ClassVar[str] = "merge"
    needs: ClassVar[tuple[str, ...]] = (PAIRS,)
    quasi: ClassVar[None] = None

    @property
    def least_size(self) -> int:
        """A value each."""
        return self.l

    def holds(self, classes: Any) -> np.ndarray:
        """Which buckets are."""
        found = classes.histogram(PAIRS)
        of = np.repeat(np.arange(len(classes.size)), np.diff(found.start))
        key = self.key[found.value]
        first = np.flatnonzero(np.append(True, (np.diff(of) != 0) | (np.diff(key) != 0)))
        rows, most = np.add.reduceat(found.count, first), np.maximum.reduceat(found.count, first)
        good = np.ones(len(classes.size), np.bool_)
        good[of[first[most * self.l > rows]]] = False
        return good


def _cut(problem: Problem, beside: Beside, left: np.ndarray, l: int) -> tuple[np.ndarray, int, int]:
    """The bucket of each cell that has rows left, 0 for others, how many buckets, and how many cuts were checked."""
    cells, stay = problem.cells, np.flatnonzero(left)
    d = len(problem.policy.columns)
    pair, count = beside.pair[stay].astype(np.int32), left[stay]
    often = np.bincount(beside.pair, left, minlength=len(beside.key)).astype(np.int64)
    pairs = Histogram(np.arange(len(stay) + 1), pair, count, often, ())
    own = Cells(cells.names[:d], cells.codes[:d, stay], count, cells.sizes[:d], {PAIRS: pairs})
    require: Any = (DiverseBuckets(beside.key, l),)
    policy = Policy(problem.policy.quasi, require, 0, problem.policy.loss)
    part, parts, checks = cut_buckets(
        replace(problem, attributes=problem.attributes[:d], cells=own, policy=policy, rows=int(count.sum()))
    )
    found = np.zeros(len(cells), np.int64)
    found[stay] = part
    return found, parts, checks
