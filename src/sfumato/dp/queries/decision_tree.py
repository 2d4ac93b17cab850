"""Decision tree by the exponential mechanism; Friedman and Schuster, "Data mining with differential privacy", 2010 (Max
operator)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from sfumato.core.parameters import Column, ColumnNames, Whole, Written
from sfumato.core.printed import printed
from sfumato.dp.queries.learning import BINS, Adaptive, Binned, Learning, codes_of, settle_names
from sfumato.dp.queries.query import Draw, Law, Part
from sfumato.dp.rows import PrivateRows, RowView
from sfumato.dp.values import Public, Unit

DEPTH, DEEPEST = 3, 8


@dataclass(frozen=True)
class DecisionTreeModel:
    """A decision tree: a split with its two branches, or a leaf with its class and the noisy counts of all classes."""

    target: str
    classes: Sequence[str]
    tree: Mapping[str, Any]

    def predict(self, frame: pl.DataFrame) -> pl.Series:
        """The class of each row; a row that lacks the value of a split goes where the others go."""
        names = sorted(_names(self.tree))
        columns = [frame.get_column(name) for name in names]
        known = pl.DataFrame([own if own.dtype.is_numeric() else printed(own) for own in columns])
        texts = known.with_columns(printed(own).alias(f"= {own.name}") for own in columns)
        if not names:
            return pl.Series(self.target, [self.tree["class"]] * frame.height, pl.String)
        return texts.select(_branch(self.tree).alias(self.target)).to_series()


@dataclass(frozen=True)
class DecisionTree(Learning, Adaptive):
    """A decision tree of a category with public values, of a stated depth, by splits at public edges and values.

    In each node a split is drawn, likelier the more rows are in the largest classes of its two branches. The nodes of
    a depth have no row in common, so that all of them cost as much as one.

    depth: how many splits lead to a leaf. bins: how many a feature with bounds is cut into.
    """

    target: Annotated[str, Column()]
    features: Annotated[Any, ColumnNames()]
    depth: Annotated[int, Whole(1, DEEPEST)] = DEPTH
    bins: Annotated[int, Whole(2, 1000)] = BINS
    where: Annotated[Any, Written("text")] = None
    how: ClassVar[str] = (
        "the score of a split is how many rows are in the largest class of each branch, which a row that comes raises "
        "by 1 at most, in one node of each depth; a row is counted in one leaf"
    )
    model: ClassVar[type[Any]] = DecisionTreeModel

    def __post_init__(self) -> None:
        super().__post_init__()
        settle_names(self)

    def _binned(self, public: Public) -> list[Binned]:
        return [Binned.of(name, public, self.bins) for name in self.features]

    def _splits(self, public: Public) -> tuple[tuple[int, int, int], ...]:
        """A feature, and the first and last of its bins or values that go the first way; the others go the second."""
        found: list[tuple[int, int, int]] = []
        for at, own in enumerate(self._binned(public)):
            if own.values:
                found += [(at, i, i) for i in range(own.size if own.size > 2 else 1)]
            else:
                found += [(at, 0, i) for i in range(own.size - 1)]
        return tuple(found)

    def parts(self, public: Public, unit: Unit) -> tuple[Part, ...]:
        """A choice in each node, depth by depth, and the counts of all leaves, which have as much as all choices."""
        splits, classes = self._splits(public), len(public.values(self.target))
        rows, root = unit.rows * unit.times, unit.rows * math.sqrt(unit.times)
        choices = [
            Part(
                len(splits) * 2**depth, 1, candidates=splits, score_change=float(rows), l2=root, cells=2**depth,
                monotonic=unit.times == 1,
            )
            for depth in range(self.depth)
        ]  # fmt: skip
        return *choices, Part(classes * 2**self.depth, rows, share=self.depth, l2=root)

    def run(self, rows: PrivateRows, draw: Draw) -> list[Any]:
        """Each depth in the branches that were drawn before."""
        found = rows.of(self.columns, self.conditions)
        classes, binned = rows.public.values(self.target), self._binned(rows.public)
        label = found.codes(self.target, classes, partial(codes_of, values=classes))
        codes = [own.codes_in(found) for own in binned]
        node = np.zeros(found.height, np.int64)
        noisy = []
        for depth in range(self.depth):
            nodes = 2**depth
            counts = [
                _counts(found, node, code, label, (nodes, own.size, len(classes)))
                for code, own in zip(codes, binned, strict=True)
            ]
            noisy.append(draw(_scores(counts, self._splits(rows.public))))
            drawn = np.array(noisy[-1]).reshape(nodes, 3)
            first = np.zeros(found.height, np.bool_)
            for at, code in enumerate(codes):
                own, low, high = (drawn[node, i] for i in range(3))
                first |= (own == at) & (code >= low) & (code <= high)
            node = 2 * node + ~first
        place = np.where(label >= 0, node * len(classes) + label, -1)
        noisy.append(draw(found.per_cell(place, len(classes) * 2**self.depth)))
        return noisy

    def answer(self, noisy: Sequence[Any], scales: Sequence[float], public: Public, law: Law) -> tuple[Any, Any]:
        """The tree; how often it is right depends on the rows, and would cost more."""
        classes, binned = public.values(self.target), self._binned(public)
        leaves = np.array(noisy[-1]).reshape(-1, len(classes))
        drawn = [np.array(part).reshape(-1, 3) for part in noisy[:-1]]

        def grown(depth: int, node: int) -> dict[str, Any]:
            if depth == self.depth:
                counts = {name: int(value) for name, value in zip(classes, leaves[node], strict=True)}
                return {"class": max(counts, key=lambda name: counts[name]), "counts": counts}
            at, low, high = (int(value) for value in drawn[depth][node])
            own = binned[at]
            split = {"is": own.values[low]} if own.values else {"below": own.edges[high + 1]}
            branches = {"yes": grown(depth + 1, 2 * node), "no": grown(depth + 1, 2 * node + 1)}
            return {"column": own.column, **split, **branches}

        return DecisionTreeModel(self.target, classes, grown(0, 0)), None


def _counts(
    view: RowView, node: np.ndarray, code: np.ndarray, label: np.ndarray, shape: tuple[int, int, int]
) -> np.ndarray:
    """The rows of each node, bin and class; those without a bin in one more bin, the last."""
    nodes, bins, classes = shape
    place = (node * (bins + 1) + np.where(code >= 0, code, bins)) * classes + label
    return view.per_cell(np.where(label >= 0, place, -1), nodes * (bins + 1) * classes).reshape(
        nodes, bins + 1, classes
    )


def _scores(counts: Sequence[np.ndarray], splits: Sequence[tuple[int, int, int]]) -> np.ndarray:
    """Of each node and split, the rows of the largest class on both of its sides."""
    upto = [np.cumsum(np.pad(own, ((0, 0), (1, 0), (0, 0))), axis=1) for own in counts]
    found = []
    for at, low, high in splits:
        first = upto[at][:, high + 1] - upto[at][:, low]
        second = upto[at][:, -1] - first
        found.append(first.max(axis=1) + second.max(axis=1))
    return np.stack(found, axis=1).ravel()


def _names(tree: Mapping[str, Any]) -> set[str]:
    return set() if "class" in tree else {tree["column"], *_names(tree["yes"]), *_names(tree["no"])}


def _branch(tree: Mapping[str, Any]) -> pl.Expr:
    if "class" in tree:
        return pl.lit(tree["class"])
    name = tree["column"]
    met = pl.col(name) < tree["below"] if "below" in tree else pl.col(f"= {name}") == tree["is"]
    return pl.when(met.fill_null(value=False)).then(_branch(tree["yes"])).otherwise(_branch(tree["no"]))
