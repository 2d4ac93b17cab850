"""Fragments that leave together: no constraint is seen in one, and at most a loose association joins two of them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.fingerprint import key
from sfumato.core.progress import Progress
from sfumato.core.random_stream import stream_of
from sfumato.core.wording import count, quoted
from sfumato.criteria.sets import Fragmentation, LooseAssociation
from sfumato.criteria.sets.published import TableLink
from sfumato.engines.memory.table import MemoryTable, forget_others
from sfumato.engines.order import numbered
from sfumato.errors import EmptyTable, Infeasible, PolicyError
from sfumato.fragments.constraints.fewest import Fragment, fewest_fragments
from sfumato.fragments.constraints.loose import LooseGroups, loose_groups
from sfumato.fragments.constraints.values import Constraint
from sfumato.release.fragmented import group_numbers, native_table, unused_name, warn_of_suppressed
from sfumato.release.release_set import ReleaseSet, in_order, make_set

MADE_BY = "constraints"
FRAGMENT, ASSOCIATION = "fragment", "association"  # the tables


@dataclass(frozen=True, eq=False)
class FragmentRequest:
    """What is asked: the constraints, columns that leave encrypted, already so, the sizes of groups of a loose
    association, and whether others of the same product will do, columns of the two fragments that it joins, how many
    rows may be suppressed, and the seed."""

    constraints: tuple[Constraint, ...]
    encrypted: Mapping[str, pl.Series]
    sizes: tuple[int, int] | None = None
    even: bool = False
    between: tuple[str, ...] = ()
    limit: int = 0
    seed: int | None = None


def release_fragments(engine: MemoryTable, request: FragmentRequest, report_progress: Progress) -> ReleaseSet:
    """Find the fewest fragments, group the rows of two where that is asked, and verify what would be published."""
    frame = engine.frame
    if not frame.height:
        raise EmptyTable("the table has no rows")
    singletons = [one[0] for one in request.constraints if len(one) == 1]
    dropped = [name for name in singletons if name not in request.encrypted]
    released = [name for name in frame.columns if name not in dropped]
    report_progress("looking for the fewest fragments", None)
    several = [one for one in request.constraints if len(one) > 1]
    fragments, proven = fewest_fragments(released, several)
    rows = frame.select(name for name in released if name not in request.encrypted).with_columns(
        column.alias(name) for name, column in request.encrypted.items()
    )
    groups, pair = None, (0, 1)
    if request.sizes is not None:
        report_progress("grouping the rows", None)
        pair = _pair(fragments, request.between)
        groups = _grouped(frame, [fragments[i] for i in pair], several, request)
        rows = rows.filter(pl.Series(groups.first >= 0))
        held = {*fragments[pair[0]], *fragments[pair[1]]}
        crossing = dict.fromkeys(name for one in several if {*one} <= held for name in one)
        warn_of_suppressed(groups.unplaced - groups.drawn, frame.height, crossing)
    report_progress("verifying", None)
    parts, links, names = [], [], list(frame.columns)
    numbers: list[pl.Series] = []
    for i, columns in enumerate(fragments):
        roles = {name: "encrypted" if name in request.encrypted else "insensitive" for name in columns}
        shown = rows.select(columns)
        if groups is not None and i in pair:
            of = groups.first if i == pair[0] else groups.second
            number = group_numbers(unused_name(f"group_{i + 1}", names), of[groups.first >= 0])
            numbers.append(number)
            shown, roles = shown.insert_column(0, number), {number.name: "group", **roles}
        parts.append(native_table(engine, f"{FRAGMENT}_{i + 1}", in_order(forget_others(shown)), roles, None))
    if numbers:
        pairs = in_order(pl.DataFrame(numbers))
        parts.append(native_table(engine, ASSOCIATION, pairs, {one.name: "group" for one in numbers}, None))
        links = [
            TableLink("join", (parts[i].name, ASSOCIATION), (one.name,)) for i, one in zip(pair, numbers, strict=True)
        ]
    if len(parts) > 1:
        links.append(TableLink("same people", tuple(part.name for part in parts if part.name != ASSOCIATION)))
    promises: list[Any] = [Fragmentation([[*one] for one in request.constraints], bool(numbers))]
    if request.sizes is not None:
        promises.append(LooseAssociation([[*one] for one in several], request.sizes[0] * request.sizes[1]))
    return make_set(
        MADE_BY,
        parts,
        links,
        promises,
        policy={
            "identifying": dropped,
            "insensitive": [name for name in released if not any(name in one for one in request.constraints)],
            "constraints": [[*one] for one in request.constraints],
        },
        method={
            "fragments": len(fragments),
            "fewest": proven,
            "encrypted": len(request.encrypted) or None,
            "least_rows_of_groups": None if groups is None else groups.least,
            "suppressed": None if groups is None else groups.unplaced,
        },
        before=frame.height,
        seed=request.seed,
        fingerprint=engine.fingerprint(key()),
        reading=engine.reading,
    )


def _pair(fragments: Sequence[Fragment], between: Sequence[str]) -> tuple[int, int]:
    """The fragments that a loose association joins."""
    if not between:
        if len(fragments) == 2:
            return 0, 1
        what = "a loose association joins two fragments, and it is not said which"
        hint = "name a column of each in between" if len(fragments) > 2 else "leave k out"
        raise PolicyError(what, got=count(len(fragments), "fragment"), hint=hint)
    found = sorted(i for name in between for i, one in enumerate(fragments) if name in one)
    if len(between) != 2 or len(found) != 2 or found[0] == found[1]:
        what = "between must name a column of each of two fragments"
        listed = "; ".join(quoted(one) for one in fragments)
        raise PolicyError(what, got=", ".join(between), allowed=f"columns of two of these: {listed}")
    return found[0], found[1]


def _grouped(
    frame: pl.DataFrame, sides: Sequence[Fragment], constraints: Sequence[Constraint], request: FragmentRequest
) -> LooseGroups:
    """The groups of all rows, or an Infeasible that says which k is possible."""
    assert request.sizes is not None
    crossing = [one for one in constraints if {*one} <= {*sides[0], *sides[1]}]
    if not crossing:
        raise PolicyError("no constraint is on both of the fragments that a loose association would join",
                          hint="name columns of others in between")  # fmt: skip
    both = [
        np.stack([numbered(frame, [name for name in one if name in side]) for one in crossing], axis=1)
        for side in sides
    ]
    k, rows = request.sizes[0] * request.sizes[1], frame.height
    most = max(int(np.bincount(column).max()) for values in both for column in values.T)
    rng = stream_of(request.seed, _mark(frame, both), "fragment").generator()
    order = np.argsort(numbered(frame, frame.columns), kind="stable")  # so that no group hangs on their order
    ours, theirs = (values[order] for values in both)
    found = loose_groups(ours, theirs, request.sizes, rng)
    if found.unplaced > request.limit and request.even and 1 not in request.sizes:  # groups of one row ask for less
        found = min(found, loose_groups(ours, theirs, (1, k), rng), key=lambda one: one.unplaced)
    first, second = np.empty(rows, np.int64), np.empty(rows, np.int64)
    first[order], second[order] = found.first, found.second
    if found.unplaced > min(request.limit, rows - 1):
        possible = rows // most
        hint = (
            f"no k above {possible} is possible here" if possible < k else "take a smaller k, or groups of other sizes"
        )
        raise Infeasible(
            f"no loose association of {k} was found: values of the constraints are too frequent, or the rows too few",
            got=f"{found.unplaced} of {rows} rows without a group",
            allowed=f"at most {min(request.limit, rows - 1)}",
            hint=f"{hint}, or allow suppression",
            closest={"suppressed": found.unplaced, "k": possible},
        )
    return LooseGroups(first, second, found.drawn)


def _mark(frame: pl.DataFrame, values: Sequence[np.ndarray]) -> str:
    """What the draw depends on beside the seed: the table, in whatever order its rows stand."""
    digest = hashlib.sha256("\0".join(frame.columns).encode())
    rows = np.hstack(values)
    digest.update(np.ascontiguousarray(rows[np.lexsort(rows.T)]).tobytes())
    return digest.hexdigest()
