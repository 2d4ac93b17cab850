"""Anatomy: X. Xiao, Y. Tao, Anatomy: simple and effective privacy preservation, VLDB 2006."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from sfumato.core.parameters import Whole, check_fields
from sfumato.core.policy import Verdict
from sfumato.core.protocols import Search
from sfumato.core.random_stream import stream_of
from sfumato.errors import Infeasible, PolicyError
from sfumato.search.fragments.kernels import group_rows
from sfumato.search.problem import CellSplit, Fragments, Problem, Solution


@dataclass(frozen=True)
class Anatomy(Search):
    """Put rows with different sensitive values into groups, and publish these values apart (_TS, approximation).

    Rows lie in a bucket for each value. While l buckets have rows, a group takes a row of each of the l that have the
    most; each row that is left goes to a group that lacks its value. Which rows, and which group, is drawn at random.
    One table has the quasi-identifiers as they are with the number of the group, the other the values of each group
    with their counts. Groups have at most one row of a value, whatever l-diversity is asked for. There is no such
    release exactly where a value has more than one row in l: with suppression, rows of the most frequent values are
    left out, as few as there can be. `seed`: of what is drawn, under the owner's key; without one, by chance.
    """

    seed: Annotated[int | None, Whole(0)] = None

    code: ClassVar[str] = "_TS"
    guarantee: ClassVar[str] = "approximation"
    fragments: ClassVar[bool] = True
    splits: ClassVar[bool] = True
    by_level: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_fields(self, "anatomy")

    def __call__(self, problem: Problem) -> Solution:
        """Group the rows of the problem."""
        began = time.perf_counter()
        attribute, l = required_diversity(problem.policy.require)
        cells = problem.cells
        histogram = cells.histograms[attribute]
        value = histogram.value[histogram.start[:-1]]  # rows of a cell have one: see `counted(..., jointly=True)`
        number = np.bincount(value, weights=cells.count, minlength=len(histogram.overall)).astype(np.int64)
        most = most_of_each(number, l)
        suppressed = problem.rows - int(np.minimum(number, most).sum())
        if suppressed > min(problem.limit, problem.rows - 1):
            raise _infeasible(problem, attribute, l, number, suppressed)
        rng = stream_of(self.seed, mark_of(problem, value), "anatomy").generator()
        cell = np.repeat(np.arange(len(cells)), cells.count)  # a piece for each row
        order = rng.permutation(len(cell))
        small = value.astype(np.min_scalar_type(len(number)))  # few digits are sorted faster
        order = order[np.argsort(small[cell[order]], kind="stable")]
        first = np.concatenate([[0], np.cumsum(number)[:-1]])
        group, left = np.full(len(cell), -1, np.int64), np.minimum(number, most)
        groups = group_rows(left, l, first, group, np.empty(len(number), np.int64), np.empty(l, np.int64))
        _place_residue(group, value[cell[order]], first, left, groups, rng)
        of = np.empty(len(cell), np.int64)
        of[order] = group
        kept = of >= 0
        names = rng.permutation(groups)
        split = CellSplit(cell, np.ones(len(cell), np.int64))
        recoding = Fragments(np.where(kept, names[np.maximum(of, 0)], -1), {}, split)
        share = suppressed / problem.rows
        verdict = Verdict(True, suppressed, share, {a.name: share for a in problem.attributes})
        seconds = time.perf_counter() - began
        return Solution(recoding, verdict, kept, False, groups, seconds, reproducible=self.seed is not None)


def required_diversity(require: Iterable[Any]) -> tuple[str, int]:
    """The sensitive attribute, and how many different values every group needs, two at least."""
    found = [(c.needs[0] if len(c.needs) == 1 else None, c.enough_values, c.model) for c in require]
    if wrong := [model for attribute, enough, model in found if attribute is None or enough is None]:
        raise PolicyError(
            f"groups of rows whose quasi-identifiers are published as they are cannot keep {wrong[0]}",
            allowed="distinct-l-diversity, entropy-l-diversity, recursive-cl-diversity, alpha-k with k up to 1/alpha, "
            "without values of their own",
            hint="ask for one of these, or generalise with another search",
        )
    attributes = list(dict.fromkeys(str(attribute) for attribute, _, _ in found))
    if len(attributes) != 1:
        raise PolicyError("one sensitive column can be published apart", got=len(attributes), allowed="1")
    return attributes[0], max(2, *(int(enough or 0) for _, enough, _ in found))


def most_of_each(number: np.ndarray, l: int) -> int:
    """How many rows of each value can stay at most, so that none is more than one row in l of those that stay.

    >>> most_of_each(np.array([3, 2, 1]), 2), most_of_each(np.array([4, 2, 1]), 2), most_of_each(np.array([9]), 2)
    (3, 3, 0)
    """
    low, high = 0, int(number.max())
    while low < high:  # the sum of min(n, t) is concave in t, so what is enough for t is enough for less
        middle = (low + high + 1) // 2
        if int(np.minimum(number, middle).sum()) >= l * middle:
            low = middle
        else:
            high = middle - 1
    return low


def greatest(suppressed: Callable[[int], int], l: int, limit: int) -> int:
    """The greatest number below l that needs no more suppressed rows than may be, 1 where there is none above."""
    return next((fewer for fewer in range(l - 1, 1, -1) if suppressed(fewer) <= limit), 1)


def hint_of(require: Iterable[Any], possible: int, suppressible: bool) -> str:
    """What can be asked for instead: `possible` is the greatest l, `suppressible` whether more suppression helps."""
    if possible < 2:
        return "no l above 1 is possible here" + (" without more suppression" if suppressible else "")
    if all("l" in c.parameters() and c.model == "distinct-l-diversity" for c in require):
        hint = f"ask for l = {possible}, the greatest there is here"
    else:
        hint = f"ask for less: at most one row in {possible} with the same value is possible here"
    return hint + (", or allow more suppression" if suppressible else "")


def _infeasible(problem: Problem, attribute: str, l: int, number: np.ndarray, suppressed: int) -> Infeasible:
    limit = min(problem.limit, problem.rows - 1)

    def needed(fewer: int) -> int:
        return problem.rows - int(np.minimum(number, most_of_each(number, fewer)).sum())

    possible = greatest(needed, min(l, int(np.count_nonzero(number)) + 1), limit)
    return Infeasible(
        f'a value of "{attribute}" has more than one row in {l}, so that a group would have two of it',
        got=f"{suppressed} of {problem.rows} rows would have to be suppressed",
        allowed=f"at most {limit}",
        hint=hint_of(problem.policy.require, possible, suppressed < problem.rows),
        closest={"suppressed": suppressed, "l": possible},
    )


def mark_of(problem: Problem, value: np.ndarray) -> str:
    """What the draw depends on beside the seed: the table, in whatever order its rows stand, so that no other is dealt
    alike."""
    cells, digest = problem.cells, hashlib.sha256()
    for part in (cells.codes, cells.count, value):
        digest.update(np.ascontiguousarray(part).tobytes())
    for a in problem.attributes:
        digest.update("\0".join(text or "" for text in a.categories.text).encode())
    return digest.hexdigest()


def _place_residue(
    group: np.ndarray, value: np.ndarray, first: np.ndarray, left: np.ndarray, groups: int, rng: np.random.Generator
) -> None:
    """Put each row that is left into a group that lacks its value, any of them with the same chance."""
    for v in np.flatnonzero(left):  # fewer than l values, with a row each
        free = np.ones(groups, np.bool_)
        mine = group[first[v] : first[v] + np.count_nonzero(value == v)]
        free[mine[mine >= 0]] = False
        group[first[v]] = rng.choice(np.flatnonzero(free))
