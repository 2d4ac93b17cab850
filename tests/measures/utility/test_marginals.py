"""Marginals: total variation by hand, bins at the quantiles of the real rows, and what Adult's hold-out scores."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import polars as pl
import pytest

from sfumato.errors import PolicyError
from sfumato.measures.risk.synthetic_tables import tables_of
from sfumato.measures.utility import contingency, marginals
from sfumato.measures.utility.coded_rows import binned
from tests.fuzz import FUZZ


def test_by_hand():
    """a and b go together in the real rows, not in the synthetic ones: the pair is half wrong, the columns are not."""
    real = {"a": [1, 1, 2, 2], "b": ["x", "x", "y", "y"], "c": ["k"] * 4}
    made = {"a": [1, 1, 2, 2], "b": ["x", "y", "x", "y"], "c": ["k", "k", "k", "l"]}
    found = marginals(real, made, hold_out={"a": [1], "b": ["x"], "c": ["k"]})
    assert found.details["ways"]["1"]["mean"] == pytest.approx((0 + 0 + 0.25) / 3)
    assert found.value == pytest.approx((0.5 + 0.25 + 0.25) / 3)
    assert found.details["ways"]["2"]["worst"] == {"columns": ["a", "b"], "distance": 0.5}
    assert found.details["ways"]["3"]["mean"] == pytest.approx(0.75)  # 1xk is half as often, 2yk gone, three are new
    assert found.details["pairs"] == pytest.approx(np.array([[0, 0.5, 0.25], [0.5, 0, 0.25], [0.25, 0.25, 0.25]]))
    assert found.baseline == pytest.approx((0.5 + 0.5 + 0.5) / 3)
    assert found.details["hold_out"]["pairs"][2][2] == 0


def test_the_same_as_contingency_where_nothing_is_generalised():
    rng = np.random.default_rng(1)
    one, other = (pl.DataFrame({c: rng.integers(0, 5, n) for c in "abcd"}).cast(pl.String) for n in (300, 200))
    found, known = marginals(one, other), contingency(one, other, dimension=3)
    for way in ("1", "2", "3"):
        assert found.details["ways"][way]["mean"] == pytest.approx(known.details[way])


def test_numbers_are_binned_at_the_quantiles_of_the_real_rows():
    real = {"x": list(range(100))}
    assert marginals(real, {"x": list(range(200, 300))}).value == pytest.approx(0.9)  # all in the last bin
    assert marginals(real, {"x": [v + 0.5 for v in range(100)]}).value == pytest.approx(0, abs=0.02)
    code, bins = binned(tables_of(real, {"x": [None, -5.0]}).column("x"), 100)
    assert np.bincount(code[:100], minlength=bins).tolist() == [10] * 10 + [0]
    assert code[100:].tolist() == [10, 0]  # a missing value is a bin of its own, the last
    few = marginals({"x": [0] * 95 + [1] * 5}, {"x": [0] * 100})
    assert few.value == pytest.approx(0.05)


@pytest.mark.parametrize("other", [0.999, -1, 2, 0.5, math.inf, None, "x"])
def test_a_value_that_no_real_row_has_is_none_of_theirs(other):
    assert marginals({"y": [0, 1] * 50}, {"y": [other] * 100}, ways=1).value == 1


@pytest.mark.parametrize("seed", range(5 * FUZZ))
def test_few_numbers_are_counted_by_their_values(seed):
    rng = np.random.default_rng(seed)
    real, drawn = ({c: rng.integers(0, 8, rows) / 2 for c in "ab"} for rows in (rng.integers(2, 20), 25))
    found = marginals(real, drawn)
    for names, figure in ((["a"], found.details["pairs"][0][0]), (["a", "b"], found.details["pairs"][0][1])):
        p, q = (Counter(zip(*(table[c] for c in names), strict=True)) for table in (real, drawn))
        far = sum(abs(p[cell] / p.total() - q[cell] / q.total()) for cell in p | q) / 2
        assert figure == pytest.approx(far)


def test_numbers_that_are_nearly_all_one_value_are_named():
    spike = {"gain": [0] * 190 + list(range(1, 21)), "sex": ["f", "m"] * 105}
    found = marginals(spike, spike)
    assert found.details["one_bin"] == ["gain"]
    assert '"gain"' in found.sentence


def test_many_columns_are_drawn():
    rng = np.random.default_rng(0)
    wide = pl.DataFrame({f"c{i}": rng.integers(0, 3, 40) for i in range(30)})
    found = marginals(wide, wide, most=50, seed=3)
    assert found.details["ways"]["3"] == {
        "mean": 0, "worst": found.details["ways"]["3"]["worst"], "sets": 50, "left_out": 4010,
    }  # fmt: skip
    assert np.isnan(np.array(found.details["pairs"])).sum() == 30 * 30 - 30 - 2 * 50
    assert None in found.to_dict()["details"]["pairs"][0]


def test_many_values_do_not_need_a_table_of_all_cells():
    rng = np.random.default_rng(0)
    many = pl.DataFrame({c: rng.integers(0, 3000, 4000) for c in "abc"}).with_columns(
        pl.format("v{}", pl.col(c)).alias(c) for c in "abc"
    )
    assert marginals(many, many).value == 0
    assert marginals(many, many.reverse().with_columns(pl.col("a").shuffle(1))).value > 0.5


def test_ways():
    table = {"a": [1, 2], "b": [1, 2]}
    assert list(marginals(table, table, ways=1).details["ways"]) == ["1"]
    assert list(marginals(table, table, ways=[2, 1, 2]).details["ways"]) == ["1", "2"]
    for wrong in ([], [5], [0], "2", None, [1.5]):
        with pytest.raises(PolicyError, match="ways"):
            marginals(table, table, ways=wrong)
    with pytest.raises(PolicyError, match="fewer columns"):
        marginals(table, table, ways=[3])
    with pytest.raises(PolicyError, match="bins"):
        marginals(table, table, bins=1)
