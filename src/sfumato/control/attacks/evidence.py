"""Evidence: what attackers hold, a log of answered queries, as equations in what they do not know.

Chin and Ozsoyoglu, "Auditing and inference control in statistical databases", 1982.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.control.query import parse_set_query

if TYPE_CHECKING:
    from sfumato.control.log import LoggedQuery, QueryLog

VALUES = 200  # that a sensitive column may have where counts mention it
CLOSE = 1e-6  # exact answers fit together up to this part of the greatest one
Equation = tuple[np.ndarray, np.ndarray, float, int, int, str]  # plus, minus, answer, number, snapshot, user


@dataclass(frozen=True)
class SumSystem:
    """Equations in the unknowns of one column: a row of `matrix` per answer, a column per class of unknowns that are in
    the same answers.

    Unknown `row + label * people` is the value of a row, or for counts whether it has the label. `size` is how many
    unknowns are in a class, `truth` the sum of their true values, where the table is known, and `low` and `high` what
    each of them is known to lie between.
    """

    column: str
    people: int
    matrix: np.ndarray
    answers: np.ndarray
    numbers: np.ndarray
    snapshots: np.ndarray
    class_of: np.ndarray
    size: np.ndarray
    truth: np.ndarray | None = None
    low: float | None = None
    high: float | None = None
    labels: int = 0  # of counts: how many labels a row can have, less one

    @cached_property
    def estimate(self) -> np.ndarray:
        """The value of each class nearest to the answers, by least squares."""
        middle = self.size * ((self.low or 0.0) + (self.high or 0.0)) / 2
        left, matrix = self.answers - self.matrix @ middle, self.matrix.astype(float)
        if len(matrix) >= matrix.shape[1]:
            return middle + np.linalg.lstsq(matrix, left)[0]
        turned, triangle = np.linalg.qr(matrix.T)  # of a wide matrix, the shortest solution is in its row space
        found: np.ndarray = middle + turned @ np.linalg.lstsq(triangle.T, left)[0]
        return found

    @cached_property
    def fits(self) -> bool:
        """Whether the answers fit together: those that were rounded or changed by noise seldom do."""
        left = np.abs(self.matrix @ self.estimate - self.answers)
        return bool((left <= CLOSE * max(1.0, float(np.abs(self.answers).max(initial=0)))).all())

    @cached_property
    def alone(self) -> np.ndarray:
        """The unknown of each class that has one; -1 of a class of several."""
        found = np.full(len(self.size), -1)
        inside = np.flatnonzero(self.class_of >= 0)
        found[self.class_of[inside]] = inside
        return np.where(self.size == 1, found, -1)

    def rows(self, classes: np.ndarray) -> np.ndarray:
        """The rows, ascending, of classes of one unknown."""
        unknown = self.alone[classes]
        return np.unique(unknown[unknown >= 0] % self.people)

    def right(self, classes: np.ndarray, within: float = CLOSE) -> np.ndarray:
        """Which of some classes are estimated rightly; all of them where nobody knows and the answers fit together."""
        if self.truth is None:
            return np.full(len(classes), self.fits)
        off = np.abs(self.estimate[classes] - self.truth[classes])
        found: np.ndarray = off <= within * max(1.0, float(np.abs(self.truth).max(initial=0)))
        return found


@dataclass(frozen=True)
class LogEvidence:
    """A log, and what else is known: the table, the columns that attackers do not know, and bounds of columns.

    Attackers know who is in which query set, by the columns that are not `sensitive`. Counts tell them something of
    sensitive columns only, and which rows meet a condition on one is known from the table alone.
    """

    log: QueryLog
    data: pl.DataFrame | None = None
    sensitive: tuple[str, ...] = ()
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def people(self) -> int:
        """How many rows there are, whom queries are about."""
        return self.log.people

    @cached_property
    def entries(self) -> tuple[LoggedQuery, ...]:
        """All queries, as they were asked."""
        return tuple(self.log.entries)

    @cached_property
    def answered(self) -> tuple[LoggedQuery, ...]:
        """Those that were answered."""
        return tuple(entry for entry in self.entries if entry.answer is not None)

    @property
    def users(self) -> tuple[str, ...]:
        """Who asked, in alphabetical order."""
        return tuple(sorted({entry.user for entry in self.entries}))

    def of_user(self, user: str) -> LogEvidence:
        """The same for one user, who does not know what others were answered."""
        return replace(self, log=replace(self.log, entries=tuple(e for e in self.entries if e.user == user)))

    @cached_property
    def systems(self) -> tuple[SumSystem, ...]:
        """The equations that sums, means and counts give, by column; those about anybody."""
        return tuple(system for system in (*self._sums(), *self._counts()) if len(system.size))

    def _sums(self) -> Iterator[SumSystem]:
        columns = sorted({e.column for e in self.answered if e.kind in ("sum", "mean") and e.column is not None})
        none = np.empty(0, np.int64)
        for column in columns:
            asked = [e for e in self.answered if e.kind in ("sum", "mean") and e.column == column]
            given: list[Equation] = []
            for e in asked:
                total = float(e.answer or 0) * (len(e.rows) if e.kind == "mean" else 1)
                given.append((np.asarray(e.rows, np.int64), none, total, e.number, e.snapshot, e.user))
            truth = None
            if self.data is not None and column in self.data.columns:
                truth = self.data.get_column(column).cast(pl.Float64, strict=False).fill_null(0).to_numpy()
            yield _system(column, self.people, self.people, given, truth, self.bounds.get(column))

    def _counts(self) -> Iterator[SumSystem]:
        """Counts by conditions on sensitive columns: unknown is who has which of their values."""
        if self.data is None:
            return
        asked: dict[tuple[str, ...], list[LoggedQuery]] = {}
        for entry in self.answered:
            if entry.kind == "count":
                where = parse_set_query(entry.query).where
                mentioned = tuple(name for name in self.sensitive if name in where.columns)
                if mentioned:
                    asked.setdefault(mentioned, []).append(entry)
        for names, entries in asked.items():
            if self.data.select(names).n_unique() <= VALUES:
                yield self._counted(names, entries, self.data)

    def _counted(self, names: Sequence[str], entries: Sequence[LoggedQuery], data: pl.DataFrame) -> SumSystem:
        values = data.select(names).unique(maintain_order=True)
        where = [parse_set_query(entry.query).where for entry in entries]
        masks: list[
            np.ndarray
        ] = []  # who would meet each condition, were everybody of one value; equal ones are one label
        of_value: list[int] = []
        for value in values.rows():
            table = data.with_columns(
                pl.lit(one, data.schema[name]).alias(name) for name, one in zip(names, value, strict=True)
            )
            mask = np.stack([one.rows(table) for one in where])
            same = next((i for i, other in enumerate(masks) if (other == mask).all()), len(masks))
            masks += [mask] if same == len(masks) else []
            of_value.append(same)
        given: list[Equation] = []
        for i, e in enumerate(entries):
            change = np.concatenate([mask[i].astype(np.int8) - masks[0][i] for mask in masks[1:]] or [np.empty(0)])
            left = float(e.answer or 0) - int(masks[0][i].sum())
            given.append((np.flatnonzero(change > 0), np.flatnonzero(change < 0), left, e.number, e.snapshot, e.user))
        of_row = data.select(names).join(
            values.with_columns(label=pl.Series(of_value, dtype=pl.Int64)),
            on=list(names), how="left", maintain_order="left", nulls_equal=True,
        ).get_column("label").to_numpy()  # fmt: skip
        truth = np.concatenate([of_row == label for label in range(1, len(masks))] or [np.empty(0)]).astype(float)
        unknowns = data.height * (len(masks) - 1)
        return _system(" and ".join(names), data.height, unknowns, given, truth, (0.0, 1.0), len(masks) - 1)


def _system(
    column: str,
    people: int,
    unknowns: int,
    given: Sequence[Equation],
    truth: np.ndarray | None,
    bounds: tuple[float, float] | None,
    labels: int = 0,
) -> SumSystem:
    """Unknowns in classes of those that stand in the same answers."""
    class_of = classes_of(unknowns, [part for plus, minus, *_ in given for part in (plus, minus)])
    asked = np.zeros(class_of.max(initial=0) + 1, bool)
    for plus, minus, *_ in given:
        asked[class_of[plus]] = asked[class_of[minus]] = True
    number = np.where(asked, np.cumsum(asked) - 1, -1)
    class_of = number[class_of] if unknowns else class_of
    matrix = np.zeros((len(given), int(asked.sum())), np.int8)
    for row, (plus, minus, *_) in zip(matrix, given, strict=True):
        row[class_of[plus]] = 1
        row[class_of[minus]] = -1
    inside = class_of >= 0
    low, high = bounds or (None, None)
    return SumSystem(
        column, people, matrix,
        np.array([one[2] for one in given], float), np.array([one[3] for one in given], np.int64),
        np.array([one[4] for one in given], np.int64),
        class_of, np.bincount(class_of[inside], minlength=matrix.shape[1]),
        None if truth is None else np.bincount(class_of[inside], truth[inside], minlength=matrix.shape[1]),
        low, high, labels,
    )  # fmt: skip


def classes_of(unknowns: int, sets: Sequence[np.ndarray]) -> np.ndarray:
    """The class of each unknown: two share one where they are in the same sets.

    >>> import numpy as np
    >>> classes_of(5, [np.array([0, 1, 2]), np.array([2, 3])]).tolist()
    [1, 1, 3, 2, 0]
    """
    found, size = np.zeros(unknowns, np.int64), np.array([unknowns], np.int64)
    for members in sets:
        old, of_member, often = np.unique(found[members], return_inverse=True, return_counts=True)
        split = often < size[old]
        new = np.where(split, len(size) + np.cumsum(split) - 1, old)
        size[old[split]] -= often[split]
        size = np.concatenate([size, often[split]])
        found[members] = new[of_member]
    _, found = np.unique(found, return_inverse=True)
    return found
