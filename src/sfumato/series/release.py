"""The next release of a table: m-invariant groups of its rows, their labels, and the state that the one after needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import polars as pl

from sfumato.core.hierarchy import kind_of
from sfumato.core.labels import Labels, of_nodes, of_ranges
from sfumato.core.microdata import Attribute, microdata
from sfumato.core.printed import printed
from sfumato.core.wording import count, percent, quoted
from sfumato.errors import BrokenPromise, ColumnError, EmptyTable, Infeasible
from sfumato.release.ends import rounded
from sfumato.series.m_invariance import InvariantGroups, Signatures, eligible, groups_of, signatures_of
from sfumato.series.state import PEOPLE, PERSON, Secret, State
from sfumato.series.values import COUNTERFEITS, DATA, GROUP, GroupedTables, Turnover

Changed = Literal["keep", "leave"]
KEEP: Changed = "keep"
LEAVE: Changed = "leave"


def check_rows(frame: pl.DataFrame, person: str, quasi: Sequence[str], sensitive: str) -> None:
    """Refuse a table in which a row is nobody's, a person has two, or a value is missing."""
    if frame.height == 0:
        raise EmptyTable("the table has no rows")
    if taken := [name for name in (GROUP, COUNTERFEITS) if name in (*quasi, sensitive)]:
        what = f"the release has columns of its own called {quoted(taken)}"
        raise ColumnError(what, hint="rename those of the table")
    ids, values = printed(frame.get_column(person)), printed(frame.get_column(sensitive))
    if lacking := ids.null_count():
        raise ColumnError(f'{count(lacking, "row")} of "{person}" name nobody', hint="every row is a person's")
    if several := frame.height - ids.n_unique():
        what = f'{count(several, "row")} of "{person}" name somebody who has a row already'
        raise ColumnError(what, hint="one row a person: a second one would tell which values they share")
    if lacking := values.null_count():
        what = f'{count(lacking, "row")} have no value in "{sensitive}"'
        raise ColumnError(what, hint="leave them out, or write a word of its own for it")


def next_release(
    frame: pl.DataFrame,
    person: str,
    quasi: Sequence[str],
    sensitive: str,
    m: int,
    state: State | None,
    secret: Secret,
    *,
    recipes: Mapping[str, Any] | None = None,
    values: Sequence[str] = (),
    changed: Changed = KEEP,
    seed: int | None = None,
) -> tuple[GroupedTables, State, Turnover]:
    """The tables of the next release, the state that goes with it, and who came and went.

    `frame` is the whole table as it is now, one row a person; `state` that of the release before, None for the first.
    `values` are values that counterfeits may have beside those that were seen.
    """
    check_rows(frame, person, quasi, sensitive)
    kind = kind_of(frame.schema[person])
    if state is not None and kind != state.kind:
        what = f'"{person}" is of another kind than in the release before, so that nobody would be known again'
        raise ColumnError(what, got=kind, allowed=state.kind, hint="give the column the type that it had")
    kinds = {name: kind_of(frame.schema[name]) for name in (*quasi, sensitive) if frame[name].count()}
    if state is not None:
        _refuse_other_kinds(kinds, state)
        kinds = {**state.kinds, **kinds}
    number = 1 if state is None else state.number + 1
    rng = secret.generator(seed, number)
    people, frame, rows = _people(frame, person, secret, state)
    texts = printed(frame.get_column(sensitive))
    known = _all_values(texts, state, values)
    code = texts.replace_strict(pl.Series(known), pl.Series(np.arange(len(known))), return_dtype=pl.Int64).to_numpy()
    was = people.get_column("value").fill_null(-1).to_numpy()
    other = (was >= 0) & (was != code)
    if changed == LEAVE and other.any():
        keep = ~other
        people, frame, rows, code, was = people.filter(keep), frame.filter(keep), rows[keep], code[keep], was[keep]
        if frame.height == 0:
            raise EmptyTable("nobody is left: the values of all people have changed", hint='changed="keep"')
    code = np.where(was >= 0, was, code)
    signatures = Signatures.none() if state is None else state.signatures
    signature = people.get_column("signature").fill_null(-1).to_numpy()
    _refuse_too_few(code, signature, len(known), m, sensitive, state is None)
    attributes, codes = _attributes(frame, quasi, recipes or {})
    points = np.stack([_scaled(a)[codes[a.name]] for a in attributes], axis=1)
    groups = groups_of(points, code, signature, signatures, len(known), m, rng)
    _hold(groups, code, signature, m)
    kept_values = _kept_without_memory(code, signature, signatures, len(known), m, secret.generator(seed, -number))
    names = _numbers(len(groups.start), rng)
    tables = _tables(groups, names, attributes, codes, known, sensitive, m)
    roles = {
        DATA: {GROUP: "group", **dict.fromkeys(quasi, "quasi"), sensitive: "sensitive"},
        COUNTERFEITS: {GROUP: "group", COUNTERFEITS: "count"},
    }
    group = np.empty(frame.height, np.int64)
    real = groups.row >= 0
    group[groups.row[real]] = names[groups.group[real]]
    after = _remembered(state, people, rows, groups.signature, code, group, number)
    kept = State(number, m, person, kind, tuple(quasi), sensitive, tuple(known), groups.signatures, after, kinds)
    last = people.get_column("last").fill_null(-1).to_numpy()
    before = 0 if state is None else int((state.people.get_column("last") == number - 1).sum())
    stayed = int((last == number - 1).sum()) if number > 1 else 0
    turnover = Turnover(
        number,
        frame.height,
        stayed,
        int((last >= 0).sum()) - stayed,
        int((last < 0).sum()),
        before - stayed,
        int(other.sum()),
        len(names),
        int((~real).sum()),
        int((kept_values == 1).sum()),
        int((kept_values < m).sum()),
    )
    return GroupedTables(tables, roles), replace(kept, before=None if state is None else state.serial), turnover


