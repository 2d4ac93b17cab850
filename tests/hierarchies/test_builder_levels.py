from __future__ import annotations

from collections.abc import Callable

import pytest

from sfumato.core.hierarchy import Categories
from sfumato.errors import HierarchyError, PolicyError
from sfumato.hierarchies import levels

Column = Callable[..., Categories]
ORGANS = {"flu": "lung", "asthma": "lung", "ulcer": "stomach"}


def test_one_label_for_all(column: Column) -> None:
    assert levels("*").build(column(["f", "m"])).paths() == [("f", "*"), ("m", "*")]
    assert levels("person", "*").build(column(["f"])).path(0) == ("f", "person", "*")


def test_mappings_level_by_level(column: Column) -> None:
    built = levels(ORGANS, {"lung": "any", "stomach": "any"}).build(column(["asthma", "flu"]))
    assert built.paths() == [("flu", "lung", "any"), ("asthma", "lung", "any"), ("ulcer", "stomach", "any")]
    assert levels([ORGANS, "*"]).build(column(["flu"])).path(0) == ("flu", "lung", "*")


def test_root_is_added_where_it_is_missing(column: Column) -> None:
    assert levels(ORGANS).build(column(["flu", "ulcer"])).path(2) == ("ulcer", "stomach", "*")


def test_keys_match_by_printed_form(column: Column) -> None:
    assert levels({1: "low", 2: "low", 3: "high"}).build(column([1, 2, 3])).path(1) == ("2", "low", "*")
    assert levels({True: "y", False: "n"}).build(column(["false", "true"])).path(0) == ("true", "y", "*")


def test_value_not_covered(column: Column) -> None:
    with pytest.raises(HierarchyError, match='levels do not cover 2 of 3 values of "x"') as caught:
        levels(ORGANS).build(column(["flu", "gout", "scurvy"]))
    assert "gout" not in str(caught.value)


def test_tells_all_faults_at_once() -> None:
    with pytest.raises(PolicyError) as caught:
        levels(ORGANS, {"lung": ""}, {})
    assert caught.value.faults == (
        "level 2: a label is empty",
        "level 2: 1 of 2 labels of level 1 are mapped to nothing",
        "level 3: the mapping is empty",
        "level 3: 1 of 1 labels of level 2 are mapped to nothing",
    )
    with pytest.raises(PolicyError, match="level 2 must be a label or a mapping; got int"):
        levels(ORGANS, 3)
    with pytest.raises(PolicyError, match="level 1: a value or label is None"):
        levels({"a": None})
    with pytest.raises(PolicyError, match="at least one"):
        levels()
    with pytest.raises(PolicyError, match="level 1: a label must be one value, not a list"):
        levels({"cook": ["food"]})
    with pytest.raises(PolicyError, match="two keys print the same"):
        levels({1: "a", "1": "b"})


def test_describe_holds_no_value() -> None:
    assert levels(ORGANS, "*").describe() == "levels given, 2 above the values"
