"""Pieces: cells cut into parts, for recodings that send rows with equal values to different classes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sfumato.cells import Cells
from sfumato.search.problem import Problem, Split


def pieces(problem: Problem, least: int) -> tuple[Problem, Split | None]:
    """The problem with each cell of fewer than `least` rows cut into single rows; no split where none is cut.

    >>> import polars as pl
    >>> from sfumato.criteria import KAnonymity
    >>> from sfumato.losses import LM
    >>> from sfumato.policy import Policy
    >>> from sfumato.search.pose import pose
    >>> problem = pose(pl.DataFrame({"age": [31, 31, 58]}), Policy((("age",),), (KAnonymity(3),), 0, LM()), {}, {})
    >>> cut, split = pieces(problem, 3)
    >>> cut.cells.codes[0].tolist(), split.cell.tolist()
    ([0, 0, 1], [0, 0, 1])
    """
    count = problem.cells.count
    times = np.where(count < least, count, 1)
    if (times == 1).all():
        return problem, None
    cell = np.repeat(np.arange(len(count)), times)
    split = Split(cell, np.where(count < least, 1, count)[cell])
    return refine(problem, split), split


def refine(problem: Problem, split: Split) -> Problem:
    """The problem whose cells are the pieces."""
    return replace(problem, cells=refined(problem.cells, split))


def refined(cells: Cells, split: Split) -> Cells:
    """The pieces as cells. A cell that is cut has one sensitive value: see `counted(..., jointly=True)`."""
    taken = cells.take(split.cell)
    histograms = {}
    for name, h in taken.histograms.items():
        alone = np.diff(h.start) == 1
        count = h.count.copy()
        count[h.start[:-1][alone]] = split.count[alone]
        histograms[name] = replace(h, count=count)
    return replace(taken, count=split.count, histograms=histograms)


def deal(of_row: np.ndarray, split: Split, alike: np.ndarray) -> np.ndarray:
    """The piece of each row. Which piece of a cell a row gets depends on what else is released of it, never on its
    place in the table: rows with the same number in `alike` are spread over the pieces, others are mixed.

    >>> deal(np.array([1, 0, 1, 1]), Split(np.array([0, 1, 1]), np.array([1, 2, 1])), np.array([0, 0, 3, 0])).tolist()
    [1, 0, 1, 2]
    """
    by_number = np.lexsort((alike, of_row))
    first = np.ones(len(of_row), np.bool_)
    first[1:] = (np.diff(of_row[by_number]) != 0) | (np.diff(alike[by_number]) != 0)
    start, group = np.flatnonzero(first), np.cumsum(first) - 1
    among = np.arange(len(of_row)) - start[group]
    share = np.empty(len(of_row))
    share[by_number] = (among + 0.5) / np.diff(start, append=len(of_row))[group]
    piece = np.empty(len(of_row), np.int32)
    order = np.lexsort((_mixed(alike), share, of_row))
    piece[order] = np.repeat(np.arange(len(split.count), dtype=np.int32), split.count)
    return piece


def _mixed(number: np.ndarray) -> np.ndarray:
    """Numbers in an order that says nothing of theirs, the same in every run: the finaliser of SplitMix64."""
    x = number.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
