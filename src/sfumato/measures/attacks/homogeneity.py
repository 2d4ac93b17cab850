"""Homogeneity: all records of a class share their sensitive value, so finding the class is finding the value."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from sfumato.core.parameters import checked
from sfumato.core.wording import percent
from sfumato.measures.arguments import LISTED, QUASI, RELEASED, SENSITIVE, SHARE
from sfumato.measures.attacks.classes import View, view
from sfumato.measures.attacks.result import MOST, Attack, outcome, records, worst


@checked
def homogeneity(
    released: Annotated[Any, RELEASED],
    quasi: Annotated[Any, QUASI],
    sensitive: Annotated[str, SENSITIVE],
    *,
    share: Annotated[float, SHARE] = 1.0,
    most: Annotated[int, LISTED] = MOST,
) -> Attack:
    """The share of records whose class gives their sensitive value away.

    A class does where its most frequent value has at least `share` of its records (1: all of them). The baseline is
    the same for an attacker who knows no quasi-identifier. `details` also say how often the best guess, the most
    frequent value of the class, is right, and how often that of the whole table is.

    Parameters
    ----------
    released
        The released table.
    quasi, sensitive
        Its quasi-identifying columns, and the sensitive one.
    share
        From which share of one value on a class counts as homogeneous.
    most
        How many row numbers to name.

    Examples
    --------
    >>> table = {"age": ["2*", "2*", "3*", "3*"], "disease": ["flu", "flu", "flu", "asthma"]}
    >>> found = homogeneity(table, ["age"], "disease")
    >>> found.success, found.exposed, found.details["guess"]
    (0.5, (0, 1), 0.75)

    References
    ----------
    Machanavajjhala et al., "l-Diversity: privacy beyond k-anonymity", ICDE 2006.
    """
    seen = view(released, quasi, sensitive)
    top, hit = top_share(seen, share)
    rows = hit[seen.class_of_row]
    alone, all_alike = top_share(seen.everyone, share)
    successes = int(seen.total(rows))
    exposed = worst(top[seen.class_of_row], rows, most)
    sentence = (
        f'{records(successes, seen.rows)} lie in classes whose members all have one value of "{sensitive}": finding '
        "the class is finding the value."
        if share == 1
        else f"{records(successes, seen.rows)} lie in classes where at least {percent(share)} of the members have the "
        f'same value of "{sensitive}".'
    )
    details = {
        "column": sensitive,
        "share": share,
        "classes": int(hit.sum()),
        "guess": float((top * seen.size).sum() / seen.rows),
        "guess baseline": float(alone[0]),
    }
    return outcome("homogeneity", successes, seen.rows, float(all_alike[0]), exposed, sentence, details=details)


def top_share(seen: View, share: float) -> tuple[np.ndarray, np.ndarray]:
    """The share of the most frequent value of each class, and whether it is enough."""
    h = seen.histogram
    top = np.maximum.reduceat(h.count, h.start[:-1]) / seen.size
    return top, top >= share - 1e-12
