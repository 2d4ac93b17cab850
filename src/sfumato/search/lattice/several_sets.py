"""Several quasi-identifier sets: a level vector is checked set by set, over the cells of each set alone."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from sfumato.core.policy import kept_classes
from sfumato.search.lattice.checker import NodeChecker
from sfumato.search.lattice.kernels import drop_small_classes
from sfumato.search.problem import Problem


class SetChecker:
    """The cells of each quasi-identifier set, which are far fewer than those of all columns. Many level vectors agree
    in the columns of a set: what is known of a set at some levels is kept."""

    def __init__(self, problem: Problem, whole: NodeChecker) -> None:
        self.problem, self.whole = problem, whole
        self.members = [np.array(sorted(members), dtype=np.int64) for members in problem.sets]
        parts = [whole.project([int(m) for m in members]) for members in self.members]
        self.sources = [source for source, _ in parts]
        self.cell_of = np.stack([of for _, of in parts])  # the cell of each set that a cell of all columns lies in
        self.criteria, self.least = problem.policy.criteria, problem.policy.least_sizes
        self.small: list[dict[bytes, int]] = [{} for _ in parts]
        self.held: list[dict[bytes, bool]] = [{} for _ in parts]

    def least_suppressed(self, nodes: np.ndarray, pool: ThreadPoolExecutor) -> np.ndarray:
        """How many rows each node suppresses at least: those in classes that are too small, in the worst set."""
        found = np.zeros(len(nodes))
        nothing = np.full(nodes.shape, -1, np.int64)
        for members, source, least, known in zip(self.members, self.sources, self.least, self.small, strict=True):
            keys = [part.tobytes() for part in nodes[:, members]]
            new = list({key: b for b, key in enumerate(keys) if key not in known}.items())
            if new:
                rows = [b for _, b in new]
                new_nodes = nodes[rows]
                checked, _ = source.check(
                    new_nodes, source.prepare(new_nodes), least, -1, np.zeros(0), nothing[rows], pool
                )
                known.update((key, int(n)) for (key, _), n in zip(new, checked[:, 0], strict=True))
            found = np.maximum(found, [known[key] for key in keys])
        return found

    def holds(self, node: np.ndarray) -> bool:
        """Whether all classes of all sets satisfy the criteria, so that nothing is suppressed."""
        for members, source, criteria, known in zip(self.members, self.sources, self.criteria, self.held, strict=True):
            key = node[members].tobytes()
            if key not in known:
                known[key] = bool(kept_classes(criteria, source.classes(node)).all())
            if not known[key]:
                return False
        return True

    def suppressed_cells(self, node: np.ndarray) -> np.ndarray:
        """The cells of all columns that go: a row in a class that is too small goes, and shrinks classes of the other
        sets, until none is left that is too small."""
        classes = [source.classes(node) for source in self.sources]
        start = np.cumsum([0, *(len(c.size) for c in classes)])
        of = np.stack([(c.class_of_cell + at)[own] for c, at, own in zip(classes, start, self.cell_of, strict=False)])
        gone = np.zeros(of.shape[1], np.bool_)
        least = np.array(self.least, dtype=np.int64)
        drop_small_classes(of, self.problem.cells.count, np.concatenate([c.size for c in classes]), least, gone)
        return np.flatnonzero(gone)
