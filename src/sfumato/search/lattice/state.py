"""What is known of a lattice while it is searched, and the best node so far."""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.core.cells import Cells, Classes, roll_up
from sfumato.core.labels import at_level
from sfumato.core.lattice import Lattice
from sfumato.core.policy import TOLERANCE, ClassStatistics, holds, kept_in_table, table_criteria
from sfumato.core.progress import heard
from sfumato.errors import Infeasible
from sfumato.search.lattice.checker import (
    Ladders,
    Maps,
    NodeChecker,
    NodeClasses,
    Numbered,
    node_classes,
)
from sfumato.search.lattice.kernels import raise_boxes
from sfumato.search.lattice.several_sets import SetChecker
from sfumato.search.lattice.value_limits import stack_limits
from sfumato.search.problem import GENERALISE, Problem, judge, level_columns, nothing_found

LISTED = 1 << 22  # larger lattices are not written down node by node
OFTEN = 32  # times that levels of the widest attributes are asked for before cells are rolled up to them
SHRINKS = 0.8  # a source that has more of the cells of another does not pay
ROOM = 1 << 20  # cells of all sources, or four times those of the table
AT_ONCE = 1 << 22  # cells and entries of their histograms that are looked at together, over all nodes

Found = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # good, suppressed, floor and losses, as of `Checked`


class NodeCosts:
    """Per attribute and level: the loss with nothing suppressed, and what suppressing a row of each value adds."""

    def __init__(self, problem: Problem) -> None:
        self.loss = loss = problem.policy.loss
        self.by_label = loss.by_label
        attributes = problem.attributes
        shape = len(attributes), max(a.ladder.levels for a in attributes)
        self.full = np.zeros(shape)
        self.least_gap = np.zeros(shape)  # suppressing a row adds at least this
        self.top_gap = np.zeros(len(attributes))  # at the root it adds this for every value
        self.at = np.zeros(shape, np.int64)  # where the gaps of a level begin
        self.columns = np.arange(len(attributes))
        tables, at, by_value = [], 0, False
        for i, attribute in enumerate(attributes):
            count = attribute.categories.count
            own, gone = (loss.own(attribute), loss.suppressed(attribute)) if loss.by_label else (None, None)
            for level in range(attribute.ladder.levels):
                gap = np.zeros(len(count))
                if loss.by_label:
                    labels = at_level(attribute, level)
                    cost = loss.cost(labels)[labels.of] - own
                    gap = gap if gone is None else gone - cost
                    by_value = by_value or bool((gap != gap[labels.lo][labels.of]).any())
                    self.full[i, level] = (cost * count).sum() / problem.rows
                    self.least_gap[i, level] = max(gap.min(), 0.0)
                tables.append(gap)
                self.at[i, level] = at
                at += len(gap)
            self.top_gap[i] = gap.max()
        self.gaps = np.concatenate(tables)
        self.by_value = by_value  # whether a gap depends on more than the label
        self.weights = np.array([loss.weight(a) if loss.by_label else 0.0 for a in attributes])

    def per_attribute(self, nodes: np.ndarray) -> np.ndarray:
        """The loss of each attribute at each node, with nothing suppressed."""
        return self.full.take(nodes + self.columns * self.full.shape[1])

    def bounds(self, nodes: np.ndarray, suppressed: np.ndarray | None, rows: int) -> np.ndarray:
        """A loss that each node cannot be below, given how many rows it suppresses at least."""
        if not self.by_label:
            return np.zeros(len(nodes))
        x = self.per_attribute(nodes)
        if suppressed is not None and suppressed.any():
            x += self.least_gap[self.columns, nodes] * (suppressed / rows)[:, None]
        return np.asarray(self.loss.combine(x, self.weights))


@dataclass(frozen=True, eq=False)
class Checked:
    """What a check of nodes found, an entry per node: whether it satisfies the policy in the limit, how many rows it
    suppresses, its loss (infinite where it does not satisfy), how many classes it keeps, and how many rows are in
    classes that are too small."""

    good: np.ndarray
    suppressed: np.ndarray
    loss: np.ndarray
    classes: np.ndarray
    too_small: np.ndarray


