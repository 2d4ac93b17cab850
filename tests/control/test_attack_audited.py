"""What auditing lets through tells nobody: random queries until refusal, and then every attack on the log."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from tests.fuzz import FUZZ

from .attack_logs import ask_all, database

CERTAIN = ("linear-system", "differencing", "extremes", "intervals")  # which need no estimate


def asked(rng: np.random.Generator, people: int, queries: int) -> list[str]:
    """Random queries about random sets."""
    found = []
    for _ in range(queries):
        kind = rng.choice(["sum", "mean", "max", "min"])
        if rng.random() < 0.3:
            found.append(f"{kind} pay where g = {rng.integers(3)} or g = {rng.integers(3)}")
        elif len(some := np.flatnonzero(rng.random(people) < rng.uniform(0.2, 0.9))):
            found.append(f"{kind} pay where id in ({', '.join(map(str, some))})")
    return found


@pytest.mark.parametrize(
    "controls",
    [
        (sf.SumAuditing(),), (sf.ExtremeAuditing(),), (sf.SumAuditing(), sf.ExtremeAuditing()),
        (sf.CellRestriction(("g",), least=2), sf.ExtremeAuditing()),
    ],
    ids=["sums", "extremes", "both", "cells"],
)  # fmt: skip
def test_no_attack_finds_anybody_in_an_audited_log(controls: tuple[object, ...]) -> None:
    answers = 0
    for seed in range(12 * FUZZ):
        rng = np.random.default_rng(seed)
        people = int(rng.integers(4, 14))
        pay = rng.permutation(people) if seed % 2 else rng.integers(0, 4, people)  # all different, or not
        table = pl.DataFrame({"id": range(people), "g": rng.integers(0, 3, people), "pay": pay})
        owner = database(table, *controls, values=["pay"], keys=["id", "g"])
        told = ask_all(owner, asked(rng, people, 30))
        answers += sum(answer is not None for answer in told)
        found = sf.attack_queries(owner, table)
        assert all(found[name]["exposed"] == [] for name in CERTAIN if name in found), (seed, controls)
    assert answers > 12


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sfumato.OfflineAuditingWarning")
def test_no_attack_finds_who_is_ill_in_audited_counts() -> None:
    answers = 0
    for seed in range(8 * FUZZ):
        rng = np.random.default_rng(seed)
        people = int(rng.integers(4, 9))
        ill = ["yes" if one else "no" for one in rng.random(people) < 0.5]
        table = pl.DataFrame({"id": range(people), "ill": ill})
        owner = database(table, sf.CountAuditing(("ill",)), keys=["id"], auditing="offline")
        sets = [np.flatnonzero(rng.random(people) < rng.uniform(0.4, 1)).tolist() or [0] for _ in range(8)]
        told = ask_all(owner, [f"count where id in ({', '.join(map(str, some))}) and ill = yes" for some in sets])
        answers += sum(answer is not None for answer in told)
        found = sf.attack_queries(owner, table, sensitive=["ill"])
        assert all(found[name]["exposed"] == [] for name in CERTAIN if name in found), seed
    assert answers > 8


def test_without_auditing_the_same_queries_find_many() -> None:
    """The test above would see a fault."""
    rng = np.random.default_rng(1)
    table = pl.DataFrame({"id": range(8), "g": rng.integers(0, 3, 8), "pay": rng.permutation(8)})
    owner = database(table, sf.QuerySetSize(2), values=["pay"], keys=["id", "g"])
    ask_all(owner, asked(rng, 8, 40))
    found = sf.attack_queries(owner, table)
    assert len(found["linear-system"]["exposed"]) == 8
    assert found["extremes"]["exposed"] != []
