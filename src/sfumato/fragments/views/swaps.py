"""Other tables with the same views: two rows that agree in some columns swap what stands on one side of these.

Where a view, a condition or a dependency is about both sides at once, it would show the swap; so the columns in which
the rows agree have to part the two columns of the association. What comes of such a swap is a table that all views,
counts and dependencies allow: a person with one row can have each value of the rows that they agree with.
"""

from __future__ import annotations

from itertools import combinations

import polars as pl

from sfumato.core.progress import check_cancelled
from sfumato.fragments.views.joins import MOST_KINDS
from sfumato.fragments.views.published import Published

MOST_COLUMNS = 14  # all sets of so many columns are tried; of more, small sets


def possible_values(published: Published) -> pl.DataFrame:
    """Pairs of a person with one row and a value that swaps give them, or that they have."""
    who, what = published.identity, published.value
    table = published.table
    edges = []
    for name, of_value in published.classes.items():
        table = table.with_columns(pl.Series(f"{name} class", of_value)[table[name]].alias(f"{name} class"))
        edges.append({name, f"{name} class"})
    for view in published.views:
        asked = {name for place, _ in view.where for name in published.boxes[place]}
        edges.append({*view.columns, *(f"{name} class" for name in asked)})
    edges += [{*columns, to} for columns, to in published.dependencies]
    alone = table.filter(pl.len().over(who) == 1)
    found = [alone.select(who, what)]
    room = MOST_KINDS
    for apart in separators(edges, {*table.columns}, who, what):
        check_cancelled()
        if apart:
            others = table.select(*apart, what).unique()
            sizes = alone.group_by(apart).len().join(others.group_by(apart).len(), on=apart)
            room -= int((sizes["len"].cast(pl.Float64) * sizes["len_right"]).sum())
            pairs = alone.select(who, *apart) if room >= 0 else None
            found += [] if pairs is None else [pairs.join(others, on=apart).select(who, what)]
        else:
            room -= alone.height * table[what].n_unique()
            found += [] if room < 0 else [alone.select(who).join(table.select(what).unique(), how="cross")]
    return pl.concat(found).unique()


def separators(edges: list[set[str]], columns: set[str], one: str, other: str) -> list[list[str]]:
    """The least sets of columns without which no chain of edges leads from one column to the other.

    >>> separators([{"name", "sex"}, {"sex", "disease"}], {"name", "sex", "disease"}, "name", "disease")
    [['sex']]
    """
    between = sorted(columns - {one, other})
    most = len(between) if len(between) <= MOST_COLUMNS else 2
    found: list[set[str]] = []
    for size in range(most + 1):
        for chosen in map(set, combinations(between, size)):
            if not any(smaller <= chosen for smaller in found) and not _reaches(edges, chosen, one, other):
                found.append(chosen)
    return [sorted(chosen) for chosen in found]


def _reaches(edges: list[set[str]], without: set[str], one: str, other: str) -> bool:
    reached = {one}
    left = [edge - without for edge in edges]
    while True:
        near = [edge for edge in left if edge & reached]
        longer = reached.union(*near)
        if longer == reached:
            return other in reached
        reached = longer
