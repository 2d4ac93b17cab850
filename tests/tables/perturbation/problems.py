"""Tables to protect, and what their sums must be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from sfumato.core.progress import quiet
from sfumato.engines.tables import engine_of
from sfumato.hierarchies.levels import levels
from sfumato.tables.count import count_table
from sfumato.tables.protection import ProtectionProblem
from sfumato.tables.rules import MinimumFrequency
from sfumato.tables.rules.model import CellRule, primary_cells
from sfumato.tables.values import StatTable, cell_sums

SPEC = ((1, 1, 7, 1, 0), (1, 0, 0, 2, 8))  # of the worked example
REGIONS = {"1": "north", "2": "north", "3": "south", "4": "south", "5": "south"}
TREE = {"a": levels(REGIONS, "*")}
RULES = (MinimumFrequency(3),)


def counts_table(counts: Any, hierarchies: Mapping[str, Any] | None = None) -> StatTable:
    """A table of counts, its columns called a, b, c."""
    counts = np.asarray(counts)
    names = "abcd"[: counts.ndim]
    rows = [place for place in np.ndindex(counts.shape) for _ in range(int(counts[place]))]
    data = {name: [str(1 + row[i]) for row in rows] for i, name in enumerate(names)}
    return count_table(engine_of(data), list(names), None, hierarchies or {}, None, None, None, None, 3, quiet, 10**6)


def sums_table(amounts: Mapping[tuple[str, ...], Sequence[float]]) -> StatTable:
    """A table of sums of the contributions to each cell."""
    rows = [(*labels, amount) for labels, given in amounts.items() for amount in given]
    columns = list(zip(*rows, strict=True))
    names = list("abc"[: len(columns) - 1])
    data = dict(zip([*names, "x"], columns, strict=True))
    return count_table(engine_of(data), names, "x", {}, None, None, None, None, 3, quiet, 10**6)


def problem_of(table: StatTable, rules: Sequence[CellRule] = RULES, **more: Any) -> ProtectionProblem:
    """The problem of a table whose rules are broken somewhere."""
    cells = table.value.size
    cost = np.maximum(np.abs(table.value.ravel()), 0.5)
    no, yes = np.zeros(cells, np.bool_), np.ones(cells, np.bool_)
    nobody = lambda hidden: np.zeros(0, np.int64)  # noqa: E731
    problem = ProtectionProblem(
        table, primary_cells(rules, table), cost, yes, no, np.zeros(cells), np.full(cells, np.inf), nobody
    )
    return replace(problem, **more)


def off(table: StatTable, values: np.ndarray) -> float:
    """How far the totals of some values are from the sums of their parts."""
    sums = cell_sums(table.dimensions)
    return float(np.abs(np.bincount(sums.row, sums.sign * values[sums.cell], len(sums))).max(initial=0.0))


def random_counts(shape: tuple[int, ...], most: int, seed: int) -> np.ndarray:
    """Counts of which the last in each direction is not empty."""
    counts = np.random.default_rng(seed).integers(0, most + 1, shape)
    for axis, size in enumerate(shape):
        for k in range(size):
            at = [0] * len(shape)
            at[axis] = k
            counts[tuple(at)] = max(counts[tuple(at)], 1)
    return counts


def all_rounded(table: StatTable, base: int) -> list[np.ndarray]:
    """Every additive rounding of a table to multiples next to its values."""
    down, rest = np.divmod(np.rint(table.value.ravel()).astype(int), base)
    found = []
    for up in product(*((0, 1) if r else (0,) for r in rest)):
        values = (down + np.array(up)) * base
        if off(table, values.astype(float)) == 0:
            found.append(values)
    return found
