"""Naive Bayes from noisy counts; Vaidya, Shafiq, Basu and Hong, "Differentially private naive Bayes classification",
2013."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from sfumato.core.parameters import Column, ColumnNames, Whole, Written
from sfumato.dp.queries.learning import BINS, Binned, Learning, codes_of, settle_names
from sfumato.dp.queries.query import Law, Part
from sfumato.dp.rows import PrivateRows
from sfumato.dp.values import Public, Unit


@dataclass(frozen=True)
class NaiveBayesModel:
    """A naive Bayes classifier: the share of each class, and in each class those of the bins or values of features."""

    target: str
    classes: Sequence[str]
    shares: Sequence[float]
    features: Sequence[dict[str, Any]]  # column, edges or values, and the shares of these in each class

    def predict(self, frame: pl.DataFrame) -> pl.Series:
        """The likeliest class of each row; a feature that it lacks says nothing."""
        score = np.log(np.array(self.shares))[None, :].repeat(frame.height, axis=0)
        for feature in self.features:
            own = Binned(feature["column"], tuple(feature["edges"]), tuple(feature["values"]))
            code = own.codes(frame.get_column(own.column))
            score += np.where(code[:, None] >= 0, np.log(np.array(feature["shares"])).T[code], 0.0)
        return pl.Series(self.target, list(self.classes)).gather(score.argmax(axis=1))


@dataclass(frozen=True)
class NaiveBayes(Learning):
    """A naive Bayes classifier of a category with public values, by features in public bins and values.

    Counts that noise took below 0 are 0, and each has one more row, so that no share is 0.

    bins: how many a feature with bounds is cut into.
    """

    target: Annotated[str, Column()]
    features: Annotated[Any, ColumnNames()]
    bins: Annotated[int, Whole(1, 1000)] = BINS
    where: Annotated[Any, Written("text")] = None
    how: ClassVar[str] = "a row is counted once in its class, and once in the bin of each feature there"
    model: ClassVar[type[Any]] = NaiveBayesModel

    def __post_init__(self) -> None:
        super().__post_init__()
        settle_names(self)

    def _binned(self, public: Public) -> list[Binned]:
        return [Binned.of(name, public, self.bins) for name in self.features]

    def parts(self, public: Public, unit: Unit) -> tuple[Part, ...]:
        """All counts, noised together."""
        classes, tables = len(public.values(self.target)), 1 + len(self.features)
        width = classes * (1 + sum(own.size for own in self._binned(public)))
        rows = unit.rows * unit.times
        return (Part(width, tables * rows, l2=unit.rows * math.sqrt(tables * unit.times)),)

    def exact(self, rows: PrivateRows) -> list[np.ndarray]:
        """The rows of each class, and of each bin of each feature in it."""
        found = rows.of(self.columns, self.conditions)
        classes = rows.public.values(self.target)
        label = found.codes(self.target, classes, partial(codes_of, values=classes))
        counts = [found.per_cell(label, len(classes))]
        for own in self._binned(rows.public):
            code = own.codes_in(found)
            place = np.where((label >= 0) & (code >= 0), label * own.size + code, -1)
            counts.append(found.per_cell(place, len(classes) * own.size))
        return [np.concatenate(counts)]

    def answer(self, noisy: Sequence[Any], scales: Sequence[float], public: Public, law: Law) -> tuple[Any, Any]:
        """The model; how often it is right depends on the rows, and would cost more."""
        classes = public.values(self.target)
        counts = np.maximum(np.array(noisy[0]), 0.0) + 1.0
        prior, left = counts[: len(classes)], counts[len(classes) :]
        features = []
        for own in self._binned(public):
            many = len(classes) * own.size
            table, left = left[:many].reshape(len(classes), own.size), left[many:]
            shares = (table / table.sum(axis=1, keepdims=True)).tolist()
            features.append({"column": own.column, "edges": own.edges, "values": own.values, "shares": shares})
        return NaiveBayesModel(self.target, classes, (prior / prior.sum()).tolist(), features), None
