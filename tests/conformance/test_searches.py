"""Every search through the conformance suite; and the suite finds those that lie."""

from __future__ import annotations

import random
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np
import pytest

import sfumato as sf
from sfumato.core.protocols import Search
from sfumato.core.registry import Variant
from sfumato.search.problem import Levels, Problem, Solution, judge, level_columns
from sfumato.testing import check_search, registered
from sfumato.testing.searches import (
    POLICIES,
    check_search_declaration,
    check_search_reaches_k,
    check_search_repeats,
    check_search_row_order,
    check_search_satisfies,
)
from tests.fuzz import FUZZ, slow_but


def brief(search: Any) -> Any:
    """The example of a search, made quick: few trials or rounds, or a second, where it has such a limit."""
    names = {f.name for f in fields(search)}
    if "evaluations" in names:
        return replace(search, seconds=None, evaluations=400)
    if isinstance(search, sf.Refined):
        return replace(search, rounds=3)
    return replace(search, **{"seconds": 1.0} if "seconds" in names else {})


def loss_for(search: str) -> str:
    return "discernibility" if search == "k-optimize" else "lm"


QUICK = ("auto", "optimal", "samarati", "mondrian", "k-member", "tds")  # one of a family


@pytest.mark.parametrize("policy", slow_but(range(len(POLICIES)), 0))
@pytest.mark.parametrize("name", slow_but(sf.SEARCHES, *QUICK))
def test_verified_or_refused(name: str, policy: int) -> None:
    check_search_satisfies(brief(sf.SEARCHES[name].example), [policy], loss_for(name), FUZZ)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, one in sf.SEARCHES.items() if not one.example.private])
@pytest.mark.parametrize("check", [check_search_reaches_k, check_search_repeats, check_search_row_order])
def test_whatever_the_policy(name: str, check: Any) -> None:
    check(brief(sf.SEARCHES[name].example), loss_for(name))


@pytest.mark.parametrize("name", sf.SEARCHES)
def test_a_search_says_what_it_is(name: str) -> None:
    search = sf.SEARCHES[name].example
    check_search_declaration(search)
    first = (type(search).__doc__ or "").strip().splitlines()[0]
    assert first.endswith(f"({search.code}, {search.guarantee}).")
    assert sf.SEARCHES[name].cite


@dataclass(frozen=True)
class AsItIs(Search):
    """Every column at its least level, whatever is asked, and called satisfied (AG_TS, heuristic)."""

    code: ClassVar[str] = "AG_TS"
    guarantee: ClassVar[str] = "heuristic"

    def node(self, problem: Problem) -> list[int]:
        return [0 for _ in problem.attributes]

    def __call__(self, problem: Problem) -> Solution:
        node = self.node(problem)
        _, verdict, _ = judge(problem, level_columns(problem, node))
        levels = Levels({a.name: level for a, level in zip(problem.attributes, node, strict=True)})
        kept = np.ones(len(problem.cells), np.bool_)
        return Solution(levels, replace(verdict, satisfied=True, suppressed=0), kept, self.guarantee == "exact", 1, 0.0)


@dataclass(frozen=True)
class TopSaidBest(AsItIs):
    """Every column at its greatest level, called optimal (AG_TS, exact)."""

    guarantee: ClassVar[str] = "exact"

    def node(self, problem: Problem) -> list[int]:
        return [a.ladder.height for a in problem.attributes]


@dataclass(frozen=True)
class AnyOfTheBest(sf.Optimal):
    """The best level vector or the top, by chance (AG_TS, exact)."""

    def __call__(self, problem: Problem) -> Solution:
        return sf.Optimal()(problem) if CHANCE.random() < 0.5 else TopSaidBest()(problem)


CHANCE = random.Random(3)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (AsItIs, "does not keep k-anonymity|does not satisfy the policy"),
        (TopSaidBest, "called optimal, it loses"),
        (AnyOfTheBest, "called optimal|two different releases"),
    ],
)
def test_a_search_that_lies_is_found(make: Any, words: str) -> None:
    with registered(make, make()), pytest.raises(AssertionError, match=words):
        check_search(make())
    assert Variant(make, make()).name not in sf.SEARCHES
