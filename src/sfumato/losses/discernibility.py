"""Discernibility: every record is charged the size of its class. Bayardo and Agrawal, ICDE 2005."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.core.policy import ClassStatistics
from sfumato.losses.model import ClassLoss


@dataclass(frozen=True)
class Discernibility(ClassLoss):
    """Sum of squared class sizes, plus the number of rows for each suppressed row."""

    def value(self, statistics: ClassStatistics) -> float:
        """The loss."""
        return statistics.kept_squares + float(statistics.rows) * statistics.suppressed

    def floor(self, statistics: ClassStatistics) -> float:
        """No generalisation of this recoding loses less: merging raises squares, suppressing n rows costs n * rows."""
        return statistics.squares