def _refuse_other_kinds(kinds: Mapping[str, str], state: State) -> None:
    """Refuse columns whose values are of another kind than in the release before: numbers read as texts would print
    other ranges, and sensitive values other texts. Whole numbers and others are alike among quasi-identifiers."""
    for name, kind in kinds.items():
        was = state.kinds.get(name, kind)
        if kind != was and not ({kind, was} <= {"integer", "decimal"} and name != state.sensitive):
            what = f'"{name}" is of another kind than in the release before'
            hint = "read it in the same way: one text among numbers makes all of them texts"
            raise ColumnError(what, got=kind, allowed=was, hint=hint)


def _people(
    frame: pl.DataFrame, person: str, secret: Secret, state: State | None
) -> tuple[pl.DataFrame, pl.DataFrame, np.ndarray]:
    """What is known of each person, the rows in the order of their keyed hashes, and their rows of the state, or -1.

    The order is nobody's but the owner's, and does not follow from that of the input.
    """
    halves = secret.people(frame.get_column(person))
    order = halves.select(pl.arg_sort_by(*PERSON)).to_series()
    halves, frame = halves[order], frame[order]
    if halves.select(pl.all_horizontal(pl.col(PERSON).diff() == 0).any()).item():  # 128 bits: never
        raise BrokenPromise("two people have one keyed hash; this is a fault of Sfumato")
    known = pl.DataFrame(schema=PEOPLE) if state is None else state.people
    people = halves.join(known.with_row_index("row"), on=list(PERSON), how="left", maintain_order="left")
    return people, frame, people.get_column("row").cast(pl.Int64).fill_null(-1).to_numpy()


def _all_values(texts: pl.Series, state: State | None, more: Sequence[str]) -> list[str]:
    """The text of each code: those of the state keep theirs."""
    known = [] if state is None else list(state.values)
    return list(dict.fromkeys([*known, *sorted({*texts.unique().to_list(), *more})]))


