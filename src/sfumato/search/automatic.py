"""Automatic: the search that suits a policy, a table and what shall be kept, with the reason and the runner-up."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from sfumato.core.lattice import lattice
from sfumato.core.parameters import OneOf, check_fields
from sfumato.core.protocols import Search
from sfumato.errors import Infeasible
from sfumato.search.clustering.refined import Refined
from sfumato.search.lattice.lightning import Lightning
from sfumato.search.lattice.optimal import Optimal
from sfumato.search.mondrian.mondrian import Mondrian
from sfumato.search.problem import LABELS, Choice, Problem, Solution, check_root

KEEP = ("consistent-columns",)
SEARCHED_WHOLE = 200_000  # nodes of a lattice that are searched to the optimum within seconds
CLUSTERING = 1e-6  # seconds of a processor per row and column, measured: 0.8e-6 to 1.6e-6 by table and machine
BUDGET = 60.0  # seconds that clustering may take so


@dataclass(frozen=True)
class Automatic(Search):
    """Pick the search from the policy, the size of the table and what shall be kept (any, as picked).

    `keep`: "consistent-columns", every value of a column gets the same label in all rows (full-domain recoding); None,
    what loses least. `labels`: "hierarchy" prints labels of hierarchies in all columns, learned ones
    where none was given; "given" ranges where none was given; "ranges" ranges in all columns that have an order.
    """

    code: ClassVar[str] = "any"
    guarantee: ClassVar[str] = "as picked"
    counts_labels: ClassVar[bool] = True  # several sets, which it takes, have one label per value
    keep: Annotated[str | None, OneOf(KEEP)] = None
    labels: Annotated[str, OneOf(LABELS)] = "hierarchy"

    def __post_init__(self) -> None:
        check_fields(self, "auto")

    @property
    def splits(self) -> bool:
        """Whether rows with equal values may get different labels."""
        return self.keep != "consistent-columns"

    def __call__(self, problem: Problem) -> Solution:
        """Pick, say what was picked, and search."""
        choice = self.choose(problem)
        return replace(choice.search(problem), choice=choice)

    def choose(self, problem: Problem) -> Choice:
        """The search to use, why, and the second best."""
        if reason := _full_domain(problem, self.keep):
            nodes = lattice(problem.attributes, problem.levels).size
            cuts = "genetic: one label per value as well, cut inside the hierarchies: less loss, without proof"
            if nodes <= SEARCHED_WHOLE:
                return Choice(Optimal(), f"{reason}, and the best of its level vectors can be found", cuts)
            why = f"{reason}, and more than {SEARCHED_WHOLE:,} level vectors are too many to search them all"
            return Choice(Lightning(seconds=20), why, cuts)
        apart = any(c.monotonicity == "none" for c in problem.policy.require)  # classes that print alike may break it
        refined = Refined(labels=self.labels)
        mondrian = Mondrian(cut="best", dimension="ncp", labels="ranges" if apart else self.labels)
        most = int(BUDGET / (CLUSTERING * len(problem.attributes)))
        if _to_cluster(problem) > most:  # how many they are is not told: it is a figure of the original
            why = f"more than {most:,} rows of these columns take over {BUDGET:g} s to cluster"
            return Choice(mondrian, why, "refined: less loss, slower")
        why = f"it loses least, and up to {most:,} rows of these columns are clustered within {BUDGET:g} s"
        return Choice(refined, why, "iterated: faster, mostly with more loss")


def _to_cluster(problem: Problem) -> int:
    """The rows, those of combinations that are classes by themselves as one."""
    if not problem.policy.by_size:
        return problem.rows
    codes = problem.cells.codes  # sorted; a combination has several cells where values of other columns are counted too
    first = np.flatnonzero(np.append(True, (codes[:, 1:] != codes[:, :-1]).any(axis=0)))
    count = np.add.reduceat(problem.cells.count, first)
    return int(np.where(count < problem.policy.least_size, count, 1).sum())


def _full_domain(problem: Problem, keep: str | None) -> str | None:
    """Why every value of a column must get the same label, if it must."""
    if keep == "consistent-columns":
        return "every value of a column keeps one label in all rows"
    if problem.levels:
        return "levels were given, which only full-domain recoding has"
    if len(problem.sets) > 1:
        return "there are several sets of quasi-identifiers, which only full-domain recoding serves together"
    if problem.policy.loss.by_level:
        return "the loss counts levels of hierarchies, which only full-domain recoding keeps low"
    if problem.limit > 0:
        try:
            check_root(problem)
        except Infeasible:
            return "no class of all rows satisfies the policy, so rows must be suppressed"
    return None
