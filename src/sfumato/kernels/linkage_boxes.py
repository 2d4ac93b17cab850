"""Which boxes of released labels hold a point of known values, counted over a tree of boxes."""

from __future__ import annotations

import numpy as np

from sfumato.kernels import kernel
from sfumato.kernels.linkage_tree import DEEPEST


@kernel
def inside(value: int, label: int, low: np.ndarray, high: np.ndarray, begin: np.ndarray, listed: np.ndarray) -> bool:
    """Whether a label covers a value: one between its least and greatest, and in its list where it has gaps.

    A value that is not known (-1) is covered by every label.
    """
    if value < 0:
        return True
    if value < low[label] or value > high[label]:
        return False
    a, b = begin[label], begin[label + 1]
    if a == b:
        return True
    while a < b:
        middle = (a + b) // 2
        if listed[middle] < value:
            a = middle + 1
        else:
            b = middle
    return a < begin[label + 1] and listed[a] == value


@kernel
def covered(
    labels: np.ndarray,
    values: np.ndarray,
    cell: np.ndarray,
    point: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    begin: np.ndarray,
    listed: np.ndarray,
) -> np.ndarray:
    """Whether cell[p] covers point[p], for each pair; the labels of all columns are numbered through."""
    found = np.ones(len(cell), np.bool_)
    for p in range(len(cell)):
        for c in range(labels.shape[0]):
            if not inside(values[c, point[p]], labels[c, cell[p]], low, high, begin, listed):
                found[p] = False
                break
    return found


@kernel
def hulls(
    labels: np.ndarray,
    items: np.ndarray,
    start: np.ndarray,
    stop: np.ndarray,
    right: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    begin: np.ndarray,
    count: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Per node and column the hull of its boxes and what lies in all of them, and its rows.

    The last axis: least, greatest, and the inner least and greatest (an empty range where a label has gaps).
    """
    nodes, columns = len(start), labels.shape[0]
    hull, rows = np.zeros((nodes, columns, 4), np.int64), np.zeros(nodes, np.int64)
    for node in range(nodes - 1, -1, -1):
        for c in range(columns):
            hull[node, c, 0], hull[node, c, 1] = 2**62, -1
            hull[node, c, 2], hull[node, c, 3] = -1, 2**62
        if right[node] < 0:
            for i in range(start[node], stop[node]):
                rows[node] += count[items[i]]
                for c in range(columns):
                    label = labels[c, items[i]]
                    h = hull[node, c]
                    h[0], h[1] = min(h[0], low[label]), max(h[1], high[label])
                    h[2], h[3] = max(h[2], low[label]), min(h[3], high[label])
                    if begin[label] < begin[label + 1]:
                        h[3] = -2
        else:
            for child in (node + 1, right[node]):
                rows[node] += rows[child]
                for c in range(columns):
                    h, k = hull[node, c], hull[child, c]
                    h[0], h[1], h[2], h[3] = min(h[0], k[0]), max(h[1], k[1]), max(h[2], k[2]), min(h[3], k[3])
    return hull, rows


@kernel
def count_boxes(
    values: np.ndarray,
    first: int,
    last: int,
    labels: np.ndarray,
    items: np.ndarray,
    start: np.ndarray,
    stop: np.ndarray,
    right: np.ndarray,
    hull: np.ndarray,
    rows: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    begin: np.ndarray,
    listed: np.ndarray,
    count: np.ndarray,
    found: np.ndarray,
    sole: np.ndarray,
) -> None:
    """Add to found[p] the rows of the boxes that hold point p, and keep in sole[p] one of these boxes."""
    columns = labels.shape[0]
    waiting = np.zeros(DEEPEST + 2, np.int64)
    for p in range(first, last):
        waiting[0] = 0
        todo = 1
        while todo:
            todo -= 1
            node = waiting[todo]
            outside, within = False, True
            for c in range(columns):
                v = values[c, p]
                if v >= 0:
                    h = hull[node, c]
                    if v < h[0] or v > h[1]:
                        outside = True
                        break
                    within &= h[2] <= v <= h[3]
            if outside:
                continue
            if within:
                found[p] += rows[node]
                sole[p] = items[start[node]]
            elif right[node] < 0:
                for i in range(start[node], stop[node]):
                    box, holds = items[i], True
                    for c in range(columns):
                        if not inside(values[c, p], labels[c, box], low, high, begin, listed):
                            holds = False
                            break
                    if holds:
                        found[p] += count[box]
                        sole[p] = box
            else:
                waiting[todo], waiting[todo + 1] = right[node], node + 1
                todo += 2
