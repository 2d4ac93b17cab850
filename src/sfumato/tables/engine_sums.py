"""A table whose sums are computed by an engine: one grouped query for the cells and, where contributors have several
rows, one for each level of totals, since what a contributor has in a total is added up first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import product
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.microdata import microdata
from sfumato.core.progress import Progress, check_cancelled
from sfumato.core.wording import count
from sfumato.engines.protocol import ASKING, COUNT, GROSS, PEOPLE, SUM, TOP, AmountFacts, Sums, SumsAsked
from sfumato.errors import ColumnError, EmptyTable
from sfumato.tables.values import Dimension, StatTable, check_size, dimension_of

MOST_DECIMALS = 6  # digits after the point that sums are exact to
EXACT = 2.0**53
NODE = "node"


def add_up(
    sums: Sums, asked: SumsAsked, hierarchies: Mapping[str, Any], report_progress: Progress, most: int
) -> StatTable:
    """The cells of a table, with all totals."""
    report_progress("adding up", None)
    facts = sums.facts(MOST_DECIMALS)
    check_facts(facts, asked)
    decimals = decimals_of(facts, asked)
    cells = sums.add_up(decimals, most)
    if not cells.height:
        raise EmptyTable("the table has no rows")
    times = cells.get_column(COUNT).to_numpy()
    roles = dict.fromkeys(asked.by, "insensitive")
    micro = microdata(cells.select(*asked.by, COUNT), roles, {name: hierarchies.get(name) for name in asked.by},
                      row_counts=times)  # fmt: skip
    made = [dimension_of(attribute.categories, attribute.hierarchy) for attribute in micro.schema]
    dimensions = tuple(dimension for dimension, _ in made)
    check_size(dimensions)
    leaf = {one.name: of[micro.codes[one.name]] for one, of in made}
    values = {name: pl.DataFrame({name: cells.get_column(name), NODE: nodes}).unique() for name, nodes in leaf.items()}
    arrays = _Arrays(dimensions, asked)
    arrays.put(tuple(one.leaf[leaf[one.name]] for one in dimensions), cells)
    if asked.contributor is None:
        arrays.totals()
    else:
        levels = [*product(*(range(len(one.level)) for one in dimensions))][1:]
        for done, at in enumerate(levels):
            check_cancelled()
            report_progress("adding up totals", done / len(levels))
            arrays.put(*_level(sums, dimensions, at, values))
    return arrays.table(asked, 10.0**decimals, decimals, facts.least < 0)


def check_facts(facts: AmountFacts, asked: SumsAsked) -> None:
    """Raise a ColumnError for what cannot be added up."""
    if facts.lost:
        name = asked.value or asked.weight
        raise ColumnError(f'"{name}" has no number in {count(facts.lost, "row")}',
                          hint="fill them, or leave the rows out")  # fmt: skip
    if facts.least_weight < 0:
        raise ColumnError(f'"{asked.weight}" has a weight below zero', allowed="weights of 0 and more")
    if facts.nobody:
        what = f'"{asked.contributor}" does not say in {count(facts.nobody, "row")} whose contribution it is'
        raise ColumnError(what, hint="fill the column, or leave the rows out")
    if facts.unclear:
        raise ColumnError(f'"{asked.request}" says who asked for confidentiality', allowed="true and false, or 1 and 0")


def decimals_of(facts: AmountFacts, asked: SumsAsked) -> int:
    """How many digits after the point amounts are added up with."""
    if asked.value is None and asked.weight is None:
        return 0
    if facts.decimals is not None and facts.gross * 10**facts.decimals < EXACT:
        return facts.decimals
    return max(0, min(MOST_DECIMALS, 14 - Decimal(facts.gross).adjusted())) if facts.gross else 0


def _level(
    sums: Sums, dimensions: Sequence[Dimension], levels: Sequence[int], values: Mapping[str, pl.DataFrame]
) -> tuple[tuple[np.ndarray, ...], pl.DataFrame]:
    """The cells at some levels, and what the engine has of them."""
    nodes: dict[str, pl.DataFrame | None] = {}
    missing: dict[str, int] = {}
    for one, level in zip(dimensions, levels, strict=True):
        known = values[one.name]
        place = one.level[level][known.get_column(NODE).to_numpy()]
        if not place.any():  # the root alone
            continue
        nodes[one.name] = None
        if level:
            frame = known.select(one.name, pl.Series(NODE, place.astype(np.int64)))
            nodes[one.name] = frame
            lacks = frame.filter(pl.col(one.name).is_null())
            missing |= {one.name: int(lacks.item(0, 1))} if lacks.height else {}
    found = sums.totals(nodes, missing)
    at = []
    for one in dimensions:
        if one.name not in nodes:
            at.append(np.zeros(found.height, np.int64))
        elif nodes[one.name] is None:
            column = found.select(one.name).join(values[one.name], on=one.name, how="left", nulls_equal=True,
                                                 maintain_order="left")  # fmt: skip
            at.append(one.leaf[column.get_column(NODE).to_numpy()].astype(np.int64))
        else:
            at.append(found.get_column(one.name).to_numpy())
    return tuple(at), found


class _Arrays:
    """The arrays of a table, which are filled level by level."""

    def __init__(self, dimensions: tuple[Dimension, ...], asked: SumsAsked) -> None:
        self.dimensions, self.ones = dimensions, asked.value is None and asked.weight is None
        self.shape, self.most = tuple(len(one) for one in dimensions), asked.largest
        self.whole = {name: np.zeros(self.shape, np.int64) for name in (COUNT, SUM, GROSS, PEOPLE)}
        if asked.request is not None:
            self.whole[ASKING] = np.zeros(self.shape, np.int64)
        self.top = np.zeros((*self.shape, self.most))
        self.alone = asked.contributor is None

    def put(self, at: tuple[np.ndarray, ...], found: pl.DataFrame) -> None:
        """Fill in cells."""
        for name, array in self.whole.items():
            array[at] = found.get_column(name).to_numpy()
        ranks = np.arange(self.most)
        if self.ones and self.alone:  # each row is 1
            self.top[at] = ranks < found.get_column(COUNT).to_numpy()[:, None]
        else:
            self.top[at] = np.stack([found.get_column(f"{TOP}{rank + 1}").to_numpy() for rank in ranks], -1)

    def totals(self) -> None:
        """Totals of rows that are contributors of their own, from the cells without parts."""
        leaves = np.ix_(*(one.leaf for one in self.dimensions))
        for name, array in self.whole.items():
            cells = array[leaves]
            for axis, one in enumerate(self.dimensions):
                cells = one.added_up(cells, axis)
            self.whole[name] = cells
        top = self.top[leaves]
        for axis, one in enumerate(self.dimensions):
            found = np.zeros((len(one), *np.delete(top.shape, axis)))
            found[one.leaf] = np.moveaxis(top, axis, 0)
            for node in range(len(one) - 1, -1, -1):
                if len(below := one.children[node]):
                    parts = np.moveaxis(found[below], 0, -2)
                    every = np.sort(parts.reshape(*parts.shape[:-2], -1))[..., ::-1]
                    found[node] = every[..., : self.most]
            top = np.moveaxis(found, 0, axis)
        self.top = top

    def table(self, asked: SumsAsked, scale: float, decimals: int, negative: bool) -> StatTable:
        """The table that they make."""
        of = self.whole
        return StatTable(
            self.dimensions, asked.value, of[COUNT], of[SUM] / scale, of[PEOPLE], self.top / scale, of[GROSS] / scale,
            decimals, of.get(ASKING), negative=negative,
        )  # fmt: skip
