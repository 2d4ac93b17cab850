"""Logistic regression by noisy gradients; Bassily, Smith and Thakurta, "Private empirical risk minimization", 2014,
with steps by the bound of Böhning and Lindsay, "Monotonicity of quadratic-approximation algorithms", 1988."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from sfumato.core.parameters import Column, ColumnNames, PlainText, Whole, Written
from sfumato.dp.queries.learning import (
    UNIT,
    Adaptive,
    EncodedFeatures,
    FeatureDesign,
    Learning,
    codes_of,
    inverse,
    moments_part,
    noise_of_matrix,
    settle_names,
    symmetric,
)
from sfumato.dp.queries.linear_regression import linear
from sfumato.dp.queries.query import Draw, Law, Part
from sfumato.dp.rows import PrivateRows
from sfumato.dp.values import Public, Unit
from sfumato.errors import PolicyError

STEPS = 6
LARGEST = 32.0  # coefficients of scaled features
FINE = 2**10  # steps of what the curve is looked up by
REACH = 16  # beyond which it is flat
CURVE = np.rint(UNIT / (1 + np.exp(-np.arange(-REACH * FINE, REACH * FINE + 1) / FINE)))
SPREAD = 3.0  # of noise, in scales


@dataclass(frozen=True)
class LogisticModel:
    """A logistic regression, in the units of its columns: the log odds that the target is the positive value."""

    target: str
    positive: str
    coefficients: Mapping[str, float]
    bounds: Mapping[str, Sequence[float]]
    keys: Mapping[str, Sequence[str]]

    def predict(self, frame: pl.DataFrame) -> pl.Series:
        """The probability of the positive value for each row; missing where it lacks a feature."""
        values, there = linear(frame, self.coefficients, self.bounds, self.keys)
        return pl.Series(self.target, 1 / (1 + np.exp(-np.clip(values, -500, 500)))).set(pl.Series(~there), None)


@dataclass(frozen=True)
class LogisticRegression(Learning, Adaptive):
    """The logistic regression of a category on numbers and categories: whether it is `positive`, its last public value
    unless named.

    Numbers are held to their bounds, and rows that lack a value are left out. In each of some `steps` the gradient is
    noised; of a person with several rows it counts for as much as that of one row at most.

    positive: the value of the target whose probability is modelled; the last public one without it. steps: how often
    the gradient is taken.
    """

    target: Annotated[str, Column()]
    features: Annotated[Any, ColumnNames()]
    positive: Annotated[str | None, PlainText()] = None
    steps: Annotated[int, Whole(1, 100)] = STEPS
    where: Annotated[Any, Written("text")] = None
    how: ClassVar[str] = (
        "sums of products of features, and in each step of features times what is not explained: all are scaled to "
        "between -1 and 1, so that a row changes each sum by 1 at most; the gradient of a person is held to the length "
        "of that of one row"
    )
    model: ClassVar[type[Any]] = LogisticModel

    def __post_init__(self) -> None:
        super().__post_init__()
        settle_names(self)

    def _classes(self, public: Public) -> tuple[tuple[str, ...], str]:
        values = public.values(self.target)
        positive = values[-1] if self.positive is None else str(self.positive)
        if len(values) < 2 or positive not in values:
            raise PolicyError(
                f'"{self.target}" has no other public value, or not the positive one', allowed="two or more"
            )
        return values, positive

    def parts(self, public: Public, unit: Unit) -> tuple[Part, ...]:
        """The moments of the features, and a gradient in each step."""
        self._classes(public)
        design = FeatureDesign.of(self.features, public)
        width = len(design.names)
        long = math.sqrt(design.slots)
        l1 = design.slots if unit.rows == 1 else min(unit.rows * design.slots, math.ceil(long * math.sqrt(width)))
        step = Part(width, unit.times * l1 * UNIT**2, UNIT**-2, l2=unit.times * long * UNIT**2)
        return moments_part(design, unit, target=False, share=2), *([step] * self.steps)

    def run(self, rows: PrivateRows, draw: Draw) -> list[Any]:
        """Each step at the coefficients that were found before it."""
        found = rows.of(self.columns, self.conditions)
        values, positive = self._classes(rows.public)
        design = FeatureDesign.of(self.features, rows.public)
        code = found.codes(self.target, tuple(values), partial(codes_of, values=values))
        x, meets = design.encoded(found, code >= 0), code == values.index(positive)
        person, longest = rows.unit.person, math.sqrt(design.slots) * UNIT**2
        who = found.codes(person) if person is not None and rows.unit.rows > 1 else None
        noisy = [draw(x.moments()[np.triu_indices(x.width)])]
        path = _Path(noisy[0], draw.scales[-1], len(design.names))
        for _ in range(self.steps):
            noisy.append(draw(_gradient(x, meets, path.beta, who, longest)))
            path.step(noisy[-1])
        return noisy

    def answer(self, noisy: Sequence[Any], scales: Sequence[float], public: Public, law: Law) -> tuple[Any, Any]:
        """The coefficients at the end of the steps; what noise leaves open of them would cost more."""
        design = FeatureDesign.of(self.features, public)
        path = _Path(noisy[0], scales[0], len(design.names))
        for gradient in noisy[1:]:
            path.step(gradient)
        values = design.in_units() @ path.beta
        named = dict(zip(design.names, values.tolist(), strict=True))
        positive = self._classes(public)[1]
        return LogisticModel(self.target, positive, named, dict(design.bounds), dict(design.keys)), None


class _Path:
    """Coefficients of scaled features, step by step of noisy gradients."""

    def __init__(self, noisy: Sequence[float], scale: float, width: int) -> None:
        drowned = noise_of_matrix(SPREAD * scale, width)
        self._back, _ = inverse(symmetric(noisy, width) / 4, drowned)
        self.beta = np.zeros(width)

    def step(self, gradient: Sequence[float]) -> None:
        """One step against a gradient, of a length that the moments allow."""
        self.beta = np.clip(self.beta - self._back @ np.array(gradient), -LARGEST, LARGEST)


def _gradient(
    x: EncodedFeatures, meets: np.ndarray, beta: np.ndarray, who: np.ndarray | None, longest: float
) -> np.ndarray:
    """The sum over all rows of features times what is not explained, in whole steps; that of one person is shortened to
    the longest that a row's can be.

    All is done in whole numbers, so that no row's own share depends on which others there are.
    """
    odds = np.floor(x.dot(np.rint(beta * UNIT)) / (UNIT**2 // FINE))
    at = np.clip(odds, -REACH * FINE, REACH * FINE).astype(np.int64) + REACH * FINE
    unexplained = CURVE[at] - UNIT * meets
    if who is None:
        return x.sums(unexplained)
    sums = x.sums_by(who, unexplained)
    length = np.sqrt(np.square(sums).sum(axis=1))
    shorter = np.minimum(1.0, longest * (1 - 1e-12) / np.maximum(length, 1.0))
    return np.trunc(sums * shorter[:, None]).sum(axis=0).astype(np.int64)
