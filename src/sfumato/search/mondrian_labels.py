"""What the classes of Mondrian print: ranges, nodes, sets, or the mean or median of their rows."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import numpy as np

from sfumato.labels import Labels, of_nodes, of_ranges
from sfumato.search.mondrian_shape import Column

DIGITS = 6  # significant, of a mean or median; more where the class is narrower than that


def labels_of(column: Column, output: str, places: np.ndarray, n: np.ndarray, starts: np.ndarray) -> Labels:
    """The labels of one column: `places` and rows `n` of the pieces, the pieces of class c from starts[c]."""
    attribute = column.attribute
    low, high = np.minimum.reduceat(places, starts), np.maximum.reduceat(places, starts)
    if column.tree is not None:
        level = np.argmax(column.tree[:, low] == column.tree[:, high], axis=0)
        return of_nodes(attribute, level, column.tree[level, low])
    if not attribute.categories.ordered and (np.diff(column.place) < 0).any():
        return _of_sets(column, low, high)
    labels = of_ranges(attribute, low, high)
    if output not in ("mean", "median") or attribute.kind not in ("integer", "decimal"):
        return labels
    of = labels.of
    told = (labels.lo < labels.hi)[of] & ~labels.star[of]  # a class of one value prints it, mixed with missing ones: *
    middle = _means if output == "mean" else _medians
    return _named(labels, told, middle(column, places, n, starts))


def _means(column: Column, places: np.ndarray, n: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """The mean of the rows of each class."""
    position = column.attribute.categories.position
    assert position is not None
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(np.add.reduceat(position[places] * n, starts) / np.add.reduceat(n, starts))


def _medians(column: Column, places: np.ndarray, n: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """The median of the rows of each class: the mean of the two in the middle where their number is even."""
    position = column.attribute.categories.position
    assert position is not None
    of_piece = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(places))))
    order = np.lexsort((places, of_piece))
    upto = np.cumsum(n[order])
    rows = np.add.reduceat(n, starts)
    before = np.cumsum(rows) - rows
    lower = places[order[np.searchsorted(upto, before + (rows - 1) // 2, side="right")]]
    upper = places[order[np.searchsorted(upto, before + rows // 2, side="right")]]
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(position[lower] / 2 + position[upper] / 2)


def _named(labels: Labels, told: np.ndarray, number: np.ndarray) -> Labels:
    """The labels with a number in place of the range, for the classes where `told`; each still covers its range.

    Classes that differ in range and print the same number are one class of the release.
    """
    position = labels.attribute.categories.position
    assert position is not None
    text: list[str | None] = []
    source: list[int] = []
    seen: dict[tuple[int, str | None], int] = {}
    of = np.empty(len(labels.of), np.int32)
    for c, (label, told_here, x) in enumerate(zip(labels.of.tolist(), told.tolist(), number.tolist(), strict=True)):
        word = labels.text[label]
        if told_here and np.isfinite(x):
            word = number_text(x, float(position[labels.lo[label]]), float(position[labels.hi[label]]))
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


def number_text(x: float, low: float, high: float) -> str:
    """A number between low and high, in six significant digits, or as many as keep it there.

    >>> number_text(100 / 3, 31, 35), number_text(20240102.5, 20240102, 20240103), number_text(2e7, 1e7, 3e7)
    ('33.3333', '20240102', '20000000')
    """
    for digits in range(DIGITS, 18):
        text = f"{x:.{digits}g}"
        if low <= float(text) <= high:
            break
    if "e" in text and 1e-4 <= abs(float(text)) < 1e15:
        text = format(Decimal(text), "f")
    return "0" if float(text) == 0 else text


def _of_sets(column: Column, low: np.ndarray, high: np.ndarray) -> Labels:
    """Labels over places low[class]..high[class] of categories in an order of their own: sets, all values listed."""
    ranges = of_ranges(column.attribute, low, high)  # of places, which it takes for codes
    categories, codes = column.attribute.categories, column.codes
    star = ranges.star | (ranges.leaves == max(len(categories), 2))
    lo, hi, text = [], [], []
    for first, last, says_nothing in zip(ranges.lo.tolist(), ranges.hi.tolist(), star.tolist(), strict=True):
        members = np.sort(codes[first : last + 1])
        words = [categories.text[code] for code in members]
        lo.append(members[0])
        hi.append(members[-1])
        text.append("*" if says_nothing else words[0] if len(words) == 1 else "{" + ", ".join(map(str, words)) + "}")
    below = np.concatenate([[0], np.cumsum(categories.count[codes])])
    covered = below[ranges.hi + 1] - below[ranges.lo]
    return replace(ranges, lo=np.array(lo), hi=np.array(hi), covered=covered, star=star, named=tuple(text))
