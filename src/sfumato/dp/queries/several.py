"""Several: questions that are asked together, of which each has an equal share of the cost."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import polars as pl

from sfumato.core.conditions import Condition
from sfumato.core.parameters import Written
from sfumato.dp.queries.query import Draw, Law, Part, Query
from sfumato.dp.rows import PrivateRows
from sfumato.dp.values import Public, Unit
from sfumato.errors import PolicyError

MOST = 100  # questions that are asked together


@dataclass(frozen=True)
class Several(Query):
    """Several questions together, each for an equal share of the cost.

    Where all are in the same public groups, one frame has the answers to all of them; else there is a list of answers.

    queries: the questions.
    """

    queries: Annotated[Any, Written("list", "queries")]

    def __post_init__(self) -> None:
        listed = isinstance(self.queries, Iterable) and not isinstance(self.queries, str | bytes)
        given = (self.queries,) if isinstance(self.queries, Query) else tuple(self.queries) if listed else ()
        if not 1 <= len(given) <= MOST or not all(isinstance(one, Query) for one in given):
            raise PolicyError("several are questions in a list", allowed=f"1 to {MOST}, as in count; mean age")
        if any(isinstance(one, Several) for one in given):
            raise PolicyError("questions that are asked together have no others in them", hint="ask all in one list")
        object.__setattr__(self, "queries", given)

    @property
    def where(self) -> Any:
        """None of all: each question has its own."""
        return None

    @property
    def how(self) -> str:  # type: ignore[override]
        """How each sensitivity was found."""
        return "; ".join(dict.fromkeys(one.how for one in self.queries))

    @property
    def needs_delta(self) -> bool:  # type: ignore[override]
        """Whether one of them does."""
        return any(one.needs_delta for one in self.queries)

    @property
    def adaptive(self) -> bool:  # type: ignore[override]
        """Whether one of them is."""
        return any(one.adaptive for one in self.queries)

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of all."""
        return tuple(dict.fromkeys(name for one in self.queries for name in one.columns))

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """Those of all, each of which holds for its own question only."""
        return tuple(dict.fromkeys(condition for one in self.queries for condition in one.conditions))

    def parts(self, public: Public, unit: Unit) -> tuple[Part, ...]:
        """Those of each, with shares that give the same to every question."""
        own = [one.parts(public, unit) for one in self.queries]
        shares = [sum(part.share for part in parts) for parts in own]
        whole = math.lcm(*shares)
        return tuple(
            replace(part, share=part.share * (whole // share))
            for parts, share in zip(own, shares, strict=True)
            for part in parts
        )

    def exact(self, rows: PrivateRows) -> list[Any]:
        """Those of each, one after the other."""
        return [values for one in self.queries for values in one.exact(rows)]

    def run(self, rows: PrivateRows, draw: Draw) -> list[Any]:
        """The draws of each, kept apart."""
        return [one.run(rows, draw) for one in self.queries]

    def answer(self, noisy: Sequence[Any], scales: Sequence[float], public: Public, law: Law) -> tuple[Any, Any]:
        """The answers, as a list or joined on the columns of their groups, and the interval of each."""
        left, answers = list(scales), []
        for one, drawn in zip(self.queries, noisy, strict=True):
            own, left = left[: len(drawn)], left[len(drawn) :]
            answers.append(one.answer(drawn, own, public, law))
        intervals = [interval for _, interval in answers]
        values = [value for value, _ in answers]
        frames = [value for value in values if isinstance(value, pl.DataFrame)]
        alike = len(frames) == len(values) and len({frame.height for frame in frames}) == 1
        return (self._joined(frames) if alike and self.grouped_by is not None else values), intervals

    @property
    def grouped_by(self) -> tuple[str, ...] | None:
        """The columns of the groups of all questions, where they are the same; else None."""
        first = self.queries[0]
        groups = [
            (None if one.needs_delta else getattr(one, "by", None), getattr(one, "bins", None)) for one in self.queries
        ]
        return tuple(first.by) if groups[0][0] and all(one == groups[0] for one in groups) else None

    def _joined(self, frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
        """One frame of frames over the same groups in the same order; a name that two have gets that of the column that
        is asked for, and its place where that is the same too."""
        labels = list(self.grouped_by or ())
        own = [[name for name in frame.columns if name not in labels] for frame in frames]
        names = [
            [f"{name}_{_column_of(one)}" if _often(name, own) > 1 and _column_of(one) else name for name in columns]
            for one, columns in zip(self.queries, own, strict=True)
        ]
        joined = frames[0].select(labels)
        for at, (frame, columns, called) in enumerate(zip(frames, own, names, strict=True)):
            for name, new in zip(columns, called, strict=True):
                there = new in joined.columns
                joined = joined.with_columns(frame.get_column(name).alias(f"{new}_{at + 1}" if there else new))
        return joined

    def plain(self, value: Any) -> Any:
        """One frame, or the plain value of each."""
        if isinstance(value, pl.DataFrame):
            return super().plain(value)
        return [one.plain(own) for one, own in zip(self.queries, value, strict=True)]

    def read(self, stored: Any) -> Any:
        """One frame, or the value of each."""
        if isinstance(stored, dict):
            return super().read(stored)
        return [one.read(own) for one, own in zip(self.queries, stored, strict=True)]

    def form(self, public: Public) -> dict[str, Any]:
        """That of each."""
        return {"query": self.name, "queries": [one.form(public) for one in self.queries]}


def _column_of(query: Query) -> str:
    return str(getattr(query, "column", ""))


def _often(name: str, own: Sequence[Sequence[str]]) -> int:
    return sum(name in columns for columns in own)
