"""Mondrian's scored cuts on tables worked by hand: least NCP, information gain, a workload of queries."""

from __future__ import annotations

import datetime
import math
import random
from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.microdata import microdata
from sfumato.errors import ColumnError, PolicyError
from sfumato.search.mondrian.goals import _hits, plain_queries
from tests.rows import as_they_came


def released(table: dict[str, list[Any]], k: int, quasi: list[str] | None = None, **options: Any) -> pl.DataFrame:
    quasi = quasi or [name for name in table if name != "c"]
    rest = [name for name in table if name not in quasi]
    search = sf.Mondrian(**options)
    found = sf.anonymize(
        table, quasi=quasi, insensitive=rest, require=sf.KAnonymity(k), loss="ncp", search=search, ends="exact"
    )
    return as_they_came(found)


def gcp(table: dict[str, list[Any]], k: int, **options: Any) -> float:
    search = sf.Mondrian(**options)
    found = sf.anonymize(table, quasi=list(table), require=sf.KAnonymity(k), loss="ncp", search=search, ends="exact")
    return found.solution.verdict.loss


def test_least_ncp_by_hand() -> None:
    """Both columns have width 1, but cutting b leaves 0.9 of a and nothing of b; cutting a leaves 0.1 and all of b."""
    table = {"a": [0, 1, 9, 10], "b": [0, 100, 0, 100]}
    assert gcp(table, 2) == pytest.approx((0.1 + 1) / 2)
    assert gcp(table, 2, dimension="ncp") == pytest.approx((0.9 + 0) / 2)
    assert released(table, 2, dimension="ncp")["a"].to_list() == ["[0, 9]", "[1, 10]", "[0, 9]", "[1, 10]"]


def test_least_ncp_over_all_positions() -> None:
    """The gap is at 3 | 6, the cuts at the median are 4 | 5, of which 4 * 0.8 + 5 * 0.15 is the least, and 5 | 4."""
    table = {"a": [0, 1, 2, 80, 85, 90, 95, 97, 100]}
    assert Counter(released(table, 3, dimension="ncp")["a"]) == {"[0, 80]": 4, "[85, 100]": 5}
    found = released(table, 3, dimension="ncp", cut="best")
    assert Counter(found["a"]) == {"[0, 2]": 3, "[80, 90]": 3, "[95, 100]": 3}


@pytest.mark.parametrize(("dimension", "loss"), [("first", (0.4 + 1) / 2), ("ncp", (0.6 + 4 / 6 * 0.4) / 2)])
def test_ncp_of_categories_counts_the_leaves_of_the_node(dimension: str, loss: float) -> None:
    """Cutting n leaves the root twice; cutting the tree leaves nodes of 2, 2 and 1 of the 5 leaves in the table."""
    tree = sf.wide([(v, v[0], "*") for v in ("x1", "x2", "y1", "y2", "z1", "z2")])
    table = {"n": [1, 2, 3, 4, 5, 6], "q": ["x1", "y1", "z1", "x2", "y2", "z1"]}
    release = sf.anonymize(
        table, quasi=["n", "q"], require=sf.KAnonymity(2), loss="ncp", hierarchies={"q": tree},
        search=sf.Mondrian(dimension=dimension), ends="exact",
    )  # fmt: skip
    assert release.solution.verdict.loss == pytest.approx(loss)


def test_weights_of_the_loss_weigh_the_columns() -> None:
    table = {"a": [0, 1, 9, 10], "b": [0, 100, 0, 100]}
    found = sf.anonymize(
        table, quasi=["a", "b"], require=sf.KAnonymity(2), loss=sf.NCP(weights={"a": 5, "b": 1}),
        search=sf.Mondrian(dimension="ncp"), ends="exact",
    )  # fmt: skip
    assert found.solution.verdict.loss == pytest.approx((5 * 0.1 + 1 * 1) / 6)


