"""Lightning: anytime best-first search of large lattices. Prasser et al., Transactions on Data Privacy 9(2), 2016."""

from __future__ import annotations

import heapq
import time
from dataclasses import dataclass, fields
from typing import Annotated, ClassVar

import numpy as np

from sfumato.core.compiled import workers
from sfumato.core.lattice import lattice
from sfumato.core.parameters import OneOf, Real, Whole, check_fields
from sfumato.core.policy import ClassStatistics
from sfumato.core.protocols import Search
from sfumato.search.lattice.optimal import group_bound
from sfumato.search.lattice.state import Checked, Descent, LatticeState
from sfumato.search.problem import Problem, Solution, level_solution

BOUNDING = 0.15  # share of the time that goes into the bound
PROBING = 0.1  # share of the time, or of the nodes, in which each of two directions shows what it finds
IMPROVING = 0.05  # share of the time, or of the nodes, that goes into the neighbourhood of the better of two
DIRECTIONS = {"both": ("top", "bottom"), "top": ("top",), "bottom": ("bottom",)}


@dataclass(frozen=True)
class Lightning(Search):
    """The best level vector found in the time given, by best-first search with dives (AG_TS, heuristic).

    The node of least loss is expanded to its direct neighbours, away from where the search started; every `stepping`
    expansions a dive goes on from neighbour to best neighbour until there is none. `start="top"` goes down from the
    most general node: it has a solution at once, which is what limits on suppression ask for. `start="bottom"` goes up,
    as in the paper, which is made for tables where any number of rows may be suppressed. `start="both"` tries
    each for a tenth of the time, gives the rest to the one that found less loss, and goes on from the best node to
    better neighbours. Where `nodes` end a direction before the time is over, the other has as many.
    Any of them is exact where it finishes before `seconds` and `nodes` (checks, about): `optimal` says so. Else `bound`
    is a loss that no level vector can be below, and the gap is the loss minus the bound.

    `seconds`: when the search ends at the latest. `nodes`: how many level vectors are checked at most, about. `start`:
    from the most general node down, from the values up, or the better of the two. `stepping`: expansions between dives.
    """

    code: ClassVar[str] = "AG_TS"
    guarantee: ClassVar[str] = "heuristic"
    counts_labels: ClassVar[bool] = True
    seconds: Annotated[float | None, Real(0, 1e9, above=True)] = 10.0
    nodes: Annotated[int | None, Whole()] = None
    start: Annotated[str, OneOf(tuple(DIRECTIONS))] = "both"
    stepping: Annotated[int, Whole()] = 5

    def __post_init__(self) -> None:
        check_fields(self, "lightning")

    def __call__(self, problem: Problem) -> Solution:
        """Search the lattice of the problem."""
        began = time.perf_counter()
        space = lattice(problem.attributes, problem.levels)
        spare = None if self.seconds is None else self.seconds * BOUNDING
        with workers() as pool:
            fronts: list[_Front] = []
            for start in DIRECTIONS[self.start]:
                walk = (Descent if start == "top" else LatticeState)(problem, space, pool)
                fronts.append(_Down(walk) if isinstance(walk, Descent) else _Up(walk))
            finished = self._search(fronts, None if self.seconds is None else began + self.seconds * (1 - BOUNDING))
            if not finished:
                walk.open_bound = max(*(front.bound() for front in fronts), group_bound(problem, spare, pool))
        if walk.best is None:
            raise walk.infeasible(finished or walk.open_bound == np.inf)
        loss, _, node, _ = walk.best
        bound, checks = loss if finished else min(walk.open_bound, loss), sum(front.walk.checks for front in fronts)
        repeatable = finished or not any(front.cut or front.walk.timed_out for front in fronts)
        return level_solution(problem, node, checks, began, finished, repeatable, bound)

    def _search(self, fronts: list[_Front], until: float | None) -> bool:
        """Search from the side that finds less in a short trial, then around its best; whether one side finished."""
        walk, both = fronts[-1].walk, len(fronts) > 1
        for front in fronts:
            front.beside = fronts
        begins, finished = PROBING * len(fronts) if both else 0.0, False
        if both:
            finished = any(self._turn(front, until, i * PROBING, PROBING, True) for i, front in enumerate(fronts))
        share = (1 - begins - both * IMPROVING) / len(fronts)
        if not finished:  # the sort is stable: from the top where both found as much
            ordered = sorted(fronts, key=lambda front: np.inf if front.walk.best is None else front.walk.best[0])
            turns = enumerate(ordered)
            finished = any(self._turn(front, until, begins + i * share, share) for i, front in turns)
        walk.best = min((front.walk.best for front in fronts if front.walk.best is not None), default=None)
        if both and not finished and walk.best is not None:
            walk.stop_after(_left(until), None if self.nodes is None else walk.checks + int(self.nodes * IMPROVING))
            walk.timed_out = False
            improve(walk)
        return finished

    def _turn(self, front: _Front, until: float | None, before: float, share: float, trial: bool = False) -> bool:
        """Go on from one side, for a share of the search that follows what is done `before`; whether it finished."""
        left, nodes = _left(until), self.nodes
        if self.seconds is not None and left is not None:
            whole = self.seconds * (1 - BOUNDING)
            left = min(left, whole * PROBING) if trial else max(left - whole * IMPROVING * (self.start == "both"), 0.0)
        front.walk.stop_after(left, int(nodes * PROBING) if trial and nodes is not None else nodes)
        front.begin(before, share)
        return front.search(self.stepping)


