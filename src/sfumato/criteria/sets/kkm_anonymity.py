"""(k,k^m)-anonymity: G. Poulis, G. Loukides, A. Gkoulalas-Divanis and S. Skiadopoulos, Anonymizing data with relational
and transaction attributes, ECML PKDD 2013."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, ClassVar

import polars as pl

from sfumato.core.parameters import Whole
from sfumato.core.protocols import Side
from sfumato.core.wording import count
from sfumato.criteria.audit import Finding
from sfumato.criteria.sets.itemsets import PublishedBaskets, supports
from sfumato.criteria.sets.model import SetModel
from sfumato.criteria.sets.published import PublishedSet, only
from sfumato.errors import PolicyError

BREAK = "\0"  # between the items of a basket, where baskets are compared as texts


@dataclass(frozen=True)
class KKMAnonymity(SetModel):
    """Whoever knows the quasi-identifiers of a person and any m of their items finds at least k people.

    A class is the people whose quasi-identifiers look alike; the items of each are in a second table.

    Parameters: `k`, how many people an attacker is left with at least; `m`, how many items of a person the attacker
    knows at most.

    >>> KKMAnonymity(5, 2).sentence()
    'Whoever knows the quasi-identifiers of a person and up to 2 of their items finds at least 5 people, or none.'
    """

    k: Annotated[int, Whole(1)]
    m: Annotated[int, Whole(1)]

    bounded_by: ClassVar[str] = "k"
    side: ClassVar[Side] = "at least"

    def sentence(self) -> str:
        """The promise in words."""
        if self.k == 1:
            return "A person may be the only one with their values and items: k = 1 promises nothing."
        known = "one of their items" if self.m == 1 else f"up to {self.m} of their items"
        found = f"finds at least {self.k} people, or none."
        return f"Whoever knows the quasi-identifiers of a person and {known} {found}"

    def audit(self, published: PublishedSet) -> Finding:
        """What the tables say: the fewest people of a class, or of one with some m items together."""
        people, items = _people_and_items(published)
        sizes = people.group_by("class").agg(pl.col("number").n_unique().alias("size")).get_column("size")
        least, small = int(sizes.to_numpy().min(initial=people.height)), int((sizes < self.k).sum())
        rows = items.join(people.select("number", "class"), on="number", how="left")
        own = pl.format("{} {}", "class", "item")  # an item of another class is another item
        baskets = PublishedBaskets.of(rows.get_column("number"), rows.select(own.alias("item")).to_series())
        rare = 0
        for found in supports(baskets, self.m):
            least = min(least, int(found.baskets.min()))
            rare += int((found.baskets < self.k).sum())
        notes = [f"{count(small, 'class', 'classes')} of fewer than {self.k} people"] if small else []
        notes += [f"{count(rare, 'set')} of items in a class of fewer than {self.k} people"] if rare else []
        return Finding(not notes and least >= self.k, least, self.k, small, "; ".join(notes) or None)


def _people_and_items(published: PublishedSet) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The people by number and class, and the items by number; the numbers must say nothing: they follow each other in
    the order of the quasi-identifiers and, of equal ones, of the items."""
    grouped = [table for table in published.tables.values() if table.columns("group")]
    of_people = [table for table in grouped if table.columns("quasi") and not table.columns("item")]
    of_items = [table for table in grouped if table.columns("item")]
    if len(of_people) != 1 or len(of_items) != 1:
        what = "people are one table with quasi-identifiers, and their items another, joined by numbers"
        raise PolicyError(what, got=f"{len(of_people)} and {len(of_items)} such tables")
    [who], [what_they_have] = of_people, of_items
    number, owner = who.numbers(who.column("group")), what_they_have.numbers(what_they_have.column("group"))
    if number is None or owner is None:
        raise PolicyError("the numbers of the people are no whole numbers")
    shown = {who.column("group"): "group"} | dict.fromkeys(who.columns("quasi"), "quasi")
    had = {what_they_have.column(role): role for role in ("group", "item")}
    only(published, {
        table.name: {re.escape(name): role for name, role in own.items()}
        for table, own in ((who, shown), (what_they_have, had))
    })  # fmt: skip
    labels = who.texts.select(who.columns("quasi"))
    labels = labels.rename({name: f"q {i}" for i, name in enumerate(labels.columns)})
    people = labels.with_columns(pl.Series("number", number)).sort("number")
    items = pl.DataFrame({"number": owner, "item": what_they_have.texts.get_column(what_they_have.column("item"))})
    if items.get_column("item").null_count():
        raise PolicyError("an item is missing")
    if people.get_column("number").n_unique() < people.height:
        raise PolicyError("a person is listed twice")
    first = 1
    while people.height > 9 * first:
        first *= 10
    if people.get_column("number").to_list() != list(range(first, first + people.height)):
        raise PolicyError("the people are not numbered one after another")
    if (strange := items.join(people, on="number", how="anti").height) or items.is_duplicated().any():
        raise PolicyError("the items are not those of the people listed, once each", got=f"{strange} of nobody")
    joined = items.sort("number", "item").group_by("number", maintain_order=True).agg(pl.col("item").str.join(BREAK))
    whole = people.join(joined, on="number", how="left", maintain_order="left")
    order = [*labels.columns, "item"]
    if not whole.select(order).equals(whole.select(order).sort(order, nulls_last=True)):
        raise PolicyError("the people are numbered otherwise than in the order of what is released of them")
    named = whole.with_columns(pl.struct(labels.columns).rank("dense").alias("class"))
    return named.select("number", "class"), items