def test_least_ncp_beats_widest() -> None:
    rng = random.Random(1)
    for _ in range(5):
        table = {
            "a": [rng.randrange(40) for _ in range(150)],
            "b": [rng.choice("pqrstu") for _ in range(150)],
            "d": [rng.gauss(0, 1) for _ in range(150)],
        }
        assert gcp(table, 5, dimension="ncp", cut="best") < gcp(table, 5)


def test_most_gain_by_hand() -> None:
    """a says nothing about c, b everything: one bit."""
    table = {"a": [0, 0, 10, 10], "b": [0, 1, 0, 1], "c": ["y", "n", "y", "n"]}
    assert released(table, 2)["a"].to_list() == [0, 0, 10, 10]
    found = released(table, 2, dimension="gain", class_attribute="c")
    assert sorted(found["b"].to_list()) == [0, 0, 1, 1]
    assert found["a"].to_list() == ["[0, 10]"] * 4


def test_gain_over_all_positions_then_the_median() -> None:
    """1 2 | 3 to 8 tells c; the rest is pure, so it is cut at its median."""
    table = {"a": [1, 2, 3, 4, 5, 6, 7, 8], "c": ["y", "y"] + ["n"] * 6}
    found = released(table, 2, dimension="gain", class_attribute="c", cut="best")
    assert Counter(found["a"]) == {"[1, 2]": 2, "[3, 5]": 3, "[6, 8]": 3}
    assert Counter(released(table, 2)["a"]) == {"[1, 2]": 2, "[3, 4]": 2, "[5, 6]": 2, "[7, 8]": 2}


@pytest.mark.slow
@pytest.mark.parametrize("relaxed", [False, True])
def test_the_cut_of_most_gain_is_that_of_the_formula(relaxed: bool) -> None:
    """One cut of one column: the entropy left is the least over all positions."""
    rng = random.Random(7)
    for _ in range(20):
        n = rng.randint(8, 30)
        values, classes = [rng.randrange(9) for _ in range(n)], [rng.choice("uvw") for _ in range(n)]
        k = n // 2 - rng.randint(0, 2)
        search = {"dimension": "gain", "class_attribute": "c", "cut": "best", "relaxed": relaxed}
        found = released({"a": values, "c": classes}, k, **search)
        left = [_bits([c for v, c in zip(values, classes, strict=True) if v < t]) for t in range(1, 9)]
        right = [_bits([c for v, c in zip(values, classes, strict=True) if v >= t]) for t in range(1, 9)]
        enough = [t for t in range(1, 9) if min(sum(v < t for v in values), sum(v >= t for v in values)) >= k]
        best = min((left[t - 1] + right[t - 1] for t in enough), default=_bits(classes))
        parts = [_bits(part["c"].to_list()) for part in found.partition_by("a")]
        assert sum(parts) <= best + 1e-9 or relaxed
        assert sum(parts) <= _bits(classes) + 1e-9


def _bits(classes: list[str]) -> float:
    """Rows times entropy."""
    return -sum(n * math.log2(n / len(classes)) for n in Counter(classes).values())


def test_a_workload_by_hand() -> None:
    """Queries ask b: cutting a leaves both sides touched by each query, cutting b only one."""
    table = {"a": [0, 0, 10, 10], "b": [0, 1, 0, 1]}
    found = released(table, 2, dimension="workload", queries=[{"b": 0}, {"b": 1}])
    assert sorted(found["b"].to_list()) == [0, 0, 1, 1]
    assert released(table, 2, dimension="workload", queries=[{"a": (5, None)}])["a"].to_list() == [0, 0, 10, 10]


def test_a_workload_cuts_where_its_queries_end() -> None:
    """a <= 3 of ten: cut 3 | 7, then nothing is touched in vain, and the rest is cut at its median."""
    table = {"a": list(range(1, 11))}
    found = released(table, 3, dimension="workload", queries=[{"a": (None, 3)}], cut="best")
    assert Counter(found["a"]) == {"[1, 3]": 3, "[4, 7]": 4, "[8, 10]": 3}


