from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import numpy as np
import pytest

from sfumato.core.hierarchy import Categories
from sfumato.errors import HierarchyError, PolicyError
from sfumato.hierarchies import intervals

Column = Callable[..., Categories]


def test_nested_widths(column: Column) -> None:
    built = intervals(5, 10, 20).build(column([17, 20, 24, 25, 39]))
    assert built.paths() == [
        ("17", "[15, 20)", "[10, 20)", "[0, 20)", "*"),
        ("20", "[20, 25)", "[20, 30)", "[20, 40)", "*"),
        ("24", "[20, 25)", "[20, 30)", "[20, 40)", "*"),
        ("25", "[25, 30)", "[20, 30)", "[20, 40)", "*"),
        ("39", "[35, 40)", "[30, 40)", "[20, 40)", "*"),
    ]


def test_origin_and_negative_values(column: Column) -> None:
    built = intervals(10, origin=5).build(column([-6, -5, 4, 5]))
    assert [path[1] for path in built.paths()] == ["[-15, -5)", "[-5, 5)", "[-5, 5)", "[5, 15)"]


def test_tenths_stay_tenths(column: Column) -> None:
    built = intervals(0.1, 0.3).build(column([0.1, 0.2, 0.3, 0.6, 0.7]))
    assert [path[1:3] for path in built.paths()] == [
        ("[0.1, 0.2)", "[0, 0.3)"),
        ("[0.2, 0.3)", "[0, 0.3)"),
        ("[0.3, 0.4)", "[0.3, 0.6)"),
        ("[0.6, 0.7)", "[0.6, 0.9)"),
        ("[0.7, 0.8)", "[0.6, 0.9)"),
    ]


def test_integers_beyond_the_reach_of_floats(column: Column) -> None:
    big = 2**53
    built = intervals(2).build(column([big - 1, big, big + 1, big + 2]))
    assert [path[1] for path in built.paths()] == [
        f"[{big - 2}, {big})",
        f"[{big}, {big + 2})",
        f"[{big}, {big + 2})",
        f"[{big + 2}, {big + 4})",
    ]


def test_decimals_with_more_digits_than_a_float(column: Column) -> None:
    values = [Decimal("0.29999999999999999999"), Decimal("0.3")]
    built = intervals("0.1").build(column(values))
    assert [path[1] for path in built.paths()] == ["[0.2, 0.3)", "[0.3, 0.4)"]


def test_exponents_are_read_and_not_printed(column: Column) -> None:
    built = intervals(Decimal("1e-7"), 1).build(column(["1e-7", "2.0", "1e+16"], kind="decimal"))
    assert built.path(0) == ("1e-7", "[0.0000001, 0.0000002)", "[0, 1)", "*")
    assert built.path(2)[2] == "[10000000000000000, 10000000000000001)"


def test_own_cuts_have_open_ends(column: Column) -> None:
    built = intervals(cuts=[[18, 40, 65], [40]]).build(column([17, 18, 39, 40, 64, 65]))
    assert [path[1] for path in built.paths()] == ["< 18", "[18, 40)", "[18, 40)", "[40, 65)", "[40, 65)", ">= 65"]
    assert [path[2] for path in built.paths()] == ["< 40", "< 40", "< 40", ">= 40", ">= 40", ">= 40"]


def test_top_and_bottom_stand_at_every_level_and_cut_intervals_off(column: Column) -> None:
    built = intervals(5, 20, bottom=18, top=92).build(column([3, 17, 18, 21, 91, 92, 99]))
    assert built.path(0) == ("3", "< 18", "< 18", "*")
    assert built.path(1)[1:] == ("< 18", "< 18", "*")
    assert built.path(2)[1:] == ("[18, 20)", "[18, 20)", "*")
    assert built.path(3)[1:] == ("[20, 25)", "[20, 40)", "*")
    assert built.path(4)[1:] == ("[90, 92)", "[80, 92)", "*")
    assert built.path(5)[1:] == built.path(6)[1:] == (">= 92", ">= 92", "*")


