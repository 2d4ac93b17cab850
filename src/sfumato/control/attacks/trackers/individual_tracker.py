"""Individual tracker: a set, less what is left of it without one person. Schloerer, Methods Inf. Med. 1975."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from sfumato.control.attacks.evidence import LogEvidence
from sfumato.control.attacks.trackers.padding import AnsweredSets, Terms, refused_and_told
from sfumato.core.parameters import checked
from sfumato.measures.arguments import LISTED
from sfumato.measures.attacks.result import MOST, Attack


@checked
def individual_tracker(evidence: LogEvidence, *, most: Annotated[int, LISTED] = MOST) -> dict[str, Attack]:
    """Refused queries C whose answer is q(A) - q(T), for answered sets A and T = A and not C.

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
    Schloerer, "Identification and retrieval of personal records from a statistical data bank", 1975
    """
    return refused_and_told("individual-tracker", evidence, _padding, most)


def _padding(sets: AnsweredSets, rows: np.ndarray) -> Terms | None:
    key = sets.key(rows)
    for number, whole in sets.keys.items():
        rest = sets.find(whole - key)
        if rest is not None and rest != number:
            terms = ((number, 1), (rest, -1))
            if sets.makes(terms, rows):
                return terms
    return None
