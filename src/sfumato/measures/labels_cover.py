"""Covers: which original values a released label can stand for, whatever tool wrote the label."""

from __future__ import annotations

import datetime as dt
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.hierarchy import Hierarchy, Recipe
from sfumato.core.label_grammar import (
    NUMBER,
    Range,
    read_decade,
    read_range,
    read_run,
    read_set,
    says_nothing,
    split_bare,
)
from sfumato.hierarchies.dates import UNIT, UNITS

LAST = chr(0x10FFFF)
ZERO_MASK = re.compile(r"0[0-9]*\*+")


@dataclass(frozen=True, eq=False)
class ValueRun:
    """Values that follow each other in an order: its entries start..stop - 1. Long ranges cost no memory so."""

    order: _Order
    start: int
    stop: int

    def numbers(self) -> np.ndarray:
        """The numbers of the values."""
        return self.order.number[self.start : self.stop]

    def __len__(self) -> int:
        return self.stop - self.start


Found = np.ndarray | ValueRun


@dataclass(frozen=True, eq=False)
class Cover:
    """The values that each label covers, as numbers of values; `read` says which labels could be read at all."""

    found: tuple[Found, ...]
    read: np.ndarray  # bool [labels]
    values: int

    @cached_property
    def members(self) -> tuple[np.ndarray, ...]:
        """The numbers of the values that each label covers."""
        return tuple(f.numbers() if isinstance(f, ValueRun) else f for f in self.found)

    def dense(self) -> np.ndarray:
        """The same as bool [labels, values]."""
        table = np.zeros((len(self.members), self.values), np.bool_)
        for row, members in zip(table, self.members, strict=True):
            row[members] = True
        return table

    @cached_property
    def size(self) -> np.ndarray:
        """How many values each label covers."""
        return np.array([len(m) for m in self.members], np.int64)

    def labels_of(self, value: int) -> np.ndarray:
        """The labels that cover a value, ascending."""
        start, label = self._listed
        found = [label[start[value] : start[value + 1]]]
        for order, labels, first, last in self._runs:
            rank = order.rank(self.values)[value]
            found.append(labels[(first <= rank) & (rank < last)])
        return found[0] if len(found) == 1 else np.sort(np.concatenate(found))

    @cached_property
    def _listed(self) -> tuple[np.ndarray, np.ndarray]:
        """For each value the labels that list it: labels[start[v]:start[v + 1]]."""
        lists = [(i, f) for i, f in enumerate(self.found) if not isinstance(f, ValueRun)]
        value = np.concatenate([*(f for _, f in lists), np.empty(0, np.int64)])
        label = np.repeat(np.array([i for i, _ in lists], np.int64), [len(f) for _, f in lists])
        by_value = np.argsort(value, kind="stable")
        return np.searchsorted(value[by_value], np.arange(self.values + 1)), label[by_value]

    @cached_property
    def _runs(self) -> list[tuple[_Order, np.ndarray, np.ndarray, np.ndarray]]:
        """For each order its labels, with where their runs start and stop."""
        grouped: dict[int, list[tuple[ValueRun, int]]] = {}
        for i, f in enumerate(self.found):
            if isinstance(f, ValueRun):
                grouped.setdefault(id(f.order), []).append((f, i))
        return [
            (
                pairs[0][0].order,
                np.array([i for _, i in pairs], np.int64),
                np.array([run.start for run, _ in pairs], np.int64),
                np.array([run.stop for run, _ in pairs], np.int64),
            )
            for pairs in grouped.values()
        ]


