"""The attack by order: a list laid beside a release. Small tables whose answers are worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import ColumnError, PolicyError
from sfumato.measures.attacks import attack_summary, order
from sfumato.measures.attacks.kernels import align

PEOPLE = {"age": [31, 32, 33, 34, 51, 52], "disease": ["flu", "cold", "asthma", "flu", "cold", "flu"]}
YOUNG, OLD = "[31, 34]", "[51, 52]"


def test_rows_left_where_they_stood() -> None:
    kept = {"age": [YOUNG] * 4 + [OLD] * 2, "disease": PEOPLE["disease"]}
    found = order(kept, PEOPLE, ["age"], "disease")
    assert (found.success, found.trials, found.details["placed"]) == (1.0, 6, 6)
    # "flu" is right for two of the four; of the old each of two equally frequent values gets half of two
    assert found.baseline == pytest.approx((2 + 1) / 6)
    assert found.interval == pytest.approx((0.6097, 1.0), abs=1e-4)
    assert found.exposed[:2] == (1, 2)  # whom guessing would not have found


def test_classes_in_another_order_hide_nothing_where_the_rows_in_them_keep_theirs() -> None:
    """Old ones first: only one class can be lined up with the list, the longer one."""
    kept = {"age": [OLD] * 2 + [YOUNG] * 4, "disease": ["cold", "flu", "flu", "cold", "asthma", "flu"]}
    found = order(kept, PEOPLE, ["age"], "disease")
    assert found.details["placed"] == 4
    assert found.success == pytest.approx(5 / 6)  # the other two are guessed, right for one of them


def test_a_suppressed_row_moves_those_behind_it() -> None:
    kept = {"age": [YOUNG] * 3 + [OLD] * 2, "disease": ["flu", "asthma", "flu", "cold", "flu"]}  # without the second
    found = order(kept, PEOPLE, ["age"], "disease")
    assert found.details["placed"] == 5
    assert found.success >= 4 / 6


def test_labels_that_cannot_fit_are_no_places() -> None:
    found = order({"age": ["[80, 90]"] * 6, "disease": PEOPLE["disease"]}, PEOPLE, ["age"], "disease")
    assert (found.success, found.baseline, found.details["placed"], found.exposed) == (0.0, 0.0, 0, ())


def test_people_that_are_not_in_the_release() -> None:
    """The list has a stranger between the two, whose value nobody has."""
    listed = {"age": [31, 40, 51], "disease": ["flu", "ulcer", "cold"]}
    found = order({"age": ["31", "51"], "disease": ["flu", "cold"]}, listed, ["age"], "disease")
    assert found.success == pytest.approx(2 / 3)
    assert set(found.exposed) <= {0, 2}


def longest(fits: list[list[int]]) -> int:
    """The same by trying all."""
    best = [0]

    def walk(i: int, behind: int, n: int) -> None:
        best[0] = max(best[0], n)
        for j in range(i, len(fits)):
            for place in fits[j]:
                if place > behind:
                    walk(j + 1, place, n + 1)

    walk(0, -1, 0)
    return best[0]


def test_the_alignment_is_the_longest() -> None:
    rng = np.random.default_rng(2)
    for _ in range(200):
        fits = [sorted(rng.choice(7, rng.integers(0, 4), replace=False).tolist()) for _ in range(rng.integers(1, 7))]
        start = np.concatenate([[0], np.cumsum([len(f) for f in fits])])
        row = align(start, np.array([p for f in fits for p in f], np.int64))
        placed = row[row >= 0]
        assert (np.diff(placed) > 0).all()
        assert all(place < 0 or place in fit for place, fit in zip(row.tolist(), fits, strict=True))
        assert len(placed) == longest(fits)


def test_a_list_too_long_is_tried_from_its_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib import import_module

    where = import_module("sfumato.measures.attacks.order")
    rng = np.random.default_rng(1)
    people = pl.DataFrame({"age": rng.integers(20, 60, 400), "disease": rng.choice(["a", "b", "c"], 400)})
    kept = people.with_columns(pl.lit("*").alias("age"))
    assert order(kept, people, ["age"], "disease").success == 1.0
    monkeypatch.setattr(where, "PEOPLE", 100)
    found = order(kept, people, ["age"], "disease")
    assert (found.success, found.trials, found.details["sampled"]) == (1.0, 100, True)
    monkeypatch.setattr(where, "PAIRS", 1000)
    found = order(kept, people, ["age"], "disease")
    assert 0 < found.details["placed"] < 100


def test_what_it_needs() -> None:
    with pytest.raises(ColumnError, match="the list has no column"):
        order(PEOPLE, {"age": [1]}, ["age"], "disease")
    with pytest.raises(PolicyError):
        order(PEOPLE, PEOPLE, ["disease"], "disease")


@pytest.mark.slow
def test_it_is_tried_where_there_is_a_list() -> None:
    kept = {"age": [YOUNG] * 4 + [OLD] * 2, "disease": PEOPLE["disease"]}
    asked: dict[str, Any] = {"quasi": ["age"], "sensitive": ["disease"], "trials": 5}
    assert "order" not in attack_summary(kept, **asked)
    found = attack_summary(kept, **asked, original=PEOPLE)["order"]
    assert (found["success"], found["rows_of"]) == (1.0, "original")
    found = attack_summary(kept, **asked, external=PEOPLE)["order"]
    assert (found["success"], found["rows_of"]) == (1.0, "external")
    assert "order" not in attack_summary(kept, **asked, external={"age": PEOPLE["age"]})


def test_a_release_stays_at_the_baseline() -> None:
    rng = np.random.default_rng(4)
    people = pl.DataFrame({"age": np.sort(rng.integers(20, 80, 500)), "disease": rng.choice(["a", "b", "c"], 500)})
    asked: dict[str, Any] = {"quasi": ["age"], "sensitive": ["disease"], "require": sf.KAnonymity(10)}
    with pytest.warns(sf.RowOrderWarning):
        told = sf.anonymize(people, **asked, order="input")
    assert sf.attack(told, trials=20)["order"]["success"] == 1.0
    found = sf.attack(sf.anonymize(people, **asked), trials=20)["order"]
    assert found["interval"][0] <= found["baseline"]
