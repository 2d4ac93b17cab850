"""The class that costs least to join, for classes that cannot stand alone."""

from __future__ import annotations

import numpy as np

from sfumato.kernels import kernel
from sfumato.kernels.boxes import side


@kernel
def nearest_by_cells(
    label: np.ndarray, size: np.ndarray, weight: np.ndarray, failing: np.ndarray, fresh: np.ndarray
) -> np.ndarray:
    """For each failing class the other class with which it blanks the least weight of cells; ties by the smaller one.

    `label` [classes, columns] is the code of a class or -1, `fresh` [classes, columns] its rows that have a value.
    """
    found = np.full(len(failing), -1, np.int64)
    for i in range(len(failing)):
        c = failing[i]
        best = np.inf
        for o in range(len(label)):
            if o == c:
                continue
            cost = 0.0
            for a in range(label.shape[1]):
                if label[c, a] != label[o, a]:
                    if label[c, a] >= 0:
                        cost += weight[a] * fresh[c, a]
                    if label[o, a] >= 0:
                        cost += weight[a] * fresh[o, a]
                    if cost > best:
                        break
            if cost < best or (cost == best and size[o] < size[found[i]]):
                best = cost
                found[i] = o
    return found


@kernel
def nearest_by_boxes(
    lo: np.ndarray, hi: np.ndarray, size: np.ndarray, failing: np.ndarray, shape: np.ndarray, table: np.ndarray
) -> np.ndarray:
    """For each failing class the other class with which the rows of both lose least more than alone."""
    alone = np.zeros(len(lo))
    for o in range(len(lo)):
        for a in range(lo.shape[1]):
            alone[o] += side(a, lo[o, a], hi[o, a], shape, table)
    found = np.full(len(failing), -1, np.int64)
    for i in range(len(failing)):
        c = failing[i]
        best = np.inf
        for o in range(len(lo)):
            if o == c:
                continue
            rows, spent = size[c] + size[o], size[c] * alone[c] + size[o] * alone[o]
            both = 0.0
            for a in range(lo.shape[1]):
                both += side(a, min(lo[c, a], lo[o, a]), max(hi[c, a], hi[o, a]), shape, table)
                if rows * both - spent > best:
                    break
            cost = rows * both - spent
            if cost < best or (cost == best and size[o] < size[found[i]]):
                best = cost
                found[i] = o
    return found
