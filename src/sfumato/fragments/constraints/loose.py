"""Loose associations: S. De Capitani di Vimercati, S. Foresti, S. Jajodia, S. Paraboschi, P. Samarati, Fragments and
loose associations: respecting privacy in data publishing, PVLDB 3(1), 2010."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.fragments.constraints.kernels import fill_blocks

ATTEMPTS = 2000  # pairs of blocks that a row that is left is offered to


@dataclass(frozen=True, eq=False)
class LooseGroups:
    """The group of each row in the first fragment and in the second, -1 for rows that found no place."""

    first: np.ndarray
    second: np.ndarray

    @property
    def unplaced(self) -> int:
        """How many rows found none."""
        return int((self.first < 0).sum())

    @property
    def least(self) -> list[int]:
        """The fewest rows of a group in either fragment."""
        return [int(np.bincount(side[side >= 0]).min()) for side in (self.first, self.second)]


def loose_groups(ours: np.ndarray, theirs: np.ndarray, sizes: tuple[int, int], rng: np.random.Generator) -> LooseGroups:
    """Group the rows of two fragments, so that a pair of groups has one row at most, and everybody in a group of one is
    associated with rows of the other of which no two are alike.

    Rows are put into blocks of k1 k2, no two of which are alike on either side: there are k2 groups of k1 rows of the
    first fragment, and k1 groups of k2 rows of the second, and each pair of these has one row. A row that is left joins
    a group of one block in the first fragment, and one of another block in the second, where none of those that are
    then associated are alike. `ours` and `theirs` have a number for each row and constraint: what stands in the columns
    of it that lie in the fragment.
    """
    k1, k2 = sizes
    rows, width = len(ours), k1 * k2
    first, second = np.full(rows, -1, np.int64), np.full(rows, -1, np.int64)
    count = rows // width
    if not count:
        return LooseGroups(first, second)
    values = np.ascontiguousarray(np.hstack([ours, theirs]).astype(np.int64))
    often = np.max([np.bincount(column)[column] for column in values.T], axis=0)
    order = rng.permutation(rows)
    leading = values[:, int(np.argmax([np.bincount(column).max() for column in values.T]))]
    order = order[np.lexsort((leading[order], -often[order]))]
    blocks, size = np.full((count, width), -1, np.int64), np.zeros(count, np.int64)
    left = fill_blocks(values, order, blocks, size, rng.integers(count, size=997))
    rest = [*order[:left].tolist(), *blocks[size < width][blocks[size < width] >= 0].tolist()]
    blocks = blocks[size == width]
    blocks = blocks[rng.permutation(len(blocks))]
    blocks = rng.permuted(blocks, axis=1)
    place = np.arange(width)
    number = np.arange(len(blocks))[:, None]
    first[blocks], second[blocks] = number * k2 + place // k1, number * k1 + place % k1
    used = np.zeros(len(blocks), np.bool_)
    for row in rng.permutation(np.array(rest, np.int64)).tolist():  # fewer than a block, where values are not rare
        _place(row, blocks, used, (ours, theirs), sizes, (first, second), rng)
    return LooseGroups(_renumbered(first, rng), _renumbered(second, rng))


def _place(
    row: int,
    blocks: np.ndarray,
    used: np.ndarray,
    sides: tuple[np.ndarray, np.ndarray],
    sizes: tuple[int, int],
    groups: tuple[np.ndarray, np.ndarray],
    rng: np.random.Generator,
) -> None:
    """Put a row into a group of one block in the first fragment and of another in the second, where that may be: both
    blocks as they were made, so that nothing else has to be looked at. Where groups of one row are enough, it has its
    own on that side, and makes the group of one block larger on the other."""
    (ours, theirs), (first, second) = sides, groups
    free = np.flatnonzero(~used)
    if 1 in sizes:
        for b in rng.permutation(free)[:ATTEMPTS].tolist():
            if _unlike(ours, [*blocks[b], row]) and _unlike(theirs, [*blocks[b], row]):
                alone, larger = (first, second) if sizes[0] == 1 else (second, first)
                alone[row], larger[row], used[b] = alone.max() + 1, larger[blocks[b][0]], True
                return
    if len(free) < 2:
        return
    for _ in range(ATTEMPTS):
        a, b = rng.choice(free, 2, replace=False).tolist()
        one, other = int(rng.integers(sizes[1])), int(rng.integers(sizes[0]))
        mine, yours = blocks[a][np.arange(len(blocks[a])) // sizes[0] == one], blocks[b][
            np.arange(len(blocks[b])) % sizes[0] == other
        ]  # fmt: skip
        # all of the second fragment that the group of a is then associated with, and of the first that of b is
        met = [(theirs, [*blocks[a], *yours]), (ours, [*blocks[b], *mine]), (ours, blocks[a]), (theirs, blocks[b])]
        if all(_unlike(values, [*rows, row]) for values, rows in met):
            first[row], second[row] = first[mine[0]], second[yours[0]]
            used[[a, b]] = True
            return


def _unlike(values: np.ndarray, rows: list[int]) -> bool:
    """Whether no two of the rows are alike in any column."""
    some = np.sort(values[rows], axis=0)
    return not bool((some[1:] == some[:-1]).any())


def _renumbered(group: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Groups under numbers drawn at random."""
    names = rng.permutation(int(group.max(initial=-1)) + 1)
    return np.where(group >= 0, names[np.maximum(group, 0)], -1) if len(names) else group
