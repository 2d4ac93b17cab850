"""Cut a tree into parts that fit one worker, by a sample."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np

from sfumato.distributed.sample import Proposal, Sample
from sfumato.distributed.tree import Tree


def grow(
    tree: Tree,
    node: int,
    sample: Sample,
    cells: np.ndarray,
    bound: int,
    extent: tuple[np.ndarray, np.ndarray] | None = None,
) -> bool:
    """Cut a leaf, and its sides, until each has about `bound` rows; whether there was a cut.

    With `extent`, the least and greatest place of its rows in each column, it is known to be too large and is cut at
    least once, if need be beside its median.
    """
    stack, must = [(node, cells)], extent is not None
    while stack:
        at, own = stack.pop()
        if not must and sample.rows(own) <= bound:
            continue
        found = _pick(sample, own, tree.passed.get(at, Counter()), extent if must else None)
        must = False
        if found is not None:
            stack += [(kid, own[found.side == i]) for i, kid in enumerate(tree.split(at, found.cut))]
    return tree.cuts[node] is not None


def _pick(
    sample: Sample, cells: np.ndarray, passed: Mapping[int, int], extent: tuple[np.ndarray, np.ndarray] | None
) -> Proposal | None:
    """The best cut that the sample says is allowed, else the best: only a count of all rows can refuse it.

    Of a column, as many are passed over as were refused.
    """
    seen: Counter[int] = Counter()
    first = None
    for proposal in _both(sample, cells, extent):
        column = proposal.cut.column
        seen[column] += 1
        if seen[column] <= passed.get(column, 0):
            continue
        if sample.allowed(cells, proposal):
            return proposal
        first = first or proposal
    return first


def _both(sample: Sample, cells: np.ndarray, extent: tuple[np.ndarray, np.ndarray] | None) -> Iterator[Proposal]:
    if len(cells):
        yield from sample.proposals(cells)
        if extent is not None:
            yield from sample.around(cells, *extent)
