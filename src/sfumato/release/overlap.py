"""Whether labels of one column may stand for the same value: ranges, sets, masks and stars are read, words are not."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable
from datetime import UTC, datetime, time, timedelta, timezone
from decimal import Decimal
from itertools import combinations, pairwise
from typing import NamedTuple

from sfumato.core.label_grammar import NUMBER, STAR, read_decade, read_printed, read_range, read_set
from sfumato.hierarchies.dates import days_of

DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ].*)?\Z")
MOST_PATTERNS = 100
APART = timedelta(hours=14)  # the farthest zone from Greenwich


OVERLAP = "labels overlap"  # the note of a promise begins with it


class Span(NamedTuple):
    """A range of numbers: its ends, and whether they belong to it."""

    low: Decimal
    high: Decimal
    left: bool = True
    right: bool = True


def overlap(labels: Iterable[str | None]) -> bool:
    """Whether two of the labels overlap, as far as their texts tell. A missing label is a value of its own.

    >>> overlap(["[20, 29]", "[30, 39]", None]), overlap(["[20, 30]", "[30, 39]"]), overlap(["{a, b}", "a"])
    (False, True, True)
    >>> overlap(["[20, 29]", "25", "unknown"]), overlap(["[20, 29]", "35", "unknown"]), overlap(["01", "1", "A1"])
    (True, False, False)
    >>> overlap(["flu", "*"]), overlap(["476**", "4767*"]), overlap(["2020", "2020-03"]), overlap(["flu", "HIV"])
    (True, True, True, False)
    >>> overlap(["2020s", "2021-03-01"]), overlap(["2020-Q1", "2020-02"]), overlap(["2020-W07", "2020-02-12"])
    (True, True, True)
    >>> overlap(["[2020-01-01, 2020-01-31]", "2020-01"]), overlap(["2020-03-01", "2020-03-01 10:00"])
    (True, True)
    >>> overlap(["2020-Q1", "2020-Q2", "2021"]), overlap(["[2020-01-01, 2020-02-01)", "2020-02"])
    (False, False)
    >>> overlap(["[2020-03-01 08:00, 2020-03-01 09:00]", "[2020-03-01 10:00, 2020-03-01 11:00]"])
    False
    >>> overlap(["2020-03-01 10:00:00+02:00", "2020-03-01 08:00:00+00:00"]), overlap(["[2019-12, 2020-02]", "2020-01"])
    (True, True)
    >>> overlap(["< 2020-03-01", "2020-02-29"]), overlap(["< 2020-03-01", "2020-03-01"])
    (True, False)
    """
    known = sorted({label for label in labels if label})
    if len(known) < 2:
        return False
    return STAR in known or _on_a_line(known) or _of_sets(known) or _of_masks(known) or _of_periods(known)


def _on_a_line(known: list[str]) -> bool:
    """Ranges of numbers that meet. Where some labels are neither, only those that read as Sfumato prints them are
    ranges, and numbers beside such: elsewhere a dash may stand between anything."""
    spans = [_span(label) for label in known]
    if None in spans:
        ranges = any(map(read_printed, known))
        single = [ranges and span is not None and span.low == span.high for span in spans]
        plain = zip(known, spans, single, strict=True)
        spans = [span if alone or read_printed(label) else None for label, span, alone in plain]
    line = sorted(span for span in spans if span is not None)
    return any(b.low < a.high or (b.low == a.high and a.right and b.left) for a, b in pairwise(line))


def _span(label: str) -> Span | None:
    if NUMBER.match(label):
        return Span(Decimal(label), Decimal(label))
    found = read_range(label) or read_decade(label)
    if found is None or not all(NUMBER.match(end) for end in (found.low, found.high) if end is not None):
        return None
    low, high = Decimal(found.low or "-inf"), Decimal(found.high or "inf")
    return Span(low, high, found.left, found.right) if low <= high else None


def _of_sets(known: list[str]) -> bool:
    """A word that stands in two sets, or in one and alone."""
    sets = [read_set(label) for label in known]
    if not any(sets):
        return False
    words = Counter(word for label, words in zip(known, sets, strict=True) for word in set(words or [label]))
    return max(words.values()) > 1


def _of_masks(known: list[str]) -> bool:
    """Labels of one length that agree wherever neither has a star."""
    if not any(STAR in label for label in known):
        return False
    patterns: dict[tuple[int, frozenset[int]], list[str]] = {}
    for label in known:
        hidden = frozenset(i for i, letter in enumerate(label) if letter == STAR)
        patterns.setdefault((len(label), hidden), []).append(label)
    if len(patterns) > MOST_PATTERNS:
        return True
    for (length, a), (other, b) in combinations(patterns, 2):
        if length == other and (a or b):
            shown = [i for i in range(length) if i not in a and i not in b]
            seen = [{tuple(label[i] for i in shown) for label in patterns[length, key]} for key in (a, b)]
            if seen[0] & seen[1]:
                return True
    return False


def _of_periods(known: list[str]) -> bool:
    """Periods that meet: a year and a month of it, a quarter or a range of days and a day of it, a day and a time."""
    spans = [span for label in known if (span := _period(label)) is not None]
    zones = {moment.utcoffset() for span in spans for moment in span} - {None}
    spans = sorted(_in_greenwich(span, zones) for span in spans) if zones else sorted(spans)
    return any(after[0] <= before[1] for before, after in pairwise(spans))


def _in_greenwich(span: tuple[datetime, datetime], zones: Collection[timedelta | None]) -> tuple[datetime, datetime]:
    """The moments beside others that have a zone. Days are of the one zone that there is; where there are several, and
    for times without one, as much earlier and later as the zones of the world are apart."""
    days = span[0].time() == time.min and span[1].time() == time.max
    only = next(iter(zones)) if days and len(zones) == 1 else None
    moved = []
    for moment, apart in zip(span, (APART, -APART), strict=True):
        try:
            aware = moment.replace(tzinfo=timezone(only)) if moment.tzinfo is None and only is not None else moment
            moved.append(aware.astimezone(UTC).replace(tzinfo=None) if aware.tzinfo is not None else moment - apart)
        except OverflowError:
            moved.append(moment.replace(tzinfo=None))  # as far as any
    return moved[0], moved[1]


def _period(label: str) -> tuple[datetime, datetime] | None:
    """The first and the last moment of a period, of a day or a time, or of a range of them, which may be open."""
    found = read_range(label)
    ends = [] if found is None else [end for end in (found.low, found.high) if end is not None]
    if found is None or not ends or _moments(label) is not None:
        return _moments(label)
    low = (datetime.min, datetime.min) if found.low is None else _moments(found.low)
    high = (datetime.max, datetime.max) if found.high is None else _moments(found.high)
    if low is None or high is None:
        return None
    least = timedelta(microseconds=1)
    try:
        return low[0] if found.left else low[1] + least, high[1] if found.right else high[0] - least
    except OverflowError:
        return None


def _moments(label: str) -> tuple[datetime, datetime] | None:
    """The first and the last moment of a period, a day or a time."""
    if (days := days_of(label)) is not None:
        return datetime.combine(days[0], time.min), datetime.combine(days[1], time.max)
    try:
        moment = datetime.fromisoformat(label) if DAY.match(label) else None
    except ValueError:
        return None
    return None if moment is None else (moment, moment)