@pytest.mark.parametrize("categories", ["hierarchy", "order", "optimised"])
def test_a_workload_touches_fewer_rows_in_vain(categories: str) -> None:
    rng = random.Random(3)
    rows = 400
    table = {"a": [rng.randrange(60) for _ in range(rows)], "b": [rng.choice("stuvw") for _ in range(rows)]}
    table["d"] = [rng.randrange(100) for _ in range(rows)]
    queries = [{"a": (20, 29)}, {"a": (50, 59), "b": {"s", "u"}}, {"b": "w"}]
    vain = {}
    for name, options in {"widest": {}, "workload": {"dimension": "workload", "queries": queries}}.items():
        release = sf.anonymize(
            table, quasi=["a", "b", "d"], require=sf.KAnonymity(10),
            search=sf.Mondrian(cut="best", categories=categories, **options),
        )  # fmt: skip
        vain[name] = _in_vain(release, table, queries)
    assert vain["workload"] < 0.7 * vain["widest"]


def _in_vain(release: sf.Release, table: dict[str, list[Any]], queries: list[dict[str, Any]]) -> int:
    """Rows of classes that hold a row which matches a query, but do not match it themselves."""

    def matches(row: tuple[int, str], query: dict[str, Any]) -> bool:
        value = dict(zip(("a", "b"), row, strict=True))
        fine = "a" not in query or query["a"][0] <= value["a"] <= query["a"][1]
        return fine and ("b" not in query or value["b"] in query["b"])

    rows = list(zip(table["a"], table["b"], strict=True))
    classes: dict[tuple[Any, ...], list[tuple[int, str]]] = {}
    for label, row in zip(as_they_came(release).iter_rows(), rows, strict=True):
        classes.setdefault(label, []).append(row)
    wasted = 0
    for members in classes.values():
        for query in queries:
            hits = sum(matches(row, query) for row in members)
            wasted += (len(members) - hits) if hits else 0
    return wasted


def test_what_queries_match() -> None:
    frame = pl.DataFrame(
        {
            "n": [1, 2, 3, None],
            "t": ["a", "b", "c", None],
            "f": [True, False, True, None],
            "d": [datetime.date(2024, 1, 1), datetime.date(2024, 2, 1), datetime.date(2024, 3, 1), None],
            "m": [
                datetime.datetime(2024, 1, 1, 12),
                datetime.datetime(2024, 1, 2),
                datetime.datetime(2024, 1, 3),
                None,
            ],
        }
    )
    micro = microdata(frame, dict.fromkeys(frame.columns, "quasi"), {})
    for column, asked, hits in [
        ("n", 2, [0, 1, 0, 0]), ("n", (2, 9), [0, 1, 1, 0]), ("n", (None, "2"), [1, 1, 0, 0]),
        ("n", {1.0, 3}, [1, 0, 1, 0]), ("n", np.int64(3), [0, 0, 1, 0]), ("t", ("b", None), [0, 1, 1, 0]),
        ("t", {"a", "z"}, [1, 0, 0, 0]), ("f", True, [0, 1, 0]),
        ("d", (datetime.date(2024, 1, 15), None), [0, 1, 1, 0]), ("d", "2024-02-01", [0, 1, 0, 0]),
        ("m", (None, datetime.datetime(2024, 1, 2)), [1, 1, 0, 0]), ("n", {"any": [1, 2]}, [1, 1, 0, 0]),
    ]:  # fmt: skip
        plain = plain_queries([{column: asked}])[0][column]
        assert _hits(micro.attribute(column), plain).astype(int).tolist() == hits, (column, asked)


def test_columns_that_cannot_be_scored_by_are_refused() -> None:
    table = {"a": [1, 2, 3, 4], "c": ["y", "n", "y", "n"]}
    with pytest.raises(PolicyError, match="no quasi-identifier"):
        released(table, 2, dimension="workload", queries=[{"c": "y"}])
    with pytest.raises(PolicyError, match="no integer"):
        released(table, 2, dimension="workload", queries=[{"a": ("many", None)}])
    with pytest.raises(ColumnError, match="not a quasi-identifier"):
        released(table, 2, dimension="gain", class_attribute="a")
