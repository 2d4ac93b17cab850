"""Suppressed cells: what the searches that blank single cells have in common, from rows to a released partition."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from sfumato.core.cells import classes_of, count_cells
from sfumato.core.compiled import inner, kernel
from sfumato.core.keys import SPREAD
from sfumato.core.labels import Labels, at_level
from sfumato.core.policy import holds
from sfumato.errors import PolicyError
from sfumato.search.clustering.kernels import side
from sfumato.search.problem import CellSplit, Partition, Problem, Solution, by_class, check_root, judge, refine

MOST_COLUMNS = 62  # sets of columns are bits of one word
BLOCK = 4096  # rows within which every row is compared with every other


def refuse(problem: Problem, search: str) -> None:
    """What cells cannot be suppressed for, and tables that no partition makes safe."""
    if len(problem.sets) > 1:
        raise PolicyError(
            f"{search} takes one quasi-identifier set",
            got=f"{len(problem.sets)} sets",
            hint="what is blurred for one set would break classes of another; give all columns as one set",
        )
    if problem.policy.loss.by_level:
        raise PolicyError(
            "the loss height is defined for level vectors only", got=f"search {search}", hint="use lm, ncp or precision"
        )
    if problem.levels:
        raise PolicyError(
            "levels bound full-domain searches only",
            got=f"search {search}",
            hint='leave levels out, or use search="optimal"',
        )
    if len(problem.attributes) > MOST_COLUMNS:
        raise PolicyError(
            f"{search}: too many quasi-identifiers", got=len(problem.attributes), allowed=f"at most {MOST_COLUMNS}"
        )
    check_root(problem)


def single_rows(problem: Problem, spare: int) -> tuple[Problem, CellSplit | None]:
    """The problem with cells cut into single rows, all but those of a cell beyond `spare`, which stay one piece."""
    count = problem.cells.count
    large = count >= spare + max(problem.policy.least_size, 2)
    if ((count == 1) | (large & (spare == 0))).all():
        return problem, None
    times = np.where(large, spare + 1, count)
    cell = np.repeat(np.arange(len(count)), times)
    rows = np.ones(len(cell), np.int64)
    first = np.cumsum(times) - times
    rows[first[large]] = count[large] - spare
    split = CellSplit(cell, rows)
    return refine(problem, split), split


def codes_of(problem: Problem) -> np.ndarray:
    """The codes of the cells, [cells, columns], -1 where the value is missing."""
    rows = [
        np.where(codes == len(a.categories) - 1, -1, codes) if a.categories.missing else codes
        for a, codes in zip(problem.attributes, problem.cells.codes, strict=True)
    ]
    return np.ascontiguousarray(np.stack(rows, axis=1).astype(np.int32))


def blocks(problem: Problem, least: int) -> list[np.ndarray]:
    """The cells (single rows) in blocks of equal size within which all rows are compared: one where they are few.

    Columns with few values come first in the order, so that the rows of a block agree in most of those.
    """
    rows = len(problem.cells)
    parts = max(1, min(math.ceil(rows / BLOCK), rows // max(least, 1)))
    few_first = np.argsort([-size for size in problem.cells.sizes], kind="stable")
    order = np.lexsort(problem.cells.codes[few_first])
    return list(np.array_split(order, parts)) if parts > 1 else [np.arange(rows)]


def class_codes(codes: np.ndarray, of: np.ndarray) -> np.ndarray:
    """The code that all members of a class have, [classes, columns], -1 where they differ or it is missing."""
    order = np.argsort(of, kind="stable")
    starts = np.flatnonzero(np.diff(of[order], prepend=-1))
    low, high = np.minimum.reduceat(codes[order], starts), np.maximum.reduceat(codes[order], starts)
    return np.where(low == high, low, -1).astype(np.int32)


def mended(
    problem: Problem, of: np.ndarray, nearest: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
) -> np.ndarray:
    """Classes that fail a criterion are united with their nearest until none is left; classes are numbered anew.

    `nearest(of, size, failing)` gives the class to unite each failing one with.
    """
    _, of = np.unique(of, return_inverse=True)
    while True:
        classes = classes_of(problem.cells, of.astype(np.int32), int(of.max()) + 1)
        failing = np.flatnonzero(~holds(problem.policy.require, classes))
        if not len(failing):
            return of.astype(np.int32)
        into, united = np.arange(len(classes.size)), set()
        for c, other in zip(failing.tolist(), nearest(of, classes.size, failing).tolist(), strict=True):
            if c not in united:  # it may hold now
                into[c] = into[other]
                united |= {c, other}
        _, of = np.unique(into[of], return_inverse=True)


def mended_cells(problem: Problem, of: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The same where classes are united at the price of the cells they blank."""
    codes = codes_of(problem)
    there = (codes >= 0) * problem.cells.count[:, None]

    def nearest(of: np.ndarray, size: np.ndarray, failing: np.ndarray) -> np.ndarray:
        fresh = np.stack([np.bincount(of, weights=column, minlength=len(size)) for column in there.T], axis=1)
        return np.asarray(nearest_by_cells(class_codes(codes, of), size, weight, failing, fresh))

    return mended(problem, of, nearest)