def _left(until: float | None) -> float | None:
    return None if until is None else max(until - time.perf_counter(), 0.0)


def improve(walk: LatticeState) -> None:
    """Go on from the best node to a better neighbour, one level lower or one traded for another, while there is one."""
    steps = np.eye(walk.d, dtype=np.int64)
    traded = (steps[:, None] - steps[None, :]).reshape(-1, walk.d)
    moves = np.concatenate([-steps, traded[traded.any(axis=1)], steps])
    while walk.best is not None and not walk.over():
        before, nodes = walk.best, np.array(walk.best[2], dtype=np.int64) + moves
        nodes = nodes[((nodes >= walk.least) & (nodes <= walk.greatest)).all(axis=1)]
        nodes = nodes[walk.promising(walk.bounds(nodes))][: walk.room(len(moves))]
        if len(nodes):
            walk.examine(nodes)
        if walk.best == before:
            return


@dataclass(eq=False, slots=True)
class _Entry:
    """A node that was checked, packed, and whether its neighbours were."""

    node: bytes
    rank: float  # its loss, or an estimate where it suppresses too much
    stuck: int  # the attributes that cannot change from here on, as bits
    expanded: bool = False


class _Front:
    """The nodes that the search goes on from: a queue by loss, and one that dives start from."""

    def __init__(self, walk: LatticeState) -> None:
        self.walk, self.ticks = walk, 0
        self.beside: list[_Front] = [self]  # the fronts of this search, itself included
        self.cut = False  # whether a turn ended by time
        self.step, self.near = 0, list[_Entry]()  # expansions, and the nodes that the dive under way goes on from
        self.begin(0.0, 1.0)
        self.checked: dict[bytes, bool] = {}  # the nodes that were checked, and whether to go on from them
        self.by_loss: list[tuple[float, float, int, _Entry]] = []
        self.dives: list[tuple[float, float, int, _Entry]] = []
        self.worst = float(walk.costs.bounds(walk.greatest[None, :], None, walk.rows)[0])
        if not walk.policy.loss.by_label:
            squares = float(walk.rows) ** 2
            one_class = ClassStatistics(walk.rows, 0, 1, squares, 1, squares, walk.policy.k, walk.limit)
            self.worst = float(walk.policy.loss.value(one_class))

    def begin(self, before: float, share: float) -> None:
        """Begin a turn, which is a share of the whole search, after what is done before."""
        self.began, self.checks, self.before, self.share = time.perf_counter(), self.walk.checks, before, share
        self.cut |= self.walk.timed_out
        self.walk.timed_out = False

    def search(self, stepping: int) -> bool:
        """Expand nodes until a limit is reached, from where the last turn ended; says whether none was left."""
        while self.near or self.by_loss:
            if self.walk.over():
                return False
            if self.near:
                self.near = self.expand(min(self.near, key=lambda e: e.rank))
                continue
            dive = self.step % stepping == stepping - 1 and bool(self.dives)
            entry = heapq.heappop(self.dives if dive else self.by_loss)[-1]
            if entry.expanded:
                continue
            self.step += 1
            near = self.expand(entry)
            self.near = near if dive else []
            self._tell()
        return True

    def expand(self, entry: _Entry) -> list[_Entry]:
        """Check the neighbours of a node that are new, and queue those to go on from."""
        raise AssertionError("each direction has its own")

    def enqueue(self, nodes: np.ndarray, found: Checked, stuck: int, dive: np.ndarray) -> list[_Entry]:
        """Put nodes into both queues; `dive` is their order among the starts of dives."""
        bare = self.walk.costs.bounds(nodes, None, self.walk.rows)
        share = found.suppressed / self.walk.rows
        # too many rows suppressed: as if they had the labels of the others
        rank = np.where(found.good, found.loss, bare + share * (self.worst - bare))
        entries = [_Entry(key, r, stuck) for key, r in zip(_packed(nodes), rank.tolist(), strict=True)]
        for entry, plain, order in zip(entries, bare.tolist(), dive.tolist(), strict=True):
            self.ticks += 1
            heapq.heappush(self.by_loss, (entry.rank, plain, self.ticks, entry))
            heapq.heappush(self.dives, (order, entry.rank, self.ticks, entry))
        return entries

    def bound(self) -> float:
        """A loss that no node beyond the front can be below."""
        return float(self.walk.bounds(self.walk.least[None, :])[0])

    def _tell(self) -> None:
        walk = self.walk
        time_spent = (time.perf_counter() - self.began) / max(walk.deadline - self.began, 1e-9)
        checked = (walk.checks - self.checks) / max(walk.most - self.checks, 1)
        done = self.before + self.share * min(max(checked, time_spent), 1.0)
        best = min((front.walk.best for front in self.beside if front.walk.best is not None), default=None)
        if best is None or not walk.heard:
            walk.report("searching the lattice", done)
        else:  # of both directions: what is told only falls
            walk.problem.report("searching the lattice", done, best[0], best[3])


