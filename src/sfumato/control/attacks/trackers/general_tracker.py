"""General tracker: any set of middling size pads every small one. Denning, Denning and Schwartz, TODS 1979."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from sfumato.control.attacks.evidence import LogEvidence
from sfumato.control.attacks.trackers.padding import AnsweredSets, Terms, refused_and_told
from sfumato.core.parameters import checked
from sfumato.measures.arguments import LISTED
from sfumato.measures.attacks.result import MOST, Attack


@checked
def general_tracker(evidence: LogEvidence, *, most: Annotated[int, LISTED] = MOST) -> dict[str, Attack]:
    """Refused queries C whose answer is q(C or T) + q(C or not T) - all, or, of a set that is too large,
    2 all - q(not C or T) - q(not C or not T), where all = q(T) + q(not T).

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
    Denning, Denning and Schwartz, "The tracker: a threat to statistical database security", TODS 1979
    """
    return refused_and_told("general-tracker", evidence, _padding, most)


def _padding(sets: AnsweredSets, rows: np.ndarray) -> Terms | None:
    key, everybody = sets.key(rows), sets.everybody
    split = next(sets.splits(), None)
    whole = sets.find(everybody)
    if split is None and whole is None:
        return None
    all_of_them = ((split[0], 1), (split[1], 1)) if split is not None else ((whole or 0, 1),)
    for number, one in sets.keys.items():
        for often, wanted in ((1, key + everybody - one), (-1, 2 * everybody - key - one)):
            other = sets.find(wanted)
            if other is None:
                continue
            everyone = tuple((query, -often if often == 1 else 2 * sign) for query, sign in all_of_them)
            terms = ((number, often), (other, often), *everyone)
            if sets.makes(terms, rows):
                return terms
    return None
