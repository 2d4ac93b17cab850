"""Learned hierarchies: steps that people use, for columns that were given none."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Annotated

import numpy as np

from sfumato.core.exact import HELD, exact, show, steps_below
from sfumato.core.hierarchy import Categories, Groups, Hierarchy, by_label, grow, leaves_of
from sfumato.core.label_grammar import LONGEST_LIST, range_text, set_text
from sfumato.core.parameters import OneOf, Whole
from sfumato.hierarchies.dates import in_unit, moments_of
from sfumato.hierarchies.words import codes_of, prefix_levels, word_order

GROUPS = Whole(2)
TRIMMED = 0.025  # of the rows on either side, at least, which do not matter to the steps
MOST_TRIMMED = 0.15  # beyond it the steps would not fit the rows that stay
FIRST = (5, 10, 25)  # a first step, times a power of ten; each next one is twice as wide
FINER = {5: ((5, -1), (1, 0)), 10: ((1, 0), (5, 0)), 25: ((1, 0), (5, 0))}  # steps below it: a digit, and more powers
SMALLEST = 1e-290  # span that floats can be cut in
DOUBLED = 4  # steps, the widest of which is no wider than most rows lie apart
LONG_SPAN = 10 * 366  # days, from which on quarters matter less than decades
FEW_WEEKS = 100  # days, up to which weeks say more than months
MOST_CODES = 60  # whole numbers that may stand for something else
EXACT = 2**53  # whole numbers beyond it lie apart as floats do
OFTEN = 20  # rows per value, from which on gaps between few whole numbers are no accident
DIGITS = ("numbers", "codes", "postcodes")  # what those of whole numbers are
TEXT_LEVELS = 4  # between texts and root, where there are values enough
WEEKS = ("week",)
SHORT = ("month", "quarter", "year", "5 years")
LONG = ("month", "year", "5 years", "decade", "20 years")


@dataclass(frozen=True)
class Learned:
    """Round steps for numbers and dates, groups of alike categories.

    `trimmed` is the share of the rows, on either side, that do not matter to the steps; `digits` says what those of
    whole numbers are.
    """

    groups: int = 256
    trimmed: float = TRIMMED
    digits: str = "numbers"

    def __post_init__(self) -> None:
        OneOf(DIGITS)(self.digits, "digits of learned")
        object.__setattr__(self, "groups", GROUPS(self.groups, "groups of learned"))

    def build(self, categories: Categories) -> Hierarchy:
        """A few levels between values and root, each at most half as many groups as there are values."""
        leaves = leaves_of(categories)
        if categories.position is None or categories.kind == "boolean" or (self.codes and categories.kind == "integer"):
            levels = _texts(categories, leaves, self.groups, self.digits)
        elif categories.kind in ("date", "datetime"):
            levels = _calendar(categories, leaves, self.trimmed)
        else:
            levels = _steps(categories, leaves, self.trimmed)
        kept: list[Groups] = []
        most = min(self.groups, (len(leaves) + 1) // 2)
        for level in levels:
            if 1 < len(level[1]) <= most:
                kept.append(level)
                most = len(level[1]) - 1
        return grow(categories.name, leaves, kept, learned=True)

    def without(self, share: float) -> Learned:
        """The same, of a table from which so many rows may be suppressed: the steps shall not tell of these."""
        return replace(self, trimmed=min(max(share, TRIMMED), MOST_TRIMMED))

    def describe(self) -> str:
        """A few words for the manifest."""
        groups = "" if self.groups == 256 else f", {self.groups} groups"
        return f"learned{groups}" + (f", digits as {self.digits}" if self.codes else "")

    @property
    def codes(self) -> bool:
        """Whether whole numbers are codes, which have no ranges."""
        return self.digits != "numbers"


def learned(groups: Annotated[int, GROUPS] = 256, digits: Annotated[str, OneOf(DIGITS)] = "numbers") -> Learned:
    """A hierarchy made from the data: steps that people use for numbers and dates, groups of categories.

    Numbers stand in steps such as 1, 5, 10, 20, 40 or 500, 2500, 5000, 10000, 20000, as their spread asks for, and
    print as `[30, 34]`, or as `[1.5, 2)` where they are not whole. Dates stand in months, quarters, years, five years,
    decades and twenty years: `2024-02`, `2024-Q1`, `2024`, `2020-2024`, `2020s`, `2020-2039`. Categories stand by the
    order of their words, as low, medium and high, by the prefixes of codes, or beside those whose rows are alike in the
    other quasi-identifiers; groups print as `{a, b}` or `A1**`, and where nothing tells any they become `*`. At most
    `groups` groups at the first level. With `digits` "codes" or "postcodes" whole numbers are categories, those of one
    length by their prefixes; postcodes get the leading zeros back that they lost as numbers.

    `groups`: how many groups the first level has at most. `digits`: what whole numbers are.

    >>> learned().describe()
    'learned'
    """
    return Learned(groups, digits=digits)


def _steps(categories: Categories, leaves: Sequence[str], trimmed: float) -> list[Groups]:
    """Numbers in round steps of nested widths; infinite ones stay as they are."""
    place = np.asarray(categories.position, np.float64)[: len(leaves)]
    whole = categories.kind == "integer"
    return [_in_steps(place, leaves, digit, power, whole) for digit, power in widths_of(categories, trimmed)]


def widths_of(categories: Categories, trimmed: float = TRIMMED) -> list[tuple[int, int]]:
    """The widths of the steps for a column of numbers, narrowest first: a factor and a power of ten each."""
    known = len(categories) - categories.missing
    place = np.asarray(categories.position, np.float64)[:known]
    widths = step_widths(_spread(place, categories.count[:known], trimmed))
    whole = categories.kind == "integer"
    return [(digit, power) for digit, power in widths if not whole or power >= 0 or digit % 10**-power == 0]


def have_gaps(categories: Categories) -> bool:
    """Whether few whole numbers leave gaps that many rows do not fill: a sign of codes, and no proof."""
    number = len(categories) - categories.missing
    if categories.kind != "integer" or not 2 <= number <= MOST_CODES:
        return False
    place = np.asarray(categories.position)[:number]
    if max(-place[0], place[-1]) > EXACT:
        return False
    known = place.astype(np.int64)
    steps = np.diff(known)
    gaps = int(known[-1] - known[0]) + 1 >= 2 * number and np.gcd.reduce(steps) == 1 and steps.max() > 1
    return bool(gaps and int(categories.count.sum()) >= OFTEN * number)


def step_widths(span: float) -> list[tuple[int, int]]:
    """The widths for numbers that lie so far apart, narrowest first: a factor and a power of ten each.

    >>> [factor * 10.0**power for factor, power in step_widths(73)]
    [0.5, 1.0, 5.0, 10.0, 20.0, 40.0]
    """
    if not SMALLEST < span < float("inf"):
        return []
    top = int(np.floor(np.log10(span)))
    tried = [(digit, power) for power in range(top - 3, top + 1) for digit in FIRST]
    widest = 2 ** (DOUBLED - 1)
    digit, power = max((t for t in tried if widest * t[0] * 10.0 ** t[1] <= span), key=lambda t: t[0] * 10.0 ** t[1])
    finer = [(d, power + more) for d, more in FINER[digit]]
    return [*finer, *((digit << i, power) for i in range(DOUBLED))]


def _in_steps(place: np.ndarray, leaves: Sequence[str], factor: int, power: int, whole: bool) -> Groups:
    """The step that each number lies in, and how these print."""
    width, finite = factor * Fraction(10) ** power, np.isfinite(place)
    number = np.zeros(len(place), np.int64)
    if np.abs(place[finite]).max(initial=0) < 10**HELD and max(map(len, leaves)) <= HELD:
        number[finite] = steps_below(place[finite], factor, power)
        keys, group = np.unique(number, return_inverse=True)
        every = keys.tolist()
    else:  # numbers that floats do not hold
        steps = [exact(text) // width if there else 0 for text, there in zip(leaves, finite.tolist(), strict=True)]
        every = sorted(set(steps))
        rank = {step: i for i, step in enumerate(every)}
        group = np.array([rank[step] for step in steps])
    names = [range_text(show(n * width), show((n + 1) * width - whole), closed=whole) for n in every]
    for i in np.flatnonzero(~finite).tolist():
        group[i] = len(names)
        names.append(leaves[i])
    return group, names


def _calendar(categories: Categories, leaves: Sequence[str], trimmed: float) -> list[Groups]:
    """Dates and times in months, years, ...; none where one is outside the years 1 to 9999."""
    moments = moments_of(categories, leaves)
    if np.isnat(moments).any():
        return []
    days = moments.astype("M8[D]").astype(np.float64)
    span = _spread(days, categories.count[: len(leaves)], trimmed)
    units = WEEKS if span <= FEW_WEEKS else LONG if span >= LONG_SPAN else SHORT
    clock = ("hour", "day") if categories.kind == "datetime" else ()
    return [in_unit(moments, unit) for unit in (*clock, *units)]


def _spread(place: np.ndarray, count: np.ndarray, trimmed: float) -> float:
    """How far most rows lie apart: a few of them far out, who may be suppressed, do not show in the steps.

    Where nearly all have one value, it is how far most of the others lie apart, if they are enough to trim: the ends of
    all rows would tell of the few at them.
    """
    known = np.isfinite(place)
    order = np.argsort(place[known], kind="stable")
    line, rows = place[known][order], count[known][order]
    spread, some = 0.0, True
    while some and len(line) > 1 and not spread > 0:
        upto = np.cumsum(rows)
        gone = upto[-1] * trimmed
        low, high = np.searchsorted(upto, gone, side="right"), np.searchsorted(upto, upto[-1] - gone)
        spread = float(line[high] - line[min(low, high)])
        others = np.arange(len(line)) != rows.argmax()
        line, rows = line[others], rows[others]
        some = rows.sum() * trimmed >= 1
    return spread


def _texts(categories: Categories, leaves: Sequence[str], groups: int, digits: str = "numbers") -> list[Groups]:
    """The levels of a column of texts, finest first; none where nothing tells what its values have in common.

    Texts in an order in which neighbours are alike make nested groups of about even frequency. Each names its values;
    a level with a group that would be too long for a cell is left out.
    """
    most = min(groups, (len(leaves) + 1) // 2)
    if (found := codes_of(leaves, categories.count, digits)) is not None:
        return [by_label(labels) for labels in prefix_levels(found, categories.count, most)]
    order = range(len(leaves)) if categories.sequence in ("words", "similar") else word_order(leaves, digits)
    if order is None:
        return []
    standing = np.array(order, np.int64)
    weight = np.concatenate([[0.0], np.cumsum(np.maximum(categories.count[standing], 1.0))])
    starts, levels = [0], list[Groups]()
    for goal in sorted({round(most ** (step / TEXT_LEVELS)) for step in range(1, TEXT_LEVELS + 1)}):
        starts = _even_groups(starts, goal, weight)
        names = [set_text([leaves[i] for i in standing[a:b]], True) for a, b in pairwise([*starts, len(leaves)])]
        if max(map(len, names)) <= LONGEST_LIST:
            which = np.empty(len(leaves), np.int64)
            which[standing] = np.searchsorted(starts, np.arange(len(leaves)), side="right") - 1
            levels.append((which, names))
    return levels[::-1]


def _even_groups(starts: list[int], goal: int, weight: np.ndarray) -> list[int]:
    """Where groups start, with more of them until there are `goal` of about even weight: the heaviest are split."""
    pieces = list(pairwise([*starts, len(weight) - 1]))
    shares = [1] * len(pieces)
    heap = [(-float(weight[b] - weight[a]), i) for i, (a, b) in enumerate(pieces) if b - a > 1]
    heapq.heapify(heap)
    for _ in range(goal - len(pieces)):
        if not heap:
            break
        _, i = heapq.heappop(heap)
        shares[i] += 1
        a, b = pieces[i]
        if shares[i] < b - a:
            heapq.heappush(heap, (-float(weight[b] - weight[a]) / shares[i], i))
    found = set(starts)
    for (a, b), share in zip(pieces, shares, strict=True):
        lowest = a + 1
        for part in range(1, share):
            goal_weight = float(weight[a] + (weight[b] - weight[a]) * part / share)
            near = int(np.searchsorted(weight, goal_weight))
            near -= near > 0 and goal_weight - weight[near - 1] < weight[near] - goal_weight
            near = min(max(near, lowest), b - share + part)  # every part has a value
            found.add(near)
            lowest = near + 1
    return sorted(found)
