"""Controls of query sets: the worked examples of Denning's tracker and of overlapping sets."""

from __future__ import annotations

from itertools import product

import pytest

import sfumato as sf
from sfumato.errors import QueryRefused

PEOPLE = {
    "sex": list("FFFFMMMMMM"),
    "age": [29, 41, 35, 52, 29, 38, 47, 60, 33, 55],
    "ill": ["yes", "no", "no", "yes", "no", "yes", "no", "no", "yes", "no"],
}


def asked(database: sf.StatisticalDatabase, query: str) -> float:
    return database.ask(query).value


def refused(database: sf.StatisticalDatabase, query: str) -> bool:
    try:
        database.ask(query)
    except QueryRefused:
        return True
    return False


def test_the_general_tracker_of_the_specification() -> None:
    database = sf.StatisticalDatabase(PEOPLE, controls=[sf.QuerySetSize(3)])
    assert refused(database, "count where sex = F and age = 29")
    assert refused(database, "count")
    yes, no = asked(database, "count where sex = F"), asked(database, "count where not sex = F")
    assert (yes, no) == (4, 6)
    for own, found in (("sex = F and age = 29", 1), ("sex = F and age = 29 and ill = yes", 1)):
        assert refused(database, f"count where {own}")
        one = asked(database, f"count where ({own}) or sex = F")
        other = asked(database, f"count where ({own}) or not sex = F")
        assert one + other - (yes + no) == found


def test_the_individual_tracker() -> None:
    database = sf.StatisticalDatabase(PEOPLE, controls=[sf.QuerySetSize(3)])
    assert asked(database, "count where sex = F") - asked(database, "count where sex = F and not age = 29") == 1


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_size_is_within_k_and_n_less_k(k) -> None:
    database = sf.StatisticalDatabase({"row": list(range(10))}, controls=[sf.QuerySetSize(k)])
    for size in range(11):
        assert refused(database, f"count where row < {size}") == (not k <= size <= 10 - k)


def test_overlapping_sets_of_the_specification() -> None:
    data = {"row": [1, 2, 3, 4, 5], "wage": [10.0, 20.0, 31.0, 40.0, 50.0]}
    database = sf.StatisticalDatabase(data, controls=[sf.QuerySetOverlap(2)], values=["wage"])
    q1, q2, q3 = (asked(database, f"sum wage where row in ({rows})") for rows in ("1, 2, 3", "3, 4, 5", "1, 2, 4, 5"))
    assert (q1 + q2 - q3) / 2 == 31.0
    assert refused(database, "sum wage where row in (1, 2, 3, 4)")
    assert not refused(database, "mean wage where row in (1, 2, 3)")  # the same set again
    assert refused(database, "sum wage")


def test_order_counts_attributes() -> None:
    database = sf.StatisticalDatabase(PEOPLE, controls=[sf.QueryOrder(1)])
    assert not refused(database, "count where age > 40 and age < 50 or age = 29")
    assert refused(database, "count where age > 40 or sex = F")


@pytest.mark.parametrize(("first", "second"), list(product(["ann", "bob"], repeat=2)))
def test_users_apart_have_their_own_past(first, second) -> None:
    controls = [sf.QuerySetOverlap(1)]
    apart = sf.StatisticalDatabase(PEOPLE, controls=controls, users="apart")
    together = sf.StatisticalDatabase(PEOPLE, controls=controls)
    for database in (apart, together):
        database.ask("count where sex = F", user=first)
    with pytest.raises(QueryRefused):
        together.ask("count where age < 60", user=second)
    if first == second:
        with pytest.raises(QueryRefused):
            apart.ask("count where age < 60", user=second)
    else:
        assert apart.ask("count where age < 60", user=second).value == 9
