"""Averaging and extremes, put to a database. Denning, TODS 1980; Chin, JACM 1986."""

from __future__ import annotations

import numpy as np

from sfumato.control.attacks.targeted.questioner import Questioner

ROUNDS = 190  # of two queries


def averaging(questioner: Questioner) -> float | None:
    """The average of q(C or T) - q(T) over many sets T without the person: errors that differ from set to set go.

    Small sets, whose samples vary least, weigh most.
    """
    found: list[tuple[float, float]] = []
    for tracker, _ in zip(questioner.apart(0.05, 0.5), range(4 * ROUNDS), strict=False):
        if questioner.queries + 2 > questioner.most or len(found) == ROUNDS:
            break
        padding = questioner.total(tracker, again=True)
        padded = None if padding is None else questioner.total(tracker | questioner.wanted, again=True)
        if padding is not None and padded is not None:
            found.append((padded - padding, 1 / max(1, int(tracker.rows(questioner.register).sum()))))
    return float(np.average([one for one, _ in found], weights=[weight for _, weight in found])) if found else None


def extremes(questioner: Questioner) -> float | None:
    """A greatest or a least value that changes when the person is left out is theirs."""
    if not isinstance(questioner.secret, str):
        return None
    for group, _ in zip(questioner.apart(0.02, 0.3), range(100), strict=False):
        if questioner.queries + 4 > questioner.most:
            return None
        for kind in ("max", "min"):
            without = questioner.ask(kind, group)
            among_them = None if without is None else questioner.ask(kind, group | questioner.whom)
            if without is not None and among_them is not None and without != among_them:
                return among_them
    return None
