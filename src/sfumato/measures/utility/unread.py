"""Unread labels: what a label stands for that is no value, no range, set or mask, and in no hierarchy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.measures.labels_cover import ABOVE, BETWEEN, BEYOND, BRACKETS, DECADE, NUMBER


@dataclass(frozen=True, eq=False)
class Unread:
    """Labels that could not be read, by number: groups with their values, groups of whatever, and the others."""

    learnt: dict[int, np.ndarray]
    unread: frozenset[int] = frozenset()
    strange: frozenset[int] = frozenset()


def read_as(
    text: Sequence[str | None],
    label: np.ndarray,
    count: np.ndarray,
    read: np.ndarray,
    code: np.ndarray | None,
    values: int,
) -> Unread:
    """What the labels that could not be read stand for; `code` is the original value of each released row, where known.

    `count` is the number of rows under each label.

    They are groups where the column looks like it: fewer of them than values under them, each on several rows. A group
    is learnt from its rows where no value of it stands under another label, other than one that says nothing, and some
    value stands there more than once, so that this is no accident. Other groups may be anything. What is no group, such
    as a label on one row or a new name for one value, is a value that the original does not have.
    """
    unknown = np.flatnonzero(~read)
    if not len(unknown):
        return Unread({})
    several = unknown[count[unknown] > 1]
    if code is None:
        groups = several if len(unknown) < values else several[:0]
        return Unread({}, frozenset(groups.tolist()), frozenset(np.setdiff1d(unknown, groups).tolist()))
    silent = np.array([word is None or not word.strip("*") for word in text])
    pairs, rows = np.unique(label * values + code, return_counts=True)
    of, value = pairs // values, pairs % values
    homes = np.bincount(value[~silent[of] & (count[of] > 1)], minlength=values)  # labels that a value stands under
    under = np.isin(of, several)
    if len(several) >= len(np.unique(value[under])):
        return Unread({}, strange=frozenset(unknown.tolist()))
    repeated = bool((rows[under] > 1).any())
    learnt, unread = {}, []
    ends = np.searchsorted(of, np.arange(len(text) + 1))
    for i in several.tolist():
        own = value[ends[i] : ends[i + 1]]
        if repeated and (homes[own] == 1).all():
            learnt[i] = own
        elif len(own) > 1:
            unread.append(i)
    return Unread(learnt, frozenset(unread), frozenset(unknown.tolist()) - learnt.keys() - frozenset(unread))


def read_middle(label: str) -> float:
    """The number that a number or a range stands for, nan where it says none; a range with one end is that end.

    >>> read_middle("20-29"), read_middle("[20, 30)"), read_middle("-3"), read_middle(">= 90"), read_middle("1970s")
    (24.5, 25.0, -3.0, 90.0, 1975.0)
    """
    text = label.strip()
    if match := DECADE.match(text):
        return float(match[1]) + 5
    words: Sequence[str | None] = [text]
    for form in (BRACKETS, BEYOND, ABOVE, BETWEEN):
        if (match := form.match(text)) and not NUMBER.match(text):
            words = match.groups()
            break
    else:
        if text.startswith("{") and text.endswith("}"):
            words = text[1:-1].split(",")
    ends = [float(word) for word in ((w or "").strip() for w in words) if NUMBER.match(word)]
    known = [end for end in ends if math.isfinite(end)]
    return sum(end / len(known) for end in known) if known else math.nan
