"""Non-uniform entropy: the bits that a label hides of a value. De Waal and Willenborg 1999; Gionis and Tassa 2009."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.core.labels import Labels
from sfumato.core.microdata import Attribute
from sfumato.losses.model import LabelLoss


@dataclass(frozen=True)
class NonUniformEntropy(LabelLoss):
    """Sum over cells of -log2(rows with the value / rows under its label), over the entropy of all columns; in 0..1."""

    def cost(self, labels: Labels) -> np.ndarray:
        """Cost of a row under each label."""
        covered = np.where(labels.star, labels.attribute.categories.count.sum(), labels.covered)
        return np.log2(covered) / _bits(labels.attribute)

    def own(self, attribute: Attribute) -> np.ndarray:
        """What a value costs unchanged."""
        return np.log2(attribute.categories.count) / _bits(attribute)

    def suppressed(self, attribute: Attribute) -> np.ndarray:
        """Cost of a suppressed row, per value."""
        count = attribute.categories.count
        return (np.log2(count.sum()) - np.log2(count)) / _bits(attribute)

    def weight(self, attribute: Attribute) -> float:
        """Weight of a column: its entropy, so that the aggregate is all bits lost over all bits there were."""
        return super().weight(attribute) * (_bits(attribute) if len(attribute.categories) > 1 else 0.0)


def _bits(attribute: Attribute) -> float:
    """Entropy of a column in bits; 1 where it is constant, so that nothing is divided by zero."""
    share = attribute.categories.count / attribute.categories.count.sum()
    return float(-(share * np.log2(share)).sum()) if len(share) > 1 else 1.0
