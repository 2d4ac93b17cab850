"""The one order of steps to a release, of whatever table: count, search, recode, verify, manifest, write.

The verb has parsed the request. An engine counts the distinct tuples of the quasi-identifiers, with the sensitive
attributes that a criterion looks at; the search runs on those; the engine applies what it decided, and what it made is
verified before it is kept. Memory follows the number of tuples, not of rows. Rows in memory are their own tuples.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from sfumato.core import parameters
from sfumato.core.microdata import Microdata, microdata
from sfumato.core.printed import alike_as_one
from sfumato.core.spelling import one_spelling, refuse_order
from sfumato.engines.atomic import PREFIX
from sfumato.engines.order import numbered
from sfumato.engines.protocol import COUNT, PIECE, Engine, Plan
from sfumato.errors import EmptyTable, TooManyCells
from sfumato.hierarchies.either import Either
from sfumato.release.dealing import dealt, pieces_of, refuse_split, whole_cells
from sfumato.release.destination import Folder, Table, folder_of, refuse_row_order, stage_release
from sfumato.release.ends import loss_as_ranges, with_ends
from sfumato.release.fragmented import make_fragments
from sfumato.release.people import PeopleColumn, people_of
from sfumato.release.recode import plan_of, recode
from sfumato.release.recoded import Recoded, Recoding, prove
from sfumato.release.release_set import ReleaseSet
from sfumato.release.request import (
    Request,
    check_size,
    check_solution,
    distribution,
    in_forms,
    learned_without,
    look_before,
    refuse_empty,
)
from sfumato.release.sampled import sampled_recoding
from sfumato.release.searched import SearchedCells, known_people, solve_population, with_values_of
from sfumato.report import report
from sfumato.search import Automatic, Mondrian, refuse_trace
from sfumato.search.alternatives import search_alternatives
from sfumato.search.people import counting_people
from sfumato.search.problem import Partition, Problem, apply_split, counted, deal


def make_release(table: Engine, engine: Engine, request: Request, to: Folder | Table | None) -> Recoded | ReleaseSet:
    """Blur a table until it satisfies the request, write it, and prove it from what was written.

    `engine` has the table as it is now, and `table` is what the user gave. `to` is None for a frame.
    """
    if request.search.fragments:
        look_before(engine, request)
        return make_fragments(engine, request, to)
    refuse_row_order(request.order, engine, to)
    found = find_recoding(engine, request, to, look_before(engine, request))
    place = None if engine.in_memory else to  # rows in memory are handed back, and saved too
    stage = stage_release(found.engine, found.plan, place, request.report_progress)
    with nullcontext(found.staged) if found.staged is not None and to is None else stage as staged:
        release = prove(table, engine, found, staged, folder_of(to))
        if release.counts is not None:
            request.report_progress("counting what is not covered", None)
            folder = staged.publish(release.manifest, report(release.manifest, reach=release.reach))
            if release.row_counts is not None:
                release.check_folder(folder, release.counts)
    if engine.in_memory and isinstance(to, Folder):
        request.report_progress("writing", None)
        release.save(to.path, to.format, to.overwrite)
    return release


def find_recoding(engine: Engine, request: Request, to: Folder | Table | None, parts: bool) -> Recoding:
    """Count and search, in one piece or in parts."""
    if request.search.private:
        return sampled_recoding(engine, request)
    if request.population is not None or not parts:
        try:
            return _recoding(engine, request, to)
        except TooManyCells:  # the sample promised fewer
            if not engine.in_parts or request.population is not None:
                raise
    from sfumato.release.parts.search import recoding_in_parts

    return recoding_in_parts(engine, request)


def _recoding(engine: Engine, request: Request, to: Folder | Table | None) -> Recoding:
    """Count, search, and plan what becomes of the rows."""
    policy, report_progress, target = request.policy, request.report_progress, folder_of(to)
    spelled: dict[str, pl.Series] = {}
    if engine.in_memory:
        entries, often = engine.sample(engine.rows()), None
        spelled = one_spelling([entries.get_column(name) for name in request.normalised], policy.require)
        entries = entries.with_columns(spelled.values())
        rows, needed = entries.height, (*request.counted_by, *request.roles.sensitive)
    else:  # what is counted is saved beside the target: there after an interrupt, gone once all is counted
        work = None if target is None else target.parent / f"{PREFIX}count-{target.name}"
        entries = engine.count(request.counted_by, report_progress, request.max_cells, work)
        often = entries.get_column(COUNT)
        rows, needed = int(often.sum()), request.counted_by
    if not rows:
        raise EmptyTable("the table has no rows")
    refuse_empty(entries, needed)
    check_size(policy, rows)
    report_progress("reading the columns", None)
    wanted = dict.fromkeys(policy.columns, "quasi") | dict.fromkeys(request.histogram_columns, "sensitive")
    weights = parameters.weights_of(entries, request.roles.weight) if engine.in_memory else None
    recipes = learned_without(request, policy.limit(rows) / rows)
    held = {name: column for name, column in engine.coded.items() if name not in spelled}
    counts = None if often is None else often.to_numpy()
    known = None if request.population is None else known_people(request, entries, recipes)
    if known is None:
        micro = microdata(entries, wanted, recipes, weights, counts, policy.both, held)
    else:
        micro = with_values_of(known, entries, wanted, recipes, weights, counts, held)
    refuse_order(request.normalised, micro, policy.require)
    apart = {*policy.columns, *request.roles.identifying}  # by name: a column may be called "*"
    others = pl.DataFrame([c for c in entries if c.name not in apart]) if engine.in_memory else None
    people = people_of(request, engine) if request.people else ()
    found = solve(request, micro, others, people) if known is None else solve_population(request, micro, known)
    check_solution(solution := found.solution, request.search, policy, rows)
    chosen = {a.name: a for a in found.attributes}  # each with the one of its hierarchies that was chosen
    micro = replace(micro, schema=tuple(chosen.get(a.name, a) for a in micro.schema))
    counted, of_entry, keys, pieces = entries, found.of_entry, found.keys, found.pieces
    if pieces is not None:
        entries, micro = pieces.entries(counted), pieces.microdata(micro)
        of_entry, keys = pieces.first, (*keys, PIECE)
    if engine.in_memory:
        taken, labels = recode(entries, micro, solution, found.of_entry, policy.columns, known is not None)
        labels, forms = in_forms(request, micro, labels)
        own = [engine.sample(rows).get_column(name).gather(taken) for name in request.normalised]
        labels |= alike_as_one(engine.sample(rows), set(policy.as_they_are) - set(request.normalised), taken)
        plan = Plan(request.released, taken=taken, labels=labels | one_spelling(own, policy.require), numbers=forms)
    else:
        plan = plan_of(
            entries, micro, solution, of_entry, policy.columns, keys, request.released,
            lambda labels: in_forms(request, micro, labels), known is not None,
        )  # fmt: skip
        plan = replace(plan, unchanged=(*plan.unchanged, *policy.as_they_are))  # which leave in their plain form
        if pieces is not None:
            plan = dealt(engine, plan, pieces, counted, solution.kept, request.row_key, request.seed, report_progress)
    plan = replace(plan, order=request.row_order, rows=rows - solution.verdict.suppressed)
    masking = request.masking
    if masking is not None and masking.after is not None:
        columns, masking = masking.after(released_rows(engine, plan))
        plan = replace(plan, labels={**plan.labels, **{column.name: column for column in columns.iter_columns()}})
    overall = {name: distribution(micro, name) for name in policy.as_they_are}
    population = None if known is None else known.people
    codes = found.cells.codes
    return Recoding(request, engine, plan, solution, micro, codes, overall, spelled, masking, population=population)


def released_rows(engine: Engine, plan: Plan) -> pl.DataFrame:
    """The rows of a table in memory as a plan releases them, in the order of the plan."""
    frame, taken = engine.sample(engine.rows()), plan.taken
    assert taken is not None
    given = (plan.labels.get(name, frame.get_column(name)) for name in plan.columns)
    return pl.DataFrame([c if c.name in plan.labels else c.gather(taken) for c in given])


def solve(
    request: Request,
    micro: Microdata,
    rows: pl.DataFrame | None,
    people: Sequence[tuple[PeopleColumn, np.ndarray]] = (),
) -> SearchedCells:
    """Count cells from the entries and search; with `people`, classes are held to those who are behind their rows.

    `rows` are the released columns of a table in memory, whose rows are dealt to several classes by what else is
    released of them; those of other tables are by their row key.
    """
    method, policy, histogram_columns = request.search, request.policy, request.histogram_columns
    began = time.perf_counter()
    if people:
        named = [(unit.column, codes) for unit, codes in people]
        micro, policy = counting_people(micro, policy, request.by_people, named)
        histogram_columns = tuple(dict.fromkeys((*histogram_columns, *policy.as_they_are)))
    whole = rows is None and not request.row_key  # rows of a cell cannot be told apart
    picks = isinstance(method, Automatic) and whole
    jointly = bool(histogram_columns) and method.splits and not picks
    cells, of_entry = counted(micro, policy.columns, histogram_columns, jointly)
    if whole and not picks:
        small = (cells.count > 1) & (cells.count < policy.least_size)
        if method.splits and not isinstance(method, Mondrian) and small.any():
            refuse_split(method)  # before it has cut millions of cells into rows
    counting = time.perf_counter() - began
    attributes = tuple(micro.attribute(name) for name in policy.columns)
    request.report_progress("searching", None)
    problem = Problem(attributes, cells, policy, micro.rows, request.levels, request.report_progress, request.trace)
    choice = method.choose(problem) if isinstance(method, Automatic) else None
    if picks and choice is not None:
        apart = any(c.monotonicity == "none" for c in policy.require)  # classes that print alike may break it
        choice = whole_cells(choice, "ranges" if apart else method.labels)
    search: Any = method if choice is None else choice.search
    if problem.trace is not None:
        refuse_trace(search, problem)
    if any(isinstance(a.recipe, Either) for a in attributes):
        problem, solution = search_alternatives(search, problem)
        attributes = problem.attributes
    else:
        solution = search(problem)
    solution = solution if choice is None else replace(solution, choice=choice)
    pieces = None
    if isinstance(solution.recoding, Partition) and (split := solution.recoding.split) is not None:
        if rows is None:
            pieces = pieces_of(of_entry, solution)
            if whole and pieces.number.any():
                refuse_split(method)
        else:
            alike = numbered(rows, rows.columns) if rows.width else np.zeros(len(of_entry), np.int64)
            of_entry = deal(of_entry, split, alike)
        cells = apply_split(cells, split)
        problem = Problem(attributes, cells, policy, micro.rows, request.levels)
    solution = with_ends(problem, solution)
    solution = replace(solution, as_ranges=loss_as_ranges(problem, solution), seconds=solution.seconds + counting)
    keys = request.counted_by if jointly else policy.columns
    return SearchedCells(cells, of_entry, keys, attributes, solution, pieces)
