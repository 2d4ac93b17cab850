"""Grouped: any question in each of some public groups, for the cost of one (parallel composition); McSherry, "Privacy
integrated queries", 2009."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
import polars as pl

from sfumato.core.parameters import ColumnNames, Written
from sfumato.dp.queries.contingency_table import BINS, ContingencyTable
from sfumato.dp.queries.query import Law, Part, Query
from sfumato.dp.queries.several import Several
from sfumato.dp.rows import PrivateRows, RowView
from sfumato.dp.values import Public, Unit
from sfumato.errors import PolicyError

GROUPS = 2**12


@dataclass(frozen=True)
class Grouped(Query):
    """A question in each group of public values and bins; a row is in one group at most, so all cost as much as one.

    A person whose rows are in several groups pays for each of them, and where units are exchanged both pay. A group
    that nobody is in is answered like any other.

    of: the question.
    """

    of: Annotated[Any, Written("variant", "queries")]
    by: Annotated[Any, ColumnNames()]
    bins: Annotated[Any, Written()] = BINS

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.of, Query):
            raise PolicyError("a question is asked in groups", got=type(self.of).__name__, allowed="median age by=sex")
        if isinstance(self.of, Several | Grouped) or self.of.adaptive or self.of.needs_delta:
            what = f"{self.of.name} cannot be asked in groups"
            raise PolicyError(what, hint="ask it with a filter, or several questions that are in the same groups")
        cells = ContingencyTable(self.by, self.bins)
        object.__setattr__(self, "by", cells.by)
        object.__setattr__(self, "bins", cells.bins)

    @property
    def where(self) -> Any:
        """The filter of the question."""
        return self.of.where

    @property
    def column(self) -> str:
        """The column that is asked for."""
        return str(getattr(self.of, "column", ""))

    @property
    def how(self) -> str:  # type: ignore[override]
        """How the sensitivity was found."""
        return f"in each group: {self.of.how}; a row is in one group, so that a unit changes as many as it has rows"

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of the question and of the groups."""
        return tuple(dict.fromkeys((*self.of.columns, *self.by)))

    def _cells(self) -> ContingencyTable:
        return ContingencyTable(self.by, self.bins, self.of.where)

    def parts(self, public: Public, unit: Unit) -> tuple[Part, ...]:
        """Those of the question, in all groups together.

        A row that comes or goes changes one group, by what one row changes it: s. So the rows R of a unit, at most m of
        them in a group, change the groups by R s in L1, and by s sqrt(R m) in L2. One that is exchanged changes as much
        twice in L1; in L2 by the more of sqrt(2) s and of what one row that is exchanged within a group changes.
        """
        size = self._cells().size(public)
        if size > GROUPS:
            hint = "counts and means are asked in more, by a contingency table and a grouped mean"
            raise PolicyError(
                "a question is asked in too many groups", got=f"{size:,}", allowed=f"{GROUPS:,}", hint=hint
            )
        comes, exchanged = (self.of.parts(public, one) for one in (Unit(), Unit(neighbours="replace")))
        return tuple(_in_all(*both, unit, size) for both in zip(comes, exchanged, strict=True))

    def exact(self, rows: PrivateRows) -> list[np.ndarray]:
        """The numbers of each group, one after the other; the rows are looked at once."""
        cells = self._cells()
        size = cells.size(rows.public)
        found = rows.of(self.columns, self.conditions, cells.places)
        place = cells.places(found)
        order = np.argsort(place, kind="stable")
        ends = np.searchsorted(place[order], np.arange(size + 1))
        frame = pl.DataFrame([found.column(name).gather(order) for name in self.of_columns])
        times = None if found.times is None else found.times[order]
        each = [
            self.of.exact(_GroupRows.between(rows, frame, times, int(start), int(end))) for start, end in pairwise(ends)
        ]
        return [np.concatenate(values) for values in zip(*each, strict=True)]

    @property
    def of_columns(self) -> tuple[str, ...]:
        """The columns that the question looks at itself."""
        return tuple(dict.fromkeys((*self.of.columns, *(one.column for one in self.conditions))))

    def answer(self, noisy: Sequence[Any], scales: Sequence[float], public: Public, law: Law) -> tuple[Any, Any]:
        """A frame of the groups and the value in each, or a list of both where it is no number; and the intervals."""
        labels = self._cells().labelled(public)
        size = labels.height
        split = [[part] if size == 1 else _split(part, size) for part in noisy]
        each = [self.of.answer(own, scales, public, law) for own in zip(*split, strict=True)]
        values, intervals = [value for value, _ in each], [interval for _, interval in each]
        if all(isinstance(value, pl.DataFrame) for value in values):
            own = [labels[i].join(value, how="cross", suffix="_within") for i, value in enumerate(values)]
            return pl.concat(own), intervals
        if all(isinstance(value, int | float) for value in values):
            name = self.of.name.replace("-", "_")
            return labels.with_columns(pl.Series(name, values, strict=False)), intervals
        groups = labels.to_dicts()
        return [{"group": group, "value": value} for group, value in zip(groups, values, strict=True)], intervals

    def plain(self, value: Any) -> Any:
        """A frame, or the plain value of each group."""
        if isinstance(value, pl.DataFrame):
            return super().plain(value)
        return [{**one, "value": self.of.plain(one["value"])} for one in value]

    def read(self, stored: Any) -> Any:
        """A frame, or the value of each group."""
        if isinstance(stored, dict):
            return super().read(stored)
        return [{**one, "value": self.of.read(one["value"])} for one in stored]

    def form(self, public: Public) -> dict[str, Any]:
        """That of the question, and the groups, with what is public of their columns."""
        groups = self._cells().form(public)
        own = {name: groups[name] for name in ("by", "bins", "bounds", "keys", "types")}
        return {"query": self.name, "of": self.of.form(public), **own}


