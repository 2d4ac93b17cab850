"""What Mondrian prints: means, medians, labels of a hierarchy, and sets of categories in an order of their own."""

from __future__ import annotations

import math
import random
from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.policy import Policy
from sfumato.losses import LM
from sfumato.search.mondrian.mondrian import number_text
from sfumato.search.mondrian.parts import columns_of, coordinates
from sfumato.search.problem import make_problem
from tests.rows import as_they_came

AGES = [20, 21, 25, 60, 61, 71]


def release(
    table: dict[str, list[Any]], k: int, hierarchies: dict[str, Any] | None = None, **options: Any
) -> sf.Release:
    search = sf.Mondrian(**options)
    return sf.anonymize(
        table, quasi=list(table), require=sf.KAnonymity(k), search=search, hierarchies=hierarchies, ends="exact"
    )


def test_means_and_medians_by_hand() -> None:
    for labels, low, high in (("mean", "22", "64"), ("median", "21", "61"), ("ranges", "[20, 25]", "[60, 71]")):
        assert as_they_came(release({"q": AGES}, 3, labels=labels))["q"].to_list() == [low] * 3 + [high] * 3
    assert release({"q": [1, 2, 4, 9]}, 4, labels="mean").table["q"].to_list() == ["4"] * 4
    assert release({"q": [1, 2, 4, 9]}, 4, labels="median").table["q"].to_list() == ["3"] * 4
    assert release({"q": [1, 1, 2]}, 3, labels="mean").table["q"].to_list() == ["1.33333"] * 3


def test_a_mean_loses_what_its_range_loses() -> None:
    plain, mean = release({"q": AGES}, 3), release({"q": AGES}, 3, labels="mean")
    assert mean.solution.verdict.loss == plain.solution.verdict.loss > 0
    assert mean.verification.holds


def test_rows_count_in_means_and_medians_of_relaxed_classes() -> None:
    table = {"q": [1, 2, 2, 2, 2, 9]}
    assert Counter(release(table, 3, relaxed=True, labels="mean").table["q"]) == {"1.66667": 3, "4.33333": 3}
    assert Counter(release(table, 3, relaxed=True, labels="median").table["q"]) == {"2": 6}


def test_classes_that_print_the_same_number_are_one() -> None:
    """The medians of both relaxed classes are 2: one class of six rows, which each lose their own range."""
    found = release({"q": [1, 2, 2, 2, 2, 9]}, 3, relaxed=True, labels="median")
    assert found.verification.classes[0]["classes"] == 1
    assert found.solution.verdict.loss == pytest.approx((1 / 8 + 7 / 8) / 2)


def test_missing_infinite_and_single_values_print_as_they_are() -> None:
    found = as_they_came(release({"q": [None, None, 5, 5]}, 2, labels="mean"))["q"]
    assert found.to_list() == [None, None, 5, 5]
    assert release({"q": [None, 1, 2]}, 3, labels="mean").table["q"].to_list() == ["*"] * 3
    assert release({"q": [1.0, math.inf, 2.0]}, 3, labels="mean").table["q"].to_list() == ["[1.0, inf]"] * 3
    words = release({"q": ["x", "y"]}, 2, labels="mean").table["q"].to_list()
    assert words == ["{x, y}"] * 2


def test_numbers_stay_in_their_class() -> None:
    rng = random.Random(0)
    for _ in range(200):
        low = rng.choice([1, -1]) * 10 ** rng.uniform(-8, 17)
        high = low + 10 ** rng.uniform(-3, 3) * abs(low) * 1e-6
        middle = (low + high) / 2
        assert low <= float(number_text(middle, low, high)) <= high
    assert number_text(1234567.0, 1e6, 2e6) == "1234570"
    assert number_text(-0.0000001, -1, 1) == "-1e-07"
    assert number_text(0.0, -1, 1) == "0"


def test_labels_of_the_hierarchy_of_numbers() -> None:
    trees = {"q": sf.intervals(10, 20)}
    found = as_they_came(release({"q": AGES}, 2, trees, labels="hierarchy"))["q"]
    texts = set(sf.anonymize({"q": AGES}, quasi=["q"], require=sf.KAnonymity(1), search="optimal", hierarchies=trees,
                             levels={"q": (1, 1)}).table["q"])  # fmt: skip
    assert found.to_list()[0] == found.to_list()[2]
    assert found[0] in texts
    assert (
        as_they_came(release({"q": AGES}, 3, labels="hierarchy"))["q"].to_list() == ["[20, 29]"] * 3 + ["[60, 79]"] * 3
    )


