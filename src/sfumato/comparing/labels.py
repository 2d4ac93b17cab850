"""Labels: a place beside each mark where its words hide nothing, or none where there is no room."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

Place = tuple[float, float]
Box = tuple[float, float, float, float]  # left, top, right, bottom
TALL, WIDE = 10.0, 6.6  # of a digit
# offsets of the words' middle in half their size and a gap, best first
AROUND = ((1, -1), (1, 0), (0, -1), (1, 1), (-1, -1), (-1, 0), (0, 1), (-1, 1))
GAP = 2.5  # between mark and words


def place_labels(
    marks: Sequence[Place],
    reach: Sequence[float],
    words: Sequence[str],
    lines: Sequence[Sequence[Place]],
    within: Box,
) -> list[Place | None]:
    """The middle of each label's words; of the free places around the mark, the one that the fewest lines cross and
    that no other mark is nearer to.

    `reach` is how far each mark reaches from its middle.
    """
    taken: list[Box] = [_box(x, y, r - 1, r - 1) for (x, y), r in zip(marks, reach, strict=True)]
    segments = [(a, b) for line in lines for a, b in pairwise(line)]
    found: list[Place | None] = []
    for i, ((x, y), r, text) in enumerate(zip(marks, reach, words, strict=True)):
        half, best = len(text) * WIDE / 2, None
        for rank, (right, down) in enumerate(AROUND):
            gap = (r if not (right and down) else r * 0.62) + GAP
            at = x + right * (half + gap), y + down * (TALL / 2 + gap)
            box = _box(*at, half + 1, TALL / 2 + 1)
            if not _inside(box, within) or any(_meet(box, other) for j, other in enumerate(taken) if j != i):
                continue
            foreign = any(_far(at, other) < _far(at, (x, y)) - 1 for j, other in enumerate(marks) if j != i)
            cost = sum(_crosses(a, b, box) for a, b in segments) + 3 * foreign, rank
            if best is None or cost < best[0]:
                best = cost, at, box
        found.append(None if best is None else best[1])
        if best is not None:
            taken.append(best[2])
    return found


def _far(a: Place, b: Place) -> float:
    return ((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2) ** 0.5


def _box(x: float, y: float, wide: float, tall: float) -> Box:
    return x - wide, y - tall, x + wide, y + tall


def _inside(box: Box, outer: Box) -> bool:
    return box[0] >= outer[0] and box[1] >= outer[1] and box[2] <= outer[2] and box[3] <= outer[3]


def _meet(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _crosses(a: Place, b: Place, box: Box) -> bool:
    """Whether a segment runs through a box: what is left of it after cutting at each side (Liang and Barsky 1984)."""
    start, end = 0.0, 1.0
    for axis, low, high in ((0, box[0], box[2]), (1, box[1], box[3])):
        step = b[axis] - a[axis]
        if step == 0:
            if not low <= a[axis] <= high:
                return False
            continue
        first, last = sorted(((low - a[axis]) / step, (high - a[axis]) / step))
        start, end = max(start, first), min(end, last)
    return start < end
