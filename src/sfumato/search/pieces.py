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


def deal(of_row: np.ndarray, split: Split) -> np.ndarray:
    """The piece of each row: the rows of a cell are dealt to its pieces in row order.

    >>> deal(np.array([1, 0, 1, 1]), Split(np.array([0, 1, 1]), np.array([1, 2, 1]))).tolist()
    [1, 0, 1, 2]
    """
    piece = np.empty(len(of_row), np.int32)
    piece[np.argsort(of_row, kind="stable")] = np.repeat(np.arange(len(split.count), dtype=np.int32), split.count)
    return piece
