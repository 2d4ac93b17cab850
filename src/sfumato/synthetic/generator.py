"""What a generator is given, and what all of them share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sfumato.core.configured import Configured
from sfumato.core.generators import Generator
from sfumato.core.parameters import check_fields
from sfumato.core.progress import Progress, quiet


@dataclass(frozen=True, eq=False, repr=False)
class FitContext:
    """What a generator may look at beside the rows: random numbers, hierarchies, and where it tells how far it is."""

    rng: np.random.Generator
    hierarchies: Mapping[str, Any] = field(default_factory=dict)  # column to recipe
    report_progress: Progress = quiet
    at_risk: np.ndarray | None = None  # the rows that are made anew, where only some are


@dataclass(frozen=True)
class SyntheticGenerator(Configured, Generator):
    """A generator with the defaults of its contract, whose parameters are the fields of its dataclass.

    They are checked by what their annotations declare.
    """

    def __post_init__(self) -> None:
        check_fields(self, self.name)
