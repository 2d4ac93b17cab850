"""BasketRelease: baskets whose items were generalised or suppressed, verified from what is published of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.fingerprint import fingerprint, key
from sfumato.core.hierarchy import Categories, Hierarchy, Recipe
from sfumato.core.microdata import encode, reads_codes
from sfumato.core.progress import Progress
from sfumato.core.registry import field_values
from sfumato.core.wording import count, percent
from sfumato.engines.memory.table import Kind, leave
from sfumato.errors import ColumnError, EmptyTable, HierarchyError, Infeasible, PolicyError
from sfumato.hierarchies.spec import written
from sfumato.relational import BASKET_SEARCHES
from sfumato.relational.order import numbered
from sfumato.relational.values import BasketProblem, Baskets, BasketSearch, BasketSolution, ItemTree
from sfumato.release.release_set import ReleaseSet, SetTable, make_set

BASKETS = "baskets"  # the table, and who made it


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class BasketRelease(ReleaseSet):
    """Released baskets: `data` is a row for each basket and item, as the kind of frame that came in.

    Baskets have new numbers, in the order of their released items. `solution` says what stands for each item, and what
    was lost.
    """

    @property
    def data(self) -> Any:
        """The released baskets: a row for each item of each."""
        return self.tables[BASKETS]

    def described(self) -> tuple[str, Sequence[tuple[str, str]]]:
        """How many baskets there are, what was lost, and the promise."""
        title, facts = super().described()
        return title, [*facts, ("loss", f"NCP {percent(self.solution.loss)}")]


@dataclass(frozen=True, eq=False)
class BasketTable:
    """Baskets as they came in: the rows with a basket and an item each, and what kind of frame they were."""

    rows: pl.DataFrame  # basket, item
    basket: str  # what the columns are called
    item: str
    kind: Kind
    original: Any

    def coded(self, recipe: Recipe | None) -> tuple[Baskets, Categories]:
        """The baskets as sets of codes, and the items; neither a basket nor an item may be missing."""
        categories, item = encode(self.rows.get_column(self.item), reads_codes(self.rows.get_column(self.item), recipe))
        owners, basket = encode(self.rows.get_column(self.basket), as_text=True)
        for name, found, what in ((self.basket, owners, "name no basket"), (self.item, categories, "have no item")):
            if found.missing:
                rows = count(int(found.count[-1]), "row")
                raise ColumnError(f'{rows} of "{name}" {what}', hint="name or drop them")
        return Baskets.of(basket, item, len(categories)), categories


def release_baskets(
    table: BasketTable, promise: Any, recipe: Recipe | None, search: BasketSearch, report_progress: Progress
) -> BasketRelease:
    """Code the baskets, search, recode, and verify what would be published."""
    report_progress("reading the baskets", None)
    if not table.rows.height:
        raise EmptyTable("no basket has an item")
    baskets, categories = table.coded(recipe)
    items = tuple(text for text in categories.text if text is not None)
    hierarchy = flat_hierarchy(table.item, items) if recipe is None else recipe.build(categories)
    tree = ItemTree.of(hierarchy, items)
    if "" in tree.labels:
        raise HierarchyError(f'a label of the hierarchy of "{table.item}" is empty, as a missing item is')
    _refuse_strange(promise, items, table.item)
    problem = BasketProblem(baskets, items, tree, promise, report_progress)
    solution = search(problem)
    report_progress("recoding", None)
    released = baskets.mapped(solution.node_of_item, tree.size)
    if not released.height:
        raise Infeasible("no item can stay, and a release without baskets is refused", hint="promise less")
    report_progress("verifying", None)
    frame = numbered(released, tree.labels).rename({"basket": table.basket, "item": table.item})
    part = SetTable(
        BASKETS, frame, {table.basket: "group", table.item: "item"},
        lambda: leave(frame, table.original, table.kind, None, ()),
    )  # fmt: skip
    made = make_set(
        BASKETS,
        [part],
        [],
        [promise],
        policy={"item": table.item, "basket": table.basket},
        method=_method(search, solution, recipe, released, tree),
        before=None,  # how many baskets lost all of their items is nobody's business
        fingerprint=fingerprint(table.rows, key()),
        solution=solution,
    )
    return BasketRelease(**{field.name: getattr(made, field.name) for field in fields(made)})


def flat_hierarchy(name: str, items: tuple[str, ...]) -> Hierarchy:
    """Every item, or anything."""
    above = np.stack([np.arange(len(items)), np.zeros(len(items), np.int64)]).astype(np.int32)
    return Hierarchy(name, (items, ("*",)), above)


def _refuse_strange(promise: Any, items: Sequence[str], name: str) -> None:
    private = getattr(promise, "private", ())
    absent = len({*private} - {*items})
    if absent:
        what = f'{absent} of {len(private)} private items do not occur in "{name}"'
        raise PolicyError(what, hint="items match by their printed form")


def _method(
    search: BasketSearch, solution: BasketSolution, recipe: Recipe | None, released: Baskets, tree: ItemTree
) -> Mapping[str, Any]:  # fmt: skip
    """How the baskets were made, by figures of the released ones alone."""
    weight = tree.weight[released.item]
    known = written(recipe)  # of another hierarchy, how many items it has may hang on the table
    loss = float(weight.sum() / (len(weight) * int(tree.leaves[0]))) if known else None
    return {
        "search": BASKET_SEARCHES.name_of(search),
        **field_values(search),
        "hierarchy": "none: an item, or any item" if recipe is None else recipe.describe(),
        "baskets": released.height,
        "optimal": solution.optimal,
        **({} if loss is None else {"released_ncp": loss}),
    }
