"""Every search, masker, generator and measure ends soon where `progress` raises `Cancelled`, and nothing works on."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields, replace
from functools import cache, partial
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.progress import Progress, quiet
from sfumato.testing.generators import mixed_table
from tests.conformance.test_searches import loss_for
from tests.fuzz import slow_but

MANY, FEW = 20_000, 300  # rows: what is cancelled works long enough on many, and runs to its end on few
QUASI = ["age", "zip", "sex", "job", "county"]
HIERARCHIES = {
    "age": sf.intervals(5, 10, 20),
    "zip": sf.redact("right"),
    "sex": "flat",
    "job": "flat",
    "county": "flat",
}
RETURNS = 0.2  # seconds from the exception to the end of the verb
IDLE = 1.0  # seconds until nothing of the run works any more


@cache
def people(rows: int) -> pl.DataFrame:
    """Households in areas, with ages, incomes and jobs."""
    chance = np.random.default_rng(8)
    home = np.arange(rows) // 3
    age = chance.integers(18, 90, rows)
    income = np.exp(9 + 0.01 * age + 0.5 * chance.standard_normal(rows)).round(2)
    return pl.DataFrame(
        {
            "state": [f"state {h % 2}" for h in home],
            "county": [f"county {h % 8}" for h in home],
            "home": home,
            "age": age,
            "zip": [f"{10_000 + n}" for n in chance.integers(0, 500, rows)],
            "sex": chance.choice(["F", "M"], rows),
            "job": chance.choice(["baker", "clerk", "nurse", "pilot"], rows),
            "income": income,
            "tax": (0.3 * income + 500 * chance.standard_normal(rows)).round(2),
            "weight": chance.uniform(1, 9, rows).round(1),
            "disease": chance.choice(["flu", "cold", "ulcer", "asthma", "gout"], rows),
        }
    )


@cache
def release(rows: int) -> sf.Recoded:
    asked = {"quasi": QUASI, "unprotected": ["disease"], "rest": "release", "k": 5, "search": "mondrian"}
    return sf.anonymize(people(rows), sensitive=["disease"], **asked)


def searched(name: str, rows: int, progress: Progress) -> Any:
    search: Any = sf.SEARCHES[name].example
    seconds = 60.0 if rows == MANY else 0.2
    search = replace(search, **{f.name: seconds for f in fields(search) if f.name == "seconds"})
    asked: dict[str, Any] = {"quasi": QUASI, "search": search, "loss": loss_for(name), "progress": progress}
    if search.private:
        trees = HIERARCHIES | {"zip": "flat"}
        require = "differential-privacy 1 1e-6"
        return sf.anonymize(people(rows).select(QUASI), require=require, hierarchies=trees, **asked)
    if search.fragments:
        return sf.anonymize(
            people(rows), quasi=QUASI, search=search, sensitive=["disease"], rest="release", suppression=0.5,
            require=sf.DistinctLDiversity("disease", 2), progress=progress,
        )  # fmt: skip
    if name == "alpha-k-local":
        asked["require"] = sf.AlphaK(0.9, 5, "disease", ["gout"])
    else:
        asked |= {"require": sf.KAnonymity(5), "unprotected": ["disease"]}
    asked |= {"sensitive": ["disease"], "rest": "release", "suppression": 0.05, "hierarchies": HIERARCHIES}
    return sf.anonymize(people(rows), **asked)


def masked(name: str, rows: int, progress: Progress) -> Any:
    step = sf.MASKERS[name].example
    asked: dict[str, Any] = {"weight": "weight", "seed": 1}
    table, asked = (people(rows).select(step.columns), {}) if step.private else (people(rows), asked)
    return sf.mask(table, step, rest="release", **asked, progress=progress)


def drawn(name: str, rows: int, progress: Progress) -> Any:
    generator: Any = sf.GENERATORS[name].example
    if generator.private:
        return sf.synthesize(mixed_table(), generator, progress=progress)
    table = people(rows).select("home", "age", "zip", "sex", "job", "income", "tax", "disease")
    table = table.select("age", "income", "tax") if name == "multivariate-normal" else table
    return sf.synthesize(table, generator, rest="release", seed=1, progress=progress)


MEASURES: dict[str, Callable[[int, Progress], Any]] = {
    "risk": lambda rows, progress: sf.risk(people(rows), quasi=QUASI, sensitive=["disease"], progress=progress),
    "risk of households": lambda rows, progress: sf.risk(
        people(rows), quasi=QUASI, household="home", weight="weight", progress=progress
    ),
    "risk by sets of columns": lambda rows, progress: sf.risk(
        people(rows), quasi=people(rows).columns[:8], suda=True, subsets=4, progress=progress
    ),
    "risk by gdpr": lambda rows, progress: sf.risk(release(rows), profile="gdpr", progress=progress),
    "risk by clinical": lambda rows, progress: sf.risk(
        people(rows), quasi=QUASI, profile="clinical", progress=progress
    ),
    "utility": lambda rows, progress: sf.utility(release(rows), target="disease", progress=progress),
    "attack": lambda rows, progress: sf.attack(release(rows), external=people(rows), progress=progress),
    "verify": lambda rows, progress: sf.verify(
        release(rows).table, quasi=QUASI, require=[sf.KAnonymity(5), sf.TCloseness("disease", 1.0)], progress=progress
    ),
    "suggest": lambda rows, progress: sf.suggest(release(rows), cost=True, progress=progress),
    "compare": lambda rows, progress: sf.compare(
        people(rows), quasi=QUASI, sensitive=["disease"], rest="release", k=[3, 5, 9, 17], suppression=[0.0, 0.05],
        mask=["rank-swapping p=5"], synthesize=["sequential-trees"], progress=progress,
    ),
    "choose": lambda rows, progress: sf.choose(people(rows), quasi=QUASI, rest="release", progress=progress),
}  # fmt: skip
CASES: dict[str, Callable[[int, Progress], Any]] = {
    **{f"search {name}": partial(searched, name) for name in sf.SEARCHES},
    **{f"masker {name}": partial(masked, name) for name in sf.MASKERS},
    **{f"generator {name}": partial(drawn, name) for name in sf.GENERATORS},
    **MEASURES,
}


def working() -> set[threading.Thread]:
    """Threads that are not this one, and do not wait for work elsewhere."""
    return {thread for thread in threading.enumerate() if thread.name.startswith(("sfumato", "compare", "ThreadPool"))}


def cancelled(case: Callable[[Progress], Any], moment: float) -> tuple[float, float] | None:
    """Seconds from the exception to the end of the verb, and to the end of its work; None where it was done before."""
    end, raised = time.perf_counter() + moment, [0.0]
    before = working()

    def progress(message: str, share: float | None) -> None:
        raised[0] = time.perf_counter()
        if raised[0] >= end:
            raise sf.Cancelled

    try:
        case(progress)
    except sf.Cancelled:
        returned = time.perf_counter() - raised[0]
        while working() - before and time.perf_counter() < raised[0] + 5 * IDLE:
            time.sleep(0.005)
        return returned, time.perf_counter() - raised[0]
    except sf.errors.Infeasible:
        pass
    return None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", slow_but(CASES, "search mdav", "generator mix"))
def test_ends_soon_and_works_again(name: str) -> None:
    run, found, longest = CASES[name], list[tuple[float, float]](), 0.5
    with suppress(sf.errors.Infeasible):
        run(FEW, quiet)  # which compiles kernels
    for _ in range(5):  # a busy machine may be late
        got = cancelled(partial(run, MANY), random.uniform(0.0, longest))
        if got is None:
            longest /= 3
            continue
        found.append(got)
        if got[0] <= RETURNS and got[1] <= IDLE:
            break
    assert not found or (found[-1][0] <= RETURNS and found[-1][1] <= IDLE), found
    with suppress(sf.errors.Infeasible):
        assert run(FEW, quiet) is not None


@pytest.mark.slow
def test_no_core_is_busy_afterwards() -> None:
    found = []
    for _ in range(3):
        assert cancelled(partial(CASES["search refined-microaggregation"], MANY), 0.5) is not None
        began = time.process_time()
        time.sleep(0.5)
        found.append(time.process_time() - began)
    assert min(found) < 0.1, found
