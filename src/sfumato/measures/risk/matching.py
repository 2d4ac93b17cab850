"""How many records match each cell where suppressed values are wildcards."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.cells import LARGEST_KEY, rank_keys
from sfumato.kernels.risk_match import add_met, project


def matched(codes: np.ndarray, sizes: Sequence[int], known: np.ndarray, count: np.ndarray) -> np.ndarray:
    """For each cell the sum of `count` over the cells that match it, itself included.

    Two cells match where each column is equal or unknown in at least one of them. Cells are taken by the pattern of
    what they know: those of patterns P and Q match where they agree on P & Q, so for each such set of columns the
    cells are grouped once and looked up. The work grows with cells times patterns, never with cells squared.

    Parameters: `codes` [columns, cells]; `sizes`, values per column; `known` [columns, cells], whether a value is no
    wildcard; `count` per cell (of rows, or of weights).

    >>> codes, known = np.array([[0, 0, 1], [0, 1, 2]]), np.array([[True, True, True], [True, True, False]])
    >>> matched(codes, (2, 3), known, np.array([1, 1, 1])).tolist()  # (0, 0), (0, 1), (1, *)
    [1, 1, 1]
    >>> matched(codes[1:], (3,), known[1:], np.array([1, 1, 1])).tolist()  # 0, 1, *
    [2, 2, 3]
    """
    starred = np.flatnonzero(~known.all(axis=1))
    if not len(starred):
        return count.copy()
    of, patterns = grouped(list(known[starred]), [2] * len(starred), codes.shape[1])
    order = np.argsort(of, kind="stable")
    ends = np.cumsum(np.bincount(of, minlength=patterns))
    starts = np.concatenate([[0], ends[:-1]])
    key, strides = _key(codes, sizes, starred, order)
    stars = codes[starred][:, order].astype(np.int64)
    knows = known[starred][:, order[starts]].T
    masks = [sum(1 << bit for bit in np.flatnonzero(row).tolist()) for row in knows]
    meetings: dict[int, dict[int, list[int]]] = {}
    for own, mask in enumerate(masks):
        for other, theirs in enumerate(masks):
            meetings.setdefault(mask & theirs, {}).setdefault(own, []).append(other)
    weight, found = count[order], np.zeros(len(order), count.dtype)
    for both, of_own in meetings.items():
        members = np.array(sorted(of_own))
        if len(members) == 1 and both == (1 << len(starred)) - 1:  # cells that know everything match themselves alone
            found[starts[members[0]] : ends[members[0]]] += weight[starts[members[0]] : ends[members[0]]]
            continue
        free = np.array([bit for bit in range(len(starred)) if not both >> bit & 1], dtype=np.int64)
        # a pattern meets itself where it knows nothing else: its cells must then find each other
        length = [0 if masks[own] == both else ends[own] - starts[own] for own in members]
        largest = int(np.argmax(length)) if max(length) else -1
        if strides is not None:
            group, groups = project(key, stars, strides, free, starts[members], ends[members], largest)
        else:  # the keys are too wide for subtraction: rank the columns that both know
            bits = [bit for bit in range(len(starred)) if both >> bit & 1]
            columns = [key, *(stars[bit] for bit in bits)]
            group, groups = grouped(columns, [len(key), *(sizes[starred[bit]] for bit in bits)], len(key))
        tally = np.zeros(groups, count.dtype)
        for own, others in of_own.items():
            add_met(group, weight, starts[own], ends[own], starts[others], ends[others], tally, found)
    result = np.empty_like(found)
    result[order] = found
    return result


def _key(
    codes: np.ndarray, sizes: Sequence[int], starred: np.ndarray, order: np.ndarray
) -> tuple[np.ndarray, np.ndarray | None]:
    """A key of each cell, in that order, from which columns can be subtracted, and what a value of each weighs in it.

    Where such a key does not fit in 64 bits, the key of the columns without wildcards alone, and None.
    """
    fixed = [i for i in range(len(codes)) if i not in set(starred.tolist())]
    base, groups = grouped([codes[i] for i in fixed], [sizes[i] for i in fixed], codes.shape[1])
    key, strides, domain = base[order].astype(np.int64), [], groups
    for i in starred:
        strides.append(domain)
        domain *= sizes[i]
    if domain >= LARGEST_KEY:
        return key, None
    for i, stride in zip(starred, strides, strict=True):
        key += codes[i][order].astype(np.int64) * stride
    return key, np.array(strides, dtype=np.int64)


def grouped(codes: Sequence[np.ndarray], sizes: Sequence[int], length: int) -> tuple[np.ndarray, int]:
    """The group of each entry under some columns, in lexicographic order, and the number of groups; keys are exact.

    >>> of, groups = grouped([np.array([1, 0, 1])], [2], 3)
    >>> of.tolist(), groups
    ([1, 0, 1], 2)
    """
    key, domain = np.zeros(length, np.int64), 1
    for code, size in zip(codes, sizes, strict=True):
        if domain * size >= LARGEST_KEY:  # a wider key would wrap and merge different tuples
            distinct, spent = rank_keys(key, domain)
            key, domain = spent.astype(np.int64), len(distinct)
        key = key * size + code
        domain *= size
    distinct, of = rank_keys(key, domain)
    return of, len(distinct)
