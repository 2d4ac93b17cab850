"""Descent: a walk down the lattice in which each node is checked from the classes of the one above it."""

from __future__ import annotations

from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from sfumato.cells import Cells, Classes, roll_up
from sfumato.kernels.nodes import check_nodes
from sfumato.lattice import Lattice
from sfumato.search.problem import Problem
from sfumato.search.source import WORTH_A_THREAD, Ladders, Source
from sfumato.search.walk import Checked, Walk

REMEMBERED = 1 << 24  # cells whose classes are remembered, over all nodes: 64 MB
MOST = 1 << 10  # nodes remembered


class Split(Source):
    """A source that stands on a node: a node below it in one attribute splits its classes by one column.

    The key of a cell is then its class and one label, whatever the number of attributes, and never too wide.
    """

    def __init__(self, ladders: Ladders, cells: Cells) -> None:
        super().__init__(ladders, cells, range(len(cells.codes)))
        self.tops = np.array([len(at) - 1 for at in ladders.at])
        self.here, self.groups = self.tops, 1
        self.pair = np.zeros((2, 2, len(cells)), np.int32)  # per thread: the class and the code of each cell
        self.tables = np.concatenate([np.arange(len(cells), dtype=np.int32), ladders.flat])
        self.seen: OrderedDict[bytes, tuple[np.ndarray, int]] = OrderedDict()
        self.found = np.zeros((0, 5))  # what the last check found

    def stand(self, node: np.ndarray) -> None:
        """Stand on a node, from the classes of a node right above it where they are remembered."""
        known = self.seen.pop(node.tobytes(), None)
        if known is None:
            known = self._from_above(node)
        self.seen[node.tobytes()] = known
        while len(self.seen) > min(max(REMEMBERED // len(self.cells), 4), MOST):
            self.seen.popitem(last=False)
        self.pair[:, 0], self.groups, self.here = known[0], known[1], node.copy()

    def _from_above(self, node: np.ndarray) -> tuple[np.ndarray, int]:
        for a in np.flatnonzero(node < self.tops):
            for level in (node[a] + 1, self.tops[a]):
                step = node.copy()
                step[a] = level
                if above := self.seen.get(step.tobytes()):
                    classes = self._split(*above, int(a), int(node[a]))
                    return classes.of_cell, len(classes.size)
        classes = super().classes(node)
        return classes.of_cell, len(classes.size)

    def _split(self, of: np.ndarray, groups: int, a: int, level: int) -> Classes:
        at, labels = self.ladders.at[a][level], int(self.ladders.size[a][level])
        pair = Cells((), np.stack([of, self.cells.codes[a]]), self.cells.count, (groups, labels), self.cells.histograms)
        tables = [self.tables[:groups], self.ladders.flat[at : at + self.ladders.values[a]]]
        return roll_up(pair, tables, (0, 1))

    def classes(self, node: np.ndarray) -> Classes:
        """The classes of a node that differs from the one stood on in at most one attribute."""
        a = int(np.argmax(node != self.here))
        return self._split(self.pair[0, 0], self.groups, a, int(node[a]))

    def check(
        self, nodes: np.ndarray, least: int, limit: int, gaps: np.ndarray, gap_at: np.ndarray, pool: ThreadPoolExecutor
    ) -> tuple[np.ndarray, np.ndarray]:
        """Class sizes, suppression and loss of nodes below the one stood on; see `kernels.nodes.check_nodes`."""
        found, extra = np.zeros((len(nodes), 5)), np.zeros(gap_at.shape)
        cells = len(self.cells)
        changed = np.argmax(nodes != self.here, axis=1)
        level = nodes[np.arange(len(nodes)), changed]
        where = np.array([[0, cells + self.ladders.at[a][i]] for a, i in zip(changed, level, strict=True)])
        size = np.array([[self.groups, self.ladders.size[a][i]] for a, i in zip(changed, level, strict=True)])

        def run(part: range, pair: np.ndarray) -> None:
            for b in part:
                pair[1] = self.cells.codes[changed[b]]
                one = slice(b, b + 1)
                check_nodes(
                    pair, self.cells.count, self.tables, where[one], size[one], least, limit,
                    self.cells.codes, gaps, gap_at[one], self.members, found[one], extra[one],
                )  # fmt: skip

        half = len(nodes) // 2 if len(nodes) * cells >= WORTH_A_THREAD else 0
        other = pool.submit(run, range(half), self.pair[0]) if half else None
        run(range(half, len(nodes)), self.pair[1])
        if other is not None:
            other.result()
        self.found = found
        return found, extra


class Descent(Walk):
    """A walk whose nodes are checked step by step from above. Checks are those of `Walk`; it lists no lattice."""

    def __init__(self, problem: Problem, lattice: Lattice, pool: ThreadPoolExecutor) -> None:
        super().__init__(problem, lattice, pool)
        self.floor, self.loss_floor = self.floor[:0], self.loss_floor[:0]
        self.split = Split(Ladders.of(self.attributes), problem.cells)
        self.sources = [self.split]

    def serve(self, nodes: np.ndarray) -> np.ndarray:
        """Every node is served by the source that stands above it."""
        return np.zeros(len(nodes), np.int64)

    def below(
        self, node: np.ndarray, attributes: np.ndarray, levels: np.ndarray
    ) -> tuple[np.ndarray, Checked, np.ndarray]:
        """Check the nodes that have one of the `attributes` of `node` at its new level.

        Gives the nodes, what was found, and where to go on: below the others nothing satisfies the policy.
        """
        nodes = np.repeat(node[None, :], len(attributes), axis=0)
        nodes[np.arange(len(attributes)), attributes] = levels
        if self.one_set:
            self.split.stand(node)
        checked = self.examine(nodes)
        if self.monotone:
            return nodes, checked, checked.good
        if not self.one_set:
            return nodes, checked, np.ones(len(nodes), np.bool_)
        # of other criteria, the class size that they imply
        return nodes, checked, self.split.found[:, 0] <= min(self.limit, self.rows - 1)
