"""The measures: risks of a million rows, special uniques, population estimators, linkage, and queries."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import polars as pl

import sfumato as sf
from benchmarks import auditors
from benchmarks.figures import Agreement, Figure, figure, spent, timed, warm
from benchmarks.tables import MILLION, SURVEY, nine, redrawn, resample, survey, uniform
from sfumato.criteria.population_uniqueness import ESTIMATORS

GROUP = "measures"
RUNS, FEW = 5, 3  # of what takes about a second or less, and of what takes several
TEN = [*SURVEY, "age", "household_weights"]
LINKED = 100_000


def run() -> list[Figure | Agreement]:
    """From frames in memory to the result: risks, special uniques, attacks, queries; then k, l and t beside a peer."""
    table, _ = nine()
    large = resample(table, MILLION)
    return [
        *_risks(large),
        *_suda(),
        *_linkage(resample(table, LINKED)),
        _attack(large),
        *_utility(large),
        *auditors.run(),
    ]


def _measured(
    name: str,
    call: Callable[[], Any],
    runs: int = RUNS,
    target: float | None = None,
    clock: Callable[[Callable[[], Any]], tuple[float, Any]] = timed,
    **facts: Any,
) -> Figure:
    """Seconds of warm calls, of the wall or the processor. A fact that is a function is asked of what a call gave."""
    found = warm(lambda: clock(call), runs)
    told = {about: fact(found[0][1]) if callable(fact) else fact for about, fact in facts.items()}
    return figure(GROUP, name, [seconds for seconds, _ in found], target=target, **told)


def _risks(table: pl.DataFrame) -> list[Figure]:
    """Everything that follows from class sizes, as the verb gives it; then the parts that need more than a table."""
    quasi = table.columns
    sizes = table.group_by(quasi).len().get_column("len").to_numpy()
    facts = {"classes": len(sizes)}
    some = f"{len(quasi)} keys, 1M rows"
    risk = partial(sf.risk, table, quasi=quasi)
    more = partial(risk, sampling_fraction=0.1)
    figures = [
        _measured(f"all class-based risks, {some}", risk, target=1.0, **facts),
        _measured(f"the same, population uniqueness and the log-linear model, {some}", more, **facts),
    ]
    for name, estimate in ESTIMATORS.items():
        about = f"population uniqueness from class sizes, {name}"
        figures.append(_measured(about, partial(estimate, sizes, 0.1), target=0.1, **facts))
    weighted = table.with_columns(weight=np.random.default_rng(1).uniform(1, 20, table.height))
    individual = partial(sf.measures.risk.individual, weighted, quasi, "weight")
    figures.append(_measured(f"individual risk with weights, {some}", individual, **facts))
    others = [name for name in quasi if name != auditors.SECRET]
    achieved = partial(sf.measures.risk.achieved, table, others, [auditors.SECRET])
    facts = {"classes": table.select(others).n_unique()}
    figures.append(_measured(f"k, l, t, alpha, beta, delta achieved, {len(others)} keys, 1M rows", achieved, **facts))
    return figures


def _suda() -> list[Figure]:
    """SUDA2 with scores, DIS and contributions per row; with uniform values nearly every row is alone."""
    tables = {
        "8 keys of a survey, 1M rows": (resample(survey().select(SURVEY), MILLION), 2.0),
        "8 keys of ten uniform values, 1M rows": (uniform(MILLION, 8), 2.0),
        "10 keys of a survey, 100,000 rows": (resample(survey().select(TEN), LINKED), 5.0),
        "10 keys of ten uniform values, 100,000 rows": (uniform(LINKED, 10), 5.0),
    }
    figures = []
    for about, (table, target) in tables.items():
        call = partial(sf.measures.risk.suda, table, table.columns)
        figures.append(_measured(f"SUDA2, {about}", call, RUNS, target, cells=table.n_unique()))
    return figures


def _linkage(people: pl.DataFrame) -> list[Figure]:
    """Exact nearest neighbours: normal numbers with noise, and mixed columns of which a tenth is drawn anew."""
    attack = sf.measures.attacks.distance_linkage
    rng = np.random.default_rng(1)
    numbers = rng.standard_normal((LINKED, 6))
    known = pl.DataFrame(numbers, schema=list("abcdef"))
    noisy = pl.DataFrame(numbers + 0.1 * rng.standard_normal(numbers.shape), schema=known.columns)
    masked = redrawn(people, 0.1)
    sides = f"{LINKED:,} x {LINKED:,} rows"
    about = f"distance linkage, 6 numeric columns, {sides}"
    mixed = f"distance linkage by Gower, {people.width} mixed columns, {sides}"
    return [
        _measured(about, partial(attack, noisy, known), FEW, 10.0, found=_success),
        _measured(mixed, partial(attack, masked, people, metric="gower"), FEW, found=_success),
    ]


def _attack(people: pl.DataFrame) -> Figure:
    """Every attack with a table of people: deterministic and probabilistic linkage of a million with a million."""
    released = sf.anonymize(people, quasi=people.columns, require=sf.KAnonymity(10), search="mondrian").table
    call = partial(sf.attack, released, people, quasi=people.columns, truth="unknown")
    about = f"attack with an external table, {people.width} columns, 1M x 1M rows, mondrian k=10: CPU seconds"
    return _measured(about, call, FEW, 8.0, spent, found=lambda found: found["deterministic-linkage"]["success"])


def _utility(table: pl.DataFrame) -> list[Figure]:
    """A release beside its original: 200 range counts, and all that `sf.utility` tells, with and without alignment."""
    release = sf.anonymize(table, quasi=table.columns, require=sf.KAnonymity(10), search="mondrian")
    some = f"{table.width} columns, 1M rows, mondrian k=10"
    queries = partial(sf.measures.utility.query_error, table, release.table)
    two, one = partial(sf.utility, table, release.table), partial(sf.utility, release)
    return [
        _measured(f"query error, 200 queries on {some}", queries, FEW, error=lambda measure: measure.value),
        _measured(f"utility of two frames, {some}: CPU seconds", two, FEW, 3.0, spent, before=14.3),
        _measured(f"utility of a release, {some}: CPU seconds", one, FEW, 3.0, spent, before=32.8),
    ]


def _success(attack: sf.measures.attacks.Attack) -> float:
    return float(attack.success)
