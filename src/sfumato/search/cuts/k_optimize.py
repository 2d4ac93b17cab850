"""k-Optimize: the best set of splits, by a set-enumeration tree with pruning. Bayardo and Agrawal, ICDE 2005."""

from __future__ import annotations

import heapq
import itertools
import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from sfumato.core.cells import roll_up
from sfumato.core.compiled import workers
from sfumato.core.label_grammar import STAR, set_text
from sfumato.core.labels import Labels, at_level, of_ranges
from sfumato.core.microdata import Attribute
from sfumato.core.parameters import Column, OneOf, Real, Whole, check_fields
from sfumato.core.protocols import Search
from sfumato.criteria import KAnonymity, KMap
from sfumato.errors import Infeasible, PolicyError
from sfumato.losses import Discernibility
from sfumato.search.cuts.k_optimize_kernels import (
    HEAD,
    NEVER,
    OUT,
    TAIL,
    SplitRules,
    SplitWork,
    best_line,
    explore,
    room,
    survey,
)
from sfumato.search.cuts.traced import TracedTree
from sfumato.search.events import (
    BoundTaken,
    DescentEnded,
    Event,
    LeastCostFound,
    RowsSuppressed,
    SplitsChosen,
    SplitsDropped,
    SplitsOpened,
    SplitsReordered,
    SubtreePruned,
)
from sfumato.search.problem import Columns, Problem, Solution, judge, records_of

BURST = 2_000_000  # cells looked at before the next nodes are chosen anew
TOGETHER = 2  # nodes that are followed at once; fixed, so that the result does not depend on the threads
CHUNK = 200_000_000  # steps of the first descents between two looks at the clock
EFFORT = 10_000_000_000  # steps of the first descents in all; fixed, so that the result does not depend on the machine
SHARE = 1 / 3  # of the time, at most, for the first descents
STRICT = 1 / 2  # of the time, at most, for a search that suppresses nothing
SEGMENTS = 256  # intervals of the column that the first descents split in the best way
COSTS = ("discernibility", "classification")
STARTS = ("descent", "root")


