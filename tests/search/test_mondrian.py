"""Mondrian: every option ends in a verified release; what strict, relaxed, best and ordered cuts come to."""

from __future__ import annotations

import math
import random
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.criteria import CRITERIA
from sfumato.errors import ColumnError, Infeasible, PolicyError
from sfumato.search.problem import Partition
from tests.conformance.test_anonymize_then_verify import criteria, prints, smallest_class, tables
from tests.fuzz import examples
from tests.rows import as_they_came

CALM = list(HealthCheck)


@st.composite
def searches(draw: st.DrawFn, table: dict[str, list[Any]]) -> sf.Mondrian:
    """A Mondrian with any of its options, and queries that ask for values of the table."""
    relaxed = draw(st.booleans())
    options: dict[str, Any] = {
        "cut": draw(st.sampled_from(["balanced", "best"] if relaxed else ["balanced", "lower-median", "best"])),
        "dimension": draw(st.sampled_from(["widest", "first", "ncp", "gain", "workload"])),
        "relaxed": relaxed,
        "categories": draw(st.sampled_from(["hierarchy", "order", "optimised"])),
        "labels": draw(st.sampled_from(["ranges", "mean", "median", "hierarchy"])),
    }
    if options["dimension"] == "gain":
        options["class_attribute"] = "s"
    if options["dimension"] == "workload":
        queries = [query for name in table if name.startswith("q") if (query := _query(draw, name, table[name]))]
        if not queries:
            return sf.Mondrian(**options | {"dimension": "ncp"})
        options["queries"] = queries
    return sf.Mondrian(**options)


def _query(draw: st.DrawFn, name: str, values: list[Any]) -> dict[str, Any] | None:
    known = [v for v in values if v not in (None, "") and not (isinstance(v, float) and math.isnan(v))]
    if not known or len({type(v) for v in known}) > 1:
        return None
    one, two = draw(st.sampled_from(known)), draw(st.sampled_from(known))
    form = draw(st.sampled_from(["value", "range", "open", "set"]))
    asked = {"value": one, "range": tuple(sorted((one, two))), "open": (one, None), "set": {one, two}}[form]
    return {name: asked}


@pytest.mark.slow
@settings(max_examples=examples(300), deadline=None, suppress_health_check=CALM)
@given(data=st.data(), table=tables(), k=st.integers(1, 5), more=criteria, flat=st.booleans(), split=st.booleans())
def test_every_option_keeps_its_promises(
    data: st.DataObject, table: dict[str, list[Any]], k: int, more: list[Any], flat: bool, split: bool
) -> None:
    search = data.draw(searches(table))
    names = [name for name in table if name.startswith("q")]
    sets = [names[:2], names[1:]] if split and len(names) > 2 else [names]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sf.RoleWarning)
        try:
            release = sf.anonymize(
                table,
                quasi=sets,
                sensitive=["s"],
                rest="release",
                require=[sf.KAnonymity(k), *more],
                search=search,
                hierarchies={"q0": sf.flat()} if flat else None,
            )
        except (Infeasible, ColumnError) as no:
            assert str(no)
            return
        except PolicyError as no:
            assert "print the same" in str(no)
            assert any(c.monotonicity == "none" for c in more)
            return
    assert release.verification.holds
    assert release.table.height == len(table["s"])
    assert release.solution.verdict.suppressed == 0
    assert math.isfinite(release.solution.verdict.loss)
    for names in sets:
        assert smallest_class(release.table, names) >= k


@pytest.mark.slow
@settings(max_examples=examples(60), deadline=None, suppress_health_check=CALM)
@given(data=st.data(), table=tables(), k=st.integers(1, 4), order=st.randoms(use_true_random=False))
def test_row_order_does_not_matter(data: st.DataObject, table: dict[str, list[Any]], k: int, order: Any) -> None:
    search = data.draw(searches(table))
    names = [name for name in table if name.startswith("q")]
    rows = list(range(len(table["s"])))
    order.shuffle(rows)
    turned = {name: [values[i] for i in rows] for name, values in table.items()}
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sf.RoleWarning)
        for one in (table, turned):
            try:
                released = sf.anonymize(
                    one, quasi=names, sensitive=["s"], rest="release", require=sf.KAnonymity(k), search=search
                )
            except (Infeasible, ColumnError) as no:
                found.append(type(no))
                continue
            found.append(Counter(tuple(prints(v) for v in row) for row in released.table.select(names).iter_rows()))
    assert found[0] == found[1]


@settings(max_examples=examples(80), deadline=None, suppress_health_check=CALM)
@given(
    rows=st.integers(1, 200),
    k=st.integers(1, 9),
    d=st.integers(1, 3),
    seed=st.integers(0, 99),
    dimension=st.sampled_from(["widest", "first", "ncp"]),
)
def test_relaxed_classes_have_fewer_than_twice_k_rows(rows: int, k: int, d: int, seed: int, dimension: str) -> None:
    rng = random.Random(seed)
    table = {f"q{i}": rng.sample(range(10 * rows), rows) for i in range(d)}
    if k > rows:
        return
    search = sf.Mondrian(relaxed=True, dimension=dimension)
    sizes = _sizes(sf.anonymize(table, quasi=list(table), require=sf.KAnonymity(k), search=search))
    assert all(k <= size < 2 * k for size in sizes)


