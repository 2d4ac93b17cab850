"""The attack by joining: which rows the private table can have, and values that no table with these views avoids.

Yao, Wang, Jajodia, "Checking for k-anonymity violation by views", VLDB 2005.

A kind of row is what a row of the private table can be, as far as the views tell. A part of the table is all rows that
meet some conditions and not the others; in each part, the views that are about it are joined on their common columns.
Every table that the views can come from has rows of these kinds only, and each published row is a piece of at least one
of them. So where all kinds that a published row can be a piece of are about one person, that person has one of their
values: an association cover.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import polars as pl

from sfumato.core.progress import check_cancelled
from sfumato.fragments.views.published import COUNT, PART, Projection, Published

MOST_KINDS = 5_000_000
MOST_CONDITIONS = 8
SOMEBODY = -1  # a person of whom no view of a part says anything: somebody other than the one who is asked about


class TooManyKinds(Exception):
    """More kinds of rows than there is room for."""


def row_kinds(published: Published, views: Iterable[Projection]) -> pl.DataFrame:
    """All kinds of rows that the private table can have: codes of its columns, and the part they stand in.

    A column that neither view, condition nor dependency tells anything about in a part has one code there.
    """
    if len(published.boxes) > MOST_CONDITIONS:
        raise TooManyKinds
    listed = [*views]
    found = []
    room = MOST_KINDS
    for number, part in enumerate(published.parts):
        kinds = _kinds_in(published, [view for view in listed if view.holds_in(part)], part, room)
        found.append(kinds.select(*published.sizes, pl.lit(number, pl.Int64).alias(PART)))
        room -= kinds.height
    return pl.concat(found)


def _kinds_in(published: Published, views: list[Projection], part: tuple[bool, ...], room: int) -> pl.DataFrame:
    waiting = sorted(views, key=lambda view: view.rows.height)
    kinds: pl.DataFrame | None = None
    while waiting:
        check_cancelled()
        known = set() if kinds is None else set(kinds.columns)
        view = max(waiting, key=lambda one: len(known & set(one.columns)))
        waiting.remove(view)
        rows = _meeting(published, view.rows.select(view.columns), part)
        kinds = rows if kinds is None else _joined(kinds, rows, room)
    for name in published.sizes:
        if kinds is None or name not in kinds.columns:
            values = pl.DataFrame({name: _candidates(published, name, kinds)})
            values = _meeting(published, values, part)
            kinds = values if kinds is None else _joined(kinds, values, room)
    assert kinds is not None
    unmet = [place for place, met in enumerate(part) if not met]
    keep = np.ones(kinds.height, np.bool_)
    for place in unmet:
        keep &= ~published.met(place, kinds)
    return kinds.filter(pl.Series(keep))


def _meeting(published: Published, rows: pl.DataFrame, part: tuple[bool, ...]) -> pl.DataFrame:
    """Rows whose columns meet the conditions that are met in a part, as far as these columns tell."""
    for place, met in enumerate(part):
        for name, mask in published.boxes[place].items() if met else ():
            if name in rows.columns:
                rows = rows.filter(pl.Series(mask[rows[name].to_numpy()]))
    return rows


def _joined(left: pl.DataFrame, right: pl.DataFrame, room: int) -> pl.DataFrame:
    common = [name for name in left.columns if name in right.columns]
    if common:
        sizes = left.group_by(common).len().join(right.group_by(common).len(), on=common)
        height = int((sizes["len"].cast(pl.Float64) * sizes["len_right"]).sum())
    else:
        height = left.height * right.height
    if height > room:
        raise TooManyKinds
    return left.join(right, on=common) if common else left.join(right, how="cross")


def _candidates(published: Published, name: str, kinds: pl.DataFrame | None) -> np.ndarray:
    """Codes of a column that no view tells in a part; where only conditions tell anything about it, one of each that
    they take alike."""
    dependent = name in published.dependent
    if name == published.identity and not dependent and name not in published.classes and published.sizes[name] > 1:
        return np.array([SOMEBODY])
    nobody = kinds is not None and published.identity in kinds.columns and (kinds[published.identity] == SOMEBODY).all()
    told = name == published.identity or (name == published.value and not nobody)
    if dependent or told:
        return np.arange(published.sizes[name])
    if name in published.classes:
        return np.unique(published.classes[name], return_index=True)[1]
    return np.array([0])


def covers(published: Published, kinds: pl.DataFrame, views: Iterable[Projection]) -> pl.DataFrame:
    """Per person, the least number of values among which one is certainly theirs, as the join tells."""
    who, what = published.identity, published.value
    found = [pl.DataFrame(schema={who: pl.Int64, COUNT: pl.Int64})]
    for view in views:
        check_cancelled()
        inside = [number for number, part in enumerate(published.parts) if view.holds_in(part)]
        pieces = kinds.filter(pl.col(PART).is_in(inside)).group_by(view.columns)
        told = pieces.agg(
            pl.col(who).n_unique().alias("people"),
            pl.col(who).min().alias("person"),
            pl.col(what).n_unique().cast(pl.Int64).alias(COUNT),
        )
        told = told.filter((pl.col("people") == 1) & (pl.col("person") != SOMEBODY))
        found.append(told.select(pl.col("person").alias(who), COUNT))
    return pl.concat(found).group_by(who).agg(pl.col(COUNT).min())


def is_exact(published: Published) -> bool:
    """Whether nothing can be found but by joining: all views are distinct, nothing else is known, and the table has
    room for a row for each published one, so that every choice among the kinds of each is a table."""
    needed = sum(view.rows.height for view in published.views)
    room = not published.size_known or needed <= published.table.height
    return room and not published.dependencies and all(view.distinct for view in published.views)


def named_people(published: Published) -> np.ndarray:
    """Codes of those whom a view names, in a column or because a condition singles them out."""
    who = published.identity
    named = [view.rows[who].to_numpy() for view in published.views if who in view.columns]
    if who in published.classes:
        _, first, often = np.unique(published.classes[who], return_index=True, return_counts=True)
        named.append(first[often == 1])
    return np.unique(np.concatenate(named)) if named else np.zeros(0, np.int64)
