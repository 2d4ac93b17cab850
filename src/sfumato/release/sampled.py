"""A release of sampled rows by levels that are chosen with noise, private by construction (SafePub; R. Bild, K. Kuhn,
F. Prasser, PoPETs 2018(1)).

Levels are chosen on all rows, and paid for; then rows are sampled by themselves, generalised, and classes of fewer than
k of them left out. Given the levels, the second part is private by itself, so that both costs add up. The paper chooses
on the sample; then what is sampled and what is chosen are not independent, and costs would not simply add.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sfumato.core.cells import Cells
from sfumato.core.keys import number_tuples
from sfumato.core.mechanisms import opendp, sample_rows
from sfumato.core.microdata import Attribute, microdata
from sfumato.core.policy import Verdict, class_statistics
from sfumato.core.printed import plain_values
from sfumato.core.wording import quoted
from sfumato.engines.protocol import Engine, Plan
from sfumato.errors import EmptyTable, Infeasible, PolicyError
from sfumato.hierarchies.spec import public
from sfumato.release.privacy import privacy_section
from sfumato.release.request import Request
from sfumato.search.lattice.safepub import asked_privacy, label_numbers
from sfumato.search.problem import Levels, Problem, Solution, counted, level_columns, measure

if TYPE_CHECKING:
    from sfumato.release.recoded import Recoding


def check_private(request: Request, engine: Engine, given: Mapping[str, Any]) -> Request:
    """The request of a private release, or all that keeps it from being one; `given` are options that it has none of,
    by name, where they were given."""
    policy, released = request.policy, request.released
    asked_privacy(policy.require)
    faults = [f"{name} has no meaning for it: leave it out" for name, value in given.items() if value]
    if not engine.in_memory:
        faults.append(f"its rows are sampled in memory, and this is {engine.called}: read it with sf.read")
    if len(policy.quasi) > 1:
        faults.append("it takes one set of quasi-identifiers: rows are protected as a whole")
    if not policy.by_size:
        wrong = [c.model for c in policy.require if c.monotonicity != "superset" or c.needs]
        faults.append(f"{quoted(wrong)} cannot be promised beside it: classes are kept or left out by their size alone")
    if others := [name for name in released if name not in policy.columns]:
        faults.append(
            f"{quoted(others)} would be released as it was: a row is protected as a whole, so name it as a "
            "quasi-identifier with a hierarchy, or as identifying, which drops it"
        )
    unknown = [name for name in policy.columns if not public(request.recipes.get(name), request.schema[name])]
    if unknown:
        faults.append(
            f"{quoted(unknown)} has no hierarchy that is the same whatever the table holds: give one, such as "
            "intervals, redact with steps, dates by month, flat, or a file"
        )
    if faults:
        raise PolicyError("a differentially private release cannot be made so:", faults)
    opendp()  # before any work, and before anything is charged
    return replace(request, policy=replace(policy, suppression=1.0, ends="exact", tidy=False))


def sampled_recoding(engine: Engine, request: Request) -> Recoding:
    """Count, choose levels, sample the rows, and plan what becomes of them."""
    from sfumato.release.recoded import Recoding

    policy, report_progress, asked = request.policy, request.report_progress, asked_privacy(request.policy.require)
    began, entries = time.perf_counter(), engine.sample(engine.rows())
    if not entries.height:
        raise EmptyTable("the table has no rows")
    report_progress("reading the columns", None)
    micro = microdata(entries, dict.fromkeys(policy.columns, "quasi"), request.recipes, coded=engine.coded)
    cells, cell_of_row = counted(micro, policy.columns, ())
    attributes = tuple(micro.attribute(name) for name in policy.columns)
    problem = Problem(attributes, cells, policy, micro.rows, request.levels, report_progress)
    with (request.charge or nullcontext)():  # from here on, what is drawn is paid for
        report_progress("choosing levels", None)
        node, checks = request.search.choose_levels(problem)
        sampled = np.flatnonzero(sample_rows(micro.rows, asked.threshold))
    numbers = [label_numbers(a, level) for a, level in zip(attributes, node, strict=True)]
    codes = [micro.codes[a.name][sampled].astype(np.int32, copy=False) for a in attributes]
    of, classes = number_tuples(codes, numbers, len(sampled))
    taken = sampled[np.bincount(of, minlength=classes)[of] >= policy.least_size] if len(sampled) else sampled
    if not len(taken):
        raise Infeasible(
            "no class of sampled rows is as large as privacy asks for, so that nothing can be released",
            allowed=f"classes of at least {policy.least_size} sampled rows",
            hint="take a larger table, coarser levels, or a larger epsilon or delta; what was drawn is paid for",
        )
    levels = dict(zip(policy.columns, map(int, node), strict=True))
    labels = {a.name: released_labels(a, levels[a.name], entries, micro.codes[a.name], taken) for a in attributes}
    plan = Plan(request.released, taken=taken, labels=labels, order=request.row_order, rows=len(taken))
    released = np.bincount(cell_of_row[taken], minlength=len(cells))
    verdict = _verdict(problem, node, released)
    seconds = time.perf_counter() - began
    solution = Solution(Levels(levels), verdict, released > 0, False, checks, seconds, reproducible=False)
    return Recoding(request, engine, plan, solution, micro, cells.codes, {}, {})


def released_labels(
    attribute: Attribute, level: int, entries: pl.DataFrame, codes: np.ndarray, taken: np.ndarray
) -> pl.Series:
    """A released column: what each row becomes follows from its own value, the hierarchy and the level alone. Values
    keep the type of the column; labels are text."""
    assert attribute.hierarchy is not None
    name, ladder, tree = attribute.name, attribute.ladder, attribute.hierarchy
    column = entries.get_column(name)
    if level == 0 and tree.height and column.dtype != pl.String:
        return plain_values(column.gather(taken)).alias(name)
    if level >= tree.height:
        return pl.Series(name, [tree.labels[-1][0]], dtype=pl.String).gather(np.zeros(len(taken), np.int64))
    words = pl.Series(name, [text or None for text in ladder.text[level]], dtype=pl.String)
    return words.gather(ladder.of[level][codes[taken]])


def _verdict(problem: Problem, node: tuple[int, ...], released: np.ndarray) -> Verdict:
    """What the release loses of the original, for its owner: of each cell some rows may be released and others not."""
    cells, twice = problem.cells, np.tile(np.arange(len(problem.cells)), 2)
    count = np.concatenate([released, cells.count - released])
    kept = np.repeat([True, False], len(cells))
    both = replace(problem, cells=Cells(cells.names, cells.codes[:, twice], count, cells.sizes))
    statistics = class_statistics(problem.policy, count, kept, problem.rows)
    loss, per_attribute = measure(both, level_columns(both, node), kept, statistics)
    return Verdict(True, int(cells.count.sum() - released.sum()), loss, per_attribute)


def privacy_of(request: Request) -> dict[str, Any]:
    """What the manifest of a private release says under "privacy"."""
    asked = asked_privacy(request.policy.require)
    sampling = {"beta": repr(asked.beta), "k": asked.k}
    return privacy_section(asked.cost, [
        {"what": "choice of levels", "mechanism": "exponential", "epsilon": f"{asked.choosing.normalize():f}"},
        {"what": "sampled rows in classes of at least k", "mechanism": "sampling and suppression", **sampling,
         "epsilon": f"{asked.anonymising.normalize():f}", "delta": f"{asked.cost.delta:f}"},
    ])  # fmt: skip
