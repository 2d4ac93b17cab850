"""What a protection may do with each cell: what hiding it costs, whether it may or must be, what is known of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from sfumato.core import parameters
from sfumato.errors import ColumnError, PolicyError, did_you_mean
from sfumato.tables.linked import JointTable
from sfumato.tables.values import StatTable

COSTS = ("value", "log-value", "rows", "cells")


def cell_costs(table: StatTable, cost: Any) -> np.ndarray:
    """What it costs to hide each cell, above 0; a total costs more than all cells inside together, so that one is
    hidden only where nothing else protects.

    An array of the table's shape is taken as it is.
    """
    if isinstance(cost, np.ndarray):
        if cost.shape != table.shape or not np.isfinite(cost).all() or (cost <= 0).any():
            raise PolicyError("own costs need a number above 0 for each cell", got=f"an array of shape {cost.shape}",
                              allowed=f"shape {table.shape}")  # fmt: skip
        return cost.astype(np.float64).ravel()
    parameters.one_of(cost, "cost", COSTS)
    size = np.abs(table.value).ravel()
    if cost == "value":
        found = size
    elif cost == "log-value":
        found = np.log1p(size)
    else:
        found = table.count.ravel() if cost == "rows" else np.ones(table.value.size)
    top = float(found.max(initial=0.0)) or 1.0
    found = np.maximum(found / top, 1e-6)  # also an empty cell costs something
    total = is_total(table)
    return np.where(total, found + float(found[~total].sum()), found)


def is_total(table: StatTable) -> np.ndarray:
    """Which cells are totals: those that have a node with children in some column."""
    found = np.zeros(table.value.size, np.bool_)
    for one, cell in table.members:
        for axis, dimension in enumerate(one.dimensions):
            above = np.array([len(below) > 0 for below in dimension.children])
            found[np.moveaxis(cell, axis, 0)[above]] = True
    return found


def named_cells(table: StatTable, named: Iterable[Mapping[str, Any]] | None, what: str) -> np.ndarray:
    """The cells that are named by labels: each mapping has a label, or several, for some columns, and means all cells
    with these."""
    if isinstance(table, JointTable):
        return _named_in_several(table, named, what)
    found = np.zeros(table.shape, np.bool_)
    if named is not None and isinstance(named, Mapping | str):
        raise PolicyError(f"{what} needs a list of cells", hint=f'{what}=[{{"{table.by[0]}": "..."}}]')
    for each in named or ():
        here = np.ones(table.shape, np.bool_)
        for name, labels in parameters.mapping(each, what).items():
            if name not in table.by:
                hint = did_you_mean(name, table.by)
                raise ColumnError(f'{what}: "{name}" is no column of the table', allowed=", ".join(table.by), hint=hint)
            axis = table.by.index(name)
            one, wanted = table.dimensions[axis], [labels] if not isinstance(labels, list | tuple) else list(labels)
            place = {label: i for i, label in enumerate(one.labels)}
            if unknown := sum(str(label) not in place for label in wanted):
                raise PolicyError(f'{what}: {unknown} of the labels of "{name}" are not in the table')
            along = np.zeros(len(one), np.bool_)
            along[[place[str(label)] for label in wanted]] = True
            here &= along.reshape([-1 if i == axis else 1 for i in range(len(table.shape))])
        found |= here
    return found.ravel()


def _named_in_several(table: JointTable, named: Iterable[Mapping[str, Any]] | None, what: str) -> np.ndarray:
    """The same in tables that share cells: each mapping means cells of the tables that have all of its columns."""
    found = np.zeros(table.value.size, np.bool_)
    if named is None:
        return found
    for each in [named] if isinstance(named, Mapping | str) else named:
        having = [one for one in table.members if {*parameters.mapping(each, what)} <= {*one[0].by}]
        for one, cell in having or table.members[:1]:  # the first says what is wrong
            found[cell.ravel()[named_cells(one, [each], what)]] = True
    return found


def told_before(table: JointTable, unsafe: np.ndarray) -> None:
    """Raise a PolicyError where cells that are unsafe, or must be hidden, were published before."""
    if both := int((unsafe & table.known_before).sum()):
        raise PolicyError(
            f"{both} of the unsafe cells were published in an earlier release",
            hint="ask no more of this table than of the earlier ones, or count by fewer columns",
        )


def known_least(table: StatTable, zeros_hidden: bool) -> float:
    """What everybody knows a hidden cell to be at least.

    Where empty cells are never hidden, a hidden count is 1 at least, and whoever knows the program knows that.
    """
    if table.negative:
        return -np.inf
    return 1.0 if table.counts and not zeros_hidden else 0.0


def conflicts(publish: np.ndarray, forced: np.ndarray, by: Sequence[str]) -> None:
    """Raise a PolicyError where unsafe cells must be published."""
    if both := int((publish & forced).sum()):
        raise PolicyError(
            f"{both} of the cells that must be published are unsafe, or must be hidden",
            hint=f"leave them out of publish, or count by fewer columns than {', '.join(by)}",
        )
