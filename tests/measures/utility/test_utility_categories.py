"""Categories, distributions and queries: four rows by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import ColumnError, HierarchyError, PolicyError
from sfumato.measures.utility import (
    contingency,
    direct_comparison,
    distribution_distance,
    entropy_loss,
    pair_of,
    query_error,
)
from tests.fuzz import examples


def test_direct_comparison_by_hand():
    """Equal, other, one of two, one of three values."""
    table = {"job": ["a", "b", "c", "c"]}
    found = direct_comparison(table, {"job": ["a", "a", "{b, c}", "*"]})
    assert found.value == pytest.approx((0 + 1 + 1 / 2 + 2 / 3) / 4)


def test_a_wrong_value_is_one_whatever_it_says():
    """One cell of twenty, and all of them."""
    table = {"city": ["Rome", "Oslo", "Bonn", "Lima"] * 5}
    one, tokens = {"city": ["Wien", *table["city"][1:]]}, {"city": [f"x{i}y" for i in range(20)]}
    assert direct_comparison(table, one).value == pytest.approx(1 / 20)
    assert direct_comparison(table, tokens).value == 1
    assert distribution_distance(table, one).value == pytest.approx(1 / 20)
    assert distribution_distance(table, tokens).value == pytest.approx(1)
    assert query_error(table, tokens, queries=20).value == pytest.approx(1)
    assert entropy_loss(table, one).value == pytest.approx(1 / 20)
    assert entropy_loss(table, tokens).value == 1


def test_what_hiding_everything_gives_is_the_baseline():
    table = {"x": [1, 2, 3, 9], "job": ["a", "b", "c", "c"]}
    hidden = {"x": ["*"] * 4, "job": ["*"] * 4}
    for distance in ("equal", "ranked"):
        found = direct_comparison(table, hidden, distance=distance)
        assert found.value == pytest.approx(found.baseline)
        assert direct_comparison(table, table, distance=distance).baseline == found.baseline
    asked = query_error(table, hidden, ["x", "job"])
    assert asked.value == pytest.approx(asked.baseline)
    assert query_error(table, table, ["x", "job"]).baseline == asked.baseline


def test_entropy_says_that_values_moved():
    """Noise on every value: nothing is left open, and nothing is right."""
    found = entropy_loss({"x": [1.5, 2.5, 3.5]}, {"x": [1.6, 2.4, 3.3]})
    assert (found.value, found.details["moved"]) == (0, 1)
    assert "100% of the released cells" in found.sentence


def test_ranks_by_hand():
    """Ranks of 1, 2, 3, 9 are 0 to 3: 9 released as 1 is as far as can be, 3 as one of 3 and 9 half a rank off."""
    table = {"x": [1, 2, 3, 9]}
    found = direct_comparison(table, {"x": ["1", "2", "[3, 9]", "1"]}, distance="ranked")
    assert found.value == pytest.approx((0 + 0 + (0 + 1 / 3) / 2 + 1) / 4)
    assert direct_comparison({"x": ["b", "a"]}, {"x": ["a", "a"]}, distance="ranked").value == 0.5


def test_direct_comparison_needs_rows():
    with pytest.raises(PolicyError, match="row by row"):
        direct_comparison({"a": [1, 2]}, {"a": [1]})
    with pytest.raises(PolicyError, match="unknown distance"):
        direct_comparison({"a": [1]}, {"a": [1]}, distance="near")


def test_contingency_by_hand():
    """a and b go together; with b hidden each cell of the table has a quarter, not a half."""
    table = {"a": [1, 1, 2, 2], "b": ["x", "x", "y", "y"]}
    found = contingency(table, {"a": [1, 1, 2, 2], "b": ["*"] * 4})
    assert found.details["1"] == pytest.approx(0)
    assert found.details["2"] == pytest.approx(0.5)
    assert found.value == pytest.approx(0.5 / 3)
    assert found.details["worst"] == {"columns": ["a", "b"], "distance": pytest.approx(0.5)}
    assert contingency(table, {"a": [1, 1, 1, 2], "b": ["x", "x", "y", "y"]}).details["1"] == pytest.approx(0.125)
    assert contingency(table, table, dimension=3).value == pytest.approx(0, abs=1e-12)


def test_contingency_in_three_dimensions():
    """The parity of three coins: every table of two columns is unchanged, that of three is half wrong."""
    table = {"a": [0, 0, 1, 1], "b": [0, 1, 0, 1], "c": [0, 1, 1, 0]}
    found = contingency(table, {"a": [0, 0, 1, 1], "b": [0, 1, 0, 1], "c": ["*"] * 4}, dimension=3)
    assert found.details["2"] == pytest.approx(0)
    assert found.details["3"] == pytest.approx(0.5)


def test_contingency_refuses():
    with pytest.raises(PolicyError, match="dimension"):
        contingency({"a": [1]}, {"a": [1]}, dimension=9)
    many = {"a": list(range(200))}
    with pytest.raises(ColumnError, match="at most 100 values"):
        contingency(many, many)
    assert contingency(many, many, "a").value == 0


def test_entropy_of_a_transition_matrix_by_hand():
    """Half f, half m, told wrong one time in five: P(V | V') = 0.8, 0.2 leaves 0.7219 bits of one."""
    swap = {"sex": {"f": {"f": 0.8, "m": 0.2}, "m": {"f": 0.2, "m": 0.8}}}
    table = {"sex": ["f", "m", "f", "m"]}
    open_bits = -(0.8 * math.log2(0.8) + 0.2 * math.log2(0.2))
    assert entropy_loss(table, {"sex": ["f", "f", "m", "f"]}, transition=swap).value == pytest.approx(open_bits)


def test_entropy_of_the_pair_by_hand():
    """Of the three released as f two were f: H(V | f) = 0.9183 bits; m is always m."""
    table = {"sex": ["f", "f", "m", "m"]}
    found = entropy_loss(table, {"sex": ["f", "f", "f", "m"]})
    assert found.value == pytest.approx(0.75 * -(2 / 3 * math.log2(2 / 3) + 1 / 3 * math.log2(1 / 3)))
    assert entropy_loss(table, {"sex": ["*"] * 4}).value == pytest.approx(1)
    assert entropy_loss({"a": ["x", "x"]}, {"a": ["x", "x"]}).value == 0


@pytest.mark.parametrize(
    "matrix",
    [
        {"f": {"f": 1.0}},
        {"f": {"f": 0.5}, "m": {"m": 1.0}},
        {"f": {"f": 1.0}, "m": {"f": 1.0}},
        {"f": {"f": 1.5, "m": -0.5}, "m": {"m": 1.0}},
    ],
)
def test_wrong_transition_matrices(matrix):
    table = {"sex": ["f", "m"]}
    with pytest.raises(PolicyError):
        entropy_loss(table, table, transition={"sex": matrix})


@pytest.mark.parametrize(
    ("distance", "expected"),
    [
        ("total-variation", 0.25),
        ("hellinger", math.sqrt(1 - math.sqrt(0.5 * 0.75) - math.sqrt(0.5 * 0.25))),
        (
            "jensen-shannon",
            0.5 * (0.5 * math.log2(0.5 / 0.625) + 0.5 * math.log2(0.5 / 0.375))
            + 0.5 * (0.75 * math.log2(0.75 / 0.625) + 0.25 * math.log2(0.25 / 0.375)),
        ),
    ],
)  # fmt: skip
def test_distributions_by_hand(distance, expected):
    """From 1/2, 1/2 to 3/4, 1/4."""
    found = distribution_distance({"a": ["x", "x", "y", "y"]}, {"a": ["x", "x", "x", "y"]}, distance=distance)
    assert found.value == pytest.approx(expected)


def test_ordered_distributions_by_hand():
    """1, 2, 3, 4 all released as 1: the cumulated shares differ by 3/4 at most, and 1.5 is the mean way to go."""
    table, release = {"x": [1, 2, 3, 4]}, {"x": [1, 1, 1, 1]}
    assert distribution_distance(table, release, distance="kolmogorov-smirnov").value == pytest.approx(0.75)
    found = distribution_distance(table, release, distance="wasserstein")
    assert found.value == pytest.approx(1.5 / 3)
    assert found.details["plain"]["x"] == pytest.approx(1.5)
    texts = distribution_distance({"a": ["x"]}, {"a": ["x"]}, distance="wasserstein")
    assert math.isnan(texts.value)
    assert "no column is ordered" in texts.sentence


@settings(max_examples=examples(25))
@given(
    before=st.lists(st.integers(-20, 20), min_size=1, max_size=30),
    after=st.lists(st.integers(-25, 25), min_size=1, max_size=30),
)
def test_ordered_distances_as_scipy_has_them(before, after):
    stats = pytest.importorskip("scipy.stats")
    pair = pair_of({"x": [float(v) for v in before]}, {"x": [float(v) for v in after]})
    far = distribution_distance(pair, distance="wasserstein").details["plain"]["x"]
    assert far == pytest.approx(stats.wasserstein_distance(before, after), abs=1e-9)
    greatest = distribution_distance(pair, distance="kolmogorov-smirnov").value
    assert greatest == pytest.approx(stats.ks_2samp(before, after).statistic, abs=1e-9)


def test_many_numbers_are_binned():
    rng = np.random.default_rng(0)
    x = rng.normal(size=2000)
    noise = distribution_distance({"x": x}, {"x": x + rng.normal(scale=1e-6, size=2000)})
    assert noise.value < 0.01  # every value differs, and the distribution is the same
    moved = distribution_distance({"x": x}, {"x": x + 10})
    assert moved.value > 0.9


def test_a_label_spreads_over_what_it_covers():
    found = distribution_distance({"a": ["x", "x", "x", "y"]}, {"a": ["*"] * 4})
    assert found.value == pytest.approx(0.25)
    tree = sf.wide([("x", "u", "*"), ("y", "u", "*"), ("z", "v", "*")])
    found = distribution_distance({"a": ["x", "y", "z", "z"]}, {"a": ["u", "u", "z", "z"]}, hierarchies={"a": tree})
    assert found.value == pytest.approx(0)


def test_queries_by_hand():
    """Three 0 and one 1, hidden: {0} is estimated 2 of 3, {1} 2 of 1, both 4 of 4; asked 1, 1 and 2 times in four."""
    table, release = {"x": [0, 0, 0, 1]}, {"x": ["*"] * 4}
    found = query_error(table, release, "x", queries=2000, dimension=1)
    assert found.details["mean"] == pytest.approx((1 / 3 + 1 + 0 + 0) / 4, abs=0.03)
    assert found.value in (0, pytest.approx(1 / 3))
    assert found.interval[0] <= found.value <= found.interval[1]
    assert query_error(table, table, "x").value == 0


def test_queries_count_suppressed_rows_as_lost_and_repeat_with_their_seed():
    table = {"x": list(range(50)), "y": ["a", "b"] * 25}
    release = {"x": list(range(25)), "y": (["a", "b"] * 13)[:25]}
    found = query_error(table, release, ["x", "y"], seed=3)
    assert found.value > 0.2
    assert found.to_dict() == query_error(table, release, ["x", "y"], seed=3).to_dict()
    assert found.details["mean"] != query_error(table, release, ["x", "y"], seed=4).details["mean"]
    for wrong in ({"queries": 0}, {"dimension": 0}, {"sanity": 0}, {"seed": -1}, {"seed": "x"}, {"queries": 1.5}):
        with pytest.raises(PolicyError, match=next(iter(wrong))):
            query_error(table, release, **wrong)
    with pytest.raises(PolicyError, match="seed is out of range; got -1; allowed: a whole number >= 0"):
        query_error(table, release, seed=-1)
    assert query_error(table, release, ["x", "y"], seed=np.int64(3)).to_dict() == found.to_dict()


def test_small_counts_are_measured_against_the_sanity_bound():
    table, release = {"x": [0] * 99 + [1]}, {"x": ["*"] * 100}
    strict = query_error(table, release, "x", queries=400, sanity=0.01).details["mean"]
    lenient = query_error(table, release, "x", queries=400, sanity=1).details["mean"]
    assert strict > 10 * lenient


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("over", ["m - 1", "m"])
def test_ranks_in_a_given_order_against_all_cells(seed, over):
    rng = np.random.default_rng(seed)
    order = ["none", "low", "mid", "high", "top"]
    n = int(rng.integers(2, 15))
    before = rng.choice(order[:4], n).tolist()
    values = sorted(set(before))
    sets = [f"{{{', '.join(values[:-1])}}}", *values] if len(values) > 2 else values
    after = [str(rng.choice([value, *sets])) for value in before]
    given = {"distance": "ranked", "order": {"x": order}, "over": over, "rows": np.arange(n)}
    found = direct_comparison({"x": before}, {"x": after}, **given)
    m = 5 - (over == "m - 1")
    labels = [label.strip("{}").split(", ") for label in after]
    far = [
        np.mean([abs(order.index(word) - order.index(value)) / m for word in words])
        for value, words in zip(before, labels, strict=True)
    ]
    assert found.value == pytest.approx(np.mean(far))
    hidden = [np.mean([abs(order.index(a) - order.index(b)) / m for b in values]) for a in before]
    if len(values) > 1:
        assert found.baseline == pytest.approx(np.mean(hidden))
    assert found.details["categories"] == {"x": 5}
    assert f"divided by {over}, m being" in found.sentence


def test_columns_without_an_order_are_named():
    table = {"town": ["Rome", "Oslo"], "size": ["S", "L"]}
    other = {"town": ["Oslo", "Oslo"], "size": ["M", "L"]}
    found = direct_comparison(table, other, distance="ranked", hierarchies={"size": "order:S,M,L"})
    assert found.details["per_column"] == {"town": 0.5, "size": 0.25}
    assert found.details["without order"] == ["town"]
    assert '"town" had no order and counted as equal or not' in found.sentence
    with pytest.raises(PolicyError, match="unknown over"):
        direct_comparison(table, other, distance="ranked", over="n")
    with pytest.raises(HierarchyError, match='order does not cover 1 of 3 values of "size"'):
        direct_comparison(table, other, distance="ranked", order={"size": ["S", "L"]})
    summary = sf.measures.utility.utility_summary(table, other, hierarchies={"size": "order:S,M,L"})["categories"]
    assert summary["direct-comparison ranked"] == pytest.approx(found.value)
