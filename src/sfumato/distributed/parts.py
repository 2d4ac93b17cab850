"""Cut a Spark table into parts that fit one worker and satisfy the policy, by samples and exact counts in turn."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from functools import reduce
from operator import add

import numpy as np
import polars as pl

from sfumato.distributed.count import Stat, as_classes, nothing, stats_of, whole_stat
from sfumato.distributed.cuts import grow
from sfumato.distributed.domain import pose_part
from sfumato.distributed.part import LEAF, Task
from sfumato.distributed.sample import Sample
from sfumato.distributed.spark import counted_leaves, ends, heavy_sample, sampled, seen_by
from sfumato.distributed.tree import Tree, branches, settle
from sfumato.engines.spark_frame import SparkFrame
from sfumato.engines.spark_job import CHANGED
from sfumato.engines.store import COUNT, Say
from sfumato.errors import PolicyError, ReadError
from sfumato.policy import holds
from sfumato.search.problem import Problem, check_root

SAMPLE = 200_000, 2_000_000  # rows that the first cuts are made by, at least and at most
PER_PART = 2_000  # rows of a sample for each part
ROOM = 0.8  # a part that is estimated to be so full may be full
AGAIN = 50_000  # rows of a sample of a part that is cut again
ROUNDS = 12  # of cutting again what is too large


def parted(table: SparkFrame, task: Task, seed: int, say: Say) -> Task:
    """The task with its tree: leaves that satisfy the policy, of at most `task.most` rows but for those in `solid`."""
    columns, looks_at, domain, most = task.policy.columns, task.looks_at, task.domain, task.most
    tree, solid = Tree(), set[int]()
    stats = {0: whole_stat(domain, columns, looks_at)}
    root = as_classes([stats[0]], domain, looks_at)
    check_root(Problem((), root.cells, task.policy, domain.rows))
    if domain.rows <= most:
        return replace(task, branches=branches(tree))
    say("cutting a sample", None)
    _first_cuts(table, task, tree, seed)
    for turn in range(ROUNDS):
        say("counting parts", turn / ROUNDS)
        leaves = tree.leaves()
        fresh = [leaf for leaf in leaves if leaf not in stats]
        found = stats_of(counted_leaves(table, replace(task, branches=branches(tree)), fresh), columns, looks_at)
        stats |= {leaf: found.get(leaf) or nothing(len(columns), looks_at) for leaf in fresh}
        if sum(stats[leaf].rows for leaf in leaves) != domain.rows:
            raise ReadError(CHANGED)
        merge_bad(tree, stats, task)
        large = [leaf for leaf in tree.leaves() if stats[leaf].rows > most and leaf not in solid]
        if large and turn < ROUNDS - 1:
            large = _cut_again(table, replace(task, branches=branches(tree)), tree, stats, large, seed + turn)
            solid |= set(large)
            continue
        solid |= set(large)
        break
    return _with_solid(table, replace(task, branches=branches(tree)), sorted(solid & set(tree.leaves())))


def merge_bad(tree: Tree, stats: dict[int, Stat], task: Task) -> None:
    """Take back cuts that leave a leaf that breaks the policy, or that cut nothing off; `stats` gets all nodes."""
    require = task.policy.by_class.require
    for node in reversed(range(len(tree.cuts))):
        if node not in stats and (kids := tree.kids(node)):
            stats[node] = reduce(add, (stats[kid] for kid in kids))

    def good(leaves: Iterable[int]) -> list[bool]:
        asked = list(leaves)
        own = [stats[leaf] for leaf in asked]
        fine = holds(require, as_classes(own, task.domain, task.looks_at))
        less = [leaf == 0 or stat.rows < stats[tree.parent[leaf]].rows for leaf, stat in zip(asked, own, strict=True)]
        return [not stat.rows or (bool(f) and s) for stat, f, s in zip(own, fine, less, strict=True)]

    settle(tree, good)


def _first_cuts(table: SparkFrame, task: Task, tree: Tree, seed: int) -> None:
    """Cut the whole table by a sample of its rows."""
    rows, most = task.domain.rows, task.most
    wanted = int(np.clip(PER_PART * rows / (ROOM * most), *SAMPLE))
    unit = max(1, rows // wanted)
    some = sampled(table, seen_by(task), unit, seed)
    if some.height:
        _, problem, _ = pose_part(some, task.domain, task.policy, task.looks_at)
        sample = Sample(problem, task.search, unit, task.domain.spans)
        grow(tree, 0, sample, np.arange(len(problem.cells)), int(most * ROOM))


def _cut_again(
    table: SparkFrame, task: Task, tree: Tree, stats: dict[int, Stat], large: list[int], seed: int
) -> list[int]:
    """Cut leaves that are too large by a sample of their own; those that have no cut."""
    rows = sum(stats[leaf].rows for leaf in large)
    unit = max(1, math.ceil(rows / len(large) / AGAIN))
    some = heavy_sample(table, task, large, unit, seed)
    stuck = []
    for leaf in large:
        own = some.filter(pl.col(LEAF) == leaf)
        cells = np.zeros(0, np.int64)
        if own.height:
            times = own.get_column(COUNT).to_numpy()
            _, problem, _ = pose_part(own, task.domain, task.policy, task.looks_at, times)
            cells = np.arange(len(problem.cells))
            sample = Sample(problem, task.search, unit, task.domain.spans)
            extent = stats[leaf].low, stats[leaf].high
        if not len(cells) or not grow(tree, leaf, sample, cells, int(task.most * ROOM), extent):
            stuck.append(leaf)
    return stuck


def _with_solid(table: SparkFrame, task: Task, solid: list[int]) -> Task:
    """The task with the least and greatest values of the leaves that are one class."""
    if not solid:
        return task
    if task.search.output in ("mean", "median"):
        raise PolicyError(
            "rows that cannot be cut apart are too many for one worker, and their mean or median is not known",
            got=f"output {task.search.output}",
            allowed="range, label",
            hint="use another output, or allow more rows in a part",
        )
    return replace(task, solid=ends(table, task, solid))