class LatticeState:
    """The state of one search over the lattice of level vectors.

    `floor` holds how many rows each node suppresses at least. What a node suppresses, its specialisations suppress too:
    for criteria closed under supersets always, for those closed under merging where nothing may be suppressed. Of other
    criteria the class size that they imply is used, and what they say of the rows that no part of a class can keep.
    """

    def __init__(self, problem: Problem, lattice: Lattice, pool: ThreadPoolExecutor) -> None:
        self.problem, self.lattice, self.pool = problem, lattice, pool
        self.policy, self.rows, self.limit = problem.policy, problem.rows, problem.limit
        self.attributes, self.d = problem.attributes, len(problem.attributes)
        require = self.policy.require
        self.one_set = len(problem.sets) == 1
        self.by_size = self.one_set and self.policy.by_size
        self.superset = all(c.monotonicity == "superset" for c in require)
        self.monotone = self.superset or (
            self.limit == 0 and all(c.monotonicity in ("superset", "merge") for c in require)
        )
        self.in_full = False  # with several sets: whether suppressed rows and classes are wanted of every node
        self.costs = NodeCosts(problem)
        self.sources = [NodeChecker(Ladders.of(self.attributes), problem.cells, range(self.d))]
        self.tops = np.array([a.ladder.height for a in self.attributes])
        self.widest = np.argsort([-len(a.categories) for a in self.attributes], kind="stable")
        self.met: Counter[tuple[int, ...]] = Counter()  # how often levels of the widest attributes were asked for
        self.rolled: dict[tuple[int, ...], int] = {}  # the source for these
        self.room_left = max(ROOM, 4 * len(problem.cells))
        histograms = [h for name, h in problem.cells.histograms.items() if name in self.policy.needs]
        self.entries = max(len(problem.cells), *(len(h.value) for h in histograms), 1)
        prunes = self.one_set and not self.by_size and self.limit < self.rows // 2  # else most nodes satisfy
        least = self.policy.least_size
        self.limits = stack_limits(require, problem.cells, self.rows, least) if prunes else None
        self.best: tuple[float, int, tuple[int, ...], int] | None = None  # loss, height, node, suppressed rows
        self.closest: tuple[int, tuple[int, ...]] | None = None
        self.heard = heard(problem.progress)
        self.checks, self.open_bound = 0, 0.0
        self.timed_out, self.deadline, self.most = False, float("inf"), float("inf")
        listed = lattice.size if lattice.size <= LISTED else 0
        self.least, self.greatest = np.array(lattice.least, dtype=np.int64), np.array(lattice.greatest, dtype=np.int64)
        self.stride = lattice.strides if listed else np.zeros(self.d, np.int64)
        self.floor = np.zeros(listed)
        self.loss_floor = np.zeros(0 if self.costs.by_label else listed)

    @cached_property
    def sets(self) -> SetChecker:
        """The quasi-identifier sets, where there are several."""
        return SetChecker(self.problem, self.sources[0])

    def stop_after(self, seconds: float | None, nodes: int | None) -> None:
        """Set the limits."""
        self.deadline = time.perf_counter() + seconds if seconds is not None else float("inf")
        self.most = nodes if nodes is not None else float("inf")

    def report(self, message: str, share: float | None) -> None:
        """Tell how far the search is, and the best node so far."""
        if self.best is None or not self.heard:
            self.problem.progress(message, share)
        else:
            self.problem.report(message, share, self.best[0], self.best[3])

    def over(self) -> bool:
        """Whether a limit is reached."""
        if time.perf_counter() > self.deadline:
            self.timed_out = True
        return self.timed_out or self.checks >= self.most

    def room(self, most: int) -> int:
        """How many nodes may be checked next, at most `most`, at least one."""
        return int(max(1, min(most, self.most - self.checks)))

    def bounds(self, nodes: np.ndarray, places: np.ndarray | None = None) -> np.ndarray:
        """A loss that each node cannot be below, by all that is known; `places` are the nodes' numbers."""
        if places is None:
            return self.costs.bounds(nodes, None, self.rows)
        bounds = self.costs.bounds(nodes, self.floor[places], self.rows)
        return np.maximum(bounds, self.loss_floor[places]) if len(self.loss_floor) else bounds

    def promising(self, bounds: np.ndarray) -> np.ndarray:
        """Which bounds leave room for a node better than the best, or as good."""
        return bounds <= (self.best[0] + TOLERANCE if self.best else np.inf)

    def serve(self, nodes: np.ndarray) -> np.ndarray:
        """The source of each node, with few cells: those that are alike at its levels of the widest attributes. First
        one attribute, then two at a time, where they stand at their root; then those at other levels, one by one, where
        these are met often. The latter only where the loss of a suppressed row depends on its labels alone."""
        found = np.zeros(len(nodes), np.int64)
        tops, least = self.tops[self.widest].tolist(), self.least[self.widest].tolist()
        only_root = self.limit > 0 and self.costs.by_value
        for b, levels in enumerate(nodes[:, self.widest].tolist()):
            at_root = next((i for i in range(self.d) if levels[i] < tops[i]), self.d - 1)
            dropped = at_root - (at_root + 1) % 2
            number = 0
            for depth in range(1, dropped + 1, 2):
                number = self._rolled(number, levels[:depth])
            for depth in range(max(dropped, 0), 0 if only_root else self.d):
                if levels[depth] == least[depth]:
                    continue
                key = tuple(levels[: depth + 1])
                self.met[key] += 1
                if self.met[key] < OFTEN:
                    break
                number = self._rolled(number, levels[: depth + 1])
            found[b] = number
        return found

    def _rolled(self, number: int, levels: list[int]) -> int:
        """The source of nodes at some levels of the widest attributes, made from another where it is new."""
        key, cells = tuple(levels), len(self.sources[number].cells)
        if key not in self.rolled:
            self.rolled[key] = number
            if self.room_left >= cells:
                node = self.least.copy()
                node[self.widest[: len(levels)]] = levels
                rolled = self.sources[number].rolled(node, self.pool)
                if len(rolled.cells) <= SHRINKS * cells:
                    self.sources.append(rolled)
                    self.rolled[key] = len(self.sources) - 1
                    self.room_left -= len(rolled.cells)
        return self.rolled[key]

    def examine(self, nodes: np.ndarray) -> Checked:
        """Check nodes (int64 [nodes, attributes]), keep the best, learn what they say of others."""
        self.checks += len(nodes)
        found = np.zeros((len(nodes), 5))
        gap_at = self.costs.at[self.costs.columns, nodes]
        gap_at[nodes == self.tops] = -1
        if self.by_size:
            good, suppressed, floor, losses = self._check_sizes(nodes, found, gap_at)
        elif self.one_set:
            most = max(1, AT_ONCE // self.entries)
            some = [slice(at, at + most) for at in range(0, len(nodes), most)]
            check = self._check_classes if self.limits is None else self._check_limits
            parts = [check(nodes[these], found[these], gap_at[these]) for these in some]
            good, suppressed, floor, losses = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        else:
            good, suppressed, floor, losses = self._check_sets(nodes, found, gap_at)
        losses = np.where(good, losses, np.inf)
        self._learn(nodes, floor, found)
        for b in np.flatnonzero(good):
            self.offer(nodes[b], float(losses[b]), int(suppressed[b]))
        if self.best is None:
            self.closest = min(
                [
                    *([self.closest] if self.closest else []),
                    *((int(s), tuple(n.tolist())) for s, n in zip(suppressed, nodes, strict=True)),
                ]
            )
        return Checked(good, suppressed.astype(np.int64), losses, found[:, 3].astype(np.int64), found[:, 0])

    def _served(self, nodes: np.ndarray) -> Iterator[tuple[NodeChecker, np.ndarray, Maps]]:
        """The sources of nodes, with the places of those that each serves, and their maps."""
        where, size = self.sources[0].prepare(nodes)
        served = self.serve(nodes)
        for number in dict.fromkeys(served.tolist()):
            mine = np.flatnonzero(served == number)
            yield self.sources[number], mine, (where[mine], size[mine])

    def _check_sizes(self, nodes: np.ndarray, found: np.ndarray, gap_at: np.ndarray) -> Found:
        """Where criteria look at the sizes of classes alone: which nodes satisfy, how many rows they suppress, and how
        many their specialisations do at least, and their losses."""
        extra = np.zeros((len(nodes), self.d))
        limit = self.limit if self.costs.by_label else -1
        for source, mine, maps in self._served(nodes):
            found[mine], extra[mine] = source.check(
                nodes[mine], maps, self.policy.least_size, limit, self.costs.gaps, gap_at[mine], self.pool
            )
        suppressed = found[:, 0]
        good = (suppressed <= self.limit) & (suppressed < self.rows)
        floor = np.where(good, suppressed, self.rows + 1)
        return good, suppressed, floor, self._losses(nodes, suppressed, found, extra)

    def _check_limits(self, nodes: np.ndarray, found: np.ndarray, gap_at: np.ndarray) -> Found:
        """The same where criteria have limits per value: nodes that exceed them in too many rows are settled."""
        assert self.limits is not None
        limit, count = min(self.limit, self.rows - 1), len(nodes)
        floor = np.zeros(count)
        for source, mine, maps in self._served(nodes):
            found[mine], floor[mine] = source.bound(
                nodes[mine], maps, self.policy.least_size, limit, self.limits, self.pool
            )
        good, suppressed, losses = np.zeros(count, np.bool_), found[:, 0].copy(), np.full(count, np.inf)
        if self.monotone:
            floor[:] = self.rows + 1
        rest = np.flatnonzero(suppressed <= limit)
        if len(rest):
            checked = np.zeros((len(rest), 5))
            good[rest], suppressed[rest], floor[rest], losses[rest] = self._check_classes(
                nodes[rest], checked, gap_at[rest]
            )
            found[rest] = checked
        return good, suppressed, floor, losses

    def _check_classes(self, nodes: np.ndarray, found: np.ndarray, gap_at: np.ndarray) -> Found:
        """The same where criteria look inside of classes, which are those of several nodes at a time."""
        limit, require, count = min(self.limit, self.rows - 1), self.policy.require, len(nodes)
        parts = []
        for source, mine, maps in self._served(nodes):
            found[mine], classes, of = source.number(nodes[mine], maps, self.policy.least_size, limit, self.pool)
            parts.append((source, mine, classes, of))
        inside = node_classes(parts, self.policy.needs)
        stays = holds(require, inside) if len(inside.size) else np.zeros(0, np.bool_)
        if whole := table_criteria(require):
            for b in range(count):
                own = inside.node == b
                stays[own] = kept_in_table(whole, inside.size[own], stays[own])

        def per_node(what: np.ndarray) -> np.ndarray:
            return np.bincount(inside.node, weights=what, minlength=count)

        open_ = found[:, 0] <= limit  # else there are too many rows in classes that are too small
        suppressed = np.where(open_, self.rows - per_node(inside.size * stays), found[:, 0])
        found[:, 3], found[:, 4] = per_node(stays), per_node(inside.size.astype(np.float64) ** 2 * stays)
        good = open_ & (suppressed <= limit)
        if self.monotone:
            floor = np.where(good, suppressed if self.superset else 0, self.rows + 1)
        else:
            floor = np.where(open_, found[:, 0], self.rows + 1)
            if len(self.floor) and (open_ & ~good).any():
                floor += np.where(open_ & ~good, per_node(self._least_suppressed(inside)), 0)
        losses = np.full(count, np.inf)
        if good.any():
            extra = self._extra(parts, stays, good & (suppressed > 0), gap_at)[good]
            losses[good] = self._losses(nodes[good], suppressed[good], found[good], extra)
        return good, suppressed, floor, losses

    def _least_suppressed(self, classes: NodeClasses) -> np.ndarray:
        """How many rows of the classes go at least, at every recoding that makes them or parts of them."""
        least = np.zeros(len(classes.size), np.int64)
        for criterion in self.policy.require:
            if criterion.needs:
                np.maximum(least, criterion.least_suppressed(classes), out=least)
        return least

    def _extra(
        self, parts: Sequence[Numbered], stays: np.ndarray, wanted: np.ndarray, gap_at: np.ndarray
    ) -> np.ndarray:
        """What the suppressed rows of the wanted nodes add to the cost of each attribute."""
        extra, upto = np.zeros(gap_at.shape), 0
        for source, mine, classes, of in parts if self.costs.by_label else ():
            for b, large, own in zip(mine, classes, of, strict=True):
                if wanted[b]:
                    gone = ~np.append(stays[upto : upto + large], False)[own]  # the number of a smaller class is -1
                    extra[b] = source.extra(np.flatnonzero(gone), self.costs.gaps, gap_at[b])
                upto += large
        return extra

    def _check_sets(self, nodes: np.ndarray, found: np.ndarray, gap_at: np.ndarray) -> Found:
        """The same with several quasi-identifier sets: one by one."""
        count = len(nodes)
        if not self.in_full:
            found[:, 0] = self.sets.least_suppressed(nodes, self.pool)
        good, losses = np.zeros(count, np.bool_), np.full(count, np.inf)
        suppressed, floor = found[:, 0].copy(), found[:, 0].copy()
        for b, node in enumerate(nodes):
            if found[b, 0] > self.limit or found[b, 0] >= self.rows:  # too many rows in classes that are too small
                floor[b] = self.rows + 1
                continue
            losses[b], suppressed[b], found[b, 3] = self._judge(node, gap_at[b])
            good[b] = suppressed[b] <= self.limit and suppressed[b] < self.rows
            if self.monotone:
                floor[b] = self.rows + 1 if not good[b] else suppressed[b] if self.superset else 0
        return good, suppressed, floor, losses

    def _losses(self, nodes: np.ndarray, suppressed: np.ndarray, found: np.ndarray, extra: np.ndarray) -> np.ndarray:
        """The loss of each node, from what its check found."""
        if self.costs.by_label:
            x = self.costs.per_attribute(nodes)
            x += (extra + suppressed[:, None] * self.costs.top_gap * (nodes == self.tops)) / self.rows
            return np.asarray(self.policy.loss.combine(x, self.costs.weights))
        return np.array([self._class_loss(s, f) for s, f in zip(suppressed, found, strict=True)])

    def _class_loss(self, suppressed: float, found: np.ndarray) -> float:
        statistics = ClassStatistics(
            self.rows, int(suppressed), int(found[1]), found[2], int(found[3]), found[4], self.policy.k, self.limit
        )
        return float(self.policy.loss.value(statistics))

    def _judge(self, node: np.ndarray, gap_at: np.ndarray) -> tuple[float, int, int]:
        """Loss, suppression and kept classes of a node with several quasi-identifier sets. Kept classes, which take all
        columns, are told in full only; so is what is suppressed where nothing may be."""
        by_size, strict = self.policy.by_size, self.limit == 0
        if self.policy.needs != self.policy.as_they_are:  # labels are counted, which the cells of the sets do not know
            _, verdict, statistics = judge(self.problem, level_columns(self.problem, node.tolist()))
            return verdict.loss, verdict.suppressed, statistics.kept_classes
        if not self.in_full and strict and not by_size and self.best is not None and not self.sets.holds(node):
            return np.inf, 1, 0
        if not self.in_full and self.costs.by_label and (by_size or (strict and self.sets.holds(node))):
            # by size, a node where nothing may be suppressed comes here only where nothing is
            gone = np.zeros(0, np.int64) if strict else self.sets.suppressed_cells(node)
            suppressed = int(self.problem.cells.count[gone].sum())
            extra = self.sets.whole.extra(gone, self.costs.gaps, gap_at)[None, :]
            loss = self._losses(node[None, :], np.array([suppressed]), np.zeros((1, 5)), extra)
            return float(loss[0]), suppressed, 0
        _, verdict, statistics = judge(self.problem, level_columns(self.problem, node.tolist()))
        return verdict.loss, verdict.suppressed, statistics.kept_classes

    def offer(self, node: np.ndarray, loss: float, suppressed: int) -> None:
        """Keep a node if it is better than the best; ties go to the lower, then the lexicographically smaller one."""
        if self.best is None or loss <= self.best[0] + TOLERANCE:
            mine = (loss, int(node.sum()), tuple(node.tolist()), suppressed)
            if self.best is None or loss < self.best[0] - TOLERANCE or mine[1:] < self.best[1:]:
                self.best = mine

    def _learn(self, nodes: np.ndarray, floor: np.ndarray, found: np.ndarray) -> None:
        """What a node suppresses, its specialisations suppress; what its classes cost, its generalisations cost."""
        if not len(self.floor):
            return
        here = nodes - self.least
        bottom = np.zeros_like(here)
        raise_boxes(self.floor, self.stride, bottom, here, floor.astype(np.float64), np.empty_like(self.stride))
        if len(self.loss_floor) and self.one_set:
            cost = [
                self.policy.loss.floor(
                    ClassStatistics(self.rows, 0, int(f[1]), f[2], int(f[1]), f[2], self.policy.k, self.limit)
                )
                for f in found
            ]
            top = np.broadcast_to(self.greatest - self.least, here.shape).copy()
            raise_boxes(self.loss_floor, self.stride, here, top, np.array(cost, np.float64), np.empty_like(self.stride))

    def infeasible(self, finished: bool = True, what: str | None = None, hint: str = GENERALISE) -> Infeasible:
        """Why there is no solution, with the node that came nearest."""
        satisfied = "satisfies the policy" if finished else "satisfied the policy before the limit"
        suppressed, node = self.closest or (self.rows, self.lattice.greatest)
        levels = {a.name: n for a, n in zip(self.attributes, node, strict=True)}
        return nothing_found(self.problem, what or f"no level vector {satisfied}", suppressed, hint, levels=levels)


REMEMBERED = 1 << 24  # cells whose classes are remembered, over all nodes: 64 MB
MOST = 1 << 10  # nodes remembered


class IncrementalChecker(NodeChecker):
    """A source that stands on a node: a node below it in one attribute splits its classes by one column.

    The key of a cell is then its class and one label, whatever the number of attributes, and never too wide.
    """

    def __init__(self, ladders: Ladders, cells: Cells) -> None:
        super().__init__(ladders, cells, range(len(cells.codes)))
        self.tops = np.array([len(at) - 1 for at in ladders.at])
        self.here, self.groups = self.tops, 1
        self.of = np.zeros(len(cells), np.int32)  # the class of each cell
        self.tables = np.concatenate([np.arange(len(cells), dtype=np.int32), ladders.flat])
        self.seen: OrderedDict[bytes, tuple[np.ndarray, int]] = OrderedDict()

    def stand(self, node: np.ndarray) -> None:
        """Stand on a node, from the classes of a node right above it where they are remembered."""
        known = self.seen.pop(node.tobytes(), None)
        if known is None:
            known = self._from_above(node)
        self.seen[node.tobytes()] = known
        while len(self.seen) > min(max(REMEMBERED // len(self.cells), 4), MOST):
            self.seen.popitem(last=False)
        self.of, self.groups, self.here = known[0], known[1], node.copy()

    def _from_above(self, node: np.ndarray) -> tuple[np.ndarray, int]:
        for a in np.flatnonzero(node < self.tops):
            for level in (node[a] + 1, self.tops[a]):
                step = node.copy()
                step[a] = level
                if above := self.seen.get(step.tobytes()):
                    classes = self._split(*above, int(a), int(node[a]))
                    return classes.class_of_cell, len(classes.size)
        classes = super().classes(node)
        return classes.class_of_cell, len(classes.size)

    def _split(self, of: np.ndarray, groups: int, a: int, level: int) -> Classes:
        at, labels = self.ladders.at[a][level], int(self.ladders.size[a][level])
        pair = Cells((), np.stack([of, self.cells.codes[a]]), self.cells.count, (groups, labels), self.cells.histograms)
        tables = [self.tables[:groups], self.ladders.flat[at : at + self.ladders.values[a]]]
        return roll_up(pair, tables, (0, 1))

    def classes(self, node: np.ndarray) -> Classes:
        """The classes of a node that differs from the one stood on in at most one attribute."""
        a = int(np.argmax(node != self.here))
        return self._split(self.of, self.groups, a, int(node[a]))

    @property
    def maps(self) -> np.ndarray:
        """The map of each class to itself, then the ladders."""
        return self.tables

    def prepare(self, nodes: np.ndarray) -> Maps:
        """The maps of nodes below the one stood on: of classes, and of labels in the column that differs."""
        pairs = [(int(np.argmax(node != self.here)), node) for node in nodes]
        where = [[0, len(self.cells) + self.ladders.at[a][node[a]]] for a, node in pairs]
        return np.array(where), np.array([[self.groups, self.ladders.size[a][node[a]]] for a, node in pairs])

    def _fused(self, nodes: np.ndarray, some: slice) -> Iterator[tuple[slice, np.ndarray]]:
        """The class of each cell, and its code in the column in which a node differs from the one stood on."""
        pair = np.empty((2, len(self.cells)), np.int32)
        pair[0] = self.of
        for b in range(len(nodes))[some]:
            pair[1] = self.cells.codes[np.argmax(nodes[b] != self.here)]
            yield slice(b, b + 1), pair


class Descent(LatticeState):
    """Nodes that are checked step by step from above. Checks are those of `LatticeState`; it lists no lattice."""

    def __init__(self, problem: Problem, lattice: Lattice, pool: ThreadPoolExecutor) -> None:
        super().__init__(problem, lattice, pool)
        self.floor, self.loss_floor = self.floor[:0], self.loss_floor[:0]
        self.split = IncrementalChecker(Ladders.of(self.attributes), problem.cells)
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
        return nodes, checked, checked.too_small <= min(self.limit, self.rows - 1)
