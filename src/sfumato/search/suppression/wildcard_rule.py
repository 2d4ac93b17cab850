"""Rows that match where a missing value matches anything: how many, and the cells to blank until they are enough."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sfumato.core.compiled import kernel
from sfumato.core.progress import Progress
from sfumato.search.suppression.cells import (
    capacity_for,
    kept_bits,
    packed,
    ranked,
    sets_of_columns,
    slot,
    weight_of_bits,
)
from sfumato.search.suppression.exact import fewest_blanks


@kernel
def match_counts(
    words: np.ndarray,
    count: np.ndarray,
    take: np.ndarray,
    kept: np.ndarray,
    parts: np.ndarray,
) -> np.ndarray:
    """For each taken tuple, which knows all columns of `kept`, the rows (or weight) that match it in those.

    `parts` [patterns, words]: what of `kept` the rows of the table know, each pattern once.
    """
    slots = np.full(capacity_for(len(words)), -1, np.int64)
    rows = np.zeros(len(slots), count.dtype)
    for e in range(len(words)):
        j = slot(slots, words, kept, words, e, kept)
        slots[j] = e
        rows[j] += count[e]
    found = np.zeros(len(take), count.dtype)
    for i in range(len(take)):
        for p in range(len(parts)):
            j = slot(slots, words, kept, words, take[i], parts[p])
            if slots[j] >= 0:
                found[i] += rows[j]
    return found


@kernel
def blank_one_by_one(
    codes: np.ndarray, count: np.ndarray, take: np.ndarray, weight: np.ndarray, least: int
) -> np.ndarray:
    """Per taken tuple columns to blank until it matches `least` rows: those in which it differs from the nearest rows,
    and of those only the ones that are needed, heavy ones spared first."""
    n, d = codes.shape
    differ = np.empty(n, np.int64)
    blank = np.empty(len(take), np.int64)
    heavy_first = ranked(-weight)
    for i in range(len(take)):
        r = take[i]
        for t in range(n):
            differ[t] = 0
            for c in range(d):
                if codes[r, c] >= 0 and codes[t, c] >= 0 and codes[t, c] != codes[r, c]:
                    differ[t] |= np.int64(1) << c
        gone, rows = np.int64(0), 0
        for t in range(n):
            if differ[t] == 0:
                rows += count[t]
        while rows < least:
            best, cheapest = np.int64(0), np.inf
            for t in range(n):
                more = differ[t] & ~gone
                if more:
                    price = weight_of_bits(more, weight)
                    if price < cheapest:
                        best, cheapest = more, price
            gone |= best
            rows = 0
            for t in range(n):
                if differ[t] & ~gone == 0:
                    rows += count[t]
        for c in heavy_first:
            if gone >> c & 1:
                without = gone & ~(np.int64(1) << c)
                rows = 0
                for t in range(n):
                    if differ[t] & ~without == 0:
                        rows += count[t]
                if rows >= least:
                    gone = without
        blank[i] = gone
    return blank


@kernel
def match(one: np.ndarray, two: np.ndarray) -> bool:
    """Whether each value is equal, or missing in one of the two."""
    same = True
    for c in range(len(one)):
        if one[c] >= 0 and two[c] >= 0 and one[c] != two[c]:
            same = False
            break
    return same


@kernel
def rows_matching(codes: np.ndarray, count: np.ndarray, e: int) -> int:
    """The rows that match entry e."""
    rows = 0
    for t in range(len(codes)):
        if count[t] and match(codes[t], codes[e]):
            rows += count[t]
    return rows


@kernel
def unblank(
    codes: np.ndarray,
    count: np.ndarray,
    origin: np.ndarray,
    original: np.ndarray,
    weight: np.ndarray,
    least: int,
) -> None:
    """Give back every cell that is not needed, heavy ones first; entry e is a row of tuple origin[e] if count is 1."""
    n = len(codes)
    rows = np.zeros(n, np.int64)
    for e in range(n):
        if count[e]:
            rows[e] = rows_matching(codes, count, e)
    for c in ranked(-weight):
        for e in range(n):
            value = original[origin[e], c]
            if codes[e, c] >= 0 or value < 0 or count[e] == 0:
                continue
            lost, needed = 0, False
            for t in range(n):
                if t != e and count[t] and codes[t, c] >= 0 and codes[t, c] != value and match(codes[t], codes[e]):
                    lost += count[t]
                    if rows[t] - count[e] < least:
                        needed = True
                        break
            if needed or rows[e] - lost < least:
                continue
            for t in range(n):
                if t != e and count[t] and codes[t, c] >= 0 and codes[t, c] != value and match(codes[t], codes[e]):
                    rows[t] -= count[e]
            rows[e] -= lost
            codes[e, c] = value


@kernel
def best_helper(
    words: np.ndarray, known: np.ndarray, short: np.ndarray, masks: np.ndarray, kept: np.ndarray, weight: np.ndarray
) -> tuple[Any, Any]:
    """The entry, and the columns to blank in it, that come to match most entries in `short` per weight of cells."""
    best, best_share, best_mask = -1, 0.0, np.int64(0)
    slots = np.empty(capacity_for(len(short)), np.int64)
    rows = np.empty(len(slots), np.int64)
    for m in range(len(masks)):
        if masks[m] == 0 or len(short) / weight_of_bits(masks[m], weight) <= best_share:
            continue
        slots[:] = -1
        for e in short:
            j = slot(slots, words, kept[m], words, e, kept[m])
            if slots[j] < 0:
                slots[j] = e
                rows[j] = 0
            rows[j] += 1
        for e in short:
            price = weight_of_bits(masks[m] & known[e], weight)
            if price > 0:
                share = rows[slot(slots, words, kept[m], words, e, kept[m])] / price
                if share > best_share:
                    best, best_share, best_mask = e, share, masks[m]
    return best, best_mask


MOST_SETS = 4096  # sets of columns that are tried
MOST_CELLS = 60  # of a table that is searched exhaustively
MOST_BRANCHES = 30_000
FEW_BLANKS = 500  # entries with blanks up to which a solution is worth undoing cell by cell


def known_bits(codes: np.ndarray) -> np.ndarray:
    """The columns that each tuple knows, as bits."""
    bits: np.ndarray = (codes >= 0) @ (np.int64(1) << np.arange(codes.shape[1], dtype=np.int64))
    return bits


def own_cells(
    codes: np.ndarray, count: np.ndarray, weight: np.ndarray, least: int, report_progress: Progress, wild: bool = True
) -> tuple[np.ndarray, bool]:
    """Per tuple the lightest set of columns without which it matches `least` rows of the table; whether that is proven.

    Sets are tried by weight, for the tuples that still match too few. Unless `wild`, rows that miss a value which the
    tuple shows do not match it.
    """
    words, fields = packed(codes)
    known = known_bits(codes)
    patterns = np.unique(known)

    def enough(mine: np.ndarray, shown: int) -> np.ndarray:
        kept, parts = kept_bits(fields, ~np.array([shown])), np.unique(patterns & shown)
        found = match_counts(words, count, mine, kept[0], kept_bits(fields, ~parts) if wild else kept)
        return np.asarray(found >= least)

    blank, left = lightest_blanks(known, weight, enough, report_progress)
    if len(left) and wild:
        blank[left] = blank_one_by_one(codes, count, left, weight, least)
    return blank, not len(left)


def lightest_blanks(
    known: np.ndarray, weight: np.ndarray, enough: Callable[[np.ndarray, int], np.ndarray], report_progress: Progress
) -> tuple[np.ndarray, np.ndarray]:
    """Per tuple the lightest set of columns without which it is safe, and the tuples that none of the sets makes so.

    `known` are the columns that each knows, as bits; `enough(tuples, shown)` says which are safe that show these.
    """
    masks, every = sets_of_columns(weight, MOST_SETS)
    blank, left = np.zeros(len(known), np.int64), np.arange(len(known))
    for i, mask in enumerate(masks[: None if every else -1].tolist()):
        still = []
        for pattern in np.unique(known[left]).tolist():
            mine = left[known[left] == pattern]
            if mask & ~pattern == 0:
                safe = enough(mine, pattern & ~mask)
                blank[mine[safe]] = mask
                mine = mine[~safe]
            still.append(mine)
        left = np.concatenate(still)
        if not len(left):
            break
        report_progress("suppressing cells", (i + 1) / len(masks))
    return blank, left


class ReleasedTuples:
    """Entries of equal rows, some with blanks: `origin` is the tuple of the table that an entry is of."""

    def __init__(self, codes: np.ndarray, count: np.ndarray) -> None:
        self.original, self.codes, self.count = codes, codes.copy(), count.copy()
        self.origin = np.arange(len(codes))

    def blank(self, entry: int, mask: int) -> int:
        """Blank columns of one row of an entry, which becomes an entry of its own; its number."""
        columns = np.arange(self.codes.shape[1])
        if self.count[entry] > 1:
            self.count[entry] -= 1
            self.codes = np.vstack([self.codes, self.codes[entry : entry + 1]])
            self.count, self.origin = np.append(self.count, 1), np.append(self.origin, self.origin[entry])
            entry = len(self.codes) - 1
        self.codes[entry] = np.where(mask >> columns & 1, -1, self.codes[entry])
        return entry

    def gone(self) -> np.ndarray:
        """Which cells of each entry are blank that were not."""
        lost: np.ndarray = (self.codes < 0) & (self.original[self.origin] >= 0)
        return lost

    def weigh(self, weight: np.ndarray) -> float:
        """The weight of all blank cells."""
        return float((self.gone() @ weight) @ self.count)

    def undo(self, weight: np.ndarray, least: int) -> None:
        """Give back every cell that is not needed."""
        whole = ~self.gone().any(axis=1) | (self.count <= 1)
        if not whole.all():  # a cell may be needed in some rows of an entry only
            times = np.where(whole, 1, self.count)
            self.codes, self.origin = np.repeat(self.codes, times, axis=0), np.repeat(self.origin, times)
            self.count = np.where(np.repeat(whole, times), np.repeat(self.count, times), 1)
        unblank(self.codes, self.count, self.origin, self.original, weight, least)


def fewest_cells(
    codes: np.ndarray, count: np.ndarray, weight: np.ndarray, least: int, report_progress: Progress
) -> tuple[ReleasedTuples, bool, int]:
    """Blank as little as possible so that every row matches `least` rows of the release; whether that is proven, and
    the branches looked at.

    Rows with many blanks match many others, so that a few of them may do. Found greedily, or from the cells that every
    tuple would lose by itself; what is not needed is given back, and small tables are searched exhaustively.
    """
    short = _helped(codes, count, weight, least)
    blank, _ = own_cells(codes, count, weight, least, report_progress)
    if count[blank > 0].sum() <= FEW_BLANKS:
        other = ReleasedTuples(codes, count)
        other.codes = np.where(blank[:, None] >> np.arange(codes.shape[1]) & 1, -1, codes).astype(np.int32)
        other.undo(weight, least)
        short = min(short, other, key=lambda found: found.weigh(weight))
    if count.sum() * codes.shape[1] > MOST_CELLS:
        return short, short.weigh(weight) == 0, 0
    return _exhausted(short, weight, least)


def _helped(codes: np.ndarray, count: np.ndarray, weight: np.ndarray, least: int) -> ReleasedTuples:
    """Greedily blank the cells of rows with which most rows come to match: at the worst, of k - 1 rows all cells."""
    masks, _ = sets_of_columns(weight, MOST_SETS)
    _, fields = packed(codes)
    kept = kept_bits(fields, masks)
    found, blank_all = ReleasedTuples(codes, count), (1 << codes.shape[1]) - 1
    rows = _rows(codes, count)
    while (short := np.flatnonzero((rows < least) & (found.count > 0))).size:
        entry, mask = best_helper(packed(found.codes)[0], known_bits(found.codes), short, masks, kept, weight)
        if entry < 0 or found.weigh(weight) > (least - 1) * weight.sum():
            break
        rows = _after(found, rows, int(entry), int(mask))
    if len(short):  # many small sets would cost more than k - 1 rows without any value
        found = ReleasedTuples(codes, count)
        rows = _rows(codes, count)
        while (short := np.flatnonzero((rows < least) & (found.count > 0))).size:
            told = np.asarray((found.codes >= 0).any(axis=1))
            entry = next((e for e in short.tolist() if told[e]), int(np.argmax(told)))
            rows = _after(found, rows, entry, blank_all)
    found.undo(weight, least)
    return found


def _rows(codes: np.ndarray, count: np.ndarray) -> np.ndarray:
    """How many rows match each tuple."""
    words, fields = packed(codes)
    known = known_bits(codes)
    rows = np.empty(len(codes), np.int64)
    patterns = np.unique(known)
    for pattern in patterns.tolist():
        mine = np.flatnonzero(known == pattern)
        kept, parts = kept_bits(fields, ~np.array([pattern])), np.unique(patterns & pattern)
        rows[mine] = match_counts(words, count, mine, kept[0], kept_bits(fields, ~parts))
    return rows


def _after(found: ReleasedTuples, rows: np.ndarray, entry: int, mask: int) -> np.ndarray:
    """The rows that match each entry after a row of one of them lost columns."""
    before = found.codes[entry].copy()
    new = found.blank(entry, mask)
    if new == len(rows):
        rows = np.append(rows, 0)
    rows += _newly(found.codes, before, found.codes[new])
    rows[new] = rows_matching(found.codes, found.count, new)
    return rows


def _newly(codes: np.ndarray, before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Which entries match a tuple after it lost columns, and did not before."""

    def matched(one: np.ndarray) -> np.ndarray:
        return np.asarray(((codes == one) | (codes < 0) | (one < 0)).all(axis=1))

    return (matched(after) & ~matched(before)).astype(np.int64)


def _exhausted(found: ReleasedTuples, weight: np.ndarray, least: int) -> tuple[ReleasedTuples, bool, int]:
    """The fewest cells by branch and bound, from a solution."""
    bits = np.int64(1) << np.arange(found.codes.shape[1], dtype=np.int64)
    origin, start = np.repeat(found.origin, found.count), np.repeat(found.gone() @ bits, found.count)
    codes = found.original[origin]
    blank, proven, opened = fewest_blanks(codes, weight, least, start, MOST_BRANCHES)
    best = ReleasedTuples(found.original, np.bincount(origin, minlength=len(found.original)))
    best.codes, best.origin = np.where(blank[:, None] & bits, -1, codes).astype(np.int32), origin
    best.count = np.ones(len(origin), np.int64)
    return best, bool(proven), int(opened)
