"""Auditing of sums and extremes: the CPU time of a query at 10,000 people and ten times as many, by formulas over keys
and of random sets, of which every person soon is a class of their own."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

import sfumato as sf
from benchmarks.figures import Figure, figure
from sfumato.control.classes import QueryClasses
from sfumato.control.row_space import RowSpace

GROUP = "query control"
PEOPLE, QUERIES = 10_000, 1000
TARGET = 1 / 200  # seconds
REGIONS = list("abcdefghij")


def run() -> list[Figure]:
    """CPU seconds a query, over a thousand of them."""
    random_sets(200, 64)  # what is compiled is compiled
    sets = random_sets(PEOPLE, QUERIES)
    small, large = by_formulas("sum", PEOPLE), by_formulas("sum", 10 * PEOPLE)
    extremes = by_formulas("max", PEOPLE, 200)
    return [
        figure(GROUP, "sum auditing, 10,000 people, formulas, a query", [small], target=TARGET),
        figure(GROUP, "sum auditing, 100,000 people, formulas, a query", [large]),
        figure(GROUP, "sum auditing, 10,000 people, random sets, a query", [sets], target=TARGET),
        figure(GROUP, "max auditing, 10,000 people, formulas, a query of 200", [extremes]),
        figure(GROUP, "count auditing, 10,000 people, formulas, a query of 60", [counts(PEOPLE, 60)]),
    ]


def by_formulas(kind: str, people: int, queries: int = QUERIES) -> float:
    """Seconds of a sum or maximum of wages."""
    draws = np.random.default_rng(1)
    table: dict[str, Any] = {
        "age": draws.integers(16, 90, people),
        "region": draws.choice(REGIONS, people),
        "job": draws.integers(0, 40, people),
        "wage": draws.integers(1000, 9000, people).astype(float),
    }
    controls = [sf.SumAuditing() if kind == "sum" else sf.ExtremeAuditing()]
    database = sf.StatisticalDatabase(table, controls=controls, values=["wage"], keys=["age", "region", "job"])
    asked = []
    for _ in range(queries):
        low, job, regions = draws.integers(16, 80), draws.integers(0, 40), draws.choice(REGIONS, 3, replace=False)
        ages = f"age between {low} and {low + draws.integers(1, 40)}"
        asked.append(f"{kind} wage where {ages} and region in ({', '.join(regions)}) or job < {job}")
    return of_all(database, asked)


def of_all(database: sf.StatisticalDatabase, asked: list[str]) -> float:
    """Seconds of a query, from its text to its answer or refusal."""
    began = time.process_time()
    for query in asked:
        try:
            database.ask(query)
        except sf.QueryRefused:
            continue
    return (time.process_time() - began) / len(asked)


def counts(people: int, queries: int) -> float:
    """Seconds of a count of a private column."""
    draws = np.random.default_rng(1)
    table = {
        "age": draws.integers(16, 90, people),
        "region": draws.choice(REGIONS, people),
        "ill": draws.choice(["flu", "hiv", "none"], people, p=[0.2, 0.05, 0.75]),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sf.OfflineAuditingWarning)
        database = sf.StatisticalDatabase(
            table, controls=[sf.CountAuditing("ill")], keys=["age", "region"], auditing="offline"
        )
    asked = []
    for _ in range(queries):
        low, regions = draws.integers(16, 80), draws.choice(REGIONS, 3, replace=False)
        ages = f"age between {low} and {low + draws.integers(3, 40)}"
        asked.append(
            f"count where {ages} and region in ({', '.join(regions)}) and ill = {draws.choice(['flu', 'hiv'])}"
        )
    return of_all(database, asked)


def random_sets(people: int, queries: int) -> float:
    """Seconds of a random half of the people to the auditor alone."""
    draws = np.random.default_rng(1)
    classes, space = QueryClasses(people), RowSpace()
    sets = [draws.random(people) < 0.5 for _ in range(queries)]
    began = time.process_time()
    for one in sets:
        parents, inside = classes.split(one)
        space.widen(parents)
        if not space.determined(inside, classes.sizes):
            space.keep()
    return (time.process_time() - began) / queries
