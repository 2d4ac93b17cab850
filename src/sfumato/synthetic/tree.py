"""Trees whose leaves are rows alike in one column, given others: Breiman, Friedman, Olshen and Stone, "Classification
and regression trees", 1984. The levels of a category are tried in one order: by their mean response (Fisher, "On
grouping for maximum homogeneity", JASA 1958) or the first principal direction of their class shares (Coppersmith, Hong
and Hosking, "Partitioning nominal attributes in decision trees", 1999)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.core.compiled import inner, kernel

CODES = 1 << 16  # most codes of a predictor
BINS = 1024  # most places that a node tries to split a predictor at; its children try others
ROUNDS = 40  # of the search for a principal direction


@dataclass(frozen=True, eq=False, repr=False)
class Tree:
    """One tree for each group of rows; the root of group g is node g. Rows of a leaf are neighbours in some order."""

    feature: np.ndarray  # int32: the predictor that a node asks for, -1 in leaves
    most: np.ndarray  # int32: the greatest code that goes left
    left: np.ndarray  # int32: its left child; the right one is next
    start: np.ndarray  # int64: its first row
    size: np.ndarray  # int64: how many rows it has

    def leaves(self, codes: np.ndarray, root: np.ndarray) -> np.ndarray:
        """The leaf of each row, from a root on; codes [predictors, rows]."""
        node = root.astype(np.int32)
        _descend(self.feature, self.most, self.left, codes, node)
        return node

    @property
    def roots(self) -> int:
        """How many trees it is."""
        return len(self.feature) - 2 * int((self.feature >= 0).sum())

    def parents(self) -> np.ndarray:
        """The node above each node; roots are their own."""
        found, splits = np.arange(len(self.feature)), np.flatnonzero(self.feature >= 0)
        found[self.left[splits]] = found[self.left[splits] + 1] = splits
        return found

    def leaf_of_donors(self) -> np.ndarray:
        """The leaf of each row that it was grown on, in their order."""
        leaves = np.flatnonzero(self.feature < 0)
        leaves = leaves[np.argsort(self.start[leaves], kind="stable")]
        return np.repeat(leaves, self.size[leaves])


def grow(
    codes: np.ndarray,
    target: np.ndarray,
    labels: int,
    leaf: int,
    complexity: float = 0.0,
    group: np.ndarray | None = None,
    groups: int = 1,
) -> tuple[Tree, np.ndarray]:
    """A tree of rows by predictors, codes [predictors, rows] of uint16, and the rows in the order of its leaves.

    The target is a number for each row, or one of some `labels`. Leaves have at least `leaf` rows. A split takes at
    least `complexity` off the impurity, as a share of that of all rows.

    >>> x = np.array([[0, 1, 2, 3, 4, 5]], np.uint16)
    >>> tree, rows = grow(x, np.array([5.0, 5.0, 5.0, 1.0, 1.0, 2.0]), 0, leaf=2)
    >>> tree.most[0], tree.size, rows
    (np.int32(2), array([6, 3, 3]), array([0, 1, 2, 3, 4, 5], dtype=int32))
    """
    n = len(target)
    if group is None:
        rows, ends = np.arange(n, dtype=np.int32), np.array([0, n])
    else:
        rows = np.argsort(group, kind="stable").astype(np.int32)
        ends = np.append(0, np.cumsum(np.bincount(group, minlength=groups)))
    if labels > 2:
        share = np.bincount(target, minlength=labels) / max(n, 1)
        response, label, least = np.zeros(0), target.astype(np.int32), complexity * n * (1 - float(share @ share))
    else:
        response, label = target.astype(np.float64), np.zeros(0, np.int32)
        response -= response.mean() if n else 0.0
        least = complexity * float(response @ response)
    nodes = np.empty((3, 2 * (n // leaf) + 2 * groups + 1), np.int32)
    spans = np.empty((2, nodes.shape[1]), np.int64)
    made = _grow(codes, response, label, labels, rows, ends.astype(np.int64), leaf, least, nodes, spans)
    return Tree(*nodes[:, :made].copy(), *spans[:, :made].copy()), rows


def ranks(level: np.ndarray, levels: int, target: np.ndarray, labels: int, prior: float) -> np.ndarray:
    """The levels of a category in one order by their effect on a target: a rank of uint16 for each.

    The mean of a level is drawn to that of all rows as if `prior` more rows had it, so that rare ones are no extremes.
    """
    size = np.bincount(level, minlength=levels)
    if labels > 2:
        cells = levels * labels
        if cells <= 4 * len(level):
            count = np.bincount(level * labels + target, minlength=cells)
            there = np.flatnonzero(count)
            one, other, weight = there // labels, there % labels, count[there].astype(np.float64)
        else:
            one, other, weight = level.astype(np.int64), target.astype(np.int64), np.ones(len(level))
        effect = _direction(one, other, weight, size.astype(np.float64), labels)
    else:
        total = float(target.mean()) if len(target) else 0.0
        effect = np.bincount(level, weights=target - total, minlength=levels)
    order = np.argsort(effect / (size + prior), kind="stable")
    rank = np.empty(levels, np.uint16)
    rank[order] = np.arange(levels) if levels <= CODES else np.arange(levels) * (CODES - 1) // (levels - 1)
    return rank


@kernel
def _direction(one: np.ndarray, other: np.ndarray, weight: np.ndarray, size: np.ndarray, labels: int) -> Any:
    """The sums over rows of each level of the first principal direction of class shares, by power iteration."""
    rows, overall, effect = 0.0, np.zeros(labels), np.zeros(len(size))
    for i in range(len(one)):
        overall[other[i]] += weight[i]
        rows += weight[i]
    vector = np.empty(labels)
    for k in range(labels):
        vector[k] = ((k + 1) * 0.6180339887498949) % 1.0 - 0.5
    for _ in range(ROUNDS):
        middle, length = 0.0, 0.0
        for k in range(labels):
            middle += overall[k] * vector[k] / rows
        effect[:] = 0.0
        for i in range(len(one)):
            effect[one[i]] += weight[i] * (vector[other[i]] - middle)
        after = np.zeros(labels)
        for i in range(len(one)):
            after[other[i]] += weight[i] * effect[one[i]] / size[one[i]]
        for k in range(labels):
            length += after[k] * after[k]
        if length == 0.0:
            break
        moved = 0.0
        for k in range(labels):
            after[k] /= np.sqrt(length)
            moved += (after[k] - vector[k]) ** 2
            vector[k] = after[k]
        if moved < 1e-10:
            break
    return effect


@kernel
def _descend(feature: np.ndarray, most: np.ndarray, left: np.ndarray, codes: np.ndarray, node: np.ndarray) -> None:
    for i in range(len(node)):
        at = node[i]
        while feature[at] >= 0:
            at = left[at] + (codes[feature[at], i] > most[at])
        node[i] = at


@inner
def _split_numbers(near: np.ndarray, bins: np.ndarray, m: int, leaf: int, width: int, count: Any, total: Any) -> Any:
    """The best gain of a split of numbers around 0, and the bin that it comes after."""
    count[:width] = 0
    total[:width] = 0.0
    for i in range(m):
        count[bins[i]] += 1
        total[bins[i]] += near[i]
    best, cut, rows, below = 0.0, -1, 0, 0.0
    for b in range(width - 1):
        if count[b] == 0:
            continue
        rows += count[b]
        below += total[b]
        if rows < leaf:
            continue
        if m - rows < leaf:
            break
        gain = below * below * (1.0 / rows + 1.0 / (m - rows))
        if gain > best:
            best, cut = gain, b
    return best, cut


@inner
def _split_labels(
    mine: np.ndarray, bins: np.ndarray, m: int, leaf: int, width: int, count: Any, sorted_: Any, of: Any, low: Any
) -> Any:
    """The same for labels, by the Gini impurity; `of` has how many rows have each label, `low` zeros."""
    count[: width + 1] = 0
    for i in range(m):
        count[bins[i] + 1] += 1
    for b in range(width):
        count[b + 1] += count[b]
    square = 0
    for i in range(m):
        sorted_[count[bins[i]]] = mine[i]
        count[bins[i]] += 1
        square += of[mine[i]]
    best, cut, rows, below, above = 0.0, -1, 0, 0, square
    for b in range(width - 1):
        if count[b] == rows:
            continue
        while rows < count[b]:
            k = sorted_[rows]
            below += 2 * low[k] + 1
            above -= 2 * (of[k] - low[k]) - 1
            low[k] += 1
            rows += 1
        if rows < leaf:
            continue
        if m - rows < leaf:
            break
        gain = below / rows + above / (m - rows) - square / m
        if gain > best:
            best, cut = gain, b
    for i in range(rows):
        low[sorted_[i]] = 0
    return best, cut


@kernel
def _grow(
    codes: np.ndarray,
    response: np.ndarray,
    label: np.ndarray,
    labels: int,
    rows: np.ndarray,
    ends: np.ndarray,
    leaf: int,
    least: float,
    nodes: np.ndarray,
    spans: np.ndarray,
) -> int:
    n, made, by_label = len(rows), len(ends) - 1, labels > 2
    feature, most, left, start, size = nodes[0], nodes[1], nodes[2], spans[0], spans[1]
    stack, near, mine = np.empty(len(feature), np.int32), np.empty(n if not by_label else 0), np.empty(n, np.int32)
    bins, moved = np.empty(n, np.int32), np.empty(n, np.int32)
    count, total = np.empty(BINS + 2, np.int64), np.empty(BINS + 1)
    of, low = np.zeros(labels + 1, np.int64), np.zeros(labels + 1, np.int64)
    for g in range(made):
        start[g], size[g], feature[g], most[g], left[g] = ends[g], ends[g + 1] - ends[g], -1, 0, 0
        stack[g] = g
    top = made
    while top > 0:
        top -= 1
        node = stack[top]
        a, m = start[node], size[node]
        if m < 2 * leaf:
            continue
        pure = True
        if by_label:
            for i in range(m):
                mine[i] = label[rows[a + i]]
                of[mine[i]] += 1
            pure = of[mine[0]] == m
            best = max(least, 1e-9)
        else:
            mean, spread = 0.0, 0.0
            for i in range(m):
                near[i] = response[rows[a + i]]
                pure = pure and near[i] == near[0]
                mean += near[i]
            mean /= m
            for i in range(m):
                near[i] -= mean
                spread += near[i] * near[i]
            best = max(least, 1e-12 * spread)
        chosen, border = -1, 0
        limit = 64
        while limit < 2 * m and limit < BINS:
            limit *= 2
        for f in range(0 if pure else len(codes)):
            first = np.int64(codes[f, rows[a]])
            last = first
            for i in range(m):
                code = np.int64(codes[f, rows[a + i]])
                bins[i] = code
                first = min(first, code)
                last = max(last, code)
            if first == last:
                continue
            shift = 0
            while (last - first) >> shift >= limit:
                shift += 1
            for i in range(m):
                bins[i] = (bins[i] - first) >> shift
            width = ((last - first) >> shift) + 1
            if by_label:
                gain, cut = _split_labels(mine, bins, m, leaf, width, count, moved, of, low)
            else:
                gain, cut = _split_numbers(near, bins, m, leaf, width, count, total)
            if gain > best:
                best, chosen, border = gain, f, first + ((cut + 1) << shift) - 1
        if by_label:
            for i in range(m):
                of[mine[i]] = 0
        if chosen < 0:
            continue
        to, away = a, 0
        for i in range(a, a + m):
            if codes[chosen, rows[i]] <= border:
                rows[to] = rows[i]
                to += 1
            else:
                moved[away] = rows[i]
                away += 1
        for i in range(away):
            rows[to + i] = moved[i]
        feature[node], most[node], left[node] = chosen, border, made
        start[made], size[made], start[made + 1], size[made + 1] = a, to - a, to, away
        for child in range(made, made + 2):
            feature[child], most[child], left[child] = -1, 0, 0
            stack[top] = child
            top += 1
        made += 2
    return made
