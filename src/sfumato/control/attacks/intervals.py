"""Intervals: how narrow answers leave a value, by linear programming. Li, Wang, Wang and Jajodia, CAiSE 2002."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import numpy as np

from sfumato.control.attacks.evidence import LogEvidence, SumSystem
from sfumato.control.attacks.extremes import limits
from sfumato.core.parameters import checked
from sfumato.core.wording import count, percent
from sfumato.errors import MissingExtra
from sfumato.measures.arguments import ATTEMPTS, LISTED, SEED, SHARE
from sfumato.measures.attacks.result import MOST, TRIALS, Attack, drawing, outcome, sample

SLACK = 1e-6
LARGEST, WORK = 1_000_000, 10_000_000  # entries of one program, which take about a second, and of all of them


@checked
def intervals(
    evidence: LogEvidence,
    *,
    narrow: Annotated[float, SHARE] = 0.1,
    trials: Annotated[int, ATTEMPTS] = TRIALS,
    seed: Annotated[int, SEED] = 0,
    most: Annotated[int, LISTED] = MOST,
) -> dict[str, Attack]:
    """Whose value is left an interval of at most a `narrow` share of the bounds of the column, and of a condition that
    counts were about, whether it holds.

    All answered sums, means, maxima and minima of a column bound it together, with the bounds that everybody knows.

    Parameters
    ----------
    evidence
        The log, with what else is known.
    narrow
        How narrow is narrow, as a share of what lies between the bounds.
    trials
        For how many classes of people of the same answers intervals are computed, at most; fewer of large logs.
    seed
        Of which ones.
    most
        How many row numbers to name.

    Returns
    -------
    An Attack for each column that has bounds and exact answers.

    References
    ----------
    Li, Wang, Wang and Jajodia, "Auditing interval-based inference", CAiSE 2002
    """
    found = {}
    for system in evidence.systems:
        low, high = _bounds(evidence, system)
        if system.fits and np.isfinite(low).any() and system.matrix.size <= LARGEST:
            found[system.column] = _narrowed(system, low, high, narrow, trials, seed, most)
    return found


def _bounds(evidence: LogEvidence, system: SumSystem) -> tuple[np.ndarray, np.ndarray]:
    """What each unknown is known to lie between, by the bounds of the column and by its extremes."""
    low = np.full(len(system.class_of), -np.inf if system.low is None else system.low)
    high = np.full(len(system.class_of), np.inf if system.high is None else system.high)
    if not system.labels:
        asked = [e for e in evidence.answered if e.kind in ("max", "min") and e.column == system.column]
        least, greatest = limits(system.people, asked)
        low, high = np.maximum(low, least), np.minimum(high, greatest)
    return low, high


def _narrowed(
    system: SumSystem, low: np.ndarray, high: np.ndarray, narrow: float, trials: int, seed: int, most: int
) -> Attack:
    try:
        optimize = import_module("scipy.optimize")
    except ImportError:
        raise MissingExtra("scipy", "ml") from None
    inside = np.flatnonzero(system.class_of >= 0)
    classes, count_ = system.class_of[inside], len(system.size)
    least, greatest = (np.bincount(classes, end[inside], minlength=count_) for end in (low, high))
    rng = drawing(trials, seed)[1]
    chosen = sample(rng, count_, min(trials, WORK // system.matrix.size))
    whole, exposed = bool(system.labels), []
    for one in chosen:
        cost = np.zeros(count_)
        cost[one] = 1
        ends = []
        for sign in (1, -1):
            done = optimize.linprog(
                sign * cost, A_eq=system.matrix, b_eq=system.answers, bounds=np.stack([least, greatest], 1)
            )
            ends.append(sign * done.fun if done.status == 0 else -sign * np.inf)
        bottom, top = ends
        if whole:
            bottom, top = np.ceil(bottom - SLACK), np.floor(top + SLACK)
        members = inside[classes == one]
        at_least = np.maximum(low[members], bottom - (greatest[one] - high[members]))
        at_most = np.minimum(high[members], top - (least[one] - low[members]))
        width = high[members] - low[members] if system.low is None or system.high is None else system.high - system.low
        limit = SLACK if whole else np.where(np.isfinite(width), narrow * width, SLACK)
        exposed.append(members[at_most - at_least <= limit + SLACK * np.maximum(1, np.abs(at_least))])
    rows = np.unique(np.concatenate(exposed) % system.people) if exposed else np.empty(0, np.int64)
    tried = int(system.size[chosen].sum())
    said = (
        f"of {count(tried, 'value')} that answers bound, {len(rows)} are told"
        if whole
        else f"{len(rows)} of {count(tried, 'value')} lie within {percent(narrow)} of what the column can be"
    )
    details: dict[str, Any] = {"column": system.column, "narrow": narrow, "rows": rows.tolist()}
    return outcome(
        "intervals", len(rows), max(tried, len(rows)), 0.0, rows[:most], said, seed=seed, of="table", details=details
    )
