"""Attacks on one person, who is known by key columns: each puts its own queries to a database, until it has a value."""

from __future__ import annotations

from collections.abc import Callable

from sfumato.control.attacks.targeted.equations import differencing, direct, linear_system, reconstruction
from sfumato.control.attacks.targeted.questioner import Questioner
from sfumato.control.attacks.targeted.repeated import averaging, extremes
from sfumato.control.attacks.targeted.trackers import (
    double_tracker,
    general_tracker,
    individual_tracker,
    union_tracker,
)

TARGETED: dict[str, Callable[[Questioner], float | None]] = {
    "direct": direct,
    "differencing": differencing,
    "individual-tracker": individual_tracker,
    "general-tracker": general_tracker,
    "double-tracker": double_tracker,
    "union-tracker": union_tracker,
    "linear-system": linear_system,
    "extremes": extremes,
    "averaging": averaging,
    "reconstruction": reconstruction,
}
