"""Perturbation: what the protections share that hide no cell, and what sums tell about the values that they publish."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sfumato.core.progress import check_cancelled
from sfumato.errors import PolicyError
from sfumato.tables.protection import ProtectedCells, ProtectionProblem
from sfumato.tables.rules.model import CellModel
from sfumato.tables.values import CellSums, Dimension, StatTable

TIES = 1e-9  # within which a bound reaches a level
ROUNDS = 1000  # of narrowing, which mostly ends after a few


@dataclass(frozen=True)
class Perturbation(CellModel):
    """What all of them share: they hide nothing."""

    hides: ClassVar[bool] = False
    additive: ClassVar[bool] = False


def require_counts(table: StatTable, model: str) -> None:
    """Raise a PolicyError for a table of anything but whole counts."""
    if not table.whole:
        what = f'sums of "{table.measured}"' if table.measured else "weighted counts"
        raise PolicyError(f"{model} perturbs counts", got=what, hint="round or adjust tables of sums")


def in_units(table: StatTable, value: np.ndarray) -> np.ndarray:
    """Values as whole numbers of the last digit that the table has."""
    return np.rint(value * 10.0**table.decimals).astype(np.int64)


def leaf_places(dimensions: Sequence[Dimension]) -> np.ndarray:
    """The number of every cell that is no total, an axis per dimension, along which nodes of one branch are neighbours.

    >>> sex = Dimension("sex", ("*", "f", "m"), np.array([-1, 0, 0]), np.array([[1, 2], [0, 0]]))
    >>> leaf_places([sex]).tolist()
    [1, 2]
    """
    shape = tuple(len(one) for one in dimensions)
    return np.ravel_multi_index(np.ix_(*(_in_order(one) for one in dimensions)), shape)


def _in_order(dimension: Dimension) -> np.ndarray:
    """The nodes without children, those of one branch one after the other."""
    order = np.lexsort(dimension.level)  # by the uppermost level first
    return np.asarray(dimension.level[0][order])


def add_up(dimensions: Sequence[Dimension], leaves: np.ndarray) -> np.ndarray:
    """Values of the cells in `leaf_places` as values of all cells."""
    for axis, one in enumerate(dimensions):
        shape = (len(one.leaf), *np.delete(leaves.shape, axis))
        by_value = np.empty(shape, leaves.dtype)
        by_value[np.lexsort(one.level)] = np.moveaxis(leaves, axis, 0)
        leaves = one.added_up(np.moveaxis(by_value, 0, axis), axis)
    return leaves.ravel()


def perturbed(
    problem: ProtectionProblem, units: np.ndarray, known: tuple[np.ndarray, np.ndarray] | None = None,
    facts: Mapping[str, Any] | None = None, **more: Any,
) -> ProtectedCells:  # fmt: skip
    """The cells with other values, given in units of the table's last digit.

    known: between which units everybody who knows the method finds each true value, its sums with others left aside.
    The facts then say how many sensitive cells the sums determine, and for how many these bounds do not reach as far
    below and above the true value as the rules ask.
    """
    table = problem.table
    scale = 10.0**-table.decimals
    distance = np.abs(units - in_units(table, problem.value)) * scale
    figures = {
        "cells_changed": int((distance > 0).sum()),
        "distance": float(distance.sum()),
        "largest_change": float(distance.max(initial=0.0)),
        **(facts or {}),
    }
    if known is not None:
        least, most = narrowed(problem.sums, known[0] if table.negative else np.maximum(known[0], 0), known[1])
        primary, value = problem.primary.cells.ravel(), problem.value
        below = problem.primary.below.ravel()
        below = below if table.negative else np.minimum(below, value)
        short = (least * scale > value - below + TIES) | (most * scale < value + problem.primary.above.ravel() - TIES)
        figures["determined"] = int(((least == most) & primary & (value != 0)).sum())
        figures["narrowed"] = int((short & primary).sum())
    more = {"cost": figures["distance"], **more}
    hidden = np.zeros(len(units), np.bool_)
    return ProtectedCells(hidden, changed=units * scale, facts=figures, **more)


def narrowed(sums: CellSums, least: np.ndarray, most: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bounds on the true values of all cells after every total and its parts were held against each other.

    An attacker with a linear program may narrow them further, never less.

    >>> sums = CellSums(np.array([0, 1, 2]), np.array([0, 3]), np.array([0]))
    >>> narrowed(sums, np.array([4.0, 0, 0]), np.array([8.0, 2, 2]))  # 0 + 0 = 6, rounded to 3
    (array([4., 2., 2.]), array([4., 2., 2.]))
    """
    least, most = least.astype(np.float64), most.astype(np.float64)
    if not len(sums):
        return least, most
    total, part = sums.cell[sums.start[:-1]], sums.sign > 0
    cell, row = sums.cell[part], sums.row[part]
    for _ in range(ROUNDS):
        check_cancelled()
        before = least.copy(), most.copy()
        low = np.bincount(row, least[cell], len(sums))
        high = np.bincount(row, most[cell], len(sums))
        np.maximum.at(least, total, low)
        np.minimum.at(most, total, high)
        rest_low, rest_high = low[row] - before[0][cell], high[row] - before[1][cell]
        np.maximum.at(least, cell, least[total][row] - rest_high)
        np.minimum.at(most, cell, most[total][row] - rest_low)
        if np.array_equal(before[0], least) and np.array_equal(before[1], most):
            break
    return least, most
