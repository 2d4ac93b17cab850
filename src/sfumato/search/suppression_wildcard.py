"""Suppression under the wildcard rule: every row must match k rows, a missing cell matching anything."""

from __future__ import annotations

import numpy as np

from sfumato.kernels.suppression_exact import fewest_blanks
from sfumato.kernels.suppression_keys import kept_bits, packed, sets_of_columns
from sfumato.kernels.suppression_wildcard import best_helper, blank_one_by_one, match_counts, rows_matching, unblank
from sfumato.search.problem import Progress

MOST_SETS = 4096  # sets of columns that are tried
MOST_CELLS = 60  # of a table that is searched exhaustively
MOST_BRANCHES = 30_000
FEW_BLANKS = 500  # entries with blanks up to which a solution is worth undoing cell by cell


def known_bits(codes: np.ndarray) -> np.ndarray:
    """The columns that each tuple knows, as bits."""
    bits: np.ndarray = (codes >= 0) @ (np.int64(1) << np.arange(codes.shape[1], dtype=np.int64))
    return bits


def own_cells(
    codes: np.ndarray, count: np.ndarray, weight: np.ndarray, least: int, say: Progress, wild: bool = True
) -> tuple[np.ndarray, bool]:
    """Per tuple the lightest set of columns without which it matches `least` rows of the table; whether that is proven.

    Sets are tried by weight, for the tuples that still match too few. Unless `wild`, rows that miss a value which the
    tuple shows do not match it.
    """
    words, fields = packed(codes)
    known = known_bits(codes)
    patterns = np.unique(known)
    masks, every = sets_of_columns(weight, MOST_SETS)
    blank, left = np.zeros(len(codes), np.int64), np.arange(len(codes))
    for i, mask in enumerate(masks[: None if every else -1].tolist()):
        still = []
        for pattern in np.unique(known[left]).tolist():
            mine = left[known[left] == pattern]
            if mask & ~pattern == 0:
                shown = pattern & ~mask
                kept, parts = kept_bits(fields, ~np.array([shown])), np.unique(patterns & shown)
                rows = match_counts(words, count, mine, kept[0], kept_bits(fields, ~parts) if wild else kept)
                blank[mine[rows >= least]] = mask
                mine = mine[rows < least]
            still.append(mine)
        left = np.concatenate(still)
        if not len(left):
            return blank, True
        say("suppressing cells", (i + 1) / len(masks))
    if len(left) and wild:
        blank[left] = blank_one_by_one(codes, count, left, weight, least)
    return blank, not len(left)


class Released:
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
    codes: np.ndarray, count: np.ndarray, weight: np.ndarray, least: int, say: Progress
) -> tuple[Released, bool, int]:
    """Blank as little as possible so that every row matches `least` rows of the release; whether that is proven, and
    the branches looked at.

    Rows with many blanks match many others, so that a few of them may do. Found greedily, or from the cells that every
    tuple would lose by itself; what is not needed is given back, and small tables are searched exhaustively.
    """
    short = _helped(codes, count, weight, least)
    blank, _ = own_cells(codes, count, weight, least, say)
    if count[blank > 0].sum() <= FEW_BLANKS:
        other = Released(codes, count)
        other.codes = np.where(blank[:, None] >> np.arange(codes.shape[1]) & 1, -1, codes).astype(np.int32)
        other.undo(weight, least)
        short = min(short, other, key=lambda found: found.weigh(weight))
    if count.sum() * codes.shape[1] > MOST_CELLS:
        return short, short.weigh(weight) == 0, 0
    return _exhausted(short, weight, least)


def _helped(codes: np.ndarray, count: np.ndarray, weight: np.ndarray, least: int) -> Released:
    """Greedily blank the cells of rows with which most rows come to match: at the worst, of k - 1 rows all cells."""
    masks, _ = sets_of_columns(weight, MOST_SETS)
    _, fields = packed(codes)
    kept = kept_bits(fields, masks)
    found, blank_all = Released(codes, count), (1 << codes.shape[1]) - 1
    rows = _rows(codes, count)
    while (short := np.flatnonzero((rows < least) & (found.count > 0))).size:
        entry, mask = best_helper(packed(found.codes)[0], known_bits(found.codes), short, masks, kept, weight)
        if entry < 0 or found.weigh(weight) > (least - 1) * weight.sum():
            break
        rows = _after(found, rows, int(entry), int(mask))
    if len(short):  # many small sets would cost more than k - 1 rows without any value
        found = Released(codes, count)
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


def _after(found: Released, rows: np.ndarray, entry: int, mask: int) -> np.ndarray:
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


def _exhausted(found: Released, weight: np.ndarray, least: int) -> tuple[Released, bool, int]:
    """The fewest cells by branch and bound, from a solution."""
    bits = np.int64(1) << np.arange(found.codes.shape[1], dtype=np.int64)
    origin, start = np.repeat(found.origin, found.count), np.repeat(found.gone() @ bits, found.count)
    codes = found.original[origin]
    blank, proven, opened = fewest_blanks(codes, weight, least, start, MOST_BRANCHES)
    best = Released(found.original, np.bincount(origin, minlength=len(found.original)))
    best.codes, best.origin = np.where(blank[:, None] & bits, -1, codes).astype(np.int32), origin
    best.count = np.ones(len(origin), np.int64)
    return best, bool(proven), int(opened)
