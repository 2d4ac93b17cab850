"""NCP, the normalised certainty penalty, as GCP over the table. Xu et al., KDD 2006; Ghinita et al., VLDB 2007."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.core.labels import Labels
from sfumato.losses.model import LabelLoss, range_share


@dataclass(frozen=True)
class NCP(LabelLoss):
    """Numbers: (hi - lo)/(max - min); categories: 0 for one value, else leaves/A. Its mean over the table is GCP."""

    def cost(self, labels: Labels) -> np.ndarray:
        """Cost of a row under each label."""
        if labels.attribute.categories.ordered:
            return range_share(labels)
        share = np.where(labels.leaves == 1, 0.0, labels.leaves / labels.domain)
        return np.where(labels.star & (labels.domain > 1), 1.0, share)

    def released(self, column: Any) -> np.ndarray | None:
        """As the labels of the release tell it."""
        found: np.ndarray | None = column.ncp()
        return found
