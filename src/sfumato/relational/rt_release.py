"""Relational and transaction data together: people by their quasi-identifiers, and the items of each in a table beside.

The classes of the people are those of a search for k-anonymity; in each of them items are generalised by themselves, as
much as its own people need. G. Poulis, G. Loukides, A. Gkoulalas-Divanis and S. Skiadopoulos, Anonymizing data with
relational and transaction attributes, ECML PKDD 2013, define the promise; how classes and items share the loss is ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from time import perf_counter

import numpy as np
import polars as pl

from sfumato.core.fingerprint import fingerprint, key
from sfumato.core.hierarchy import Hierarchy, Recipe
from sfumato.core.printed import printed
from sfumato.core.progress import Progress, check_cancelled
from sfumato.core.registry import field_values
from sfumato.core.wording import percent
from sfumato.criteria.sets import KKMAnonymity, KMAnonymity
from sfumato.criteria.sets.published import TableLink
from sfumato.engines.memory.table import leave
from sfumato.errors import ColumnError, HierarchyError
from sfumato.relational import BASKET_SEARCHES
from sfumato.relational.basket_release import BasketTable, flat_hierarchy
from sfumato.relational.values import BasketProblem, Baskets, BasketSearch, BasketSolution, ItemTree
from sfumato.release.release_set import ReleaseSet, SetTable, make_set

PEOPLE, ITEMS, MADE_BY = "people", "items", "people with items"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PeopleRelease(ReleaseSet):
    """Released people and their items: `tables["people"]` has a row for each person, `tables["items"]` one for each
    item of each; both have new numbers, in the order of what is released.

    `solution` says what was lost of the items, `people_loss` what of the quasi-identifiers.
    """

    people_loss: float

    def described(self) -> tuple[str, Sequence[tuple[str, str]]]:
        """How many people there are, what was lost, and the promise."""
        title, facts = super().described()
        return title, [*facts, ("loss of items", f"NCP {percent(self.solution.loss)}")]


@dataclass(frozen=True, eq=False)
class LabelledPeople:
    """People under the labels of their classes: the column that names them, as texts, and their labels."""

    frame: pl.DataFrame  # person, then quasi-identifiers
    quasi: tuple[str, ...]
    loss: float
    search: str


def release_people(
    table: BasketTable,
    people: LabelledPeople,
    promise: KKMAnonymity,
    recipe: Recipe | None,
    search: BasketSearch,
    report_progress: Progress,
) -> PeopleRelease:
    """Generalise the items of each class, and verify what would be published."""
    if table.item in people.quasi:
        raise ColumnError(f'"{table.item}" cannot be the column of items and a quasi-identifier')
    report_progress("reading the items", None)
    baskets, categories = table.coded(recipe)
    items = tuple(text for text in categories.text if text is not None)
    hierarchy = flat_hierarchy(table.item, items) if recipe is None else recipe.build(categories)
    owners = printed(table.rows.get_column(table.basket)).unique().sort()
    labels = people.frame.select(table.basket, *people.quasi)
    labels = owners.to_frame(table.basket).join(labels, on=table.basket, how="left", maintain_order="left")
    of_person = labels.select(pl.struct(people.quasi).rank("dense").cast(pl.Int64)).to_series().to_numpy() - 1
    rows, solution = _by_class(baskets, items, hierarchy, of_person, promise, search, report_progress)
    report_progress("verifying", None)
    tables = _numbered(labels, people.quasi, rows, table)
    roles = {
        PEOPLE: {table.basket: "group", **dict.fromkeys(people.quasi, "quasi")},
        ITEMS: {table.basket: "group", table.item: "item"},
    }
    parts = [_part(name, frame, roles[name], table) for name, frame in tables.items()]
    made = make_set(
        MADE_BY,
        parts,
        [TableLink("join", (PEOPLE, ITEMS), (table.basket,))],
        [promise],
        policy={"item": table.item, "basket": table.basket, "quasi": list(people.quasi)},
        method={
            "search": BASKET_SEARCHES.name_of(search),
            **field_values(search),
            "people": people.search,
            "hierarchy": "none: an item, or any item" if recipe is None else recipe.describe(),
        },
        before=None,
        fingerprint=fingerprint(table.rows, key()),
        solution=solution,
    )
    known = {field.name: getattr(made, field.name) for field in fields(made)}
    return PeopleRelease(**known, people_loss=people.loss)


def _part(name: str, frame: pl.DataFrame, roles: Mapping[str, str], table: BasketTable) -> SetTable:
    """A table of the set, handed back as the kind of frame that came in."""
    return SetTable(name, frame, roles, lambda: leave(frame, table.original, table.kind, None, ()))


def _by_class(
    baskets: Baskets,
    items: Sequence[str],
    hierarchy: Hierarchy,
    of_person: np.ndarray,
    promise: KKMAnonymity,
    search: BasketSearch,
    report_progress: Progress,
) -> tuple[pl.DataFrame, BasketSolution]:
    """The released items of each person, by number, and what all classes lose together."""
    since = perf_counter()
    owner = baskets.basket()
    order = np.argsort(of_person[owner], kind="stable")
    owner, item = owner[order], baskets.item[order]
    ends = np.append(np.flatnonzero(np.diff(of_person[owner])) + 1, len(owner))
    found, lost, checks, begin = [], 0.0, 0, 0
    for end in ends.tolist():
        check_cancelled()
        report_progress("generalising items", begin / len(owner))
        here, codes = np.unique(item[begin:end], return_inverse=True)
        who, number = np.unique(owner[begin:end], return_inverse=True)
        texts = [items[code] for code in here.tolist()]
        tree = ItemTree.of(hierarchy, texts)
        if "" in tree.labels:
            raise HierarchyError(f'a label of the hierarchy of "{hierarchy.attribute}" is empty, as a missing item is')
        own = Baskets.of(number, codes, len(here))
        made = search(BasketProblem(own, tuple(texts), tree, KMAnonymity(promise.k, promise.m)))
        released = own.mapped(made.node_of_item, tree.size)
        label = pl.Series(tree.labels, dtype=pl.String).gather(released.item)
        found.append(pl.DataFrame({"person": who[released.basket()], "item": label}))
        lost += made.loss * (end - begin)
        checks, begin = checks + made.checks, end
    solution = BasketSolution(np.zeros(0, np.int64), lost / len(owner), False, checks, perf_counter() - since)
    return pl.concat(found).unique(), solution


def _numbered(
    labels: pl.DataFrame, quasi: Sequence[str], rows: pl.DataFrame, table: BasketTable
) -> dict[str, pl.DataFrame]:
    """Both tables, with numbers in the order of the labels and, of equal ones, of the items."""
    texts = rows.sort("person", "item").group_by("person", maintain_order=True).agg(pl.col("item").str.join("\0"))
    names = [f"q {i}" for i in range(len(quasi))]
    shown = labels.select(quasi).rename(dict(zip(quasi, names, strict=True))).with_row_index("person")
    shown = shown.with_columns(pl.col("person").cast(pl.Int64)).join(texts, on="person", how="left")
    shown = shown.sort(*names, "item", nulls_last=True)
    first = 1
    while shown.height > 9 * first:
        first *= 10
    number = pl.Series(table.basket, np.arange(first, first + shown.height))
    people = shown.select(names).rename(dict(zip(names, quasi, strict=True))).insert_column(0, number)
    of = shown.select("person").with_columns(number.alias("number"))
    items = rows.join(of, on="person").select(pl.col("number").alias(table.basket), pl.col("item").alias(table.item))
    return {PEOPLE: people, ITEMS: items.sort(table.basket, table.item)}
