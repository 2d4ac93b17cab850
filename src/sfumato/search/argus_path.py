"""The path of mu-Argus: column after column is recoded, the one that breaks most unsafe combinations per loss."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from sfumato.cells import Cells, roll_up
from sfumato.labels import at_level
from sfumato.lattice import lattice
from sfumato.losses import LM, LabelLoss
from sfumato.microdata import Attribute
from sfumato.search.problem import Problem
from sfumato.search.project import project


class Recodings:
    """The greedy path of global recodings: unsafe combinations are counted per set of columns and levels, once."""

    def __init__(self, problem: Problem, size: int | str | None) -> None:
        space = lattice(problem.attributes, problem.levels)
        self.problem, self.node, self.greatest = problem, list(space.least), space.greatest
        self.loss = problem.policy.loss if isinstance(problem.policy.loss, LabelLoss) else LM()
        everything = tuple(range(len(problem.attributes)))
        widths = range(1, min(size, len(everything)) + 1) if isinstance(size, int) else range(0)
        self.small = [chosen for width in widths for chosen in combinations(everything, width)]
        self.whole = [everything]
        self.known: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}
        self.cells: dict[tuple[int, ...], Cells] = {everything: problem.cells}
        self.label_loss = [_label_losses(self.loss, a, problem.rows) for a in problem.attributes]
        self.weights = np.array([self.loss.weight(a) for a in problem.attributes])
        self.checks = 0

    def path(self) -> list[list[int]]:
        """The nodes of the path, up to one without any unsafe combination."""
        nodes = [self.node]
        while self.unsafe(self.whole[0], self.node) and self.advance():
            nodes.append(self.node)
            self.problem.progress("recoding", sum(self.node) / max(sum(self.greatest), 1))
        if any(c.closed != "superset" or c.needs for c in self.problem.policy.require):
            while self.advance():  # other criteria may hold further up only
                nodes.append(self.node)
        return nodes

    def unsafe(self, columns: tuple[int, ...], node: list[int]) -> int:
        """How many combinations of labels in the columns fewer rows share than are asked for."""
        key = columns, tuple(node[c] for c in columns)
        if key not in self.known:
            self.checks += 1
            if columns not in self.cells:
                self.cells[columns] = project(self.problem.cells, columns)
            tables = [self.problem.attributes[c].ladder.of[level] for c, level in zip(*key, strict=True)]
            size = roll_up(self.cells[columns], tables, range(len(columns))).size
            self.known[key] = int((size < self.problem.policy.least_size).sum())
        return self.known[key]

    def loss_of(self, node: list[int]) -> float:
        """The loss of the labels of a node."""
        x = np.array([losses[level] for losses, level in zip(self.label_loss, node, strict=True)])
        return float(self.loss.combine(x, self.weights))

    def bound(self, node: list[int]) -> float:
        """A loss that a node cannot be below, whatever cells are blanked."""
        return self.loss_of(node) if isinstance(self.problem.policy.loss, LabelLoss) else 0.0

    def advance(self) -> bool:
        """Recode the column that breaks most unsafe combinations per loss; says whether there was one left.

        Combinations of a few columns count first, then the whole one, then the column with the most labels goes."""
        free = [a for a, (level, top) in enumerate(zip(self.node, self.greatest, strict=True)) if level < top]
        if not free:
            return False
        here = self.loss_of(self.node)
        chosen = max(free, key=lambda a: (len(self.problem.attributes[a].ladder.text[self.node[a]]), -a))
        for sets in (self.small, self.whole):
            broken = {a: sum(self._broken(columns, a) for columns in sets if a in columns) for a in free}
            if max(broken.values()) > 0:
                cost = {a: max(self.loss_of(self._raised(a)) - here, 1e-12) for a in free}
                chosen = max(free, key=lambda a: (broken[a] / cost[a], -a))
                break
        self.node = self._raised(chosen)
        return True

    def _raised(self, a: int) -> list[int]:
        return [level + (i == a) for i, level in enumerate(self.node)]

    def _broken(self, columns: tuple[int, ...], a: int) -> int:
        return self.unsafe(columns, self.node) - self.unsafe(columns, self._raised(a))


def _label_losses(loss: LabelLoss, attribute: Attribute, rows: int) -> np.ndarray:
    """The loss of a column at each level, with nothing suppressed."""
    levels = [at_level(attribute, level) for level in range(attribute.ladder.levels)]
    own, count = loss.own(attribute), attribute.categories.count
    return np.array([((loss.cost(labels)[labels.of] - own) * count).sum() / rows for labels in levels])