@dataclass(frozen=True)
class KOptimize(Search):
    """The splits of ordered values of least cost, by a set-enumeration tree with pruning (AG_TS, exact).

    A column is parted into intervals: of its values in order, or, where it has a hierarchy and no order of its own, of
    the leaves in the order of the hierarchy. The root of the tree has no split; a node adds splits to its parent's.
    A node is left out with all below it where a bound on their costs is not below the best found; splits that can only
    suppress rows or cannot lead below the best are taken out of what may still be added; the split that divides most
    classes comes first. The node of least bound is followed next, and the search starts from what a steepest descent
    finds that splits one column in the best way at each step; where rows may be suppressed, also from what a search
    without suppression finds.

    `cost` is "discernibility" (class sizes squared, and the number of rows for each suppressed row; the loss of the
    policy must be discernibility) or "classification" (rows that are suppressed or not of the majority label of
    `class_attribute` in their class; the loss of the policy is only reported, so `optimal` is False and `bound` None).
    After `seconds` (None: never) it ends with the best found and a bound that no set of splits can be below. `coarsen`
    is how many splits of an ordered column are considered at most, at its quantiles: a result is then the best of
    those at most, and `optimal` only if all splits are among them. `start` "root" does without the descents, and
    follows one node at a time, as in the paper: what it finds costs as little, and may be other splits.

    `cost`: what a split is judged by. `class_attribute`: the column whose labels the cost classification looks at.
    `seconds`: when the search ends at the latest. `coarsen`: the most splits of a column that are considered.
    `start`: where the search starts: from what descents find, or from the root of the tree.
    """

    code: ClassVar[str] = "AG_TS"
    guarantee: ClassVar[str] = "exact"
    cost: Annotated[str, OneOf(COSTS)] = "discernibility"
    class_attribute: Annotated[str | None, Column()] = None
    seconds: Annotated[float | None, Real(0, 1e9, above=True)] = 60.0
    coarsen: Annotated[int | None, Whole()] = None
    start: Annotated[str, OneOf(STARTS)] = "descent"

    def __post_init__(self) -> None:
        check_fields(self, "k-optimize")
        if (self.class_attribute is not None) != (self.cost == "classification"):
            raise PolicyError(
                "k-optimize: class_attribute goes with the cost classification",
                got=f"cost {self.cost}, class_attribute {'not ' if self.class_attribute is None else ''}given",
            )

    @property
    def needs(self) -> tuple[str, ...]:
        """The columns whose histograms it looks at."""
        return () if self.class_attribute is None else (self.class_attribute,)

    @property
    def traces(self) -> tuple[type[Event], ...]:
        """The kinds of its events."""
        walked = SplitsOpened, LeastCostFound, BoundTaken, SplitsDropped, SplitsReordered, SubtreePruned
        first = (DescentEnded,) if self.start == "descent" else ()
        return *first, *walked, SplitsChosen, RowsSuppressed

    def __call__(self, problem: Problem) -> Solution:
        """Search the splits of the problem."""
        began = time.perf_counter()
        self._refuse(problem)
        descends = self.start == "descent"
        tree = _Tree(problem, self, min(problem.limit, problem.rows - 1))
        left = math.inf if self.seconds is None else self.seconds
        if descends and tree.rules.limit and tree.open:  # without suppression there is far less to search
            strict = _Tree(problem, self, 0)
            left -= strict.run(left * STRICT, descends)
            tree.take(strict)
        tree.run(left, descends)
        seconds = time.perf_counter() - began
        kept, verdict, _ = judge(problem, tree.labels(np.ones(len(problem.cells), np.bool_)))
        tree.tell_result(kept)
        columns = tree.labels(kept)
        labels = Columns({a.name: found for a, (found, _) in zip(problem.attributes, columns, strict=True)})
        told = self.class_attribute is None and verdict.loss == tree.best  # else two labels print the same
        optimal = told and not tree.open and not tree.coarse
        bound = min(float(tree.bound), verdict.loss) if told else None
        return Solution(labels, verdict, kept, optimal, tree.nodes, seconds, not tree.timed_out, bound)

    def _refuse(self, problem: Problem) -> None:
        others = [c.model for c in problem.policy.require if not isinstance(c, KAnonymity | KMap)]
        if others or not problem.policy.require:
            raise PolicyError("k-optimize is for k-anonymity only, or k-map", got=", ".join(others) or "no criterion")
        if len(problem.sets) > 1:
            raise PolicyError("k-optimize takes one set of quasi-identifiers", got=f"{len(problem.sets)} sets")
        if problem.levels:
            raise PolicyError(
                "k-optimize parts columns into intervals, so they have no levels",
                got="levels of " + ", ".join(problem.levels),
                hint="leave the levels out",
            )
        if self.cost == "discernibility" and not isinstance(problem.policy.loss, Discernibility):
            raise PolicyError(
                "k-optimize minimises the discernibility, which must be the loss of the policy",
                got=type(problem.policy.loss).__name__,
                hint='set loss to "discernibility"',
            )
        if problem.rows < problem.policy.k:
            raise Infeasible(
                "the table has too few rows for any class",
                got=f"{problem.rows} rows",
                allowed=f"at least {problem.policy.k}",
                closest={"suppressed": problem.rows},
            )


