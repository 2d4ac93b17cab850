"""Class sizes and the risk that follows from them."""

from __future__ import annotations

import doctest
import json

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato.release.verify as module
from sfumato.release.verify import class_sizes


def table(*sizes):
    return pl.DataFrame({"a": [str(i) for i, n in enumerate(sizes) for _ in range(n)]}, schema={"a": pl.String})


def test_a_table_worked_by_hand():
    assert class_sizes(table(4, 5, 5, 10, 26), ["a"]) == {
        "quasi": ["a"],
        "classes": 5,
        "smallest": 4,
        "median": 5,
        "average": 10.0,
        "largest": 26,
        "sizes": {"4": 1, "5": 2, "10": 1, "26": 1},
        "risk": {
            "highest": 0.25,
            "average": 0.1,
            # strictly above: a class of 20 is not above 0.05, one of 10 not above 0.1, one of 5 not above 0.2
            "records_above": {"0.05": 24 / 50, "0.1": 14 / 50, "0.2": 4 / 50},
        },
    }


@pytest.mark.parametrize(("sizes", "median"), [((1, 2), 1.5), ((1, 3), 2), ((2,), 2)])
def test_median(sizes, median):
    found = class_sizes(table(*sizes), ["a"])["median"]
    assert found == median
    assert type(found) is type(median)


def test_a_table_without_rows():
    found = class_sizes(table(), ["a"])
    assert (found["classes"], found["smallest"], found["largest"], found["sizes"]) == (0, 0, 0, {})
    assert found["risk"] == {"highest": 0.0, "average": 0.0, "records_above": {"0.05": 0.0, "0.1": 0.0, "0.2": 0.0}}


@given(st.lists(st.integers(1, 30), min_size=1, max_size=20))
def test_it_adds_up_and_survives_json(sizes):
    found = class_sizes(table(*sizes), ["a"])
    assert sum(int(n) * c for n, c in found["sizes"].items()) == sum(sizes)
    assert sum(found["sizes"].values()) == found["classes"] == len(sizes)
    assert list(found["sizes"]) == [str(n) for n in sorted(set(sizes))]
    for threshold, share in found["risk"]["records_above"].items():
        assert share == pytest.approx(sum(n for n in sizes if 1 / n > float(threshold)) / sum(sizes))
    assert json.loads(json.dumps(found)) == found


def test_doctests():
    assert doctest.testmod(module).failed == 0
