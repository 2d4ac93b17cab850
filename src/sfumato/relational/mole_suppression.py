"""Suppression of items until there is no mole: Y. Xu, K. Wang, A. W.-C. Fu and P. S. Yu, Anonymizing transaction
databases for publication, KDD 2008, sections 4 and 5.

A mole is a set of at most p public items that some baskets have, yet fewer than k, or of which more than a share h has
the same private item; a minimal one has no smaller mole in it. Single items that are moles are suppressed first. Then,
while a minimal mole is left, the public item is suppressed everywhere that is in most minimal moles for each occurrence
that is lost. Suppressing an item changes the baskets of no set without it, so no new mole comes up.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from time import perf_counter
from typing import Annotated, ClassVar

import numpy as np
import polars as pl

from sfumato.core.compiled import warn_of_compiling
from sfumato.core.parameters import Whole, check_fields
from sfumato.core.progress import check_cancelled
from sfumato.core.wording import count
from sfumato.relational.apriori import MOST_SETS
from sfumato.relational.count_tree import count_tree
from sfumato.relational.values import BasketProblem, Baskets, BasketSolution, ItemTree, ncp

EXACT = 1e-12


@dataclass(frozen=True)
class MoleSuppression:
    """Greedy suppression of public items, by how many minimal moles each is in and how often it occurs.

    max_sets: how many sets of items are held in memory, at most.
    """

    max_sets: Annotated[int, Whole(1)] = MOST_SETS

    optimal: ClassVar[bool] = False
    model: ClassVar[str] = "hkp-coherence"

    def __post_init__(self) -> None:
        check_fields(self, "mole-suppression")

    def __call__(self, problem: BasketProblem) -> BasketSolution:
        """The items that stay: of the others, -1 in place of their nodes."""
        since = perf_counter()
        warn_of_compiling(problem.report_progress)
        moles, checks = minimal_moles(problem, self.max_sets)
        gone = np.zeros(len(problem.items), np.bool_)
        support = problem.baskets.support(len(problem.items))
        often = np.zeros(len(problem.items), np.int64)
        left = []
        for found in moles:
            if len(found) == 1:
                gone[found[0]] = True
            else:
                left.append(found)
                often += np.bincount(found.ravel(), minlength=len(often))
        while often.any():
            check_cancelled()
            with np.errstate(divide="ignore", invalid="ignore"):
                worth = np.where(often > 0, often / support, 0.0)
            item = int(np.argmax(worth))  # of those that are worth as much, the first
            gone[item] = True
            for at, found in enumerate(left):
                hit = (found == item).any(axis=0)
                often -= np.bincount(found[:, hit].ravel(), minlength=len(often))
                left[at] = found[:, ~hit]
        kept = np.where(gone, -1, problem.tree.node_of_item)
        return BasketSolution(kept, ncp(problem, kept), False, checks, perf_counter() - since)


def minimal_moles(problem: BasketProblem, most: int) -> tuple[list[np.ndarray], int]:
    """The minimal moles by their size, a column of item codes each, and how many sets were looked at."""
    promise, items = problem.promise, len(problem.items)
    known = set(promise.private)
    private = np.array([text in known for text in problem.items], np.bool_)
    found: list[np.ndarray] = []
    checks = 0
    open_items = np.where(private, -1, np.arange(items))
    for size in range(1, promise.p + 1):
        problem.report_progress(f"counting sets of {count(size, 'public item')}", (size - 1) / promise.p)
        public = problem.baskets.mapped(open_items, items)
        if size > public.longest:
            break
        sets = _counted(public, items, size, most)
        checks += sets.height
        names = sets.columns[:-1]
        worst = pl.Series("worst", np.zeros(sets.height, np.int64))
        for item in np.flatnonzero(private):
            check_cancelled()
            with_it = np.unique(problem.baskets.basket()[problem.baskets.item == item])
            some = _some(problem.baskets, with_it).mapped(open_items, items)
            if some.longest >= size:
                here = _counted(some, items, size, most).rename({"support": "here"})
                both = sets.join(here, on=names, how="left", maintain_order="left").get_column("here").fill_null(0)
                worst = pl.select(pl.max_horizontal(worst, both)).to_series().alias("worst")
        sets = sets.with_columns(worst)
        is_mole = (pl.col("support") < promise.k) | (pl.col("worst") > promise.h * pl.col("support") + EXACT)
        moles = sets.filter(is_mole).select(names)
        for smaller in found[1:]:  # items that are moles by themselves are out of the baskets
            for places in combinations(names, len(smaller)):
                parts = pl.DataFrame(dict(zip(places, smaller, strict=True)))
                moles = moles.join(parts, on=list(places), how="anti") if parts.height else moles
        found.append(moles.to_numpy().T.astype(np.int64))
        if size == 1:
            open_items = np.where(np.isin(open_items, found[0][0]), -1, open_items)
    return found, checks


def _counted(baskets: Baskets, items: int, size: int, most: int) -> pl.DataFrame:
    """The sets of so many items that some baskets have, ascending, a column for each place, and their supports."""
    tree = ItemTree.flat(items)
    counted = count_tree(baskets, tree, tree.node_of_item, size, most, above=False)
    codes = np.sort(counted.node[counted.sets] - 1, axis=0)  # node 0 is the root
    columns = {f"place {i}": column for i, column in enumerate(codes)}
    found = pl.DataFrame(columns | {"support": counted.support})
    return found.sort(list(columns))


def _some(baskets: Baskets, which: np.ndarray) -> Baskets:
    """Some of the baskets."""
    there = np.zeros(baskets.height, np.bool_)
    there[which] = True
    size = np.where(there, np.diff(baskets.start), 0)
    start = np.concatenate([[0], np.cumsum(size[there])]).astype(np.int64)
    return Baskets(start, baskets.item[np.repeat(there, np.diff(baskets.start))])