@dataclass(eq=False, repr=False)
class _GroupRows(PrivateRows):
    """The rows of one group, filtered and cut already."""

    view: RowView | None = None

    @staticmethod
    def between(rows: PrivateRows, frame: pl.DataFrame, times: np.ndarray | None, start: int, end: int) -> _GroupRows:
        own = _GroupRows(None, rows.public, Unit())
        some = None if times is None else times[start:end]
        own.view = RowView(own, frame[start:end], end - start, None, some)
        return own

    def of(self, *_: Any, **__: Any) -> RowView:
        assert self.view is not None
        return self.view


def _in_all(comes: Part, exchanged: Part, unit: Unit, size: int) -> Part:
    """A part in all groups, from what one row changes it by in one group that comes, or is exchanged there."""
    rows, spread = unit.in_groups * unit.times, math.sqrt(unit.in_groups * unit.in_group)

    def l2(one: float, other: float) -> float:
        return spread * (one if unit.times == 1 else max(math.sqrt(2) * one, other))

    if comes.candidates is None:
        most = max(comes.sensitivity, -(-exchanged.sensitivity // 2))
        root = l2(comes.l2 or comes.sensitivity, exchanged.l2 or exchanged.sensitivity)
        return replace(comes, width=comes.width * size, sensitivity=rows * most, l2=root)
    change = max(comes.score_change, exchanged.score_change / 2)
    return replace(
        comes, width=comes.width * size, cells=size, score_change=rows * change,
        l2=l2(comes.score_change, exchanged.score_change), monotonic=comes.monotonic and unit.times == 1,
    )  # fmt: skip


def _split(part: Sequence[Any], size: int) -> list[Any]:
    """What was drawn of a part, group by group: choices are in lists already."""
    if len(part) == size and isinstance(part[0], list):
        return list(part)
    own = len(part) // size
    return [part[i * own : (i + 1) * own] for i in range(size)]
