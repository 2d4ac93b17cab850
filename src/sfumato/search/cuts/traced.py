"""k-Optimize in plain Python, one node after the other, with each step told: the same tree as that of its kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sfumato.errors import PolicyError
from sfumato.search.cuts.k_optimize_kernels import (
    GONE,
    HEAD,
    OUT,
    RISE,
    SPREAD,
    TAIL,
    USE,
    SplitRules,
    SplitWork,
    intervals,
    settle,
)
from sfumato.search.events import (
    BoundTaken,
    LeastCostFound,
    Splits,
    SplitsDropped,
    SplitsOpened,
    SplitsReordered,
    SubtreePruned,
    Trace,
)

MOST_NODES = 5_000  # that are looked at and told


@dataclass(eq=False)
class _Level:
    """A node on the way down: the state of each place, the cells by class, and what is known of its cost."""

    state: np.ndarray
    cells: np.ndarray
    begin: np.ndarray  # class e has the cells begin[e]..begin[e + 1]
    bound: int
    fixed: int = 0
    lost: int = 0

    def split(self, a: int, place: int) -> _Level:
        """The child that splits column a at a place."""
        state, sides = self.state.copy(), [self.cells[:0]]
        state[place] = HEAD
        for s, t in pairwise(self.begin):
            right = self.cells[s:t, a] >= place
            sides += [side for side in (self.cells[s:t][~right], self.cells[s:t][right]) if len(side)]
        begin = np.cumsum([len(side) for side in sides])
        return _Level(state, np.concatenate(sides), begin, self.bound, self.fixed, self.lost)


class TracedTree:
    """Walks subtrees as `k_optimize_kernels.explore` does, from the same arguments to the same result."""

    def __init__(self, trace: Trace, names: Splits, roots: Sequence[int]) -> None:
        self.trace, self.names = trace, names  # column and value of each place
        self.roots = frozenset(roots)  # places where columns begin: always there, and no split
        self.paths: dict[frozenset[int], tuple[int, ...]] = {}  # of nodes that were opened: the order of their splits
        self.bounds: dict[frozenset[int], int] = {}  # that were told
        self.nodes = 0

    def splits(self, places: Sequence[int]) -> Splits:
        """Places as events name them."""
        return tuple(self.names[place] for place in places)

    def of_state(self, state: np.ndarray) -> Splits:
        """The splits of a node."""
        return self.splits(self._path(state))

    def _path(self, state: np.ndarray) -> tuple[int, ...]:
        head = frozenset(np.flatnonzero(state == HEAD).tolist()) - self.roots
        return self.paths.get(head, tuple(sorted(head)))

    def __call__(
        self, table: np.ndarray, starts: np.ndarray, off: np.ndarray, column: np.ndarray, root: np.ndarray, floor: int,
        best: int, budget: int, chosen: np.ndarray, rules: SplitRules, work: SplitWork,
    ) -> tuple[int, np.ndarray, np.ndarray, int]:  # fmt: skip
        """Walk the subtree of a node."""
        levels = [_Level(root.copy(), table.copy(), starts.astype(np.int64), floor)]
        nodes = spent = 0
        while levels and spent < budget:
            level, pick = levels[-1], -1
            while level.bound < best:
                spent += len(level.cells) + len(root)
                nodes += 1
                best, pick, again = self._evaluate(level, off, best, chosen, rules, work)
                if not again:
                    break
            if pick < 0 or level.bound >= best or level.lost > rules.limit:
                self.tell_pruned(level.state, level.bound, None if level.lost > rules.limit else best, level.lost)
                levels.pop()
                continue
            path = self._path(level.state)
            self.trace(SplitsReordered(self.splits(path), self.names[pick], int(work.at[SPREAD, pick])))
            level.state[pick] = OUT
            levels.append(level.split(int(column[pick]), pick))
            self.paths[frozenset((*path, pick))] = (*path, pick)
        states = np.array([level.state for level in levels], np.int8).reshape(-1, len(root))
        return best, states, np.array([level.bound for level in levels], np.int64), nodes

    def _evaluate(
        self, level: _Level, off: np.ndarray, best: int, chosen: np.ndarray, rules: SplitRules, work: SplitWork
    ) -> tuple[int, int, bool]:
        """The best cost, the split that is added next or -1, and whether to look again as some were left out."""
        self.nodes += 1
        if self.nodes > MOST_NODES:
            raise PolicyError(
                "the steps of k-optimize can be shown for small trees only",
                got=f"more than {MOST_NODES:,} nodes",
                hint="take a part of the rows, or fewer columns",
            )
        state, tail = level.state, np.flatnonzero(level.state == TAIL)
        path = self._path(state)
        head, splits = frozenset(path), self.splits(path)
        intervals(state, off, TAIL, work)
        columns = np.array([a for a, (s, t) in enumerate(pairwise(off)) if (state[s:t] == TAIL).any()], np.int64)
        f = settle(
            level.cells, len(off) - 1, level.begin, 0, 0, len(level.begin) - 1, level.fixed, level.lost, state, columns,
            rules, work,
        )  # fmt: skip
        level.fixed, level.lost = int(f.fixed), int(f.suppressed)
        level.cells, level.begin = level.cells[: f.cells], level.begin[: f.classes + 1]
        if head not in self.bounds:
            self.trace(SplitsOpened(splits, int(f.cost), len(tail)))
            self.paths[head] = path
        if f.suppressed > rules.limit:
            self.bounds[head] = int(f.bound)
            return best, -1, False
        if f.cost < best:
            best = int(f.cost)
            chosen[:] = np.where(state == HEAD, HEAD, OUT)
            self.trace(LeastCostFound(splits, best))
        level.bound = max(level.bound, int(f.bound))
        if self.bounds.get(head) != level.bound:
            self.bounds[head] = level.bound
            self.trace(BoundTaken(splits, level.bound, best))
        least = f.fine if rules.labels else f.bound  # what `rise` is said of
        useless = work.at[USE, tail] == 0
        suppressing = ~useless & (level.lost + work.at[GONE, tail] > rules.limit)
        costly = ~useless & ~suppressing & (least + work.at[RISE, tail] >= best)
        out = useless | suppressing | costly
        if out.any():
            state[tail[out]] = OUT
            some = (self.splits(tail[why].tolist()) for why in (useless, suppressing, costly))
            self.trace(SplitsDropped(splits, *some))
        rest = tail[~out]
        if not len(rest):
            return best, -1, False
        return best, int(rest[np.argmax(work.at[SPREAD, rest])]), bool(out.any())

    def tell_pruned(self, state: np.ndarray, bound: int, best: int | None, suppressed: int = 0) -> None:
        """Tell the trace of a node that is left."""
        self.trace(SubtreePruned(self.of_state(state), bound, best, suppressed))
