"""Redesign: the levels with the least loss at which no cell is unsafe."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from sfumato.errors import Infeasible, PolicyError
from sfumato.tables.perturbation import Redesign
from sfumato.tables.perturbation.redesign import published_cells, safe_levels
from sfumato.tables.rules import GroupDisclosure, MinimumFrequency
from sfumato.tables.rules.model import primary_cells
from tests.tables.perturbation.problems import TREE, counts_table, problem_of, random_counts


def recoded(counts: np.ndarray, level: int) -> np.ndarray:
    """The counts with the regions of a level."""
    if level == 0:
        return counts
    if level == 1:
        return np.stack([counts[:2].sum(axis=0), counts[2:].sum(axis=0)])
    return counts.sum(axis=0, keepdims=True)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("rule", [MinimumFrequency(3), GroupDisclosure()])
def test_safe_levels_are_those_of_the_coarser_tables(seed: int, rule: MinimumFrequency | GroupDisclosure) -> None:
    counts = random_counts((5, 3), 4, seed)
    table = counts_table(counts, TREE)
    safe = safe_levels(table.dimensions, primary_cells([rule], table).cells.ravel())
    assert safe.shape == (3, 2)
    for levels in product(range(3), range(2)):
        coarse = recoded(counts, levels[0])
        coarse = coarse if levels[1] == 0 else coarse.sum(axis=1, keepdims=True)
        again = counts_table(coarse, TREE if levels[0] == 0 else None)  # counted anew
        assert safe[levels] == (not primary_cells([rule], again).cells.any())


@pytest.mark.parametrize("loss", ["cells", "levels", "entropy"])
def test_least_loss(loss: str) -> None:
    table = counts_table(random_counts((5, 3), 6, 2), TREE)
    problem = problem_of(table)
    found = Redesign(loss)(problem)
    assert found.published is not None
    assert found.changed is not None
    assert not (problem.primary.cells.ravel() & found.published).any()
    assert (found.changed == table.value.ravel()).all()
    assert not found.hidden.any()
    if loss == "cells":
        safe = safe_levels(table.dimensions, problem.primary.cells.ravel())
        names = table.by
        least = min(
            int((~published_cells(table.dimensions, dict(zip(names, levels, strict=True)))).sum())
            for levels in np.argwhere(safe).tolist()
        )
        assert found.cost == least == found.facts["cells_left_out"]


def test_safe_table_stays_whole() -> None:
    found = Redesign()(problem_of(counts_table([[5, 9], [7, 4]])))
    assert found.published is not None
    assert found.published.all()
    assert found.facts["levels"] == {"a": 0, "b": 0}
    assert found.cost == 0


def test_published_cells_tell_no_others() -> None:
    """Of every total all parts are published, or none: nothing is the difference of two published cells."""
    table = counts_table(random_counts((5, 3), 6, 2), TREE)
    problem = problem_of(table)
    for levels in product(range(3), range(2)):
        published = published_cells(table.dimensions, dict(zip(table.by, levels, strict=True)))
        sums = problem.sums
        parts = np.bincount(sums.row, (sums.sign > 0) & published[sums.cell], len(sums))
        size = np.bincount(sums.row, sums.sign > 0, len(sums))
        assert ((parts == 0) | (parts == size)).all()
        assert published[sums.cell[sums.start[:-1]]][parts > 0].all()


def test_refusals() -> None:
    with pytest.raises(Infeasible, match="total"):
        Redesign()(problem_of(counts_table([1, 1])))
    with pytest.raises(PolicyError, match="loss"):
        Redesign("nothing")
