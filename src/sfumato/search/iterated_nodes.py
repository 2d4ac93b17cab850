"""The nodes that iterated lattice recoding goes through, by rising cost, and what each label costs a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.labels import at_level, of_ranges
from sfumato.lattice import Lattice
from sfumato.losses import LM, LabelLoss
from sfumato.microdata import Attribute
from sfumato.search.problem import Problem

LISTED = 1 << 16  # of a larger lattice only some chains are gone through
CHAINS = 256
STEPS = 512  # costs are told apart by this part of the greatest one
SPREAD = 0.5  # how far the order of the chains' steps strays from the order of their costs


@dataclass(frozen=True, eq=False)
class Costs:
    """What a row costs: flat[at[column, level] + code], weighted so that the sum over the columns follows the loss."""

    flat: np.ndarray
    at: np.ndarray
    gone: np.ndarray  # a suppressed row, summed over the columns, per cell
    mean: np.ndarray  # per column and level, over the rows of the table
    least: np.ndarray  # per column and level
    step: float

    @staticmethod
    def of(problem: Problem, released: Sequence[Attribute]) -> Costs:
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
        return Costs(np.concatenate(flat), at, gone, mean / problem.rows, least, greatest / STEPS or 1.0)

    def of_nodes(self, table: np.ndarray, nodes: np.ndarray) -> np.ndarray:
        """The sum over the columns of a table per column and level, at each node."""
        return np.asarray(table[np.arange(len(self.at)), nodes].sum(axis=1))


def label_loss(problem: Problem) -> Any:
    """The loss of the policy; LM where that is one of class sizes."""
    return problem.policy.loss if isinstance(problem.policy.loss, LabelLoss) else LM()


def nodes_by_cost(space: Lattice, costs: Costs) -> np.ndarray:
    """Nodes by rising mean cost, ties by level vector, int64 [nodes, attributes]; the most general one is last."""
    nodes = space.nodes().astype(np.int64) if space.size <= LISTED else _chains(space, costs)
    nodes = nodes[np.lexsort((*nodes.T[::-1], costs.of_nodes(costs.mean, nodes)))]
    top = np.array(space.greatest, dtype=np.int64)
    return np.vstack([nodes[(nodes != top).any(axis=1)], top])


def _chains(space: Lattice, costs: Costs) -> np.ndarray:
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