def differing(codes: np.ndarray, of: np.ndarray) -> np.ndarray:
    """Which cells go, [rows, columns]: those with a value in a column in which their class is not of one value."""
    gone: np.ndarray = (codes >= 0) & (class_codes(codes, of)[of] < 0)
    return gone


def released(
    problem: Problem, gone: np.ndarray, split: CellSplit | None
) -> tuple[Partition, list[tuple[Labels, np.ndarray]]]:
    """The table without the cells that are gone, [cells, columns]: as a partition, and as columns to be judged."""
    columns = []
    for i, attribute in enumerate(problem.attributes):
        labels = with_blank(at_level(attribute, 0), bool(gone[:, i].any()))
        plain = labels.of[problem.cells.codes[i]]
        columns.append((labels, np.where(gone[:, i], len(labels.lo) - 1, plain).astype(np.int32)))
    names = [a.name for a in problem.attributes]
    shown, of = count_cells(names, [of for _, of in columns], [len(labels.lo) for labels, _ in columns])
    shows = {name: replace(columns[i][0], of=shown.codes[i]) for i, name in enumerate(names)}
    return Partition(of.astype(np.int32), shows, split), columns


def with_blank(labels: Labels, blank: bool) -> Labels:
    """The labels of a column, with one more where asked that covers everything and prints as a missing value."""
    if not blank:
        return labels
    attribute, values = labels.attribute, len(labels.attribute.categories)
    level = np.zeros(len(labels.lo), np.int64) if labels.fixed_level is None else labels.fixed_level
    return Labels(
        attribute,
        labels.of,
        np.append(labels.lo, 0),
        np.append(labels.hi, values - 1),
        np.append(labels.covered, attribute.categories.count.sum()),
        np.append(labels.leaves, values),
        np.append(labels.file_leaves, labels.file_domain),
        labels.file_domain,
        np.append(level, attribute.ladder.height),
        np.append(labels.star, True),
        (*labels.text, None),
    )


