"""Auditing of counts by integer programming: J. Kleinberg, C. Papadimitriou and P. Raghavan, "Auditing Boolean
attributes", PODS 2000."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from sfumato.control.classes import QueryClasses
from sfumato.control.controls.model import OFFLINE, AskedSet, Auditor, QueryModel, Setting, solver
from sfumato.control.formula import Formula
from sfumato.control.query import COUNT
from sfumato.core.parameters import ColumnSet, known_columns
from sfumato.errors import PolicyError

MOST = 1000  # combinations of values
SECONDS = 10.0  # for a query, which is refused after them


@dataclass(frozen=True)
class CountAuditing(QueryModel):
    """Answers counts by private columns only as long as it stays open, of everybody, whether they are counted.

    Everybody is taken to know the keys of all people, and which values the columns have. As a count may tell by being
    0 or of all, whatever was asked before, only auditing that looks at answers can answer any: it has to be offline.
    What nobody asked of a person may be ruled out, as one of three values by counts of the other two.

    columns: private columns that formulas of counts may use beside keys.
    """

    columns: Annotated[tuple[str, ...], ColumnSet()]
    audits: ClassVar[frozenset[str]] = frozenset({COUNT})

    @property
    def carries(self) -> bool:
        """Whether it holds over snapshots: a value may have changed."""
        return False

    def start(self, setting: Setting) -> CountAuditor:
        """Nothing was answered."""
        known_columns(self.columns, setting.table.columns)
        if setting.auditing != OFFLINE:
            what = "a count may always tell, by being 0 or of all: counts by private columns need offline auditing"
            raise PolicyError(what, hint='give auditing="offline", or ask with noise: sf.dp')
        return CountAuditor(self.columns, setting.table)

    def sentence(self) -> str:
        """What it says."""
        return f"Counts together leave open, of everybody, what each asked of {', '.join(self.columns)}."


class CountAuditor(Auditor):
    """The counts that were answered: which combinations of values were counted, of people of which class."""

    def __init__(self, columns: tuple[str, ...], table: pl.DataFrame) -> None:
        values = [table.get_column(name).unique().sort().to_list() for name in columns]
        if (number := prod(map(len, values))) > MOST:
            what = "the columns of audited counts have too many combinations of values"
            raise PolicyError(what, got=f"{number:,}", allowed=f"up to {MOST:,}", hint="recode or leave out a column")
        self._columns, self._table = columns, table
        self._combinations = list(product(*values))
        place = {one: i for i, one in enumerate(self._combinations)}
        self._true = np.array([place[row] for row in table.select(columns).iter_rows()])
        self._classes = QueryClasses(table.height)
        self._counts: list[tuple[np.ndarray, int]] = []  # [classes, combinations] and the answer
        self._next: tuple[np.ndarray, int] | None = None

    def refusal(self, asked: AskedSet) -> str | None:
        """With this count, it would be certain of somebody whether they are counted."""
        where = asked.query.where
        if asked.query.kind != COUNT or not {*where.columns} & {*self._columns}:
            return None
        truth = self._truth(where)
        patterns, which = np.unique(truth, axis=0, return_inverse=True)
        parents = np.arange(len(self._classes.sizes))
        for number in range(len(patterns)):
            taken, _ = self._classes.split(which == number)
            parents = np.append(parents, parents[taken])
        self._counts = [(counted[parents], answer) for counted, answer in self._counts]
        pattern = np.zeros(len(self._classes.sizes), np.int64)
        pattern[self._classes.of] = which
        self._next = patterns[pattern], int(asked.inside.sum())
        certain = _is_certain(*self._program([*self._counts, self._next]))
        return "with what was answered, it would be certain of somebody whether they are counted" if certain else None

    def _truth(self, where: Formula) -> np.ndarray:
        """Whether each person would be counted, had they each combination of values."""
        found = np.zeros((self._table.height, len(self._combinations)), np.bool_)
        for i, values in enumerate(self._combinations):
            given: Mapping[str, Any] = dict(zip(self._columns, values, strict=True))
            fixed = [pl.lit(value, self._table.schema[name]).alias(name) for name, value in given.items()]
            found[:, i] = where.rows(self._table.with_columns(fixed))
        return found

    def _program(self, counts: list[tuple[np.ndarray, int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Which classes and combinations were counted in each query, the answers, the people of each class, and how
        many of them truly have each combination; combinations that no query tells apart are one."""
        there = self._classes.sizes > 0
        counted = np.array([one[there] for one, _ in counts])
        _, of = np.unique(counted.reshape(-1, counted.shape[2]), axis=1, return_inverse=True)
        first = np.unique(of, return_index=True)[1]
        true = np.zeros((len(self._classes.sizes), len(first)), np.int64)
        np.add.at(true, (self._classes.of, of[self._true]), 1)
        return counted[:, :, first], np.array([a for _, a in counts]), self._classes.sizes[there], true[there]

    def record(self, asked: AskedSet, answer: float) -> None:
        """The count was answered."""
        if self._next is not None and asked.query.kind == COUNT and {*asked.query.where.columns} & {*self._columns}:
            self._counts.append(self._next)
            self._next = None


def _is_certain(counted: np.ndarray, answers: np.ndarray, sizes: np.ndarray, true: np.ndarray) -> bool:
    """Whether some query counts nobody of a class that it could count, or all, in every table of whole numbers that has
    these answers. The true table is one; each other that is found is checked in whole numbers."""
    queries, classes, values = counted.shape
    could = np.asarray(counted.any(axis=2) & ~counted.all(axis=2))
    none: np.ndarray = could.copy()  # as in all tables so far
    every: np.ndarray = could.copy()
    until = time.monotonic() + SECONDS

    def see(table: np.ndarray) -> None:
        found = (counted * table).sum(axis=2)
        none[found != 0] = False
        every[found != sizes] = False

    see(true)
    if not (none | every).any():
        return False
    sparse, optimize = solver("sparse"), solver("optimize")
    sums = sparse.kron(sparse.eye(classes), np.ones((1, values)))
    rows = sparse.vstack((sums, sparse.csr_matrix(counted.reshape(queries, -1).astype(np.float64))))
    known = np.concatenate((sizes, answers)).astype(np.float64)
    whole = optimize.LinearConstraint(rows, known, known)
    limits = optimize.Bounds(0, np.repeat(sizes, values))

    def other(lacking: np.ndarray, full: np.ndarray) -> bool:
        """Look for a table where somebody is counted of classes that lack it, and not all of those that are full."""
        aim = (counted & full[:, :, None]).sum(axis=0) - 1.0 * (counted & lacking[:, :, None]).sum(axis=0)
        found = optimize.milp(
            aim.ravel(),
            constraints=whole,
            bounds=limits,
            integrality=1,
            options={"time_limit": max(until - time.monotonic(), 0.1)},
        )
        if found.x is None:
            return False
        table = np.rint(found.x).astype(np.int64).reshape(classes, values)
        fits = (table >= 0).all() and (table.sum(axis=1) == sizes).all()
        if not fits or ((counted * table).sum(axis=(1, 2)) != answers).any():
            return False
        see(table)
        return True

    while (none | every).any():
        if time.monotonic() > until:
            return True
        before = none.sum() + every.sum()
        other(none, every)
        if none.sum() + every.sum() < before:
            continue
        one = np.zeros_like(none)
        at = np.unravel_index(int(np.argmax(none | every)), none.shape)
        one[at] = True
        if not other(one & none, one & every) or (none | every)[at]:
            return True
    return False
