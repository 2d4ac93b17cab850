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


def counted(micro: Microdata, columns: Sequence[str], looks_at: Sequence[str]) -> tuple[Cells, np.ndarray]:
    """Cells over some columns with the histograms of others, and the cell of each row."""
    sizes = [len(micro.attribute(name).categories) for name in columns]
    cells, of_row = count_cells(columns, [micro.codes[name] for name in columns], sizes)
    histograms = {}
    for name in looks_at:
        attribute = micro.attribute(name)
        ancestor = None if attribute.hierarchy is None else attribute.ladder.of
        histograms[name] = count_histogram(of_row, len(cells), micro.codes[name], attribute.categories.text, ancestor)
    return replace(cells, histograms=histograms), of_row
