"""Sampling, recoding and suppression as releases: what is written is what the steps say, and verify finds it so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sfumato as sf

RNG = np.random.default_rng(1)
TABLE = pl.DataFrame(
    {
        "age": RNG.integers(18, 99, 300),
        "region": RNG.choice(["n", "s", "w"], 300),
        "pay": np.exp(RNG.normal(10, 1, 300)).round(2),
        "w": RNG.uniform(1, 50, 300),
    }
)
STEPS = [
    ["sampling size=n:10,s:20,w:30 by=region"],
    ["global-recoding age cuts=30,50,70", "global-recoding pay groups=5 method=equal-count"],
    ["global-recoding region merge=nw:n|w", "sampling fraction=0.1"],
    ["top-bottom-coding pay top=99 bottom=1 kind=percentile"],
    ["multivariate-top-coding pay,age"],
    ["generalisation age levels=2", "risk-suppression age,region k=3 importance=region,age"],
]


@pytest.mark.parametrize("steps", STEPS, ids=lambda steps: steps[0].split()[0])
def test_released_and_verified(steps: list[str], tmp_path: Path) -> None:
    recipes = {"age": "intervals:5,10"}
    release = sf.mask(TABLE, steps, weight="w", rest="release", hierarchies=recipes, seed=3, to=tmp_path / "out")
    found = sf.verify(tmp_path / "out")
    assert release.facts
    assert [fact.fact for fact in found.facts] == [fact.fact for fact in release.facts]
    assert all(fact.holds for fact in found.facts)
    told = release.manifest["steps"]
    assert [step["perturbs"] for step in told] == [steps[0].startswith("multivariate")] * len(told)
