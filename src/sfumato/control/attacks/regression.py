"""Regression: values that answers leave nearly known. Palley and Simonoff, "The use of regression methodology for the
compromise of confidential information in statistical databases", TODS 1987."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from sfumato.control.attacks.evidence import LogEvidence, SumSystem
from sfumato.core.parameters import checked
from sfumato.core.wording import percent
from sfumato.measures.arguments import LISTED, SHARE
from sfumato.measures.attacks.result import MOST, Attack, outcome, records, worst

LARGEST = 2000  # answers or classes, whichever are fewer


@checked
def regression(
    evidence: LogEvidence, *, left: Annotated[float, SHARE] = 0.05, most: Annotated[int, LISTED] = MOST
) -> dict[str, Attack]:
    """Of whose value exact answers leave less than a share of the variance open.

    A value that is not determined may still be estimated well: least squares leave open what the projection of the
    person's unit vector onto the row space of the answers lacks in squared length. It depends on the sets alone.

    Parameters
    ----------
    evidence
        The log, with what else is known.
    left
        The share of the variance of a value, among all people, below which it counts as known.
    most
        How many row numbers to name.

    Returns
    -------
    An Attack for each column whose answers fit together.

    References
    ----------
    Palley and Simonoff, "The use of regression methodology for the compromise of confidential information", TODS 1987
    """
    fitting = [system for system in evidence.systems if system.fits and min(system.matrix.shape) <= LARGEST]
    return {system.column: _estimated(system, left, most) for system in fitting}


def _estimated(system: SumSystem, left: float, most: int) -> Attack:
    explained = leverages(system) / system.size  # of each unknown of a class, when all are as likely
    of_row = np.zeros(system.people)
    inside = np.flatnonzero(system.class_of >= 0)
    np.maximum.at(of_row, inside % system.people, explained[system.class_of[inside]])
    rows = worst(of_row, of_row > 1 - left, system.people)
    said = f"answers leave less than {percent(left)} of the variance of {records(len(rows), system.people)} open"
    details: dict[str, Any] = {"column": system.column, "left": left, "rows": sorted(rows.tolist())}
    return outcome("regression", len(rows), system.people, 0.0, rows[:most], said, of="table", details=details)


def leverages(system: SumSystem) -> np.ndarray:
    """The squared length of the projection of each class of unknowns onto the row space of the answers."""
    matrix = system.matrix * np.sqrt(system.size)  # so that all classes have one variance
    wide = matrix.shape[0] < matrix.shape[1]
    values, vectors = np.linalg.eigh(matrix @ matrix.T if wide else matrix.T @ matrix)
    kept = values > 1e-9 * max(1.0, float(values.max(initial=0)))
    turned = (matrix.T @ vectors[:, kept]) / np.sqrt(values[kept]) if wide else vectors[:, kept]
    found: np.ndarray = (turned**2).sum(axis=1)
    return found