def jobs() -> dict[str, list[Any]]:
    """a and c are young, b and d old."""
    return {
        "job": ["a", "a", "b", "b", "c", "c", "d", "d"],
        "age": [20, 21, 60, 61, 20, 21, 60, 61],
    }


def test_similar_categories_become_neighbours() -> None:
    def sets(categories: str) -> Counter[str]:
        return Counter(release(jobs(), 4, dimension="first", categories=categories).table["job"])

    assert sets("order") == {"{a, b}": 4, "{c, d}": 4}
    assert sets("optimised") == {"{a, c}": 4, "{b, d}": 4}


def test_the_order_is_deterministic_and_ignores_the_order_of_rows() -> None:
    rng = random.Random(2)
    rows = [(rng.choice("pqrstuv"), rng.randrange(90), rng.choice("xyz")) for _ in range(300)]
    found = []
    for seed in range(3):
        random.Random(seed).shuffle(rows)
        frame = pl.DataFrame(rows, schema=["job", "age", "kind"], orient="row")
        problem = make_problem(frame, Policy((tuple(frame.columns),), (sf.KAnonymity(2),), 0, LM()), {}, {})
        found.append(coordinates(problem.cells, 0, [False, True, False]))
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])
    assert len(set(found[0].tolist())) == 7


def test_values_without_anything_to_tell_them_apart_keep_their_order() -> None:
    for frame in (
        pl.DataFrame({"job": ["a", "b", "c"], "age": [1, 1, 1]}),
        pl.DataFrame({"job": ["a", "b", "c"] * 2, "age": [1, 1, 1, 2, 2, 2]}),
    ):
        problem = make_problem(frame, Policy((("job", "age"),), (sf.KAnonymity(2),), 0, LM()), {}, {})
        assert coordinates(problem.cells, 0, [False, True]).tolist() == [0, 0, 0]
        assert columns_of(problem, "optimised", "ranges")[0].place.tolist() == [0, 1, 2]


def test_children_of_a_node_are_ordered_and_stay_together() -> None:
    """x and z are young, y is old: z moves next to x, and the leaves of each stay side by side."""
    tree = sf.wide([(v, v[0], "*") for v in ("x1", "x2", "y1", "y2", "z1", "z2")])
    job = ["x1", "x2", "y1", "y2", "z1", "z2"] * 5
    age = [{"x": 20, "y": 60, "z": 25}[v[0]] + i // 6 for i, v in enumerate(job)]
    frame = pl.DataFrame({"job": job, "age": age})
    problem = make_problem(frame, Policy((("job", "age"),), (sf.KAnonymity(2),), 0, LM()), {"job": tree}, {})
    by_value, by_rows = (columns_of(problem, how, "ranges")[0] for how in ("order", "optimised"))
    text = problem.attributes[0].categories.text
    assert [text[code] for code in by_value.codes] == ["x1", "x2", "y1", "y2", "z1", "z2"]
    nodes = [str(text[code])[0] for code in by_rows.codes]
    assert nodes == list("xxzzyy")
    assert by_rows.tree is not None
    assert not by_rows.multiway
    found = release({"job": job, "age": age}, 10, {"job": tree}, dimension="first", categories="optimised")
    assert found.verification.holds


def test_sets_list_all_their_values() -> None:
    """Neighbours in an order of its own say nothing to the reader: no first..last."""
    values = [f"v{i:02}" for i in range(12)]
    age = [(i * 5) % 12 for i in range(12)]
    found = release({"job": values * 2, "age": age * 2}, 8, dimension="first", categories="optimised")
    texts = set(found.table["job"])
    assert all(text.startswith("{") for text in texts)
    assert sorted(v for text in texts for v in text[1:-1].split(", ")) == values
    assert found.solution.verdict.per_attribute["job"] == pytest.approx(
        sum((text.count(",")) / 11 * n for text, n in Counter(found.table["job"]).items()) / 24
    )
