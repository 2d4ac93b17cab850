"""Every loss through the conformance suite; and the suite finds those that fall under generalisation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.core.labels import Labels
from sfumato.core.policy import ClassStatistics
from sfumato.losses import ClassLoss, LabelLoss
from sfumato.testing import check_loss, parametrize_with_checks, registered

AGGREGATED = [sf.LM(aggregate="geometric"), sf.NCP(aggregate="maximum", weights={"a": 2.0}), sf.LM(leaves="hierarchy")]


@pytest.mark.slow
@parametrize_with_checks(*(variant.example for variant in sf.LOSSES.values()), *AGGREGATED)
def test_losses(check: Any) -> None:
    check()


def test_one_of_them_in_plain_pytest() -> None:
    check_loss(sf.CAvg())


@dataclass(frozen=True)
class FallingCost(LabelLoss):
    """One at the leaves, less above."""

    def cost(self, labels: Labels) -> np.ndarray:
        return 1 / (1 + labels.level.astype(np.float64))


@dataclass(frozen=True)
class FallingFloor(ClassLoss):
    """Discernibility with a bound that falls as classes get fewer."""

    def value(self, statistics: ClassStatistics) -> float:
        return statistics.kept_squares + float(statistics.rows) * statistics.suppressed

    def floor(self, statistics: ClassStatistics) -> float:
        return float(statistics.classes)


@dataclass(frozen=True)
class HighFloor(ClassLoss):
    """A count of classes that are lost, with a bound above what it is."""

    def value(self, statistics: ClassStatistics) -> float:
        return float(statistics.rows - statistics.kept_classes)

    def floor(self, statistics: ClassStatistics) -> float:
        return self.value(statistics) + 1


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (FallingCost, "the cost of a row falls from level 0 to 1"),
        (FallingFloor, "floor falls where classes"),
        (HighFloor, "is above what they or their generalisation"),
    ],
)
def test_a_loss_that_falls_is_found(make: Any, words: str) -> None:
    with registered(make, make()), pytest.raises(AssertionError, match=words):
        check_loss(make())
