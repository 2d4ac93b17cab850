"""MPALM: presence in many dimensions. Nergiz, Atzori and Clifton, Hiding the presence of individuals, 2007."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from sfumato.core.parameters import OneOf, check_fields
from sfumato.core.protocols import Search
from sfumato.search.events import Event
from sfumato.search.mondrian.mondrian import Mondrian
from sfumato.search.problem import Problem, Solution

LABELS = ("given", "ranges")


@dataclass(frozen=True)
class MPALM(Search):
    """Cut people at the median of a column, again and again, while every side satisfies the policy (CG_, heuristic).

    Made for delta-presence: the presence of every side stays within bounds. Cuts are those of Mondrian, strict, of the
    column with the widest normalised range; where a population is counted, its people are cut and not the rows of the
    table. So it takes any criterion, and suppresses nothing.

    `labels`: columns print labels of their hierarchies where one was "given", or all numbers and dates "ranges".
    """

    code: ClassVar[str] = "CG_"
    guarantee: ClassVar[str] = "heuristic"
    counts_population: ClassVar[bool] = True
    labels: Annotated[str, OneOf(LABELS)] = "given"

    def __post_init__(self) -> None:
        check_fields(self, "mpalm")

    @property
    def traces(self) -> tuple[type[Event], ...]:
        """The kinds of its events: those of Mondrian."""
        return Mondrian(labels=self.labels).traces

    def __call__(self, problem: Problem) -> Solution:
        """Cut the cells of the problem."""
        return Mondrian(labels=self.labels)(problem)
