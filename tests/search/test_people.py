"""Searches that count people: each release is counted again, naively, and exact ones are compared with all vectors."""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import Infeasible, PolicyError, SfumatoError
from sfumato.search import SEARCHES
from tests.fuzz import examples, slow_but

PROBED = ("optimal", "ola", "incognito", "samarati", "datafly", "flash", "mondrian", "auto")  # that have to work
QUICK = ("optimal", "ola", "mondrian")
QUASI = ["age", "sex"]
HIERARCHIES = {"age": sf.intervals(10, 20, 40), "sex": "flat"}
Rows = list[tuple[int, str, int, str]]


def table_of(rows: Rows) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["age", "sex", "patient", "ill"], orient="row")


def released(rows: Rows, search: Any, require: list[Any], **more: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return sf.anonymize(
            table_of(rows), quasi=QUASI, sensitive=["ill"], unprotected=[] if len(require) > 1 else ["ill"],
            person="patient", require=require, search=search, hierarchies=HIERARCHIES, rest="release", **more,
        )  # fmt: skip


def people_of(release: Any, rows: Rows) -> dict[tuple[str, ...], dict[int, set[str]]]:
    """Whom each released class has, and with which values, by plain loops."""
    found: dict[tuple[str, ...], dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    keys = release.table.select(QUASI).rows()
    assert "patient" not in release.table.columns
    for key, i in zip(keys, release.rows.tolist(), strict=True):
        found[tuple(map(str, key))][rows[i][2]].add(rows[i][3])
    return found


def keeps(found: dict[tuple[str, ...], dict[int, set[str]]], k: int, alpha: float = 1.0, l: int = 1) -> bool:
    for people in found.values():
        count = Counter(value for values in people.values() for value in values)
        most = [n for _, n in count.most_common()]
        if len(people) < k or most[0] > alpha * len(people) + 1e-9 or sum(most[: l - 1]) >= len(people):
            return False
    return bool(found)


ROWS = st.lists(
    st.tuples(st.sampled_from([21, 25, 34, 38, 47]), st.sampled_from("FM"), st.integers(0, 5), st.sampled_from("xyz")),
    min_size=6,
    max_size=24,
)


@pytest.mark.parametrize("search", slow_but([name for name in SEARCHES if name != "safepub"], *QUICK))
@settings(max_examples=examples(40), deadline=None)
@given(rows=ROWS, k=st.integers(2, 3), suppression=st.sampled_from([0.0, 0.3]))
def test_every_search_keeps_its_promise_of_people(search: str, rows: Rows, k: int, suppression: float) -> None:
    try:
        release = released(rows, search, [sf.KAnonymity(k)], suppression=suppression)
    except Infeasible:
        return
    except PolicyError:
        assert search not in PROBED
        return
    found = people_of(release, rows)
    assert keeps(found, k)
    assert release.verification.promises[0].measured == min(map(len, found.values()))
    assert release.verification.promises[0].how == "against the original"


@pytest.mark.parametrize("search", slow_but([name for name in SEARCHES if name != "safepub"], *QUICK))
@settings(max_examples=examples(40), deadline=None)
@given(rows=ROWS, suppression=st.sampled_from([0.0, 0.3]), l=st.booleans())
def test_every_search_counts_the_people_who_have_a_value(search: str, rows: Rows, suppression: float, l: bool) -> None:
    by_value = sf.DistinctLDiversity("ill", 2) if l else sf.AlphaK(0.6, 2, "ill")
    try:
        release = released(rows, search, [sf.KAnonymity(2), by_value], suppression=suppression)
    except Infeasible:
        return
    except PolicyError:
        assert search not in ("optimal", "auto")
        return
    assert keeps(people_of(release, rows), 2, 1.0 if l else 0.6, 2 if l else 1)


LABELS = {
    "age": [
        lambda age: str(age), lambda age: f"{age // 10}", lambda age: f"{age // 20}", lambda age: f"{age // 40}",
        lambda age: "*",
    ],
    "sex": [str, lambda sex: "*"],
}  # fmt: skip


@settings(max_examples=examples(60), deadline=None)
@given(rows=ROWS, k=st.integers(2, 3), limit=st.integers(0, 4), share=st.sampled_from([1.0, 0.6]))
def test_optimal_is_the_best_of_all_level_vectors(rows: Rows, k: int, limit: int, share: float) -> None:
    best: tuple[int, ...] | None = None
    for a, s in product(range(5), range(2)):
        classes: dict[tuple[str, str], list[tuple[int, str]]] = defaultdict(list)
        for age, sex, person, ill in rows:
            classes[LABELS["age"][a](age), LABELS["sex"][s](sex)].append((person, ill))
        kept = 0
        for members in classes.values():
            people = {person for person, _ in members}
            often = Counter(ill for _, ill in set(members))
            if len(people) >= k and max(often.values()) <= share * len(people) + 1e-9:
                kept += len(members)
        if kept and len(rows) - kept <= limit:
            best = min(filter(None, (best, (a + s, a, s))))
    require = [sf.KAnonymity(k)] if share == 1 else [sf.KAnonymity(k), sf.AlphaK(share, 1, "ill")]
    try:
        release = released(rows, "optimal", require, suppression=limit, loss="height")
    except Infeasible:
        assert best is None
        return
    assert best is not None
    assert sum(release.solution.levels.values()) == best[0]


def test_people_of_merged_cells_are_not_added_up() -> None:
    rows = [(21, "F", 1, "x"), (25, "F", 1, "y"), (34, "F", 1, "x"), (38, "F", 2, "z")]  # two people in all
    with pytest.raises(Infeasible, match="asks for classes of at least 3 people; got a table of 2"):
        released(rows, "optimal", [sf.KAnonymity(3)])
    release = released(rows, "optimal", [sf.KAnonymity(2)])
    assert people_of(release, rows) == {("[20, 39]", "F"): {1: {"x", "y"}, 2: {"z"}}} or len(release.table) == 4
    assert keeps(people_of(release, rows), 2)


def test_households_are_counted_too() -> None:
    rng = np.random.default_rng(3)
    table = pl.DataFrame({"age": rng.integers(20, 60, 120), "p": rng.integers(0, 60, 120)})
    table = table.with_columns(home=pl.col("p") // 4)
    release = sf.anonymize(table, quasi=["age"], person="p", household="home", k=4, search="optimal")
    assert [one.parameters for one in release.verification.promises[:2]] == [
        {"k": 4, "person": "p"}, {"k": 4, "household": "home"}
    ]  # fmt: skip
    homes = table["home"].gather(release.rows)
    groups = release.table.with_columns(homes).group_by("age").agg(pl.col("home").n_unique())
    assert groups["home"].min() >= 4  # type: ignore[operator]
    assert release.table.columns == ["age"]


def test_what_cannot_count_people_says_so() -> None:
    rows: Rows = [(21, "F", i, "x") for i in range(6)]
    with pytest.raises(PolicyError, match="average-risk cannot count people"):
        released(rows, "optimal", [sf.AverageRisk(0.5)])
    with pytest.raises(PolicyError, match="t-closeness cannot count people"):
        released(rows, "optimal", [sf.TCloseness("ill", 0.5)])
    with pytest.raises(PolicyError, match="ola prunes the lattice, which distinct-l-diversity does not allow"):
        released(rows, "ola", [sf.KAnonymity(2), sf.DistinctLDiversity("ill", 2)])
    with pytest.raises(SfumatoError, match='no column "nobody"'):
        sf.anonymize(table_of(rows), quasi=QUASI, person="nobody", k=2)
    with pytest.raises(SfumatoError, match='"sex"'):
        sf.anonymize(table_of(rows), quasi=QUASI, person="sex", k=2)