class _Tree:
    """The search: the table in places, the best splits so far, and the nodes that are still open, by bound."""

    def __init__(self, problem: Problem, search: KOptimize, limit: int) -> None:
        self.problem, cells = problem, problem.cells
        class_attribute, coarsen = search.class_attribute, search.coarsen
        self.order = [order_of(a) for a in problem.attributes]  # codes by place
        self.place = [np.argsort(order) for order in self.order]
        self.off = np.concatenate([[0], np.cumsum([len(order) for order in self.order])])
        self.column = np.repeat(np.arange(len(self.order)), np.diff(self.off))
        counts = [cells.count[:, None]]
        if class_attribute is not None:
            counts.append(label_counts(problem, class_attribute))
        codes = [place[cells.codes[a]] + self.off[a] for a, place in enumerate(self.place)]
        self.table = np.concatenate([np.stack(codes, axis=1), *counts], axis=1).astype(np.int32)
        width = 0 if class_attribute is None else counts[1].shape[1]
        self.rules = SplitRules(problem.policy.k, problem.rows, limit, width)
        together = TOGETHER if search.start == "descent" else 1
        self.works = [room(len(self.table), len(self.order), len(self.column), width) for _ in range(together)]
        self.work = self.works[0]
        every = np.full(len(self.column), TAIL, np.int8)
        every[self.off[:-1]] = HEAD
        self.root = every.copy()
        for a, attribute in enumerate(problem.attributes if coarsen is not None else ()):
            self.root[self.off[a] : self.off[a + 1]] = quantiles(attribute, coarsen or 0)
        self.coarse = bool((self.root != every).any())
        self.best, self.splits = NEVER, np.zeros(len(self.column), np.int8)
        self.nodes, self.timed_out, self.bound = 0, False, 0
        self.numbers = itertools.count()
        self.open: list[tuple[int, int, np.ndarray]] = []
        self.told: TracedTree | None = None
        if problem.trace is not None:
            named = zip(problem.attributes, self.order, strict=True)
            names = tuple((a.name, a.categories.text[code]) for a, order in named for code in order)
            self.told = TracedTree(problem.trace, names, self.off[:-1].tolist())
        self.push(self.root, 0)
        self.burst(1, map)
        if self.coarse:  # what no set of all splits can be below
            least, _, bounds, _ = explore(*self.at(every), every, 0, NEVER, 1, every.copy(), self.rules, self.work)
            self.floor = int(bounds.min(initial=least))

    def report(self, message: str, share: float | None) -> None:
        """Tell how far the search is, and what the best splits cost, where that is the loss."""
        known = self.best < NEVER and not self.rules.labels
        self.problem.report(message, share, float(self.best) if known else None)

    def push(self, state: np.ndarray, bound: int) -> None:
        heapq.heappush(self.open, (bound, -next(self.numbers), state))

    def at(self, state: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The cells by class of a node's head, where the classes begin, and the places."""
        parts = [np.cumsum(state[self.off[a] : self.off[a + 1]] == HEAD) - 1 for a in range(len(self.order))]
        tables = [part[place] for part, place in zip(parts, self.place, strict=True)]
        of = roll_up(self.problem.cells, tables, range(len(tables))).class_of_cell
        starts = np.concatenate([[0], np.cumsum(np.bincount(of))])
        return self.table[np.argsort(of, kind="stable")], starts, self.off, self.column

    def burst(self, budget: int, run: Callable[..., Iterable[Any]]) -> None:
        """Follow the open nodes of least bound for a while, as `run` maps what to do to them."""
        some = [heapq.heappop(self.open) for _ in range(min(len(self.works), len(self.open)))]
        best, walk = self.best, self.told or explore

        def follow(node: tuple[int, int, np.ndarray], work: SplitWork) -> tuple[np.ndarray, Any]:
            (bound, _, state), chosen = node, self.splits.copy()
            return chosen, walk(*self.at(state), state, bound, best, budget, chosen, self.rules, work)

        left: list[tuple[int, np.ndarray]] = []
        for chosen, (cost, states, bounds, nodes) in run(follow, some, self.works):
            if cost < self.best:
                self.best, self.splits = int(cost), chosen
            self.nodes += nodes
            left += [(bound, state.copy()) for state, bound in zip(states, bounds.tolist(), strict=True)]
        for bound, state in left:
            if bound < self.best:
                self.push(state, bound)
            elif self.told is not None:
                self.told.tell_pruned(state, bound, self.best)

    def take(self, other: _Tree) -> None:
        """Go on from what another search found."""
        self.nodes += other.nodes
        self.timed_out |= other.timed_out
        if other.best < self.best:
            self.best, self.splits = other.best, other.splits

    def run(self, seconds: float, descends: bool) -> float:
        """Descend, then search the tree until nothing is open or the time is up; the seconds that it took."""
        line = _Line(self) if descends else None
        began = time.perf_counter()  # compiling, once on a machine, is over
        if self.open and line is not None:
            self.descend(line, began + seconds * SHARE)
            if self.told is not None:
                self.told.trace(DescentEnded(self.told.of_state(self.splits), self.best))
        with workers() as pool:
            while self.open and self.open[0][0] < self.best:
                gone = time.perf_counter() - began
                if gone > seconds:
                    self.timed_out = True
                    break
                self.burst(BURST, pool.map if self.told is None else map)
                self.report("searching splits", None if seconds == math.inf else min(gone / seconds, 1.0))
            else:
                if self.told is not None:
                    for bound, _, state in sorted(self.open, key=lambda node: node[:2]):
                        self.told.tell_pruned(state, bound, self.best)
                self.open = []
        self.bound = min(self.open[0][0], self.best) if self.open else self.best
        if self.coarse:
            self.bound = min(self.bound, self.floor)
        return time.perf_counter() - began

    def descend(self, line: _Line, deadline: float) -> None:
        """A first good solution: a descent from no split, then from the best with the splits of one column undone.

        Those stay undone for a first descent, and may come back in a second.
        """
        free = self.root == TAIL
        line.descend(np.where(free, OUT, self.root), free, deadline)
        before = NEVER
        while self.best < before:
            before, start = self.best, self.splits.copy()
            for a in np.unique(self.column[free & (start == HEAD)]).tolist():
                if a == line.a or line.spent > EFFORT or line.late:
                    continue
                mine = free & (self.column == a)
                state = np.where(mine, OUT, start)
                line.descend(state, free & ~mine, deadline)
                line.descend(state, free, deadline)

    def tell_result(self, kept: np.ndarray) -> None:
        """Tell the trace of the splits that were decided for, and of the rows that are suppressed, if any are."""
        if self.told is None:
            return
        self.told.trace(SplitsChosen(self.told.of_state(self.splits), self.best))
        gone = tuple(record for record, stays in zip(records_of(self.problem), kept, strict=True) if not stays)
        if gone:
            self.told.trace(RowsSuppressed(gone, sum(record.rows for record in gone)))

    def labels(self, kept: np.ndarray) -> list[tuple[Labels, np.ndarray]]:
        """The labels of each column, and the label of each cell; sets name no value that no kept cell has."""
        found = []
        for a, attribute in enumerate(self.problem.attributes):
            mine = self.splits[self.off[a] : self.off[a + 1]] == HEAD
            part = np.cumsum(mine) - 1
            first = np.flatnonzero(mine)
            last = np.append(first[1:], len(mine)) - 1
            if along_tree(attribute):
                shown = np.bincount(self.problem.cells.codes[a, kept], minlength=len(mine)) > 0
                labels = of_runs(attribute, self.order[a], part, shown)
            else:
                labels = of_ranges(attribute, first[part], last[part])
            found.append((labels, labels.of[self.problem.cells.codes[a]]))
        return found


class _Line:
    """Descents that split the column of most splits in the best way, and change splits of the others step by step."""

    def __init__(self, tree: _Tree) -> None:
        a = int(np.argmax(np.bincount(tree.column[tree.root == TAIL], minlength=len(tree.order))))
        self.tree, self.a, self.spent, self.late = tree, a, 0, False
        places = np.flatnonzero((tree.root != OUT) & (tree.column == a))
        if len(places) > SEGMENTS:
            places = places[np.linspace(0, len(places) - 1, SEGMENTS).astype(np.int64)]
        self.places = places
        segment = np.searchsorted(places, tree.table[:, a], side="right") - 1
        self.order = np.argsort(segment, kind="stable")
        self.start = np.concatenate([[0], np.cumsum(np.bincount(segment, minlength=len(places)))])
        self.back = np.zeros(len(places) + 1, np.int64)
        self.step = len(tree.table) * (len(places) + 8)
        self.survey(tree.root.copy(), np.empty((0, 2), np.int64), NEVER)

    def weigh(self, state: np.ndarray) -> int:
        """The cost of the splits of the other columns with the best splits of this one, which go into `state`."""
        t = self.tree
        cost = best_line(t.table, t.off, state, self.a, self.order, self.start, NEVER, t.rules, t.work, self.back)
        if cost < NEVER:
            state[self.places[1:]] = OUT
            j = len(self.places)
            while j > 0:
                j = int(self.back[j])
                state[self.places[j]] = HEAD
        return int(cost)

    def survey(self, state: np.ndarray, moves: np.ndarray, most: int) -> tuple[int, int]:
        """The best of the moves and its cost, if that is below `most`; else -1."""
        t = self.tree
        cost, pick = survey(
            t.table, t.off, state, self.a, self.order, self.start, moves, most, t.rules, t.work, self.back
        )
        t.nodes += len(moves)
        self.spent += len(moves) * self.step
        return int(cost), int(pick)

    def descend(self, state: np.ndarray, free: np.ndarray, deadline: float) -> None:
        """From a set of splits, the best change of free ones as long as there is one."""
        t = self.tree
        cost = self.weigh(state)
        chunk = max(1, CHUNK // self.step)
        pick = 0
        while pick >= 0:
            moves, pick = self.moves(state, free), -1
            for at in range(0, len(moves), chunk):
                self.late |= time.perf_counter() > deadline
                if self.late:
                    t.timed_out = True
                    break
                t.report("descending", None)
                less, found = self.survey(state, moves[at : at + chunk], cost)
                if found >= 0:
                    cost, pick = less, at + found
            if pick >= 0:
                turned = np.unique(moves[pick])
                state[turned] = HEAD - state[turned]
                self.weigh(state)
        if cost < t.best:
            t.best, t.splits = cost, state.copy()

    def moves(self, state: np.ndarray, free: np.ndarray) -> np.ndarray:
        """Splits of the other columns to turn over: each alone, and each that is not there with each that is."""
        column = self.tree.column
        free = np.flatnonzero(free & (column != self.a))
        pairs = [(p, p) for p in free]
        for p in free[state[free] == OUT]:
            pairs += [(p, q) for q in free[(state[free] == HEAD) & (column[free] == column[p])]]
        return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def along_tree(attribute: Attribute) -> bool:
    """Whether a column is parted in the order of its hierarchy: it was given one, and its values have no order."""
    return attribute.hierarchy is not None and not attribute.categories.ordered


def order_of(attribute: Attribute) -> np.ndarray:
    """The codes of a column in the order in which they are parted."""
    if along_tree(attribute):
        return np.lexsort(attribute.ladder.of)  # the root is the first key: leaves of a node stand together
    return np.arange(len(attribute.categories))


def quantiles(attribute: Attribute, most: int) -> np.ndarray:
    """The state of each place at the root: an ordered column has at most so many splits, nearest to its quantiles."""
    categories = attribute.categories
    n = len(categories)
    state = np.full(n, TAIL, np.int8)
    if categories.ordered and n - 1 > most:
        state[:] = OUT
        known = most - categories.missing
        below = np.cumsum(categories.count)
        goal = below[-1] * np.arange(1, known + 1) / (known + 1)
        state[np.clip(np.searchsorted(below, goal) + 1, 1, n - 1)] = TAIL
        if categories.missing:  # missing values can always be apart
            state[n - 1] = TAIL
    state[0] = HEAD
    return state


def label_counts(problem: Problem, name: str) -> np.ndarray:
    """Rows of each label of the class attribute per cell."""
    histogram = problem.cells.histograms.get(name)
    if histogram is None:
        raise PolicyError(f'k-optimize: there is no histogram of the class attribute "{name}"')
    counts = np.zeros((len(problem.cells), len(histogram.overall)), np.int64)
    counts[np.repeat(np.arange(len(counts)), np.diff(histogram.start)), histogram.value] = histogram.count
    return counts


def of_runs(attribute: Attribute, order: np.ndarray, part: np.ndarray, shown: np.ndarray) -> Labels:
    """Labels of runs of leaves in the order of a hierarchy, `part` numbering the run of each; `of` is per code.

    A run that is a node of the hierarchy prints as this node, any other as the set of its largest nodes, as far as its
    codes are `shown`. A set counts the leaves of its lowest common ancestor, and says nothing where it mixes missing
    values with others.
    """
    ladder, categories = attribute.ladder, attribute.categories
    of = np.empty(len(order), np.int32)
    of[order] = part
    levels = [at_level(attribute, level) for level in range(ladder.levels)]
    rows = []
    for run in np.split(order, np.flatnonzero(np.diff(part)) + 1):
        meet = next(level for level in range(ladder.levels) if len(np.unique(ladder.of[level, run])) == 1)
        node = int(ladder.of[meet, run[0]])
        here = levels[meet]
        whole = int(here.leaves[node]) == len(run)
        mixed = categories.missing and len(run) > 1 and bool((run == len(categories) - 1).any())
        text = here.text[node] if whole else "*" if mixed else _set_of_nodes(levels, run[shown[run]], shown)
        rows.append(
            (
                run.min(), run.max(), categories.count[run].sum(), here.leaves[node], here.file_leaves[node], meet,
                bool(here.star[node]) if whole else mixed, text,
            )
        )  # fmt: skip
    lo, hi, covered, leaves, file_leaves, level, star, named = zip(*rows, strict=True)
    return Labels(
        attribute, of, np.array(lo), np.array(hi), np.array(covered), np.array(leaves), np.array(file_leaves),
        ladder.domain, np.array(level), np.array(star), tuple(named),
    )  # fmt: skip


def _set_of_nodes(levels: list[Labels], run: np.ndarray, shown: np.ndarray) -> str:
    """The largest nodes that make up a run of leaves, as a set."""
    words: list[str] = []
    at = 0
    while at < len(run):
        for labels in reversed(levels):
            node = labels.of[run[at]]
            size = int((shown & (labels.of == node)).sum())
            if (labels.of[run[at : at + size]] == node).sum() == size:
                words.append(str(labels.text[node]))
                at += size
                break
    return set_text(words) if words else STAR
