"""Microaggregation as a search: classes are groups of near rows, and their labels what these have on average.

Domingo-Ferrer and Torra, Ordinal, continuous and heterogeneous k-anonymity through microaggregation, 2005.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from sfumato.core.labels import Labels, of_nodes, of_ranges, renamed
from sfumato.core.microdata import Attribute
from sfumato.core.protocols import Search
from sfumato.search.clustering.clusters import ClusterSpace, Field, class_order, lay_out, settled, with_rest
from sfumato.search.microaggregation.step import Microaggregation
from sfumato.search.mondrian.mondrian import labels_of
from sfumato.search.mondrian.parts import OrderedColumn
from sfumato.search.problem import CellSplit, Partition, Problem, Solution

COMMON = 32  # nodes of a level of a hierarchy, or values, that have a direction of their own
MOST = 6  # directions of a column; where there are more, the principal ones


@dataclass(frozen=True)
class AggregateSearch(Microaggregation, Search):
    """Microaggregation that is a search too: k comes from the policy, and the columns are the quasi-identifiers.

    Equal rows that are enough to be a class stay one. A column that was given a hierarchy prints the lowest node above
    its values; other numbers print their mean or median, dates their median, categories the most frequent one. Classes
    that fail other criteria join near ones until none fails. Missing values are values of their own.
    """

    code: ClassVar[str] = "CG_"
    guarantee: ClassVar[str] = "heuristic"
    splits: ClassVar[bool] = True

    @property
    def reproducible(self) -> bool:
        """Whether it gives the same groups again."""
        return True

    def traced_groups(self, field: Field, points: np.ndarray, x: np.ndarray) -> np.ndarray:
        """The same groups of some points with each step told, where it `traces`."""
        return self.groups(x, field.least)

    def __call__(self, problem: Problem) -> Solution:
        """Group the rows of the problem."""
        began = time.perf_counter()
        if self.columns or self.by:
            what = "columns and strata are for masking; a search takes the quasi-identifiers"
            raise self.refuse(what, got="columns" if self.columns else "by", hint="leave them out")
        field = lay_out(problem, self.name)
        if self.k is not None and self.k > field.least:
            what = "the size of classes follows from what is required"
            raise self.refuse(what, got=f"k={self.k}", hint="leave k out, or require k-anonymity with it")
        cells = field.problem.cells
        space = _AggregateSpace(problem.attributes, problem.policy.loss, "given", field.problem, self.aggregate)
        field = replace(field, space=space)
        of, loose = np.full(len(cells), -1), np.flatnonzero(~field.whole)
        if len(loose) >= field.least:
            problem.progress("grouping", None)
            matrix = np.concatenate([directions(a, c) for a, c in zip(problem.attributes, cells.codes, strict=True)], 1)
            if problem.trace is None:
                of[loose] = self.groups(matrix[loose], field.least)
            else:
                of[loose] = self.traced_groups(field, loose, matrix[loose])
        of = with_rest(field, of, None)
        return settled(field, of, began, int(of.max()) + 1, self.reproducible)


def directions(attribute: Attribute, codes: np.ndarray) -> np.ndarray:
    """A column as directions of a space in which it has variance 1: its number, or 0 and 1 for each value, or for each
    node on each level of its hierarchy; missing values have a direction of their own."""
    categories = attribute.categories
    values, count = len(categories), categories.count / categories.count.sum()
    sides: list[np.ndarray] = []
    if categories.ordered and attribute.hierarchy is None:
        known = values - categories.missing
        place = np.nan_to_num(attribute.positions[:known])
        share = count[:known] / max(count[:known].sum(), 1e-300)
        place = place - (place * share).sum()
        scale = np.sqrt((place**2 * share).sum())
        sides.append(np.append(place / (scale if scale > 0 else 1.0), np.zeros(values - known)))
        if categories.missing:
            sides.append((np.arange(values) == known).astype(np.float64))
    else:
        levels = [np.arange(values)] if attribute.hierarchy is None else list(attribute.ladder.of[:-1])
        for nodes in levels:
            rows = np.bincount(nodes, weights=count)
            sides += [(nodes == node).astype(np.float64) for node in np.sort(np.argsort(-rows, kind="stable")[:COMMON])]
    table = np.stack(sides, axis=1)
    table = table - count @ table
    if table.shape[1] > MOST:
        axes = np.linalg.eigh((table * count[:, None]).T @ table)[1][:, -MOST:]
        axes = axes * np.sign(axes[np.argmax(np.abs(axes), axis=0), np.arange(MOST)])
        table = np.round(table @ axes, 9)  # what differs by less is the same, whatever the machine
    spread = float((count @ table**2).sum())
    return np.asarray((table / np.sqrt(spread) if spread > 0 else table)[codes])


@dataclass(frozen=True, eq=False)
class _AggregateSpace(ClusterSpace):
    """A space whose classes print aggregates."""

    problem: Problem | None = None
    aggregate: str = "mean"

    def partition(self, points: np.ndarray, class_of_cell: np.ndarray, split: CellSplit | None = None) -> Partition:
        """The classes with what their rows have on average."""
        assert self.problem is not None
        cells = self.problem.cells
        order = class_order(class_of_cell)
        starts = np.flatnonzero(np.diff(class_of_cell[order], prepend=-1))
        rows = cells.count[order]
        labels = {
            a.name: aggregate_labels(a, codes[order], rows, starts, self.aggregate)
            for a, codes in zip(self.attributes, cells.codes, strict=True)
        }
        return Partition(class_of_cell.astype(np.int32), labels, split)


def aggregate_labels(
    attribute: Attribute, codes: np.ndarray, rows: np.ndarray, starts: np.ndarray, aggregate: str
) -> Labels:
    """The label of each class: of `rows` rows of each code, those of class c from starts[c]. Mixed with missing values
    it says nothing."""
    categories = attribute.categories
    if attribute.hierarchy is not None:
        nodes = attribute.ladder.of[:, codes]
        low, high = np.minimum.reduceat(nodes, starts, axis=1), np.maximum.reduceat(nodes, starts, axis=1)
        level = np.argmax(low == high, axis=0)
        return of_nodes(attribute, level, low[level, np.arange(len(starts))])
    if attribute.kind in ("integer", "decimal") and categories.ordered:
        line = OrderedColumn(attribute, np.arange(len(categories), dtype=np.int32), None, False)
        return labels_of(line, aggregate, codes, rows, starts)
    labels = of_ranges(attribute, np.minimum.reduceat(codes, starts), np.maximum.reduceat(codes, starts))
    of_piece = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(codes))))
    pick = _medians if categories.ordered else modes
    words = [categories.text[code] for code in pick(codes, rows, of_piece, len(starts)).tolist()]
    missing = labels.star & (labels.hi == len(categories) - 1) if categories.missing else np.zeros(len(labels.lo), bool)
    told = ~missing[labels.of]
    words = [word if here else labels.text[i] for word, here, i in zip(words, told, labels.of.tolist(), strict=True)]
    star = missing & (labels.lo < labels.hi)
    return replace(renamed(replace(labels, star=star), words), publishable=True)


def _medians(codes: np.ndarray, rows: np.ndarray, of: np.ndarray, classes: int) -> np.ndarray:
    """The code in the middle of each class, the lower of two."""
    order = np.lexsort((codes, of))
    size = np.bincount(of, weights=rows, minlength=classes).astype(np.int64)
    return codes[order[np.searchsorted(np.cumsum(rows[order]), np.cumsum(size) - size + (size - 1) // 2, side="right")]]


def modes(codes: np.ndarray, rows: np.ndarray, of: np.ndarray, classes: int) -> np.ndarray:
    """The most frequent code of each class, the first of several."""
    pairs, at = np.unique(of.astype(np.int64) * (int(codes.max()) + 1) + codes, return_inverse=True)
    often = np.bincount(at.reshape(-1), weights=rows)
    first = np.lexsort((pairs, -often, pairs // (int(codes.max()) + 1)))
    of_pair = (pairs // (int(codes.max()) + 1))[first]
    return (pairs % (int(codes.max()) + 1))[first[np.searchsorted(of_pair, np.arange(classes))]]
