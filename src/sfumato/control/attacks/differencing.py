"""Differencing: two query sets that differ in one person. Denning, Cryptography and Data Security, 1982."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from sfumato.control.attacks.evidence import LogEvidence, SumSystem
from sfumato.core.parameters import checked
from sfumato.measures.arguments import LISTED
from sfumato.measures.attacks.result import MOST, Attack, outcome, records

Pairs = dict[int, tuple[int, int]]  # class of unknowns: two answers whose difference it is
AT_ONCE = 2_000_000  # differences that are held


@checked
def differencing(evidence: LogEvidence, *, most: Annotated[int, LISTED] = MOST) -> dict[str, Attack]:
    """Whose value is the difference of two answers, or one answer alone.

    Parameters
    ----------
    evidence
        The log, with what else is known.
    most
        How many row numbers to name.

    Returns
    -------
    An Attack for each column, whose details tell the two queries.

    References
    ----------
    Denning, "Cryptography and Data Security", Addison-Wesley 1982
    """
    found = {}
    for system in evidence.systems:
        pairs = differences(system, across=False)
        found[system.column] = told("differencing", system, pairs, "two answers about one snapshot differ in", most)
    return found


def told(name: str, system: SumSystem, pairs: Pairs, how: str, most: int) -> Attack:
    """An Attack by what pairs of answers tell."""
    classes = np.array(sorted(pairs), np.int64)
    classes = classes[(system.alone[classes] >= 0)] if len(classes) else classes
    right = np.array([_right(system, pairs[int(one)], int(one)) for one in classes], bool)
    classes = classes[right] if len(classes) else classes
    rows = system.rows(classes)
    by: dict[str, Any] = {}
    for one in classes[:most]:
        numbers = {int(system.numbers[i]) for i in pairs[int(one)] if i >= 0}
        by.setdefault(str(int(system.alone[one] % system.people)), sorted(numbers))
    sentence = f"{how} {records(len(rows), system.people)} alone"
    details = {"column": system.column, "queries": by, "rows": rows.tolist()}
    return outcome(name, len(rows), system.people, 0.0, rows[:most], sentence, of="table", details=details)


def _right(system: SumSystem, pair: tuple[int, int], unknown: int) -> bool:
    """Whether the difference is the value; where nobody knows, it is taken for exact."""
    if system.truth is None:
        return system.fits
    first, second = pair
    off = system.answers[first] - (system.answers[second] if second >= 0 else 0)
    sign = int(system.matrix[first, unknown]) - (int(system.matrix[second, unknown]) if second >= 0 else 0)
    return abs(float(off) * sign - float(system.truth[unknown])) <= 1e-6 * max(1.0, float(np.abs(system.truth).max()))


def differences(system: SumSystem, across: bool) -> Pairs:
    """Classes of unknowns that two answers differ in, of one snapshot or `across` two of them.

    Each answer gets the sum of random numbers of its classes, so that a difference is looked up; what is found is
    compared class by class.
    """
    queries, classes = system.matrix.shape
    drawn = np.sort(np.random.default_rng(0).integers(1, 2**62, classes))
    keys = system.matrix @ drawn  # wraps at 64 bits, as differences do
    alone = np.flatnonzero(np.abs(system.matrix).sum(axis=1) == 1) if not across else np.zeros(0, np.int64)
    found: Pairs = {int(np.flatnonzero(system.matrix[one])[0]): (int(one), -1) for one in alone}
    step = max(1, AT_ONCE // max(1, queries))
    for start in range(0, queries if classes else 0, step):
        part = np.arange(start, min(queries, start + step))
        other = (system.snapshots[part][:, None] != system.snapshots[None, :]) == across
        change = keys[part][:, None] - keys[None, :]
        place = np.minimum(np.searchsorted(drawn, change), classes - 1)
        for i, second in np.argwhere((drawn[place] == change) & other):
            differ = np.flatnonzero(system.matrix[part[i]] != system.matrix[second])
            if len(differ) == 1:
                found.setdefault(int(differ[0]), (int(part[i]), int(second)))
    return found
