"""Union tracker: disjoint sets, one of which misses every small one. Schloerer, TODS 1980."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from sfumato.control.attacks.evidence import LogEvidence
from sfumato.control.attacks.trackers.padding import AnsweredSets, Terms, refused_and_told
from sfumato.core.parameters import checked
from sfumato.measures.arguments import LISTED
from sfumato.measures.attacks.result import MOST, Attack


@checked
def union_tracker(evidence: LogEvidence, *, most: Annotated[int, LISTED] = MOST) -> dict[str, Attack]:
    """Refused queries C whose answer is q(C or T) - q(T), for one of two or more disjoint answered sets T.

    Parameters
    ----------
    evidence
        The log, with what else is known.
    most
        How many row numbers to name.

    Returns
    -------
    An Attack for counts and for each column; its details tell by which answers each refused query is known.

    References
    ----------
    Schloerer, "Disclosure from statistical databases: quantitative aspects of trackers", TODS 1980
    """
    return refused_and_told("union-tracker", evidence, _padding, most)


def _padding(sets: AnsweredSets, rows: np.ndarray) -> Terms | None:
    key = sets.key(rows)
    for number, one in sets.keys.items():
        padded = sets.find(one + key)
        terms = ((padded if padded is not None else number, 1), (number, -1))
        if padded is None or padded == number or not sets.makes(terms, rows):
            continue
        if any(not np.isin(other, sets.rows[number]).any() for other in sets.rows.values()):  # the tracker's other part
            return terms
    return None
