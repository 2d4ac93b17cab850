"""The columns as Mondrian cuts them: an order of places for each, on a line or under the nodes of a tree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.kernels.mondrian_cuts import Shape
from sfumato.labels import at_level
from sfumato.losses import NCP, LabelLoss
from sfumato.microdata import Attribute
from sfumato.search.boxes import by_tree
from sfumato.search.mondrian_order import coordinates
from sfumato.search.problem import Problem


@dataclass(frozen=True, eq=False)
class Column:
    """A column: `place` of each code in the order of cutting, and the nodes above each place, level by level."""

    attribute: Attribute
    place: np.ndarray
    tree: np.ndarray | None
    multiway: bool

    @property
    def codes(self) -> np.ndarray:
        """The code at each place."""
        return np.argsort(self.place)


def columns_of(problem: Problem, categories: str, output: str) -> list[Column]:
    """The columns of a problem; `categories` and `output` as Mondrian takes them."""
    found = []
    ordered = [a.categories.ordered for a in problem.attributes]
    for i, a in enumerate(problem.attributes):
        tree = by_tree(a) or (output == "label" and a.hierarchy is not None)
        similar = categories == "optimised" and not a.categories.ordered
        if not tree and not similar:
            found.append(Column(a, np.arange(len(a.categories), dtype=np.int32), None, False))
            continue
        where = coordinates(problem.cells, i, ordered) if similar else np.zeros(len(a.categories))
        if tree:
            order = _leaf_order(a, where)
        else:
            known = len(a.categories) - a.categories.missing
            order = np.argsort(where[:known], kind="stable")
            order = np.append(order, known) if a.categories.missing else order  # missing values stay last
        place = np.empty(len(order), np.int32)
        place[order] = np.arange(len(order), dtype=np.int32)
        found.append(Column(a, place, a.ladder.of[:, order] if tree else None, tree and categories == "hierarchy"))
    return found


def _leaf_order(attribute: Attribute, where: np.ndarray) -> np.ndarray:
    """The codes such that those of a node stand together, the children of a node by the mean coordinate of rows."""
    keys: list[np.ndarray] = []
    count = attribute.categories.count
    for level in attribute.ladder.of:  # the last key, the root, is the first to sort by
        mean = np.bincount(level, weights=where * count) / np.bincount(level, weights=count)
        keys += [level, np.round(mean, 9)[level]]
    return np.lexsort(keys)


def shape_of(columns: list[Column], loss: object) -> Shape:
    """The columns in the flat arrays that the kernels want."""
    d = len(columns)
    values, missing, span = np.zeros(d, np.int64), np.full(d, -1), np.zeros(d)
    levels, position_at, tree_at = np.zeros(d, np.int64), np.zeros(d, np.int64), np.zeros(d, np.int64)
    position, tree, width = [np.zeros(0)], [np.zeros(0, np.int32)], [np.zeros(0)]
    ncp, more, whole = [np.zeros(0)], np.zeros(d), np.ones(d)
    weights = loss.weights if isinstance(loss, LabelLoss) and loss.weights else {}
    for i, column in enumerate(columns):
        a = column.attribute
        values[i] = len(a.categories)
        position_at[i], tree_at[i] = sum(map(len, position)), sum(map(len, tree))
        if column.tree is None:
            position.append(a.positions)
            missing[i] = len(a.categories) - 1 if a.categories.missing else -1
            span[i] = a.span
            more[i] = not a.categories.ordered  # of categories NCP counts values
            whole[i] = (span[i] or np.inf) if a.categories.ordered else len(a.categories)
        else:
            leaves = len(a.categories)
            share = [(np.bincount(level)[level] - 1) / max(leaves - 1, 1) for level in column.tree]
            levels[i] = len(column.tree)
            tree.append(column.tree.reshape(-1).astype(np.int32))
            width.append(np.concatenate(share))
            cost = NCP().cost
            ncp += [cost(at_level(a, level))[of].astype(np.float64) for level, of in enumerate(column.tree)]
    return Shape(
        values,
        missing,
        span,
        np.concatenate(position),
        position_at,
        levels,
        np.concatenate(tree),
        np.concatenate(width),
        tree_at,
        np.array([column.multiway for column in columns]),
        np.array([column.tree is None and column.attribute.categories.ordered for column in columns]),
        np.concatenate(ncp),
        more,
        whole,
        np.array([float(weights.get(column.attribute.name, 1.0)) for column in columns]),
    )
