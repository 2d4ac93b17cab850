"""Ordered columns that iterated lattice recoding releases as ranges: it then need not follow their hierarchy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sfumato.hierarchy import Hierarchy
from sfumato.labels import of_ranges
from sfumato.losses import LabelLoss
from sfumato.microdata import Attribute
from sfumato.search.problem import Problem

WIDEST = 2 / 3  # of the whole cost; each level below is half as wide
WIDTHS = 5


def as_ranges(problem: Problem, loss: LabelLoss) -> Problem:
    """The problem with ordered columns generalised to intervals of equal cost, but for those with levels asked for."""
    return replace(
        problem,
        attributes=tuple(
            _halved(a, loss) if a.categories.ordered and a.name not in problem.levels else a for a in problem.attributes
        ),
    )


def _halved(attribute: Attribute, loss: LabelLoss) -> Attribute:
    """The column with intervals that start at its least value, each level about twice as wide as the one below."""
    known = len(attribute.categories) - attribute.categories.missing
    if known < 2:
        return attribute
    code = np.arange(known)
    cost = loss.cost(labels := of_ranges(attribute, np.zeros(known, np.int64), code))[labels.of]
    place = np.maximum.accumulate(cost - cost[0])
    place = place / place[-1] if place[-1] > 0 else code / (known - 1)
    finest = np.floor(place / (WIDEST * 0.5 ** (WIDTHS - 1)) + 1e-9).astype(np.int64)
    levels = [code]
    for halvings in range(WIDTHS):
        number = np.unique(finest >> halvings, return_inverse=True)[1]
        if levels[-1][-1] > number[-1] > 0:  # neither what there is, nor the root
            levels.append(number)
    levels.append(np.zeros(known, np.int64))
    names = [attribute.categories.text[:known], *(tuple(str(i) for i in range(level[-1] + 1)) for level in levels[1:])]
    texts = tuple(tuple(str(text) for text in level) for level in names)
    return replace(attribute, hierarchy=Hierarchy(attribute.name, texts, np.stack(levels).astype(np.int32)))
