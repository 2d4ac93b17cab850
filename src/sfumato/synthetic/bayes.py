"""A Bayesian network of bounded degree, from counts; Zhang, Cormode, Procopiuc, Srivastava and Xiao, "PrivBayes", ACM
Transactions on Database Systems 42, 2017, without its noise; of degree 1 the tree of Chow and Liu, "Approximating
discrete probability distributions with dependence trees", 1968."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from sfumato.core.parameters import OneOf, Real, Whole
from sfumato.core.wording import count, number
from sfumato.synthetic.columns import SyntheticColumn, decoded
from sfumato.synthetic.counts import (
    INSIDE,
    CodedColumn,
    CodedTable,
    Count,
    frequent_groups,
    mutual_information,
    pair_information,
    spanning_order,
    tuples,
)
from sfumato.synthetic.generator import FitContext, SyntheticGenerator
from sfumato.synthetic.model import FittedModel

TRIED = 10  # columns that are tried for a further one that a column depends on
MOST_DEGREE = 8


@dataclass(frozen=True)
class Bayes(SyntheticGenerator):
    """A network in which each column depends on at most `degree` others, drawn one column after the other.

    Columns are ordered as the tree of the largest mutual information grows, and each depends on the columns before it
    that tell the most of it, one after the other, while they tell more than chance would. Numbers are cut into `bins`
    of about equal counts, frequent ones each by itself; inside a bin a value is one of its own (`inside` "donor"), or
    any of its range ("uniform"); unless given one of its own, or between two where most rows have one alone. A column
    that others depend on has 64 groups of values at most: its rarer levels are one. Where n rows have the values that a
    column depends on, it is drawn from these rows in n of n + `alpha` cases, else from those that agree in all but the
    last of these values: with a larger `alpha` rows are less like those of people, and less useful.

    degree: how many columns a column depends on at most. bins: into how many a column of numbers is cut. alpha: how
    much counts of few rows give way to those of more. inside: how a number is drawn inside a bin.

    Counts are all it needs: `fit_counts` learns from those of an engine, of a table larger than memory.
    """

    degree: Annotated[Any, Whole(0, MOST_DEGREE)] = 2
    bins: Annotated[Any, Whole(2, 1000)] = 20
    alpha: Annotated[Any, Real()] = 1.0
    inside: Annotated[Any, OneOf(INSIDE)] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.settle(alpha=float(self.alpha))

    fits_counts: ClassVar[bool] = True
    leaves: ClassVar[str] = (
        "Counts of a few rows, and values that only one person can have, are drawn as any other. How columns go "
        "together that the network does not join is kept only as far as those between them carry it."
    )

    @property
    def pairs(self) -> bool:
        """Those that the network joins are kept, and others as far as it carries."""
        return False

    def sentence(self) -> str:
        """How the rows were made."""
        drawn = "" if self.alpha == 0 else f", smoothed by {number(self.alpha)} row{'s' * (self.alpha != 1)}"
        return f"rows of a network in which each column depends on {count(self.degree, 'other')} at most{drawn}"

    def fit(self, table: pl.DataFrame, context: FitContext) -> BayesModel:
        """Learn from rows."""
        return self._learn(CodedTable.of(table, self.bins), context)

    def fit_counts(self, count: Count, columns: Mapping[str, pl.DataType], context: FitContext) -> BayesModel:
        """Learn from counts alone: `count` gives the distinct tuples of some columns, and how many rows have each;
        `columns` are their types."""
        return self._learn(CodedTable.counted(count, columns, self.bins), context)

    def _learn(self, table: CodedTable, context: FitContext) -> BayesModel:
        groups = [frequent_groups(column) for column in table.columns]
        context.report_progress("how columns go together", None)
        information = pair_information(table, groups) if self.degree else np.zeros((len(groups),) * 2)
        placed: list[int] = []
        nodes: list[Node] = []
        for x, parent in spanning_order(information):
            parents = [] if parent == x else self._parents(table, groups, information, x, parent, placed)
            nodes.append(Node.of(table, groups, x, parents))
            placed.append(x)
            context.report_progress("learning", len(placed) / len(groups))
        return BayesModel(table.columns, tuple(groups), tuple(nodes), self.alpha, self.inside)

    def _parents(
        self,
        table: CodedTable,
        groups: Sequence[np.ndarray],
        information: np.ndarray,
        x: int,
        parent: int,
        placed: Sequence[int],
    ) -> list[int]:
        """The columns that one depends on: that which tells the most, and others while they tell more."""
        chosen, told = [parent], information[x, parent]
        likely = sorted((y for y in placed if y != parent), key=lambda y: -information[x, y])
        while len(chosen) < self.degree:
            best = None
            for y in [y for y in likely if y not in chosen][:TRIED]:
                which = [x, *chosen, y]
                codes, rows = table.codes(which)
                grouped = [groups[i][code] for i, code in zip(which, codes, strict=True)]
                sizes = [int(groups[i].max()) + 1 for i in which]
                one, two, both = (
                    tuples(grouped[part], sizes[part], rows)[1] for part in (slice(1), slice(1, None), slice(None))
                )
                more = mutual_information(one, two, both)
                if more > told:
                    best, told = y, more
            if best is None:
                break
            chosen.append(best)
        return chosen


@dataclass(frozen=True, eq=False, repr=False)
class Node:
    """A column that depends on others: for all of them, all but the last and so on to none, which of its codes come
    with which of their combinations, and how often."""

    column: int
    parents: tuple[int, ...]
    keys: tuple[np.ndarray, ...]  # combinations that are there, ascending, of so many of the parents
    start: tuple[np.ndarray, ...]  # rows before those of each combination
    code: tuple[np.ndarray, ...]  # of the column, by combination
    upto: tuple[np.ndarray, ...]  # rows up to those of each code

    @staticmethod
    def of(table: CodedTable, groups: Sequence[np.ndarray], x: int, parents: Sequence[int]) -> Node:
        """Count a column with those that it depends on."""
        codes, rows = table.codes((x, *parents))
        found = []
        for many in range(len(parents) + 1):
            key = _keys(groups, parents[:many], codes[1 : many + 1], len(codes[0]))
            of, often = tuples([key, codes[0]], [_domain(groups, parents[:many]), table.columns[x].size], rows)
            first = np.zeros(len(often), np.int64)
            first[of] = np.arange(len(of))  # any entry of each tuple
            keys, at = np.unique(key[first], return_index=True)  # tuples come in order
            upto = np.cumsum(often)
            found.append((keys, np.append((upto - often)[at], upto[-1:]), codes[0][first], upto))
        return Node(x, tuple(parents), *(tuple(parts) for parts in zip(*found, strict=True)))

    def draw(
        self,
        drawn: dict[int, np.ndarray],
        groups: Sequence[np.ndarray],
        rows: int,
        alpha: float,
        rng: np.random.Generator,
    ) -> np.ndarray:
        """A code for each row, given those of the columns before."""
        found = np.empty(rows, np.int64)
        left = np.arange(rows)
        for many in range(len(self.parents), -1, -1):
            some = self.parents[:many]
            key = _keys(groups, some, [drawn[y][left] for y in some], len(left))
            at = np.minimum(np.searchsorted(self.keys[many], key), len(self.keys[many]) - 1)
            first = self.start[many][at]
            size = np.where(self.keys[many][at] == key, self.start[many][at + 1] - first, 0)
            taken = (rng.random(len(left)) * (size + alpha) < size) if many else np.ones(len(left), np.bool_)
            row = first + np.floor(rng.random(len(left)) * size).astype(np.int64)
            found[left[taken]] = self.code[many][np.searchsorted(self.upto[many], row[taken], side="right")]
            left = left[~taken]
        return found


@dataclass(frozen=True, eq=False, repr=False)
class BayesModel(FittedModel):
    """A network and its counts."""

    parts: ClassVar[tuple[type, ...]] = (SyntheticColumn, CodedColumn, Node)

    columns: tuple[CodedColumn, ...]
    groups: tuple[np.ndarray, ...]
    nodes: tuple[Node, ...]
    alpha: float
    inside: str | None

    def draw(self, rows: int, rng: np.random.Generator) -> pl.DataFrame:
        """Draw one column after the other."""
        drawn: dict[int, np.ndarray] = {}
        for node in self.nodes:
            drawn[node.column] = node.draw(drawn, self.groups, rows, self.alpha, rng)
        values = [column.values(drawn[i], rng, self.inside) for i, column in enumerate(self.columns)]
        return decoded([column.column for column in self.columns], values)


def _domain(groups: Sequence[np.ndarray], which: Sequence[int]) -> int:
    return int(np.prod([int(groups[y].max()) + 1 for y in which], dtype=np.int64))


def _keys(groups: Sequence[np.ndarray], which: Sequence[int], codes: Sequence[np.ndarray], rows: int) -> np.ndarray:
    """A number for each combination of groups: of 64 at most, so that eight columns fit into it."""
    key = np.zeros(rows, np.int64)
    for y, code in zip(which, codes, strict=True):
        key = key * (int(groups[y].max()) + 1) + groups[y][code]
    return key
