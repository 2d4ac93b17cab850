"""Minimal local suppression with importance per column, as sdcMicro's kAnon. Templ, Kowarik and Meindl, JSS 2015."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from sfumato.core.parameters import OneOf, PerColumn, Real, Whole, check_fields
from sfumato.core.policy import Verdict, class_statistics
from sfumato.core.protocols import Search
from sfumato.errors import PolicyError, did_you_mean
from sfumato.search.problem import CellSplit, Problem, Solution, by_class, group_labels, judge, measure, refine
from sfumato.search.suppression.cells import codes_of, differing, mended_cells, refuse, released, weight_of
from sfumato.search.suppression.forest import NO_SHAPE, NO_TABLE, forest
from sfumato.search.suppression.value_rule import Assignment, all_partitions
from sfumato.search.suppression.wildcard_rule import fewest_cells, own_cells

TIE = 1e-6  # by how much importance counts beside the number of cells

PROVEN = {  # what is least where the search says so
    "value": "no fewer cells can be blanked",
    "release": "no fewer cells can be blanked",
    "table": "no rare row can lose fewer cells of its own",
}


@dataclass(frozen=True)
class MinimalSuppression(Search):
    """Suppress as few cells as possible, those of the less important columns first (_CS, heuristic).

    Blank cells are released as missing values. `rule` says what they match:

    - "value": a missing cell is a value of its own, so that k rows show the same. Rows are assigned to released tuples,
      which are opened, joined and closed while that gains, in `rounds` tries; tables of up to 15 rows are solved
      exactly for k-anonymity alone, and a solution that meets the bound of each row alone is proven to be one of the
      best.
    - "wildcard": a missing cell matches anything, and the release is verified under that rule. `matches="table"`: each
      row that is rare loses the fewest cells of its own without which it matches k rows of the table as it came; that
      is exact for up to 12 columns. `matches="release"`: the fewest cells, in whatever rows, with which every row
      matches k rows of the release. That is few indeed: k - 1 rows without any value match all others, which stay as
      they are, however rare. Exact for tables of up to 60 cells, as far as its branches allow.

    `importance` ranks columns, 1 being suppressed last: of equally many cells, those of columns with higher ranks go.
    Without it, columns with more values rank higher. `weights` gives a price per cell of a column instead, and the sum
    is least. Under "value", classes that fail another criterion are united with the nearest; "wildcard" takes
    k-anonymity only. No rows are suppressed.

    `rule`: what a missing cell matches. `importance`: the rank of each column, 1 being suppressed last. `weights`: the
    price of a cell of each column. `matches`: whether a row has to match rows of the table or of the release, under
    "wildcard". `rounds`: tries to open, join and close released tuples, under "value".
    """

    code: ClassVar[str] = "_CS"
    guarantee: ClassVar[str] = "heuristic"
    splits: ClassVar[bool] = True
    rule: Annotated[str, OneOf(("value", "wildcard"))] = "value"
    importance: Annotated[Mapping[str, int] | None, PerColumn(Whole(1, 10**6))] = None
    weights: Annotated[Mapping[str, float] | None, PerColumn(Real(0, 1e6, above=True))] = None
    matches: Annotated[str, OneOf(("table", "release"))] = "table"
    rounds: Annotated[int, Whole()] = 1000

    def __post_init__(self) -> None:
        check_fields(self, "minimal-suppression")
        if self.importance is not None and self.weights is not None:
            raise PolicyError("minimal-suppression takes importance or weights, not both")

    @property
    def wildcard(self) -> bool:
        """Whether the release keeps its promise where a missing value matches any value."""
        return self.rule == "wildcard"

    def __call__(self, problem: Problem) -> Solution:
        """Choose the cells by the rule."""
        began = time.perf_counter()
        asked, problem = problem, by_class(problem)
        refuse(problem, "minimal-suppression")
        weight = self._weights(problem)
        found = (self._by_wildcard if self.wildcard else self._by_value)(problem, weight, began)
        if not found.optimal or problem is not asked:  # fewer cells may do for what was asked
            return replace(found, optimal=False, bound=None)
        least = PROVEN[self.matches if self.wildcard else "value"]
        return replace(found, optimal=False, bound=None, proven=least)  # the fewest cells are not the least loss

    def _weights(self, problem: Problem) -> np.ndarray:
        """The price of a cell of each column."""
        names = [a.name for a in problem.attributes]
        given = self.importance or self.weights or {}
        for column in given:
            if column not in names:
                raise PolicyError(
                    f'minimal-suppression: "{column}" is no quasi-identifier', hint=did_you_mean(column, names)
                )
        if self.weights is not None:
            return np.array([self.weights.get(name, 1.0) for name in names])
        rank = np.array([_known(a.categories.text) for a in problem.attributes], dtype=np.float64)
        if self.importance is not None:
            rank = np.array([self.importance.get(name, len(names)) for name in names], dtype=np.float64)
        _, place = np.unique(rank, return_inverse=True)
        return 1 + TIE * (place.max() - place)

    def _by_value(self, problem: Problem, weight: np.ndarray, began: float) -> Solution:
        """Classes of equal rows."""
        codes, count, least = codes_of(problem), problem.cells.count, problem.policy.least_size
        only_size = problem.policy.by_size
        exact = all_partitions(codes, count, weight, least) if only_size else None
        if exact is not None:
            of, split = exact
        else:
            found = Assignment(codes, count, weight, least)
            found.solve(self.rounds, problem.progress)
            of, split = found.classes()
        fine = refine(problem, split)
        of = _without_strays(fine, of, least)
        of = mended_cells(fine, of, weight)
        gone = differing(codes_of(fine), of)
        proven = exact is not None
        if only_size and not proven:
            alone, whole = own_cells(codes, count, weight, least, problem.progress, wild=False)
            price = float(fine.cells.count @ (gone @ weight))
            proven = whole and price <= float(count @ weight_of(alone, weight)) * (1 + 1e-9)
        partition, columns = released(fine, gone, split)
        seconds = time.perf_counter() - began
        kept, verdict, _ = judge(fine, columns)
        return Solution(partition, verdict, kept, proven, len(fine.cells), seconds)

    def _by_wildcard(self, problem: Problem, weight: np.ndarray, began: float) -> Solution:
        """Rows that match k rows."""
        wrong = [c.model for c in problem.policy.require if c.model != "k-anonymity"]
        if wrong:
            raise PolicyError(
                f"minimal-suppression by the wildcard rule is for k-anonymity, not {', '.join(wrong)}",
                hint='use rule="value", where a missing cell is a value of its own',
            )
        codes, count, least = codes_of(problem), problem.cells.count, problem.policy.least_size
        branches = 0
        if self.matches == "table":
            blank, proven = own_cells(codes, count, weight, least, problem.progress)
            gone = (blank[:, None] >> np.arange(codes.shape[1]) & 1).astype(np.bool_)
            fine, split = problem, None
        else:
            found, proven, branches = fewest_cells(codes, count, weight, least, problem.progress)
            order = np.argsort(found.origin, kind="stable")
            order = order[found.count[order] > 0]
            split = CellSplit(found.origin[order], found.count[order])
            fine, gone = refine(problem, split), found.gone()[order]
        partition, columns = released(fine, gone, split)
        seconds = time.perf_counter() - began
        everything = group_labels(fine, columns, range(len(columns)))
        kept = np.ones(len(fine.cells), np.bool_)
        every_class = np.ones(len(everything.size), np.bool_)
        statistics = class_statistics(problem.policy, everything.size, every_class, problem.rows)
        loss, per_attribute = measure(fine, columns, kept, statistics)
        verdict = Verdict(True, 0, loss, per_attribute)
        return Solution(partition, verdict, kept, proven, len(codes) + branches, seconds)


def _known(text: tuple[str | None, ...]) -> int:
    """How many values a column has."""
    return sum(word is not None for word in text)


def _without_strays(problem: Problem, of: np.ndarray, least: int) -> np.ndarray:
    """Rows that found no class, which are alone, become classes by a forest of their own, where they are enough."""
    size = np.bincount(of, weights=problem.cells.count)
    strays = np.flatnonzero(size[of] < least)
    if len(strays) < least:
        return of
    inner = refine(problem, CellSplit(strays, problem.cells.count[strays]))
    of = of.copy()
    of[strays] = len(size) + forest(inner, inner.cells.codes.T, least, NO_SHAPE, NO_TABLE)
    return np.unique(of, return_inverse=True)[1]
