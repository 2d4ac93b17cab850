"""Double tracker: a set in another pads sets up to half of the people. Denning, Denning and Schwartz, TODS 1979."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from sfumato.control.attacks.evidence import LogEvidence
from sfumato.control.attacks.trackers.padding import AnsweredSets, Terms, refused_and_told
from sfumato.core.parameters import checked
from sfumato.measures.arguments import LISTED
from sfumato.measures.attacks.result import MOST, Attack


@checked
def double_tracker(evidence: LogEvidence, *, most: Annotated[int, LISTED] = MOST) -> dict[str, Attack]:
    """Refused queries C whose answer is q(U) + q(C or T) - q(T) - q(not (C and T) and U), for T within U.

    Parameters
    ----------
    evidence
        The log, with what else is known; of the first 1,500 answers of a kind.
    most
        How many row numbers to name.

    Returns
    -------
    An Attack for counts and for each column; its details tell by which answers each refused query is known.

    References
    ----------
    Denning, Denning and Schwartz, "The tracker: a threat to statistical database security", TODS 1979
    """
    return refused_and_told("double-tracker", evidence, _padding, most)


def _padding(sets: AnsweredSets, rows: np.ndarray) -> Terms | None:
    numbers, less, order = sets.differences
    wanted = np.uint64(sets.key(rows)) - less
    place = np.minimum(np.searchsorted(less, wanted), len(order) - 1)
    for found in np.flatnonzero(less[place] == wanted):
        (u, t), (padded, rest) = (divmod(int(order[i]), len(numbers)) for i in (found, place[found]))
        if len({u, t, padded, rest}) == 4:
            terms = tuple((numbers[i], often) for i, often in ((u, 1), (padded, 1), (t, -1), (rest, -1)))
            if sets.makes(terms, rows):
                return terms
    return None
