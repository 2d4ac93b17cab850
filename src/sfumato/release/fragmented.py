"""Values as they are in several tables, joined by groups of rows alone: what a search that `fragments` decided."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from itertools import count as numbers_from
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.fingerprint import key
from sfumato.core.microdata import Microdata, microdata
from sfumato.core.printed import with_texts
from sfumato.core.wording import count, quoted
from sfumato.criteria.sets import FrequencyLDiversity, LDiverseSlicing
from sfumato.criteria.sets.published import TableLink
from sfumato.engines.memory.table import forget_others
from sfumato.engines.order import CANONICAL, arrangement, numbered
from sfumato.engines.protocol import RESERVED_PREFIX, Engine
from sfumato.errors import EmptyTable, PolicyError, warn
from sfumato.release.destination import Folder, Table
from sfumato.release.release_set import ReleaseSet, SetTable, in_order, make_set
from sfumato.release.request import Request, check_size, refuse_empty
from sfumato.search import search_name
from sfumato.search.fragments.anatomy import required_diversity
from sfumato.search.fragments.slicing import Slicing
from sfumato.search.problem import Fragments, Problem, Slices, Solution, counted, deal

QUASI, SENSITIVE, SLICE = "quasi", "sensitive", "slice"  # the tables
MADE_BY = "fragments"
DRAWN = f"{RESERVED_PREFIX}drawn"


class SuppressionWarning(UserWarning):
    """Rows are suppressed for their sensitive value, so that it is known of whoever is missing."""


def make_fragments(engine: Engine, request: Request, to: Folder | Table | None) -> ReleaseSet:
    """Count, search, and take the table apart, verify what would be published, and write it where a folder is named."""
    report_progress, policy = request.report_progress, request.policy
    attribute, l = required_diversity(policy.require)
    _refuse(engine, request)
    rows = engine.sample(engine.rows())
    if not rows.height:
        raise EmptyTable("the table has no rows")
    refuse_empty(rows, (*policy.columns, *policy.needs))
    check_size(policy, rows.height)
    report_progress("reading the columns", None)
    columns = policy.columns
    if isinstance(request.search, Slicing):  # all columns are clustered
        columns = (*columns, *(name for name in request.released if name not in (*columns, *policy.needs)))
    wanted = dict.fromkeys(columns, "quasi") | dict.fromkeys(policy.needs, "sensitive")
    micro = microdata(rows, wanted, {}, coded=engine.coded)
    search = request.search if request.search.seed is not None else replace(request.search, seed=request.seed)
    solution, group = _solve(replace(request, search=search), micro, rows)
    warn_of_suppressed(solution.verdict.suppressed, rows.height, (attribute,))
    report_progress("taking the table apart", None)
    kept = np.flatnonzero(group >= 0)
    promise: Any
    if isinstance(solution.recoding, Slices):
        frames, number = _sliced(rows, request, solution.recoding, attribute, group, kept)
        promise, called = LDiverseSlicing(attribute, l), "buckets"
    else:
        frames, number = _taken_apart(rows, request, micro, attribute, group, kept)
        promise, called = FrequencyLDiversity(attribute, l), "groups"
    report_progress("verifying", None)
    found = make_set(
        MADE_BY,
        [native_table(engine, *one) for one in frames],
        [TableLink("join", tuple(name for name, *_ in frames), (number,))],
        [promise],
        policy={
            "identifying": list(request.roles.identifying),
            "quasi": list(policy.columns),
            "sensitive": [attribute],
            "insensitive": [n for n in request.released if n not in policy.columns and n != attribute],
            "require": [{"model": c.model, **c.parameters()} for c in policy.require],
            "suppression": policy.suppression,
        },
        method={
            "search": search_name(request.search),
            called: int(group.max()) + 1,
            "suppressed": solution.verdict.suppressed,
            "suppression_limit": policy.limit(rows.height),
            "reproducible": solution.reproducible,
        },
        before=rows.height,
        seed=search.seed,
        fingerprint=engine.fingerprint(key()),
        reading=engine.reading,
        about=request.about,
        solution=solution,
        rows=frames[0][3],
    )
    if isinstance(to, Folder):
        found.save(to.path, to.format, to.overwrite)
    return found


def warn_of_suppressed(suppressed: int, rows: int, attributes: Collection[str]) -> None:
    """Say what suppressed rows tell: those of too frequent values are, and no choice of others would do."""
    if suppressed:
        left = f"{count(suppressed, 'row')} of {rows} {'is' if suppressed == 1 else 'are'} suppressed"
        why = f"for too frequent values of {quoted(attributes)}"
        known = "whoever knows somebody who was in the table, and misses them, knows what they have"
        warn(SuppressionWarning(f"{left} {why}: {known}. A smaller l or k may need no suppression"))


def _solve(request: Request, micro: Microdata, rows: pl.DataFrame) -> tuple[Solution, np.ndarray]:
    """What was decided, and the group of each row, -1 for those that are suppressed."""
    policy, attributes = request.policy, tuple(a for a in micro.schema if a.role == "quasi")
    columns = tuple(a.name for a in attributes)
    cells, cell_of_row = counted(micro, columns, policy.needs, jointly=True)
    request.report_progress("searching", None)
    problem = Problem(attributes, cells, policy, micro.rows, request.levels, request.report_progress)
    solution: Solution = request.search(problem)
    assert isinstance(solution.recoding, Fragments)
    piece = cell_of_row
    if solution.recoding.split is not None:
        others = [name for name in request.released if name not in columns and name not in policy.needs]
        alike = numbered(rows, others) if others else np.zeros(rows.height, np.int64)
        piece = deal(cell_of_row, solution.recoding.split, alike)
    return solution, solution.recoding.class_of_cell[piece]


def _taken_apart(
    rows: pl.DataFrame, request: Request, micro: Microdata, attribute: str, group: np.ndarray, kept: np.ndarray
) -> tuple[list[tuple[str, pl.DataFrame, dict[str, str], np.ndarray | None]], str]:
    """Both tables, with the roles of their columns and the rows of the input that they show; the column of groups."""
    number = unused_name("group", rows.columns)
    often = unused_name("count", [*rows.columns, number])
    numbers = group_numbers(number, group[kept])
    beside = [name for name in request.released if name != attribute]
    quasi = forget_others(pl.DataFrame([numbers, *(rows.get_column(name).gather(kept) for name in beside)]))
    places = arrangement(quasi, quasi.columns)
    code = pl.Series("code", micro.codes[attribute][kept])
    listed = pl.DataFrame({"group": numbers, "code": code, "value": rows.get_column(attribute).gather(kept)})
    values = listed.group_by("group", "code").agg(pl.col("value").first(), pl.len().cast(pl.Int64).alias("count"))
    sensitive = values.select(
        pl.col("group").alias(number), pl.col("value").alias(attribute), pl.col("count").alias(often)
    )
    role = dict.fromkeys(beside, "insensitive") | dict.fromkeys(request.policy.columns, "quasi")
    return [
        (QUASI, quasi[places], {number: "group", **{name: role[name] for name in beside}}, kept[places]),
        (
            SENSITIVE,
            in_order(forget_others(sensitive)),
            {number: "group", attribute: "sensitive", often: "count"},
            None,
        ),
    ], number


def group_numbers(name: str, group: np.ndarray) -> pl.Series:
    """The numbers of groups, all of one length, so that they stand in order as texts, too.

    >>> group_numbers("group", np.array([9, 0]))[0], group_numbers("group", np.array([8, 0]))[0]
    (19, 9)
    """
    groups, first = int(group.max()) + 1, 1
    while groups > 9 * first:
        first *= 10
    return pl.Series(name, group + first)


def _sliced(
    rows: pl.DataFrame, request: Request, slices: Slices, attribute: str, group: np.ndarray, kept: np.ndarray
) -> tuple[list[tuple[str, pl.DataFrame, dict[str, str], np.ndarray | None]], str]:
    """A table for each group of columns, with the number of the bucket. Each stands in canonical order by itself, so
    that nothing is left of which rows of a bucket belong together."""
    number = unused_name("bucket", rows.columns)
    numbers = group_numbers(number, group[kept])
    quasi = request.policy.columns
    role = {name: "quasi" if name in quasi else "insensitive" for name in request.released} | {attribute: "sensitive"}
    frames = []
    for i, columns in enumerate(slices.columns, 1):
        held = [name for name in request.released if name in columns]
        frame = forget_others(pl.DataFrame([numbers, *(rows.get_column(name).gather(kept) for name in held)]))
        places = arrangement(frame, frame.columns)
        name = SENSITIVE if attribute in columns else f"{SLICE}_{i}"
        roles = {number: "group", **{name: role[name] for name in held}}
        frames.append((name, frame[places], roles, kept[places] if i == 1 else None))
    return frames, number


def rejoined(release: ReleaseSet, seed: int) -> pl.DataFrame:
    """The rows with a sensitive value each, dealt at random within their group, or of slices what else is beside the
    first: all that the tables tell of what belongs together; rows stand as in the first table."""
    if any(isinstance(promise, LDiverseSlicing) for promise in release.promises):
        return _rejoined_slices(release, seed)
    quasi, sensitive = (part.frame for part in release.parts)
    number, attribute, often = sensitive.columns
    values = sensitive.select(pl.col(attribute).repeat_by(often).explode(), pl.col(number).repeat_by(often).explode())
    drawn = np.random.default_rng(seed).random(values.height)
    values = values.with_columns(pl.Series(DRAWN, drawn)).sort(
        number, DRAWN
    )  # both tables stand by the number of the group
    order = quasi.get_column(number).arg_sort().to_numpy()
    dealt = np.empty(len(order), np.int64)
    dealt[order] = np.arange(len(order))
    return quasi.drop(number).with_columns(values.get_column(attribute).gather(dealt))


def _rejoined_slices(release: ReleaseSet, seed: int) -> pl.DataFrame:
    first, *others = (part.frame for part in release.parts)
    number, rng = first.columns[0], np.random.default_rng(seed)
    columns = [*first.drop(number).iter_columns()]
    for frame in others:  # all stand by the number of the bucket, which have as many rows in each
        mixed = frame.select(pl.col(number), pl.Series(DRAWN, rng.random(frame.height)))
        order = mixed.select(pl.arg_sort_by(number, DRAWN)).to_series()
        columns += frame.drop(number)[order].iter_columns()
    return pl.DataFrame(columns)


def unused_name(name: str, taken: Collection[str]) -> str:
    """A name for a column that no other has.

    >>> unused_name("group", ["age"]), unused_name("group", ["group", "group_2"])
    ('group', 'group_3')
    """
    tried = (name if i == 1 else f"{name}_{i}" for i in numbers_from(1))
    return next(one for one in tried if one not in taken)


def native_table(
    engine: Engine, name: str, frame: pl.DataFrame, roles: dict[str, str], rows: np.ndarray | None
) -> SetTable:
    """A table of the set, handed back as the kind of frame that came in."""
    plain = with_texts(frame, engine.schema())
    return SetTable(name, plain, roles, lambda: engine.as_given(plain, rows))


def _refuse(engine: Engine, request: Request) -> None:
    """Raise a PolicyError for what makes no sense where values stay as they are, or needs rows at hand."""
    name, policy = search_name(request.search), request.policy
    if not engine.in_memory:
        what = f"{name} takes the rows of a table in memory apart"
        raise PolicyError(what, got=engine.called, hint="read it with sf.read, or take a search that generalises")
    apart = [n for n in request.roles.sensitive if n not in policy.needs]
    asked = {
        f'more sensitive columns than one: "{apart[0] if apart else ""}" too': bool(apart),
        f'"{policy.both[0] if policy.both else ""}" both quasi-identifying and sensitive': bool(policy.both),
        "mask, steps before or after the search": request.masking is not None,
        "numbers, another form of labels": request.numbers != "text",
        "levels of hierarchies": bool(request.levels),
        "an order of rows other than the canonical one": request.order != CANONICAL,
        "normalise": bool(request.normalised),
        "survey weights": request.roles.weight is not None,
        "person, as rows are counted here": bool(request.people),
        "trace": request.trace is not None,
        "a profile": policy.profile is not None,
    }
    if wrong := [what for what, there in asked.items() if there]:
        hint = "leave it out, or take a search that generalises"
        raise PolicyError(f"{name} publishes values as they are, in several tables", got=wrong[0], hint=hint)
