"""Labels: what a recoding prints in one column, and what each label covers."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sfumato.core.exact import EPOCH, zoned
from sfumato.core.hierarchy import Categories
from sfumato.core.label_grammar import LONGEST_LIST, LONGEST_SET, STAR, range_text, read_decade, read_range
from sfumato.core.microdata import Attribute

FEW = 2 * LONGEST_SET  # values of a set that are looked at whether they are all printed


@dataclass(frozen=True, eq=False)
class Labels:
    """The labels of one column. `of` gives the label of each code (a level) or of each class (a partition).

    A label covers the codes `lo`..`hi`, `covered` rows of the table, `leaves` of the `domain` leaves of the attribute
    (as in the table; `file_leaves` of `file_domain` as in the hierarchy); `fixed_level` is its level if it is a node.
    `star` marks labels that say nothing: they cover everything, or mix missing values with others. `low` and `high` are
    the positions of the printed ends, cut to the domain, where these are not the values `lo` and `hi`; `publishable`
    labels are made from released rows alone and name no value of few people.
    """

    attribute: Attribute
    of: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    covered: np.ndarray
    leaves: np.ndarray
    file_leaves: np.ndarray
    file_domain: int
    fixed_level: np.ndarray | None
    star: np.ndarray
    named: tuple[str | None, ...] | None  # None: named by what they cover
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    publishable: bool = False

    @cached_property
    def text(self) -> tuple[str | None, ...]:
        """How each label prints; None for missing values."""
        if self.named is not None:
            return self.named
        text, ordered = self.attribute.categories.text, self.attribute.categories.ordered
        words: list[str | None] = []
        for lo, hi, star in zip(self.lo.tolist(), self.hi.tolist(), self.star.tolist(), strict=True):
            if lo == hi:
                words.append(text[lo])
            elif star:
                words.append(STAR)
            elif ordered:
                words.append(range_text(text[lo], text[hi]))
            else:  # of a long set the first and the last are printed, unless all are
                few = hi - lo < FEW or self.attribute.categories.sequence in ("words", "similar")
                values = text[lo : hi + 1] if few else (*text[lo : lo + FEW], text[hi])
                words.append(self.attribute.categories.set_text(values))
        return tuple(words)

    @cached_property
    def level(self) -> np.ndarray:
        """The lowest level of the hierarchy at which all that a label covers stands under one label."""
        of = self.attribute.ladder.of
        changes = np.cumsum(np.diff(of, axis=1, prepend=of[:, :1]) != 0, axis=1)
        meet = np.argmax(changes[:, self.lo] == changes[:, self.hi], axis=0)
        return np.where(self.star, len(of) - 1, meet) if self.fixed_level is None else self.fixed_level

    @property
    def on_a_line(self) -> bool:
        """Whether printed ends are what the positions are: not where these are ranks, or the clocks of time zones."""
        categories = self.attribute.categories
        return self.attribute.positions is categories.position and not zoned(categories.text[0])

    @property
    def domain(self) -> int:
        """Number of distinct values in the table."""
        return len(self.attribute.categories)


def at_level(attribute: Attribute, level: int) -> Labels:
    """The labels of one level of the attribute's hierarchy; `of` is per code."""
    ladder, categories = attribute.ladder, attribute.categories
    of, count = ladder.of[level], len(ladder.text[level])
    codes = np.arange(len(categories))
    lo, hi = np.empty(count, np.int64), np.empty(count, np.int64)
    lo[of[::-1]], hi[of] = codes[::-1], codes  # the last assignment to a label stays
    star = np.full(count, level == ladder.height and len(categories) > 1)
    if categories.missing:
        star |= (hi == len(categories) - 1) & (lo < hi)
    return Labels(
        attribute,
        of,
        lo,
        hi,
        np.bincount(of, weights=categories.count, minlength=count),
        np.bincount(of, minlength=count),
        ladder.leaves[level],
        ladder.domain,
        np.full(count, level),
        star,
        ladder.text[level],
    )


def of_ranges(attribute: Attribute, lo: np.ndarray, hi: np.ndarray) -> Labels:
    """Labels over the codes lo[class]..hi[class] in value order: numbers print as ranges, others as sets."""
    pairs, of = _distinct(lo, hi)
    return over_codes(attribute, of, pairs[:, 0], pairs[:, 1])


