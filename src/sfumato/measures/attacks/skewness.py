"""Skewness: a class whose values lie far from the table's tells something about everybody in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np

from sfumato.core.parameters import OneOf, checked
from sfumato.core.wording import percent
from sfumato.errors import PolicyError
from sfumato.measures.arguments import LIMIT, LISTED, QUASI, RELEASED, SENSITIVE
from sfumato.measures.attacks.classes import View, of_values, view
from sfumato.measures.attacks.result import MOST, Attack, outcome, records, worst

SCALES = ("difference", "ratio")
THRESHOLD = 0.25  # a gain above which a record counts as exposed


@checked
def skewness(
    released: Annotated[Any, RELEASED],
    quasi: Annotated[Any, QUASI],
    sensitive: Annotated[str, SENSITIVE],
    *,
    threshold: Annotated[float, LIMIT] = THRESHOLD,
    scale: Annotated[str, OneOf(SCALES)] = "difference",
    values: Any = None,
    prior: Mapping[str | None, float] | None = None,
    most: Annotated[int, LISTED] = MOST,
) -> Attack:
    """The share of records whose class raises the probability of some sensitive value by more than a threshold.

    The posterior p of a value is its share in the class, the prior q its share in the table: the gain is p - q
    ("difference") or (p - q)/q ("ratio": the beta of beta-likeness). The most that a class raises any value counts.
    The baseline is an attacker who knows no quasi-identifier, and so nothing but the prior.

    Parameters
    ----------
    released
        The released table.
    quasi, sensitive
        Its quasi-identifying columns, and the sensitive one.
    threshold
        The gain above which a record counts as exposed.
    scale
        "difference" or "ratio".
    values
        The values that matter, such as those people hide; all unless given.
    prior
        The share of each printed value before the release; that of the released table unless given.
    most
        How many row numbers to name.

    Examples
    --------
    >>> table = {"zip": ["1", "1", "2", "2", "2", "2"], "test": ["+", "-", "-", "-", "-", "-"]}
    >>> found = skewness(table, ["zip"], "test", values=["+"])
    >>> found.success, round(found.details["highest gain"], 4)
    (0.3333333333333333, 0.3333)

    References
    ----------
    Li, Li and Venkatasubramanian, "t-Closeness", ICDE 2007; Cao and Karras, "Publishing microdata with a robust privacy
    guarantee", VLDB 2012.
    """
    seen = view(released, quasi, sensitive)
    matters = None if values is None else of_values(seen, values)
    before = _prior(seen, prior)
    gain, alone = (gain_of(v, before, scale, matters) for v in (seen, seen.everyone))
    hit = (gain > threshold + 1e-12)[seen.class_of_row]
    successes, highest = int(seen.total(hit)), float(gain.max())
    limit = percent(threshold) if scale == "difference" else f"{threshold:g} times"
    sentence = (
        f"For {records(successes, seen.rows)} the class raises the probability of "
        f'a value of "{sensitive}" by more than {limit} over its share in the table.'
    )
    details = {
        "column": sensitive,
        "threshold": float(threshold),
        "scale": scale,
        "highest gain": highest,
        "average gain": float((gain * seen.size).sum() / seen.rows),
    }
    baseline = float(alone[0] > threshold + 1e-12)
    exposed = worst(gain[seen.class_of_row], hit, most)
    return outcome("skewness", successes, seen.rows, baseline, exposed, sentence, details=details)


def _prior(seen: View, prior: Mapping[str | None, float] | None) -> np.ndarray:
    if prior is None:
        return seen.histogram.overall / seen.rows
    shares = np.array([float(prior.get(text, 0.0)) for text in seen.sensitive.categories.text])
    if (shares < 0).any() or not np.isfinite(shares).all() or shares.sum() > 1 + 1e-9:
        raise PolicyError("prior must map values to shares that sum to 1 at most")
    return shares


def gain_of(seen: View, before: np.ndarray, scale: str, matters: np.ndarray | None) -> np.ndarray:
    """The most that each class raises a value."""
    h = seen.histogram
    was = before[h.value]
    gain = h.count / seen.size_of_entry - was
    if scale == "ratio":
        gain = np.where(was > 0, gain / np.where(was > 0, was, 1.0), np.inf)
    if matters is not None:
        gain = np.where(matters[h.value], gain, 0.0)
    return np.maximum(np.maximum.reduceat(gain, h.start[:-1]), 0.0)
