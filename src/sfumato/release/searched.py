"""What a search of cells found, and how one is made where the people of a population are counted in place of rows."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.cells import Cells
from sfumato.core.microdata import Attribute, Microdata, microdata
from sfumato.core.printed import printed
from sfumato.hierarchies.either import Either
from sfumato.release.dealing import Pieces
from sfumato.release.population import People, count_people, refuse_joined, refuse_lacking
from sfumato.release.request import Request
from sfumato.search import refuse_trace
from sfumato.search.alternatives import search_alternatives
from sfumato.search.population import count_population, of_released_rows, population_problem
from sfumato.search.problem import Problem, Solution


@dataclass(frozen=True, eq=False)
class SearchedCells:
    """Cells, the cell of each counted tuple, the columns that tell cells apart, the quasi-identifiers, each with the
    hierarchy that was chosen for it, the solution, and the pieces of counted tuples that are cut."""

    cells: Cells
    of_entry: np.ndarray
    keys: tuple[str, ...]
    attributes: tuple[Attribute, ...]
    solution: Solution
    pieces: Pieces | None = None


@dataclass(frozen=True, eq=False)
class CodedPeople:
    """The people of a population, and as codes the entries of the table, which count nobody, then theirs."""

    people: People
    entries: int  # of the table
    micro: Microdata


def known_people(request: Request, entries: pl.DataFrame, recipes: Mapping[str, Any]) -> CodedPeople:
    """Count the people of the population that a request names. What is learned of values is learned of them alone."""
    assert request.population is not None
    (names,), (engine, require) = request.policy.quasi, request.population
    changed = () if request.masking is None else request.masking.told["changed"]
    refuse_joined(engine, require[0].of_population, request.released, {*names, *request.roles.unprotected, *changed})
    people = count_people(
        require[0].of_population, engine, names, request.schema, request.max_cells, request.report_progress
    )
    both = pl.DataFrame([_one_column(entries.get_column(name), people.tuples.get_column(name)) for name in names])
    often = np.concatenate([np.zeros(entries.height, np.int64), people.often])
    micro = microdata(both, dict.fromkeys(names, "quasi"), recipes, row_counts=often)
    return CodedPeople(people, entries.height, micro)


def with_values_of(
    known: CodedPeople,
    entries: pl.DataFrame,
    wanted: Mapping[str, str],
    recipes: Mapping[str, Any],
    weights: np.ndarray | None,
    row_counts: np.ndarray | None,
    held: Mapping[str, pl.Series],
) -> Microdata:
    """The entries of a table as codes, its quasi-identifiers among the values of the population."""
    others = {name: role for name, role in wanted.items() if name not in known.micro.codes}
    own = microdata(entries, others, recipes, weights, row_counts, coded=held)
    rows = entries.height if row_counts is None else int(row_counts.sum())
    codes = {name: code[: known.entries] for name, code in known.micro.codes.items()}
    return replace(own, rows=rows, schema=(*known.micro.schema, *own.schema), codes={**codes, **own.codes})


def solve_population(request: Request, micro: Microdata, known: CodedPeople) -> SearchedCells:
    """Count the cells of a population and search these; what is found is told of the rows of the table."""
    policy, columns = request.policy, request.policy.columns
    assert request.population is not None
    began = time.perf_counter()
    drawn = request.population[1][0].of_population.drawn
    found = count_population(known.micro, known.entries, micro, columns, request.histogram_columns, drawn)
    refuse_lacking(found.lacking, micro.rows)
    counting = time.perf_counter() - began
    attributes = tuple(micro.attribute(name) for name in columns)
    request.report_progress("searching", None)
    rows = Problem(
        attributes, found.cells, policy, micro.rows, request.levels, request.report_progress, request.trace
    )  # fmt: skip
    problem = population_problem(rows, request.population[1], found)
    if problem.trace is not None:
        refuse_trace(request.search, problem)
    if any(isinstance(a.recipe, Either) for a in attributes):
        problem, solution = search_alternatives(request.search, problem)
        rows = replace(rows, attributes=problem.attributes)
    else:
        solution = request.search(problem)
    solution, cells, of_entry = of_released_rows(rows, solution, found)
    solution = replace(solution, seconds=solution.seconds + counting)
    return SearchedCells(cells, of_entry, columns, rows.attributes, solution)


def _one_column(of_table: pl.Series, of_people: pl.Series) -> pl.Series:
    """The values of a table, then those of the people; as they print, where one has texts."""
    texts = [
        not (c.dtype.is_numeric() or c.dtype.is_temporal() or c.dtype == pl.Boolean) for c in (of_table, of_people)
    ]
    if any(texts):
        of_table, of_people = printed(of_table).cast(pl.String), printed(of_people).cast(pl.String)
    return pl.concat([of_table.to_frame(), of_people.to_frame()], how="vertical_relaxed").to_series()
