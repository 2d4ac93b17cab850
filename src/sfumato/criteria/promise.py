"""Promise: a criterion over a set of quasi-identifiers, and what the released rows say about it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sfumato.criteria.audit import Groups


@dataclass(frozen=True)
class Promise:
    """One criterion over one set of quasi-identifiers: what was asked, and what the worst class achieves."""

    model: str
    parameters: dict[str, Any]
    quasi: tuple[str, ...]
    holds: bool
    measured: float | int | None
    bound: float | int
    sentence: str
    note: str | None = None


def examined(criterion: Any, quasi: Sequence[str], groups: Groups) -> Promise:
    """The promise as the rows keep or break it."""
    if groups.keys.height == 0:
        return broken(criterion, quasi, "the released table has no rows, and a release without rows is refused")
    found = criterion.audit(groups)
    notes = [found.note] if found.note else []
    measured = found.measured
    if measured is not None and math.isinf(measured):  # JSON has no infinity
        measured = None
        notes.insert(0, "the measured value is infinite")
    if found.failing_classes:
        verb = "fails" if found.failing_classes == 1 else "fail"
        notes.insert(0, f"{found.failing_classes} of {groups.sizes.height} classes {verb}")
    return replace(broken(criterion, quasi, "; ".join(notes) or None), holds=found.holds, measured=measured)


def broken(criterion: Any, quasi: Sequence[str], note: str | None) -> Promise:
    """The promise where nothing could be measured, which breaks it."""
    parameters, sentence = criterion.parameters(), criterion.sentence()
    return Promise(criterion.model, parameters, tuple(quasi), False, None, criterion.bound, sentence, note)
