"""Checks of an information loss."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.labels import at_level
from sfumato.core.policy import Policy, class_statistics
from sfumato.criteria import KAnonymity
from sfumato.errors import Infeasible, PolicyError
from sfumato.losses import LOSSES, loss_name
from sfumato.search.lattice.optimal import Optimal
from sfumato.search.problem import Problem, judge, level_columns, make_problem
from sfumato.testing.classes import COLUMNS, TREES, small_tables

SLACK = 1e-9


def check_loss_declaration(loss: Any) -> None:
    """Its parameters are plain and make it again, as a manifest does."""
    parameters = loss.parameters()
    assert json.loads(json.dumps(parameters)) == parameters, "parameters are no plain values"
    made = LOSSES[loss_name(loss)].make(**parameters)
    assert made == loss, f"its parameters make another value: {made}"
    assert isinstance(loss.by_label, bool)
    if loss.by_label:
        assert loss.aggregate in ("mean", "sum", "geometric", "maximum"), f"unknown aggregate {loss.aggregate!r}"


def check_loss_bound(loss: Any) -> None:
    """It never falls under generalisation: searches pass over all that is more general than what loses too much."""
    if loss.by_label:
        _labels(loss)
    else:
        _classes(loss)


def check_loss_optimum(loss: Any) -> None:
    """Pruning by its bound, the optimal search finds what trying every level vector finds."""
    found = 0
    for table, suppression in itertools.product(small_tables("optimum", 3), (0, 0.2, 1.0)):
        problem = _problem(table, loss, suppression)
        levels = itertools.product(*(range(a.ladder.levels) for a in problem.attributes))
        verdicts = [judge(problem, level_columns(problem, node))[1] for node in levels]
        losses = [verdict.loss for verdict in verdicts if verdict.satisfied]
        try:
            solution = Optimal()(problem)
        except Infeasible:
            assert not losses, "the optimal search finds nothing, and there is something"
            continue
        if solution.verdict.satisfied:
            found += 1
            least = min(losses)
            assert abs(solution.verdict.loss - least) <= SLACK * max(1.0, abs(least)), (
                f"the optimal search loses {solution.verdict.loss}, the best level vector {least}"
            )
    assert found


def check_loss_release(loss: Any) -> None:
    """Searches of every family release by it, or give a reason; those of level vectors do release."""
    import sfumato as sf

    for table, search in itertools.product(small_tables("release", 2), ("optimal", "mondrian", "k-member", "genetic")):
        method = sf.Genetic(seconds=None, evaluations=200) if search == "genetic" else search
        try:
            found = sf.anonymize(
                table, quasi=list(COLUMNS), require=KAnonymity(2), search=method, loss=loss, hierarchies=TREES,
                rest="release",
            )  # fmt: skip
        except (Infeasible, PolicyError) as no:
            assert search != "optimal", f"optimal refuses it: {no}"
            continue
        assert found.verification.holds
        value = found.manifest["solution"]["loss"]
        assert value is None or isinstance(value, float)


LOSS_CHECKS: tuple[Callable[[Any], None], ...] = (
    check_loss_declaration,
    check_loss_bound,
    check_loss_optimum,
    check_loss_release,
)


def _problem(table: pl.DataFrame, loss: Any, suppression: float) -> Problem:
    return make_problem(table, Policy((tuple(COLUMNS),), (KAnonymity(3),), suppression, loss), TREES, {})


def _labels(loss: Any) -> None:
    for table in small_tables("labels", 4):
        for attribute in _problem(table, loss, 0).attributes:
            below, gone = np.zeros(len(attribute.categories)), loss.suppressed(attribute)
            for level in range(attribute.ladder.levels):
                labels = at_level(attribute, level)
                cost = loss.cost(labels)[labels.of] - loss.own(attribute)
                assert np.isfinite(cost).all(), f'a label of "{attribute.name}" has no finite cost'
                assert (cost >= below - SLACK).all(), (
                    f'the cost of a row falls from level {level - 1} to {level} of "{attribute.name}"'
                    if level
                    else f'a value of "{attribute.name}" costs less than nothing'
                )
                assert gone is None or (gone >= cost - SLACK).all(), "a suppressed row costs less than a released one"
                below = cost
            assert loss.weight(attribute) >= 0, "a weight is negative"
    rng = np.random.default_rng(0)
    for _ in range(50):
        x, weights = rng.random(4), rng.random(4)
        more = x + rng.random(4) * (rng.random(4) < 0.5)
        assert loss.combine(more, weights) >= loss.combine(x, weights) - SLACK, "combined, more loss is less"


def _classes(loss: Any) -> None:
    rng = random.Random("classes")
    for _ in range(200):
        k, limit = rng.randint(1, 4), rng.randint(0, 12)
        sizes = np.array([rng.randint(1, 6) for _ in range(rng.randint(2, 8))])
        rows = int(sizes.sum())
        policy = Policy((("q",),), (KAnonymity(k),), limit)
        order = rng.sample(range(len(sizes)), len(sizes))
        merged = np.append(np.delete(sizes, order[:2]), sizes[order[:2]].sum())
        here, above = (class_statistics(policy, one, one >= k, rows) for one in (sizes, merged))
        assert loss.floor(above) >= loss.floor(here) - SLACK, f"floor falls where classes {sizes} become {merged}"
        for found in (here, above):
            if found.suppressed <= min(limit, rows - 1):
                assert loss.value(found) >= loss.floor(here) - SLACK, (
                    f"floor of classes {sizes} is above what they or their generalisation {merged} lose"
                )
        assert loss.value(replace(here, suppressed=0, kept_classes=len(sizes), kept_squares=here.squares)) >= 0
