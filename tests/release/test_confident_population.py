"""Presence with a confidence, where only a distribution of people is known."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.criteria.confident_delta_presence import confidences
from sfumato.errors import ColumnError, Infeasible, PolicyError

ROWS = pl.DataFrame({"age": [21, 22, 31, 31], "sex": ["F", "M", "F", "F"]})
SHARES: dict[str, dict[Any, float]] = {"age": {21: 1, 22: 1, 31: 1, 32: 1}, "sex": {"F": 0.5, "M": 0.5}}
TREES = {"age": sf.redact("right"), "sex": sf.flat()}


def chance(people: int, share: float, least: int, most: int) -> float:
    """By every outcome of drawing the people one after the other."""
    found = 0.0
    for drawn in itertools.product((0, 1), repeat=people):
        if least <= sum(drawn) <= most:
            found += math.prod(share if one else 1 - share for one in drawn)
    return found


@pytest.mark.parametrize("inside", [0, 1, 2, 3])
@pytest.mark.parametrize(("low", "high"), [(0, 0.5), (0, 1), (0.25, 0.5), (0.4, 0.7)])
def test_confidence_is_that_of_all_outcomes(inside: int, low: float, high: float) -> None:
    people, share = 7, 0.3
    least = max(n for n in range(people + 2) if n == 0 or inside / (inside + n - 1) > high) if inside else 0
    most = max((n for n in range(people + 1) if inside / (inside + n) >= low), default=-1) if inside else people
    expected = chance(people, share, least, most) if inside else (1.0 if low == 0 else (1 - share) ** people)
    assert confidences(np.array([inside]), np.array([share]), people, low, high)[0] == pytest.approx(expected)
    asked = sf.ConfidentDeltaPresence("people.csv", 10, low, high, 0.5)
    assert asked._confidence(inside, share, people) == pytest.approx(expected)


def test_the_greater_the_population_the_finer_the_release() -> None:
    def levels(size: int) -> dict[str, int] | None:
        asked = sf.ConfidentDeltaPresence(SHARES, size, 0, 0.5, 0.9)
        return sf.anonymize(
            ROWS, quasi=["age", "sex"], require=asked, search="optimal", hierarchies=TREES
        ).solution.levels

    assert levels(1000) == {"age": 0, "sex": 0}
    assert levels(30) == {"age": 1, "sex": 0}  # F of 3*: 26 others, one in four of them: fewer than two is rare
    assert levels(16) != levels(30)
    with pytest.raises(Infeasible):
        levels(5)


def test_a_folder_is_proven_with_the_distribution(tmp_path: Path) -> None:
    people = pl.DataFrame({"age": [21, 22, 31, 32], "sex": ["F", "M", "F", "M"], "n": [10, 20, 30, 40]})
    asked = sf.ConfidentDeltaPresence(people, 200, 0, 0.5, 0.9, weight="n")
    release = sf.anonymize(ROWS[[0, 2, 3]], quasi=["age", "sex"], require=asked, search="mpalm")
    folder = release.save(tmp_path / "out")
    assert sf.verify(folder).outcome == "stated"
    assert sf.verify(folder, population=people).holds
    assert not sf.verify(folder, population=people.with_columns(n=pl.Series([10, 20, 30, 41]))).holds


def test_odd_distributions() -> None:
    def released(distribution: Any, **more: Any) -> None:
        asked = sf.ConfidentDeltaPresence(distribution, 100, 0, 0.5, 0.9, **more)
        sf.anonymize(ROWS, quasi=["age", "sex"], require=asked, hierarchies=TREES)

    with pytest.raises(ColumnError, match='has no column "n" of whole numbers'):
        released(ROWS, weight="n")
    with pytest.raises(PolicyError, match="add up to nothing"):
        released({"age": {21: 0}, "sex": {"F": 1}})
    with pytest.raises(PolicyError, match="too many combinations"):
        released({name: dict.fromkeys(map(str, range(1001)), 1) for name in ("age", "sex")})
    with pytest.raises(ColumnError, match='has no column "sex"'):
        released({"age": {21: 1}})
    asked = sf.ConfidentDeltaPresence(SHARES, 100, 0, 0.5, 0.9)
    with pytest.raises(PolicyError, match="spalm prunes the lattice"):
        sf.anonymize(ROWS, quasi=["age", "sex"], require=asked, search="spalm", hierarchies=TREES)


@pytest.mark.parametrize("size", [8, 16, 30, 200])
def test_optimal_is_the_best_of_all_level_vectors(size: int) -> None:
    asked: dict[str, Any] = {
        "quasi": ["age", "sex"], "require": sf.ConfidentDeltaPresence(SHARES, size, 0, 0.5, 0.9), "hierarchies": TREES
    }  # fmt: skip
    losses = []
    for age, sex in itertools.product(range(3), range(2)):
        try:
            found = sf.anonymize(ROWS, **asked, search="optimal", levels={"age": (age, age), "sex": (sex, sex)})
        except Infeasible:
            continue
        losses.append(found.solution.verdict.loss)
    if losses:
        assert sf.anonymize(ROWS, **asked, search="optimal").solution.verdict.loss == pytest.approx(min(losses))
    else:
        with pytest.raises(Infeasible):
            sf.anonymize(ROWS, **asked, search="optimal")