def covers(
    labels: Sequence[str | None],
    values: Sequence[str | None],
    hierarchy: Any = None,
    *,
    unread: bool = False,
    strangers: bool = False,
    wildcard: bool = False,
) -> np.ndarray:
    """Which of the values each label can stand for, as bool [labels, values].

    Both are distinct printed values, None for missing. A label is read as, in this order: `*` (everything, missing
    values too); a value; a label of the hierarchy; a range (`[20, 30)`, `20-29`, `20..29`, `>= 40`, `90+`, `1970s`) of
    numbers or ISO dates; a set (`{a, b}`, `['a', 'b']`), of values or of labels; a set without braces (`a,b`, `a; b`,
    `a|b`, `a~b`), where each of its words is a value; `first..last` in the order of text; a month,
    quarter, week, year or decade of dates; a mask (`476**`, `**12`: as many characters at most; `47*`: any number,
    where no value is that short; `0106*` of numbers that lost their leading zeros); a number or a time equal to a value
    that is written otherwise (`30` and `30.0`; times by the clock where one of them has no time zone).

    Parameters
    ----------
    labels, values
        Distinct printed values; the order is free.
    hierarchy
        A Hierarchy, a recipe, or the spec of one, over the values.
    unread
        Whether a text that cannot be read covers everything, instead of nothing. Pass True only where `values` are all
        the values there are: then such a label is a group of some of them. Numbers are always read.
    strangers
        Whether the labels may also be of people whom `values` lack. Then, where another label is a set or covers one of
        the values, a text that cannot be read is a value of such people and covers nothing, `unread` or not. Where one
        word of a set without braces is a value, and no value holds the sign between, what holds it is a set as well.
    wildcard
        Whether a missing label covers everything, instead of the missing value.

    Examples
    --------
    >>> covers(["2*", "[30, 40)", "*", None], ["22", "30", "40", None]).astype(int).tolist()
    [[1, 0, 0, 0], [0, 1, 0, 0], [1, 1, 1, 1], [0, 0, 0, 1]]
    """
    found = read_labels(labels, values, hierarchy, unread=unread, strangers=strangers, wildcard=wildcard)
    return found.dense()


def read_labels(
    labels: Sequence[str | None],
    values: Sequence[str | None],
    hierarchy: Any = None,
    *,
    unread: bool = False,
    strangers: bool = False,
    wildcard: bool = False,
    name: str = "values",
) -> Cover:
    """The same as `covers`, sparse: the numbers of the values that each label covers. `name` is the column's."""
    reader = _Reader(values, hierarchy_of(hierarchy, values, name, labels), _width_with_zeros(labels, values))
    if strangers:
        reader.signs = reader.separating(labels)
    every: list[Found | None] = []
    prints_values = False
    for label in labels:
        if label is None or label == "":
            every.append(reader.everything if wildcard else reader.missing)
            continue
        every.append(found := reader.read(label))
        if not prints_values and strangers and found is not None and not says_nothing(label):
            prints_values = len(found) > 0 or read_set(label) is not None
    read = np.array([found is not None for found in every], np.bool_)
    rest = reader.everything if unread and not prints_values else np.empty(0, np.int64)
    return Cover(tuple(rest if found is None else found for found in every), read, len(values))


def hierarchy_of(
    spec: Any, values: Sequence[str | None], name: str = "values", labels: Sequence[str | None] = ()
) -> Hierarchy | None:
    """The hierarchy that a spec makes of these values, of alternatives the one that labels tell; a Hierarchy and None
    stay as they are."""
    if spec is None or isinstance(spec, Hierarchy):
        return spec
    from sfumato.core.microdata import encode
    from sfumato.hierarchies import parse
    from sfumato.hierarchies.either import Either

    recipe = spec if isinstance(spec, Recipe) and not isinstance(spec, type) else parse(spec)
    categories = encode(pl.Series(name, list(values), dtype=pl.String))[0]
    return (recipe.told_by(labels, categories) if isinstance(recipe, Either) else recipe).build(categories)


def _width_with_zeros(labels: Sequence[str | None], values: Sequence[str | None]) -> int:
    """How long codes are where masks have leading zeros and no value has: 0106* of 1067; 0 where none lost any."""
    width = max((len(label) for label in labels if label and ZERO_MASK.fullmatch(label)), default=0)
    lost = width and not any(text and text[0] == "0" and len(text) > 1 for text in values)
    return width if lost else 0


class _Order:
    """Values sorted by what they say: an interval of keys is a run of them."""

    def __init__(self, keys: Iterable[tuple[Any, int]]) -> None:
        pairs = sorted(keys)
        self.keys = [key for key, _ in pairs]
        self.number = np.array([i for _, i in pairs], np.int64)
        self._rank: np.ndarray | None = None

    def rank(self, values: int) -> np.ndarray:
        """The place of each value in the order, -1 where it has none."""
        if self._rank is None:
            self._rank = np.full(values, -1, np.int64)
            self._rank[self.number] = np.arange(len(self.number))
        return self._rank

    def run(self, low: Any, high: Any, left: bool = True, right: bool = True) -> ValueRun:
        """The values from low to high (None: open); `left` and `right` say whether the ends belong."""
        start = 0 if low is None else (bisect_left if left else bisect_right)(self.keys, low)
        stop = len(self.keys) if high is None else (bisect_right if right else bisect_left)(self.keys, high)
        return ValueRun(self, start, max(start, stop))


