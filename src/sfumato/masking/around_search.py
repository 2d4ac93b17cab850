"""Steps around a search: a table in memory is masked before it, and what it leaves is masked after it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from sfumato.core.masked import typed
from sfumato.core.protocols import Masker
from sfumato.core.wording import quoted
from sfumato.engines.memory.table import MemoryTable, leave
from sfumato.errors import PolicyError
from sfumato.masking.run import Masked, masked, streams_of, told_of
from sfumato.release.facts import Masking, as_dict

BEFORE, AFTER = "before", "after"
Timed = Sequence[tuple[str, Masker]]


def masked_before(
    table: MemoryTable, steps: Timed, *, seed: int | None, weight: str | None, hierarchies: Mapping[str, Any],
    apart: Sequence[str], recoded: Sequence[str], held: Collection[str], released: Sequence[str],
) -> tuple[MemoryTable, Masking]:  # fmt: skip
    """The table that the search is given, and what is told of the steps.

    `recoded` are the quasi-identifiers, `held` further columns that a promise is about: no step may change either
    after the search. `released` are the columns that leave.
    """
    before, after = ([step for when, step in steps if when == which] for which in (BEFORE, AFTER))
    if fixed := [name for step in after for name in step.changes if name in recoded or name in held]:
        what = f"a step after the search changes {quoted(fixed)}, which a promise is about"
        raise PolicyError(what, hint='mask it before the search (when = "before")')
    given = table.frame
    frame = typed(given)
    streams = streams_of(seed, frame.height, frame.columns, before)
    found = masked(frame, before, streams, weight=weight, hierarchies=hierarchies, apart=apart)
    changed = [name for name in found.changed if name in given.columns]
    rows = given[found.rows].with_columns(found.table.get_column(name) for name in changed)
    untouched = [name for name in given.columns if name not in changed]
    every = len(found.rows) == given.height
    data = leave(rows, table.data, table.kind, None if every else found.rows, untouched) if before else table.data
    made = MemoryTable(data, reading=table.reading) if before else table
    made.given = table.given
    masking = Masking(given, found.rows, *_told(found, released, recoded))
    if not after:
        return made, masking

    def masks(left: pl.DataFrame) -> tuple[pl.DataFrame, Masking]:
        own = typed(left)
        later = masked(
            own, after, streams_of(seed, frame.height, frame.columns, after, len(before)),
            weight=weight, hierarchies=hierarchies, apart=[*apart, *recoded, *held],
        )  # fmt: skip
        if len(later.rows) < left.height:
            raise PolicyError("a step after the search leaves rows out", hint='let it do so "before" the search')
        together = Masked(
            later.table,
            later.rows,
            (*found.steps, *later.steps),
            (
                *((number, fact) for number, fact in found.facts if not {*fact.columns} & {*later.changed}),
                *((number + len(before), fact) for number, fact in later.facts),
            ),
            (*found.published, *later.published),
            tuple(dict.fromkeys((*found.changed, *later.changed))),
        )
        told, facts = _told(together, released, recoded)
        return later.table.select(later.changed), replace(masking, told=told, facts=facts)

    return made, replace(masking, after=masks)


def _told(
    found: Masked, released: Sequence[str], recoded: Sequence[str]
) -> tuple[dict[str, Any], tuple[Mapping[str, Any], ...]]:
    """What the manifest says of the steps, and the facts of columns that leave as the steps made them."""
    told = told_of(found, released)
    left = [(n, fact) for n, fact in found.facts if {*fact.columns} <= {*released} and not {*fact.columns} & {*recoded}]
    changed = list(dict.fromkeys([*told["changed"], *recoded]))  # a search changes them too
    return told | {"changed": changed}, tuple(as_dict(fact, number) for number, fact in left)
