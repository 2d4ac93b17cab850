"""Negative disclosure: a class that lacks a common value tells that its members do not have it."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from sfumato.core.parameters import checked
from sfumato.core.wording import percent
from sfumato.measures.arguments import LISTED, QUASI, RELEASED, SENSITIVE, SHARE
from sfumato.measures.attacks.classes import View, of_values, view
from sfumato.measures.attacks.result import MOST, Attack, outcome, records, worst

COMMON = 0.1  # the share from which on a value is common


@checked
def negative_disclosure(
    released: Annotated[Any, RELEASED],
    quasi: Annotated[Any, QUASI],
    sensitive: Annotated[str, SENSITIVE],
    *,
    common: Annotated[float, SHARE] = COMMON,
    values: Any = None,
    most: Annotated[int, LISTED] = MOST,
) -> Attack:
    """The share of records of whom the release tells that they certainly do not have a common sensitive value.

    A value is common where at least `common` of the released records have it, or where it is among `values`. A record
    is exposed where no record of its class has one of them, the more the larger a share of the table these values make
    up. The baseline is the same for an attacker who knows no quasi-identifier: nothing in the table is absent from it.

    Parameters
    ----------
    released
        The released table.
    quasi, sensitive
        Its quasi-identifying columns, and the sensitive one.
    common
        The share from which on a value is common.
    values
        The values that matter, instead.
    most
        How many row numbers to name.

    Examples
    --------
    >>> table = {"age": ["2*", "2*", "3*", "3*"], "disease": ["flu", "flu", "flu", "asthma"]}
    >>> found = negative_disclosure(table, ["age"], "disease")
    >>> found.success, found.exposed
    (0.5, (0, 1))

    References
    ----------
    Machanavajjhala et al., "l-Diversity: privacy beyond k-anonymity", ICDE 2006 (positive and negative disclosure).
    """
    seen = view(released, quasi, sensitive)
    overall = seen.histogram.overall / seen.rows
    matters = overall >= common - 1e-12 if values is None else of_values(seen, values) & (overall > 0)
    lacks, mass = absent(seen, matters, overall)
    hit = (lacks > 0)[seen.class_of_row]
    successes = int(seen.total(hit))
    which = f"that at least {percent(common)} of all records have" if values is None else "of those given"
    sentence = (
        f"Of {records(successes, seen.rows)} the release tells that they do not "
        f'have some value of "{sensitive}" {which}.'
    )
    details = {
        "column": sensitive,
        "common": common,
        "common values": int(matters.sum()),
        "average share ruled out": float((mass * seen.size).sum() / seen.rows),
    }
    exposed = worst(mass[seen.class_of_row], hit, most)
    return outcome("negative disclosure", successes, seen.rows, 0.0, exposed, sentence, details=details)


def absent(seen: View, matters: np.ndarray, overall: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How many of the values that matter each class lacks, and what share of the table they make up."""
    h = seen.histogram
    there = matters[h.value]
    lacks = int(matters.sum()) - np.add.reduceat(there.astype(np.int64), h.start[:-1])
    mass = float(overall[matters].sum()) - np.add.reduceat(np.where(there, overall[h.value], 0.0), h.start[:-1])
    return lacks, np.where(lacks > 0, mass, 0.0)
