"""Redesign of tables: A. Hundepool et al., Statistical Disclosure Control, Wiley 2012, chapter 4; the lattice is that
of K. LeFevre, D. J. DeWitt, R. Ramakrishnan, Incognito, SIGMOD 2005."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Annotated, ClassVar

import numpy as np

from sfumato.core.parameters import OneOf
from sfumato.errors import Infeasible
from sfumato.tables.perturbation.model import Perturbation
from sfumato.tables.protection import ProtectedCells, ProtectionProblem
from sfumato.tables.values import Dimension, StatTable

LOSSES = ("cells", "levels", "entropy")


@dataclass(frozen=True)
class Redesign(Perturbation):
    """Publish true values of coarser categories only: the levels of the hierarchies at which no cell is unsafe, with
    the least loss.

    loss: what is to be least: "cells" (those that are not published), "levels" (the share of each hierarchy's levels
    that is left out, on average) or "entropy" (what a record's categories lose).
    """

    additive: ClassVar[bool] = True
    loss: Annotated[str, OneOf(LOSSES)] = "cells"

    def __call__(self, problem: ProtectionProblem) -> ProtectedCells:
        """The cells that are published; Infeasible where even the overall total is unsafe."""
        table = problem.table
        problem.report_progress("trying levels", None)
        safe = safe_levels(table.dimensions, problem.primary.cells.ravel() | problem.must_hide)
        if not safe.any():
            raise Infeasible("the overall total is unsafe itself", hint="count more rows, or ask for less")
        loss = np.where(safe, self._loss(table), np.inf)
        best = np.unravel_index(int(loss.argmin()), loss.shape)
        levels = {one.name: int(level) for one, level in zip(table.dimensions, best, strict=True)}
        published = published_cells(table.dimensions, levels)
        facts = {"levels": levels, "loss": float(loss[best]), "cells_left_out": int((~published).sum())}
        return ProtectedCells(
            np.zeros(len(published), np.bool_), cost=float(loss[best]), bound=float(loss[best]), optimal=True,
            changed=problem.value.copy(), facts=facts, published=published,
        )  # fmt: skip

    def _loss(self, table: StatTable) -> np.ndarray:
        """The loss of each level vector."""
        shape = [len(one.level) for one in table.dimensions]
        if self.loss == "cells":
            kept = [[one.nodes_at(level).sum() for level in range(len(one.level))] for one in table.dimensions]
            found = np.array([table.value.size - float(np.prod(sizes)) for sizes in product(*kept)])
            return found.reshape(shape)
        found = np.zeros(shape)
        for axis, one in enumerate(table.dimensions):
            levels = np.arange(len(one.level)) / max(len(one.level) - 1, 1) / len(shape)
            if self.loss == "entropy":
                margin = np.moveaxis(table.count, axis, 0).reshape(len(one), -1)[:, 0].astype(np.float64)
                levels = np.array([_entropy_lost(margin, one.level[0], coarse) for coarse in one.level])
            found += levels.reshape([-1 if i == axis else 1 for i in range(len(shape))])
        return found

    def statement(self) -> str:
        """What it guarantees by construction."""
        return "All values are true, and no published cell is unsafe by the rules; finer categories are not published."


def _entropy_lost(rows: np.ndarray, fine: np.ndarray, coarse: np.ndarray) -> float:
    """What the category of a record loses where only that of a higher level is known, in bits, summed over records."""
    own = rows[fine]
    there = own > 0
    return float((own[there] * np.log2(rows[coarse][there] / own[there])).sum())


def published_cells(dimensions: Sequence[Dimension], levels: Mapping[str, int]) -> np.ndarray:
    """Which cells a table has at some levels of its hierarchies."""
    found = np.ones((), np.bool_)
    for one in dimensions:
        found = found[..., None] & one.nodes_at(levels[one.name])
    return found.ravel()


def safe_levels(dimensions: Sequence[Dimension], unsafe: np.ndarray) -> np.ndarray:
    """The level vectors at which no unsafe cell is published, an axis per dimension.

    A coarser table has some of the cells of the full one, with the same records and, of each total, all parts or none:
    what the rules say of a cell stays. A cell is published up to the highest level that each of its nodes is on.
    """
    shape = tuple(len(one.level) for one in dimensions)
    last = [np.sum([one.nodes_at(level) for level in range(len(one.level))], axis=0) - 1 for one in dimensions]
    cells = np.unravel_index(np.flatnonzero(unsafe), tuple(len(one) for one in dimensions))
    found = np.zeros(shape, np.bool_)
    found[tuple(upto[nodes] for upto, nodes in zip(last, cells, strict=True))] = True
    for axis in range(len(shape)):  # where a cell is published, it is at all finer levels
        found = np.flip(np.logical_or.accumulate(np.flip(found, axis), axis=axis), axis)
    return ~found
