"""How many cells a table will have, from a sample, and the memory they take: said, or refused, before the run."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
import polars as pl

from sfumato.core.cells import Cells
from sfumato.core.microdata import Microdata
from sfumato.engines.order import numbered
from sfumato.engines.protocol import LABEL, Plan
from sfumato.errors import PolicyError, TooManyCells
from sfumato.release.ends import with_ends
from sfumato.release.recode import recode
from sfumato.release.request import Request
from sfumato.search import Automatic, Mondrian, search_name
from sfumato.search.automatic import choose
from sfumato.search.problem import Choice, Partition, Problem, Progress, Solution, apply_split, counted, deal

CELL = 110  # bytes that a cell takes at the peak of a run, beside those of its columns
COLUMN = 70  # bytes per cell and column at that peak
FLOOR = 600_000_000  # bytes that a run takes whatever the cells


def memory(cells: int, columns: int) -> int:
    """About how many bytes a run with so many cells takes at its peak."""
    return FLOOR + cells * (CELL + COLUMN * columns)


def refuse_size(sample: pl.DataFrame, columns: Sequence[str], cells: int, most: int) -> None:
    """Raise TooManyCells with advice where the estimated cells are too many."""
    if cells > most:
        values = {name: sample.get_column(name).n_unique() for name in columns}
        worst = sorted(columns, key=values.__getitem__, reverse=True)[:2]
        named = " and ".join(f'"{name}" ({values[name]:,} in a sample of {sample.height:,} rows)' for name in worst)
        raise TooManyCells(
            "the columns have too many different combinations of values to be held in memory",
            got=f"about {cells:,}, which take {gigabytes(memory(cells, len(columns)))}",
            allowed=f"max_cells={most:,}",
            hint=f"coarsen or leave out the columns with the most values, {named}, or allow more max_cells",
        )


def gigabytes(size: int) -> str:
    """Bytes for people."""
    return f"{size / 1e9:.1f} GB"


def plan_of(
    counted: pl.DataFrame,
    micro: Microdata,
    solution: Solution,
    of_entry: np.ndarray,
    columns: tuple[str, ...],
    keys: Sequence[str],
    released: Sequence[str],
) -> Plan:
    """What becomes of each value or tuple: `recode` on the counted tuples, as if each were a row.

    `columns` are blurred, `released` are all that are released, and `keys` tell the cells apart.
    """
    names = list(keys)
    entries, labels = recode(counted, micro, solution, of_entry, columns)
    stay = counted.select(list(dict.fromkeys((*names, *columns))))
    if len(entries) < counted.height:
        stay = stay[entries]
    same = tuple(name for name in columns if _same(stay.get_column(name), labels[name]))
    changed = [name for name in columns if name not in same]
    if isinstance(solution.recoding, Partition):
        beside = [_compact(labels[name]).alias(LABEL + name) for name in changed]
        cells = stay.select(names).with_columns(beside)
        if tuple(names) != tuple(counted.columns[: len(names)]) or counted.width > len(names) + 1:
            cells = cells.unique(names)  # counted by more columns than the keys
        return Plan(tuple(released), tuple(names), same, {}, cells)
    maps = {}
    for name in changed:
        pairs = pl.DataFrame([stay.get_column(name), labels[name].alias(LABEL + name)]).unique()
        rest = counted.select(name).unique().join(pairs, on=name, how="anti", nulls_equal=True)
        maps[name] = pl.concat([pairs, rest.with_columns(pl.lit(None, pl.String).alias(LABEL + name))])
    gone = counted.select(names)[np.flatnonzero(~solution.kept[of_entry])].unique()
    return Plan(tuple(released), tuple(names), same, maps, None, gone if gone.height else None)


def _same(values: pl.Series, labels: pl.Series) -> bool:
    """Whether a column was not blurred."""
    return values.dtype == labels.dtype and bool(values.eq_missing(labels).all())


def _compact(labels: pl.Series) -> pl.Series:
    """Labels as numbers of texts: a quarter of the memory."""
    return labels.cast(pl.Enum(labels.drop_nulls().unique().sort()))


HINT = 'use search="mondrian", search="optimal", or leave search out'


@dataclass(frozen=True, eq=False)
class SearchedCells:
    """Cells, the cell of each counted tuple, the columns that tell cells apart, and the solution."""

    cells: Cells
    of_entry: np.ndarray
    keys: tuple[str, ...]
    solution: Solution


def refuse_out_of_core(method: Any, normalise: Any = False) -> None:
    """Raise a PolicyError for what needs rows, or is verified in a way that counts do not allow."""
    if normalise:
        what = "the values of an out-of-core table cannot be brought to one spelling"
        raise PolicyError(what, hint="do so in the table, and leave normalise out")
    if method.wildcard:
        raise PolicyError(
            "a missing value that matches any value cannot be verified on an out-of-core table",
            got=f"search {search_name(method)}",
            hint=HINT,
        )


def solve(request: Request, micro: Microdata, rows: pl.DataFrame | None, say: Progress) -> SearchedCells:
    """Count cells from the entries and search.

    `rows` are the released columns of a table in memory: its rows alone can be dealt to several classes, by what else
    is released of them.
    """
    method, policy, histogram_columns = request.search, request.policy, request.histogram_columns
    began = time.perf_counter()
    picks = isinstance(method, Automatic) and rows is None
    jointly = bool(histogram_columns) and method.splits and not picks
    cells, of_entry = counted(micro, policy.columns, histogram_columns, jointly)
    if rows is None and not picks:
        small = (cells.count > 1) & (cells.count < max(c.least_size for c in policy.require))
        if method.splits and not isinstance(method, Mondrian) and small.any():
            refuse_split(method)  # before it has cut millions of cells into rows
    counting = time.perf_counter() - began
    attributes = tuple(micro.attribute(name) for name in policy.columns)
    say("searching", None)
    problem = Problem(attributes, cells, policy, micro.rows, request.levels, say)
    if picks:
        choice = whole_cells(choose(problem, method.keep), method.keep)
        solution: Solution = replace(choice.search(problem), choice=choice)
    else:
        solution = method(problem)
    if isinstance(solution.recoding, Partition) and (split := solution.recoding.split) is not None:
        if rows is None:
            refuse_split(method)
        alike = numbered(rows, rows.columns) if rows.width else np.zeros(len(of_entry), np.int64)
        cells, of_entry = apply_split(cells, split), deal(of_entry, split, alike)
        problem = Problem(attributes, cells, policy, micro.rows, request.levels)
    solution = with_ends(problem, solution)
    keys = request.counted_by if jointly else policy.columns
    return SearchedCells(cells, of_entry, keys, replace(solution, seconds=solution.seconds + counting))


def refuse_split(method: Any) -> NoReturn:
    """Raise a PolicyError for a search that cuts cells."""
    raise PolicyError(
        f"{search_name(method)} gives rows with equal values different labels, "
        "which an out-of-core table does not allow: its rows have no order to deal them in",
        hint=HINT,
    )


def whole_cells(choice: Choice, keep: str | None) -> Choice:
    """What was picked, or Mondrian where that gives rows with equal values different labels."""
    if not choice.search.splits:
        return choice
    output = "label" if keep == "hierarchy-labels" else "range"
    mondrian = Mondrian(cut="best", dimension="ncp", output=output)
    why = "rows with equal values get equal labels, as an out-of-core table needs"
    return Choice(mondrian, why, "optimal: one label per value of a column in all rows, more loss")
