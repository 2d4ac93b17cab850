"""Forests over rows: every tree has k rows at least, and large trees are cut."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from sfumato.core.compiled import inner, kernel
from sfumato.core.parameters import OneOf, check_fields
from sfumato.core.progress import stoppable
from sfumato.core.protocols import Search
from sfumato.losses import LM, NCP, Precision
from sfumato.search.clustering.clusters import ClusterSpace, boxes
from sfumato.search.clustering.kernels import side
from sfumato.search.problem import LABELS, Problem, Solution, by_class, judge
from sfumato.search.suppression.cells import blanked, in_blocks, mended, nearest_by_boxes, refuse, single_rows


@kernel
def apart(points: np.ndarray, u: int, v: int, enough: float, shape: np.ndarray, table: np.ndarray) -> Any:
    """How far two rows are apart: columns that differ, or with a space of boxes the cost of the box around both;
    at least `enough` where it is that much."""
    far = np.float32(0.0)
    for c in range(points.shape[1]):
        if len(shape):
            far += side(c, points[u, c], points[u, c], points[v, c], points[v, c], shape, table)
        elif points[u, c] != points[v, c]:
            far += np.float32(1.0)
        if far >= enough:
            break
    return far


@inner
def find_root(above: np.ndarray, v: int) -> int:
    """The tree of a row: union-find with halving."""
    while above[v] != v:
        above[v] = above[above[v]]
        v = above[v]
    return v


@kernel
def grow(
    points: np.ndarray, alike: np.ndarray, least: int, shape: np.ndarray, table: np.ndarray, stop: np.ndarray
) -> np.ndarray:
    """The edge out of each row, or -1: trees of `least` rows and more.

    Equal rows (`alike` numbers them) are chained first. Then the one row without an edge of a tree that is too small
    gets an edge to the nearest row outside, which is no farther than its (least - 1)-th nearest neighbour.
    """
    n = len(points)
    out = np.full(n, -1, np.int64)
    above = np.arange(n)
    size = np.ones(n, np.int64)
    free = np.arange(n)  # per tree, the row without an edge
    last = np.full(n, -1, np.int64)
    for v in range(n):
        before = last[alike[v]]
        if before >= 0:
            out[v] = before
            tree = find_root(above, before)
            above[v] = tree
            size[tree] += 1
        last[alike[v]] = v
    for start in range(n):
        tree = find_root(above, start)
        while size[tree] < least:
            if stop[0]:
                return out
            u = free[tree]
            best, best_far, best_size = -1, np.float32(np.inf), 0
            for v in range(n):
                if best_far == 0.0 and best_size < least:
                    break
                other = find_root(above, v)
                if other == tree:
                    continue
                far = apart(points, u, v, best_far + np.float32(1e-6), shape, table)
                if far < best_far or (far == best_far and size[other] < best_size):
                    best, best_far, best_size = v, far, size[other]
            out[u] = best
            other = find_root(above, best)
            keep = free[other]
            if size[tree] > size[other]:
                tree, other = other, tree
            above[tree] = other
            size[other] += size[tree]
            free[other] = keep
            tree = other
    return out


@kernel
def cut(out: np.ndarray, least: int) -> tuple[np.ndarray, int]:
    """The class of each row and the number of classes: trees cut to at most max(2k - 1, 3k - 5) rows, k at least.

    Walk from any row towards the largest branch until the rest has k rows. If the branch has k rows, its edge is cut.
    Else all branches are small, and some of them together are a class, joined through the row that stays behind.
    """
    n = len(out)
    most = max(2 * least - 1, 3 * least - 5)
    degree = np.zeros(n + 1, np.int64)
    for v in range(n):
        if out[v] >= 0:
            degree[v + 1] += 1
            degree[out[v] + 1] += 1
    start = np.cumsum(degree)
    fill = start[:-1].copy()
    to = np.empty(start[-1], np.int64)
    for v in range(n):
        if out[v] >= 0:
            to[fill[v]] = out[v]
            fill[v] += 1
            to[fill[out[v]]] = v
            fill[out[v]] += 1
    of = np.full(n, -1, np.int32)
    parent, weight, order = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    leaves = np.zeros(n, np.bool_)
    stack = np.empty(n + 1, np.int64)
    classes = 0
    for first in range(n):
        if of[first] >= 0:
            continue
        stack[0] = first
        height = 1
        while height:
            height -= 1
            u = stack[height]
            size = _reach(u, to, start, of, parent, weight, order)
            if size <= most:
                for i in range(size):
                    of[order[i]] = classes
                classes += 1
                continue
            while True:
                branch, largest = -1, 0
                for e in range(start[u], start[u + 1]):
                    v = to[e]
                    if v >= 0 and of[v] < 0:
                        rows = weight[v] if parent[v] == u else size - weight[u]
                        if rows > largest:
                            branch, largest = v, rows
                if largest <= size - least:
                    break
                u = branch
            if largest >= least:
                _part(u, branch, to, start)
                stack[height], stack[height + 1] = u, branch
                height += 2
                continue
            _reach(u, to, start, of, parent, weight, order)
            _gather(u, size, least, parent, weight, order, leaves)
            ends = size <= 3 * least - 3  # both sides are small: what stays may hang together by a row that leaves
            for i in range(size):
                if leaves[order[i]]:
                    of[order[i]] = classes
                elif ends:
                    of[order[i]] = classes + 1
            classes += 2 if ends else 1
            if not ends:
                stack[height] = u
                height += 1
    return of, classes


@kernel
def _reach(
    root: int,
    to: np.ndarray,
    start: np.ndarray,
    of: np.ndarray,
    parent: np.ndarray,
    weight: np.ndarray,
    order: np.ndarray,
) -> int:
    """The rows of the tree around a root in the order they are reached, with the rows below each; how many they are."""
    order[0] = root
    parent[root] = -1
    size, at = 1, 0
    while at < size:
        v = order[at]
        at += 1
        weight[v] = 1
        for e in range(start[v], start[v + 1]):
            other = to[e]
            if other >= 0 and other != parent[v] and of[other] < 0:
                parent[other] = v
                order[size] = other
                size += 1
    for i in range(size - 1, 0, -1):
        weight[parent[order[i]]] += weight[order[i]]
    return size


@kernel
def _part(u: int, v: int, to: np.ndarray, start: np.ndarray) -> None:
    """Cut the edge between two rows."""
    for e in range(start[u], start[u + 1]):
        if to[e] == v:
            to[e] = -1
            break
    for e in range(start[v], start[v + 1]):
        if to[e] == u:
            to[e] = -1
            break


@inner
def _gather(
    u: int, size: int, least: int, parent: np.ndarray, weight: np.ndarray, order: np.ndarray, leaves: np.ndarray
) -> None:
    """Mark rows that leave a tree rooted at u as a class: some of its branches, all of which are smaller than `least`.

    While the tree is large, branches go until they are k rows; u stays, so that the rest hangs together. A tree of at
    most 3k - 3 rows ends in two classes: k - 1 rows of branches take u with them, where some are that many.
    """
    ends = size <= 3 * least - 3
    alone = -1
    if ends:
        for i in range(1, size):
            if parent[order[i]] == u and weight[order[i]] == least - 1:
                alone = order[i]
                break
    enough = least - 1 if ends else least
    rows = 0
    leaves[u] = False
    for i in range(1, size):
        v = order[i]
        if parent[v] == u:
            leaves[v] = v == alone if alone >= 0 else rows < enough
            rows += weight[v] if leaves[v] else 0
        else:
            leaves[v] = leaves[parent[v]]
    if ends and rows == least - 1:
        leaves[u] = True


NO_SHAPE, NO_TABLE = np.zeros((0, 5), np.int64), np.zeros(0, np.float32)


@dataclass(frozen=True)
class ForestSuppression(Search):
    """Join each row to its nearest ones, cut the trees small, and blank what differs in a tree (_CS, heuristic).

    Rows are as far apart as they have differing columns, missing being a value. A tree that has fewer than k rows
    gets an edge from the row that has none yet to the nearest row outside, and trees with more than
    max(2k - 1, 3k - 5) rows are cut. Blank cells are released as missing values.

    Under k-anonymity at most max(2k - 1, 3k - 5) times as many cells go as must, which is never above 3k - 3 times:
    all edges together weigh no more than the cells of the best solution, since no row has an edge longer than to its
    (k - 1)-th nearest row; and a row loses at most the weight of all edges of its tree. Beyond 4096 rows, equal rows
    that need no others aside, the table is taken in blocks, and the factor holds in each.

    Classes that fail another criterion are united with the nearest. No rows are suppressed.
    """

    code: ClassVar[str] = "_CS"
    guarantee: ClassVar[str] = "heuristic"
    splits: ClassVar[bool] = True

    def __call__(self, problem: Problem) -> Solution:
        """Grow and cut a forest in each block of rows."""

        def classes(fine: Problem, least: int) -> tuple[np.ndarray, int]:
            return forest(fine, fine.cells.codes.T, least, NO_SHAPE, NO_TABLE), len(fine.cells)

        return blanked(problem, "forest-suppression", 3, classes)


def forest(problem: Problem, points: np.ndarray, least: int, shape: np.ndarray, table: np.ndarray) -> np.ndarray:
    """The class of each row by forests in blocks; a piece of `least` rows and more is a class of its own."""
    points = np.ascontiguousarray(points, dtype=np.int32)

    def trees(rows: np.ndarray) -> np.ndarray:
        _, alike = np.unique(points[rows], axis=0, return_inverse=True)
        edges = stoppable(grow, points[rows], alike.reshape(-1), min(least, len(rows)), shape, table)
        return np.asarray(cut(edges, min(least, len(rows)))[0])

    return in_blocks(problem, least, "growing trees", trees)


@dataclass(frozen=True)
class ForestGeneralisation(Search):
    """Join each row to its nearest ones, cut the trees small, and generalise each tree to one label (CG_, heuristic).

    The forest of forest-suppression, where two rows are as far apart as the labels that both stand under lose: the
    lowest common node of a category with a hierarchy, else the range of values (`labels="hierarchy"`: nodes for all).
    Loss is LM, NCP or precision as the policy has it, else LM, with its weights, summed over the columns. Under
    k-anonymity that sum is at most max(2k - 1, 3k - 5) times the least that classes with such labels can have, in
    each block of 4096 rows.

    Classes that fail another criterion are united with the nearest. No rows are suppressed.

    `labels`: "given" prints ranges where no hierarchy was given, "hierarchy" a learned one's labels there, "ranges"
    ranges wherever there is an order.
    """

    code: ClassVar[str] = "CG_"
    guarantee: ClassVar[str] = "heuristic"
    splits: ClassVar[bool] = True
    labels: Annotated[str, OneOf(LABELS)] = "given"

    def __post_init__(self) -> None:
        check_fields(self, "forest-generalisation")

    def __call__(self, problem: Problem) -> Solution:
        """Grow and cut a forest in each block of rows."""
        began = time.perf_counter()
        problem = by_class(problem)
        refuse(problem, "forest-generalisation")
        least = problem.policy.least_size
        fine, split = single_rows(problem, 3 * least)
        loss = problem.policy.loss if isinstance(problem.policy.loss, LM | NCP | Precision) else LM()
        space = ClusterSpace(problem.attributes, loss, self.labels)
        points = space.points(fine)
        of = forest(fine, points, least, *space.arrays)

        def nearest(of: np.ndarray, size: np.ndarray, failing: np.ndarray) -> np.ndarray:
            return np.asarray(nearest_by_boxes(*boxes(points, of), size, failing, *space.arrays))

        partition = space.partition(points, mended(fine, of, nearest), split)
        seconds = time.perf_counter() - began
        labels = [partition.labels[a.name] for a in problem.attributes]
        columns = [(label, label.of[partition.class_of_cell]) for label in labels]
        kept, verdict, _ = judge(fine, columns)
        return Solution(partition, verdict, kept, False, len(fine.cells), seconds)
