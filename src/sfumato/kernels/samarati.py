"""Distance vectors between cells: how far two cells must be generalised, column by column, to look alike."""

from __future__ import annotations

import numpy as np

from sfumato.kernels import kernel


@kernel
def distance_vectors(
    codes: np.ndarray,
    count: np.ndarray,
    outliers: np.ndarray,
    ladders: np.ndarray,
    at: np.ndarray,
    values: np.ndarray,
    least: np.ndarray,
    greatest: np.ndarray,
    stride: np.ndarray,
    nodes: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each outlier the distance vectors to all cells, equal ones once, with the rows at that distance.

    The label of code c of column a at level l is ladders[at[a] + l * values[a] + c]. A distance below `least` counts as
    that; a cell farther than `greatest` in a column is left out. Returns where the vectors of an outlier begin, the
    number of each vector among the nodes of the lattice, and its rows.
    """
    columns, cells = codes.shape
    step = np.empty((columns, values.max()), np.int64)
    beyond = -np.int64(nodes)  # makes any sum negative
    listed_at = np.full(nodes, -1, np.int64)
    start = np.zeros(len(outliers) + 1, np.int64)
    number = np.empty(1024, np.int64)
    rows = np.empty(1024, np.int64)
    used = 0
    for o in range(len(outliers)):
        for a in range(columns):
            mine = codes[a, outliers[o]]
            for c in range(values[a]):
                level = least[a]
                while level <= greatest[a]:
                    row = at[a] + level * values[a]
                    if ladders[row + c] == ladders[row + mine]:
                        break
                    level += 1
                step[a, c] = (level - least[a]) * stride[a] if level <= greatest[a] else beyond
        for i in range(cells):
            place = np.int64(0)
            for a in range(columns):
                place += step[a, codes[a, i]]
            if place < 0:
                continue
            if listed_at[place] < start[o]:
                if used == len(number):
                    number = np.concatenate((number, np.empty_like(number)))
                    rows = np.concatenate((rows, np.empty_like(rows)))
                listed_at[place] = used
                number[used] = place
                rows[used] = 0
                used += 1
            rows[listed_at[place]] += count[i]
        start[o + 1] = used
    return start, number[:used].copy(), rows[:used].copy()


@kernel
def too_far(
    nodes: np.ndarray,
    start: np.ndarray,
    vectors: np.ndarray,
    rows: np.ndarray,
    own: np.ndarray,
    k: int,
    limit: int,
    suppressed: np.ndarray,
) -> None:
    """Per node, the rows of outliers that have fewer than k rows within it, counted until they exceed the limit."""
    columns = nodes.shape[1]
    for b in range(len(nodes)):
        total = 0
        for o in range(len(own)):
            reached = 0
            for e in range(start[o], start[o + 1]):
                within = True
                for a in range(columns):
                    if vectors[e, a] > nodes[b, a]:
                        within = False
                        break
                if within:
                    reached += rows[e]
                    if reached >= k:
                        break
            if reached < k:
                total += own[o]
                if total > limit:
                    break
        suppressed[b] = total
