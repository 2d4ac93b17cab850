"""Unread labels: what a label stands for that is no value, no range, set or mask, and in no hierarchy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.hierarchy import Categories, Hierarchy
from sfumato.core.keys import rank_keys, tally
from sfumato.core.label_grammar import NUMBER, read_decade, read_range, read_set, says_nothing
from sfumato.core.microdata import Attribute, encode, reads_codes
from sfumato.core.printed import printed
from sfumato.hierarchies import parse
from sfumato.hierarchies.either import Either
from sfumato.hierarchies.learned import Learned
from sfumato.measures.labels_cover import read_labels


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
    silent = np.array([says_nothing(word) for word in text])
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
    found = read_range(text) or read_decade(text)
    words = (read_set(text) or [text]) if found is None else [end for end in found[:2] if end is not None]
    ends = [float(word) for word in map(str.strip, words) if NUMBER.match(word)]
    known = [end for end in ends if math.isfinite(end)]
    return sum(end / len(known) for end in known) if known else math.nan


@dataclass(frozen=True, eq=False)
class Meetings:
    """The distinct pairs of an original value and a label of its rows, how many rows, and whether it is covered."""

    code: np.ndarray
    label: np.ndarray
    count: np.ndarray
    covered: np.ndarray


NUMBERS = ("integer", "decimal")
Encoded = tuple[Categories, np.ndarray]
RowCounts = tuple[np.ndarray | None, np.ndarray | None]  # of each entry of the original, and of the release


@dataclass(frozen=True, eq=False)
class ComparedColumn:
    """The released labels of a column and the values that each covers.

    `members[start[i]:start[i + 1]]` are the values of label i, as numbers into `support`: the original's codes first,
    then values that only the release has (such as numbers with noise). A row under a label is taken to be any of its
    values with the same chance. Of the labels that could not be read, `learnt` ones cover what their rows had in the
    original, `unread` ones everything, and `strange` ones are values that the original does not have. With
    `row_counts` an entry of `code` and one of `label` stand for so many rows.
    """

    attribute: Attribute
    code: np.ndarray  # int32 per original row
    text: tuple[str | None, ...]  # the distinct labels
    label: np.ndarray  # int64 per released row
    start: np.ndarray
    members: np.ndarray
    support: tuple[str | None, ...]
    place: np.ndarray | None  # float64 per value of the support where ordered, nan for missing
    learnt: int = 0
    unread: int = 0
    strange: int = 0
    opaque: tuple[int, ...] = ()  # the numbers of unread and strange labels
    row_counts: RowCounts = (None, None)
    _met: list[tuple[np.ndarray, Meetings]] = field(default_factory=list, repr=False)  # the last that were asked for

    @property
    def name(self) -> str:
        """Its name."""
        return self.attribute.name

    @property
    def numeric(self) -> bool:
        """Whether the original values are numbers, also where they came as text."""
        return self.attribute.kind in NUMBERS

    @property
    def values(self) -> int:
        """Number of distinct values in the original."""
        return len(self.attribute.categories)

    @property
    def original_rows(self) -> int:
        """How many rows the original has."""
        return len(self.code) if self.row_counts[0] is None else int(self.row_counts[0].sum())

    @cached_property
    def released_rows(self) -> int:
        """How many rows the release has."""
        return int(self.count.sum())

    @cached_property
    def count(self) -> np.ndarray:
        """Released rows per label."""
        return tally(self.label, len(self.text), self.row_counts[1])

    @cached_property
    def size(self) -> np.ndarray:
        """Values per label."""
        return np.diff(self.start)

    @cached_property
    def changed(self) -> bool:
        """Whether some label is not the printed form of an original value."""
        own = set(self.attribute.categories.text)
        return any(text not in own for text in self.text)

    @cached_property
    def before(self) -> np.ndarray:
        """Share of the original rows per value of the support."""
        share = np.zeros(len(self.support))
        share[: self.values] = self.attribute.categories.count / self.original_rows
        return share

    @cached_property
    def after(self) -> np.ndarray:
        """Share of the released rows per value of the support, each spread evenly over what its label covers."""
        each = np.repeat(self.count / np.maximum(self.size, 1), self.size)
        return np.bincount(self.members, weights=each, minlength=len(self.support)) / max(self.released_rows, 1)

    def meetings(self, rows: np.ndarray) -> Meetings:
        """Which values met which labels, `rows` being the original row of each released one."""
        if not self._met or self._met[0][0] is not rows:
            wide, values = len(self.support), self.values
            pairs, of = rank_keys(self.label * values + self.code[rows], len(self.text) * values)
            label, code = pairs // values, pairs % values
            held = np.repeat(np.arange(len(self.text)), self.size) * wide + self.members
            covered = np.isin(label * wide + code, held)
            self._met[:] = [(rows, Meetings(code, label, np.bincount(of, minlength=len(pairs)), covered))]
        return self._met[0][1]

    def moved(self, rows: np.ndarray | None) -> float:
        """Share of the released cells that do not cover their original value, as noise, swaps and mistakes do.

        Where it is not known which row came from which: of those that cover no original value at all. Labels that could
        not be read are not counted: they are lost in any case.
        """
        opaque = np.isin(np.arange(len(self.text)), self.opaque)
        if rows is not None:
            met = self.meetings(rows)
            return float(met.count[~met.covered & ~opaque[met.label]].sum() / max(len(rows), 1))
        none = (self.shares(np.arange(len(self.support)) < self.values) == 0) & ~opaque
        return float(self.count[none].sum() / max(self.released_rows, 1))

    def shares(self, mask: np.ndarray) -> np.ndarray:
        """Per label, the share of its values that are in the mask (over the support)."""
        hit = np.concatenate([[0], np.cumsum(mask[self.members])])
        return (hit[self.start[1:]] - hit[self.start[:-1]]) / np.maximum(self.size, 1)

    @cached_property
    def _ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Least and greatest place of each label's values, nan where it has none."""
        low, high = np.full(len(self.text), np.nan), np.full(len(self.text), np.nan)
        if self.place is None or not len(self.members):
            return low, high
        place = self.place[self.members]
        filled = self.size > 0
        at = self.start[:-1][filled]
        low[filled] = np.fmin.reduceat(place, at)
        high[filled] = np.fmax.reduceat(place, at)
        return low, high

    @property
    def midpoint(self) -> np.ndarray:
        """Per label, the middle between the least and the greatest original value that it covers; nan for missing."""
        low, high = self._ends
        with np.errstate(invalid="ignore"):  # infinite ends have no middle
            return low + (high - low) / 2

    @property
    def width(self) -> np.ndarray:
        """Per label, the greatest minus the least original value that it covers; nan for missing."""
        low, high = self._ends
        with np.errstate(invalid="ignore"):
            return high - low

    def bins(self, most: int) -> tuple[np.ndarray, int]:
        """The bin of each value of the support, by quantiles of the original, missing values last; and how many."""
        assert self.place is not None
        known = np.isfinite(self.place)
        order = np.argsort(self.place[: self.values], kind="stable")
        reach = np.cumsum(self.before[: self.values][order])
        at = np.searchsorted(reach, np.arange(1, most) / most - 1e-12)
        cuts = np.unique(self.place[order][np.minimum(at, len(order) - 1)])
        cuts = cuts[np.isfinite(cuts)]
        found = np.full(len(self.place), len(cuts) + 1)
        found[known] = np.searchsorted(cuts, self.place[known])
        return found, len(cuts) + 2

    def stands_as(self, categories: Categories) -> bool:
        """Whether its values are those of other categories, in their order."""
        return self.attribute.categories.text == categories.text

    def original_numbers(self) -> np.ndarray:
        """The number of each original row; nan where missing."""
        assert self.place is not None
        return self.place[: self.values][self.code]

    def released_numbers(self) -> np.ndarray:
        """The number of each released row, a label as its midpoint; nan where missing."""
        return self.midpoint[self.label]