def _refuse_too_few(code: np.ndarray, signature: np.ndarray, values: int, m: int, sensitive: str, first: bool) -> None:
    """Refuse what no groups of m different values can be made of."""
    if values < m:
        what = f'groups of {m} different values cannot be made: "{sensitive}" has {values}'
        raise Infeasible(what, hint="a smaller m")
    counts = np.bincount(code[signature < 0], minlength=values)
    if first and not eligible(counts, m):
        share = counts.max() / counts.sum()
        what = f'one value of "{sensitive}" is too frequent for groups of {m} different ones'
        most = int(counts.sum() // counts.max())
        hint = f"a smaller m, at most {most}" if most > 1 else "broader values, so that none is so frequent"
        raise Infeasible(what, got=f"{percent(share)} of the rows", allowed=percent(1 / m), hint=hint)


def _kept_without_memory(
    code: np.ndarray, signature: np.ndarray, signatures: Signatures, values: int, m: int, rng: np.random.Generator
) -> np.ndarray:
    """The attack on the naive way: how many values each person who was published before would keep, had this release
    been grouped without a memory."""
    had = np.flatnonzero(signature >= 0)
    if not len(had):
        return np.zeros(0, np.int64)
    number, naive = signatures_of(code, values, m, rng)
    base = len(naive)
    pairs, of = np.unique(signature[had] * base + number[had], return_inverse=True)
    return signatures.common(pairs // base, naive, pairs % base)[of]


def _attributes(
    frame: pl.DataFrame, quasi: Sequence[str], recipes: Mapping[str, Any]
) -> tuple[list[Attribute], Mapping[str, np.ndarray]]:
    given = {name: recipe for name, recipe in recipes.items() if name in quasi}
    data = microdata(frame, dict.fromkeys(quasi, "quasi"), given)
    return [data.attribute(name) for name in quasi], data.codes


def _scaled(attribute: Attribute) -> np.ndarray:
    """Where each code stands from 0 to 1: as number or time, as leaf of a tree, or by rank; missing values beyond."""
    categories = attribute.categories
    known = len(categories) - categories.missing
    if attribute.hierarchy is not None and not categories.ordered:
        place = np.empty(len(categories))
        place[np.lexsort(list(attribute.ladder.of))] = np.arange(len(categories))
    else:
        place = np.array(attribute.positions, np.float64)
    low, high = (place[:known].min(), place[:known].max()) if known else (0.0, 0.0)
    place = (place - low) / (high - low or 1.0)
    place[known:] = 1.25
    return place


def _hold(groups: InvariantGroups, code: np.ndarray, signature: np.ndarray, m: int) -> None:
    """Nothing goes out but groups of m different values or more, under the signatures that people had."""
    start, size = groups.start, np.diff(np.append(groups.start, len(groups.row)))
    real = groups.row >= 0
    value = np.zeros(len(code), np.int64)
    value[groups.row[real]] = groups.value[real]
    every = np.bincount(groups.row[real], minlength=len(code))
    had = signature >= 0
    pairs = np.sort(groups.group * (int(groups.value.max(initial=0)) + 1) + groups.value)
    sound = (
        bool((every == 1).all())
        and bool((value == code).all())
        and bool((np.diff(pairs) > 0).all())
        and bool((size >= m).all())
        and bool((groups.counterfeits < size).all())
        and bool((groups.signature[had] == signature[had]).all())
        and bool((size == groups.signatures.size[_signature_of(groups)]).all())
    )
    if not sound or len(start) == 0:
        raise BrokenPromise("the groups are not m-invariant. Nothing is released; this is a fault of Sfumato")


def _numbers(groups: int, rng: np.random.Generator) -> np.ndarray:
    """Numbers of groups by chance, of one length, so that they stand in order as texts, too."""
    first = 1
    while groups > 9 * first:
        first *= 10
    return rng.permutation(groups) + first


def _signature_of(groups: InvariantGroups) -> np.ndarray:
    """The signature of each group: that of all people in it."""
    real = groups.row >= 0
    starts, of = np.flatnonzero(np.diff(groups.group[real], prepend=-1)), groups.signature[groups.row[real]]
    least, most = np.minimum.reduceat(of, starts), np.maximum.reduceat(of, starts)
    return np.where(least == most, most, -1)


def _tables(
    groups: InvariantGroups,
    names: np.ndarray,
    attributes: Sequence[Attribute],
    codes: Mapping[str, np.ndarray],
    known: Sequence[str],
    sensitive: str,
    m: int,
) -> dict[str, pl.DataFrame]:
    """The two tables: rows by group and value, under labels of the people of each group."""
    real = groups.row >= 0
    row, group = groups.row[real], groups.group[real]
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    columns = [pl.Series(GROUP, names[groups.group])]
    for a in attributes:
        labels = _labels(a, codes[a.name][row].astype(np.int64), starts, m)
        columns.append(pl.Series(a.name, labels.text, dtype=pl.String).gather(labels.of[groups.group]))
    columns.append(pl.Series(sensitive, known, dtype=pl.String).gather(groups.value))
    counts = pl.DataFrame({GROUP: names, COUNTERFEITS: groups.counterfeits})
    return {DATA: pl.DataFrame(columns).sort(GROUP, sensitive), COUNTERFEITS: counts.sort(GROUP)}


def _labels(attribute: Attribute, codes: np.ndarray, starts: np.ndarray, m: int) -> Labels:
    """The label of each group: the lowest node above its values where a hierarchy was given, else their range, with
    ends that m people have or that are rounded."""
    if attribute.hierarchy is None:
        labels = of_ranges(attribute, np.minimum.reduceat(codes, starts), np.maximum.reduceat(codes, starts))
        people = np.diff(np.append(starts, len(codes)))
        rows = np.bincount(labels.of, weights=people, minlength=len(labels.lo)).astype(np.int64)
        return rounded(labels, rows, m)
    nodes = attribute.ladder.of[:, codes]
    low, high = np.minimum.reduceat(nodes, starts, axis=1), np.maximum.reduceat(nodes, starts, axis=1)
    level = np.argmax(low == high, axis=0)
    return of_nodes(attribute, level, low[level, np.arange(len(starts))])


def _remembered(
    state: State | None,
    people: pl.DataFrame,
    rows: np.ndarray,
    signature: np.ndarray,
    code: np.ndarray,
    group: np.ndarray,
    number: int,
) -> pl.DataFrame:
    """What the state knows of everybody ever published."""
    now = people.select(*PERSON).with_columns(
        signature=pl.Series(signature),
        value=pl.Series(code),
        group=pl.Series(group),
        first=people.get_column("first").fill_null(number),
        last=pl.lit(number, pl.Int64),
    )
    if state is None:
        return now.select(*PEOPLE)
    gone = np.ones(state.people.height, np.bool_)
    gone[rows[rows >= 0]] = False
    return pl.concat([state.people.filter(gone), now.select(*PEOPLE)]).sort(*PERSON)
