"""m-uniqueness by hand, and faults planted in what is published."""

from __future__ import annotations

import polars as pl
import pytest

from sfumato.criteria.sets import MInvariance, MUniqueness
from sfumato.criteria.sets.published import PublishedSet, PublishedTable
from sfumato.errors import PolicyError

ROLES = {"group": "group", "age": "quasi", "disease": "sensitive", "counterfeits": "count"}
GROUP, AGE = ["1", "1", "2", "2", "2"], ["30", "30", "4*", "4*", "4*"]
DISEASE = ["flu", "ulcer", "cold", "flu", "ulcer"]


def _published(group=GROUP, age=AGE, disease=DISEASE, of=("1", "2"), counterfeits=("1", "0")):
    tables = {
        "data": pl.DataFrame({"group": group, "age": age, "disease": disease}),
        "counterfeits": pl.DataFrame({"group": list(of), "counterfeits": list(counterfeits)}),
    }
    return PublishedSet({name: PublishedTable(name, texts, ROLES) for name, texts in tables.items()})


def test_two_groups_by_hand():
    found = MUniqueness("disease", 2).audit(_published())
    assert (found.holds, found.measured, found.failing_classes) == (True, 2, 0)
    found = MUniqueness("disease", 3).audit(_published())
    assert (found.holds, found.measured, found.failing_classes) == (False, 2, 1)


@pytest.mark.parametrize(
    ("changed", "note"),
    [
        ({"disease": ["flu", "flu", "cold", "flu", "ulcer"]}, "with a value twice"),
        ({"disease": ["flu", "ulcer", "cold", None, None]}, "with a value twice"),
        ({"age": ["30", "31", "4*", "4*", "4*"]}, "do not look alike"),
        ({"age": ["30", None, "4*", "4*", "4*"]}, "do not look alike"),
        ({"counterfeits": ("2", "0")}, "counterfeits alone"),
    ],
)
def test_a_planted_fault_is_found(changed, note):
    found = MUniqueness("disease", 2).audit(_published(**changed))
    assert not found.holds
    assert found.failing_classes == 1
    assert note in found.note


@pytest.mark.parametrize(
    "changed",
    [
        {"of": ("1", "3")},
        {"of": ("1",), "counterfeits": ("1",)},
        {"of": ("1", "2", "2"), "counterfeits": ("1", "0", "0")},
        {"counterfeits": ("1", "-1")},
        {"counterfeits": ("1", None)},
        {"group": ["1", "1", "2", "2", None]},
        {"group": [], "age": [], "disease": []},
    ],
)
def test_tables_that_do_not_agree_prove_nothing(changed):
    given = _published(**changed)
    with pytest.raises(PolicyError):
        MUniqueness("disease", 2).audit(given)
    with pytest.raises(PolicyError):
        MInvariance("disease", 2).audit(given)


def test_m_invariance_is_never_measured_and_refuted_where_a_release_is_not_m_unique():
    promise = MInvariance("disease", 2)
    assert promise.how == "by construction"
    found = promise.audit(_published())
    assert (found.holds, found.measured) == (True, None)
    assert not promise.audit(_published(disease=["flu", "flu", "cold", "flu", "ulcer"])).holds


def test_m_of_one_promises_nothing():
    with pytest.raises(PolicyError):
        MUniqueness("disease", 1)
