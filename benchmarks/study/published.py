"""The study's Samarati as published, over plain columns: it never checks the top of the lattice. No code of Sfumato."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from benchmarks.study.inputs import GROUPS, JOBS, WIDTHS, Case, edge_file

Ladder = list[pl.Series]  # a column at each of its levels


@dataclass(frozen=True)
class Outcome:
    """Where the published loop ends: `checked` says whether it ever counted the classes of that vector."""

    vector: tuple[int, ...]
    checked: bool
    rows: int
    small: int  # rows in classes smaller than k
    smallest: int  # rows of the smallest class
    loss: float  # with the small classes removed, if they were within the limit


def ladders(case: Case) -> list[Ladder]:
    """Each quasi-identifier of a case at each of its levels."""
    found = []
    for name in case.quasi:
        column = case.table.get_column(name)
        if name == "age":
            age = column.cast(pl.Int64)
            ladder = [age, *(age // width * width for width in WIDTHS)]
        elif name == "job":
            group = {job: group for group, jobs in JOBS.items() for job in jobs}
            ladder = [column, column.replace_strict(group), column.replace_strict(group).replace_strict(GROUPS)]
        else:
            ladder = climb(column, dict(line.split(",") for line in edge_file(name).read_text().split()))
        ladder.append(pl.repeat("*", len(column), eager=True))
        found.append(ladder[: case.levels[name] + 1] if name in case.levels else ladder)
    return found


def climb(column: pl.Series, parent: dict[str, str]) -> Ladder:
    """A column and its ancestors below the root of an edge list."""
    ladder = [column]
    while parent[ladder[-1][0]] != "*":
        ladder.append(ladder[-1].replace_strict(parent))
    return ladder


def samarati(columns: Sequence[Ladder], k: int, maxsup: int) -> Outcome:
    """Binary search on the height; at each height the first vector, in lexicographic order, within the limit."""
    tops = [len(ladder) - 1 for ladder in columns]
    low, high = 0, sum(tops)
    vector, checked = tuple(tops), False
    while low < high:
        middle = (low + high) // 2
        nodes = (node for node in itertools.product(*(range(top + 1) for top in tops)) if sum(node) == middle)
        found = next((node for node in nodes if small_rows(columns, node, k) <= maxsup), None)
        if found is None:
            low = middle + 1
        else:
            high, vector, checked = middle, found, True
    size = class_sizes(columns, vector)
    small = size.filter(size < k).sum()
    rows = len(columns[0][0])
    return Outcome(vector, checked, rows, small, size.min(), loss(columns, vector, k, maxsup))


def class_sizes(columns: Sequence[Ladder], node: Sequence[int]) -> pl.Series:
    """Rows of each class at a vector."""
    return at(columns, node).group_by(pl.all()).len().get_column("len")


def small_rows(columns: Sequence[Ladder], node: Sequence[int], k: int) -> int:
    """Rows in classes smaller than k."""
    size = class_sizes(columns, node)
    return int(size.filter(size < k).sum())


def loss(columns: Sequence[Ladder], node: Sequence[int], k: int, maxsup: int) -> float:
    """Sum of LM over the columns: (M - 1)/(A - 1) of a kept row, 1 of a removed one."""
    table = at(columns, node)
    gone = table.select(pl.len().over(table.columns) < k).to_series()
    gone &= int(gone.sum()) <= maxsup
    total = 0.0
    for ladder, level in zip(columns, node, strict=True):
        leaves = pl.DataFrame({"leaf": ladder[0].cast(pl.String), "label": ladder[level].cast(pl.String)})
        under = leaves.select((pl.col("leaf").n_unique().over("label") - 1) / (pl.col("leaf").n_unique() - 1))
        total += under.to_series().zip_with(~gone, pl.repeat(1.0, len(gone), eager=True)).sum() / len(gone)
    return total


def at(columns: Sequence[Ladder], node: Sequence[int]) -> pl.DataFrame:
    """The columns at a vector of levels."""
    return pl.DataFrame({str(i): ladder[level] for i, (ladder, level) in enumerate(zip(columns, node, strict=True))})
