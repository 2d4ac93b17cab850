"""A decision tree whose leaves keep k people: L. Breiman, J. H. Friedman, R. A. Olshen and C. J. Stone, Classification
and Regression Trees, 1984 (Gini index, binary splits). A split is allowed that keeps k people and l classes on both
sides, as by A. Friedman, R. Wolff and A. Schuster, Providing k-anonymity in data mining, VLDB Journal 17, 2008."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from sfumato.core.parameters import Column, Whole, YesNo, check_fields
from sfumato.core.progress import check_cancelled
from sfumato.core.registry import field_values
from sfumato.core.wording import percent
from sfumato.criteria.sets import KAnonymousLeaves
from sfumato.errors import Infeasible
from sfumato.mining.labelled import Feature, LabelledRows, labelled_rows
from sfumato.mining.values import MinedTables, MiningProblem

GAIN = 1e-9  # what a split gains at least, of the people of its node


@dataclass(frozen=True)
class KAnonymousTree:
    """A tree of rules that predict a column, learned on the original; each rule is about k people or more.

    target: the column to predict. depth: the conditions of a rule at most. counts: whether the people of each leaf are
    published, by class; then each of these numbers is k at least, which forbids some splits.
    """

    target: Annotated[str, Column()]
    depth: Annotated[int, Whole(1, 20)] = 6
    counts: Annotated[bool, YesNo()] = True

    of: ClassVar[str] = "classes"

    def __post_init__(self) -> None:
        check_fields(self, "k-anonymous-tree")

    def __call__(self, problem: MiningProblem) -> MinedTables:
        """The rules, and the people of each."""
        rows = labelled_rows(problem, self.target)
        if len(rows.classes) < problem.l:
            raise Infeasible(f'"{self.target}" has fewer than l = {problem.l} values', got=len(rows.classes))
        problem.report_progress("learning a tree", None)
        leaves = sorted(_grown(rows, problem.k, problem.l, self.depth, self.counts), key=lambda leaf: leaf.conditions)
        longest = max(1, *(len(leaf.conditions) for leaf in leaves))
        tables = {
            "rules": pl.DataFrame({
                "leaf": range(1, len(leaves) + 1),
                **{f"if {i + 1}": pl.Series([leaf.conditions[i] if i < len(leaf.conditions) else None
                                             for leaf in leaves], dtype=pl.String) for i in range(longest)},
                "then": [rows.classes[int(leaf.people.argmax())] for leaf in leaves],
            })
        }  # fmt: skip
        roles = {"rules": {"leaf": "group", "then": "sensitive"}}
        if self.counts:
            each = [(i + 1, rows.classes[c], int(n)) for i, leaf in enumerate(leaves)
                    for c, n in enumerate(leaf.people) if n]  # fmt: skip
            tables["counts"] = pl.DataFrame(each, schema=["leaf", "then", "people"], orient="row")
            roles["counts"] = {"leaf": "group", "then": "sensitive", "people": "count"}
        right = sum(int(leaf.people.max()) for leaf in leaves) / len(rows.label)
        solution = ModelSolution(right, float(np.bincount(rows.label).max() / len(rows.label)), len(leaves))
        method = {"mined": "decision tree", "target": self.target, "depth": self.depth, "leaves": len(leaves)}
        return MinedTables(tables, roles, KAnonymousLeaves(problem.k, problem.l, self.counts), method, solution)

    def held_out_accuracy(self, rows: LabelledRows, k: int, l: int, held: np.ndarray) -> float:
        """How often a tree that was learned without some people is right about them."""
        others = np.setdiff1d(np.arange(len(rows.label)), held)
        right = 0
        for _, here, there in _walked(rows, k, l, self.depth, self.counts, others, held):
            most = np.bincount(rows.label[here], minlength=len(rows.classes)).argmax()
            right += int((rows.label[there] == most).sum())
        return right / len(held)


@dataclass(frozen=True)
class ModelSolution:
    """How often a model is right about the people it was learned from, for the owner alone, and how often who always
    names the most frequent class is; and how many leaves, or columns, it has."""

    accuracy: float
    majority: float
    size: int

    def plain(self) -> dict[str, Any]:
        """Its figures."""
        return field_values(self)

    def lines(self) -> list[str]:
        """Its figures in words."""
        what = f"right about {percent(self.accuracy)} of the people it was learned from"
        return [f"{what}; the most frequent class is that of {percent(self.majority)}"]


@dataclass(frozen=True, eq=False)
class Leaf:
    """A leaf: the conditions on its path, and its people by class."""

    conditions: tuple[str, ...]
    people: np.ndarray


def _grown(rows: LabelledRows, k: int, l: int, depth: int, counts: bool) -> Iterator[Leaf]:
    """The leaves of the tree."""
    for conditions, here, _ in _walked(rows, k, l, depth, counts, np.arange(len(rows.label)), np.empty(0, np.int64)):
        yield Leaf(conditions, np.bincount(rows.label[here], minlength=len(rows.classes)))


def _walked(
    rows: LabelledRows, k: int, l: int, depth: int, counts: bool, learned: np.ndarray, held: np.ndarray
) -> Iterator[tuple[tuple[str, ...], np.ndarray, np.ndarray]]:
    """The leaves of the tree: the conditions on the path, and who comes there, of those that it is learned from and of
    those that it is not."""
    waiting: list[tuple[tuple[str, ...], np.ndarray, np.ndarray]] = [((), learned, held)]
    while waiting:
        check_cancelled()
        conditions, here, there = waiting.pop()
        found = _best(rows, here, k, l, counts) if len(conditions) < depth else None
        if found is None:
            yield conditions, here, there
            continue
        yes, no, first = found
        side, beside = first[here], first[there]
        waiting += [((*conditions, yes), here[side], there[beside]), ((*conditions, no), here[~side], there[~beside])]


def _best(rows: LabelledRows, here: np.ndarray, k: int, l: int, counts: bool) -> tuple[str, str, np.ndarray] | None:
    """The allowed split that gains most, as the conditions of its sides and who of all is on the first; None without
    one."""
    label, classes = rows.label[here], len(rows.classes)
    whole = np.bincount(label, minlength=classes)
    best, found = float((whole**2).sum()) / len(here) + GAIN * len(here), None
    for feature in rows.features:
        used, code = np.unique(feature.code[here], return_inverse=True)
        each = np.bincount(code * classes + label, minlength=len(used) * classes).reshape(-1, classes)
        left = each if feature.number is None else np.cumsum(each, axis=0)[:-1]
        right = whole - left
        fits = np.ones(len(left), bool)
        for side in (left, right):
            fits &= (side.sum(axis=1) >= k) & ((side > 0).sum(axis=1) >= l)
            if counts:
                fits &= ((side == 0) | (side >= k)).all(axis=1)
        gain = (left**2).sum(axis=1) / np.maximum(left.sum(axis=1), 1)
        gain = np.where(fits, gain + (right**2).sum(axis=1) / np.maximum(right.sum(axis=1), 1), 0)
        if len(gain) and gain.max() > best:
            at = int(gain.argmax())
            best, found = float(gain[at]), (feature, used, at)
    if found is None:
        return None
    feature, used, at = found
    yes, no = _conditions(feature, used, at)
    return yes, no, feature.code == used[at] if feature.number is None else feature.code <= used[at]


def _conditions(feature: Feature, used: np.ndarray, at: int) -> tuple[str, str]:
    if feature.number is None:
        value = feature.texts[used[at]]
        return f"{feature.name} = {value}", f"{feature.name} != {value}"
    apart = feature.between(int(used[at]), int(used[at + 1]))
    return f"{feature.name} <= {apart}", f"{feature.name} > {apart}"
