"""An order of categories in which similar ones are neighbours: reciprocal averaging. Hill, Applied Statistics, 1974.

Columns with an order are counted below and above some of their values, as in cumulative correspondence analysis (Beh,
D'Ambra and Simonetti, Communications in Statistics, 2011), so that close values count as alike.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.cells import Cells

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
