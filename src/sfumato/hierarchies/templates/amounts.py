"""Ages and incomes: round intervals that people use."""

from __future__ import annotations

import math

from sfumato.hierarchies.intervals import intervals
from sfumato.hierarchies.templates.template import NumberTemplate

OLDEST = 130


def age() -> NumberTemplate:
    """Ages in years: groups of 5, 10 and 20 years, then minors and adults.

    A tree needs cuts that stand in every finer level. Adults begin at 18, so the groups beside it give way: those of
    five years are [15, 18) and [18, 20), those of ten [10, 18) and [18, 30), those of twenty `< 18` and [18, 40). Ages
    of 90 and more are one group, as the Safe Harbor rule of HIPAA asks for.

    >>> age().describe()
    'age'
    """
    five = [5, 10, 15, 18, *range(20, 95, 5)]
    ten = [10, 18, *range(30, 100, 10)]
    return NumberTemplate("age", "ages in years", intervals(cuts=[five, ten, [18, 40, 60, 80], [18]]), 0, OLDEST)


def income() -> NumberTemplate:
    """Amounts of money: intervals of 1000, 5000, 10000, 50000 and 100000, from 500000 on one group.

    >>> income().describe()
    'income'
    """
    steps = intervals(1000, 5000, 10000, 50000, 100000, top=500000)
    return NumberTemplate("income", "amounts", steps, -math.inf, math.inf)
