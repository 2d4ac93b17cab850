"""Averaging: noise that is drawn anew is averaged away. Denning, "Secure statistical databases with random sample
queries", TODS 1980."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from sfumato.control.attacks.evidence import LogEvidence, SumSystem
from sfumato.control.attacks.row_space import SumSpace
from sfumato.core.parameters import checked
from sfumato.core.wording import count, number
from sfumato.measures.arguments import LISTED, SHARE
from sfumato.measures.attacks.result import MOST, Attack, outcome, records

WITHIN = 0.05


@checked
def averaging(
    evidence: LogEvidence, *, within: Annotated[float, SHARE] = WITHIN, most: Annotated[int, LISTED] = MOST
) -> dict[str, Attack]:
    """Whose value comes out when answers that differ by noise alone are averaged.

    The same set asked again, or put together of parts, has another error each time, unless the error depends on the
    set alone. The least-squares fit to all answers is the average with the smallest error. Of those whose value would
    be determined if the answers were exact, it counts those that it estimates `within` this part of the range of the
    column; of counts, those on the right side of one half.

    Parameters
    ----------
    evidence
        The log with its table, without which nobody knows who was estimated rightly.
    within
        How near is near, as a share of the range of the column.
    most
        How many row numbers to name.

    Returns
    -------
    An Attack for each column whose answers do not fit together; its baseline guesses the middle value for everybody.

    References
    ----------
    Denning, "Secure statistical databases with random sample queries", TODS 1980
    """
    return {s.column: _averaged(s, within, most) for s in evidence.systems if not s.fits and s.truth is not None}


def _averaged(system: SumSystem, within: float, most: int) -> Attack:
    found = SumSpace(system.matrix).determined()
    found = found[system.alone[found] >= 0]
    near = nearness(system, system.estimate, within)
    rows = system.rows(found[near[found]])
    guess = baseline(system, within)
    repeats: dict[bytes, list[float]] = {}
    for row, answer in zip(system.matrix, system.answers, strict=True):
        repeats.setdefault(row.tobytes(), []).append(float(answer))
    again = [answers for answers in repeats.values() if len(answers) > 1]
    spread = float(np.mean([np.std(answers, ddof=1) for answers in again])) if again else None
    said = f"the average of noisy answers comes near the value of {records(len(rows), system.people)}"
    if spread is not None:
        said += f"; {count(len(again), 'set')} asked more than once, with a standard deviation of {number(spread)}"
    details: dict[str, Any] = {"column": system.column, "repeated": len(again), "spread": spread, "within": within}
    return outcome(
        "averaging", len(rows), system.people, guess, rows[:most], said, of="table",
        details=details | {"rows": rows.tolist()},
    )  # fmt: skip


def nearness(system: SumSystem, estimate: np.ndarray, within: float) -> np.ndarray:
    """Which classes are estimated well: counts on the right side of a half, others within a share of the range."""
    assert system.truth is not None
    each, true = estimate / np.maximum(system.size, 1), system.truth / np.maximum(system.size, 1)
    if system.labels:
        found: np.ndarray = (each > 0.5) == (true > 0.5)
        return found
    near: np.ndarray = np.abs(each - true) <= within * _range(true)
    return near


def baseline(system: SumSystem, within: float) -> float:
    """The share of classes that a guess of the middle value, or of the more frequent one, gets."""
    assert system.truth is not None
    true = system.truth / np.maximum(system.size, 1)
    if not len(true):
        return 0.0
    if system.labels:
        return float(max((true > 0.5).mean(), (true <= 0.5).mean()))
    return float((np.abs(true - np.median(true)) <= within * _range(true)).mean())


def _range(true: np.ndarray) -> float:
    return float(np.ptp(true)) if len(true) else 0.0
