"""Mondrian: multidimensional recoding by recursive cuts. LeFevre, DeWitt and Ramakrishnan, ICDE 2006."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Annotated, Any, ClassVar

import numpy as np

from sfumato.core.cells import classes_of
from sfumato.core.compiled import workers
from sfumato.core.label_grammar import STAR, listed
from sfumato.core.labels import Labels, of_nodes, of_ranges, renamed
from sfumato.core.parameters import Column, OneOf, Whole, Written, YesNo, check_fields
from sfumato.core.policy import holds
from sfumato.core.protocols import Search
from sfumato.errors import Infeasible, PolicyError
from sfumato.search.events import (
    ChildrenFound,
    ClassClosed,
    ColumnChosen,
    CutAllowed,
    CutRefused,
    Event,
    LabelsGiven,
    MedianFound,
    RegionOpened,
    RegionsMade,
)
from sfumato.search.mondrian.cuts import BALANCED, BEST, FIRST, LOWER_MEDIAN, RANDOM, WIDEST, CutRules
from sfumato.search.mondrian.goals import goal_of, plain_queries
from sfumato.search.mondrian.parts import FreeParts, OrderedColumn, Parts, columns_of, shape_of, stretch
from sfumato.search.mondrian.traced import cut_all
from sfumato.search.problem import (
    LABELS,
    CellSplit,
    Partition,
    Problem,
    Solution,
    along_hierarchy,
    by_class,
    check_root,
    judge,
    refine,
    tell_labels,
)

CUTS = {"lower-median": LOWER_MEDIAN, "balanced": BALANCED, "best": BEST}
ORDERS = {"first": FIRST, "random": RANDOM}
DIMENSIONS = ("widest", "first", "random", "ncp", "gain", "workload")
CATEGORIES = ("hierarchy", "order", "optimised")


@dataclass(frozen=True)
class Mondrian(Search):
    """Cut a column at its median, again and again, while both sides satisfy the policy (CG_, heuristic).

    `cut`: which cuts a column offers. "balanced": the better balanced of v <= median and v < median that is allowed;
    "lower-median": only v <= median; "best": where those are refused, the next positions outward, and children of a
    node that are too small are put together.

    `dimension`: which cut is made. "widest": of the column with the widest normalised range; "first": of the first
    column that has one; "random": of one of these columns, drawn by `seed`; "ncp": the one whose sides have the least
    NCP; "gain": the one that tells most about `class_attribute`; "workload": the one that saves `queries` most rows in
    vain. These three score every position with `cut="best"`, else the cuts at medians, and take the widest column where
    nothing is gained. A query maps columns to a value, (low, high) or a set of values.

    `relaxed`: rows at the median of a column with order go to either side, so that sides differ by one row at most;
    classes may overlap. Rows of one category stay together.

    `categories`: "hierarchy" cuts categories with a hierarchy into the children of the node they span, "order" all
    in two, by the order of text or of the leaves; "optimised" too, after putting values, or children of a node,
    whose rows are similar next to each other.

    `labels`: columns print labels of their hierarchies where one was "given", or all of them of a "hierarchy", which is
    learned where none was given; other numbers and dates print as "ranges", as all of them do with that, or as "mean"
    or "median". With `cut="best"` what has an order is cut in two in any case.

    `class_attribute`: the column that cuts shall tell of, under "gain". `queries`: those of the workload, under
    "workload". `seed`: of the random numbers, under "random".
    """

    code: ClassVar[str] = "CG_"
    guarantee: ClassVar[str] = "heuristic"
    cut: Annotated[str, OneOf(tuple(CUTS))] = "balanced"
    dimension: Annotated[str, OneOf(DIMENSIONS)] = "widest"
    relaxed: Annotated[bool, YesNo()] = False
    categories: Annotated[str, OneOf(CATEGORIES)] = "hierarchy"
    labels: Annotated[str, OneOf((*LABELS, "mean", "median"))] = "given"
    class_attribute: Annotated[str | None, Column()] = None
    queries: Annotated[Any, Written("list")] = None
    seed: Annotated[int, Whole(0)] = 0

    def __post_init__(self) -> None:
        check_fields(self, "mondrian")
        if self.relaxed and self.cut == "lower-median":
            raise PolicyError(
                "mondrian: relaxed cuts balance the sides", got="cut lower-median", allowed="balanced, best"
            )
        for name, of in (("class_attribute", "gain"), ("queries", "workload")):
            if (getattr(self, name) is None) == (self.dimension == of):
                raise PolicyError(
                    f'mondrian: {name} goes with dimension "{of}"',
                    got=f"dimension {self.dimension}, {name} "
                    + ("not given" if getattr(self, name) is None else "given"),
                )
        if self.queries is not None:
            object.__setattr__(self, "queries", plain_queries(self.queries))

    @property
    def splits(self) -> bool:
        """Whether rows with equal values may go to different classes."""
        return self.relaxed

    @property
    def needs(self) -> tuple[str, ...]:
        """The columns whose histograms it looks at."""
        return () if self.class_attribute is None else (self.class_attribute,)

    @property
    def plain(self) -> bool:
        """Whether its cuts are those of the paper, which have a kernel of their own."""
        medians = self.dimension in ("widest", "first") and self.cut != "best" and not self.relaxed
        return medians and self.categories == "hierarchy"

    @property
    def traces(self) -> tuple[type[Event], ...]:
        """The kinds of its events, where its cuts are those of the paper."""
        if not self.plain:
            return ()
        cuts = RegionOpened, ColumnChosen, MedianFound, ChildrenFound, CutAllowed, CutRefused, RegionsMade
        return *cuts, ClassClosed, LabelsGiven

    def __call__(self, problem: Problem) -> Solution:
        """Cut the cells of the problem; all parts of a round are cut, and checked, together."""
        began = time.perf_counter()
        problem = by_class(problem)
        self._refuse(problem)
        check_root(problem)
        columns = columns_of(problem, self.categories, self.labels, self.cut)
        parts = self._parts(problem, columns)
        traced = problem.trace is not None
        starts, ends, checks = cut_all(problem, columns, parts) if traced else _cut_all(problem, parts)
        partition = self._partition(problem, columns, parts, starts, ends)
        seconds = time.perf_counter() - began
        labels = [partition.labels[a.name] for a in problem.attributes]
        judged = problem if partition.split is None else refine(problem, partition.split)
        tell_labels(judged, partition)
        kept, verdict, _ = judge(judged, [(label, label.of[partition.class_of_cell]) for label in labels])
        if not verdict.satisfied:  # classes that print the same, or the same in one of several sets, are one
            raise Infeasible(
                "mondrian found classes that satisfy the policy one by one, but not as they print",
                got=f"{verdict.suppressed} of {problem.rows} rows in classes that violate it",
                allowed=f"at most {min(problem.limit, problem.rows - 1)}",
                closest={"suppressed": verdict.suppressed},
            )
        return Solution(partition, verdict, kept, False, checks, seconds)

    def _refuse(self, problem: Problem) -> None:
        """What cannot be done."""
        if problem.levels:
            raise PolicyError(
                "levels bound full-domain searches only",
                got="search mondrian",
                hint='leave levels out, or use search="optimal"',
            )
        apart = [c.model for c in problem.policy.require if c.monotonicity == "none"]
        means = self.labels in ("mean", "median")
        along = any(a.categories.ordered and along_hierarchy(a, self.labels) for a in problem.attributes)
        if apart and (self.relaxed or means or along):
            raise PolicyError(
                f"mondrian: classes that print the same become one, which {', '.join(apart)} may not survive",
                got="relaxed" if self.relaxed else f"labels {self.labels}",
                allowed='strict cuts with labels "ranges"',
            )

    def _parts(self, problem: Problem, columns: list[OrderedColumn]) -> Parts:
        """The whole table as one part; the plain options have a kernel of their own."""
        shape = shape_of(columns, problem.policy.loss)
        order = ORDERS.get(self.dimension, WIDEST)
        rules = CutRules(problem.policy.least_size, CUTS[self.cut], self.relaxed, order, self.seed)
        goal = goal_of(problem, columns, shape, self.dimension, self.class_attribute, self.queries)
        return Parts(problem, columns, shape, rules) if self.plain else FreeParts(problem, columns, shape, rules, goal)

    def _partition(
        self, problem: Problem, columns: list[OrderedColumn], parts: Parts, starts: np.ndarray, ends: np.ndarray
    ) -> Partition:
        """The class of each cell, or of each piece, and the labels of each class."""
        places, n, idx = parts.settled(starts, ends)
        width = ends - starts
        first = np.cumsum(width) - width
        labels = {
            column.attribute.name: labels_of(column, self.labels, places[i], n, first)
            for i, column in enumerate(columns)
        }
        of_piece = np.repeat(np.arange(len(starts), dtype=np.int32), width)
        if len(idx) == len(problem.cells):
            class_of_cell = np.empty(len(idx), np.int32)
            class_of_cell[idx] = of_piece
            return Partition(class_of_cell, labels)
        order = np.argsort(idx, kind="stable")
        return Partition(of_piece[order], labels, CellSplit(idx[order].astype(np.int64), n[order]))


def cut_buckets(problem: Problem) -> tuple[np.ndarray, int, int]:
    """The part of each cell, by cuts of the widest column at its balanced median, how many parts there are, and how
    many cuts were checked: Mondrian where nothing is generalised, so that no hierarchy and no label counts."""
    columns = columns_of(problem, "hierarchy", "ranges", "balanced")
    rules = CutRules(problem.policy.least_size, BALANCED, False, WIDEST)
    parts = Parts(problem, columns, shape_of(columns, problem.policy.loss), rules)
    starts, ends, checks = _cut_all(problem, parts)
    found = np.empty(len(problem.cells), np.int64)
    found[parts.idx] = np.repeat(np.arange(len(starts)), ends - starts)
    return found, len(starts), checks


def _cut_all(problem: Problem, parts: Parts) -> tuple[np.ndarray, np.ndarray, int]:
    """Where the final parts start and end, and how many cuts were checked."""
    by_size = problem.policy.by_size
    start, end, skip = np.array([0]), np.array([len(problem.cells)]), np.zeros(1, np.int64)
    done: list[tuple[np.ndarray, np.ndarray]] = []
    finished = checks = 0
    with workers() as pool:
        while len(start):
            kids = parts.cut(start, end, skip, pool)
            stuck = kids == 0
            checks += int((~stuck).sum())
            done.append((start[stuck], end[stuck]))
            finished += int((end - start)[stuck].sum())
            first, last, of_part = parts.sides(start, end, kids)
            if by_size:
                parts.accept(first, last)
                start, end, skip = first, last, np.zeros(len(first), np.int64)
            else:  # a cut that the other criteria refuse: the part tries its next one
                good = _allowed(problem, parts, first, last, of_part, len(start))
                again, fine = ~stuck & ~good, good[of_part]
                parts.accept(first[fine], last[fine])
                skip = np.concatenate([np.zeros(int(fine.sum()), np.int64), skip[again] + 1])
                start, end = np.concatenate([first[fine], start[again]]), np.concatenate([last[fine], end[again]])
            problem.progress("cutting", min(finished / len(problem.cells), 1.0))
    starts = np.concatenate([s for s, _ in done])
    order = np.argsort(starts)
    return starts[order], np.concatenate([e for _, e in done])[order], checks


def _allowed(
    problem: Problem, parts: Parts, first: np.ndarray, last: np.ndarray, of_part: np.ndarray, count: int
) -> np.ndarray:
    """Per part, whether all its sides satisfy the criteria."""
    good = np.ones(count, np.bool_)
    if len(first):
        side = np.repeat(np.arange(len(first), dtype=np.int32), last - first)
        cells, order = parts.taken(stretch(first, last))
        sides = classes_of(cells, side[order], len(first))
        np.logical_and.at(good, of_part, holds(problem.policy.require, sides))
    return good


DIGITS = 6  # significant, of a mean or median; more where the class is narrower than that


def labels_of(column: OrderedColumn, printed: str, places: np.ndarray, n: np.ndarray, starts: np.ndarray) -> Labels:
    """The labels of one column: `places` and rows `n` of the pieces, the pieces of class c from starts[c]."""
    attribute = column.attribute
    low, high = np.minimum.reduceat(places, starts), np.maximum.reduceat(places, starts)
    if column.tree is not None:
        level = np.argmax(column.tree[:, low] == column.tree[:, high], axis=0)
        return of_nodes(attribute, level, column.tree[level, low])
    if not attribute.categories.ordered and (np.diff(column.place) < 0).any():
        return _of_sets(column, low, high)
    labels = of_ranges(attribute, low, high)
    if printed not in ("mean", "median") or attribute.kind not in ("integer", "decimal"):
        return labels
    of = labels.of
    told = (labels.lo < labels.hi)[of] & ~labels.star[of]  # a class of one value prints it, mixed with missing ones: *
    middle = _means if printed == "mean" else _medians
    return _named(labels, told, middle(column, places, n, starts))


def _means(column: OrderedColumn, places: np.ndarray, n: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """The mean of the rows of each class."""
    position = column.attribute.categories.position
    assert position is not None
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(np.add.reduceat(position[places] * n, starts) / np.add.reduceat(n, starts))


def _medians(column: OrderedColumn, places: np.ndarray, n: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """The median of the rows of each class: the mean of the two in the middle where their number is even."""
    position = column.attribute.categories.position
    assert position is not None
    of_piece = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(places))))
    order = np.lexsort((places, of_piece))
    upto = np.cumsum(n[order])
    rows = np.add.reduceat(n, starts)
    before = np.cumsum(rows) - rows
    lower = places[order[np.searchsorted(upto, before + (rows - 1) // 2, side="right")]]
    upper = places[order[np.searchsorted(upto, before + rows // 2, side="right")]]
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(position[lower] / 2 + position[upper] / 2)


def _named(labels: Labels, told: np.ndarray, number: np.ndarray) -> Labels:
    """The labels with a number in place of the range, for the classes where `told`."""
    position = labels.attribute.categories.position
    assert position is not None
    words = []
    for label, told_here, x in zip(labels.of.tolist(), told.tolist(), number.tolist(), strict=True):
        word = labels.text[label]
        if told_here and np.isfinite(x):
            word = number_text(x, float(position[labels.lo[label]]), float(position[labels.hi[label]]))
        words.append(word)
    return renamed(labels, words)


def number_text(x: float, low: float, high: float) -> str:
    """A number between low and high, in six significant digits, or as many as keep it there.

    >>> number_text(100 / 3, 31, 35), number_text(20240102.5, 20240102, 20240103), number_text(2e7, 1e7, 3e7)
    ('33.3333', '20240102', '20000000')
    """
    for digits in range(DIGITS, 18):
        text = f"{x:.{digits}g}"
        if low <= float(text) <= high:
            break
    if "e" in text and 1e-4 <= abs(float(text)) < 1e15:
        text = format(Decimal(text), "f")
    return "0" if float(text) == 0 else text


def _of_sets(column: OrderedColumn, low: np.ndarray, high: np.ndarray) -> Labels:
    """Labels over places low[class]..high[class] of categories in an order of their own: sets, all values listed."""
    ranges = of_ranges(column.attribute, low, high)  # of places, which it takes for codes
    categories, codes = column.attribute.categories, column.codes
    star = ranges.star | (ranges.leaves == max(len(categories), 2))
    lo, hi, text = [], [], []
    for first, last, says_nothing in zip(ranges.lo.tolist(), ranges.hi.tolist(), star.tolist(), strict=True):
        members = np.sort(codes[first : last + 1])
        words = [categories.text[code] for code in members]
        lo.append(members[0])
        hi.append(members[-1])
        text.append(STAR if says_nothing else words[0] if len(words) == 1 else listed(words))
    below = np.concatenate([[0], np.cumsum(categories.count[codes])])
    covered = below[ranges.hi + 1] - below[ranges.lo]
    return replace(ranges, lo=np.array(lo), hi=np.array(hi), covered=covered, star=star, named=tuple(text))
