"""Boxes: the columns as lines of places, on which a class covers a range, and what a range costs under the loss."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sfumato.core.cells import classes_of
from sfumato.core.compiled import workers
from sfumato.core.labels import Labels, at_level, of_nodes, of_ranges
from sfumato.core.microdata import Attribute
from sfumato.core.parameters import check_fields
from sfumato.core.policy import holds
from sfumato.core.progress import stoppable
from sfumato.core.protocols import Search
from sfumato.core.registry import variant_name
from sfumato.errors import PolicyError
from sfumato.losses import LM, NCP, LabelLoss
from sfumato.search.clustering import traced
from sfumato.search.clustering.kernels import blocks, box_costs, k_member, pair_up, to_nearest
from sfumato.search.events import ClassClosed, ClassesJoined, LeftoverPlaced
from sfumato.search.problem import (
    CellSplit,
    Partition,
    Problem,
    Solution,
    along_hierarchy,
    by_class,
    check_root,
    judge,
    records_of,
    split_cells,
    tell_labels,
)

LARGEST_TABLE = 512  # values of a column up to which the cost of every range is tabled


@dataclass(frozen=True, eq=False)
class ClusterSpace:
    """The columns as lines of places: values in order, or the leaves of a hierarchy as they stand under its tree.

    A class covers a range of places in each column. In a column with order that is a range of values; along a tree it
    stands for the lowest node above it. `labels` says which columns run along their trees.
    """

    attributes: tuple[Attribute, ...]
    loss: Any
    labels: str = "given"

    @cached_property
    def columns(self) -> tuple[_Column, ...]:
        """One line per column, those first in which two rows are likely to cost most: sums then soon pass a bound."""
        loss = self.loss if self.loss.by_label else LM()
        lines = [_Column(i, a, loss, along_hierarchy(a, self.labels)) for i, a in enumerate(self.attributes)]
        return tuple(sorted(lines, key=lambda column: -column.spread()))

    @cached_property
    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """The space as the kernels want it: see `kernels.boxes`."""
        shape, at = np.zeros((len(self.columns), 5), np.int64), 0
        parts: list[np.ndarray] = []
        for i, column in enumerate(self.columns):
            cost = column.table if column.places <= LARGEST_TABLE else column.line()
            shape[i] = column.shape(at, cost.size)
            parts += [cost.reshape(-1), np.array([column.weight])]
            at += cost.size + 1
        return shape, np.concatenate(parts).astype(np.float32)

    def points(self, problem: Problem) -> np.ndarray:
        """The place of each cell in each column, int32 [cells, columns]."""
        codes = problem.cells.codes
        return np.stack([column.place[codes[column.index]] for column in self.columns], axis=1)

    def partition(self, points: np.ndarray, class_of_cell: np.ndarray, split: CellSplit | None = None) -> Partition:
        """The classes with the labels of their boxes."""
        lo, hi = boxes(points, class_of_cell)
        labels = {column.attribute.name: column.labels(lo[:, i], hi[:, i]) for i, column in enumerate(self.columns)}
        return Partition(class_of_cell.astype(np.int32), labels, split)

    def costs(self, lo: np.ndarray, hi: np.ndarray) -> np.ndarray:
        """The cost of each box: what a row in it loses, summed over the columns with their weights."""
        cost = np.empty(len(lo), np.float32)
        box_costs(lo, hi, cost, *self.arrays)
        return cost


class _Column:
    """A column as a line of places; `place` gives the place of each code, `tree` the nodes [level, place] above."""

    def __init__(self, index: int, attribute: Attribute, loss: LabelLoss, by_tree: bool) -> None:
        self.index, self.attribute, self.loss = index, attribute, loss
        self.places = len(attribute.categories)
        self.weight = loss.weight(attribute)
        self.missing = self.places - 1 if attribute.categories.missing else -1
        self.tree: np.ndarray | None = None
        self.place = np.arange(self.places, dtype=np.int32)
        if by_tree:
            of = attribute.ladder.of
            standing = np.lexsort(of)  # the last row, the root, is the first key: leaves of a node stand together
            self.place[standing] = np.arange(self.places, dtype=np.int32)
            self.tree = of[:, standing]

    def labels(self, lo: np.ndarray, hi: np.ndarray) -> Labels:
        """The labels of ranges of places; `of` is per range."""
        if self.tree is None:
            return of_ranges(self.attribute, lo, hi)
        level = np.argmax(self.tree[:, lo] == self.tree[:, hi], axis=0)
        return of_nodes(self.attribute, level, self.tree[level, lo])

    def spread(self) -> float:
        """What two rows drawn at random cost together."""
        if self.places > LARGEST_TABLE:
            return self.weight / 3
        share = np.empty(self.places)
        share[self.place] = self.attribute.categories.count / self.attribute.categories.count.sum()
        return float(2 * share @ self.table @ share)

    @cached_property
    def table(self) -> np.ndarray:
        """The cost of every range, [lo, hi]; what lies below the diagonal is never asked for, and 0."""
        lo, hi = np.triu_indices(self.places)
        labels = self.labels(lo, hi)
        cost = np.zeros((self.places, self.places))
        cost[lo, hi] = self.loss.cost(labels)[labels.of] * self.weight
        return cost

    def line(self) -> np.ndarray:
        """Costs along the column from its first place; along a tree, per level and place, the node and its cost."""
        if self.tree is not None:
            levels = [at_level(self.attribute, level) for level in range(len(self.tree))]
            cost = [self.loss.cost(labels)[nodes] for labels, nodes in zip(levels, self.tree, strict=True)]
            return np.stack([self.tree, np.stack(cost) * self.weight], axis=-1)
        known = self.places if self.missing < 0 else self.missing
        additive = self.loss if isinstance(self.loss, LM | NCP) else NCP()
        labels = of_ranges(self.attribute, np.zeros(known, np.int64), np.arange(known))
        return np.append(additive.cost(labels)[labels.of] * self.weight, np.zeros(self.places - known))

    def shape(self, at: int, size: int) -> tuple[int, ...]:
        """Size, where its costs are, levels, place of missing values (along a tree: minus the places), their end."""
        if self.places <= LARGEST_TABLE:
            return self.places, at, 0, -1, at + size
        if self.tree is None:
            return 0, at, 0, self.missing, at + size
        return 0, at, len(self.tree), -self.places, at + size


def class_order(of: np.ndarray) -> np.ndarray:
    """The places of entries in the order of their classes; numbers of 16 bits are sorted ten times faster."""
    return np.argsort(of.astype(np.uint16) if of.max(initial=0) < 1 << 16 else of, kind="stable")


def boxes(points: np.ndarray, class_of_cell: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The least and greatest place of each class in each column, [classes, columns]; no class is empty."""
    order = class_order(class_of_cell)
    starts = np.flatnonzero(np.diff(class_of_cell[order], prepend=-1))
    sorted_points = points[order]
    return np.minimum.reduceat(sorted_points, starts), np.maximum.reduceat(sorted_points, starts)


