"""Boxes: the classes of a release as what their labels cover, and how a class spreads over the original cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.core.cells import count_cells
from sfumato.measures.utility.pair import Pair


@dataclass(frozen=True, eq=False)
class Boxes:
    """Distinct original cells and distinct released label tuples, over the same columns."""

    cells: np.ndarray  # int [columns, cells]: codes
    cell_count: np.ndarray
    boxes: np.ndarray  # int [columns, boxes]: label numbers
    box_count: np.ndarray


def boxes_of(pair: Pair, names: Sequence[str]) -> Boxes:
    """The cells of the original and the boxes of the release."""
    together = pair.on(names)
    columns, (before, after) = [together.column(name) for name in names], together.times
    cells, _ = count_cells(names, [c.code for c in columns], [c.values for c in columns], before)
    boxes, _ = count_cells(names, [c.label.astype(np.int32) for c in columns], [len(c.text) for c in columns], after)
    return Boxes(cells.codes, cells.count, boxes.codes, boxes.count)


def implied(pair: Pair, names: Sequence[str], found: Boxes) -> np.ndarray:
    """Per original cell, the log of how many released rows it would have if each were spread evenly over its box.

    Logs, for a box of many columns may have more cells than a number can say; -inf where no box covers the cell. Boxes
    may overlap. They are taken column by column: those with the same label in a column share the cells that the label
    covers, and only those are looked at in the next column.
    """
    columns = [pair.column(name) for name in names]
    weight = np.log(found.box_count)
    for column, label in zip(columns, found.boxes, strict=True):
        weight -= np.log(np.maximum(column.size, 1))[label]
    total = np.full(found.cells.shape[1], -np.inf)
    # columns whose labels say the most first: they leave the fewest cells to look at
    order = sorted(
        range(len(columns)), key=lambda i: float((columns[i].size * columns[i].count).sum()) / columns[i].values
    )
    covered = [
        [column.members[a:b] for a, b in zip(column.start[:-1], column.start[1:], strict=True)] for column in columns
    ]

    def visit(depth: int, boxes: np.ndarray, cells: np.ndarray) -> None:
        if not len(cells):
            return
        if depth == len(order):
            total[cells] = np.logaddexp(total[cells], weight[boxes[0]])  # boxes are distinct: there is one
            return
        if len(boxes) == 1:  # no more boxes to tell apart
            for i in order[depth:]:
                members = covered[i][found.boxes[i, boxes[0]]]
                code = found.cells[i, cells]
                cells = cells[code == members[0] if len(members) == 1 else np.isin(code, members)]
            visit(len(order), boxes, cells)
            return
        i = order[depth]
        label, code = found.boxes[i, boxes], found.cells[i, cells]
        by_label = np.argsort(label, kind="stable")
        cuts = np.flatnonzero(np.diff(label[by_label])) + 1
        inside = np.zeros(len(columns[i].support), np.bool_)
        for part in np.split(by_label, cuts):
            members = covered[i][label[part[0]]]
            inside[members] = True
            visit(depth + 1, boxes[part], cells[inside[code]])
            inside[members] = False

    visit(0, np.arange(found.boxes.shape[1]), np.arange(found.cells.shape[1]))
    return total
