"""Which subsets of columns single people out."""

from __future__ import annotations

from itertools import combinations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import PolicyError
from sfumato.measures.risk import subsets

FOUR = {"a": [0, 0, 1, 1], "b": ["x", "y", "x", "x"], "c": [1, 2, 3, 4]}


def plainly(table, names):
    rows = table.select(names).rows()
    n = len(rows)
    apart = sum(rows[i] != rows[j] for i, j in combinations(range(n), 2))
    pairs = n * (n - 1) / 2
    return len(set(rows)) / n, apart / pairs if pairs else 1.0, sum(rows.count(row) == 1 for row in rows) / n


def test_four_rows_by_hand():
    found = subsets(FOUR, ["a", "b", "c"], up_to=2)
    # a: 2 of 4 tuples, 4 of 6 pairs apart; b: 3 of 6; c is a key; (a, b): 3 tuples, one pair (rows 2, 3) together
    assert found.rows() == [
        (["a"], 1, 0.5, pytest.approx(4 / 6), 0.0, False, False),
        (["b"], 1, 0.5, pytest.approx(3 / 6), 0.25, False, False),
        (["c"], 1, 1.0, 1.0, 1.0, True, True),
        (["a", "b"], 2, 0.75, pytest.approx(5 / 6), 0.5, False, False),
        (["a", "c"], 2, 1.0, 1.0, 1.0, True, False),
        (["b", "c"], 2, 1.0, 1.0, 1.0, True, False),
    ]


def test_a_minimal_key_of_two():
    table = {"a": [0, 0, 1, 1], "b": [0, 1, 0, 1], "c": [0, 0, 0, 0]}
    found = subsets(table, ["a", "b", "c"])
    assert found.filter("minimal")["columns"].to_list() == [["a", "b"]]
    assert found.filter("key")["columns"].to_list() == [["a", "b"], ["a", "b", "c"]]


def test_one_row_and_equal_rows():
    assert subsets({"a": [1]}, ["a"]).row(0)[1:] == (1, 1.0, 1.0, 1.0, True, True)
    assert subsets({"a": [1, 1]}, ["a"]).row(0)[1:] == (1, 0.5, 0.0, 0.0, False, False)


@given(
    st.lists(st.tuples(*[st.sampled_from(["a", "b", None])] * 4), min_size=1, max_size=9),
    st.integers(1, 5),
)
def test_it_is_what_comparing_all_pairs_gives(rows, up_to):
    table = pl.DataFrame(rows, schema=dict.fromkeys("abcd", pl.String), orient="row")
    found = subsets(table, ["a", "b", "c", "d"], up_to)
    wanted = [list(s) for size in range(1, min(up_to, 4) + 1) for s in combinations("abcd", size)]
    assert found["columns"].to_list() == wanted
    for names, _, distinction, separation, alone, key, minimal in found.iter_rows():
        assert (distinction, separation, alone) == pytest.approx(plainly(table, names))
        assert key == (plainly(table, names)[0] == 1)
        parts = [plainly(table, list(part))[0] == 1 for part in combinations(names, len(names) - 1) if part]
        assert minimal == (key and not any(parts))


def test_refusals():
    for up_to in (0, "2", True):
        with pytest.raises(PolicyError, match="up_to"):
            subsets(FOUR, ["a"], up_to)
    wide = {f"q{i}": [0, 1] for i in range(60)}
    with pytest.raises(PolicyError, match="smaller up_to"):
        subsets(wide, list(wide), up_to=4)