def read_column(
    before: pl.Series,
    after: pl.Series,
    rows: np.ndarray | None,
    hierarchy: Any = None,
    row_counts: RowCounts = (None, None),
    standing: Categories | None = None,
    encoded: Callable[[pl.Series, bool], Encoded] = encode,
) -> ComparedColumn:
    """Read the labels of a released column by the values of the original one, in the order of `standing` if given.

    `encoded` is how a column is encoded: a pair does so once.
    """
    given = hierarchy if hierarchy is None or isinstance(hierarchy, Hierarchy) else parse(hierarchy)
    categories, code = encoded(before, reads_codes(before, given))
    if standing is not None:
        rank_of = {text: i for i, text in enumerate(standing.text)}
        rank = np.array([rank_of[text] for text in categories.text], np.int32)
        code, count = rank[code], categories.count[np.argsort(rank)]
        categories = replace(categories, text=standing.text, count=count, sequence=standing.sequence)
    if row_counts[0] is not None:
        categories = replace(categories, count=tally(code, len(categories), row_counts[0]))
    if isinstance(given, Either):
        given = given.told_by(printed(after).unique(), categories)
    attribute = _attribute(categories, given)
    place = categories.position
    plain = attribute.kind in NUMBERS and attribute.hierarchy is None
    if after.dtype.is_numeric() and place is not None and plain and not (categories.missing and after.null_count()):
        known = place[: len(categories) - categories.missing]
        if bool((known[1:] > known[:-1]).all()) and bool(np.isfinite(known).all()):
            return _by_number(attribute, code, after.cast(pl.Float64).fill_nan(None), row_counts)
    words = printed(after)
    if rows is not None and categories.missing and words.null_count():  # missing now, and not before: suppressed
        had = pl.Series(code[rows] != len(categories) - 1)
        words = pl.select(pl.when(words.is_null() & had).then(pl.lit("*")).otherwise(words)).to_series()
        return _by_text(attribute, code, encode(words.alias(attribute.name)), rows, row_counts)
    return _by_text(attribute, code, encoded(after, after.dtype != pl.String), rows, row_counts)


