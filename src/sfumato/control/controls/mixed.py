"""Sums and extremes of one column are audited apart, since both together are NP-hard: F. Chin, "Security problems on
inference control for SUM, MAX, and MIN queries", Journal of the ACM 33(3), 1986. So nobody is in both."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sfumato.control.controls.model import AskedSet, Auditor
from sfumato.control.query import COUNT, MAX, MIN


@dataclass(eq=False)
class MixedKinds(Auditor):
    """Who was in a sum or mean of a column, and who in an extreme of it."""

    asked: dict[tuple[str | None, bool], np.ndarray] = field(default_factory=dict)  # bool, of people

    def refusal(self, asked: AskedSet) -> str | None:
        """Somebody of the set was asked about in the other way."""
        if asked.query.kind == COUNT:
            return None
        extreme = asked.query.kind in (MIN, MAX)
        others = self.asked.get((asked.query.column, not extreme))
        if others is None or not (asked.inside[: len(others)] & others).any():
            return None
        kinds = ("a sum or mean", "a max or min") if extreme else ("a max or min", "a sum or mean")
        return f"{kinds[0]} was answered of people of this set, of whom {kinds[1]} would tell too much"

    def record(self, asked: AskedSet, answer: float) -> None:
        """The set was answered."""
        if asked.query.kind != COUNT:
            key = asked.query.column, asked.query.kind in (MIN, MAX)
            now = asked.inside.copy()
            before = self.asked.get(key, now[:0])
            now[: len(before)] |= before
            self.asked[key] = now
