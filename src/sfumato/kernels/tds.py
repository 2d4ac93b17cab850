"""Top-down specialisation: what splitting one label by its children does to the classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.kernels import kernel


@kernel
def split_sizes(
    cells: np.ndarray,
    of: np.ndarray,
    code: np.ndarray,
    child: np.ndarray,
    children: int,
    count: np.ndarray,
    first: np.ndarray,
) -> tuple[Any, np.ndarray]:
    """The smallest class after the cells' classes are split by child[code], and rows per (class, child).

    `first[class]` is the number of a class among those of the cells, -1 elsewhere; it is left as it was found.
    """
    classes = 0
    for i in cells:
        if first[of[i]] < 0:
            first[of[i]] = classes
            classes += 1
    size = np.zeros(classes * children, np.int64)
    for i in cells:
        size[first[of[i]] * children + child[code[i]]] += count[i]
    least = np.int64(0)
    for n in size:
        if n > 0 and (least == 0 or n < least):
            least = n
    for i in cells:
        first[of[i]] = -1
    return least, size