def over_codes(attribute: Attribute, of: np.ndarray, lo: np.ndarray, hi: np.ndarray) -> Labels:
    """The labels over the codes lo..hi, one each, as they are given."""
    categories = attribute.categories
    mixed = np.zeros(len(lo), np.bool_)
    if categories.missing:
        mixed = (hi == len(categories) - 1) & (lo < hi)
    if categories.sequence in ("words", "similar"):
        mixed |= too_long(categories, lo, hi)
    below, (rank, domain) = attribute.below, attribute.file_rank
    return Labels(
        attribute,
        of,
        lo,
        hi,
        below[hi + 1] - below[lo],
        hi - lo + 1,
        rank[hi] - rank[lo] + 1,
        domain,
        None,
        mixed,
        None,
    )


def too_long(categories: Categories, lo: np.ndarray, hi: np.ndarray) -> np.ndarray:
    """Whether a list of the values lo..hi is longer than a cell should be."""
    upto = np.concatenate([[0], np.cumsum([len(text or "") + 2 for text in categories.text])])
    return np.asarray((lo < hi) & (upto[hi + 1] - upto[lo] > LONGEST_LIST))


def of_nodes(attribute: Attribute, level: np.ndarray, label: np.ndarray) -> Labels:
    """Labels that are nodes of the attribute's hierarchy: label number `label[class]` of level `level[class]`."""
    ladder = attribute.ladder
    pairs, of = _distinct(level, label)
    levels = [at_level(attribute, i) for i in range(ladder.levels)]

    def pick(name: str) -> np.ndarray:
        return np.array([getattr(levels[i], name)[j] for i, j in pairs])

    text = tuple(ladder.text[i][j] for i, j in pairs)
    return Labels(
        attribute,
        of,
        pick("lo"),
        pick("hi"),
        pick("covered"),
        pick("leaves"),
        pick("file_leaves"),
        ladder.domain,
        pick("fixed_level"),
        pick("star"),
        text,
    )


def renamed(labels: Labels, words: Sequence[str | None]) -> Labels:
    """The labels of classes with the word of each class in their place; each still covers what it did.

    Classes that differ in what they cover and print the same word are one class of the release.
    """
    text: list[str | None] = []
    source: list[int] = []
    seen: dict[tuple[int, str | None], int] = {}
    of = np.empty(len(labels.of), np.int32)
    for c, (label, word) in enumerate(zip(labels.of.tolist(), words, strict=True)):
        at = seen.setdefault((label, word), len(text))
        if at == len(text):
            text.append(word)
            source.append(label)
        of[c] = at
    pick = np.array(source, dtype=np.int64)
    return replace(
        labels,
        of=of,
        lo=labels.lo[pick],
        hi=labels.hi[pick],
        covered=labels.covered[pick],
        leaves=labels.leaves[pick],
        file_leaves=labels.file_leaves[pick],
        star=labels.star[pick],
        named=tuple(text),
    )


def ends_of(text: str | None, kind: str) -> tuple[float | None, float | None] | None:
    """The positions of the ends that a range prints in one of the usual ways, None for an open one; None for no range.

    >>> ends_of("[30, 39]", "integer"), ends_of("< 20", "integer"), ends_of("[1970-01-02, 1970-01-31]", "date")
    ((30.0, 39.0), (None, 20.0), (1.0, 30.0))
    """
    text = (text or "").strip()
    found = read_range(text) or (read_decade(text) if kind in ("integer", "decimal") else None)
    if found is None:
        return None
    try:
        first = None if found.low is None else _position(found.low, kind, False)
        return first, None if found.high is None else _position(found.high, kind, found.right)
    except (ValueError, TypeError, OverflowError):  # TypeError: a time zone
        return None


def _position(end: str, kind: str, closed: bool) -> float:
    if kind not in ("date", "datetime"):
        return float(end)
    since = dt.datetime.fromisoformat(end) - EPOCH
    if kind == "date":
        return float(since.days)
    return since.total_seconds() + (86400 - 1e-6 if closed and len(end) == 10 else 0)  # a day belongs as a whole


def _distinct(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct pairs, sorted, and the number of each one's pair."""
    width = int(second.max()) + 1
    keys, of = np.unique(first.astype(np.int64) * width + second, return_inverse=True)
    return np.stack([keys // width, keys % width], axis=1), of.astype(np.int32)