def in_blocks(problem: Problem, least: int, doing: str, classes_in: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """The class of each row, `classes_in` the rows of a block; a piece of `least` rows and more is alone in its."""
    of = np.full(len(problem.cells), -1, np.int64)
    alone = np.flatnonzero(problem.cells.count >= max(least, 2))
    of[alone] = np.arange(len(alone))
    rest, classes, done = np.flatnonzero(of < 0), len(alone), 0
    inner = replace(problem, cells=problem.cells.take(rest))
    for block in blocks(inner, least) if len(rest) else []:
        found = classes_in(rest[block])
        of[rest[block]] = classes + found
        classes, done = classes + int(found.max()) + 1, done + len(block)
        problem.progress(doing, done / len(rest))
    return of


def blanked(
    problem: Problem, search: str, spare: int, classes: Callable[[Problem, int], tuple[np.ndarray, int]]
) -> Solution:
    """The solution that blanks what differs in a class: `classes` gives those of single rows, and how many it looked
    at; of a large cell, so many as `spare` of the smallest classes have are single."""
    began = time.perf_counter()
    problem = by_class(problem)
    refuse(problem, search)
    least = problem.policy.least_size
    fine, split = single_rows(problem, spare * least)
    of, checks = classes(fine, least)
    of = mended_cells(fine, of, np.ones(len(problem.attributes)))
    partition, columns = released(fine, differing(codes_of(fine), of), split)
    seconds = time.perf_counter() - began
    kept, verdict, _ = judge(fine, columns)
    return Solution(partition, verdict, kept, False, checks, seconds)


BITS = 62  # of a word


def packed(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Codes [rows, columns], -1 for missing, as words [rows, words], and the bits of each column [columns, words].

    A missing value is zero in its bits, as is a column that is masked away; values are not.
    """
    rows, columns = codes.shape
    need = [int(codes[:, c].max(initial=-1) + 1).bit_length() for c in range(columns)]
    place, word, used = [], 0, 0
    for bits in need:
        if used + bits > BITS:
            word, used = word + 1, 0
        place.append((word, used))
        used += bits
    words, fields = np.zeros((rows, word + 1), np.int64), np.zeros((columns, word + 1), np.int64)
    for c, (word, shift) in enumerate(place):
        words[:, word] |= (codes[:, c].astype(np.int64) + 1) << shift
        fields[c, word] = ((1 << need[c]) - 1) << shift
    return words, fields


def kept_bits(fields: np.ndarray, blank: np.ndarray) -> np.ndarray:
    """For each set of blank columns (bits of an integer) the words that mask them away, [sets, words]."""
    shown = (blank[:, None] >> np.arange(len(fields)) & 1) == 0
    kept: np.ndarray = shown.astype(np.int64) @ fields
    return kept


def sets_of_columns(weight: np.ndarray, most: int) -> tuple[np.ndarray, bool]:
    """Sets of columns, as bits, by weight: all of them where they are no more than `most`, else the smallest ones.

    >>> sets_of_columns(np.array([1.0, 1.5]), 8)[0].tolist()
    [0, 1, 2, 3]
    """
    columns = len(weight)
    if 1 << columns <= most:
        every = np.arange(1 << columns, dtype=np.int64)
        return every[np.argsort(weight_of(every, weight), kind="stable")], True
    level, found = [0], [0]
    while len(found) + len(level) * (columns - 1) <= most or len(found) == 1:
        level = [bits | 1 << c for bits in level for c in range(bits.bit_length(), columns)]
        found += level
    some = np.array(found, dtype=np.int64)
    some = some[np.argsort(weight_of(some, weight), kind="stable")]
    return np.append(some, (1 << columns) - 1), False


def weight_of(bits: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The weight of sets of columns."""
    total: np.ndarray = (bits[:, None] >> np.arange(len(weight)) & 1) @ weight
    return total


@kernel
def capacity_for(entries: int) -> int:
    """Slots of a hash table: a power of two, at least twice the entries."""
    capacity = 16
    while capacity < 2 * entries:
        capacity *= 2
    return capacity


@kernel
def slot(slots: np.ndarray, table: np.ndarray, kept: np.ndarray, words: np.ndarray, e: int, shown: np.ndarray) -> Any:
    """Where words[e] & shown stands in a table of entries that are equal in table[entry] & kept, or would stand."""
    key = np.int64(0)
    for w in range(len(shown)):
        key = (key ^ (words[e, w] & shown[w])) * SPREAD
        key ^= key >> 29
    j = (key ^ (key >> 32)) & (len(slots) - 1)
    while slots[j] >= 0:
        same = True
        for w in range(len(shown)):
            if table[slots[j], w] & kept[w] != words[e, w] & shown[w]:
                same = False
                break
        if same:
            break
        j = (j + 1) & (len(slots) - 1)
    return j


@kernel
def ranked(key: np.ndarray) -> np.ndarray:
    """The order that sorts the keys: a shell sort, which compiles much faster than numpy's."""
    order = np.arange(len(key))
    gap = len(key) // 2
    while gap:
        for i in range(gap, len(key)):
            moving = order[i]
            j = i
            while j >= gap and key[order[j - gap]] > key[moving]:
                order[j] = order[j - gap]
                j -= gap
            order[j] = moving
        gap //= 2
    return order


@inner
def weight_of_bits(bits: int, weight: np.ndarray) -> float:
    """The weight of a set of columns."""
    total = 0.0
    c = 0
    while bits:
        if bits & 1:
            total += weight[c]
        bits >>= 1
        c += 1
    return total


@kernel
def nearest_by_cells(
    label: np.ndarray, size: np.ndarray, weight: np.ndarray, failing: np.ndarray, fresh: np.ndarray
) -> np.ndarray:
    """For each failing class the other class with which it blanks the least weight of cells; ties by the smaller one.

    `label` [classes, columns] is the code of a class or -1, `fresh` [classes, columns] its rows that have a value.
    """
    found = np.full(len(failing), -1, np.int64)
    for i in range(len(failing)):
        c = failing[i]
        best = np.inf
        for o in range(len(label)):
            if o == c:
                continue
            cost = 0.0
            for a in range(label.shape[1]):
                if label[c, a] != label[o, a]:
                    if label[c, a] >= 0:
                        cost += weight[a] * fresh[c, a]
                    if label[o, a] >= 0:
                        cost += weight[a] * fresh[o, a]
                    if cost > best:
                        break
            if cost < best or (cost == best and size[o] < size[found[i]]):
                best = cost
                found[i] = o
    return found


@kernel
def nearest_by_boxes(
    lo: np.ndarray, hi: np.ndarray, size: np.ndarray, failing: np.ndarray, shape: np.ndarray, table: np.ndarray
) -> np.ndarray:
    """For each failing class the other class with which the rows of both lose least more than alone."""
    alone = np.zeros(len(lo))
    for o in range(len(lo)):
        for a in range(lo.shape[1]):
            alone[o] += side(a, lo[o, a], hi[o, a], lo[o, a], hi[o, a], shape, table)
    found = np.full(len(failing), -1, np.int64)
    for i in range(len(failing)):
        c = failing[i]
        best = np.inf
        for o in range(len(lo)):
            if o == c:
                continue
            rows, spent = size[c] + size[o], size[c] * alone[c] + size[o] * alone[o]
            both = 0.0
            for a in range(lo.shape[1]):
                both += side(a, lo[c, a], hi[c, a], lo[o, a], hi[o, a], shape, table)
                if rows * both - spent > best:
                    break
            cost = rows * both - spent
            if cost < best or (cost == best and size[o] < size[found[i]]):
                best = cost
                found[i] = o
    return found
