from __future__ import annotations

from collections.abc import Callable

import pytest

from sfumato.core.hierarchy import Categories
from sfumato.errors import HierarchyError, PolicyError
from sfumato.hierarchies import order

Column = Callable[..., Categories]


def test_fanouts(column: Column) -> None:
    built = order(["low", "mid", "high", "top"], fanouts=[2, 2]).build(column(["high", "low"]))
    assert built.labels == (("low", "mid", "high", "top"), ("{low, mid}", "{high, top}"), ("*",))


def test_last_group_may_be_smaller(column: Column) -> None:
    built = order("abcde"[i] for i in range(5)).build(column(["a"]))
    assert built.labels[1:] == (("{a, b}", "{c, d}", "e"), ("{a, b, c, d}", "e"), ("*",))
    assert order(["a", "b", "c"], [2]).build(column(["a"])).labels[1:] == (("{a, b}", "c"), ("*",))


def test_more_than_eight_values_print_as_first_to_last(column: Column) -> None:
    values = [f"v{i:02d}" for i in range(20)]
    built = order(values, [8, 2]).build(column(values))
    assert built.labels[1][0] == "{v00, v01, v02, v03, v04, v05, v06, v07}"
    assert built.labels[2] == ("v00..v15", "{v16, v17, v18, v19}")


def test_groups_that_print_alike_stay_apart(column: Column) -> None:
    built = order(["a", "b", "{a, b}"], [2]).build(column(["a"]))
    assert built.labels[1] == ("{a, b}", "{a, b} (2)")


def test_values_match_by_printed_form(column: Column) -> None:
    assert order([3, 1, 2], [2]).build(column([1, 2, 3])).labels[1] == ("{3, 1}", "2")


def test_refuses(column: Column) -> None:
    with pytest.raises(HierarchyError, match='order does not cover 1 of 2 values of "x"') as caught:
        order(["a", "b"]).build(column(["a", "secret"]))
    assert "secret" not in str(caught.value)
    with pytest.raises(PolicyError) as faults:
        order(["a", "a"], fanouts=[1])
    assert len(faults.value.faults) == 2
    with pytest.raises(PolicyError, match="needs values"):
        order([])
    with pytest.raises(PolicyError, match="not None"):
        order(["a", None])
    with pytest.raises(PolicyError, match="list of values"):
        order("abc")
    with pytest.raises(PolicyError, match="list of integers"):
        order(["a"], fanouts=2)  # type: ignore[arg-type]


def test_describe_holds_no_value() -> None:
    assert order(["low", "high"], [2]).describe() == "order of 2 values, fan-outs 2"
