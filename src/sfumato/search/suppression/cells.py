"""Suppressed cells: what the searches that blank single cells have in common, from rows to a released partition."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sfumato.core.cells import classes_of, count_cells
from sfumato.core.labels import Labels, at_level
from sfumato.core.policy import holds
from sfumato.errors import PolicyError
from sfumato.search.problem import CellSplit, Partition, Problem, Solution, by_class, check_root, judge, refine
from sfumato.search.suppression.keys import nearest_by_cells

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
