"""Classes of iterated lattice recoding: how each is labelled, and which one takes in rows that are left over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sfumato.core.cells import classes_of
from sfumato.core.labels import Labels, of_nodes, of_ranges
from sfumato.core.lattice import Lattice
from sfumato.core.microdata import Attribute
from sfumato.core.policy import holds
from sfumato.search.iterated.nodes import LabelCosts
from sfumato.search.problem import Problem

EACH = 4096  # cells that are left over, up to which each one looks for its class
NEAREST = 32  # classes that it looks at
SAMPLE = 64  # cells that are left over, by which the classes near to them are found


@dataclass(eq=False)
class LabelGroups:
    """Classes of cells: of each a cell and, per column, the level at which all its cells agree; `class_of_cell` is -1
    for cells in no class. A class is labelled as narrowly as the levels allow."""

    problem: Problem
    space: Lattice
    costs: LabelCosts
    class_of_cell: np.ndarray
    rep: np.ndarray = field(init=False)  # [columns, classes] codes of one cell of each class
    level: np.ndarray = field(init=False)  # [columns, classes]
    size: np.ndarray = field(init=False)
    cost: np.ndarray = field(init=False)  # of a row

    def __post_init__(self) -> None:
        self.measure()

    def measure(self) -> None:
        """Levels, sizes and costs of the classes, from their cells."""
        cells = self.problem.cells
        inside = np.flatnonzero(self.class_of_cell >= 0)
        order = inside[np.argsort(self.class_of_cell[inside], kind="stable")]
        classes = int(self.class_of_cell.max(initial=-1)) + 1
        start = np.searchsorted(self.class_of_cell[order], np.arange(classes))
        self.size = np.bincount(self.class_of_cell[inside], weights=cells.count[inside], minlength=classes).astype(
            np.int64
        )
        self.rep = cells.codes[:, order[start]]
        self.level = np.empty(self.rep.shape, np.int64)
        for i, a in enumerate(self.problem.attributes):
            self.level[i] = self.space.least[i]
            for up in range(self.space.least[i], a.ladder.height):
                label = a.ladder.of[up][cells.codes[i, order]]
                differ = np.minimum.reduceat(label, start) != np.maximum.reduceat(label, start)
                self.level[i, differ] = up + 1
        self.cost = self._cost(self.level)

    def _cost(self, level: np.ndarray) -> np.ndarray:
        """Cost of a row in each class at the given levels."""
        column = np.arange(len(level))[:, None]
        return np.asarray(self.costs.flat[self.costs.at[column, level] + self.rep].sum(axis=0))

    def joined(self, cell: int) -> tuple[np.ndarray, np.ndarray]:
        """What each class would have for levels with a cell in it, and what all its rows would then cost more, infinite
        where the levels allowed do not reach."""
        level = np.empty_like(self.level)
        for i, a in enumerate(self.problem.attributes):
            of = a.ladder.of
            meet = np.argmax(of == of[:, [self.problem.cells.codes[i, cell]]], axis=0)
            level[i] = np.maximum(self.level[i], meet[self.rep[i]])
        more = (self.size + self.problem.cells.count[cell]) * self._cost(level) - self.size * self.cost
        out = (level > np.array(self.space.greatest)[:, None]).any(axis=0)
        return level, np.where(out, np.inf, more)

    def join(self, cell: int, group: int, level: np.ndarray) -> None:
        """Put a cell into a class that gets the levels given."""
        self.class_of_cell[cell] = group
        self.level[:, group] = level
        self.size[group] += self.problem.cells.count[cell]
        at = self.costs.at[np.arange(len(level)), level] + self.rep[:, group]
        self.cost[group] = self.costs.flat[at].sum()

    def place_rest(self, by_size: bool) -> None:
        """Put the cells that are in no class into classes; those that stay out get classes of their own."""
        if by_size or (self.class_of_cell < 0).sum() <= EACH:
            self._join_each(by_size)
        rest = self.class_of_cell < 0
        if not by_size and (self.problem.cells.count[rest].sum() > self.problem.limit or self.gone_for_good(rest)):
            self._join_together()
        out = np.flatnonzero(self.class_of_cell < 0)
        if len(out):
            self.class_of_cell[out] = len(self.size) + np.arange(len(out))
            self.measure()

    def _join_each(self, by_size: bool) -> None:
        """Each cell joins the class whose rows it costs least, and which still satisfies with it; where the limit
        allows, cells stay out that cost more inside than suppressed, and cells that fit nowhere."""
        count, out = self.problem.cells.count, np.zeros(len(self.class_of_cell), np.bool_)
        alone = sorted(
            ((float(self.joined(c)[1].min()), c) for c in np.flatnonzero(self.class_of_cell < 0).tolist()), reverse=True
        )
        out[[c for more, c in alone if more == np.inf]] = True
        for _, c in alone:  # the costliest first, while there is room to leave them out
            level, more = self.joined(c)
            group = int(np.argmin(more)) if by_size else self._nearest_fit(c, more)
            least = more[group] if group >= 0 else np.inf
            out[c] = least > count[c] * self.costs.gone[c]
            if least == np.inf or (out[c] and count[out].sum() <= self.problem.limit and not self.gone_for_good(out)):
                continue
            out[c] = False
            self.join(c, group, level[:, group])

    def _nearest_fit(self, cell: int, more: np.ndarray) -> int:
        """The class that costs least more with a cell in it, among the nearest that still satisfy then; -1 if none."""
        near = np.argsort(more, kind="stable")[:NEAREST]
        near = near[more[near] < np.inf]
        place = np.full(len(self.size) + 1, -1, np.int32)  # the last one for cells in no class
        place[near] = np.arange(len(near), dtype=np.int32)
        inside = np.flatnonzero(place[self.class_of_cell] >= 0)
        cells = self.problem.cells.take(np.concatenate([inside, np.full(len(near), cell)]))
        class_of_cell = np.concatenate([place[self.class_of_cell[inside]], np.arange(len(near), dtype=np.int32)])
        good = holds(self.problem.policy.require, classes_of(cells, class_of_cell, len(near)))
        return int(near[np.argmax(good)]) if good.any() else -1

    def _join_together(self) -> None:
        """Criteria that look inside the classes: the cells in no class become one class with those nearest to it, as
        many as it takes to satisfy them."""
        problem, rest = self.problem, self.class_of_cell < 0
        some = np.flatnonzero(rest)[:SAMPLE]
        near = np.argsort(sum((self.joined(int(c))[1] for c in some), np.zeros(len(self.size))), kind="stable")
        take = 1
        while True:
            member = np.isin(self.class_of_cell, near[:take]) | rest
            one = classes_of(problem.cells.take(np.flatnonzero(member)), np.zeros(int(member.sum()), np.int32), 1)
            if holds(problem.policy.require, one)[0] or take == len(near):
                break
            take = min(take + max(1, take // 4), len(near))
        self.class_of_cell[member] = near[0]
        self.class_of_cell = np.unique(self.class_of_cell, return_inverse=True)[1].astype(np.int32)
        self.measure()

    def gone_for_good(self, out: np.ndarray) -> bool:
        """Whether values are in no other cell than those that are out, in a column whose labels are made from the data:
        they would name such values."""
        codes = self.problem.cells.codes
        return bool(out.any()) and any(
            a.hierarchy is None and len(np.unique(codes[i, ~out])) < len(a.categories)
            for i, a in enumerate(self.problem.attributes)
        )

    def labels(self, released: Sequence[Attribute]) -> dict[str, Labels]:
        """The labels of the classes: nodes of the hierarchies; ranges where a column is released as another one."""
        found = {}
        for i, a in enumerate(self.problem.attributes):
            if a is released[i]:
                found[a.name] = of_nodes(a, self.level[i], a.ladder.of[self.level[i], self.rep[i]])
            else:
                low, high = np.full(len(self.size), len(a.categories)), np.full(len(self.size), -1)
                np.minimum.at(low, self.class_of_cell, self.problem.cells.codes[i])
                np.maximum.at(high, self.class_of_cell, self.problem.cells.codes[i])
                found[a.name] = of_ranges(released[i], low, high)
        return found
