"""Rounding of answers: D. Denning, Cryptography and Data Security, Addison-Wesley 1982, section 6.5."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from sfumato.control.controls.model import AskedSet, Auditor, QueryModel, Setting
from sfumato.control.controls.random_sample import set_digest
from sfumato.core.parameters import OneOf, Real

NEAREST, RANDOM = "nearest", "random"


@dataclass(frozen=True)
class RoundedAnswers(QueryModel):
    """Rounds answers to multiples of a base.

    base: what answers are multiples of. how: "nearest", or "random": up or down, the more likely the nearer, so that
        the mean is right; the same query has the same answer.
    """

    base: Annotated[float, Real(0, above=True)]
    how: Annotated[str, OneOf((NEAREST, RANDOM))] = NEAREST

    def start(self, setting: Setting) -> Rounded:
        """The secret."""
        return Rounded(self.base, self.how, setting.secret)

    def sentence(self) -> str:
        """What it says."""
        return f"Answers are multiples of {self.base:g}."


class Rounded(Auditor):
    """Rounding by a secret."""

    def __init__(self, base: float, how: str, secret: bytes) -> None:
        self.rounded, self._how, self._secret = base, how, secret

    def refusal(self, asked: AskedSet) -> str | None:
        """Nothing is refused."""
        return None

    def record(self, asked: AskedSet, answer: float) -> None:
        """Nothing is remembered."""

    def given(self, asked: AskedSet, values: np.ndarray | None, answer: float) -> float:
        """A multiple of the base."""
        steps = answer / self.rounded
        if self._how == NEAREST:
            return self.rounded * math.floor(steps + 0.5)
        digest = set_digest(self._secret, asked, asked.query.kind, asked.query.column or "")
        drawn = int.from_bytes(digest[:7]) / 2**56
        return self.rounded * (math.floor(steps) + (drawn < steps - math.floor(steps)))
