"""What fragments say of confidentiality constraints and of a loose association, worked out by hand."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.criteria.sets import Fragmentation, LooseAssociation
from sfumato.criteria.sets.model import examined_set
from sfumato.criteria.sets.published import PublishedSet, PublishedTable

NAMES = {"name": ["Ann", "Bob", "Cid", "Dan"], "zip": ["1", "2", "3", "4"]}
ILL = {"birth": ["60", "61", "62", "63"], "disease": ["flu", "gout", "cold", "ulcer"]}
SETS = [["name", "disease"], ["zip", "birth"], ["ssn"]]
# two groups of two on either side, each pair once
FIRST, SECOND = {"g": ["1", "1", "2", "2"], **NAMES}, {"h": ["1", "1", "2", "2"], **ILL}
PAIRS = {"g": ["1", "1", "2", "2"], "h": ["1", "2", "1", "2"]}


def published(*tables: dict[str, list[Any]], **roles: str) -> PublishedSet:
    of = {"g": "group", "h": "group", **roles}
    return PublishedSet({
        f"t{i}": PublishedTable(f"t{i}", pl.DataFrame(texts), {c: of.get(c, "insensitive") for c in texts})
        for i, texts in enumerate(tables)
    })  # fmt: skip


def kept(*tables: dict[str, list[Any]], associated: bool = False, **roles: str) -> Any:
    return examined_set(Fragmentation(SETS, associated), published(*tables, **roles))


def loose(*tables: dict[str, list[Any]], k: int = 4) -> Any:
    return examined_set(LooseAssociation(SETS[:2], k), published(*tables))


def test_fragments_without_a_constraint_in_them() -> None:
    found = kept(NAMES, ILL)
    assert (found.holds, found.measured, found.bound, found.how) == (True, 0, 0, "proven")
    assert kept(FIRST, SECOND, PAIRS, associated=True).holds


def test_each_constraint_that_is_seen_is_counted() -> None:
    found = kept({**NAMES, **ILL, "ssn": ["1", "2", "3", "4"]}, {"x": ["a"] * 4})
    assert (found.holds, found.measured) == (False, 3)
    assert 't0" shows "name" and "disease"' in str(found.note)


def test_a_single_column_may_stand_encrypted() -> None:
    cells = [f"s{i}" + "A" * 60 for i in range(4)]
    assert kept(NAMES, {**ILL, "ssn": cells}, ssn="encrypted").holds
    for wrong in (["1", "2", "3", "4"], [cells[0]] * 4, [*cells[:3], cells[3] + "A"], [*cells[:3], None]):
        found = kept(NAMES, {**ILL, "ssn": wrong}, ssn="encrypted")
        assert not found.holds
        assert "not encrypted" in str(found.note)


@pytest.mark.parametrize(
    ("tables", "note"),
    [
        ((NAMES, {**ILL, "zip": NAMES["zip"]}), "which joins them"),
        ((NAMES, {name: values[:3] for name, values in ILL.items()}), "as many rows"),
        ((FIRST, {"g": FIRST["g"], **ILL}), "groups of the fragments"),
        ((FIRST, SECOND, PAIRS), "not promised to be loose"),
        ((FIRST, SECOND, PAIRS, PAIRS), "more than one table of pairs"),
        ((FIRST, SECOND), "groups of the fragments"),
        (({**FIRST, "h": SECOND["h"]}, ILL, PAIRS), "groups of two kinds"),
    ],
)
def test_what_joins_the_fragments_is_found(tables: Any, note: str) -> None:
    found = kept(*tables)
    assert (found.holds, found.measured) == (False, None)
    assert note in str(found.note)


def test_four_associated_values_each_once() -> None:
    found = loose(FIRST, SECOND, PAIRS)
    assert (found.holds, found.measured, found.bound) == (True, 4.0, 4)
    assert not loose(FIRST, SECOND, PAIRS, k=5).holds


def test_a_value_in_two_associated_groups_counts_twice() -> None:
    """Gout in either group: every name has it with a half of a half, twice."""
    twice = {**SECOND, "disease": ["flu", "gout", "gout", "ulcer"]}
    found = loose(FIRST, twice, PAIRS)
    assert (found.holds, found.measured) == (False, 2.0)
    assert loose(FIRST, twice, PAIRS, k=2).holds


@pytest.mark.parametrize(
    ("tables", "note"),
    [
        ((FIRST, SECOND, {"g": ["1", "1", "2", "2"], "h": ["1", "1", "1", "2"]}), "stands twice"),
        ((FIRST, SECOND, {"g": ["1", "1", "2"], "h": ["1", "2", "1"]}), "not as many rows as pairs"),
        (({**FIRST, "g": ["1", "1", "1", "2"]}, SECOND, PAIRS), "not as many rows as pairs"),
        (({**FIRST, "g": ["1", "1", None, "2"]}, SECOND, PAIRS), "not as many rows as pairs"),
        ((NAMES, ILL), "no table of pairs"),
        (({"g": FIRST["g"], "name": NAMES["name"]}, {"h": SECOND["h"], "birth": ILL["birth"]}, PAIRS),
         "no constraint is on both"),
    ],
)  # fmt: skip
def test_associations_that_contradict_the_fragments_keep_nothing(tables: Any, note: str) -> None:
    found = loose(*tables)
    assert (found.holds, found.measured) == (False, None)
    assert note in str(found.note)


def test_constraints_are_lists_of_columns() -> None:
    for wrong in ([], "name", [[]], [["a", "a"]]):
        with pytest.raises(sf.errors.PolicyError):
            Fragmentation(wrong)
    assert Fragmentation([["a", "b"]], True).sentence().endswith("But for pairs of groups nothing joins two tables.")
