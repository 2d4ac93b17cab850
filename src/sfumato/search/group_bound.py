"""A loss that no level vector can be below: the sum of what small groups of attributes lose at least."""

from __future__ import annotations

import math
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from sfumato.cells import roll_up
from sfumato.criteria import KAnonymity
from sfumato.lattice import lattice
from sfumato.losses import LabelLoss
from sfumato.policy import Policy, class_statistics
from sfumato.search.optimal import descend, sweep
from sfumato.search.problem import Problem
from sfumato.search.project import project
from sfumato.search.walk import Walk

LARGEST = (1 << 8, 1 << 11, 1 << 14, 1 << 17, 1 << 20)  # nodes in the lattice of a group, round by round
CHECKS = 10_000  # per group
SAYS = "bounding the loss"


def group_bound(problem: Problem, seconds: float | None, pool: ThreadPoolExecutor) -> float:
    """A loss that no level vector of the problem can be below; infinite where none satisfies the policy.

    With all attributes outside a group at their root, classes only grow: what the group loses there at least, in
    classes of the size that the criteria imply, it loses in every solution. Groups share no attribute, so their losses
    add up. The groups are searched to their optimum, or to the bound of that search where it is cut. Larger groups
    give a better bound: they grow while there is time.
    """
    if not isinstance(problem.policy.loss, LabelLoss):
        return _class_bound(problem)
    end = math.inf if seconds is None else time.perf_counter() + seconds
    bound = 0.0
    for largest in LARGEST:
        groups = _groups(problem, largest)
        bound = max(bound, _round(problem, groups, end, pool))
        if time.perf_counter() > end or len(groups) == len(problem.sets):
            break
    return bound


def _round(problem: Problem, groups: list[list[int]], end: float, pool: ThreadPoolExecutor) -> float:
    """The bound by one choice of groups; the time left is shared out evenly."""
    loss, values, weights = problem.policy.loss, [], []
    for number, group in enumerate(groups):
        part = _part(problem, group)
        left = max(end - time.perf_counter(), 0.0) / (len(groups) - number)
        values.append(_least(part, left, pool))
        weights.append(np.array([loss.weight(a) for a in part.attributes]))
    return _joined(loss, np.array(values), weights)


def _groups(problem: Problem, largest: int) -> list[list[int]]:
    """Attributes with many values together, as many as a small lattice allows, each within one set."""
    groups: list[list[int]] = []
    free = set(range(len(problem.attributes)))
    for members in problem.sets:
        size = largest + 1
        for a in sorted(free & set(members), key=lambda a: (-len(problem.attributes[a].categories), a)):
            shape = lattice([problem.attributes[a]], problem.levels).shape[0]
            if size * shape > largest:
                groups.append([])
                size = 1
            groups[-1].append(a)
            size *= shape
            free.discard(a)
    return groups


def _part(problem: Problem, group: list[int]) -> Problem:
    """The problem of a group alone: its cells, and classes of the size that the criteria imply."""
    attributes = tuple(problem.attributes[a] for a in group)
    names = tuple(a.name for a in attributes)
    policy = Policy((names,), (KAnonymity(problem.policy.least_size),), problem.limit, problem.policy.loss)
    levels = {name: bounds for name, bounds in problem.levels.items() if name in names}
    cells = project(problem.cells, group)
    return Problem(attributes, cells, policy, problem.rows, levels, lambda _, __: problem.progress(SAYS, None))


def _least(problem: Problem, seconds: float, pool: ThreadPoolExecutor) -> float:
    """What the attributes of a small problem lose at least."""
    walk = Walk(problem, lattice(problem.attributes, problem.levels), pool)
    walk.stop_after(seconds, CHECKS)
    descend(walk)
    finished = sweep(walk)
    best = walk.best[0] if walk.best else math.inf
    return best if finished else min(walk.open_bound, best)


def _joined(loss: LabelLoss, values: np.ndarray, weights: list[np.ndarray]) -> float:
    """The losses of the groups as one, by the aggregate of the loss."""
    share = np.array([w.sum() for w in weights])
    whole = share.sum()
    if whole == 0 or not np.isfinite(values).all():
        return 0.0 if whole == 0 else math.inf
    if loss.aggregate == "sum":
        return float(values.sum())
    if loss.aggregate == "maximum":
        heaviest = np.array([w.max() for w in weights])
        return float((values * heaviest).max() / heaviest.max())
    if loss.aggregate == "geometric":
        return float(np.expm1(np.log1p(values) @ share / whole))
    return float(values @ share / whole)


def _class_bound(problem: Problem) -> float:
    """The loss of class sizes at the most special node, with nothing suppressed: merging classes only adds to it."""
    if len(problem.sets) > 1:
        return 0.0
    low = lattice(problem.attributes, problem.levels).least
    tables = [a.ladder.of[level] for a, level in zip(problem.attributes, low, strict=True)]
    size = roll_up(problem.cells, tables, range(len(tables))).size
    everything = class_statistics(problem.policy, size, np.ones(len(size), np.bool_), problem.rows)
    return float(problem.policy.loss.floor(everything))
