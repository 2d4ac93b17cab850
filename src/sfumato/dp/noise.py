"""Noise: what a cost buys, and the one place where it is drawn, part by part as a query has stated them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from sfumato.core.accounting import EXACT_DOWN, PrivacyCost
from sfumato.core.mechanisms import choose_in_each, frequent_keys, gaussian, laplace
from sfumato.dp.queries.query import GAUSSIAN, LAPLACE, Law, Part
from sfumato.errors import PolicyError

SECONDS = 50e-6  # a draw, at the least
MOST_DRAWS = 2**20


@dataclass(frozen=True)
class Noise:
    """What the ledger is charged, and the noise that it buys: Laplace of an epsilon, or Gaussian of a rho; a delta is
    spent on keys that nobody knew of."""

    cost: PrivacyCost
    epsilon: Decimal = Decimal(0)
    rho: Decimal = Decimal(0)
    delta: Decimal = Decimal(0)

    @property
    def law(self) -> Law:
        """What the noise leaves open."""
        return GAUSSIAN if self.rho else LAPLACE

    @property
    def amount(self) -> Decimal:
        """Epsilon or rho, of all parts together."""
        return self.rho or self.epsilon

    def share(self, part: Part, parts: Sequence[Part]) -> Decimal:
        """What a part has of it."""
        return EXACT_DOWN.divide(self.amount * part.share, Decimal(sum(one.share for one in parts)))

    def scales(self, parts: Sequence[Part]) -> list[float]:
        """The scale of the noise of each part, in the unit of its column; 0 where something is chosen."""
        return [0.0 if part.candidates is not None else self._scale(part, parts) for part in parts]

    def _scale(self, part: Part, parts: Sequence[Part]) -> float:
        own = float(self.share(part, parts))
        if self.rho:
            return _l2(part) * part.step / math.sqrt(2 * own)
        return part.sensitivity * part.step / own

    def form(self) -> dict[str, str]:
        """Plain values: what tells an answer from one with other noise."""
        charged = dict(zip(("epsilon", "delta", "rho"), map(str, self.cost.parts), strict=True))
        return {"mechanism": "gaussian" if self.rho else "laplace", **charged}

    def refuse_wide(self, parts: Sequence[Part]) -> None:
        """Refuse what would draw for minutes: each noisy number takes a twentieth of a millisecond."""
        if (draws := sum(part.width for part in parts)) > MOST_DRAWS:
            hint = f"so many take about {draws * SECONDS:.0f} s; ask for fewer cells"
            raise PolicyError("the answer has too many numbers", got=f"{draws:,}", allowed=f"{MOST_DRAWS:,}", hint=hint)


class Drawing:
    """Draws the parts of one answer, each once and in order: a query cannot draw what it has not stated."""

    def __init__(self, noise: Noise, parts: Sequence[Part]) -> None:
        self._noise, self._parts, self._left = noise, parts, list(parts)
        self.scales: list[float] = []
        self.mechanism = ""

    def __call__(self, values: Any) -> Any:
        """The numbers of the next part with noise, in the unit of its column; or what is chosen of its candidates; or
        the keys that are found, with their counts."""
        part = self._left.pop(0)
        own, zcdp = self._noise.share(part, self._parts), bool(self._noise.rho)
        if part.keys is not None:
            asked = sum(one.keys is not None for one in self._parts)
            delta = EXACT_DOWN.divide(self._noise.delta, Decimal(asked))
            kept = frequent_keys(values, *part.keys, own, delta)
            self._note(kept.scale * part.step, "geometric with a threshold")
            return kept
        if len(values) != part.width:
            raise AssertionError("a part has another number of values than it stated")
        if part.candidates is not None:
            change = part.l2 if zcdp and part.l2 is not None else part.score_change
            cells = np.reshape(values, (part.cells, -1)).tolist()
            at = choose_in_each(cells, part.chosen, change, own, part.monotonic, zcdp)
            self._note(0.0, "exponential")
            found = [[part.candidates[i] for i in one] for one in at]
            return found if part.cells > 1 else found[0]
        noisy = gaussian(values.tolist(), _l2(part), own) if zcdp else laplace(values.tolist(), part.sensitivity, own)
        self._note(noisy.scale * part.step, noisy.mechanism)
        return [value * part.step for value in noisy.values]

    def _note(self, scale: float, mechanism: str) -> None:
        self.scales.append(scale)
        names = [*self.mechanism.split(" and "), mechanism] if self.mechanism else [mechanism]
        self.mechanism = " and ".join(dict.fromkeys(names))

    def finished(self) -> list[float]:
        """The scales of all parts; what was paid for was drawn."""
        if self._left:
            raise AssertionError("a query has not drawn all that it stated")
        return self.scales


def _l2(part: Part) -> float:
    """The L2 sensitivity of a part, no less than what its root was before it was rounded."""
    return float(part.sensitivity) if part.l2 is None else math.nextafter(part.l2, math.inf)