@settings(max_examples=examples(80), deadline=None, suppress_health_check=CALM)
@given(values=st.lists(st.integers(0, 4), min_size=1, max_size=60), k=st.integers(1, 6))
def test_relaxed_cuts_equal_values_apart(values: list[int], k: int) -> None:
    """A part that still spans two values is below 2k rows, however many rows share a value."""
    if k > len(values):
        return
    search = sf.Mondrian(relaxed=True)
    release = sf.anonymize({"q": values, "x": [0] * len(values)}, quasi=["q"], require=sf.KAnonymity(k), search=search)
    recoding = release.solution.recoding
    assert isinstance(recoding, Partition)
    count = release.microdata.attribute("q").categories.count if recoding.split is None else recoding.split.count
    rows = Counter[int]()
    for piece, of in enumerate(recoding.class_of_cell.tolist()):
        rows[of] += int(count[piece])
    labels = recoding.labels["q"]
    for of, size in rows.items():
        assert size >= k
        assert size < 2 * k or labels.lo[labels.of[of]] == labels.hi[labels.of[of]]


def test_relaxed_by_hand() -> None:
    """1 2 2 2 2 3: strict has no cut with three rows on each side, relaxed deals the 2s."""
    table = {"q": [1, 2, 2, 2, 2, 3]}
    strict = sf.anonymize(table, quasi=["q"], require=sf.KAnonymity(3), search=sf.Mondrian(), ends="exact")
    relaxed = sf.anonymize(table, quasi=["q"], require=sf.KAnonymity(3), search=sf.Mondrian(relaxed=True), ends="exact")
    assert strict.table["q"].to_list() == ["[1, 3]"] * 6
    assert relaxed.table["q"].to_list() == ["[1, 2]", "[1, 2]", "[1, 2]", "[2, 3]", "[2, 3]", "[2, 3]"]
    assert relaxed.solution.verdict.loss == pytest.approx(0.5)


def test_relaxed_deals_sensitive_values_as_counted() -> None:
    """All rows are equal but in the sensitive value: whatever is dealt, the criterion holds of what is released."""
    table = {"q": [1, 2, 2, 2, 2, 3, 3, 3], "s": ["a", "a", "b", "a", "b", "b", "a", "b"]}
    search = sf.Mondrian(relaxed=True)
    for criterion in (sf.DistinctLDiversity("s", 2), sf.TCloseness("s", 0.3)):
        release = sf.anonymize(
            table, quasi=["q"], sensitive=["s"], require=[sf.KAnonymity(2), criterion], search=search
        )
        assert release.verification.holds
        assert Counter(release.table["s"]) == Counter(table["s"])
        assert len(_sizes(release)) > 1


def test_best_moves_on_to_the_next_position() -> None:
    """Both cuts at the median leave a side with one sensitive value; the next position outward does not."""
    table = {"q": [1, 2, 3, 4, 5, 6, 7, 8], "s": list("aaaaabab")}  # only 6 | 2 leaves both values on each side
    require = [sf.KAnonymity(2), sf.DistinctLDiversity("s", 2)]
    for cut, sizes in (("lower-median", [8]), ("balanced", [8]), ("best", [2, 6])):
        found = sf.anonymize(table, quasi=["q"], sensitive=["s"], require=require, search=sf.Mondrian(cut=cut))
        assert sorted(_sizes(found)) == sizes


def test_best_is_balanced_where_only_size_counts() -> None:
    rng = random.Random(4)
    table = {"a": [rng.randrange(30) for _ in range(200)], "b": [rng.choice("xyz") for _ in range(200)]}
    found = [
        sf.anonymize(table, quasi=["a", "b"], require=sf.KAnonymity(5), search=sf.Mondrian(cut=cut))
        for cut in ("balanced", "best")
    ]
    assert found[0].table.equals(found[1].table)


TREE = sf.wide([(v, v[0], "*") for v in ("a1", "a2", "b1", "b2", "c1", "d1")])


def _jobs(search: sf.Mondrian, values: list[str], k: int) -> Counter[str]:
    release = sf.anonymize({"q": values}, quasi=["q"], require=sf.KAnonymity(k), search=search, hierarchies={"q": TREE})
    return Counter(release.table["q"])


