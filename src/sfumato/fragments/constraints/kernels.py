"""The loop of loose associations: blocks of rows of which no two are alike in any of some columns."""

from __future__ import annotations

import numpy as np

from sfumato.core.compiled import inner, kernel

TRIES = 400  # of blocks that a row is offered to, and of exchanges


@inner
def fits(values: np.ndarray, block: np.ndarray, size: int, row: int, without: int) -> bool:
    """Whether a row is unlike all others of a block in every column, apart from the one at place `without`."""
    for i in range(size):
        if i != without:
            for c in range(values.shape[1]):
                if values[block[i], c] == values[row, c]:
                    return False
    return True


@kernel
def fill_blocks(
    values: np.ndarray, order: np.ndarray, blocks: np.ndarray, size: np.ndarray, room: np.ndarray, drawn: np.ndarray
) -> int:
    """Put rows into blocks, as many as fit; how many found no place, which come to the beginning of `order`.

    `size` is how many rows each block has, and `room` how many it may have. `values` has a number for each row and
    column; rows come in `order`. Each is offered to the blocks from the one after the last that took one. Those that
    none takes are exchanged: a row of a full block moves to a block with room, and makes place for it. `drawn` are
    numbers at random, which say where exchanges begin.
    """
    count = len(blocks)
    at, left = 0, 0
    for i in range(len(order)):
        row, placed = order[i], False
        for step in range(min(count, TRIES)):
            b = (at + step) % count
            if size[b] < room[b] and fits(values, blocks[b], size[b], row, -1):
                blocks[b, size[b]] = row
                size[b] += 1
                at, placed = (b + 1) % count, True
                break
        if not placed:
            order[left] = row
            left += 1
    still, open_at = 0, 0
    for i in range(left):
        row, placed = order[i], False
        while open_at < count and size[open_at] == room[open_at]:
            open_at += 1
        looked = 0
        for h in range(open_at, count):
            if size[h] == room[h]:
                continue
            looked += 1
            if looked > 8:
                break
            if fits(values, blocks[h], size[h], row, -1):
                blocks[h, size[h]] = row
                size[h] += 1
                placed = True
            for step in range(TRIES):
                if placed:
                    break
                b = (drawn[i % len(drawn)] + step) % count
                if b == h:
                    continue
                for place in range(size[b]):
                    moved = blocks[b, place]
                    if fits(values, blocks[b], size[b], row, place) and fits(values, blocks[h], size[h], moved, -1):
                        blocks[b, place] = row
                        blocks[h, size[h]] = moved
                        size[h] += 1
                        placed = True
                        break
            if placed:
                break
        if not placed:
            order[still] = row
            still += 1
    return still


@kernel
def exchange_rows(values: np.ndarray, blocks: np.ndarray, of: np.ndarray, place: np.ndarray, drawn: np.ndarray) -> None:
    """Exchange pairs of rows, by their places in the list of all, where both fit into the block of the other.

    `of` is the block of each row of the list, and `place` where it is there. All blocks are full.
    """
    for i in range(len(drawn)):
        one, other = drawn[i, 0], drawn[i, 1]
        a, b = of[one], of[other]
        if a == b:
            continue
        row, moved = blocks[a, place[one]], blocks[b, place[other]]
        own, its = 0, 0
        while own < blocks.shape[1] and blocks[a, own] >= 0:
            own += 1
        while its < blocks.shape[1] and blocks[b, its] >= 0:
            its += 1
        if fits(values, blocks[a], own, moved, place[one]) and fits(values, blocks[b], its, row, place[other]):
            blocks[a, place[one]] = moved
            blocks[b, place[other]] = row
