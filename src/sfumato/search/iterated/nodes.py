"""Iterated lattice recoding: find the next node that has classes worth releasing, and take them out of the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sfumato.core.cells import classes_of
from sfumato.core.compiled import kernel
from sfumato.core.labels import Labels, at_level, of_nodes, of_ranges
from sfumato.core.lattice import Lattice
from sfumato.core.microdata import Attribute
from sfumato.core.policy import holds
from sfumato.losses import LM
from sfumato.search.lattice.kernels import group_cells
from sfumato.search.problem import Problem

NEVER = np.iinfo(np.int64).max


@kernel
def next_node(
    fused: np.ndarray,
    count: np.ndarray,
    cell: np.ndarray,
    rest: int,
    maps: np.ndarray,
    map_at: np.ndarray,
    map_size: np.ndarray,
    nodes: np.ndarray,
    codes: np.ndarray,
    cost: np.ndarray,
    cost_at: np.ndarray,
    least: int,
    need: int,
    step: float,
    pending: np.ndarray,
    most: np.ndarray,
    due: int,
    first: int,
    budget: int,
    slot: np.ndarray,
    rows: np.ndarray,
    keys: np.ndarray,
    number: np.ndarray,
    mark: np.ndarray,
) -> tuple[int, int, int, int]:
    """Look from node `first` on for a node that is due, with classes of at least `least` rows that together have at
    least `need` rows; mark[i] is then the number of the class of cell i of the rest, or -1.

    A class is due when its cost in steps, the sum over the columns of cost[cost_at[column, level] + code], is at most
    `due`. pending[b] is when node b is due next: as classes of the rest only shrink, it need not be looked at before.
    `step` 0: every class is due, and most[b], the rows of its large classes when last seen, says when b may be left
    out. Returns due, node, the number of classes (0: none found within the budget, or none at all: then the node is
    the number of nodes), and the nodes looked at.
    """
    columns, last, looked = codes.shape[0], len(nodes), 0
    room = rows[: max(16, 4 * rest)]  # a wider table would take longer to clear
    while True:
        following = NEVER
        for b in range(first, last):
            if pending[b] > due:
                following = min(following, pending[b])
                continue
            if most[b] < need:
                continue
            if budget < 0:
                return due, b, 0, looked
            budget -= rest + 64
            looked += 1
            slots = group_cells(fused, count, rest, maps, map_at[b], map_size[b], slot, room, keys)
            large = 0
            for j in range(slots):
                if rows[j] >= least:
                    large += rows[j]
            if step > 0:
                pending[b] = NEVER
            most[b] = large
            if large < need or large == 0:
                continue
            number[:slots] = -1
            classes, wanted = 0, 0
            for i in range(rest):
                s = slot[i]
                mark[i] = -1
                if rows[s] < least:
                    continue
                if number[s] == -1:
                    when = np.int64(0)
                    if step > 0:
                        c = 0.0
                        for a in range(columns):
                            c += cost[cost_at[a, nodes[b, a]] + codes[a, cell[i]]]
                        when = np.int64(c / step)
                    if when <= due:
                        number[s] = classes
                        classes += 1
                        wanted += rows[s]
                    else:
                        number[s] = -2
                        pending[b] = min(pending[b], when)
                mark[i] = number[s] if number[s] >= 0 else -1
            following = min(following, pending[b])
            if classes > 0 and wanted >= need:
                return due, b, classes, looked
        whole = first == 0
        first = 0
        if following == NEVER and whole:
            return due, last, 0, looked
        if not whole:  # nodes before the first were not looked at
            for b in range(last):
                if pending[b] > due:
                    following = min(following, pending[b])
        if following == NEVER:
            return due, last, 0, looked
        due = following


@kernel
def release(
    fused: np.ndarray,
    count: np.ndarray,
    cell: np.ndarray,
    rest: int,
    mark: np.ndarray,
    name: np.ndarray,
    class_of_cell: np.ndarray,
) -> int:
    """Take the cells of class number c out of the rest and name their class name[c], unless that is negative; how many
    cells are left, which keep their order."""
    left = 0
    for i in range(rest):
        c = mark[i]
        if c >= 0 and name[c] >= 0:
            class_of_cell[cell[i]] = name[c]
            continue
        for g in range(fused.shape[0]):
            fused[g, left] = fused[g, i]
        count[left], cell[left] = count[i], cell[i]
        left += 1
    return left


LISTED = 1 << 16  # of a larger lattice only some chains are gone through
CHAINS = 256
STEPS = 512  # costs are told apart by this part of the greatest one
SPREAD = 0.5  # how far the order of the chains' steps strays from the order of their costs


@dataclass(frozen=True, eq=False)
class LabelCosts:
    """What a row costs: flat[at[column, level] + code], weighted so that the sum over the columns follows the loss."""

    flat: np.ndarray
    at: np.ndarray
    gone: np.ndarray  # a suppressed row, summed over the columns, per cell
    mean: np.ndarray  # per column and level, over the rows of the table
    least: np.ndarray  # per column and level
    step: float

    @staticmethod
    def of(problem: Problem, released: Sequence[Attribute]) -> LabelCosts:
        """The costs under the loss of the policy. Columns that are `released` as another attribute than the problem's
        are released as ranges."""
        loss = label_loss(problem)
        attributes, codes = problem.attributes, problem.cells.codes
        shape = len(attributes), max(a.ladder.levels for a in attributes)
        at, mean, least = np.zeros(shape, np.int64), np.zeros(shape), np.zeros(shape)
        gone, flat, start, greatest = np.zeros(codes.shape[1]), [], 0, 0.0
        for i, a in enumerate(attributes):
            weight, own = loss.weight(released[i]), loss.own(released[i])
            for level in range(a.ladder.levels):
                labels = at_level(a, level)
                of = labels.of
                if a is not released[i]:
                    labels = of_ranges(released[i], labels.lo, labels.hi)
                    of = labels.of[of]
                cost = np.maximum(loss.cost(labels)[of] - own, 0.0) * weight
                at[i, level], mean[i, level], least[i, level] = start, cost @ a.categories.count, cost.min()
                flat.append(cost)
                start += len(cost)
            greatest += float(cost.max())
            suppressed = loss.suppressed(released[i])
            gone += (cost if suppressed is None else suppressed * weight)[codes[i]]
        return LabelCosts(np.concatenate(flat), at, gone, mean / problem.rows, least, greatest / STEPS or 1.0)

    def of_nodes(self, table: np.ndarray, nodes: np.ndarray) -> np.ndarray:
        """The sum over the columns of a table per column and level, at each node."""
        return np.asarray(table[np.arange(len(self.at)), nodes].sum(axis=1))


def label_loss(problem: Problem) -> Any:
    """The loss of the policy; LM where that is one of class sizes."""
    return problem.policy.loss if problem.policy.loss.by_label else LM()


def nodes_by_cost(space: Lattice, costs: LabelCosts) -> np.ndarray:
    """Nodes by rising mean cost, ties by level vector, int64 [nodes, attributes]; the most general one is last."""
    nodes = space.nodes().astype(np.int64) if space.size <= LISTED else _chains(space, costs)
    nodes = nodes[np.lexsort((*nodes.T[::-1], costs.of_nodes(costs.mean, nodes)))]
    top = np.array(space.greatest, dtype=np.int64)
    return np.vstack([nodes[(nodes != top).any(axis=1)], top])


def _chains(space: Lattice, costs: LabelCosts) -> np.ndarray:
    """Chains from the least to the greatest node: each raises the columns level by level, roughly by rising cost."""
    rng = np.random.default_rng(0)
    column = np.repeat(np.arange(len(space.shape)), np.array(space.shape) - 1)
    level = np.concatenate(
        [np.arange(low + 1, high + 1) for low, high in zip(space.least, space.greatest, strict=True)]
    )
    cost = np.maximum.accumulate(costs.mean, axis=1)[column, level]
    found = [np.array([space.least], dtype=np.int64)]
    for chain in range(CHAINS):
        stray = np.exp(rng.normal(0.0, SPREAD if chain else 0.0, len(space.shape)))
        order = np.lexsort((level, cost * stray[column]))
        steps = np.zeros((len(order), len(space.shape)), np.int64)
        steps[np.arange(len(order)), column[order]] = 1
        found.append(np.array(space.least) + np.cumsum(steps, axis=0))
    return np.unique(np.vstack(found), axis=0)


EACH = 4_000_000  # cells that are left over times classes, up to which each one looks for its class
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
        if by_size or (self.class_of_cell < 0).sum() * len(self.size) <= EACH:
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