REACH = 2048  # how far apart two clusters may stand, in an order of near ones, to be considered for a union
LEAST_REACH = 128  # the same, where so many fail that
LOOKS = 20_000_000  # boxes in a round are passed
REORDERED = 0.9  # of the clusters left: the order of near ones is made anew


@dataclass(frozen=True, eq=False)
class Field:
    """The rows of a problem as points: single rows, or cells that are large enough to be a class of their own.

    `whole` marks those cells. `kind` is the sensitive value of each point, and no more than `cap` points of one kind
    should be in a cluster of the least size: what a criterion that wants diversity is likely to accept.
    """

    problem: Problem
    split: CellSplit | None
    space: ClusterSpace
    points: np.ndarray  # int32 [points, columns]
    whole: np.ndarray
    kind: np.ndarray
    cap: int

    @property
    def least(self) -> int:
        """No class has fewer rows."""
        return max(self.problem.policy.least_size, 1)

    @property
    def by_size(self) -> bool:
        """Whether every class with enough rows satisfies the policy."""
        return self.problem.policy.by_size


def lay_out(problem: Problem, search: str, labels: str = "given") -> Field:
    """The rows of a problem as points, once it is sure that clusters can be the answer."""
    if problem.levels:
        raise PolicyError(
            "levels bound full-domain searches only",
            got=f"search {search}",
            hint='leave levels out, or use search="optimal"',
        )
    if len(problem.sets) > 1:
        raise PolicyError(
            f"{search} makes classes over one set of quasi-identifiers",
            got=f"{len(problem.sets)} sets",
            hint='give all columns as one set, or use search="optimal"',
        )
    check_root(problem)
    problem = by_class(problem)
    by_size = problem.policy.by_size
    least = max(problem.policy.least_size, 1)
    cut, split = split_cells(problem, least if by_size else problem.rows + 1)
    space = ClusterSpace(problem.attributes, problem.policy.loss, labels)
    whole = cut.cells.count >= least if by_size else np.zeros(len(cut.cells), np.bool_)
    kind, cap = _kinds(cut, least)
    return Field(cut, split, space, space.points(cut), whole, kind, cap)


