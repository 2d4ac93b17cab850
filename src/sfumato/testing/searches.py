"""Checks of a search."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from sfumato.core.policy import Policy
from sfumato.core.registry import field_values
from sfumato.criteria import (
    AverageRisk,
    BetaLikeness,
    DeltaDisclosure,
    DistinctLDiversity,
    EntropyLDiversity,
    KAnonymity,
    KMap,
    PopulationUniqueness,
    SampleUniqueness,
)
from sfumato.errors import BrokenPromise, Infeasible, PolicyError
from sfumato.losses import loss as parse_loss
from sfumato.search import SEARCHES, search_name
from sfumato.search.events import Event
from sfumato.search.problem import judge, level_columns, make_problem
from sfumato.testing.classes import COLUMNS, TREES, small_tables

CODES = {"AG_TS", "AG_", "AG_CS", "CG_", "_CS", "_TS", "_AS", "any"}
GUARANTEES = {"exact", "k-minimal", "heuristic", "approximation", "as picked"}
POLICIES: tuple[tuple[list[Any], float], ...] = (
    ([KAnonymity(2)], 0),
    ([KAnonymity(3)], 0.2),
    ([KAnonymity(2), DistinctLDiversity("s", 2)], 0.2),
    ([KAnonymity(2), EntropyLDiversity("s", 1.5)], 0),
    ([KMap(5, 0.2)], 0.2),
    ([KAnonymity(2), BetaLikeness("s", 1.5)], 0.1),
    ([DeltaDisclosure("s", 2, "skipped")], 0),
    ([AverageRisk(0.3)], 0),
    ([AverageRisk(0.3), DistinctLDiversity("s", 2)], 0.2),
    ([SampleUniqueness(0.1)], 0.2),
    ([KAnonymity(1), PopulationUniqueness(0.05, 0.2)], 0),
)
SLACK = 1e-9


def release_by(table: pl.DataFrame, search: Any, require: Sequence[Any], suppression: float, loss: Any = "lm") -> Any:
    """The release of a small table by a search."""
    import sfumato as sf

    return sf.anonymize(
        table, quasi=list(COLUMNS), sensitive=["s"], unprotected=[] if any(c.needs for c in require) else ["s"],
        require=require, search=search, loss=loss, suppression=suppression, hierarchies=TREES,
    )  # fmt: skip


def check_search_declaration(search: Any) -> None:
    """What it declares is of the right kind, and its parameters make it again."""
    assert search.code in CODES, f"code is {search.code!r}; known: {', '.join(sorted(CODES))}"
    assert search.guarantee in GUARANTEES, f"guarantee is {search.guarantee!r}"
    for name in ("splits", "wildcard", "by_level", "counts_population", "fragments"):
        assert isinstance(getattr(search, name), bool), f"{name} is not True or False"
    assert isinstance(search.needs, tuple), "needs is no tuple of column names"
    told = isinstance(search.traces, tuple) and all(issubclass(kind, Event) for kind in search.traces)
    assert told, "traces is no tuple of kinds of events"
    assert SEARCHES[search_name(search)].make(**field_values(search)) == search, "its fields make another value"


def check_search_satisfies(
    search: Any, policies: Sequence[int] = range(len(POLICIES)), loss: Any = "lm", tables: int = 2
) -> None:
    """Under every policy a release that is verified, or a reason; within the limit of suppression, as good as it says.

    A level vector is never better than the best one, and is the best one where it is called optimal.
    """
    for require, suppression in (POLICIES[i] for i in policies):
        for table in small_tables("satisfies", tables):
            try:
                found = release_by(table, search, require, suppression, loss)
            except (Infeasible, PolicyError) as no:
                assert str(no)
                continue
            except BrokenPromise as broken:
                raise AssertionError(f"what it finds is called satisfied and is not: {broken}") from None
            solution, rows = found.solution, table.height
            assert solution.verdict.suppressed <= found.policy.limit(rows), "it suppresses more rows than it may"
            assert found.table.height == rows - solution.verdict.suppressed, "it suppresses more rows than it says"
            if solution.bound is not None:
                assert solution.bound <= solution.verdict.loss + SLACK, "its bound is above its loss"
            if solution.levels is not None:
                _compare(table, found, require, suppression, loss)


def check_search_reaches_k(search: Any, loss: Any = "lm") -> None:
    """Any table can be 2-anonymised, unless rows are all that it suppresses."""
    for table in small_tables("reaches k", 2) if search.code != "_TS" else ():
        assert release_by(table, search, [KAnonymity(2)], 0, loss).verification.holds


def check_search_repeats(search: Any, loss: Any = "lm") -> None:
    """The same table gives the same release, unless a limit of time says otherwise."""
    [table] = small_tables("repeats", 1)
    try:
        first, second = (release_by(table, search, [KAnonymity(2)], 0.3, loss) for _ in range(2))
    except (Infeasible, PolicyError) as no:
        assert search.code == "_TS", f"it refuses k-anonymity: {no}"
        return
    if first.solution.reproducible and second.solution.reproducible:
        assert first.table.equals(second.table), "the same table gives two different releases"
        assert json.dumps(first.manifest) == json.dumps(second.manifest), "the same release has two manifests"


def check_search_row_order(search: Any, loss: Any = "lm") -> None:
    """The order of the rows of the table is nothing that a search knows."""
    [table] = small_tables("row order", 1)
    try:
        first, second = (release_by(t, search, [KAnonymity(3)], 0.2, loss) for t in (table, table.reverse()))
    except (Infeasible, PolicyError):
        return
    if first.solution.reproducible and second.solution.reproducible:
        assert first.solution.verdict == second.solution.verdict, "the order of the rows changes the result"


SEARCH_CHECKS: tuple[Callable[[Any], None], ...] = (
    check_search_declaration,
    check_search_satisfies,
    check_search_reaches_k,
    check_search_repeats,
    check_search_row_order,
)


def _compare(table: pl.DataFrame, found: Any, require: Sequence[Any], suppression: float, loss: Any) -> None:
    """A level vector that was found, against all others, by the plain verdict."""
    policy = Policy((tuple(COLUMNS),), tuple(require), suppression, parse_loss(loss))
    problem = make_problem(table, policy, TREES, {})
    levels = itertools.product(*(range(a.ladder.levels) for a in problem.attributes))
    losses = {node: judge(problem, level_columns(problem, node))[1] for node in levels}
    best = min(verdict.loss for verdict in losses.values() if verdict.satisfied)
    own = losses[tuple(found.solution.levels[a.name] for a in problem.attributes)]
    lost = found.solution.verdict.loss
    assert own.satisfied, "the level vector that it found does not satisfy the policy"
    if not found.solution.recoding.labels:  # else labels are narrower than those of the levels
        assert abs(own.loss - lost) <= SLACK * max(1.0, abs(lost)), f"it says it loses {lost}, and loses {own.loss}"
    if found.solution.optimal and found.search.code == "AG_TS":
        assert lost <= best + SLACK * max(1.0, abs(best)), f"called optimal, it loses {lost}, the best {best}"
