"""Attacks on counts: what certainly succeeds on plain answers is a bet here, and no better one than epsilon allows.

Differencing; the general tracker of Denning, Denning and Schwartz, "The tracker: a threat to statistical database
security", 1979.
"""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.mechanisms import laplace
from tests.fuzz import slow_but

ERROR = 1e-6  # probability that a test fails where nothing is wrong
BEFORE = 120  # rows that are ill without the patient
SIZES = slow_but([(4_000, "1"), (30_000, "1"), (30_000, "0.2")], (4_000, "1"))


def bound(epsilon: str) -> float:
    """How often an attacker with even odds is right, at most."""
    return math.exp(float(epsilon)) / (1 + math.exp(float(epsilon)))


def chance(trials: int) -> float:
    """How far a share of trials may be from its probability (Hoeffding)."""
    return math.sqrt(math.log(2 / ERROR) / (2 * trials))


def differencing(trials: int, epsilon: str, sensitivity: int = 1) -> float:
    """How often the best attacker is right who knows every row but that of one patient, who is ill or not."""
    ill = np.arange(trials) % 2
    seen = np.array(laplace((BEFORE + ill).tolist(), sensitivity, Decimal(epsilon)).values)
    return float(((seen > BEFORE) == (ill == 1)).mean())  # the threshold where the likelihoods of both cross


def test_differencing_names_the_illness_on_plain_counts():
    table = pl.DataFrame({"ill": [True] * BEFORE + [False] * 80})
    for ill in (True, False):
        after = pl.concat([table, pl.DataFrame({"ill": [ill]})])
        assert (after["ill"].sum() - table["ill"].sum() == 1) == ill


@pytest.mark.parametrize(("trials", "epsilon"), SIZES)
def test_differencing_is_a_bet_that_epsilon_bounds(trials, epsilon):
    right = differencing(trials, epsilon)
    assert right <= bound(epsilon) + chance(trials)
    assert right >= bound(epsilon) - chance(trials)  # geometric noise attains it: the attacker is the best there is


def test_a_halved_sensitivity_would_be_seen():
    """What counts twice, and is noised as if it counted once, is named more often than the bound."""
    ill = 2 * (np.arange(4_000) % 2)
    seen = np.array(laplace((BEFORE + ill).tolist(), 1, Decimal(1)).values)
    right = ((seen > BEFORE + 1) == (ill > 1)).mean()
    assert right > bound("1") + chance(4_000)


# The tracker

TOWNS = [f"town {number % 11}" for number in range(199)]
CLINIC = pl.DataFrame(
    {
        "town": [*TOWNS, "far away"],
        "sex": ["F" if number % 2 else "M" for number in range(200)],
        "ill": ["yes" if number % 3 == 0 else "no" for number in range(200)],
    }
)
LEAST = 20  # rows that a set has at least, and its complement, to be counted by the old control


class Refused(Exception):
    """The set is too small, or all but a few."""


def controlled(table: pl.DataFrame, condition: pl.Expr) -> int:
    """Query-set-size control: a count that is answered if neither it nor what is left is small."""
    found = table.filter(condition).height
    if not LEAST <= found <= table.height - LEAST:
        raise Refused
    return found


def tracked(table: pl.DataFrame, condition: pl.Expr, tracker: pl.Expr) -> int:
    """The count of any set, by sets that are all large enough."""
    everybody = controlled(table, tracker) + controlled(table, ~tracker)
    return controlled(table, condition | tracker) + controlled(table, condition | ~tracker) - everybody


@pytest.mark.parametrize("ill", ["yes", "no"])
def test_the_tracker_beats_a_control_of_sizes(ill):
    table = CLINIC.with_columns(pl.when(pl.col("town") == "far away").then(pl.lit(ill)).otherwise("ill").alias("ill"))
    person, tracker = pl.col("town") == "far away", pl.col("sex") == "F"
    for condition in (person, person & (pl.col("ill") == "yes")):
        with pytest.raises(Refused):
            controlled(table, condition)
    assert tracked(table, person, tracker) == 1
    assert tracked(table, person & (pl.col("ill") == "yes"), tracker) == (ill == "yes")


@pytest.mark.parametrize("trials", slow_but([1_000, 8_000], 1_000))
def test_the_tracker_here_is_a_bet_that_is_worse_than_asking(trials):
    """Its four counts cost a quarter of the budget each, and the noise of all four is in the sum."""
    ill = np.arange(trials) % 2
    counts = np.stack([ill + 80, 0 * ill + 101, 0 * ill + 100, 0 * ill + 81])  # or, or not, tracker, its complement
    noisy = np.array(laplace(counts.ravel().tolist(), 1, Decimal("0.25")).values).reshape(counts.shape)
    sum_ = noisy[0] + noisy[1] - noisy[2] - noisy[3]
    truth = counts[0] + counts[1] - counts[2] - counts[3]
    assert set(truth - ill) == {0}
    right = ((sum_ >= 1) == (ill == 1)).mean()
    assert right <= bound("0.5") + chance(trials)  # below what asking once for all of the budget would give


def test_small_sets_are_answered_and_the_budget_ends_the_tracker():
    session = sf.dp.Session(CLINIC, 1, keys={"sex": ["F", "M"]})
    assert session.count(where='town = "far away"', epsilon=0.25).scale == pytest.approx(4)
    for where in ("sex = F", "sex = M", 'town != "far away" and sex = F'):
        session.count(where=where, epsilon=0.25)
    with pytest.raises(sf.errors.BudgetSpent):
        session.count(where='town != "far away" and sex = M', epsilon=0.25)
