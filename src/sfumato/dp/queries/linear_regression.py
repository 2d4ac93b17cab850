"""Linear regression from noisy moments; Sheffet, "Differentially private ordinary least squares", 2017, and Wang,
"Revisiting differentially private linear regression", 2018 (sufficient statistics perturbation)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from sfumato.core.parameters import Column, ColumnNames, Real, Written
from sfumato.dp.queries.learning import (
    FeatureDesign,
    Learning,
    inverse,
    moments_part,
    noise_of_matrix,
    settle_names,
    steps_of,
    symmetric,
)
from sfumato.dp.queries.query import Law, Part
from sfumato.dp.rows import PrivateRows
from sfumato.dp.values import Public, Unit

CLEAR = 4  # by how much the least eigenvalue is above that of the noise, where intervals are told


@dataclass(frozen=True)
class LinearModel:
    """A linear regression, in the units of its columns; categories are compared with the first of their values."""

    target: str
    coefficients: Mapping[str, float]
    bounds: Mapping[str, Sequence[float]]
    keys: Mapping[str, Sequence[str]]

    def predict(self, frame: pl.DataFrame) -> pl.Series:
        """The expected target of each row; missing where it lacks a feature, or has a value that is not public."""
        values, there = linear(frame, self.coefficients, self.bounds, self.keys)
        return pl.Series(self.target, values).set(pl.Series(~there), None)


def linear(
    frame: pl.DataFrame, coefficients: Mapping[str, float], bounds: Mapping[str, Any], keys: Mapping[str, Any]
) -> tuple[np.ndarray, np.ndarray]:
    """The sum of features, held to their bounds, times coefficients in their units; and which rows have all."""
    design = FeatureDesign((*bounds, *keys), {name: tuple(ends) for name, ends in bounds.items()}, keys)
    matrix, there = design.scaled({name: frame.get_column(name) for name in design.features}, frame.height)
    own = np.linalg.solve(design.in_units(), [coefficients[name] for name in design.names])
    return matrix @ own, there


@dataclass(frozen=True)
class LinearRegression(Learning):
    """The linear regression of a target with bounds on numbers and categories, by least squares.

    Numbers are held to their bounds, and rows that lack a value are left out. ridge: rows' worth of shrinkage, added
    to what directions that noise drowns get anyway.
    """

    target: Annotated[str, Column()]
    features: Annotated[Any, ColumnNames()]
    ridge: Annotated[float, Real(0, 1e12)] = 0.0
    where: Annotated[Any, Written("text")] = None
    how: ClassVar[str] = (
        "sums of products of features and target, each scaled to between -1 and 1 by its bounds: a row changes each "
        "product by 1 at most, and those of other categories than its own not at all"
    )
    model: ClassVar[type[Any]] = LinearModel

    def __post_init__(self) -> None:
        super().__post_init__()
        settle_names(self)

    def parts(self, public: Public, unit: Unit) -> tuple[Part, ...]:
        """The moments, noised together."""
        public.ends(self.target)
        return (moments_part(FeatureDesign.of(self.features, public), unit, target=True),)

    def exact(self, rows: PrivateRows) -> list[np.ndarray]:
        """Moments of the features, and of each with the target, in steps."""
        found = rows.of(self.columns, self.conditions)
        ends = rows.public.ends(self.target)
        y = found.codes(self.target, ("scaled", ends), partial(steps_of, ends=ends))
        sums = FeatureDesign.of(self.features, rows.public).encoded(found, ~np.isnan(y), y).moments()
        return [np.concatenate([sums[:-1, :-1][np.triu_indices(len(sums) - 1)], sums[:-1, -1]])]

    def answer(self, noisy: Sequence[Any], scales: Sequence[float], public: Public, law: Law) -> tuple[Any, Any]:
        """The coefficients; and to first order what noise leaves open of each, where it is well below the moments."""
        design = FeatureDesign.of(self.features, public)
        width = len(design.names)
        a, b = symmetric(noisy[0][:-width], width), np.array(noisy[0][-width:])
        drowned = noise_of_matrix(law.within(scales), width)
        back, least = inverse(a + self.ridge * np.eye(width), drowned)
        beta = back @ b
        low, high = public.ends(self.target)
        units = design.in_units() * (high - low) / 2
        values = units @ beta
        values[0] += (low + high) / 2
        named = dict(zip(design.names, values.tolist(), strict=True))
        value = LinearModel(self.target, named, dict(design.bounds), dict(design.keys))
        if least < CLEAR * drowned:
            return value, None
        effect = np.abs(units @ np.hstack([_effects(back, beta), back]))
        half = [law.within((row * scales[0]).tolist()) for row in effect]
        return value, {
            name: (number - own, number + own) for (name, number), own in zip(named.items(), half, strict=True)
        }


def _effects(back: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """What each noise in the moments of the features does to the coefficients, to first order."""
    one, other = np.triu_indices(len(beta))
    found = back[:, one] * beta[other] + back[:, other] * beta[one]
    return np.where(one == other, found / 2, found)
