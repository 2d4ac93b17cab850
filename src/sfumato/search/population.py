"""The people of a population as the cells of a search, and what it finds among them as a solution for released rows.

A class of a population may have no row of the table, and counts all the same. So the population is the table that is
searched, and who of it is in the released table is an attribute of its people, as a histogram.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato.core.cells import Cells, Histogram, count_cells, count_histogram
from sfumato.core.microdata import Microdata
from sfumato.core.policy import Policy
from sfumato.core.protocols import Criterion, Search
from sfumato.criteria.known_population import MEMBER, MEMBERSHIP, OTHER
from sfumato.criteria.within_population import WithinPopulation
from sfumato.errors import PolicyError
from sfumato.search.problem import Levels, Partition, Problem, Solution, judge, level_columns


@dataclass(frozen=True, eq=False)
class PopulationCells:
    """Cells of a population, how many of their people are in the table, the cell of each entry of the table, and how
    many of its rows have values that fewer people have."""

    cells: Cells
    members: np.ndarray
    of_entry: np.ndarray
    lacking: int


def count_population(
    people: Microdata,
    entries: int,
    released: Microdata,
    columns: Sequence[str],
    histogram_columns: Sequence[str],
    drawn: bool = False,
) -> PopulationCells:
    """Count the cells of a population and of the table.

    `people` has the entries of the table first, which count nothing, then those of the population; `released` has the
    same entries of the table with its other columns, and how many rows each stands for. Where people are `drawn` from
    what is counted, those of the table are beside them.
    """
    assert people.row_counts is not None
    often = np.ones(entries, np.int64) if released.row_counts is None else released.row_counts
    codes = [people.codes[name] for name in columns]
    sizes = [len(people.attribute(name).categories) for name in columns]
    cells, cell_of_entry = count_cells(columns, codes, sizes, people.row_counts)
    of_entry = cell_of_entry[:entries]
    members = np.bincount(of_entry, weights=often, minlength=len(cells)).astype(np.int64)
    if drawn:
        cells = replace(cells, count=cells.count + members)
    lacking = int(np.maximum(members - cells.count, 0).sum())
    histograms: dict[str, Histogram] = {MEMBERSHIP: _membership(members, cells.count)}
    for name in histogram_columns:
        attribute = released.attribute(name)
        ancestor = None if attribute.hierarchy is None else attribute.ladder.of
        values = released.codes[name], attribute.categories.text, ancestor
        histograms[name] = count_histogram(of_entry, len(cells), *values, released.row_counts)
    return PopulationCells(replace(cells, histograms=histograms), members, of_entry, lacking)


def _membership(members: np.ndarray, people: np.ndarray) -> Histogram:
    """How many people of each cell are in the table, and how many are not."""
    count = np.stack([people - members, members], axis=1).reshape(-1)
    there = count > 0
    start = np.concatenate([[0], np.cumsum(there)])[::2]
    value = np.tile(np.arange(2, dtype=np.int32), len(people))[there]
    overall = np.array([int((people - members).sum()), int(members.sum())])
    return Histogram(start, value, count[there], overall, (OTHER, MEMBER))


def _members(h: Histogram) -> Histogram:
    """The people of each cell who are in the table alone."""
    inside = h.value == h.text.index(MEMBER)
    start = np.concatenate([[0], np.cumsum(inside)])[h.start]
    return replace(h, start=start, value=h.value[inside], count=h.count[inside])


def population_problem(problem: Problem, require: Sequence[Criterion], found: PopulationCells) -> Problem:
    """The problem of the table as one over a population, of which `require` are criteria: those of the policy hold for
    the people who are in the table, and its loss is that of their rows."""
    own = [WithinPopulation(c, quasi=c.quasi) for c in problem.policy.require]
    policy = replace(problem.policy, require=(*require, *own))
    cells = found.cells
    if all(getattr(c, "low", 0) == 0 for c in require):  # how many others there are follows from the size of a class
        cells = replace(cells, histograms={**cells.histograms, MEMBERSHIP: _members(cells.histograms[MEMBERSHIP])})
    rows = {
        a.name: np.bincount(codes, weights=found.members, minlength=len(a.categories))
        for a, codes in zip(problem.attributes, cells.codes, strict=True)
    }
    return replace(problem, cells=cells, policy=policy, rows=int(cells.count.sum()), released=rows)


def released_problem(problem: Problem, found: PopulationCells) -> tuple[Problem, np.ndarray]:
    """The problem with the cells that rows of the table are in, and the number of each cell of the population among
    them."""
    there = np.flatnonzero(found.members)
    number = np.cumsum(found.members > 0) - 1
    taken = found.cells.take(there)
    inside = {name: h for name, h in taken.histograms.items() if name != MEMBERSHIP}
    cells = replace(taken, count=found.members[there], histograms=inside)
    return replace(problem, cells=cells), number


def of_released_rows(
    problem: Problem, solution: Solution, found: PopulationCells
) -> tuple[Solution, Cells, np.ndarray]:
    """A solution over a population as one for the rows of the table: its cells, and the cell of each entry."""
    own, number = released_problem(problem, found)
    recoding: Any = solution.recoding
    if isinstance(recoding, Partition):
        recoding = replace(recoding, class_of_cell=recoding.class_of_cell[np.flatnonzero(found.members)])
        columns = [
            (recoding.labels[a.name], recoding.labels[a.name].of[recoding.class_of_cell]) for a in own.attributes
        ]
    else:
        assert isinstance(recoding, Levels)
        columns = level_columns(own, [recoding.levels[a.name] for a in own.attributes])
    kept, verdict, _ = judge(own, columns)
    told = replace(solution, recoding=recoding, verdict=verdict, kept=kept)
    return told, own.cells, number[found.of_entry]


def refuse_for_population(search: Search, name: str, policy: Policy, allowed: Sequence[str]) -> None:
    """Raise a PolicyError for what cannot be had where a population is counted."""
    faults = []
    if not search.counts_population:
        faults.append(f"{name} counts no population: use {', '.join(allowed)}")
    if policy.suppression:
        faults.append("no row may be suppressed: who of the population fits no record would tell of those left out")
    if len(policy.quasi) > 1:
        faults.append("it takes one set of quasi-identifiers, by which people are known")
    if policy.both:
        faults.append(f'"{policy.both[0]}" cannot be quasi and sensitive at once')
    if not policy.loss.by_label:
        faults.append("the loss must be one of labels, such as lm: those of class sizes are of rows alone")
    if any(c.about_table for c in policy.require):
        faults.append("criteria about the table as a whole cannot be asked beside it")
    if faults:
        raise PolicyError("a population cannot be counted so:", faults)
