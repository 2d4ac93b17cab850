from __future__ import annotations

from collections.abc import Callable

import pytest

from sfumato.core.hierarchy import Categories
from sfumato.errors import HierarchyError, PolicyError
from sfumato.hierarchies import redact

Column = Callable[..., Categories]


def test_right(column: Column) -> None:
    built = redact("right").build(column(["47677", "47602", "13053"]))
    assert built.path(0) == ("47677", "4767*", "476**", "47***", "4****", "*")
    assert built.label(1, 1) == "4760*"
    assert built.label(2, 0) == built.label(2, 1)


def test_left(column: Column) -> None:
    built = redact("left").build(column(["130", "230"]))
    assert built.paths() == [("130", "*30", "**0", "*"), ("230", "*30", "**0", "*")]


def test_shorter_values_are_filled_on_the_masked_side(column: Column) -> None:
    right = redact("right").build(column(["12", "12345"]))
    assert right.path(0) == ("12", "12***", "12***", "12***", "1****", "*")
    assert right.path(1) == ("12345", "1234*", "123**", "12***", "1****", "*")
    left = redact("left").build(column(["45", "12345"]))
    assert left.path(0) == ("45", "***45", "***45", "***45", "****5", "*")


def test_own_character_and_root(column: Column) -> None:
    assert redact(char="#").build(column(["ab", "cd"])).path(0) == ("ab", "a#", "*")


def test_values_that_hold_the_mask_stay_apart_at_level_0(column: Column) -> None:
    built = redact().build(column(["*", "**", "1", "1*", "12"]))
    assert built.leaves == ("*", "**", "1", "1*", "12")
    assert [path[1] for path in built.paths()] == ["**", "**", "1*", "1*", "1*"]


def test_characters_are_code_points(column: Column) -> None:
    assert redact().build(column(["née", "né€"])).label(1, 0) == "né*"


def test_short_and_empty_columns(column: Column) -> None:
    assert redact().build(column(["a", "b"])).paths() == [("a", "*"), ("b", "*")]
    assert redact().build(column([""])).paths() == [("", "*")]
    assert redact().build(column([], missing=True)).labels == ((), ("*",))


def test_steps_mask_within_each_value(column: Column) -> None:
    built = redact(steps=[2, 4]).build(column(["47677", "47602", "123456", "12", "7"]))
    assert built.path(0) == ("47677", "476**", "4****", "*")
    assert built.path(2) == ("123456", "1234**", "12****", "*")  # nothing is filled up beside it
    assert built.path(3)[1:] == built.path(4)[1:] == ("**", "****", "*")
    assert redact("left", "#", [2]).build(column(["47677"])).path(0) == ("47677", "##677", "*")
    assert redact(steps=3) == redact(steps=(3,))


def test_a_value_masked_whole_is_not_the_root(column: Column) -> None:
    assert redact(steps=[1]).build(column(["7", "12"])).paths() == [("7", "**", "*"), ("12", "1*", "*")]
    mask = redact(steps=[1, 3]).build(column(["7", "*7", "", "1234"]))  # *7 and 7 print alike, and so at every level
    assert [path[1:] for path in mask.paths()] == [("**", "***", "*")] * 3 + [("123*", "1***", "*")]


@pytest.mark.parametrize("steps", [[4, 2], [2, 2]])
def test_steps_grow(steps: list[int]) -> None:
    with pytest.raises(PolicyError, match="steps of redact must grow; got"):
        redact(steps=steps)


@pytest.mark.parametrize("steps", [[0, 2], ["2"], "2", [True], None, 1.5])
def test_steps_are_whole_numbers(steps: object) -> None:
    with pytest.raises(PolicyError, match=r"a step of redact .* a whole number >= 1"):
        redact(steps=steps)  # type: ignore[arg-type]


def test_refuses_parameters() -> None:
    with pytest.raises(PolicyError, match='did you mean "right"'):
        redact("rigth")
    with pytest.raises(PolicyError, match="one character"):
        redact(char="**")


def test_refuses_texts_too_long_to_mask_one_by_one(column: Column) -> None:
    with pytest.raises(HierarchyError, match='"x" has 1 values of up to 30000 characters'):
        redact().build(column(["a" * 30_000]))


def test_describe() -> None:
    assert redact().describe() == "redact right"
    assert redact("left", "#").describe() == "redact left with #"
    assert redact("left", "#", [2, 4]).describe() == "redact left by 2, 4 with #"
