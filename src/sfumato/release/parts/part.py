"""One part of a table, blurred by itself: what a worker does with the rows of a leaf."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.cells import Cells
from sfumato.core.policy import Policy, Verdict, label_losses
from sfumato.core.printed import printed
from sfumato.engines.protocol import RESERVED_PREFIX
from sfumato.errors import Infeasible
from sfumato.losses import LM
from sfumato.release.ends import with_ends
from sfumato.release.parts.domain import Domain, places, pose_part
from sfumato.release.parts.tree import Branches
from sfumato.release.recode import recode
from sfumato.search.mondrian.mondrian import Mondrian, labels_of
from sfumato.search.mondrian.parts import columns_of
from sfumato.search.problem import Partition, Problem, Solution

LEAF = RESERVED_PREFIX + "leaf"  # the column of leaves


@dataclass(frozen=True, eq=False)
class Task:
    """What the workers are sent. `schema` is of the columns that are released, under their names.

    `solid` has, for each leaf that is too large and cannot be cut, rows with the least and the greatest value of each
    column: it is one class, whose rows come in pieces.
    """

    domain: Domain
    policy: Policy
    histogram_columns: tuple[str, ...]
    search: Mondrian
    schema: Mapping[str, pl.DataType]
    branches: Branches
    most: int  # rows of a part
    solid: Mapping[int, pl.DataFrame] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Blurred:
    """The labels of the rows of a part, as text, and what they come to.

    `cost` is the sum over its rows of what each column loses; `plain` are the columns in which nothing was blurred.
    """

    labels: dict[str, pl.Series]
    rows: int
    cost: list[float]
    plain: list[str]


def blur(task: Task, leaf: int, rows: pl.DataFrame) -> Blurred:
    """The labels of the rows of a leaf, in their order."""
    policy, ends = task.policy, task.solid.get(leaf)
    extra = 0 if ends is None else ends.height
    seen = list(dict.fromkeys((*policy.columns, *task.histogram_columns)))
    table = rows.select(seen)
    row_counts = None
    if ends is not None:
        table = pl.concat([ends.select(seen), table])
        row_counts = np.repeat(np.array([0, 1]), [extra, rows.height])
    micro, problem, cell_of_row = pose_part(table, task.domain, policy, task.histogram_columns, row_counts)
    if ends is None:
        solution = with_ends(problem, task.search(problem))
    else:
        solution = alike(problem, one_class(problem, task.search), cell_of_row[:extra])
    if not solution.kept.all():
        raise Infeasible(
            "mondrian found classes that satisfy the policy one by one, but not as they print",
            closest={"suppressed": solution.verdict.suppressed},
        )
    _, released = recode(table, micro, solution, cell_of_row, policy.columns, part=True)
    labels = {name: printed(column)[extra:] for name, column in released.items()}
    plain = [name for name, column in released.items() if column.dtype == task.schema[name]]
    return Blurred(labels, rows.height, cost_of(problem, solution), plain)


def one_class(problem: Problem, search: Mondrian) -> Solution:
    """All cells as one class."""
    cells = problem.cells
    columns = columns_of(problem, "hierarchy", search.labels)
    first = np.zeros(1, np.int64)
    labels = {
        column.attribute.name: labels_of(column, search.labels, column.place[cells.codes[i]], cells.count, first)
        for i, column in enumerate(columns)
    }
    partition = Partition(np.zeros(len(cells), np.int32), labels)
    return Solution(partition, Verdict(True, 0, 0.0, {}), np.ones(len(cells), np.bool_), False, 0, 0.0)


def alike(problem: Problem, solution: Solution, ends: np.ndarray) -> Solution:
    """The class with ends that are the same in each of its pieces: by the cells of its least and greatest values."""
    there = np.zeros(len(problem.cells), np.bool_)
    there[ends] = True
    cells, policy = replace(problem.cells, count=there.astype(np.int64)), replace(problem.policy, require=())
    found = with_ends(replace(problem, cells=cells, policy=policy), replace(solution, kept=there), common=False)
    return replace(found, kept=solution.kept)


def cost_of(problem: Problem, solution: Solution) -> list[float]:
    """What all rows of a part lose in each column: LM where the loss is one of class sizes."""
    recoding = solution.recoding
    assert isinstance(recoding, Partition)
    loss: Any = problem.policy.loss
    by_label = loss if loss.by_label else LM()
    found = []
    for i, attribute in enumerate(problem.attributes):
        labels = recoding.labels[attribute.name]
        found.append((labels, labels.of[recoding.class_of_cell], problem.cells.codes[i]))
    return [float(x) for x in label_losses(by_label, found, problem.cells.count, solution.kept, 1)]


def ends_of(task: Task, rows: pl.DataFrame, leaf: np.ndarray) -> np.ndarray:
    """Which rows: for each leaf one with the least and one with the greatest place, for each column."""
    names = task.policy.columns
    attributes = tuple(task.domain.attribute(name) for name in names)
    nothing = Cells((), np.zeros((0, 0), np.int32), np.zeros(0, np.int64), ())
    columns = columns_of(Problem(attributes, nothing, task.policy, 0), "hierarchy", task.search.labels)
    at = []
    for column, place in zip(columns, places(rows, task.domain, names), strict=True):
        line = column.attribute.name in task.domain.spans
        order = np.lexsort((place if line else column.place[place.astype(np.int64)], leaf))
        new = np.diff(leaf[order], prepend=-1) != 0
        at += [order[new], order[np.append(new[1:], True)[: len(order)]]]
    return np.unique(np.concatenate(at))
