"""Attacks on a series of releases: the naive way pins people, m-invariance nobody."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato import errors
from tests.fuzz import FUZZ

JANUARY = {"id": ["Ann", "Bob"], "age": [30, 32], "disease": ["flu", "ulcer"]}
FEBRUARY = {"id": ["Ann", "Cid"], "age": [30, 40], "disease": ["flu", "cold"]}
ROLES = {"person": "id", "quasi": ["age"], "sensitive": "disease", "m": 2}


def test_ann_is_pinned_by_the_naive_way_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SFUMATO_KEY", "a key of these tests")
    first = sf.republish(None, JANUARY, state="s.bin", **ROLES)
    first.save("a")
    second = sf.republish("a", FEBRUARY, state="s.bin")
    second.save("b")
    naive = {"age": ["30-49", "30-49"], "disease": ["flu", "cold"]}
    months = [JANUARY, FEBRUARY]
    found = sf.attack(releases=["a", naive], original=months, person="id")["intersection"]
    # the flu alone is in both, so Ann has it: then Bob, who left, the ulcer, and Cid, who joined, the cold
    assert found["success"] == 1
    assert found["details"]["people pinned by values alone"] == 1
    assert found["details"]["fewer values than m"]["people"] == 3
    for series in (["a", "b"], [first, second]):
        found = sf.attack(releases=series, original=months, person="id")["intersection"]
        assert (found["success"], found["details"]["fewer values than m"]["people"]) == (0, 0)
    assert sf.attack("a", releases=["b"], original=months, person="id")["intersection"]["success"] == 0


def test_what_a_series_needs():
    with pytest.raises(errors.PolicyError, match="no release"):
        sf.attack()
    with pytest.raises(errors.PolicyError, match="two releases"):
        sf.attack(JANUARY, original=[JANUARY], person="id")
    with pytest.raises(errors.PolicyError, match="quasi-identifiers"):
        sf.attack(JANUARY, releases=[FEBRUARY], original=[JANUARY, FEBRUARY], person="id")
    with pytest.raises(errors.PolicyError, match="table behind each"):
        sf.attack(JANUARY, releases=[FEBRUARY], original=JANUARY, person="id", quasi=["age"], sensitive=["disease"])


def _months(rng, many, people):
    """A table that a tenth of the people leave each month, and as many join."""
    everybody = pl.DataFrame({
        "id": np.arange(many * 3),
        "age": rng.integers(18, 90, many * 3),
        "hours": rng.integers(1, 80, many * 3),
        "disease": rng.choice(list("abcdefgh"), many * 3),
    })  # fmt: skip
    there = list(range(many))
    left = list(range(many, many * 3))
    for _ in range(people):
        yield everybody[sorted(there)]
        gone = rng.choice(there, many // 10, replace=False)
        there = [i for i in there if i not in set(gone.tolist())] + left[: many // 10]
        left = left[many // 10 :]


def test_a_month_after_the_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SFUMATO_KEY", "a key of these tests")
    months = list(_months(np.random.default_rng(1), 200, 3 * FUZZ))
    roles = {"quasi": ["age", "hours"], "sensitive": ["disease"]}
    naive = [
        sf.anonymize(month.drop("id"), **roles, require=[sf.DistinctLDiversity("disease", 3)], search="mondrian").data
        for month in months
    ]
    found = sf.attack(releases=naive, original=months, person="id", m=3, **roles)["intersection"]
    assert found["success"] > 0.02
    series, last = [], None
    for month in months:
        last = sf.republish(last, month, m=3, state="s.bin", person="id", quasi=roles["quasi"], sensitive="disease")
        series.append(last)
    found = sf.attack(releases=series, original=months, person="id", m=3)["intersection"]
    assert (found["success"], found["details"]["fewer values than m"]["people"]) == (0, 0)


@pytest.mark.slow
def test_adult_ten_times(tmp_path, monkeypatch, shared):
    """The naive way pins people; m-invariance pins none."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SFUMATO_KEY", "a key of these tests")
    adult = pl.read_csv(shared / "data" / "arx" / "adult.csv", separator=";").head(12_000)
    roles = {"quasi": ["age", "education", "sex"], "sensitive": ["occupation"]}
    adult = adult.select(*roles["quasi"], *roles["sensitive"]).with_row_index("id")
    rng = np.random.default_rng(2)
    there = rng.choice(adult.height, 4000, replace=False)
    months, naive, series, last = [], [], [], None
    for _ in range(10):
        month = adult[np.sort(there)]
        months.append(month)
        require = [sf.DistinctLDiversity("occupation", 4)]
        naive.append(sf.anonymize(month.drop("id"), **roles, require=require, search="mondrian").data)
        last = sf.republish(last, month, m=4, state="s.bin", person="id", quasi=roles["quasi"], sensitive="occupation")
        series.append(last)
        stay = there[rng.random(len(there)) > 0.1]
        others = np.setdiff1d(np.arange(adult.height), there)
        there = np.concatenate([stay, rng.choice(others, len(there) - len(stay), replace=False)])
    found = sf.attack(releases=naive, original=months, person="id", m=4, **roles)["intersection"]
    assert found["details"]["fewer values than m"]["people"] > 0
    assert found["success"] > 0
    found = sf.attack(releases=series, original=months, person="id", m=4)["intersection"]
    assert (found["success"], found["details"]["fewer values than m"]["people"]) == (0, 0)