class ClusterSearch(Search):
    """A search that clusters the rows which are not enough to be a class with their equals.

    `labels`: "given" prints ranges where no hierarchy was given, "hierarchy" a learned one's labels there, "ranges"
    ranges wherever there is an order. `seed`: of the random numbers.
    """

    code: ClassVar[str] = "CG_"
    guarantee: ClassVar[str] = "heuristic"
    splits: ClassVar[bool] = True
    labels: str

    def __post_init__(self) -> None:
        check_fields(self, variant_name(type(self).__name__))

    def clusters(self, field: Field, points: np.ndarray) -> np.ndarray:
        """The cluster of each of these points, at least k of them; -1 for those that are left over."""
        return np.full(len(points), -1)

    def rest(self, field: Field, of: np.ndarray) -> np.ndarray:
        """The cluster of every point, of those that are left over too."""
        return with_rest(field, of, None)

    def __call__(self, problem: Problem) -> Solution:
        """Cluster the rows of the problem."""
        began = time.perf_counter()
        field = lay_out(problem, variant_name(type(self).__name__), self.labels)
        of = np.full(len(field.points), -1)
        loose = np.flatnonzero(~field.whole)
        if len(loose) >= field.least:
            of[loose] = self.clusters(field, np.ascontiguousarray(field.points[loose]))
        of = self.rest(field, of)
        return settled(field, of, began, int(of.max()) + 1)


def with_rest(field: Field, of: np.ndarray, block: int | None) -> np.ndarray:
    """The cluster of each point: `of` where it is 0 or more, k-member clusters of the others, large cells alone."""
    shape, table = field.space.arrays
    of = of.copy()
    if (inside := of >= 0).any():  # numbers without gaps: each is the number of a box
        of[inside] = dense(of[inside])
    alone = np.flatnonzero(field.whole & (of < 0))
    of[alone] = of.max(initial=-1) + 1 + np.arange(len(alone))
    if field.problem.trace is not None:
        records = records_of(field.problem)
        for record in (records[i] for i in alone):
            field.problem.trace(ClassClosed((record,), record.rows, "they have the same values"))
    loose = np.flatnonzero(of < 0)
    if not len(loose):
        return dense(of)
    points = np.ascontiguousarray(field.points[loose])
    kind = field.kind[loose] if len(field.kind) else field.kind
    size = len(loose) if block is None else max(block, field.least)
    order, bounds = blocks(points, points, size, 0.0, 0, shape, table)
    found = np.full(len(loose), -1)
    ends = np.linspace(0, len(bounds) - 1, 1 + min(64, len(bounds) - 1)).astype(int)

    def run(i: int) -> int:
        field.problem.progress("clustering", i / len(ends))
        if field.problem.trace is not None:
            costs, mine = traced.BoxCosts(points, shape, table), [records[point] for point in loose]
            found[:], clusters = traced.k_member(costs, mine, field.least, kind, field.cap, field.problem.trace)
            return clusters
        some = points, order, bounds, ends[i], ends[i + 1], field.least, kind, field.cap, found
        return k_member(*some, shape, table)

    with workers() as pool:
        made = list(pool.map(run, range(len(ends) - 1)))
    group = np.empty(len(loose), np.int64)
    group[order] = np.repeat(np.arange(len(ends) - 1), np.diff(bounds[ends]))
    before = np.concatenate([[0], np.cumsum(made)])
    found[found >= 0] += before[group[found >= 0]]
    first = int(of.max(initial=-1)) + 1
    of[loose[found >= 0]] = first + found[found >= 0]
    left = loose[found < 0]
    near = before[group[found < 0]], before[group[found < 0] + 1]
    return dense(_join(field, of, left, first + np.stack(near, axis=1)))


def _join(field: Field, of: np.ndarray, left: np.ndarray, window: np.ndarray) -> np.ndarray:
    """Give the points that are left to the clusters they cost least to join: any where they are few, else near ones."""
    if not len(left):
        return of
    inside = np.flatnonzero(of >= 0)
    if not len(inside):
        return np.zeros(len(of), np.int64)
    count = field.problem.cells.count
    clusters = int(of.max()) + 1
    if len(left) * clusters < 20_000_000 or (window[:, 0] == window[:, 1]).any():
        window = np.tile([0, clusters], (len(left), 1))
    lo, hi = boxes(field.points[inside], of[inside])
    size = np.bincount(of[inside], weights=count[inside]).astype(np.int64)
    of = of.copy()
    found, cost = np.empty(len(left), np.int64), field.space.costs(lo, hi)
    trace = field.problem.trace
    for part in [slice(0, len(left))] if trace is None else [slice(i, i + 1) for i in range(len(left))]:
        stoppable(
            to_nearest, field.points, left[part], window[part], lo, hi, size, cost, found[part], *field.space.arrays
        )
        if trace is not None:
            records, joins = records_of(field.problem), np.flatnonzero(of == found[part])
            trace(LeftoverPlaced(records[left[part.start]], tuple(records[i] for i in joins)))
        of[left[part]] = found[part]
    return of


