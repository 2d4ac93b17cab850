"""Membership and intersection, worked by hand and on people who differ."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sfumato import errors
from sfumato.measures.attacks import intersection, membership
from tests.measures.attacks.tables import PATIENTS, QUASI, RELEASED, people, suppressed

OTHERS = pl.DataFrame({"zipcode": ["47671", "47999", "47903", "10115"], "age": [25, 50, 44, 30]})


def test_membership_of_patients_by_hand() -> None:
    found = membership(RELEASED, PATIENTS, OTHERS, QUASI, population=pl.concat([PATIENTS.select(QUASI), OTHERS]))
    # each release of nine covers all members; of the others 47671/25 and 47903/44 are covered, two are not
    assert found.trials == 8
    assert found.success == pytest.approx((4 + 2) / 8)
    assert found.baseline == 0.5
    assert found.details["members found"] == 1
    assert found.details["others taken"] == 0.5
    assert found.details["advantage"] == 0.5
    assert found.details["presence"] == 1  # (476**, 3*) covers three people, all released
    assert found.of == "original"


def test_membership_unprotected_and_suppressed() -> None:
    here, others, quasi = people(400, 1), people(500, 2), ["age", "zip"]
    open_ = membership(here, here, others, quasi)
    assert open_.success > 0.99
    closed = membership(suppressed(here, quasi), here, others, quasi)
    assert closed.success == closed.baseline == 0.5
    assert closed.advantage == 0
    assert membership(here, here, others, quasi, trials=100, seed=3).trials == 100


def test_views_joined_on_sex_pin_john_and_david() -> None:
    names = ["Sue", "Claire", "Ann", "John", "David", "Mary", "Alice", "Carol", "Kate"]
    sexes = ["F", "F", "F", "M", "M", "F", "F", "F", "F"]
    first = pl.DataFrame({"name": names, "sex": sexes})
    second = pl.DataFrame(
        {
            "sex": ["F", "F", "F", "M", "F"],
            "disease": ["hypertension", "obesity", "chest pain", "obesity", "short breath"],
        }
    )
    found = intersection([first, second], first, ["name", "sex"], "disease")
    assert found.exposed == (3, 4)
    assert found.success == pytest.approx(2 / 9)
    assert found.baseline == 0
    assert found.details["average values left"] == pytest.approx((7 * 4 + 2 * 1) / 9)


def test_two_releases_of_patients_leave_less_than_each() -> None:
    again = pl.DataFrame(  # the same people a month later, in other classes
        {
            "zipcode": ["4767*", "476**", "4767*", "4790*", "4790*", "4790*", "476**", "4767*", "476**"],
            "age": ["20-39", "20-39", "20-39", "40-59", "40-59", "40-59", "20-39", "20-39", "20-39"],
            "disease": PATIENTS["disease"],
        }
    )
    alone = [intersection([r], PATIENTS, QUASI, "disease").success for r in (RELEASED, again)]
    both = intersection([RELEASED, again], PATIENTS, QUASI, "disease")
    assert alone == [pytest.approx(3 / 9), 0]  # 2*: heart disease alone; every class of the second has two
    assert both.success == pytest.approx(3 / 9)
    assert both.details["alone"] == alone
    keyed = intersection(
        [RELEASED.with_row_index("key"), again.with_row_index("key")],
        PATIENTS.with_row_index("key"),
        QUASI,
        "disease",
        key="key",
    )
    assert keyed.exposed == both.exposed == (0, 1, 2)


def test_intersection_leaves_one_where_each_leaves_two() -> None:
    first = {"age": ["20-39", "20-39", "40-59", "40-59"], "disease": ["flu", "cancer", "flu", "asthma"]}
    second = {"age": ["20-29", "20-29", "30-49", "30-49"], "disease": ["flu", "cold", "cancer", "asthma"]}
    everybody = {"age": [25, 33, 45, 58], "disease": ["flu", "cancer", "asthma", "flu"]}
    found = intersection([first, second], everybody, ["age"], "disease")
    # 25: {flu, cancer} and {flu, cold}; 33: {flu, cancer} and {cancer, asthma}; 45: {flu, asthma} and {cancer, asthma}
    # 58: {flu, asthma} alone, for the second release does not cover it
    assert found.exposed == (0, 1, 2)
    assert found.details["alone"] == [0, 0]
    wrong = {"age": [25, 33, 45, 58], "disease": ["cold", "cold", "cold", "cold"]}
    assert intersection([first, second], wrong, ["age"], "disease").success == 0  # the one left must be the true one


def test_intersection_unprotected_and_suppressed() -> None:
    table, quasi = people(300), ["age", "zip"]
    assert intersection([table, table], table, quasi, "disease").success > 0.99
    shut = suppressed(table, quasi)
    closed = intersection([shut, shut], table, quasi, "disease")
    assert closed.success == closed.baseline == 0


def test_intersection_needs_the_sensitive_column_somewhere() -> None:
    with pytest.raises(errors.ColumnError, match="no release"):
        intersection([RELEASED.select(QUASI)], PATIENTS, QUASI, "disease")
    with pytest.raises(errors.PolicyError):
        intersection([], PATIENTS, QUASI, "disease")


def test_values_of_people_who_are_in_no_table_fit_nobody_known() -> None:
    towns = {"town": ["Rome", "Oslo", "Bern", "Kyiv"], "ill": ["flu", "cold", "flu", "gout"]}
    found = membership(towns, {"town": ["Rome", "Oslo"]}, {"town": ["Paris", "Lima"]}, ["town"])
    assert found.success == 1
    again = {"town": ["Rome", "Riga", "Bern"], "ill": ["flu", "cold", "gout"]}
    both = intersection([towns, again], {"town": ["Rome", "Bern", "Oslo"]}, ["town"], "ill")
    # Rome has flu in both; Bern flu in one and gout in the other; Oslo is in the first alone, with a cold
    assert both.exposed == (0, 2)
    assert both.details["alone"] == [1.0, pytest.approx(2 / 3)]


@pytest.mark.parametrize("seed", range(12))
def test_texts_and_numbers_say_the_same_of_members_and_of_several_releases(seed: int) -> None:
    rng = np.random.default_rng(seed)
    texts = {str(i): f"town {i}" for i in range(12)}
    tables = [
        pl.DataFrame({"a": rng.integers(0, 12, n), "b": rng.integers(0, 3, n), "s": rng.integers(0, 3, n)})
        for n in (9, 7, 4, 4)
    ]
    first, second, some, others = tables
    some = pl.concat([some, first[:1], second[:1]])  # somebody is surely in each
    named = [t.with_columns(t["a"].cast(pl.String).replace(texts)) for t in (first, second, some, others)]
    plain = membership(first, some, others, ["a", "b"])
    assert membership(named[0], named[2], named[3], ["a", "b"]).success == plain.success
    rows = set(first.select("a", "b").rows())
    assert plain.details["others taken"] == np.mean([row in rows for row in others.select("a", "b").rows()])
    whose = {
        t: intersection(group, people, ["a", "b"], "s").success
        for t, group, people in (("numbers", [first, second], some), ("texts", named[:2], named[2]))
    }
    left = [
        [{s for a, b, s in table.rows() if (a, b) == (x, y)} for table in (first, second)] for x, y, _ in some.rows()
    ]
    known = [[values for values in sets if values] for sets in left]
    pinned = [bool(sets) and set.intersection(*sets) == {s} for sets, (_, _, s) in zip(known, some.rows(), strict=True)]
    assert whose == {"numbers": np.mean(pinned), "texts": np.mean(pinned)}


FIRST = {"age": ["30-39", "30-39"], "disease": ["flu", "ulcer"]}
NAIVE = {"age": ["30-49", "30-49"], "disease": ["flu", "cold"]}
INVARIANT = {"age": ["30", "30", "40", "40"], "disease": ["flu", "ulcer", "cold", "ulcer"]}
MONTHS = [
    {"id": ["Ann", "Bob"], "age": [30, 32], "disease": ["flu", "ulcer"]},
    {"id": ["Ann", "Cid"], "age": [30, 40], "disease": ["flu", "cold"]},
]


def test_ann_is_pinned_by_who_was_in_which_release() -> None:
    found = intersection([FIRST, NAIVE], MONTHS, ["age"], "disease", person="id")
    # flu is in both releases, so Ann has it; and then Bob, who left, the ulcer, and Cid, who joined, the cold
    assert (found.success, found.exposed, found.trials) == (1, (0, 1), 3)
    assert found.details["alone"] == [0, 0]
    assert found.details["people pinned by values alone"] == 1
    assert found.details["fewer values than m"] == {"m": 2, "people": 3, "share": 1}
    safe = intersection([FIRST, INVARIANT], MONTHS, ["age"], "disease", person="id")
    assert safe.success == 0
    assert safe.details["fewer values than m"]["people"] == 0
    assert safe.details["average values left"] == 2


def test_publishers_of_other_columns_pin_people_together() -> None:
    """Two hospitals release the same person by other quasi-identifiers."""
    one = {"age": ["30-39", "30-39"], "disease": ["flu", "ulcer"]}
    other = {"zip": ["1*", "1*"], "disease": ["flu", "cold"]}
    people = [
        {"id": ["Ann", "Bob"], "age": [30, 32], "zip": ["10", "20"], "disease": ["flu", "ulcer"]},
        {"id": ["Eve", "Ann"], "age": [50, 30], "zip": ["11", "10"], "disease": ["cold", "flu"]},
    ]
    found = intersection([one, other], people, ["age", "zip"], "disease", person="id")
    assert (found.success, found.exposed) == (1, (1, 0))  # Ann, who is row 1 of the last table, and so Eve
    assert found.details["people pinned by values alone"] == 1


def test_the_tables_behind_a_series_are_as_many_as_its_releases() -> None:
    with pytest.raises(errors.PolicyError, match="behind each release"):
        intersection([FIRST, NAIVE], MONTHS[:1], ["age"], "disease", person="id")
    twice = {**MONTHS[0], "id": ["Ann", "Ann"]}
    with pytest.raises(errors.ColumnError, match="somebody else in every row") as caught:
        intersection([FIRST, NAIVE], [twice, MONTHS[1]], ["age"], "disease", person="id")
    assert "Ann" not in str(caught.value)


@pytest.mark.parametrize("sign", [",", "; ", "|", "~"])
def test_sets_without_braces_tell_as_much(sign: str) -> None:
    """{a, b} and {a, c} have a in common; whoever lives in d is not among them."""
    table = pl.DataFrame({"town": ["a", "a", "b", "c"], "disease": ["flu", "flu", "ulcer", "cold"]})
    sets = (["ab", "ab", "ab", "cd"], ["ac", "ac", "bd", "ac"])
    bare = [table.with_columns(town=pl.Series([sign.join(words) for words in rows])) for rows in sets]
    braced = [table.with_columns(town=pl.Series(["{" + ", ".join(words) + "}" for words in rows])) for rows in sets]
    found, wanted = (intersection(released, table, ["town"], "disease") for released in (bare, braced))
    assert (found.success, found.exposed) == (wanted.success, wanted.exposed)
    holdout = pl.DataFrame({"town": ["d", "d", "a", "c"]})
    first, second = (membership(released[0], table, holdout, ["town"]) for released in (bare, braced))
    assert first.success == second.success < 1
