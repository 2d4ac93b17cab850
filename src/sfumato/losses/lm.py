"""LM, the loss metric: the share of the domain that a label covers. Iyengar, KDD 2002."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from sfumato.core.labels import Labels
from sfumato.core.parameters import OneOf
from sfumato.losses.model import LabelLoss, range_share


@dataclass(frozen=True)
class LM(LabelLoss):
    """Share of the domain's leaves that a label covers beyond its own: (M - 1)/(A - 1), a suppressed row 1.

    Leaves are those present in the table, or with `leaves="hierarchy"` all those of the hierarchy. A numeric column
    without a hierarchy costs (hi - lo)/(max - min).

    `leaves`: which leaves are counted, those that are present or all of the hierarchy.
    """

    leaves: Annotated[str, OneOf(("present", "hierarchy"))] = "present"

    def cost(self, labels: Labels) -> np.ndarray:
        """Cost of a row under each label."""
        attribute = labels.attribute
        if attribute.categories.ordered and attribute.hierarchy is None:
            return range_share(labels)
        covered, domain = (
            (labels.leaves, labels.domain) if self.leaves == "present" else (labels.file_leaves, labels.file_domain)
        )
        if domain == 1:
            return np.zeros(len(covered))
        return np.where(labels.star, 1.0, (covered - 1) / (domain - 1))

    def released(self, column: Any) -> np.ndarray | None:
        """As the labels of the release tell it."""
        found: np.ndarray | None = column.lm()
        return found
