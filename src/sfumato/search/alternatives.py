"""Alternatives: a search over columns that have several hierarchies each, one combination of them after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.label_grammar import STAR
from sfumato.core.microdata import Attribute
from sfumato.core.wording import count
from sfumato.errors import HierarchyError, Infeasible
from sfumato.hierarchies.either import Either
from sfumato.hierarchies.spec import written
from sfumato.search.problem import Problem, Solution


def search_alternatives(search: Any, problem: Problem) -> tuple[Problem, Solution]:
    """The best solution over all combinations of alternatives, one for each column, and the problem it is of.

    What is searched is the union of their lattices, or of their partitions. The best is what the search prefers, the
    least loss where it says nothing; ties go to the first combination. It is optimal where each was searched to the
    optimum.
    """
    each = [_alternatives(a) for a in problem.attributes]
    for several in each:
        _refuse_unlike(several)
    tried: list[tuple[Problem, Solution]] = []
    refused: list[Infeasible] = []
    for attributes in product(*each):
        one = replace(problem, attributes=attributes)
        try:
            tried.append((one, search(one)))
        except Infeasible as error:
            refused.append(error)
    if not tried:
        raise refused[0]
    best, found = min(tried, key=lambda pair: _rank(pair[1]))
    solutions = [solution for _, solution in tried]
    bounds = [solution.bound for solution in solutions if solution.bound is not None]
    return best, replace(
        found,
        optimal=all(s.optimal for s in solutions) and (not refused or search.guarantee == "exact"),
        checks=sum(s.checks for s in solutions),
        seconds=sum(s.seconds for s in solutions),
        reproducible=all(s.reproducible for s in solutions),
        bound=min(bounds) if len(bounds) == len(tried) else None,
    )


def _rank(solution: Solution) -> tuple[float, ...]:
    preferred = solution.preference or (solution.verdict.loss,)
    return not solution.verdict.satisfied, *(round(key, 12) for key in preferred)


def _alternatives(attribute: Attribute) -> tuple[Attribute, ...]:
    """The attribute with each of its hierarchies."""
    if not isinstance(attribute.recipe, Either):
        return (attribute,)
    found = [(one, one.build(attribute.categories)) for one in attribute.recipe.alternatives]
    return tuple(replace(attribute, hierarchy=tree, recipe=one) for one, tree in found)


def _refuse_unlike(attributes: Sequence[Attribute]) -> None:
    """Raise a HierarchyError where two written alternatives print one label for different values: nobody could read it.

    Values that the table lacks count too, so that the refusal tells nothing of the table.
    """
    known: dict[str, set[int]] = {}
    for attribute in attributes:
        if (tree := attribute.hierarchy) is None or not written(attribute.recipe):
            continue
        own: dict[str, set[int]] = {}
        marks = pl.Series(tree.leaves, dtype=pl.String).hash(0).to_numpy()
        for names, ancestor in zip(tree.labels, tree.ancestor, strict=True):
            members = np.zeros(len(names), np.uint64)
            np.add.at(members, ancestor, marks)  # equal for equal sets of values
            for name, total in zip(names, members.tolist(), strict=True):
                own.setdefault(name, set()).add(total)
        if unlike := sum(known.get(name, sums) != sums for name, sums in own.items() if name != STAR):
            raise HierarchyError(
                f'the alternatives of "{attribute.name}" print {count(unlike, "label")} for other values in each',
                hint="a label stands for the same values in all; in one file the parents of values stand in one order",
            )
        known = own | known