def _attribute(categories: Categories, hierarchy: Any) -> Attribute:
    """The column with its hierarchy; what is learnt from the data is no given hierarchy."""
    if hierarchy is None or isinstance(hierarchy, Hierarchy):
        return Attribute(categories.name, "quasi", categories, hierarchy)
    if isinstance(hierarchy, Learned):
        return Attribute(categories.name, "quasi", categories, None, hierarchy)
    return Attribute(categories.name, "quasi", categories, hierarchy.build(categories))


def _by_number(attribute: Attribute, code: np.ndarray, after: pl.Series, row_counts: RowCounts) -> ComparedColumn:
    """Numbers released as numbers: equal ones are the same value, others are new."""
    categories = attribute.categories
    assert categories.position is not None
    known = categories.position[: len(categories) - categories.missing]
    distinct = after.unique().sort(nulls_last=True)
    label = (after.rank("dense").cast(pl.Int64) - 1).fill_null(len(distinct) - 1).to_numpy()
    numbers = distinct.drop_nulls().to_numpy()
    at = np.clip(np.searchsorted(known, numbers), 0, max(len(known) - 1, 0))
    same = known[at] == numbers if len(known) else np.zeros(len(numbers), np.bool_)
    fresh = np.flatnonzero(~same)
    members = at.copy()
    members[fresh] = len(categories) + np.arange(len(fresh))
    text = tuple(
        categories.text[c] if c < len(categories) else str(x)
        for c, x in zip(members.tolist(), numbers.tolist(), strict=True)
    )
    support = (*categories.text, *(text[i] for i in fresh))
    place = np.concatenate([categories.position, numbers[fresh]])
    size = np.ones(len(numbers), np.int64)
    if len(numbers) < len(distinct):  # a missing value: that of the original, or a cell that was suppressed
        text = (*text, None)
        missing = [len(categories) - 1] if categories.missing else range(len(categories))
        members, size = np.concatenate([members, missing]), np.append(size, len(missing))
    start = np.concatenate([[0], np.cumsum(size)])
    return ComparedColumn(
        attribute, code, text, label, start, members.astype(np.int64), support, place, row_counts=row_counts
    )


def _by_text(
    attribute: Attribute, code: np.ndarray, after: Encoded, rows: np.ndarray | None, row_counts: RowCounts
) -> ComparedColumn:
    """Labels as text."""
    categories = attribute.categories
    distinct, number = after
    text, label = distinct.text, number.astype(np.int64)
    cover = read_labels(text, categories.text, attribute.hierarchy)
    count = tally(label, len(text), row_counts[1])
    had = None if rows is None else code[rows].astype(np.int64)
    told = read_as(text, label, count, cover.read, had, len(categories))
    everything = np.arange(len(categories), dtype=np.int64)
    members: list[np.ndarray] = []
    fresh: list[str | None] = []
    places: list[float] = []
    stars = {i: word for i, word in enumerate(text) if word is not None and says_nothing(word)}
    for i, (word, found) in enumerate(zip(text, cover.members, strict=True)):
        if i in stars and rows is not None and stars[i] in categories.text:  # the original prints it, too
            own = categories.text.index(stars[i])
            kept = bool((code[rows[label == i]] == own).all())
            members.append(np.array([own]) if kept else found)
        elif len(found):
            members.append(found)
        elif i in told.learnt:  # a group that we have no hierarchy for
            members.append(told.learnt[i])
        elif word is None or i in told.unread:  # without a missing value in the original: a cell that was suppressed
            members.append(everything)
        else:  # a value, a range or a group of values that the original does not have
            members.append(np.array([len(categories) + len(fresh)]))
            fresh.append(word)
            numeric = categories.ordered and attribute.kind in NUMBERS and bool(cover.read[i])
            places.append(read_middle(word) if numeric else np.nan)
    start = np.concatenate([[0], np.cumsum([len(m) for m in members])]).astype(np.int64)
    place = None if categories.position is None else np.concatenate([categories.position, places])
    joined = np.concatenate(members).astype(np.int64) if members else np.zeros(0, np.int64)
    support = (*categories.text, *fresh)
    counts = len(told.learnt), len(told.unread), len(told.strange)
    opaque = tuple(sorted(told.unread | told.strange))
    return ComparedColumn(attribute, code, text, label, start, joined, support, place, *counts, opaque, row_counts)
