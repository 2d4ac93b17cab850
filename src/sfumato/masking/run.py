"""Run steps on a table in memory: which columns each takes, strata, what becomes of rows, which facts are left."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.masked import PSEUDONYMOUS, Change, Context, Fact, kind_of_column
from sfumato.core.parameters import known_columns, weights_of
from sfumato.core.progress import check_cancelled
from sfumato.core.protocols import Masker
from sfumato.core.random_stream import RandomStream, stream_of
from sfumato.core.registry import variant_name
from sfumato.core.wording import quoted
from sfumato.engines.order import numbered
from sfumato.errors import ColumnError, PolicyError
from sfumato.release.facts import FACTS, of_rows


@dataclass(frozen=True, eq=False)
class Masked:
    """A table after some steps: its rows, which rows of the original they are, and what can be checked of each step."""

    table: pl.DataFrame
    rows: np.ndarray
    steps: tuple[Masker, ...] = ()  # each with its columns
    facts: tuple[tuple[int, Fact], ...] = ()  # by the number of the step
    published: tuple[Mapping[str, Any], ...] = ()  # what each step tells of what it found
    changed: tuple[str, ...] = ()  # the columns that some step changed


def streams_of(
    seed: int | None, rows: int, columns: Sequence[str], steps: Sequence[Masker], first: int = 0
) -> list[RandomStream]:
    """The random numbers of each step on a table of so many rows and these columns: another table has others, whatever
    the engine. So has a step with other parameters: two releases with the same noise, once more and once less of it,
    would give the originals."""
    of = f"mask {rows} {json.dumps(list(columns))}"
    asked = [json.dumps([variant_name(type(step).__name__), step.parameters()], default=str) for step in steps]
    return [stream_of(seed, f"{number} {step}", of) for number, step in enumerate(asked, first)]


def perturbed(steps: Iterable[Masker]) -> tuple[str, ...]:
    """The columns whose values steps changed into others."""
    return tuple(dict.fromkeys(name for step in steps if step.perturbs for name in step.changes))


def told_of(found: Masked, released: Collection[str]) -> dict[str, Any]:
    """What a manifest says of the steps, and of the columns that they changed."""
    pseudonymous = any(step.pseudonymous for step in found.steps)
    return {
        "pseudonymous": PSEUDONYMOUS if pseudonymous else None,
        "changed": [name for name in found.changed if name in released],
        "perturbed": [name for name in perturbed(found.steps) if name in released],
        "steps": [
            {
                "step": variant_name(type(step).__name__),
                **step.published_parameters(),
                "does": step.sentence(),
                "leaves": step.leaves,
                "perturbs": step.perturbs,
                **({"published": dict(told)} if told else {}),
            }
            for step, told in zip(found.steps, found.published, strict=True)
        ],
    }


def with_columns(step: Masker, table: pl.DataFrame, apart: Sequence[str] = ()) -> Masker:
    """The step with the columns that it takes; `apart` are columns that it does not take unless they are named."""
    name = variant_name(type(step).__name__)
    known_columns((*step.columns, *step.by, *step.needs), table.columns)
    if not step.kinds:  # it takes whole rows
        return step
    if not step.columns:
        used = {*apart, *step.by, *step.needs}
        fits = [c.name for c in table.iter_columns() if c.name not in used and kind_of_column(c) in step.kinds]
        if not fits:
            kinds = " or ".join(f"{kind} columns" for kind in step.kinds)
            raise ColumnError(f"{name} takes {kinds}, and the table has none that is free", hint="name its columns")
        return replace(step, columns=tuple(fits))  # type: ignore[type-var]
    for column in step.columns:
        taken = dict.fromkeys((*step.kinds, *step.named_kinds))
        if (kind := kind_of_column(table.get_column(column))) not in taken:
            got = f'"{column}" is a {kind} column'
            raise ColumnError(f"{name} does not fit the column", got=got, allowed=", ".join(taken))
    return step


def masked(
    table: pl.DataFrame,
    steps: Sequence[Masker],
    streams: Sequence[RandomStream],
    *,
    weight: str | None = None,
    hierarchies: Mapping[str, Any] | None = None,
    apart: Sequence[str] = (),
    row_keys: tuple[bytes, ...] | None = None,
) -> Masked:
    """The table after the steps, in their order; each sees what the ones before it made. Random numbers are those of
    the places of rows, or of their keys."""
    found = Masked(table, np.arange(table.height))
    for step, given in zip(steps, streams, strict=True):
        check_cancelled()
        stream = replace(given, row_keys=row_keys)
        found = _after(found, with_columns(step, found.table, apart), stream, weight, hierarchies or {}, table.height)
    return found


def _after(
    before: Masked, step: Masker, stream: RandomStream, weight: str | None, hierarchies: Mapping[str, Any], every: int
) -> Masked:
    """The table after one more step; `every` is how many rows the original has."""
    context = Context(before.table, stream.at(before.rows), weight, weights_of(before.table, weight), hierarchies)
    return joined(before, step, by_strata(step, before.table.select(step.columns), context), weight, every)


def joined(before: Masked, step: Masker, change: Change, weight: str | None, every: int) -> Masked:
    """A table with what one more step made of it; `every` is how many rows the original has."""
    rows = np.arange(before.table.height) if change.rows is None else change.rows
    height = change.columns.height if change.columns.width else len(rows)
    if height != len(rows) or not {*change.columns.columns} <= {*step.columns, *step.needs, weight}:
        raise PolicyError(f"{step} gives other rows or columns than it takes: this is a fault of the masker")
    table = (before.table if change.rows is None else before.table[rows]).with_columns(change.columns.iter_columns())
    left = [(number, fact) for number, fact in before.facts if not _looks_at(fact) & {*change.columns.columns}]
    published = before.published
    if change.rows is not None:  # nothing is told that steps found in rows that are no longer there
        left = [(n, replace(f, parameters=of_rows(f.fact, f.columns, f.parameters, table))) for n, f in left
                if FACTS[f.fact].of_values]  # fmt: skip
        left, published = [(number, fact) for number, fact in left if fact.parameters], ({},) * len(published)
    more = [  # a private fact is about the original, which a step sees only where no other came before it
        fact
        for fact in change.facts
        if not FACTS[fact.fact].private or (len(rows) == every and not _looks_at(fact) & {*before.changed})
    ]
    facts = (*left, *((len(before.steps), fact) for fact in more))
    changed = tuple(dict.fromkeys((*before.changed, *change.columns.columns)))
    return Masked(table, before.rows[rows], (*before.steps, step), facts, (*published, change.published), changed)


def _looks_at(fact: Fact) -> set[str]:
    """The columns that a fact is about, and that of its weights."""
    return {*fact.columns, *([fact.parameters["weight"]] if "weight" in fact.parameters else [])}


def by_strata(step: Masker, columns: pl.DataFrame, context: Context) -> Change:
    """The change of a step, stratum by stratum where it has any; errors name a stratum by its number."""
    if not step.by or step.own_strata:
        return step.apply(columns, context)
    stratum = numbered(context.table, list(step.by))
    changes = changes_by_strata(step, columns, context, stratum, int(stratum.max(initial=-1)) + 1)
    rows = np.concatenate([rows if change.rows is None else rows[change.rows] for _, rows, change in changes])
    places = np.argsort(rows, kind="stable")
    facts = [fact for *_, change in changes for fact in change.facts if fact.fact not in ("rows", "total")]
    return Change(
        pl.concat([change.columns for *_, change in changes], how="vertical_relaxed")[places],
        None if len(rows) == columns.height else rows[places],
        common_facts(facts, len(changes)),
        {"strata": len(changes)},
    )


def changes_by_strata(
    step: Masker, columns: pl.DataFrame, context: Context, stratum: np.ndarray, strata: int, seen: Sequence[Any] = ()
) -> list[tuple[int, np.ndarray, Change]]:
    """The number of each stratum that is there, its rows, and what the step makes of them. Of rows that are some of
    all, `seen` is what was found of each stratum."""
    order = np.argsort(stratum, kind="stable")
    begins = np.flatnonzero(np.diff(stratum[order], prepend=-1))
    found = []
    for rows in np.split(order, begins[1:]):
        number = int(stratum[rows[0]])
        inside = replace(
            context,
            table=context.table[rows],
            random=context.random.part(number + 1).at(rows),
            weights=None if context.weights is None else context.weights[rows],
            seen=seen[number] if seen else None,
        )
        try:
            found.append((number, rows, step.apply(columns[rows], inside)))
        except (ColumnError, PolicyError) as error:
            raise type(error)(
                f"{error.what} (stratum {number + 1} of {strata} by {quoted(step.by)})",
                got=error.got, allowed=error.allowed, hint=error.hint,
            ) from None  # fmt: skip
    return found


def common_facts(facts: Sequence[Fact], strata: int) -> tuple[Fact, ...]:
    """The facts that all strata have, which are facts of the table: of bounds and of values, the widest."""
    found: dict[tuple[str, tuple[str, ...]], list[Fact]] = {}
    for fact in facts:
        found.setdefault((fact.fact, fact.columns), []).append(fact)
    left = []
    for (name, columns), those in found.items():
        if len(those) < strata:
            continue
        if name == "between":
            lows, highs = (list[Any](fact.parameters.get(end) for fact in those) for end in ("low", "high"))
            bounds = {"low": None if None in lows else min(lows), "high": None if None in highs else max(highs)}
            stated = {end: bound for end, bound in bounds.items() if bound is not None}
            left += [Fact(name, columns, stated)] if stated else []
        elif name == "among":
            values = dict.fromkeys(value for fact in those for value in fact.parameters["values"])
            left.append(Fact(name, columns, {"values": list(values)}))
        elif name != "ranks" and all(fact.parameters == those[0].parameters for fact in those):
            left.append(those[0])
    return tuple(left)
