"""Mondrian: strict multidimensional recoding by recursive cuts. LeFevre, DeWitt and Ramakrishnan, ICDE 2006."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.cells import classes_of
from sfumato.errors import Infeasible, PolicyError
from sfumato.kernels.mondrian import propose
from sfumato.labels import Labels, of_nodes, of_ranges
from sfumato.microdata import Attribute
from sfumato.policy import holds
from sfumato.search.problem import Partition, Problem, Solution, judge

WORTH_A_THREAD = 20_000  # cells in a round before a second core pays


@dataclass(frozen=True)
class Mondrian:
    """Cut the widest column at its median while both sides satisfy the policy (CG_, heuristic).

    Numbers, dates and categories without a hierarchy are cut by order, categories with a hierarchy into the children
    of the node they span. `cut`: "balanced" takes the better balanced of v <= median and v < median that is allowed,
    "lower-median" only v <= median. `dimension`: "widest" normalised range first, or "first" allowed column.
    """

    code: ClassVar[str] = "CG_"
    guarantee: ClassVar[str] = "heuristic"
    cut: str = "balanced"
    dimension: str = "widest"

    def __post_init__(self) -> None:
        if self.cut not in ("balanced", "lower-median"):
            raise PolicyError("mondrian: unknown cut", got=repr(self.cut), allowed="balanced, lower-median")
        if self.dimension not in ("widest", "first"):
            raise PolicyError("mondrian: unknown dimension", got=repr(self.dimension), allowed="widest, first")

    def __call__(self, problem: Problem) -> Solution:
        """Cut the cells of the problem; all parts of a round are cut, and checked, together."""
        began = time.perf_counter()
        if problem.levels:
            raise PolicyError(
                "levels bound full-domain searches only",
                got="search mondrian",
                hint='leave levels out, or use search="optimal"',
            )
        _check_root(problem)
        parts = _Parts(problem, self)
        by_size = all(not c.needs for c in problem.policy.require)
        start, end, skip = np.array([0]), np.array([len(problem.cells)]), np.zeros(1, np.int64)
        done: list[np.ndarray] = []
        finished = checks = 0
        with ThreadPoolExecutor(1) as pool:
            while len(start):
                kids = parts.cut(start, end, skip, pool)
                stuck = kids == 0
                checks += int((~stuck).sum())
                done.append(start[stuck])
                finished += int((end - start)[stuck].sum())
                first, last, of_part = _sides(start, end, kids, parts.bounds)
                if by_size:
                    start, end, skip = first, last, np.zeros(len(first), np.int64)
                else:  # a cut that the other criteria refuse: the part tries its next one
                    good = _allowed(problem, parts.idx, first, last, of_part, len(start))
                    again, fine = ~stuck & ~good, good[of_part]
                    skip = np.concatenate([np.zeros(int(fine.sum()), np.int64), skip[again] + 1])
                    start, end = np.concatenate([first[fine], start[again]]), np.concatenate([last[fine], end[again]])
                problem.progress("cutting", finished / len(problem.cells))
        partition = parts.partition(problem.attributes, np.sort(np.concatenate(done)))
        seconds = time.perf_counter() - began
        labels = [partition.labels[a.name] for a in problem.attributes]
        kept, verdict, _ = judge(problem, [(label, label.of[partition.of_cell]) for label in labels])
        return Solution(partition, verdict, kept, False, checks, seconds)


class _Parts:
    """The cells in the order of their parts: a part is a slice, and a cut moves the cells within it."""

    def __init__(self, problem: Problem, search: Mondrian) -> None:
        cells = problem.cells
        self.shape = _Shape(problem.attributes)
        self.codes = np.stack([place[cells.codes[i]] for i, place in enumerate(self.shape.order)])
        self.n, self.idx = cells.count.copy(), np.arange(len(cells), dtype=np.int32)
        self.spare = np.empty_like(self.codes), np.empty_like(self.n), np.empty_like(self.idx)
        self.bounds = np.zeros(len(cells), np.int64)
        self.rules = problem.policy.least_size, search.cut == "balanced", search.dimension == "widest"

    def cut(self, start: np.ndarray, end: np.ndarray, skip: np.ndarray, pool: ThreadPoolExecutor) -> np.ndarray:
        """Cut each part [start, end), passing over `skip` cuts; the number of its sides, 0 where none is allowed."""
        kids = np.zeros(len(start), np.int64)

        def run(part: slice) -> None:
            cells = self.codes, self.n, self.idx, *self.spare
            propose(
                *cells, start[part], end[part], skip[part], *self.rules, *self.shape.arrays, kids[part], self.bounds
            )

        size = np.cumsum(end - start)
        if len(start) == 1 or size[-1] < WORTH_A_THREAD:
            run(slice(0, len(start)))
        else:
            middle = int(np.searchsorted(size, size[-1] / 2))
            other = pool.submit(run, slice(0, middle))
            run(slice(middle, len(start)))
            other.result()
        return kids

    def partition(self, attributes: tuple[Attribute, ...], starts: np.ndarray) -> Partition:
        """The class of each cell and the labels of each class."""
        of_cell = np.empty(len(self.idx), np.int32)
        width = np.diff(np.append(starts, len(self.idx)))
        of_cell[self.idx] = np.repeat(np.arange(len(starts), dtype=np.int32), width)
        labels: dict[str, Labels] = {}
        for i, attribute in enumerate(attributes):
            low, high = np.minimum.reduceat(self.codes[i], starts), np.maximum.reduceat(self.codes[i], starts)
            tree = self.shape.trees[i]
            if tree is None:
                labels[attribute.name] = of_ranges(attribute, low, high)
            else:
                level = np.argmax(tree[:, low] == tree[:, high], axis=0)
                labels[attribute.name] = of_nodes(attribute, level, tree[level, low])
        return Partition(of_cell, labels)


class _Shape:
    """The columns as the kernel wants them: positions of ordered ones, trees of the others, in flat arrays."""

    def __init__(self, attributes: tuple[Attribute, ...]) -> None:
        d = len(attributes)
        self.order: list[np.ndarray] = []  # code to place in the order of cutting
        values, missing, span = np.zeros(d, np.int64), np.full(d, -1), np.zeros(d)
        levels, position_at, tree_at = np.zeros(d, np.int64), np.zeros(d, np.int64), np.zeros(d, np.int64)
        position, tree, width = [np.zeros(0)], [np.zeros(0, np.int32)], [np.zeros(0)]
        self.trees: list[np.ndarray | None] = []
        for i, a in enumerate(attributes):
            values[i] = len(a.categories)
            position_at[i], tree_at[i] = sum(map(len, position)), sum(map(len, tree))
            if by_tree(a):
                of = a.ladder.of
                leaf_order = np.lexsort(of)  # the last row, the root, is the first key: leaves of a node stand together
                place = np.empty(len(leaf_order), np.int32)
                place[leaf_order] = np.arange(len(leaf_order), dtype=np.int32)
                stood = of[:, leaf_order]
                share = [(np.bincount(level)[level] - 1) / max(len(leaf_order) - 1, 1) for level in stood]
                levels[i] = len(of)
                tree.append(stood.reshape(-1).astype(np.int32))
                width.append(np.concatenate(share))
                self.order.append(place)
                self.trees.append(stood)
            else:
                position.append(a.positions)
                missing[i] = len(a.categories) - 1 if a.categories.missing else -1
                span[i] = a.span
                self.order.append(np.arange(len(a.categories), dtype=np.int32))
                self.trees.append(None)
        flat = np.concatenate(position), position_at, levels, np.concatenate(tree), np.concatenate(width), tree_at
        self.arrays = values, missing, span, *flat


def by_tree(attribute: Attribute) -> bool:
    """Whether a column is cut along its hierarchy: it was given one, and its values have no order of their own."""
    return attribute.hierarchy is not None and not attribute.categories.ordered


def _check_root(problem: Problem) -> None:
    """The whole table as one class must satisfy the policy: else no partition of all its rows does."""
    everything = classes_of(problem.cells, np.zeros(len(problem.cells), np.int32), 1)
    broken = [c for c in problem.policy.require if not c.holds(everything)[0]]
    if broken:
        raise Infeasible(
            "the whole table as one class does not satisfy " + "; ".join(type(c).__name__ for c in broken),
            got=f"{problem.rows} rows",
            hint="ask for less; with suppression, optimal may find a part of the table that satisfies it",
            closest={"suppressed": problem.rows},
        )


def _sides(
    start: np.ndarray, end: np.ndarray, kids: np.ndarray, bounds: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where the sides of all cut parts begin and end, and the part that each comes from."""
    of_part = np.repeat(np.arange(len(start)), kids)
    nth = np.arange(len(of_part)) - np.repeat(np.cumsum(kids) - kids, kids)
    first = bounds[start[of_part] + nth]
    last = np.append(first[1:], 0)
    final = np.append(of_part[1:] != of_part[:-1], True) if len(of_part) else np.zeros(0, np.bool_)
    last[: len(of_part)][final] = end[of_part[final]]
    return first, last[: len(of_part)], of_part


def _allowed(
    problem: Problem, idx: np.ndarray, first: np.ndarray, last: np.ndarray, of_part: np.ndarray, parts: int
) -> np.ndarray:
    """Per part, whether all its sides satisfy the criteria."""
    good = np.ones(parts, np.bool_)
    if len(first):
        width = last - first
        at = np.arange(width.sum()) - np.repeat(np.cumsum(width) - width, width) + np.repeat(first, width)
        side = np.repeat(np.arange(len(first), dtype=np.int32), width)
        cell = idx[at]
        order = np.argsort(cell)
        sides = classes_of(problem.cells.take(cell[order]), side[order], len(first))
        np.logical_and.at(good, of_part, holds(problem.policy.require, sides))
    return good
