"""Pose: a table and a policy as the Problem that searches are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from sfumato.cells import Cells, count_cells, count_histogram
from sfumato.microdata import Microdata, microdata
from sfumato.policy import Policy
from sfumato.search.problem import Problem, Progress, quiet


def pose(
    frame: pl.DataFrame,
    policy: Policy,
    recipes: Mapping[str, Any],
    levels: Mapping[str, tuple[int, int]],
    progress: Progress = quiet,
) -> Problem:
    """Encode the columns that the policy names and count their cells; `recipes` maps a column to its hierarchy.

    >>> from sfumato.criteria import KAnonymity
    >>> from sfumato.losses import LM
    >>> table = pl.DataFrame({"age": [31, 31, 58], "sex": ["F", "F", "M"]})
    >>> len(pose(table, Policy((("age", "sex"),), (KAnonymity(2),), 0, LM()), {}, {}).cells)
    2
    """
    roles = dict.fromkeys(policy.columns, "quasi") | dict.fromkeys(policy.needs, "sensitive")
    micro = microdata(frame, roles, recipes)
    attributes = tuple(micro.attribute(name) for name in policy.columns)
    cells, _ = counted(micro, policy.columns, policy.needs)
    return Problem(attributes, cells, policy, frame.height, levels, progress)


def counted(
    micro: Microdata, columns: Sequence[str], looks_at: Sequence[str], jointly: bool = False
) -> tuple[Cells, np.ndarray]:
    """Cells over some columns with the histograms of others, and the cell of each row.

    `jointly`: rows of a cell also agree in the others, so that any of them may be dealt to any piece of the cell; a
    tuple of the columns may then have several cells.
    """
    names = list(dict.fromkeys((*columns, *looks_at))) if jointly else list(columns)
    sizes = [len(micro.attribute(name).categories) for name in names]
    cells, of_row = count_cells(names, [micro.codes[name] for name in names], sizes, micro.times)
    d = len(columns)
    cells = Cells(tuple(columns), cells.codes[:d], cells.count, tuple(sizes[:d]))
    histograms = {}
    for name in looks_at:
        attribute = micro.attribute(name)
        ancestor = None if attribute.hierarchy is None else attribute.ladder.of
        values = micro.codes[name], attribute.categories.text, ancestor
        histograms[name] = count_histogram(of_row, len(cells), *values, micro.times)
    return replace(cells, histograms=histograms), of_row
