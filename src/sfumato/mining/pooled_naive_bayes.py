"""Naive Bayes from pooled counts: P. Domingos and M. Pazzani, On the optimality of the simple Bayesian classifier under
zero-one loss, Machine Learning 29, 1997; no published count is of fewer than k people, since rare values are pooled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import polars as pl

from sfumato.core.parameters import Column, Whole, check_fields
from sfumato.core.progress import check_cancelled
from sfumato.criteria.sets import PooledCounts
from sfumato.errors import Infeasible, PolicyError
from sfumato.mining.k_anonymous_tree import ModelSolution
from sfumato.mining.labelled import Feature, LabelledRows, binned, labelled_rows
from sfumato.mining.values import MinedTables, MiningProblem

OTHER = "(other)"


@dataclass(frozen=True)
class PooledNaiveBayes:
    """How many people of each class have each value of each column, rare values put together: enough to predict it.

    target: the column to predict. bins: ranges that the numbers of a column are put into, at most.
    """

    target: Annotated[str, Column()]
    bins: Annotated[int, Whole(2, 1000)] = 10

    of: ClassVar[str] = "classes"

    def __post_init__(self) -> None:
        check_fields(self, "pooled-naive-bayes")

    def __call__(self, problem: MiningProblem) -> MinedTables:
        """The counts of classes, and of values by class."""
        if problem.l > 1:
            raise PolicyError("l is about the leaves of a tree", hint="leave l out")
        rows = labelled_rows(problem, self.target)
        every = np.arange(len(rows.label))
        sizes = np.bincount(rows.label, minlength=len(rows.classes))
        predicted, counted = self._learned(rows, problem.k, every)
        frames = [
            pl.DataFrame({
                "column": [name] * people.size,
                "value": np.repeat(np.array(texts, object), len(sizes)).tolist(),
                "then": [*rows.classes] * len(texts),
                "people": people.ravel(),
            })
            for name, texts, people in counted
        ]  # fmt: skip
        if not frames:
            raise Infeasible("no column has two values that k people of every class have", hint="take a smaller k")
        used, right = len(frames), float((predicted == rows.label).mean())
        tables = {"classes": pl.DataFrame({"then": [*rows.classes], "people": sizes}), "counts": pl.concat(frames)}
        roles = {
            "classes": {"then": "sensitive", "people": "count"},
            "counts": {"column": "quasi", "value": "quasi", "then": "sensitive", "people": "count"},
        }
        method = {"mined": "naive Bayes", "target": self.target, "columns used": used}
        solution = ModelSolution(right, float(sizes.max() / sizes.sum()), used)
        return MinedTables(tables, roles, PooledCounts(problem.k), method, solution)

    def held_out_accuracy(self, rows: LabelledRows, k: int, l: int, held: np.ndarray) -> float:
        """How often counts of the others are right about some people."""
        predicted, _ = self._learned(rows, k, np.setdiff1d(np.arange(len(rows.label)), held))
        return float((predicted == rows.label)[held].mean())

    def _learned(
        self, rows: LabelledRows, k: int, among: np.ndarray
    ) -> tuple[np.ndarray, list[tuple[str, list[str], np.ndarray]]]:
        """The class that is predicted of everybody from counts of some people; and by column, its values and how many
        of these people have each, by class."""
        sizes = np.bincount(rows.label[among], minlength=len(rows.classes))
        with np.errstate(divide="ignore"):  # a class that none of them has
            logs = np.tile(np.log(sizes), (len(rows.label), 1))
        counted = []
        for feature in rows.features:
            check_cancelled()
            found = _pooled(binned(feature, self.bins), rows.label, len(rows.classes), k, among)
            if found is None:
                continue
            texts, group, people = found
            counted.append((feature.name, texts, people))
            logs += np.vstack([np.log(people / sizes), np.zeros(len(sizes))])[
                group
            ]  # a value that none has tells nothing
        return logs.argmax(axis=1), counted


def _pooled(
    feature: Feature, label: np.ndarray, classes: int, k: int, among: np.ndarray
) -> tuple[list[str], np.ndarray, np.ndarray] | None:
    """The values of a column among some people, those together that fewer than k people of some class have; None where
    one is left.

    Values join those that are pooled, the rarest first, until these have k people of every class.
    """
    key = (feature.code * classes + label)[among]
    each = np.bincount(key, minlength=len(feature.texts) * classes).reshape(-1, classes)
    there = np.flatnonzero(each.sum(axis=1))
    rarest = there[np.argsort(each[there].min(axis=1), kind="stable")]
    pool = int((each[rarest].min(axis=1) < k).sum())
    while 0 < pool < len(rarest) and each[rarest[:pool]].sum(axis=0).min() < k:
        pool += 1
    kept = np.sort(rarest[pool:])
    if len(kept) + (pool > 0) < 2:
        return None
    group = np.full(len(feature.texts), len(kept))
    group[kept] = np.arange(len(kept))
    people = np.vstack([each[kept], each[rarest[:pool]].sum(axis=0)] if pool else [each[kept]])
    texts, other = [feature.texts[code] for code in kept], OTHER
    while other in texts:
        other = f"({other})"
    return texts + [other] * (pool > 0), group[feature.code], people
