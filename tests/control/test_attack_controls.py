"""Attacks on single people against each control: what theory says comes out."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.control import SetQuery
from sfumato.control.attacks.targeted import TARGETED
from sfumato.errors import ColumnError, PolicyError, QueryRefused

from .attack_logs import PATIENTS

TRACKERS = ("individual-tracker", "general-tracker", "union-tracker")


def staff(people: int = 90) -> pl.DataFrame:
    """Whom sex, age and town tell apart, one by one, and what they earn."""
    rng = np.random.default_rng(4)
    return pl.DataFrame(
        {
            "sex": ["F", "M"] * (people // 2),
            "age": [20 + i % 45 for i in range(people)],
            "town": [f"town {i // 15}" for i in range(people)],
            "wage": rng.permutation(people) * 100,
            "ill": ["yes" if one else "no" for one in rng.random(people) < 0.4],
        }
    )


def right(attacks: Any, *controls: Any, **options: Any) -> dict[str, float]:
    """The share of people whom each attack finds out."""
    given: dict[str, Any] = {"known": ["sex", "age", "town"], "secret": "wage", "targets": 4, "most": 150} | options
    found = sf.attack_controls(staff(), {"these": controls}, attacks=attacks, **given)
    assert (found["right"] + found["wrong"] + found["nothing"] == 1).all()
    return dict(zip(found["attack"], found["right"], strict=True))


def test_without_a_control_one_query_does() -> None:
    assert right(["direct"], sf.QuerySetSize(1)) == {"direct": 1}


def test_size_limits_fall_to_trackers_and_not_to_one_difference() -> None:
    found = right(["direct", "differencing", *TRACKERS, "double-tracker"], sf.QuerySetSize(10))
    assert found == {"direct": 0, "differencing": 0, **dict.fromkeys(TRACKERS, 1), "double-tracker": 1}


def test_the_overlap_falls_to_a_linear_system_and_to_no_tracker() -> None:
    found = right(["linear-system", *TRACKERS, "double-tracker"], sf.QuerySetSize(4), sf.QuerySetOverlap(1))
    assert found == {"linear-system": 1, **dict.fromkeys(TRACKERS, 0), "double-tracker": 0}


def test_a_register_of_names_beats_large_sets_too() -> None:
    """Ten people to a set: twenty queries, after those that were refused as too small."""
    table = pl.DataFrame({"id": [f"p{i}" for i in range(120)], "wage": range(120)})
    controls = {"both": [sf.QuerySetSize(10), sf.QuerySetOverlap(1)]}
    given: dict[str, Any] = {"known": ["id"], "secret": "wage", "targets": 2, "within": 0}
    [found] = sf.attack_controls(table, controls, attacks=["linear-system"], **given).rows(named=True)
    assert (found["right"], found["queries"] - found["refusals"], found["refusals"]) == (1, 20, 8)


def test_the_order_holds_for_whom_few_attributes_do_not_tell_apart() -> None:
    assert right(["direct", *TRACKERS], sf.QueryOrder(1)) == {"direct": 0, **dict.fromkeys(TRACKERS, 0)}


@pytest.mark.slow
def test_rounding_falls_to_averages() -> None:
    controls = (sf.QuerySetSize(10), sf.RoundedAnswers(4000, "random"))
    found = right(["averaging", "individual-tracker"], *controls, within=0.1, most=400)
    assert found["averaging"] == 1
    assert found["individual-tracker"] < 1


@pytest.mark.slow
def test_samples_of_small_sets_fall_to_averages() -> None:
    ill: dict[str, Any] = {"secret": "ill = yes", "most": 400, "targets": 8}
    assert right(["averaging"], sf.QuerySetSize(5), sf.RandomSample(0.95, "key"), **ill)["averaging"] >= 0.75


def test_auditing_lets_nothing_through() -> None:
    """Exactly: a value within 1% of the range is no more frequent than a guess."""
    attacks = ["direct", "differencing", *TRACKERS, "double-tracker", "linear-system", "extremes"]
    found = right(attacks, sf.SumAuditing(), sf.ExtremeAuditing(), targets=2, most=40)
    assert found == dict.fromkeys(attacks, 0)


def test_a_maximum_that_changes_is_found() -> None:
    assert right(["extremes"], sf.QuerySetSize(2))["extremes"] > 0.5


def test_a_condition_is_looked_for_by_counts() -> None:
    found = right(["general-tracker", "linear-system"], sf.QuerySetSize(10), secret="ill = yes")
    assert found["general-tracker"] == 1
    tried = sf.attack_controls(
        PATIENTS, {"size": [sf.QuerySetSize(3)]}, known=["sex", "age"], secret="ill = yes", attacks=["general-tracker"]
    )
    assert tried["right"].to_list() == [1]
    assert tried["guess"].to_list() == [0.6]


def test_whatever_answers_can_be_attacked() -> None:
    """Noise of one scale for every answer, of another database."""
    table, rng = staff(), np.random.default_rng(0)

    def noisy() -> Any:
        def ask(query: SetQuery) -> float:
            if query.kind != "sum":
                raise QueryRefused("sums alone")
            return float(table["wage"].to_numpy()[query.where.rows(table)].sum() + rng.normal(0, 1e6))

        return ask

    found = sf.attack_controls(table, {"noise": noisy}, known=["sex", "age", "town"], secret="wage", targets=3, most=20)
    assert found["right"].max() == 0
    assert found["attack"].to_list() == list(TARGETED)


def test_the_same_seed_gives_the_same_frame() -> None:
    given: dict[str, Any] = {"known": ["age", "sex"], "secret": "ill = yes", "attacks": ["union-tracker", "averaging"]}
    first, second = (
        sf.attack_controls(staff(40), {"size": [sf.QuerySetSize(5)]}, targets=3, most=30, **given) for _ in range(2)
    )
    assert first.equals(second)


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"known": ["agee"]}, ColumnError, 'did you mean "age"'),
        ({"known": ["sex"]}, PolicyError, "nobody is known"),
        ({"secret": "ill"}, PolicyError, 'as "ill = yes"'),
        ({"secret": "salary"}, PolicyError, "formula"),
        ({"secret": "il = yes"}, ColumnError, 'did you mean "ill"'),
        ({"attacks": ["tracker"]}, PolicyError, "general-tracker"),
        ({"targets": 0}, PolicyError, "targets"),
        ({"controls": []}, PolicyError, "named; got list"),
        ({"controls": {}}, PolicyError, "named; got none"),
        ({"within": 2}, PolicyError, "within"),
    ],
)
def test_what_is_refused(given: dict[str, Any], error: type[Exception], said: str) -> None:
    controls = {"size": [sf.QuerySetSize(5)]}
    asked: dict[str, Any] = {"controls": controls, "known": ["sex", "age", "town"], "secret": "wage"} | given
    with pytest.raises(error, match=said):
        sf.attack_controls(staff(), **asked)
