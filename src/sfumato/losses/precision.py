"""Precision as a loss: the mean of level over height. Sweeney, 2002."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.core.labels import Labels
from sfumato.losses.model import LabelLoss


@dataclass(frozen=True)
class Precision(LabelLoss):
    """Mean of level/height over the cells, a suppressed row 1: one minus the precision of the paper."""

    def cost(self, labels: Labels) -> np.ndarray:
        """Cost of a row under each label."""
        height = labels.attribute.ladder.height
        return labels.level / height if height else np.zeros(len(labels.lo))

    def released(self, column: Any) -> np.ndarray | None:
        """As the labels of the release tell it."""
        level = column.level()
        return None if level is None else level / max(1, column.tree.height)