def test_bottom_and_top_with_cuts(column: Column) -> None:
    built = intervals(cuts=[[20, 40]], bottom=10, top=60).build(column([5, 10, 20, 40, 60]))
    assert [path[1] for path in built.paths()] == ["< 10", "[10, 20)", "[20, 40)", "[40, 60)", ">= 60"]


def test_top_coding_alone_keeps_the_other_values(column: Column) -> None:
    built = intervals(top=90).build(column([88, 89, 90, 101]))
    assert [path[1] for path in built.paths()] == ["88", "89", ">= 90", ">= 90"]
    assert built.height == 2


def test_missing_is_no_leaf(column: Column) -> None:
    assert intervals(10).build(column([1, 2], missing=True)).leaves == ("1", "2")


def test_text_that_reads_as_numbers(column: Column) -> None:
    categories = Categories("x", "text", ("007", "+12", "30"), np.array([7.0, 12.0, 30.0]), np.ones(3, np.int64))
    assert [path[1] for path in intervals(10).build(categories).paths()] == ["[0, 10)", "[10, 20)", "[30, 40)"]


@pytest.mark.parametrize(
    ("arguments", "options", "fault"),
    [
        ((5, 12), {}, "12 is no multiple of 5"),
        ((10, 5), {}, "5 is no multiple of 10"),
        ((5, 5), {}, "5 is no multiple of 5"),
        ((0.1, 0.25), {}, "0.25 is no multiple of 0.1"),
        ((0,), {}, "greater than 0"),
        ((-5,), {}, "greater than 0"),
        (("x",), {}, "a width of intervals must be a number"),
        ((True,), {}, "a width of intervals must be a number"),
        ((float("nan"),), {}, "a width of intervals must be a number"),
        ((), {}, "give widths, cuts, bottom or top"),
        ((5,), {"cuts": [[1]]}, "not both"),
        ((), {"cuts": [[1, 2], [3]]}, "cuts must nest: 3 of level 2 not in level 1"),
        ((), {"cuts": [[2, 1]]}, "must rise"),
        ((), {"cuts": [[1], []]}, "must rise"),
        ((), {"cuts": [[1], 2]}, "list of lists"),
        ((5,), {"bottom": 20, "top": 10}, "bottom 20 is above top 10"),
        ((5,), {"origin": "here"}, "origin of intervals must be a number"),
    ],
)
def test_refuses_parameters_that_make_no_hierarchy(
    arguments: tuple[object, ...], options: dict[str, object], fault: str
) -> None:
    with pytest.raises(PolicyError, match=fault):
        intervals(*arguments, **options)  # type: ignore[arg-type]


def test_tells_all_faults_at_once() -> None:
    with pytest.raises(PolicyError) as caught:
        intervals(5, 12, 13, bottom=3, top=1)
    assert len(caught.value.faults) == 3


def test_refuses_columns_that_are_no_numbers(column: Column) -> None:
    with pytest.raises(HierarchyError, match='"x" does not hold numbers only'):
        intervals(5).build(column(["a", "b"]))
    with pytest.raises(HierarchyError, match="does not hold numbers"):
        intervals(5).build(column(["false", "true"], kind="boolean"))
    with pytest.raises(HierarchyError, match="use dates"):
        intervals(5).build(column(["2024-01-01"], kind="date"))
    with pytest.raises(HierarchyError, match='2 of 3 values of "x" are no finite numbers') as caught:
        intervals(5).build(column(["-inf", "777", "inf"], kind="decimal"))
    assert "777" not in str(caught.value)


def test_describe() -> None:
    assert intervals(5, 10, 20).describe() == "intervals 5, 10, 20"
    assert intervals(0.5, origin=1, bottom=18, top=90).describe() == "intervals 0.5, origin 1, bottom 18, top 90"
    assert intervals(cuts=[[1, 2.5], [1]]).describe() == "cuts 1, 2.5 / 1"
    assert intervals(cuts=[1, 2]).describe() == "cuts 1, 2"


def test_a_hundred_thousand_values_take_no_time(column: Column) -> None:
    built = intervals(10, 1000).build(column(list(range(100_000))))
    assert [len(labels) for labels in built.labels] == [100_000, 10_000, 100, 1]
