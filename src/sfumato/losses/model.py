"""What the losses have in common: how rows, columns and weights are put together, and how parameters are written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from sfumato.core.labels import Labels
from sfumato.core.microdata import Attribute
from sfumato.core.parameters import OneOf, PerColumn, Real, check_fields
from sfumato.core.protocols import LossOfClasses, LossOfLabels
from sfumato.core.registry import field_values, variant_name

AGGREGATES = ("mean", "sum", "geometric", "maximum")


@dataclass(frozen=True)
class LabelLoss(LossOfLabels):
    """A cost in 0..1 per row and column, averaged over the rows, aggregated over the columns with weights.

    `aggregate`: how columns are combined: "mean" (0..1), "sum", "geometric" (prod (1 + x)^(w/sum w) - 1) or "maximum".
    `weights`: a weight per column, 1 where none is given.
    """

    by_label: ClassVar[bool] = True
    aggregate: Annotated[str, OneOf(AGGREGATES)] = "mean"
    weights: Annotated[Mapping[str, float] | None, PerColumn(Real())] = None

    def __post_init__(self) -> None:
        check_fields(self, variant_name(type(self).__name__))
        if self.weights is not None:
            object.__setattr__(self, "weights", {name: float(weight) for name, weight in self.weights.items()})

    def own(self, attribute: Attribute) -> np.ndarray:
        """What a value costs unchanged: taken off the cost of its label."""
        return np.zeros(len(attribute.categories))

    def suppressed(self, attribute: Attribute) -> np.ndarray | None:
        """Cost of a suppressed row, per value; None where suppression is free."""
        return np.ones(len(attribute.categories))

    def weight(self, attribute: Attribute) -> float:
        """Weight of a column in the aggregate."""
        return float((self.weights or {}).get(attribute.name, 1.0))

    def combine(self, x: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Aggregate over the last axis."""
        whole = weights.sum()
        if whole == 0:
            return np.zeros(x.shape[:-1])
        if self.aggregate == "sum":
            return x @ weights
        if self.aggregate == "geometric":
            return np.exp(np.log1p(x) @ (weights / whole)) - 1
        if self.aggregate == "maximum":
            return np.asarray((x * weights).max(axis=-1) / weights.max())
        return x @ weights / whole

    def released(self, column: Any) -> np.ndarray | None:
        """Not told by the release alone, where a loss does not say how."""
        return None

    def parameters(self) -> dict[str, Any]:
        """Plain values, for the manifest."""
        return _plain(self)


@dataclass(frozen=True)
class ClassLoss(LossOfClasses):
    """A loss that is made of class sizes."""

    by_label: ClassVar[bool] = False

    def parameters(self) -> dict[str, Any]:
        """Plain values, for the manifest."""
        return _plain(self)


def _plain(loss: Any) -> dict[str, Any]:
    found = {name: dict(value) if isinstance(value, Mapping) else value for name, value in field_values(loss).items()}
    return {name: value for name, value in found.items() if value is not None}


def range_share(labels: Labels) -> np.ndarray:
    """(hi - lo)/(max - min) of each label over an ordered column; 1 for labels that say nothing."""
    place, span = labels.attribute.positions, labels.attribute.span
    if span == 0:
        return np.where(labels.star, 1.0, 0.0)
    low = place[labels.lo] if labels.low is None else labels.low
    high = place[labels.hi] if labels.high is None else labels.high
    wide = (high - low) / span
    return np.where(labels.star, 1.0, np.nan_to_num(wide, nan=0.0))  # nan: the label of missing values alone
