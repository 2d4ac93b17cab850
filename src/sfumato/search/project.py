"""Project: the cells of a table over some of its columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.cells import Cells, roll_up


def project(cells: Cells, columns: Sequence[int]) -> Cells:
    """The cells over some columns, with their rows; histograms are left out."""
    keep = list(columns)
    rolled = roll_up(cells, [np.arange(cells.sizes[c]) for c in keep], keep)
    first = np.empty(len(rolled.size), np.int64)
    first[rolled.of_cell[::-1]] = np.arange(len(cells) - 1, -1, -1)
    codes = np.ascontiguousarray(cells.codes[keep][:, first])
    return Cells(tuple(cells.names[c] for c in keep), codes, rolled.size, tuple(cells.sizes[c] for c in keep))
