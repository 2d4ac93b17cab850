"""MDAV in plain Python, with each step told: the same groups as those of its kernel."""

from __future__ import annotations

import numpy as np

from sfumato.search.events import (
    CentroidTaken,
    FarthestFromCentroid,
    FarthestFromRecord,
    GroupFormed,
    RestGrouped,
)
from sfumato.search.problem import Problem, records_of


def mdav_steps(problem: Problem, points: np.ndarray, matrix: np.ndarray, k: int) -> np.ndarray:
    """The group of each of some points of a problem, of which `matrix` has the coordinates: as of `MDAV.groups`."""
    trace, every = problem.trace, records_of(problem)
    assert trace is not None
    order = np.lexsort(matrix.T[::-1])
    x, records = matrix[order], [every[i] for i in points[order]]
    total = np.cumsum(x, axis=0)[-1]  # added up one by one, as the kernel does
    row, of, group = np.arange(len(x)), np.empty(len(x), np.int64), 0
    while len(row) >= 2 * k:
        trace(CentroidTaken(len(row), _means(problem, points[order[row]])))
        far = _distances(x[row], total / len(row))
        r = _farthest(far, row)
        trace(FarthestFromCentroid(records[r], float(np.sqrt(far.max()))))
        ends = [r]
        groups: list[np.ndarray] = []
        pairs = len(row) >= 3 * k
        while ends:
            end = ends.pop()
            far = _distances(x[row], x[end])
            near = np.lexsort((row, far))[:k]
            groups.append(row[near])
            for j in np.sort(near)[::-1].tolist():  # the last fills its place
                total = total - x[row[j]]
                row[j], far[j] = row[-1], far[-1]
                row, far = row[:-1], far[:-1]
            if pairs and len(groups) == 1:
                ends.append(s := _farthest(far, row))
                trace(FarthestFromRecord(records[s], records[r], float(np.sqrt(far.max()))))
        for inside in groups:
            of[inside] = group
            group += 1
            trace(GroupFormed(records[inside[0]], tuple(records[i] for i in inside)))
    of[row] = group
    trace(RestGrouped(tuple(records[i] for i in np.sort(row))))
    found = np.empty(len(x), np.int64)
    found[order] = of
    return found


def _distances(x: np.ndarray, point: np.ndarray) -> np.ndarray:
    """The squared distance of each row from a point, added up column by column."""
    far = np.zeros(len(x))
    for column, at in zip(x.T, point, strict=True):
        far += (column - at) * (column - at)
    return far


def _farthest(far: np.ndarray, row: np.ndarray) -> int:
    """The row of the greatest distance, the first among equals."""
    return int(row[far == far.max()].min())


def _means(problem: Problem, points: np.ndarray) -> tuple[tuple[str, float], ...]:
    """The mean of some points in columns with an order, without what is missing."""
    means = []
    for attribute, codes in zip(problem.attributes, problem.cells.codes, strict=True):
        if attribute.categories.ordered:
            known = codes[points] < len(attribute.categories) - attribute.categories.missing
            if known.any():
                means.append((attribute.name, float(attribute.positions[codes[points][known]].mean())))
    return tuple(means)