def test_best_puts_small_children_together() -> None:
    values = ["a1"] * 4 + ["b1"] * 4 + ["c1"] * 2 + ["d1"]
    assert _jobs(sf.Mondrian(), values, 3) == {"*": 11}
    assert _jobs(sf.Mondrian(cut="best"), values, 3) == {"a1": 4, "b1": 4, "*": 3}
    # together still too small: they take the smallest of the others in
    assert _jobs(sf.Mondrian(cut="best"), ["a1"] * 4 + ["b1"] * 5 + ["c1"], 3) == {"*": 5, "b1": 5}
    # all too small: in two at the best balance
    values = ["a1"] * 2 + ["b1"] * 2 + ["c1"] * 2 + ["d1"] * 2
    found = sf.anonymize(
        {"q": values, "r": [1, 1, 1, 1, 9, 9, 9, 9]}, quasi=["q", "r"], require=sf.KAnonymity(3),
        search=sf.Mondrian(cut="best", dimension="first"), hierarchies={"q": TREE},
    )  # fmt: skip
    assert Counter(found.table["r"]) == {1: 4, 9: 4}


def test_categories_in_order_are_cut_in_two() -> None:
    values = ["a1"] * 3 + ["a2"] * 3 + ["b1"] * 3 + ["c1"] * 3
    assert _jobs(sf.Mondrian(categories="order"), values, 3) == {"a1": 3, "a2": 3, "b1": 3, "c1": 3}
    values = ["a1"] * 3 + ["a2"] * 3 + ["b1"] * 2 + ["c1"] * 1
    assert _jobs(sf.Mondrian(), values, 3) == {"*": 9}
    assert _jobs(sf.Mondrian(categories="order"), values, 3) == {"a1": 3, "a2": 3, "*": 3}


@pytest.mark.slow
@pytest.mark.parametrize("dimension", ["widest", "ncp", "gain"])
@pytest.mark.parametrize("relaxed", [False, True])
@pytest.mark.parametrize("categories", ["hierarchy", "order", "optimised"])
def test_adult_with_l_diversity_and_t_closeness(shared: Path, dimension: str, relaxed: bool, categories: str) -> None:
    adult = sf.read(shared / "data/arx/adult.csv").head(3000)
    quasi = ["age", "race", "education"]
    release = sf.anonymize(
        adult,
        quasi=quasi,
        sensitive=["occupation"],
        insensitive=[c for c in adult.columns if c not in (*quasi, "occupation")],
        require=[sf.KAnonymity(5), sf.EntropyLDiversity("occupation", 3), sf.TCloseness("occupation", 0.4)],
        search=sf.Mondrian(
            cut="best", dimension=dimension, relaxed=relaxed, categories=categories,
            class_attribute="salary-class" if dimension == "gain" else None,
        ),
        hierarchies={c: str(shared / f"data/arx/adult_hierarchy_{c}.csv") for c in quasi[1:]},
    )  # fmt: skip
    assert release.verification.holds
    assert release.table.height == adult.height
    assert len(_sizes(release)) > 20
    assert as_they_came(release)["occupation"].equals(adult["occupation"])


def test_wrong_options_are_refused() -> None:
    wrong: list[dict[str, Any]] = [
        {"cut": "middle"}, {"dimension": "wide"}, {"categories": "tree"}, {"labels": "mode"}, {"relaxed": 1},
        {"relaxed": True, "cut": "lower-median"}, {"dimension": "gain"}, {"class_attribute": "s"},
        {"dimension": "workload"}, {"queries": [{"q": 1}]}, {"dimension": "gain", "class_attribute": 3},
        {"dimension": "workload", "queries": []}, {"dimension": "workload", "queries": "q"},
        {"dimension": "workload", "queries": [{"q": (1, 2, 3)}]}, {"dimension": "workload", "queries": [{"q": None}]},
        {"dimension": "workload", "queries": [{"q": {"all": [1]}}]},
    ]  # fmt: skip
    for options in wrong:
        with pytest.raises(PolicyError, match="mondrian"):
            sf.Mondrian(**options)


def test_classes_that_print_the_same_may_not_break_a_criterion(monkeypatch: pytest.MonkeyPatch) -> None:
    make = CRITERIA["distinct-l-diversity"].make
    monkeypatch.setattr(make, "monotonicity", "none")
    table = {"q": [1, 2, 3, 4], "s": ["a", "b", "a", "b"]}
    for options in ({"relaxed": True}, {"labels": "mean"}):
        with pytest.raises(PolicyError, match="print the same"):
            sf.anonymize(
                table, quasi=["q"], sensitive=["s"], require=sf.DistinctLDiversity("s", 2),
                search=sf.Mondrian(**options),
            )  # fmt: skip


def test_the_manifest_names_the_options(tmp_path: Path) -> None:
    search = sf.Mondrian(dimension="workload", queries=[{"q": (1, 2)}, {"q": {3}}], relaxed=True, labels="median")
    release = sf.anonymize(pl.DataFrame({"q": [1, 2, 3, 4]}), quasi=["q"], require=sf.KAnonymity(2), search=search)
    assert release.manifest["policy"]["search"]["queries"] == ({"q": [1, 2]}, {"q": {"any": [3]}})
    assert sf.verify(release.save(tmp_path / "out")).holds


def _sizes(release: sf.Release) -> list[int]:
    names = list(release.policy.columns)
    return release.table.group_by(names).len()["len"].to_list()
