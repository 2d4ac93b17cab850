"""Parameters: what is refused, and in what words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sfumato.core.parameters import (
    check_progress,
    column_name,
    known_columns,
    mapping,
    one_of,
    real_number,
    share_of,
    whole_number,
)
from sfumato.errors import ColumnError, PolicyError


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (lambda: whole_number(0, "k"), "k is out of range; got 0; allowed: a whole number >= 1"),
        (lambda: whole_number(True, "k"), "k is out of range; got True; allowed: a whole number >= 1"),
        (lambda: whole_number(9, "n", 1, 4), "n is out of range; got 9; allowed: a whole number >= 1 and <= 4"),
        (lambda: whole_number([1], "k"), "k is out of range; got a value of type list; allowed: a whole number >= 1"),
        (lambda: real_number(float("nan"), "t"), "t is out of range; got nan; allowed: a number >= 0"),
        (lambda: real_number(10**400, "t"), "t is out of range; got a number of about 401 digits; allowed: a number"),
        (lambda: share_of(0, "f", above=True), "f is out of range; got 0; allowed: a number > 0 and <= 1"),
        (lambda: one_of("meen", "aggregate", ["mean"]), "unknown aggregate; got 'meen'; allowed: mean. Hint: did you"),
        (lambda: column_name(3, "weight"), "weight must be the name of a column; got int"),
        (lambda: check_progress(3), "progress must be a function of a message and a share; got int"),
        (lambda: mapping([], "hierarchies"), "hierarchies must map column names; got list"),
    ],
)
def test_refusals_say_what_got_and_allowed(check: Callable[[], Any], message: str) -> None:
    with pytest.raises(PolicyError) as error:
        check()
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    "check",
    [
        lambda: known_columns(["agee"], ["age"]),
        lambda: mapping({"agee": 1}, "hierarchies", ["age"]),
    ],
)
def test_a_column_that_is_not_there(check: Callable[[], Any]) -> None:
    with pytest.raises(ColumnError, match=r'"agee".*did you mean "age"'):
        check()


def test_numbers_of_numpy_become_plain() -> None:
    assert type(whole_number(np.int64(3), "k")) is int
    assert type(real_number(np.float32(0.5), "t")) is float
    assert type(real_number(np.int8(3), "t")) is int
