"""Iterated lattice recoding: find the next node that has classes worth releasing, and take them out of the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.core.compiled import kernel
from sfumato.core.labels import at_level, of_ranges
from sfumato.core.lattice import Lattice
from sfumato.core.microdata import Attribute
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
                    when = 0
                    if step > 0:
                        c = 0.0
                        for a in range(columns):
                            c += cost[cost_at[a, nodes[b, a]] + codes[a, cell[i]]]
                        when = int(c / step)
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
