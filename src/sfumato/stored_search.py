"""The search over counted tuples: only one that gives rows with equal values equal labels can be applied elsewhere."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

from sfumato.cells import Cells
from sfumato.errors import PolicyError
from sfumato.microdata import Microdata
from sfumato.policy import Policy
from sfumato.recode.ends import with_ends
from sfumato.search import Automatic, Mondrian, search_name
from sfumato.search.automatic import choose
from sfumato.search.pose import counted
from sfumato.search.problem import Choice, Partition, Problem, Progress, Solution

HINT = 'use search="mondrian", search="optimal", or leave search out'


@dataclass(frozen=True, eq=False)
class Found:
    """Cells, the cell of each counted tuple, the columns that tell cells apart, and the solution."""

    cells: Cells
    of_entry: np.ndarray
    keys: tuple[str, ...]
    solution: Solution


def refuse_search(method: Any) -> None:
    """Raise a PolicyError for a search whose release is verified in a way that counts do not allow."""
    if getattr(method, "wildcard", False):
        raise PolicyError(
            "a missing value that matches any value cannot be verified on a table that is not in memory",
            got=f"search {search_name(method)}",
            hint=HINT,
        )


def solve(
    method: Any,
    micro: Microdata,
    policy: Policy,
    looks_at: tuple[str, ...],
    bounds: Mapping[str, Any],
    say: Progress,
) -> Found:
    """Count cells from the counted tuples and search."""
    began = time.perf_counter()
    automatic = isinstance(method, Automatic)
    jointly = bool(looks_at) and bool(getattr(method, "splits", False)) and not automatic
    cells, of_entry = counted(micro, policy.columns, looks_at, jointly)
    small = (cells.count > 1) & (cells.count < max(c.least_size for c in policy.require))
    if getattr(method, "splits", False) and not isinstance(method, Automatic | Mondrian) and small.any():
        refuse_split(method)  # before it has cut millions of cells into rows
    counting = time.perf_counter() - began
    attributes = tuple(micro.attribute(name) for name in policy.columns)
    say("searching", None)
    problem = Problem(attributes, cells, policy, micro.rows, bounds, say)
    if automatic:
        choice = whole_cells(choose(problem, method.keep), method.keep)
        solution = replace(choice.search(problem), choice=choice)
    else:
        solution = method(problem)
    if isinstance(solution.recoding, Partition) and solution.recoding.split is not None:
        refuse_split(method)
    solution = with_ends(problem, solution)
    keys = tuple(dict.fromkeys((*policy.columns, *looks_at))) if jointly else policy.columns
    return Found(cells, of_entry, keys, replace(solution, seconds=solution.seconds + counting))


def refuse_split(method: Any) -> NoReturn:
    """Raise a PolicyError for a search that cuts cells."""
    raise PolicyError(
        f"{search_name(method)} gives rows with equal values different labels, "
        "which a table that is not in memory does not allow: its rows have no order to deal them in",
        hint=HINT,
    )


def whole_cells(choice: Choice, keep: str | None) -> Choice:
    """What was picked, or Mondrian where that gives rows with equal values different labels."""
    if not getattr(choice.search, "splits", False):
        return choice
    output = "label" if keep == "hierarchy-labels" else "range"
    mondrian = Mondrian(cut="best", dimension="ncp", output=output)
    why = "rows with equal values get equal labels, as a table that is not in memory needs"
    return Choice(mondrian, why, "optimal: one label per value of a column in all rows, more loss")
