"""mu-Argus: unsafe combinations are broken, and what is released is k-anonymous over all columns."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.search.lattice.optimal import Optimal
from sfumato.search.problem import Partition, Problem
from sfumato.search.suppression.local import Blanks
from sfumato.search.suppression.mu_argus import MuArgus
from tests.conformance.test_anonymize_then_verify import CALM, criteria, prints, smallest_class, tables
from tests.fuzz import examples
from tests.rows import as_they_came
from tests.search.lattices import nine, posed, problems

JOBS = {
    "job": ["cat1", "cat1", "cat1", "cat1", "cat2", "cat2"],
    "birth": ["1975", "1955", "1955", "1955", "1975", "1975"],
    "postcode": ["4350", "4350", "5432", "5432", "4350", "4350"],
}
SEARCHED = st.sampled_from([MuArgus(), MuArgus(1), MuArgus(2, "entropy"), MuArgus("all"), MuArgus(9)])


def test_two_cells_of_the_jobs() -> None:
    """Local recoding blanks birth in the first two rows, where global recoding takes the whole column."""
    release = sf.anonymize(JOBS, quasi=list(JOBS), require=sf.KAnonymity(2), search=MuArgus("all"))
    there = as_they_came(release)
    assert there["birth"].to_list() == [None, None, "1955", "1955", "1975", "1975"]
    assert there["job"].to_list() == JOBS["job"]
    assert there["postcode"].to_list() == JOBS["postcode"]
    assert release.solution.verdict.loss == pytest.approx(2 / 18)
    assert Optimal()(posed(JOBS, list(JOBS), sf.KAnonymity(2))).verdict.loss == pytest.approx(6 / 18)


def test_minimal_unsafe_combinations() -> None:
    """k = 2. The first row is unsafe by job and birth, the second by birth and postcode: a cell of each goes, of the
    column that tells less. Nobody else loses one."""
    codes = np.array([[0, 1, 0], [0, 0, 0], [0, 0, 1], [1, 1, 0]], dtype=np.int32)
    blanks = Blanks(codes, np.array([1, 1, 2, 2]), np.array([2, 2, 2]), 2)
    assert blanks.small().tolist() == [0, 1]
    blanks.break_combinations(3, by_weight=False)
    assert blanks.state.tolist() == [[2, 1, 0], [0, 0, 2], [0, 0, 1], [1, 1, 0]]


@settings(max_examples=examples(100), suppress_health_check=CALM)
@given(seed=st.integers(0, 10_000), size=st.integers(1, 4), by_weight=st.booleans(), k=st.integers(2, 5))
def test_every_unsafe_combination_is_broken(seed: int, size: int, by_weight: bool, k: int) -> None:
    rng = np.random.default_rng(seed)
    codes = np.unique(rng.integers(0, 3, (12, 4)).astype(np.int32), axis=0)
    count, blank = rng.integers(1, 4, len(codes)), np.full(4, 3)
    blanks = Blanks(codes, count, blank, k)
    blanks.break_combinations(size, by_weight)
    for entry, after in zip(codes.tolist(), blanks.state.tolist(), strict=True):
        unsafe = [
            columns
            for width in range(1, size + 1)
            for columns in itertools.combinations(range(4), width)
            if count[(codes[:, columns] == np.array(entry)[list(columns)]).all(axis=1)].sum() < k
        ]
        gone = {c for c in range(4) if after[c] != entry[c]}
        assert all(gone & set(columns) for columns in unsafe)
        assert bool(gone) == bool(unsafe)  # nothing is blanked in vain


@settings(max_examples=examples(100), suppress_health_check=CALM)
@given(seed=st.integers(0, 10_000), k=st.integers(2, 9), spare=st.integers(0, 3))
def test_no_small_class_is_left(seed: int, k: int, spare: int) -> None:
    """Unless the rows left may be suppressed; and cells only ever become blank."""
    rng = np.random.default_rng(seed)
    codes = np.unique(rng.integers(0, 4, (15, 5)).astype(np.int32), axis=0)
    count = rng.integers(1, 3, len(codes))
    blanks = Blanks(codes, count, np.full(5, 4), k)
    blanks.merge_small(spare)
    assert ((blanks.state == codes) | (blanks.state == 4)).all()
    sizes: Counter[Any] = Counter()
    for row, n in zip(blanks.state.tolist(), count.tolist(), strict=True):
        sizes[tuple(row)] += n
    small = sum(n for n in sizes.values() if n < k)
    assert small <= spare or count.sum() < k


@pytest.mark.slow
@settings(max_examples=examples(250), suppress_health_check=CALM)
@given(table=tables(), k=st.integers(1, 4), search=SEARCHED, suppression=st.sampled_from([0, 0, 1, 0.3]))
def test_whatever_the_table(table: dict[str, list[Any]], k: int, search: MuArgus, suppression: float) -> None:
    """k-anonymity can always be had: also with a blank as a wildcard, and for every combination of columns."""
    names = [name for name in table if name.startswith("q")]
    frame = {name: table[name] for name in names}
    try:
        release = sf.anonymize(frame, quasi=names, require=sf.KAnonymity(k), search=search, suppression=suppression)
    except sf.errors.ColumnError:
        return
    except sf.errors.Infeasible:
        assert len(frame[names[0]]) < k
        return
    assert release.verification.holds
    assert release.solution.verdict.suppressed <= release.policy.limit(len(frame[names[0]]))
    assert smallest_class(release.table, names) >= k
    assert sf.verify(release.table, quasi=names, require=sf.KAnonymity(k), wildcard=True).holds
    for width in range(1, len(names) + 1):
        for columns in itertools.combinations(names, width):
            shared_by = Counter(tuple(map(prints, row)) for row in release.table.select(columns).iter_rows())
            assert min(shared_by.values()) >= k


@settings(max_examples=examples(120), suppress_health_check=CALM)
@given(table=tables(), k=st.integers(1, 3), more=criteria, search=SEARCHED, suppression=st.sampled_from([0, 2, 0.5]))
def test_other_criteria(
    table: dict[str, list[Any]], k: int, more: list[Any], search: MuArgus, suppression: float
) -> None:
    """They hold at the end, or there is no release."""
    names = [name for name in table if name.startswith("q")]
    frame = {name: values for name, values in table.items() if name != "unique"}
    require = [sf.KAnonymity(k), *more]
    try:
        release = sf.anonymize(
            frame, quasi=names, sensitive=["s"], require=require, search=search, suppression=suppression
        )
    except (sf.errors.Infeasible, sf.errors.ColumnError) as no:
        assert str(no)
        return
    assert release.verification.holds
    assert len(release.verification.promises) == len(require)


@settings(max_examples=examples(150), suppress_health_check=CALM)
@given(problem=problems(), search=SEARCHED)
def test_any_problem(problem: Problem, search: MuArgus) -> None:
    """Any loss but height, one set, level bounds: the recoding never goes beyond them, and blanks cost a whole cell."""
    if len(problem.sets) > 1 or isinstance(problem.policy.loss, sf.Height):
        with pytest.raises(sf.errors.PolicyError, match=r"one quasi-identifier set|level vectors"):
            search(problem)
        return
    try:
        solution = search(problem)
    except sf.errors.Infeasible as no:
        assert "suppressed" in no.closest
        return
    assert solution.verdict.satisfied
    assert isinstance(solution.recoding, Partition)
    for a in problem.attributes:
        labels = solution.recoding.labels[a.name]
        blank = np.array([text is None for text in labels.text])
        low, high = problem.levels.get(a.name, (0, a.ladder.height))
        used = np.unique(labels.of[solution.recoding.class_of_cell[solution.kept]])
        level = np.asarray(labels.fixed_level)[used]
        assert ((low <= level) & (level <= high) | blank[used]).all()


@settings(max_examples=examples(100), suppress_health_check=CALM)
@given(letters=st.lists(st.sampled_from("abcdefgh"), min_size=4, max_size=14), numbers=st.data(), k=st.integers(2, 4))
def test_sets_name_only_what_is_shown(letters: list[str], numbers: Any, k: int) -> None:
    """A value whose every cell is blank must not show in the sets of a learned hierarchy."""
    other = numbers.draw(st.lists(st.integers(0, 2), min_size=len(letters), max_size=len(letters)))
    table = pl.DataFrame({"a": letters, "b": other})
    height = posed(table, ["a", "b"], sf.KAnonymity(k)).attributes[0].ladder.height
    if height < 2:
        return
    release = sf.anonymize(
        table, quasi=["a", "b"], require=sf.KAnonymity(k), search=MuArgus("all"), levels={"a": (1, height - 1)}
    )
    shown: dict[str, set[str]] = {}
    for value, label in zip(letters, as_they_came(release)["a"].to_list(), strict=True):
        if label is not None:
            shown.setdefault(label, set()).add(value)
    for label, values in shown.items():
        members = label.strip("{}").split(", ")
        assert set(members) == values or ".." in label or label == "*"


def test_missing_values_join_the_blanks() -> None:
    """A missing value and a blank cell print the same, so they are one class."""
    table = {"a": ["x", "x", None, "y"], "b": ["p", "p", "q", "q"]}
    release = sf.anonymize(table, quasi=["a", "b"], require=sf.KAnonymity(2), search=MuArgus("all"))
    assert release.table.rows() == [("x", "p"), ("x", "p"), (None, "q"), (None, "q")]
    assert release.solution.verdict.loss == pytest.approx(1 / 8)


def test_rows_go_before_others_are_blanked() -> None:
    """One row fits nowhere. It is suppressed where that is allowed, else the class that costs least joins it."""
    table = {"a": ["x"] * 4 + ["y"] * 2 + ["z"], "b": [1] * 4 + [2] * 2 + [3]}
    gone = sf.anonymize(table, quasi=["a", "b"], require=sf.KAnonymity(2), search=MuArgus("all"), suppression=1)
    assert gone.table["a"].to_list() == ["x"] * 4 + ["y"] * 2
    kept = sf.anonymize(
        table, quasi=["a", "b"], require=sf.KAnonymity(2), search=MuArgus("all"),
        hierarchies={"a": sf.flat(), "b": sf.flat()},
    )  # fmt: skip
    assert kept.table.rows() == [("x", "1")] * 4 + [(None, None)] * 3


@pytest.mark.slow
@pytest.mark.parametrize("format", ["csv", "tsv", "parquet", "xlsx"])
@pytest.mark.parametrize("columns", [["a"], ["a", "b"]])
def test_saved_it_proves_itself(format: str, columns: list[str], tmp_path: Path) -> None:
    """Rows that are blank in full are rows of the file too."""
    table = {"a": ["x"] * 4 + ["y", None, "z"], "b": [1] * 4 + [2, 2, 3]}
    release = sf.anonymize(
        {name: table[name] for name in columns}, quasi=columns, require=sf.KAnonymity(3), search="mu-argus"
    )
    release.save(tmp_path / "out", format=format)
    found = sf.verify(tmp_path / "out")
    assert found.holds
    assert found.rows == 7


def test_it_refuses() -> None:
    with pytest.raises(sf.errors.PolicyError, match="one quasi-identifier set"):
        MuArgus()(posed(JOBS, [["job", "birth"], ["birth", "postcode"]], sf.KAnonymity(2)))
    with pytest.raises(sf.errors.PolicyError, match="height"):
        MuArgus()(posed(JOBS, list(JOBS), sf.KAnonymity(2), loss="height"))
    with pytest.raises(sf.errors.PolicyError, match="size"):
        MuArgus(0)
    with pytest.raises(sf.errors.PolicyError, match="weigh"):
        MuArgus(weigh="votes")
    assert MuArgus(None) == MuArgus("all")


@pytest.mark.slow
def test_adult(shared: Path) -> None:
    """Far less is lost than by recoding whole columns, and the nulls of the release are the blanked cells."""
    columns = [a.name for a in nine(shared, 0).attributes]
    release = sf.anonymize(
        sf.read(shared / "data/arx/adult.csv"), quasi=columns, require=sf.KAnonymity(5), search="mu-argus",
        hierarchies={c: str(shared / f"data/arx/adult_hierarchy_{c}.csv") for c in columns},
    )  # fmt: skip
    assert release.verification.holds
    assert release.solution.verdict.loss < 0.12 < 0.6355 < Optimal()(nine(shared, 0)).verdict.loss
    assert release.table.null_count().sum_horizontal().item() > 20_000
    assert release.solution.verdict.suppressed == 0
