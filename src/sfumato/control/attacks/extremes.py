"""Extremes: whose value a greatest or least value is. Chin, "Security problems on inference control", JACM 1986."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import numpy as np

from sfumato.control.attacks.evidence import LogEvidence
from sfumato.core.parameters import checked
from sfumato.measures.arguments import LISTED
from sfumato.measures.attacks.result import MOST, Attack, outcome, records

if TYPE_CHECKING:
    from sfumato.control.log import LoggedQuery

ROUNDS = 50  # of deduction; each takes at least one person further


@checked
def extremes(evidence: LogEvidence, *, most: Annotated[int, LISTED] = MOST) -> dict[str, Attack]:
    """Whose value follows from greatest and least values: of all in the set, they alone can have it.

    After max{a, b, c} = 9 and max{a, b} = 7, c has 9. What is found of a person, a bound from above and one from below,
    rules them out of other sets, until nothing more follows.

    Parameters
    ----------
    evidence
        The log, with what else is known.
    most
        How many row numbers to name.

    Returns
    -------
    An Attack for each column that was asked for a maximum or a minimum.

    References
    ----------
    Chin, "Security problems on inference control for SUM, MAX, and MIN queries", JACM 1986
    """
    found = {}
    asked = [entry for entry in evidence.answered if entry.kind in ("max", "min")]
    for column in sorted({entry.column or "" for entry in asked}):
        low, high = limits(evidence.people, [entry for entry in asked if entry.column == column])
        rows = np.flatnonzero(low == high)
        if evidence.data is not None and column in evidence.data.columns:
            true = evidence.data.get_column(column).to_numpy()
            rows = rows[np.isclose(low[rows], true[rows])]
        said = f"greatest and least values determine the value of {records(len(rows), evidence.people)}"
        details = {"column": column, "rows": rows.tolist()}
        found[column] = outcome(
            "extremes", len(rows), evidence.people, 0.0, rows[:most], said, of="table", details=details
        )
    return found


def limits(people: int, asked: Sequence[LoggedQuery]) -> tuple[np.ndarray, np.ndarray]:
    """What each value is at least and at most, by answered maxima and minima."""
    low, high = np.full(people, -np.inf), np.full(people, np.inf)
    for entry in asked:
        if entry.kind == "max":
            high[entry.rows] = np.minimum(high[entry.rows], float(entry.answer or 0))
        else:
            low[entry.rows] = np.maximum(low[entry.rows], float(entry.answer or 0))
    for _ in range(ROUNDS):
        before = int((low == high).sum())
        for entry in asked:
            answer = float(entry.answer or 0)
            can = entry.rows[(low[entry.rows] <= answer) & (high[entry.rows] >= answer)]
            if len(can) == 1:
                low[can] = high[can] = answer
        if int((low == high).sum()) == before:
            break
    return low, high