class _Down(_Front):
    """From the most general node to its specialisations. Where a node does not satisfy the policy, none below does."""

    walk: Descent

    def __init__(self, walk: Descent) -> None:
        super().__init__(walk)
        top = walk.greatest
        nodes, found, worth = walk.below(top, np.zeros(1, np.int64), top[:1])
        if worth[0]:
            self.enqueue(nodes, found, 0, np.zeros(1))

    def expand(self, entry: _Entry) -> list[_Entry]:
        """Lower each attribute that can be; what cannot be lowered here cannot be further down."""
        walk, node = self.walk, _unpacked(entry.node)
        free = np.array([a for a in np.flatnonzero(node > walk.least) if not entry.stuck >> int(a) & 1], dtype=np.int64)
        keys = _packed(node - np.eye(walk.d, dtype=np.int64)[free])
        new = np.array([key not in self.checked for key in keys], dtype=np.bool_)
        entry.expanded, stuck = True, entry.stuck
        if new.any():
            nodes, found, worth = walk.below(node, free[new], node[free[new]] - 1)
            self.checked.update(zip(_packed(nodes), worth.tolist(), strict=True))
        for a, key in zip(free.tolist(), keys, strict=True):
            stuck |= (not self.checked[key]) << a
        if not new.any() or not worth.any():
            return []
        found = Checked(*(getattr(found, field.name)[worth] for field in fields(found)))
        return self.enqueue(nodes[worth], found, stuck, -nodes[worth].sum(axis=1))  # dives start high up


class _Up(_Front):
    """From the most special node to its generalisations. Where the labels of a node cost too much, all above do."""

    def __init__(self, walk: LatticeState) -> None:
        super().__init__(walk)
        walk.examine(walk.greatest[None, :])  # a solution, where there is one, however soon the time is over
        self._visit(walk.least[None, :])

    def expand(self, entry: _Entry) -> list[_Entry]:
        """Raise each attribute that can be."""
        walk, node = self.walk, _unpacked(entry.node)
        entry.expanded = True
        above = (node + np.eye(walk.d, dtype=np.int64))[node < walk.greatest]
        new = [key not in self.checked for key in _packed(above)]
        above = above[new]
        return self._visit(above[walk.promising(walk.bounds(above))])

    def _visit(self, nodes: np.ndarray) -> list[_Entry]:
        if not len(nodes):
            return []
        self.checked.update(dict.fromkeys(_packed(nodes), True))
        found = self.walk.examine(nodes)
        return self.enqueue(nodes, found, 0, np.zeros(len(nodes)))  # dives start from the least loss

    def bound(self) -> float:
        """The least bound of the front: what is not checked yet generalises a node of it."""
        left = np.array([_unpacked(e.node) for *_, e in self.by_loss if not e.expanded])
        return float(self.walk.bounds(left).min()) if len(left) else super().bound()


def _packed(nodes: np.ndarray) -> list[bytes]:
    """Nodes as exact keys: numbering a lattice of 30 attributes would wrap 64 bits."""
    return [node.tobytes() for node in nodes.astype(np.int16)]


def _unpacked(node: bytes) -> np.ndarray:
    return np.frombuffer(node, np.int16).astype(np.int64)
