"""Height: the sum of the levels. Samarati, 2001."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from sfumato.core.labels import Labels
from sfumato.core.microdata import Attribute
from sfumato.core.parameters import OneOf
from sfumato.errors import PolicyError
from sfumato.losses.model import AGGREGATES, LabelLoss


@dataclass(frozen=True)
class Height(LabelLoss):
    """Sum of the levels of a level vector; suppression is free. Only for full-domain recoding."""

    by_level: ClassVar[bool] = True
    aggregate: Annotated[str, OneOf(AGGREGATES)] = "sum"

    def cost(self, labels: Labels) -> np.ndarray:
        """Cost of a row under each label."""
        if labels.fixed_level is None or len(set(labels.fixed_level.tolist())) > 1:
            raise PolicyError(
                "the loss height is defined for level vectors only",
                hint='use lm, ncp or precision with this search, or search="optimal"',
            )
        return labels.fixed_level.astype(np.float64)

    def suppressed(self, attribute: Attribute) -> None:
        """Suppression is free."""
        return

    def released(self, column: Any) -> np.ndarray | None:
        """As the labels of the release tell it."""
        found: np.ndarray | None = column.level()
        return found
