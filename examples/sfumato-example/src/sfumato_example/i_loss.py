"""ILoss: X. Xiao and Y. Tao, Personalized privacy preservation, SIGMOD 2006."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato import Variant
from sfumato.core.labels import Labels
from sfumato.losses import LabelLoss


@dataclass(frozen=True)
class ILoss(LabelLoss):
    """Share of the domain's values that a label adds to one of them: (M - 1)/A, a suppressed row 1."""

    def cost(self, labels: Labels) -> np.ndarray:
        """Cost of a row under each label."""
        return (labels.leaves - 1) / labels.domain

    def released(self, column: Any) -> np.ndarray | None:
        """The same of a released column, whose labels may tell how many values they cover: what may be published."""
        if column.leaves is None:
            return None
        covered, domain = column.leaves
        return np.asarray((covered - 1) / domain)


VARIANT = Variant(ILoss, example=ILoss(), cite="Xiao and Tao 2006")
