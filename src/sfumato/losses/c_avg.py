"""C_avg, the normalised average class size. LeFevre et al., ICDE 2006."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.core.policy import ClassStatistics
from sfumato.losses.model import ClassLoss


@dataclass(frozen=True)
class CAvg(ClassLoss):
    """Average size of the kept classes over k: 1 is the best there is."""

    def value(self, statistics: ClassStatistics) -> float:
        """The loss."""
        kept = statistics.rows - statistics.suppressed
        return kept / statistics.kept_classes / statistics.k if kept else float("inf")

    def floor(self, statistics: ClassStatistics) -> float:
        """No generalisation of this recoding loses less: it has fewer classes, and keeps all but `limit` rows."""
        return max(statistics.rows - statistics.limit, 1) / statistics.classes / statistics.k
