"""Top-down local recoding for (alpha,k)-anonymity. Wong, Li, Fu and Wang, KDD 2006."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.core.cells import Histogram, classes_of
from sfumato.core.keys import first_of
from sfumato.core.labels import of_nodes
from sfumato.core.policy import TOLERANCE, holds
from sfumato.core.protocols import Search
from sfumato.criteria import AlphaK, KAnonymity
from sfumato.errors import PolicyError
from sfumato.search.mondrian.alpha_k_kernels import specialise
from sfumato.search.problem import Partition, Problem, Solution, by_class, check_root, judge, split_cells

Children = tuple[list[np.ndarray], np.ndarray, bool]  # those that satisfy, the other rows, whether these satisfy
DENSE = 1 << 16  # counts of values by class that are held at once
ROOM = 1 << 22  # the same, of all nodes of a column, in a kernel
AT_ONCE = 50_000_000  # rows that the kernel looks at before it can be interrupted
GIVEN_BACK = 4  # times the least size: rows that children give back one by one before a whole child does


@dataclass(frozen=True)
class AlphaKLocal(Search):
    """Specialise classes one step down a hierarchy, from the top, and leave behind what cannot follow (CG_, heuristic).

    All rows start under the roots. A class is specialised on the column that lets most rows follow: the children that
    satisfy the policy become classes, the rows of the others stay with the parent; where these are too few or too
    alike, children give rows back until they satisfy it too. Made for (alpha,k)-anonymity; takes other criteria as
    well. Columns without a hierarchy learn one.
    """

    code: ClassVar[str] = "CG_"
    guarantee: ClassVar[str] = "heuristic"
    splits: ClassVar[bool] = True

    def __call__(self, problem: Problem) -> Solution:
        """Specialise from the root until no class can be."""
        began = time.perf_counter()
        if problem.levels or len(problem.sets) > 1:
            raise PolicyError(
                "alpha-k-local recodes cells over one set of quasi-identifiers, without levels",
                hint='leave levels out and give all columns as one set, or use search="optimal"',
            )
        check_root(problem)
        problem = by_class(problem)
        cut, split = split_cells(problem, problem.rows + 1)
        most = _largest_shares(cut)
        of, levels, checks = _by_criteria(cut) if most is None else _by_shares(cut, most)
        partition = _partition(cut, of, levels)
        seconds = time.perf_counter() - began
        labels = [partition.labels[a.name] for a in problem.attributes]
        kept, verdict, _ = judge(cut, [(label, label.of[partition.class_of_cell]) for label in labels])
        recoding = Partition(partition.class_of_cell, partition.labels, split)
        return Solution(recoding, verdict, kept, False, checks, seconds)


def _largest_shares(problem: Problem) -> np.ndarray | None:
    """The largest share of a class that each sensitive value may have, where the policy asks for that and for sizes
    only, and the counts of all values under all nodes of a column have room."""
    require, histograms = problem.policy.require, list(problem.cells.histograms.values())
    guards = [c for c in require if isinstance(c, AlphaK)]
    if len(histograms) != 1 or not guards or not all(isinstance(c, AlphaK | KAnonymity) for c in require):
        return None
    nodes = max(len(a.categories) for a in problem.attributes)
    if nodes * len(histograms[0].overall) > ROOM or len(problem.attributes) > 60:
        return None
    return np.asarray(np.min([c.largest_shares(histograms[0]) for c in guards], axis=0) + TOLERANCE)


def _by_shares(problem: Problem, most: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """The class of each row and the levels of each class, by a kernel that knows sizes and shares."""
    cells, least = problem.cells, max(problem.policy.least_size, 1)
    (histogram,) = cells.histograms.values()
    columns, n = cells.codes.shape
    ladders = [a.ladder.of for a in problem.attributes]
    nodes, node_at, start = [], np.zeros((columns, max(len(ladder) for ladder in ladders)), np.int64), 0
    for i, ladder in enumerate(ladders):
        node_at[i, : len(ladder)] = start + np.arange(len(ladder)) * ladder.shape[1]
        nodes.append(ladder.reshape(-1).astype(np.int64))
        start += ladder.size
    widest = np.array([int(ladder.max()) + 1 for ladder in ladders])
    queue, levels = np.zeros((n // least + 3, columns + 3), np.int64), np.zeros((n // least + 1, columns), np.int64)
    queue[0] = [0, n, 0, *(a.ladder.height for a in problem.attributes)]
    state, rows, of = np.array([0, 1, 0, 0]), np.arange(n), np.zeros(n, np.int64)
    room = np.empty((3, n), np.int64), np.zeros((11, max(columns, widest.max(), len(most))), np.int64)
    counts = np.zeros(int(widest.max()) * len(most), np.int64), np.zeros(widest.max(), np.bool_)
    table = cells.codes.astype(np.int64), np.concatenate(nodes), node_at, widest
    value = histogram.value[histogram.start[:-1]].astype(np.int64)
    rules = least, most, GIVEN_BACK * least, AT_ONCE
    while state[1]:
        problem.progress("specialising", None)
        specialise(*table, value, *rules, state, rows, queue, of, levels, *room, *counts)
    return of, levels[: state[2]], int(state[3])


def _by_criteria(problem: Problem) -> tuple[np.ndarray, np.ndarray, int]:
    """The class of each row and the levels of each class, by any criteria."""
    tree = _Tree(problem)
    top = np.array([a.ladder.height for a in problem.attributes])
    waiting = deque([(np.arange(len(problem.cells)), top, frozenset[int](), dict[int, Children]())])
    of = np.zeros(len(problem.cells), np.int64)
    levels: list[np.ndarray] = []
    done = checks = 0
    while waiting:
        rows, level, stuck, known = waiting.popleft()
        problem.progress("specialising", done / len(of))
        column, parts, left = tree.specialise(rows, level, stuck, known)
        checks += 1
        if column is None:
            of[rows] = len(levels)
            levels.append(level)
            done += len(rows)
            continue
        below = level.copy()
        below[column] -= 1
        if len(parts) == 1 and not len(left):  # the same rows: what is known of the other columns stays so
            known.pop(column)
            waiting.append((parts[0], below, stuck, known))
            continue
        waiting.extend((part, below, stuck, {}) for part in parts)
        if len(left):
            waiting.append((left, level, stuck | {column}, {}))
    return of, np.stack(levels), checks


class _Tree:
    """The rows of a problem under the hierarchies of its columns."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.cells = problem, problem.cells
        self.least = max(problem.policy.least_size, 1)
        self.ladders = [a.ladder.of for a in problem.attributes]
        self.values = {name: h.value[h.start[:-1]].astype(np.int64) for name, h in self.cells.histograms.items()}
        self.widest = max((len(h.overall) for h in self.cells.histograms.values()), default=1)

    def node(self, column: int, level: int, rows: np.ndarray) -> np.ndarray:
        """The label of each row in a column at a level."""
        return self.ladders[column][level][self.cells.codes[column, rows]]

    def good(self, rows: np.ndarray, of: np.ndarray, parts: int) -> np.ndarray:
        """Which parts of the rows satisfy the policy."""
        if parts * self.widest <= DENSE:
            return holds(self.problem.policy.require, _Parts(self, rows, of, parts))
        order = np.argsort(rows)
        classes = classes_of(self.cells.take(rows[order]), of[order].astype(np.int32), parts)
        return holds(self.problem.policy.require, classes)

    def specialise(
        self, rows: np.ndarray, level: np.ndarray, stuck: frozenset[int], known: dict[int, Children]
    ) -> tuple[int | None, list[np.ndarray], np.ndarray]:
        """The column on which most rows can be specialised, the parts that follow, and the rows that stay.

        Columns are taken by how many rows follow before any is given back: that only gets less. `known` holds what is
        known of the children in some columns, and gets the others.
        """
        columns = [column for column in range(len(level)) if level[column] > 0 and column not in stuck]
        for column in columns:
            if column not in known:
                known[column] = self._children(rows, column, int(level[column]) - 1)
        score = {column: _score(rows, *known[column][:2]) for column in columns}
        best: tuple[int, list[np.ndarray], np.ndarray] | None = None
        most = (0, 0.0)
        for column in sorted(columns, key=lambda column: (score[column], -column), reverse=True):
            parts, left, settled = known[column]
            if best is not None and (score[column], -column) < (most, -best[0]):
                break
            if not settled:
                parts, left = self._given_back(parts, left)
                known[column] = parts, left, True
            here = _score(rows, parts, left)
            if parts and (here > most or (best is not None and here == most and column < best[0])):
                best, most = (column, parts, left), here
        return best if best is not None else (None, [], rows)

    def _children(self, rows: np.ndarray, column: int, level: int) -> Children:
        """The children that satisfy the policy, and the other rows."""
        nodes = self.node(column, level, rows)
        count = np.bincount(nodes)
        size = count[count > 0]
        if len(size) == 1:
            return [rows], rows[:0], True
        order = np.argsort(nodes, kind="stable")
        ordered = rows[order]
        if size.max() < self.least:
            return [], ordered, True
        of = np.repeat(np.arange(len(size)), size)
        fine = self.good(ordered, of, len(size))
        end = np.cumsum(size)
        parts = [ordered[end[i] - size[i] : end[i]] for i in np.flatnonzero(fine)]
        left = ordered[~fine[of]]
        return parts, left, not parts or not len(left) or self._satisfied(left)

    def _satisfied(self, rows: np.ndarray) -> bool:
        return bool(len(rows) >= self.least and self.good(rows, np.zeros(len(rows), np.int64), 1)[0])

    def _given_back(self, parts: list[np.ndarray], left: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
        """Take rows back from children until what is left satisfies the policy: single rows, else whole children."""
        for _ in range(GIVEN_BACK * self.least):
            parts = sorted(parts, key=lambda part: (-len(part), int(part[0])))
            for i, part in enumerate(parts):
                moved = self._spare(part, left)
                if moved is not None:
                    left = np.append(left, moved)
                    parts[i] = part[part != moved]
                    break
            else:
                break
            if self._satisfied(left):
                return parts, left
        while parts and not self._satisfied(left):
            parts = sorted(parts, key=lambda part: (-len(part), int(part[0])))
            left = np.concatenate([left, parts.pop()])
        return parts, left

    def _spare(self, part: np.ndarray, left: np.ndarray) -> int | None:
        """A row that a child can spare, of the value that is rarest among those left."""
        if len(part) <= self.least:
            return None
        tried = [int(part[0])]
        for h in self.cells.histograms.values():
            value = h.value[h.start[part]]
            there = np.bincount(h.value[h.start[left]], minlength=len(h.overall))
            _, first = np.unique(value, return_index=True)
            tried = [int(part[i]) for i in first[np.argsort(there[value[first]], kind="stable")]]
            break
        return next((row for row in tried if self._satisfied(part[part != row])), None)


def _partition(problem: Problem, of: np.ndarray, levels: np.ndarray) -> Partition:
    """The classes with a node of each hierarchy as labels."""
    first, labels = first_of(of, len(levels)), {}
    for i, a in enumerate(problem.attributes):
        label = a.ladder.of[levels[:, i], problem.cells.codes[i, first]]
        labels[a.name] = of_nodes(a, levels[:, i], label)
    return Partition(of.astype(np.int32), labels)


class _Parts:
    """Parts of the rows as classes: a row is one record with one value of each sensitive attribute."""

    def __init__(self, tree: _Tree, rows: np.ndarray, of: np.ndarray, parts: int) -> None:
        self.tree, self.rows, self.of = tree, rows, of
        self.size = np.bincount(of, minlength=parts)

    def histogram(self, attribute: str) -> Histogram:
        """Counts of a sensitive attribute per part."""
        h = self.tree.cells.histograms[attribute]
        values, parts = len(h.overall), len(self.size)
        counts = np.bincount(self.of * values + self.tree.values[attribute][self.rows], minlength=parts * values)
        there = np.flatnonzero(counts)
        start = np.searchsorted(there, np.arange(parts + 1) * values)
        return Histogram(start, (there % values).astype(np.int32), counts[there], h.overall, h.text, h.ancestor)


def _score(rows: np.ndarray, parts: list[np.ndarray], left: np.ndarray) -> tuple[int, float]:
    """How many rows follow to the children, then how many children there are: more is better."""
    return len(rows) - len(left), -1.0 / max(len(parts), 1)
