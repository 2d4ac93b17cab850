"""Attack: what an attack on a released table achieved, beside what guessing would."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sfumato.core.parameters import whole_number
from sfumato.core.wording import percent
from sfumato.measures.measure import Measure, wilson

TRIALS = 1000  # records attacked where an attack samples
MOST = 20  # row numbers named


@dataclass(frozen=True)
class Attack:
    """The outcome of one attack.

    `success` is the share of the `trials` that succeeded, `interval` its 95% Wilson interval, `baseline` the share
    that the same attacker reaches without what the release tells. `exposed` are row numbers (from 0) of the records
    most exposed, worst first, in the table that `of` names ("released", "original", "external"); never their content.
    """

    name: str
    success: float
    baseline: float
    interval: tuple[float, float]
    trials: int
    exposed: tuple[int, ...]
    sentence: str
    seed: int | None = None
    of: str = "released"
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def advantage(self) -> float:
        """What the release adds: (success - baseline) / (1 - baseline), 0 where there is nothing to add or less."""
        room = 1 - self.baseline
        return max(0.0, (self.success - self.baseline) / room) if room > 1e-12 else 0.0

    def measure(self) -> Measure:
        """The same as a Measure."""
        more = {"trials": self.trials, "exposed": list(self.exposed), "rows of": self.of, "seed": self.seed}
        return Measure(
            self.name, self.success, (0.0, 1.0), self.sentence, self.interval, self.baseline, {**more, **self.details}
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for json."""
        found = self.measure().to_dict()
        details = {key: value for key, value in found["details"].items() if key in self.details}
        return {
            "name": self.name,
            "success": found["value"],
            "baseline": found["baseline"],
            "advantage": self.advantage,
            "interval": found["interval"],
            "trials": self.trials,
            "exposed": list(self.exposed),
            "rows_of": self.of,
            "sentence": self.sentence,
            "seed": self.seed,
            "details": details,
        }


def outcome(
    name: str,
    successes: int,
    trials: int,
    baseline: float,
    exposed: Sequence[int] | np.ndarray,
    sentence: str,
    *,
    seed: int | None = None,
    of: str = "released",
    details: Mapping[str, Any] | None = None,
) -> Attack:
    """An Attack from its counts."""
    rate = successes / trials if trials else 0.0
    rows = tuple(int(row) for row in exposed)
    return Attack(name, rate, baseline, wilson(successes, trials), trials, rows, sentence, seed, of, details or {})


def worst(score: np.ndarray, hit: np.ndarray, most: int = MOST, rows: np.ndarray | None = None) -> np.ndarray:
    """Row numbers of the hits with the highest score, ties in row order."""
    numbers = np.flatnonzero(hit)
    order = numbers[np.argsort(-np.asarray(score, np.float64)[numbers], kind="stable")][:most]
    return order if rows is None else rows[order]


def records(count: int, rows: int) -> str:
    """So many of all records, as it stands in a sentence.

    >>> records(3, 9)
    '3 of 9 records (33.3%)'
    """
    return f"{count} of {rows} records ({percent(count / rows if rows else 0.0)})"


def drawing(trials: object, seed: object) -> tuple[int, np.random.Generator]:
    """The number of trials and the source of what is drawn, checked."""
    return whole_number(trials, "trials"), np.random.default_rng(whole_number(seed, "seed", 0))


def sample(rng: np.random.Generator, rows: int, trials: int) -> np.ndarray:
    """Row numbers to attack, ascending: all of them where there are no more than `trials`."""
    return np.arange(rows) if rows <= trials else np.sort(rng.choice(rows, trials, replace=False))
