"""Top-down local recoding for (alpha,k)-anonymity. Wong, Li, Fu and Wang, KDD 2006."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.core.cells import classes_of
from sfumato.core.keys import first_of
from sfumato.core.labels import of_nodes
from sfumato.core.policy import holds
from sfumato.core.protocols import Search
from sfumato.errors import PolicyError
from sfumato.search.problem import Partition, Problem, Solution, by_class, check_root, judge, split_cells

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
        tree = _Tree(cut)
        top = np.array([a.ladder.height for a in problem.attributes])
        waiting = deque([(np.arange(len(cut.cells)), top, frozenset[int]())])
        of = np.zeros(len(cut.cells), np.int64)
        levels: list[np.ndarray] = []
        done = checks = 0
        while waiting:
            rows, level, stuck = waiting.popleft()
            problem.progress("specialising", done / len(of))
            column, parts, left = tree.specialise(rows, level, stuck)
            checks += 1
            if column is None:
                of[rows] = len(levels)
                levels.append(level)
                done += len(rows)
                continue
            below = level.copy()
            below[column] -= 1
            waiting.extend((part, below, stuck) for part in parts)
            if len(left):
                waiting.append((left, level, stuck | {column}))
        partition = tree.partition(of, np.stack(levels))
        seconds = time.perf_counter() - began
        labels = [partition.labels[a.name] for a in problem.attributes]
        kept, verdict, _ = judge(cut, [(label, label.of[partition.class_of_cell]) for label in labels])
        recoding = Partition(partition.class_of_cell, partition.labels, split)
        return Solution(recoding, verdict, kept, False, checks, seconds)


class _Tree:
    """The rows of a problem under the hierarchies of its columns."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.cells = problem, problem.cells
        self.least = max(problem.policy.least_size, 1)
        self.ladders = [a.ladder.of for a in problem.attributes]

    def node(self, column: int, level: int, rows: np.ndarray) -> np.ndarray:
        """The label of each row in a column at a level."""
        return self.ladders[column][level][self.cells.codes[column, rows]]

    def good(self, rows: np.ndarray, of: np.ndarray, parts: int) -> np.ndarray:
        """Which parts of the rows satisfy the policy."""
        order = np.argsort(rows)
        classes = classes_of(self.cells.take(rows[order]), of[order].astype(np.int32), parts)
        return holds(self.problem.policy.require, classes)

    def specialise(
        self, rows: np.ndarray, level: np.ndarray, stuck: frozenset[int]
    ) -> tuple[int | None, list[np.ndarray], np.ndarray]:
        """The column on which most rows can be specialised, the parts that follow, and the rows that stay."""
        best: tuple[int, list[np.ndarray], np.ndarray] | None = None
        most = (0, 0.0)
        for column in range(len(level)):
            if level[column] == 0 or column in stuck:
                continue
            parts, left = self._children(rows, column, int(level[column]) - 1)
            follow = len(rows) - len(left)
            score = (follow, -1.0 / max(len(parts), 1))
            if parts and score > most:
                best, most = (column, parts, left), score
        return best if best is not None else (None, [], rows)

    def _children(self, rows: np.ndarray, column: int, level: int) -> tuple[list[np.ndarray], np.ndarray]:
        """The children that satisfy the policy, and the other rows, which do as well, or are none."""
        _, of = np.unique(self.node(column, level, rows), return_inverse=True)
        order = np.argsort(of, kind="stable")
        children = np.split(rows[order], np.cumsum(np.bincount(of))[:-1])
        fine = self.good(rows, of, len(children))
        parts = [child for child, good in zip(children, fine, strict=True) if good]
        left = np.concatenate([np.zeros(0, np.int64), *(c for c, good in zip(children, fine, strict=True) if not good)])
        if len(left) and not self._satisfied(left):
            parts, left = self._given_back(parts, left)
        return parts, left

    def _satisfied(self, rows: np.ndarray) -> bool:
        return bool(len(rows) >= self.least and self.good(rows, np.zeros(len(rows), np.int32), 1)[0])

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

    def partition(self, of: np.ndarray, levels: np.ndarray) -> Partition:
        """The classes with a node of each hierarchy as labels."""
        first, labels = first_of(of, len(levels)), {}
        for i, a in enumerate(self.problem.attributes):
            label = self.ladders[i][levels[:, i], self.cells.codes[i, first]]
            labels[a.name] = of_nodes(a, levels[:, i], label)
        return Partition(of.astype(np.int32), labels)
