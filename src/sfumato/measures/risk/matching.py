"""How many records match each cell where suppressed values are wildcards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.cells import Cells, count_cells
from sfumato.core.keys import LARGEST_KEY, rank_tuples
from sfumato.core.label_grammar import STAR
from sfumato.core.microdata import encode
from sfumato.measures.labels_cover import read_labels
from sfumato.measures.risk.kernels import add_met, project


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
    of, patterns = rank_tuples(list(known[starred]), [2] * len(starred), codes.shape[1])
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
            group, groups = rank_tuples(columns, [len(key), *(sizes[starred[bit]] for bit in bits)], len(key))
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
    base, groups = rank_tuples([codes[i] for i in fixed], [sizes[i] for i in fixed], codes.shape[1])
    key, strides, domain = base[order].astype(np.int64), [], groups
    for i in starred:
        strides.append(domain)
        domain *= sizes[i]
    if domain >= LARGEST_KEY:
        return key, None
    for i, stride in zip(starred, strides, strict=True):
        key += codes[i][order].astype(np.int64) * stride
    return key, np.array(strides, dtype=np.int64)


def covered_people(
    classes: Cells,
    texts: list[tuple[str | None, ...]],
    population: pl.DataFrame,
    hierarchies: Mapping[str, Any] | None = None,
    wildcard: bool = False,
    times: np.ndarray | None = None,
) -> np.ndarray | None:
    """Per class the people of the population whose values its labels cover, in every column.

    None where no label stands for other values than itself: then equal keys tell all. A label that cannot be read
    covers nobody, so that it never makes a class look safe. `texts` are the labels of each column, by code; `times` how
    many people each row of the population is.

    >>> classes = Cells(("age",), np.array([[0, 1]]), np.array([1, 1]), (2,))
    >>> covered_people(classes, [("20-29", "3*")], pl.DataFrame({"age": [21, 25, 33]}))
    array([2, 1])
    """
    coded = [encode(population.get_column(name)) for name in classes.names]
    people, _ = count_cells(classes.names, [code for _, code in coded], [len(values) for values, _ in coded], times)
    covers, recoded = [], False
    for name, text, code, (values, _) in zip(classes.names, texts, classes.codes, coded, strict=True):
        cover = read_labels(text, values.text, (hierarchies or {}).get(name), wildcard=wildcard, name=name).members
        usual = {*values.text, None, *((STAR,) if wildcard else ())}
        recoded |= any(text[i] not in usual and len(cover[i]) for i in np.unique(code).tolist())
        # under wildcards an unknown value of a person fits any label
        free = [i for i, value in enumerate(values.text) if wildcard and value in (None, STAR)]
        covers.append([np.union1d(members, free).astype(np.int64) for members in cover])
    if not recoded:
        return None
    order = np.argsort([len(text) for text in texts], kind="stable")  # columns of few labels split first
    found = np.zeros(len(classes), np.int64)
    every = np.arange(len(classes)), np.arange(len(people))
    _descend(classes.codes[order], people.codes[order], people.count, [covers[i] for i in order], 0, every, found)
    return found


def _descend(
    labels: np.ndarray,
    values: np.ndarray,
    count: np.ndarray,
    covers: list[list[np.ndarray]],  # the values of each label, ascending
    column: int,
    here: tuple[np.ndarray, np.ndarray],
    found: np.ndarray,
) -> None:
    """Split classes by their label in one column, take the people whom each label covers, and go on with the next."""
    classes, people = here
    if column == len(labels):
        found[classes] = count[people].sum()
        return
    by_label = classes[np.argsort(labels[column, classes], kind="stable")]
    label, first = np.unique(labels[column, by_label], return_index=True)
    by_value = people[np.argsort(values[column, people], kind="stable")]
    value = values[column, by_value]
    for one, members in zip(label.tolist(), np.split(by_label, first[1:]), strict=True):
        wanted = covers[column][one]
        if not len(wanted):
            continue
        start, stop = np.searchsorted(value, wanted[0], "left"), np.searchsorted(value, wanted[-1], "right")
        inside = by_value[start:stop]
        if len(wanted) <= wanted[-1] - wanted[0]:  # it has gaps
            inside = inside[np.isin(value[start:stop], wanted)]
        if len(inside):
            _descend(labels, values, count, covers, column + 1, (members, inside), found)
