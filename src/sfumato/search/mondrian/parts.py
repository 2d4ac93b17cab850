"""The columns as Mondrian cuts them: an order of places for each, on a line or under the nodes of a tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from sfumato.core.cells import Cells
from sfumato.core.compiled import share
from sfumato.core.labels import at_level
from sfumato.core.microdata import Attribute
from sfumato.core.protocols import Loss
from sfumato.losses import NCP
from sfumato.search.mondrian.cuts import BALANCED, WIDEST, CutRules, PartShape, cut_parts, settle
from sfumato.search.mondrian.cuts import PartCells as Room
from sfumato.search.mondrian.rounds import propose
from sfumato.search.mondrian.scores import Goal, choose
from sfumato.search.problem import CellSplit, Problem, along_hierarchy, apply_split


@dataclass(frozen=True, eq=False)
class OrderedColumn:
    """A column: `place` of each code in the order of cutting, and the nodes above each place, level by level."""

    attribute: Attribute
    place: np.ndarray
    tree: np.ndarray | None
    multiway: bool

    @property
    def codes(self) -> np.ndarray:
        """The code at each place."""
        return np.argsort(self.place)


def columns_of(problem: Problem, categories: str, labels: str, cut: str = "best") -> list[OrderedColumn]:
    """The columns of a problem; `categories`, `labels` and `cut` as Mondrian takes them."""
    found = []
    ordered = [a.categories.ordered for a in problem.attributes]
    for i, a in enumerate(problem.attributes):
        tree = along_hierarchy(a, labels)
        similar = categories == "optimised" and not a.categories.ordered
        # what prints nodes is cut at them, but where every position is looked at and the column has an order
        by_node = categories == "hierarchy" and not (a.categories.ordered and cut == "best")
        by_text = categories == "order" and not tree and a.categories.sequence != "text"
        if not tree and not similar and not by_text:
            found.append(OrderedColumn(a, np.arange(len(a.categories), dtype=np.int32), None, False))
            continue
        where = coordinates(problem.cells, i, ordered) if similar else np.zeros(len(a.categories))
        if by_text:
            where[np.argsort([text or "" for text in a.categories.text])] = np.arange(len(where))
        if tree:
            order = _leaf_order(a, where)
        else:
            known = len(a.categories) - a.categories.missing
            order = np.argsort(where[:known], kind="stable")
            order = np.append(order, known) if a.categories.missing else order  # missing values stay last
        place = np.empty(len(order), np.int32)
        place[order] = np.arange(len(order), dtype=np.int32)
        found.append(OrderedColumn(a, place, a.ladder.of[:, order] if tree else None, tree and by_node))
    return found


def _leaf_order(attribute: Attribute, where: np.ndarray) -> np.ndarray:
    """The codes such that those of a node stand together, the children of a node by the mean coordinate of rows."""
    keys: list[np.ndarray] = []
    count = attribute.categories.count
    for level in attribute.ladder.of:  # the last key, the root, is the first to sort by
        mean = np.bincount(level, weights=where * count) / np.bincount(level, weights=count)
        keys += [level, np.round(mean, 9)[level]]
    return np.lexsort(keys)


def shape_of(columns: list[OrderedColumn], loss: Loss) -> PartShape:
    """The columns in the flat arrays that the kernels want."""
    d = len(columns)
    values, missing, span = np.zeros(d, np.int64), np.full(d, -1), np.zeros(d)
    levels, position_at, tree_at = np.zeros(d, np.int64), np.zeros(d, np.int64), np.zeros(d, np.int64)
    position, tree, width = [np.zeros(0)], [np.zeros(0, np.int32)], [np.zeros(0)]
    ncp, more, whole = [np.zeros(0)], np.zeros(d), np.ones(d)
    weights = loss.weights or {}
    for i, column in enumerate(columns):
        a = column.attribute
        values[i] = len(a.categories)
        position_at[i], tree_at[i] = sum(map(len, position)), sum(map(len, tree))
        if column.tree is None:
            position.append(a.positions)
            missing[i] = len(a.categories) - 1 if a.categories.missing else -1
            span[i] = a.span
            more[i] = not a.categories.ordered  # of categories NCP counts values
            whole[i] = (span[i] or np.inf) if a.categories.ordered else len(a.categories)
        else:
            leaves = len(a.categories)
            share = [(np.bincount(level)[level] - 1) / max(leaves - 1, 1) for level in column.tree]
            levels[i] = len(column.tree)
            tree.append(column.tree.reshape(-1).astype(np.int32))
            width.append(np.concatenate(share))
            cost = NCP().cost
            ncp += [cost(at_level(a, level))[of].astype(np.float64) for level, of in enumerate(column.tree)]
    return PartShape(
        values,
        missing,
        span,
        np.concatenate(position),
        position_at,
        levels,
        np.concatenate(tree),
        np.concatenate(width),
        tree_at,
        np.array([column.multiway for column in columns]),
        np.array([column.tree is None and column.attribute.categories.ordered for column in columns]),
        np.concatenate(ncp),
        more,
        whole,
        np.array([float(weights.get(column.attribute.name, 1.0)) for column in columns]),
    )


BINS = 64  # groups of values that follow each other, for columns that have more
STEPS = 16  # the same for columns with an order
MOST_VALUES = 4096  # beyond, the order by value stays


def coordinates(cells: Cells, column: int, ordered: Sequence[bool]) -> np.ndarray:
    """How far each value of a column is from its most frequent one, on the first axis of a correspondence analysis.

    The table analysed counts each value with the values of the other columns, side by side: values whose rows look
    alike in the other columns are close on the axis. The most frequent value, which lies in the middle of it, comes to
    one end, where a single cut sets it apart. All are 0 where there is nothing to tell the values apart. `ordered` says
    which columns have an order.
    """
    values = cells.sizes[column]
    others = [i for i in range(len(cells.codes)) if i != column and cells.sizes[i] > 1]
    if values < 3 or values > MOST_VALUES or not others:
        return np.zeros(values)
    table = np.hstack([_together(cells, column, other, ordered[other]) for other in others])
    share = table / table.sum()
    row, feature = share.sum(axis=1, keepdims=True), share.sum(axis=0)
    share, feature = share[:, feature > 0], feature[feature > 0]
    scaled = (share - row * feature) / np.sqrt(row * feature)
    if len(scaled) <= len(feature):
        strength, axes = np.linalg.eigh(scaled @ scaled.T)
        axis = axes[:, -1]
    else:
        strength, axes = np.linalg.eigh(scaled.T @ scaled)
        axis = scaled @ axes[:, -1]
    if strength[-1] < 1e-12:
        return np.zeros(values)
    found = axis / np.sqrt(row[:, 0])
    found = np.abs(found - found[np.argmax(table.sum(axis=1))])
    return np.round(found / max(found.max(), 1e-300), 9)  # what differs by less is the same, whatever the machine


def _together(cells: Cells, column: int, other: int, ordered: bool) -> np.ndarray:
    """How many rows have each value of one column with each value, or group of values, of another.

    Where the other has an order: with at most, and with more than, each of its values, or groups, but the last.
    """
    values, size, most = cells.sizes[column], cells.sizes[other], STEPS if ordered else BINS
    group = cells.codes[other].astype(np.int64)
    if size > most:
        rows = np.bincount(group, weights=cells.count, minlength=size)
        middle = np.cumsum(rows) - rows / 2
        group = np.minimum(middle / rows.sum() * most, most - 1).astype(np.int64)[group]
        size = most
    pair = cells.codes[column].astype(np.int64) * size + group
    found = np.bincount(pair, weights=cells.count, minlength=values * size).reshape(values, size)
    if not ordered:
        return found
    upto = np.cumsum(found, axis=1)
    return np.hstack([upto[:, :-1], upto[:, -1:] - upto[:, :-1]])


WORTH_A_THREAD = 20_000  # cells in a round before a second core pays


class Parts:
    """Strict cuts of the widest or first column at its median: moved at once, also by cuts that are then refused."""

    def __init__(self, problem: Problem, columns: list[OrderedColumn], shape: PartShape, rules: CutRules) -> None:
        cells = problem.cells
        self.cells, self.shape = cells, shape
        self.codes = np.stack([column.place[cells.codes[i]] for i, column in enumerate(columns)])
        self.n, self.idx = cells.count.copy(), np.arange(len(cells), dtype=np.int32)
        self.spare = np.empty_like(self.codes), np.empty_like(self.n), np.empty_like(self.idx)
        self.bounds = np.zeros(len(cells), np.int64)
        self.rules = rules

    def cut(self, start: np.ndarray, end: np.ndarray, skip: np.ndarray, pool: ThreadPoolExecutor) -> np.ndarray:
        """Cut each part [start, end), passing over `skip` cuts; the number of its sides, 0 where none is allowed."""
        kids = np.zeros(len(start), np.int64)
        rules = self.rules.least, self.rules.how == BALANCED, self.rules.order == WIDEST

        def run(part: slice, thread: int = 0) -> None:
            cells = self.codes, self.n, self.idx, *self.spare
            propose(*cells, start[part], end[part], skip[part], *rules, *self.shape[:9], kids[part], self.bounds)

        _share(run, start, end, pool)
        return kids

    def sides(self, start: np.ndarray, end: np.ndarray, kids: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where the sides of all cut parts begin and end, and the part that each comes from."""
        of_part, nth = _each(kids)
        first = self.bounds[start[of_part] + nth]
        last = np.append(first[1:], 0)
        final = np.append(of_part[1:] != of_part[:-1], True) if len(of_part) else np.zeros(0, np.bool_)
        last[: len(of_part)][final] = end[of_part[final]]
        return first, last[: len(of_part)], of_part

    def taken(self, at: np.ndarray) -> tuple[Cells, np.ndarray]:
        """The cells that stand at some places after the cut, ascending, and the order that this takes."""
        order = np.argsort(self.idx[at])
        return self.cells.take(self.idx[at][order]), order

    def accept(self, first: np.ndarray, last: np.ndarray) -> None:
        """Let sides stand."""

    def settled(self, starts: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Places, rows and cell of each piece, in the order of the parts."""
        return self.codes, self.n, self.idx


class FreeParts(Parts):
    """Any cuts; a cut takes effect when it is accepted. Relaxed cuts divide cells, for whose pieces there is room."""

    def __init__(
        self,
        problem: Problem,
        columns: list[OrderedColumn],
        shape: PartShape,
        rules: CutRules,
        goal: Goal | None = None,
    ) -> None:
        super().__init__(problem, columns, shape, rules)
        self.goal = goal
        cells, rows = len(self.n), int(self.n.sum())
        if rules.relaxed and (more := min(rows // rules.least - 1, rows - cells)) > 0:
            self.codes = np.pad(self.codes, ((0, 0), (0, more)))
            self.n, self.idx = np.pad(self.n, (0, more)), np.pad(self.idx, (0, more))
            self.spare = np.empty_like(self.codes), np.empty_like(self.n), np.empty_like(self.idx)
        self.room = Room(self.codes, self.n, self.idx, *self.spare)
        self.first, self.last = np.zeros(len(self.n), np.int64), np.zeros(len(self.n), np.int64)

    def cut(self, start: np.ndarray, end: np.ndarray, skip: np.ndarray, pool: ThreadPoolExecutor) -> np.ndarray:
        """Deal the cells of each part [start, end) to the sides of its cut number `skip`, beside."""
        kids, skip = np.zeros(len(start), np.int64), skip.copy()
        column, cut, take = np.full(len(start), -1), np.zeros_like(start), np.zeros_like(start)

        def run(part: slice, thread: int = 0) -> None:
            fixed = self.room, self.shape, self.rules
            own = start[part], end[part], skip[part], column[part], cut[part], take[part]
            if self.goal is not None:
                choose(*fixed, *self.goal, *own)
            cut_parts(*fixed, *own, kids[part], self.first, self.last)

        _share(run, start, end, pool)
        return kids

    def sides(self, start: np.ndarray, end: np.ndarray, kids: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where the sides of all cut parts begin and end, and the part that each comes from."""
        of_part, nth = _each(kids)
        at = start[of_part] + nth
        return self.first[at], self.last[at], of_part

    def taken(self, at: np.ndarray) -> tuple[Cells, np.ndarray]:
        """The cells, or pieces of them, that stand at some places after the cut, ascending, and the order."""
        _, n, idx = self.spare
        order = np.argsort(idx[at], kind="stable")
        return apply_split(self.cells, CellSplit(idx[at][order], n[at][order])), order

    def accept(self, first: np.ndarray, last: np.ndarray) -> None:
        """Let sides stand."""
        settle(self.room, first, last)

    def settled(self, starts: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Places, rows and cell of each piece, in the order of the parts."""
        at = stretch(starts, ends)
        return self.codes[:, at], self.n[at], self.idx[at]


def _share(run: Callable[..., None], start: np.ndarray, end: np.ndarray, pool: ThreadPoolExecutor) -> None:
    """Run over all parts, several at a time where that pays."""
    if (end - start).sum() < WORTH_A_THREAD:
        run(slice(0, len(start)))
    else:
        share(run, end - start, pool)


def stretch(first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """The numbers of all ranges [first, last), one after the other.

    >>> stretch(np.array([0, 7]), np.array([2, 9])).tolist()
    [0, 1, 7, 8]
    """
    width = last - first
    return np.arange(width.sum()) - np.repeat(np.cumsum(width) - width, width) + np.repeat(first, width)


def _each(kids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For every side of every part: its part, and its number there."""
    of_part = np.repeat(np.arange(len(kids)), kids)
    return of_part, np.arange(len(of_part)) - np.repeat(np.cumsum(kids) - kids, kids)
