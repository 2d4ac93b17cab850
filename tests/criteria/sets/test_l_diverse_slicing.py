"""What a sliced table says of its promise: the example of the paper, and tables that contradict each other."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from sfumato.criteria.sets import LDiverseSlicing
from sfumato.criteria.sets.model import examined_set
from sfumato.criteria.sets.published import PublishedSet, PublishedTable

PEOPLE = {
    "bucket": ["1"] * 4 + ["2"] * 4,
    "age": ["22", "22", "33", "52", "54", "60", "60", "64"],
    "sex": ["M", "F", "F", "F", "M", "M", "M", "F"],
}
HELD = {
    "bucket": ["1"] * 4 + ["2"] * 4,
    "zip": ["47905", "47905", "47906", "47906", "47302", "47302", "47304", "47304"],
    "disease": ["flu", "bronchitis", "dyspepsia", "flu", "flu", "dyspepsia", "dyspepsia", "gastritis"],
}
ROLES = {"bucket": "group", "age": "quasi", "sex": "quasi", "zip": "quasi", "disease": "sensitive"}


def published(**tables: dict[str, list[Any]]) -> PublishedSet:
    return PublishedSet({
        name: PublishedTable(name, pl.DataFrame(texts), {c: ROLES.get(c, "insensitive") for c in texts})
        for name, texts in tables.items()
    })  # fmt: skip


def examined(**tables: dict[str, list[Any]]) -> Any:
    return examined_set(LDiverseSlicing("disease", 2), published(**tables))


def test_the_example_of_the_paper() -> None:
    """Table 1f: a person of 22, M, 47906 has dyspepsia or flu, a half each."""
    found = examined(slice_1=PEOPLE, sensitive=HELD)
    assert (found.holds, found.measured, found.how) == (True, 2.0, "proven")


def test_one_value_beside_what_is_known_fails_although_the_bucket_has_more() -> None:
    worse = {**HELD, "disease": ["flu", "flu", "dyspepsia", "bronchitis", *HELD["disease"][4:]]}
    found = examined(slice_1=PEOPLE, sensitive=worse)
    assert (found.holds, found.measured) == (False, 1.0)
    alone = {name: worse[name] for name in ("bucket", "disease")}  # without the column beside it: two of four
    assert examined(slice_1=PEOPLE, sensitive=alone).holds


def test_missing_values_are_values() -> None:
    gaps = {**HELD, "zip": [None, None, *HELD["zip"][2:]], "disease": ["flu", None, *HELD["disease"][2:]]}
    assert examined(slice_1=PEOPLE, sensitive=gaps).holds
    assert not examined(slice_1=PEOPLE, sensitive={**gaps, "disease": [None, None, *HELD["disease"][2:]]}).holds


@pytest.mark.parametrize(
    ("tables", "note"),
    [
        ({"slice_1": {**PEOPLE, "zip": HELD["zip"]}, "sensitive": HELD}, "more than one table"),
        ({"slice_1": {**PEOPLE, "bucket": ["1"] * 5 + ["2"] * 3}, "sensitive": HELD}, "the same buckets"),
        ({"slice_1": {**PEOPLE, "bucket": [None, *PEOPLE["bucket"][1:]]}, "sensitive": HELD}, "no bucket"),
        ({"slice_1": {**PEOPLE, "disease": HELD["disease"]}, "sensitive": {"bucket": HELD["bucket"]}}, ""),
        ({"sensitive": HELD}, "beside others"),
        ({"slice_1": PEOPLE, "rest": {"bucket": HELD["bucket"], "zip": HELD["zip"]}}, "beside others"),
        ({"slice_1": {name: PEOPLE[name] for name in ("age", "sex")}, "sensitive": HELD}, "one column that is group"),
    ],
)
def test_tables_that_contradict_each_other_or_join_keep_nothing(tables: dict[str, Any], note: str) -> None:
    if not note:  # the sensitive column in another table is audited where it stands
        assert not examined(**tables).holds
        return
    found = examined(**tables)
    assert not found.holds
    assert found.measured is None
    assert note in str(found.note)


def test_rows_that_are_counted_are_refused() -> None:
    good = published(slice_1=PEOPLE, sensitive={**HELD, "count": ["1"] * 8})
    held = good.tables["sensitive"]
    counted = PublishedTable("sensitive", held.texts, {**held.roles, "count": "count"})
    found = examined_set(LDiverseSlicing("disease", 2), PublishedSet({**good.tables, "sensitive": counted}))
    assert "counts its rows" in str(found.note)