def mended(field: Field, of: np.ndarray) -> np.ndarray:
    """The clusters with those that fail the policy joined to near ones until none fails."""
    of = dense(of)
    failing = _failing(field, of, np.arange(int(of.max()) + 1))
    return unite(field, of, failing, until_none_fails=True) if failing.any() else of


def unite(field: Field, of: np.ndarray, failing: np.ndarray, until_none_fails: bool = False) -> np.ndarray:
    """The clusters once failing ones joined near ones, each one other, and the same again until none fails."""
    shape, table = field.space.arrays
    lo, hi = boxes(field.points, of)
    size = np.bincount(of, weights=field.problem.cells.count).astype(np.int64)
    failing, ordered, left = failing.copy(), 0, len(size)
    while failing.any() and left > 1:
        field.problem.progress("joining clusters", 1 - failing.sum() / left)
        alive = np.flatnonzero(size)
        if left < REORDERED * ordered or not ordered:  # else the order in which near ones stand is still good
            order, ordered = alive[blocks(lo[alive], hi[alive], 64, 0.0, 0, shape, table)[0]], left
        order = order[size[order] > 0]
        reach = int(np.clip(LOOKS // failing.sum(), LEAST_REACH, REACH))
        into = np.asarray(stoppable(pair_up, failing, order, reach, lo, hi, size, shape, table))
        joining = np.flatnonzero(into != np.arange(len(into)))
        joined = into[joining]  # no two are the same
        lo[joined], hi[joined] = np.minimum(lo[joined], lo[joining]), np.maximum(hi[joined], hi[joining])
        size[joined] += size[joining]
        size[joining], failing[joining] = 0, False
        if field.problem.trace is not None:
            records = records_of(field.problem)
            for pair in zip(joining, joined, strict=True):
                both = (tuple(records[i] for i in np.flatnonzero(of == c)) for c in pair)
                field.problem.trace(ClassesJoined(*both))
        of, left = into[of], left - len(joining)
        if not until_none_fails:
            break
        failing[joined] = _failing(field, of, joined)
    return dense(of)


def _failing(field: Field, of: np.ndarray, some: np.ndarray) -> np.ndarray:
    """Which of some clusters fail the policy."""
    place = np.full(int(of.max()) + 1, -1, np.int32)
    place[some] = np.arange(len(some), dtype=np.int32)
    inside = np.flatnonzero(place[of] >= 0)
    cells = field.problem.cells if len(inside) == len(of) else field.problem.cells.take(inside)
    return ~holds(field.problem.policy.require, classes_of(cells, place[of[inside]], len(some)))


def settled(field: Field, of: np.ndarray, began: float, checks: int, reproducible: bool = True) -> Solution:
    """The solution that clusters come to. Clusters whose labels print alike are one class, which is judged as such."""
    of = mended(field, of)
    while True:
        partition = field.space.partition(field.points, of, field.split)
        seconds = time.perf_counter() - began
        labels = [partition.labels[a.name] for a in field.problem.attributes]
        kept, verdict, _ = judge(field.problem, [(label, label.of[partition.class_of_cell]) for label in labels])
        if kept.all() or of.max() == 0:
            tell_labels(field.problem, partition)
            return Solution(partition, verdict, kept, False, checks, seconds, reproducible)
        failing = np.zeros(int(of.max()) + 1, np.bool_)
        failing[of[~kept]] = True
        of = unite(field, of, failing)


def dense(of: np.ndarray) -> np.ndarray:
    """The same clusters, numbered from 0 without gaps."""
    there = np.zeros(int(of.max()) + 1, np.bool_)
    there[of] = True
    return (np.cumsum(there) - 1)[of]


def _kinds(problem: Problem, least: int) -> tuple[np.ndarray, int]:
    """The sensitive value of each point, and how many of one value a cluster of the least size may have."""
    nothing = np.zeros(0, np.int64), least
    criteria = [c for c in problem.policy.require if c.needs]
    names = {name for c in criteria for name in c.needs}
    if len(names) != 1:
        return nothing
    cap = least
    for c in criteria:
        given = c.parameters()
        if given.get("l"):
            cap = min(cap, max(1, int(least // given["l"])))
        if given.get("alpha"):
            cap = min(cap, max(1, int(given["alpha"] * least)))
    h = problem.cells.histograms[names.pop()]
    return (h.value[h.start[:-1]].astype(np.int64), cap) if cap < least else nothing
