"""Reconstruction: a column rebuilt from many inexact sums of random sets. Dinur and Nissim, PODS 2003."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np

from sfumato.control.attacks.averaging import WITHIN, baseline, nearness
from sfumato.control.attacks.evidence import LogEvidence, SumSystem
from sfumato.core.parameters import checked, whole_number
from sfumato.core.wording import count, number
from sfumato.measures.arguments import LISTED, SHARE
from sfumato.measures.attacks.result import MOST, Attack, outcome, records


@checked
def reconstruction(
    evidence: LogEvidence, *, within: Annotated[float, SHARE] = WITHIN, most: Annotated[int, LISTED] = MOST
) -> dict[str, Attack]:
    """How much of a column regularised least squares rebuild from inexact answers: with errors below about half the
    root of the number of people, and a few times as many answers as people, most of it.

    The attacker is taken to know how large errors are, and the mean and the variance of the column.

    Parameters
    ----------
    evidence
        The log with its table, without which nobody knows what was rebuilt rightly.
    within
        How near a number has to come, as a share of the range of the column.
    most
        How many row numbers to name.

    Returns
    -------
    An Attack for each column; its baseline guesses the more frequent value, or the middle one, for everybody.

    References
    ----------
    Dinur and Nissim, "Revealing information while preserving privacy", PODS 2003
    """
    return {s.column: _rebuilt(s, within, most) for s in evidence.systems if s.truth is not None}


def _rebuilt(system: SumSystem, within: float, most: int) -> Attack:
    assert system.truth is not None
    off = system.answers - system.matrix @ system.truth
    noise = float((off**2).mean()) if len(off) else 0.0
    each, many = system.truth / np.maximum(system.size, 1), system.size.astype(float)
    middle = float(np.average(each, weights=many))
    spread = many * max(float(np.average((each - middle) ** 2, weights=many)), 1e-12)
    estimate = system.estimate
    if not system.fits:
        left = system.answers - system.matrix @ (many * middle)
        estimate = many * middle + departures(system.matrix.astype(float), left, noise, spread)
    alone = system.alone >= 0
    near = nearness(system, estimate, within) & alone
    rows = system.rows(np.flatnonzero(near))
    wrong = system.rows(np.flatnonzero(alone & ~near))
    rows = np.setdiff1d(rows, wrong)  # of several labels, all have to be right
    error = noise**0.5
    said = f"{count(len(system.answers), 'answer')} with an error of {number(error)} rebuild "
    said += f"{records(len(rows), system.people)}; half the root of all people is {number(system.people**0.5 / 2)}"
    details: dict[str, Any] = {"column": system.column, "answers": len(system.answers), "error": error}
    return outcome(
        "reconstruction", len(rows), system.people, baseline(system, within), rows[:most], said, of="table",
        details=details | {"within": within, "rows": rows.tolist()},
    )  # fmt: skip


def departures(matrix: np.ndarray, left: np.ndarray, noise: float, spread: np.ndarray) -> np.ndarray:
    """The linear estimate with the least mean square error of unknowns with mean 0 and a variance each, from sums that
    have an error of variance `noise`. Tikhonov regularisation; without noise, the shortest solution."""
    weighed = matrix * spread
    product = weighed @ matrix.T
    if noise <= 1e-9 * float(np.trace(product)):
        return np.asarray(weighed.T @ np.linalg.lstsq(product, left)[0])
    return np.asarray(weighed.T @ np.linalg.solve(product + noise * np.eye(len(matrix)), left))


def rebuilt_share(
    secret: Sequence[int] | np.ndarray, answers: int, error: float, *, noise: str = "uniform", seed: int = 0
) -> float:
    """The share of a column of 0 and 1 that comes back from counts of random sets with an error.

    `noise` is "uniform" within `error` either way, or "laplace" with `error` as its scale, which is how private answers
    are changed: each costs 1 / `error` of epsilon.

    >>> rebuilt_share([0, 1] * 50, 400, 1.0)
    1.0
    """
    true = np.asarray(secret, float)
    rng = np.random.default_rng(whole_number(seed, "seed", 0))
    sets = rng.integers(0, 2, (whole_number(answers, "answers"), len(true))).astype(float)
    off = rng.laplace(0, error, answers) if noise == "laplace" else rng.uniform(-error, error, answers)
    told = sets @ true + (off if error > 0 else 0)
    variance = 2 * error**2 if noise == "laplace" else error**2 / 3
    guess = 0.5 + departures(sets, told - sets @ np.full(len(true), 0.5), variance, np.full(len(true), 0.25))
    return float(((guess > 0.5) == (true > 0.5)).mean())