class _Reader:
    """Reads the labels of one column against its values."""

    def __init__(self, values: Sequence[str | None], hierarchy: Hierarchy | None, filled: int = 0) -> None:
        self.filled = filled  # how long values are with the leading zeros that their masks have and they lost
        self.known = [(text, i) for i, text in enumerate(values) if text]
        self.place = dict(self.known)
        self.everything = ValueRun(_Order((i, i) for i in range(len(values))), 0, len(values))
        self.missing = np.array([i for i, text in enumerate(values) if not text], np.int64)
        self.hierarchy = hierarchy
        self.signs: frozenset[str] = frozenset()  # that sets without braces have, whose words need not be known

    def separating(self, labels: Iterable[str | None]) -> frozenset[str]:
        """The signs that no value holds and that stand in a label beside a value."""
        found: set[str] = set()
        for label in labels:
            if label and label not in self.place and label not in self.nodes:
                for sign, words in split_bare(label).items():
                    if sign not in found and any(word in self.place for word in words):
                        found.add(sign)
        return frozenset(sign for sign in found if not any(sign in text for text, _ in self.known))

    def read(self, label: str) -> Found | None:
        """The numbers of the values that a label covers, None where it cannot be read."""
        if not label.strip("*"):
            return self.everything
        own = self.place.get(label)
        node = self.nodes.get(label)
        if node is not None:
            return node if own is None else np.union1d(node, [own])
        if own is not None:
            return np.array([own], np.int64)
        text = label.strip()
        for form in (self._range, self._set, self._text_range, self._unit, self._mask, self._number, self._moment):
            found: Found | None = form(text)
            if found is not None:
                return found
        return None

    @cached_property
    def nodes(self) -> dict[str, np.ndarray]:
        """The values under each label of the hierarchy; the root takes the missing ones in."""
        if self.hierarchy is None:
            return {}
        leaf = self.hierarchy.locate([text for text, _ in self.known])
        number = np.array([i for _, i in self.known], np.int64)[leaf >= 0]
        leaf = leaf[leaf >= 0]
        found: dict[str, np.ndarray] = dict.fromkeys(self.hierarchy.leaves, np.empty(0, np.int64))
        found.pop("", None)
        for names, ancestor in zip(self.hierarchy.labels[1:], self.hierarchy.ancestor[1:], strict=True):
            of = ancestor[leaf]
            by_label = np.argsort(of, kind="stable")
            ends = np.searchsorted(of[by_label], np.arange(len(names) + 1))
            for name, start, stop in zip(names, ends[:-1].tolist(), ends[1:].tolist(), strict=True):
                under = number[by_label[start:stop]]
                before = found.get(name)
                found[name] = under if before is None or not len(before) else np.union1d(before, under)
        root = self.hierarchy.labels[-1][0]
        if self.hierarchy.height:
            found[root] = np.union1d(found[root], self.missing)
        return found

    @cached_property
    def numbers(self) -> _Order:
        return _Order((Decimal(text), i) for text, i in self.known if NUMBER.match(text))

    @cached_property
    def dates(self) -> _Order:
        return _Order((date, i) for text, i in self.known if (date := _date(text)) is not None)

    @cached_property
    def instants(self) -> _Order:
        """Values with a time zone, by the time in Greenwich."""
        moments = ((_instant(text), i) for text, i in self.known)
        return _Order((moment, i) for moment, i in moments if moment is not None)

    @cached_property
    def texts(self) -> _Order:
        return _Order(self.known)

    @cached_property
    def codes(self) -> _Order:
        """Digits with their leading zeros."""
        short = ((text, i) for text, i in self.known if text.isdecimal() and len(text) <= self.filled)
        return _Order((text.zfill(self.filled), i) for text, i in short)

    @cached_property
    def reversed(self) -> _Order:
        return _Order((text[::-1], i) for text, i in self.known)

    @cached_property
    def units(self) -> dict[str, np.ndarray]:
        """The values in each day, week, month, quarter, year and decade."""
        found: dict[str, list[int]] = {}
        for date, i in zip(self.dates.keys, self.dates.number.tolist(), strict=True):
            for unit in UNITS.values():
                found.setdefault(unit(date), []).append(i)
        return {label: np.array(members, np.int64) for label, members in found.items()}

    def _range(self, label: str) -> Found | None:
        found = read_range(label) or (read_decade(label) if self.numbers.keys else None)
        return None if found is None else self._run(found)

    def _run(self, ends: Range) -> Found | None:
        low, high = ends.low, ends.high
        bounds = [bound for bound in (low, high) if bound is not None]
        if all(NUMBER.match(bound) for bound in bounds) and self.numbers.keys:
            least, most = (None if bound is None else Decimal(bound) for bound in (low, high))
            return self.numbers.run(least, most, ends.left, ends.right)
        if all(_date(bound) is not None for bound in bounds) and self.dates.keys:
            start = None if low is None else _date(low)
            stop = None if high is None else _date(high)
            if stop is not None and ends.right and len(high or "") == 10:  # a day belongs as a whole
                stop += dt.timedelta(days=1, microseconds=-1)
            return self.dates.run(start, stop, ends.left, ends.right)
        return None

    def _set(self, label: str) -> np.ndarray | None:
        words = read_set(label)
        if words is None:
            return self._bare(label)
        found, at = [], 0
        while at < len(words):  # a value may itself hold a comma: the longest one that fits
            for end in range(min(len(words), at + 1 + self.commas), at, -1):
                word = ", ".join(words[at:end])
                part: Found | None = self.read(word) if end == at + 1 and not word.startswith("{") else None
                if word in self.place:
                    part = np.array([self.place[word]], np.int64)
                if part is not None:
                    found.append(part.numbers() if isinstance(part, ValueRun) else part)
                    break
            at = end
        return np.unique(np.concatenate(found)) if found else np.empty(0, np.int64)

    def _bare(self, label: str) -> np.ndarray | None:
        """A set without braces: each of its words is a value, or some may be unknown where the sign is one of sets."""
        for sign, words in split_bare(label).items():
            found = [self.place[word] for word in words if word in self.place]
            if len(found) == len(words) or sign in self.signs:
                return np.unique(np.array(found, np.int64))
        return None

    def _text_range(self, label: str) -> Found | None:
        ends = read_run(label)
        return None if ends is None else self.texts.run(*ends)

    def _unit(self, label: str) -> np.ndarray | None:
        if not self.dates.keys:
            return None
        if label in self.units:
            return self.units[label]
        return np.empty(0, np.int64) if UNIT.fullmatch(label) else None

    def _mask(self, label: str) -> np.ndarray | None:
        if "*" not in label:
            return None
        core = label.strip("*")
        head, tail = len(label) - len(label.lstrip("*")), len(label) - len(label.rstrip("*"))
        if len(label) == self.filled and core.isdecimal() and not head:
            return self.codes.run(core, core + LAST).numbers()
        if "*" in core or (head and tail):
            pattern = re.compile(f".{{0,{head}}}" + re.escape(core).replace(r"\*", ".") + f".{{0,{tail}}}", re.DOTALL)
            return np.array([i for text, i in self.known if pattern.fullmatch(text)], np.int64)
        found = self.texts.run(core, core + LAST) if tail else self.reversed.run(core[::-1], core[::-1] + LAST)
        numbers = found.numbers()
        fits = numbers[self.width[numbers] <= len(label)]
        return fits if len(fits) else numbers  # 476* may stand for 47677 too, where nothing is that short

    @cached_property
    def commas(self) -> int:
        """The most commas in a value."""
        return max((text.count(", ") for text, _ in self.known), default=0)

    @cached_property
    def width(self) -> np.ndarray:
        """Characters of each value."""
        width = np.zeros(self.everything.stop, np.int64)
        for text, i in self.known:
            width[i] = len(text)
        return width

    def _number(self, label: str) -> Found | None:
        if not NUMBER.match(label):
            return None
        number = Decimal(label)
        return self.numbers.run(number, number)

    def _moment(self, label: str) -> Found | None:
        """A time written otherwise: with a zone where the values have none, or in another zone."""
        instant, moment = _instant(label), _date(label)
        if instant is not None and self.instants.keys:
            return self.instants.run(instant, instant)
        return None if moment is None or not self.dates.keys else self.dates.run(moment, moment)


def _date(text: str) -> dt.datetime | None:
    if len(text) < 10 or text[4:5] != "-":
        return None
    try:
        return dt.datetime.fromisoformat(text).replace(tzinfo=None)
    except ValueError:
        return None


def _instant(text: str) -> dt.datetime | None:
    if len(text) < 16 or text[4:5] != "-":
        return None
    try:
        moment = dt.datetime.fromisoformat(text)
        return None if moment.tzinfo is None else moment.astimezone(dt.UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return None
