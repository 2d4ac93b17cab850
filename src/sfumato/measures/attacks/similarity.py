"""Similarity: the values of a class differ, and yet mean the same."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from sfumato.core.parameters import Whole, checked, is_whole
from sfumato.core.wording import percent
from sfumato.errors import PolicyError
from sfumato.measures.arguments import LISTED, QUASI, RELEASED, SENSITIVE, SHARE
from sfumato.measures.attacks.classes import View, view
from sfumato.measures.attacks.result import MOST, Attack, outcome, records, worst


@checked
def similarity(
    released: Annotated[Any, RELEASED],
    quasi: Annotated[Any, QUASI],
    sensitive: Annotated[str, SENSITIVE],
    *,
    hierarchy: Any = None,
    level: Annotated[int | None, Whole(0)] = None,
    width: Annotated[float, SHARE] = 0.25,
    most: Annotated[int, LISTED] = MOST,
) -> Attack:
    """The share of records in classes whose sensitive values are all close to each other.

    With a hierarchy, values are close where all stand under one node below its root. Without, the column must hold
    numbers, dates or times, and values are close where their range is at most `width` of the range of the table. The
    baseline is the same for an attacker who knows no quasi-identifier.

    Parameters
    ----------
    released
        The released table.
    quasi, sensitive
        Its quasi-identifying columns, and the sensitive one.
    hierarchy
        The hierarchy of the sensitive values: a Hierarchy, a recipe, a file.
    level
        The highest level of the hierarchy at which values count as close; unless given, the one below the root.
    width
        The share of the table's range.
    most
        How many row numbers to name.

    Examples
    --------
    >>> salary = {"age": ["2*", "2*", "3*", "3*"], "salary": [3, 4, 5, 11]}
    >>> found = similarity(salary, ["age"], "salary")
    >>> found.success, found.exposed
    (0.5, (0, 1))

    References
    ----------
    Li, Li and Venkatasubramanian, "t-Closeness: privacy beyond k-anonymity and l-diversity", ICDE 2007.
    """
    seen = view(released, quasi, sensitive, hierarchy)
    attribute = seen.sensitive
    if attribute.hierarchy is not None:
        top = attribute.ladder.height - 1
        limit = top if level is None else level
        if not is_whole(limit) or not 0 <= limit <= max(top, 0):
            raise PolicyError("level must be a level of the hierarchy below its root", got=level, allowed=f"0..{top}")
        spread, alone = (_meeting(v) for v in (seen, seen.everyone))
        close = f'stand under one node, below the root, of the hierarchy of "{sensitive}"'
        bound = float(limit)
        how = {"level": int(limit)}
    elif attribute.categories.ordered:
        spread, alone = (_breadth(v) for v in (seen, seen.everyone))
        close = f'lie within {percent(width)} of the range of "{sensitive}"'
        bound = width + 1e-12
        how = {"width": width}  # type: ignore[dict-item]
    else:
        what = f'"{sensitive}" holds no numbers, and without a hierarchy nothing says which of its values are alike'
        raise PolicyError(what, hint="give its hierarchy")
    hit = (spread <= bound)[seen.class_of_row]
    successes = int(seen.total(hit))
    sentence = f"{records(successes, seen.rows)} lie in classes whose values all {close}."
    exposed = worst(-spread[seen.class_of_row], hit, most)
    details = {"column": sensitive, **how, "classes": int((spread <= bound).sum())}
    return outcome("similarity", successes, seen.rows, float(alone[0] <= bound), exposed, sentence, details=details)


def _meeting(seen: View) -> np.ndarray:
    """The lowest level at which all values of each class stand under one node."""
    h, of = seen.histogram, seen.sensitive.ladder.of
    meeting = np.full(len(seen.size), len(of) - 1, np.float64)
    for level in range(len(of) - 2, -1, -1):
        node = of[level][h.value]
        alike = np.minimum.reduceat(node, h.start[:-1]) == np.maximum.reduceat(node, h.start[:-1])
        meeting[alike] = level
    return meeting


def _breadth(seen: View) -> np.ndarray:
    """The range of each class as a share of the table's; missing beside known values is no range at all."""
    h, place = seen.histogram, seen.sensitive.positions
    known = np.where(np.arange(len(place)) < len(place) - seen.sensitive.categories.missing, place, np.nan)[h.value]
    one = np.diff(h.start) == 1
    breadth = np.maximum.reduceat(known, h.start[:-1]) - np.minimum.reduceat(known, h.start[:-1])
    span = seen.sensitive.span
    share = np.where(np.isnan(breadth), np.inf, breadth / span if span > 0 else breadth)
    return np.where(one, 0.0, share)
