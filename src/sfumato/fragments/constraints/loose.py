"""Loose associations: S. De Capitani di Vimercati, S. Foresti, S. Jajodia, S. Paraboschi, P. Samarati, Fragments and
loose associations: respecting privacy in data publishing, PVLDB 3(1), 2010."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from sfumato.fragments.constraints.kernels import exchange_rows, fill_blocks

LARGER = 3  # rows that a group may have beyond its size
FEWER = 8  # blocks that are made larger at the cost of one less, at most
ROUNDS = 20  # of suppressing rows that no block takes
MIXED = 30  # times that each row is offered another place, about

Shape = tuple[int, int]  # rows of a group in the first fragment and in the second, of one block


@dataclass(frozen=True, eq=False)
class LooseGroups:
    """The group of each row in the first fragment and in the second, -1 for rows that found no place; `drawn` of these
    were left out by chance, whatever their values."""

    first: np.ndarray
    second: np.ndarray
    drawn: int = 0

    @property
    def unplaced(self) -> int:
        """How many rows found none."""
        return int((self.first < 0).sum())

    @property
    def least(self) -> list[int]:
        """The fewest rows of a group in either fragment."""
        return [int(np.bincount(side[side >= 0]).min()) for side in (self.first, self.second)]


def loose_groups(ours: np.ndarray, theirs: np.ndarray, sizes: Shape, rng: np.random.Generator) -> LooseGroups:
    """Group the rows of two fragments, so that a pair of groups has one row at most, and everybody in a group of one is
    associated with rows of the other of which no two are alike.

    Rows are put into blocks of k1 k2 or more, no two of which are alike on either side: there are k2 groups of k1 rows
    of the first fragment, and k1 groups of k2 rows of the second, and each pair of these has one row. Where the rows
    are no multiple of k1 k2, some blocks have larger groups. So every row of a block has any place in it with the same
    chance. (Rows that join a block afterwards are the rarest ones, whom larger groups would tell.)
    Where no such blocks add up to the rows, rows to suppress are drawn before anything looks at their values; those
    that no block takes are suppressed next, and the others grouped anew. `ours` and `theirs` have a number for each row
    and constraint: what stands in the columns of it that lie in the fragment.
    """
    first, second = np.full(len(ours), -1, np.int64), np.full(len(ours), -1, np.int64)
    values = np.ascontiguousarray(np.hstack([ours, theirs]).astype(np.int64))
    order, by_chance = rng.permutation(len(ours)), 0
    for _ in range(ROUNDS):
        many = len(order)
        while not (shapes := block_shapes(many, sizes)) and many:
            many -= 1
        by_chance += len(order) - many
        if not many:
            break
        drawn = [shapes[i] for i in rng.permutation(len(shapes))]
        blocks = _filled(values, order[:many], drawn, rng)
        placed = blocks[blocks >= 0]
        if len(placed) == many:
            _mix(values, blocks, rng)
            _number(first, second, blocks, drawn, rng)
            break
        order = rng.permutation(placed)
    return LooseGroups(_renumbered(first, rng), _renumbered(second, rng), by_chance)


def block_shapes(rows: int, sizes: Shape) -> list[Shape]:
    """The sizes of groups of blocks that have so many rows together: as many blocks as there can be, whose groups have
    few rows beyond their sizes; none where no such blocks add up to the rows.

    >>> block_shapes(13, (2, 2)), block_shapes(14, (2, 2)), block_shapes(7, (2, 2)), block_shapes(8, (1, 3))
    ([(3, 3), (2, 2)], [(2, 3), (2, 2), (2, 2)], [], [(1, 4), (1, 4)])
    """
    k1, k2 = sizes
    most = rows // (k1 * k2)
    if 1 in sizes:  # the other size may be any
        found = [rows // most + (i < rows % most) for i in range(most)]
        return [(1, n) if k1 == 1 else (n, 1) for n in found]
    larger: dict[int, Shape] = {}
    for i, j in product(range(LARGER + 1), repeat=2):
        larger.setdefault((k1 + i) * (k2 + j) - k1 * k2, (k1 + i, k2 + j))
    for many in range(most, max(0, most - FEWER - 1), -1):
        beyond = rows - many * k1 * k2
        least, last = np.full(beyond + 1, many + 1), np.zeros(beyond + 1, np.int64)  # larger blocks that are needed
        least[0] = 0
        for extra in sorted({*larger} - {0}):
            for at in range(extra, beyond + 1):
                if least[at - extra] + 1 < least[at]:
                    least[at], last[at] = least[at - extra] + 1, extra
            if least[beyond] <= many:
                break  # no larger ones than that
        if least[beyond] <= many:
            shapes = []
            while beyond:
                shapes.append(larger[int(last[beyond])])
                beyond -= int(last[beyond])
            return shapes + [sizes] * (many - len(shapes))
    return []


def _filled(values: np.ndarray, order: np.ndarray, shapes: list[Shape], rng: np.random.Generator) -> np.ndarray:
    """The rows of each block, -1 beyond how many it has."""
    room = np.array([a * b for a, b in shapes], np.int64)
    blocks, size = np.full((len(room), int(room.max())), -1, np.int64), np.zeros(len(room), np.int64)
    counts = [np.bincount(column[order]) for column in values.T]
    often = np.max([n[column[order]] for n, column in zip(counts, values.T, strict=True)], axis=0)
    leading = values[order, int(np.argmax([n.max() for n in counts]))]
    fill_blocks(values, order[np.lexsort((leading, -often))], blocks, size, room, rng.integers(len(room), size=997))
    return blocks


def _mix(values: np.ndarray, blocks: np.ndarray, rng: np.random.Generator) -> None:
    """Exchange rows of blocks at random, so that nothing is left of the order in which they were filled: any blocks
    that fit the rows have the same chance, so that those that were made tell no more than that they fit."""
    of, place = np.nonzero(blocks >= 0)
    for _ in range(MIXED):
        exchange_rows(values, blocks, of, place, rng.integers(len(of), size=(max(len(of), MIXED), 2)))


def _number(
    first: np.ndarray, second: np.ndarray, blocks: np.ndarray, shapes: list[Shape], rng: np.random.Generator
) -> None:
    """Give the rows of whole blocks their groups, each row any place of its block with the same chance."""
    ours = theirs = 0
    for shape in sorted({*shapes}):
        alike = np.array([one == shape for one in shapes])
        k1, k2 = shape
        rows = rng.permuted(blocks[alike, : k1 * k2], axis=1)
        number, place = np.arange(len(rows))[:, None], np.arange(k1 * k2)
        first[rows], second[rows] = ours + number * k2 + place // k1, theirs + number * k1 + place % k1
        ours, theirs = ours + len(rows) * k2, theirs + len(rows) * k1


def _renumbered(group: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Groups under numbers drawn at random."""
    names = rng.permutation(int(group.max(initial=-1)) + 1)
    return np.where(group >= 0, names[np.maximum(group, 0)], -1) if len(names) else group
