"""Cell suppression by network flows: L. H. Cox, Network models for complementary cell suppression, Journal of the
American Statistical Association 90(432), 1995; J. Castro, Network flows heuristics for complementary cell suppression,
LNCS 2316, 2002.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from sfumato.core.progress import check_cancelled
from sfumato.errors import MissingExtra, PolicyError
from sfumato.tables.protection import ProtectedCells, ProtectionProblem
from sfumato.tables.suppression.greedy import Pattern
from sfumato.tables.suppression.pieces import everything, whole_piece
from sfumato.tables.suppression.repair import Audited, repair
from sfumato.tables.values import Dimension

MOST_DROPPED = 3_000  # cells of a table that is searched for cells which are hidden in vain


@dataclass(frozen=True)
class NetworkFlow:
    """Hide, for each unsafe cell of a table of two columns, the cheapest cycles of cells through it.

    The cells are the arcs of a network, in which the sums say that as much flows into a node as out of it: one column
    at most may have a hierarchy. Cells that are hidden already cost nothing more.
    """

    hides: ClassVar[bool] = True
    additive: ClassVar[bool] = True

    def __call__(self, problem: ProtectionProblem) -> ProtectedCells:
        """Protect the cells of the problem."""
        network = network_of(problem)
        audited = Audited(problem)
        most = everything(audited.problem)
        hidden = problem.forced.copy()
        unsafe = np.flatnonzero(problem.primary.cells.ravel())
        needs = np.maximum(problem.below, problem.above)[unsafe]
        order = unsafe[np.argsort(-needs, kind="stable")]
        for done, cell in enumerate(order):
            problem.report_progress("looking for cheap cycles", done / len(order))
            for way, need in ((1, problem.above[cell]), (-1, problem.below[cell])):
                network.protect(int(cell), way, float(need), hidden)
        if len(hidden) <= MOST_DROPPED:
            hidden = without_needless(problem, hidden)
        hidden = repair(audited, hidden, most)
        return ProtectedCells(hidden, problem.price(hidden), facts={"audits": audited.times})


def without_needless(problem: ProtectionProblem, hidden: np.ndarray) -> np.ndarray:
    """A pattern with the cells that keep unsafe ones from insiders too, and without those that none needs."""
    pattern = Pattern(whole_piece(problem))
    pattern.hidden = hidden[pattern.piece.cell]
    tasks = pattern.tasks()
    pattern.protect(tasks)
    pattern.drop(tasks)
    found = np.zeros_like(hidden)
    found[pattern.piece.cell[pattern.hidden]] = True
    return found


@dataclass(frozen=True, eq=False)
class Network:
    """A graph whose arcs are the cells of a table: what a cell is more flows from its tail to its head."""

    problem: ProtectionProblem
    tail: np.ndarray
    head: np.ndarray
    nodes: int
    sparse: Any
    paths: Any

    def protect(self, cell: int, way: int, need: float, hidden: np.ndarray) -> bool:
        """Hide the cells of cheapest paths back from a cell's head to its tail, until what is needed can flow along
        them."""
        problem = self.problem
        allowed = np.flatnonzero(problem.candidate | problem.forced)
        up, down = ((one - problem.value) * side for one, side in ((problem.most, 1.0), (problem.least, -1.0)))
        begin, end = (
            np.append(self.tail[allowed], self.head[allowed]),
            np.append(self.head[allowed], self.tail[allowed]),
        )
        which = np.append(allowed, allowed)
        room = np.append(up[allowed], down[allowed])
        room[which == cell] = 0
        source, target = (self.head[cell], self.tail[cell]) if way > 0 else (self.tail[cell], self.head[cell])
        used = np.zeros(len(hidden), np.bool_)
        half = len(allowed)
        while need > 1e-9:
            check_cancelled()
            open_to = np.flatnonzero(room > 1e-9)
            price = np.where(hidden | used, 0.0, problem.cost)[which[open_to]] + 1e-9 * problem.cost[which[open_to]]
            price *= np.maximum(1.0, need / room[open_to])
            graph = self.sparse.csr_array((price, (begin[open_to], end[open_to])), (self.nodes, self.nodes))
            number = self.sparse.csr_array((open_to + 1, (begin[open_to], end[open_to])), (self.nodes, self.nodes))
            _, before = self.paths.dijkstra(graph, indices=source, return_predecessors=True)
            arcs, node = [], target
            while node != source:
                if before[node] < 0:
                    return False
                arcs.append(int(number[before[node], node]) - 1)
                node = before[node]
            flow = min(need, float(room[arcs].min()))
            room[arcs] -= flow
            room[[arc + half if arc < half else arc - half for arc in arcs]] += flow
            used[which[arcs]] = True
            need -= flow
        hidden |= used
        return True


def network_of(problem: ProtectionProblem) -> Network:
    """The network of a table of two columns.

    There is a node for each node of the one hierarchy that has children, with each of the other column (its sum), for
    each without (its row), and one that all totals of the first hierarchy hang on.
    """
    dimensions = problem.table.dimensions
    flat = [axis for axis, one in enumerate(dimensions) if int(one.depth.max()) <= 1]
    if len(dimensions) != 2 or not flat:
        raise PolicyError(
            "network-flow protects tables of two columns, of which one at most has a hierarchy",
            got=f"{len(dimensions)} columns, {len(dimensions) - len(flat)} with a hierarchy",
            hint='use "modular", "hypercube" or "exact"',
        )  # fmt: skip
    try:
        sparse, paths = import_module("scipy.sparse"), import_module("scipy.sparse.csgraph")
    except ImportError:
        raise MissingExtra("scipy", "ml") from None
    axis = flat[-1]  # the one without a hierarchy
    tree: Dimension = dimensions[1 - axis]
    width = len(dimensions[axis])
    inner = np.zeros(len(tree), np.bool_)
    inner[tree.parent[1:]] = True
    # the node of (tree node, column) seen from below it; a row without children is one node for all columns
    below = np.where(inner[:, None], np.arange(len(tree))[:, None] * width + np.arange(width), len(tree) * width)
    below = np.where(inner[:, None], below, len(tree) * width + 1 + np.arange(len(tree))[:, None])
    above = np.where(tree.parent[:, None] < 0, len(tree) * width, below[np.maximum(tree.parent, 0)])
    tail, head = above.copy(), below.copy()
    tail[:, 0], head[:, 0] = below[:, 0], above[:, 0]  # totals of the other column flow back
    if axis == 0:
        tail, head = tail.T, head.T
    return Network(problem, tail.ravel(), head.ravel(), len(tree) * (width + 1) + 1, sparse, paths)
