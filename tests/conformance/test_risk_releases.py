"""Criteria that rest on risk measures, through every search: who respects them, who refuses, and what is released."""

from __future__ import annotations

import itertools
import warnings
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import Infeasible, PolicyError
from sfumato.testing.classes import small_tables
from sfumato.testing.searches import release_by as release
from tests.fuzz import FUZZ, examples

from .test_anonymize_then_verify import CALM, tables
from .test_searches import brief, loss_for

pytestmark = pytest.mark.slow

OF_TABLE = [sf.AverageRisk(0.3), sf.SampleUniqueness(0.1), sf.PopulationUniqueness(0.05, 0.2)]
OTHERS = {"tuple-suppression", "safepub", "anatomy", "slicing"}  # that do not take k-anonymity, or not alone
PRUNING = {"samarati", "incognito", "ola", "spalm"}
asked = st.one_of(
    st.builds(sf.BetaLikeness, st.just("s"), st.sampled_from([0.2, 1, 4, 1e9]), st.sampled_from(["basic", "enhanced"])),
    st.builds(sf.DeltaDisclosure, st.just("s"), st.sampled_from([0.3, 1, 3]), st.sampled_from(["violates", "skipped"])),
    st.builds(sf.KMap, st.integers(1, 30), st.sampled_from([0.01, 0.3, 1])),
    st.builds(sf.AverageRisk, st.sampled_from([0.1, 1 / 3, 0.7, 1])),
    st.builds(sf.SampleUniqueness, st.sampled_from([0, 0.1, 0.25, 1])),
    st.builds(sf.PopulationUniqueness, st.sampled_from([0, 0.05, 0.3]), st.sampled_from([0.01, 0.5])),
)


@settings(max_examples=examples(250), deadline=None, suppress_health_check=CALM)
@given(
    table=tables(), require=st.lists(asked, min_size=1, max_size=2), suppression=st.sampled_from([0, 1, 0.2, 1.0]),
    search=st.sampled_from(["optimal", "mondrian", "k-member", "refined", "iterated", "auto", "tds", "datafly"]),
)  # fmt: skip
def test_verified_or_refused_whatever_the_table(
    table: dict[str, list[Any]], require: list[Any], suppression: float, search: str
) -> None:
    names = [name for name in table if name.startswith("q")]
    options = {
        "quasi": names,
        "sensitive": ["s"],
        "rest": "release",
        "require": require,
        "search": search,
        "suppression": suppression,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sf.RoleWarning)
        try:
            found = sf.anonymize(table, **options)
        except (Infeasible, sf.errors.ColumnError) as no:
            assert str(no)
            return
    assert found.verification.holds
    assert found.solution.verdict.suppressed <= found.policy.limit(len(table["s"]))
    alone = [c for c in require if not c.uses_overall_distribution]
    assert not alone or sf.verify(found.table, quasi=names, require=alone).holds


@pytest.mark.parametrize("name", [n for n in sf.SEARCHES if n not in {*OTHERS, "k-optimize"}])
def test_who_respects_a_promise_about_the_table(name: str) -> None:
    """All but k-optimize; those that prune take what merging keeps, where nothing may be suppressed."""
    search = brief(sf.SEARCHES[name].example)
    for table, criterion in zip(itertools.cycle(small_tables(3, FUZZ)), OF_TABLE, strict=False):
        if name in PRUNING and criterion.monotonicity == "none":
            with pytest.raises(PolicyError, match="prunes the lattice, which population-uniqueness does not allow"):
                release(table, search, [criterion], 0, "lm")
            continue
        assert release(table, search, [criterion], 0, "lm").verification.holds
        if name in PRUNING:
            with pytest.raises(PolicyError, match="where rows may be suppressed"):
                release(table, search, [criterion], 0.2, "lm")


@pytest.mark.parametrize("name", [n for n in sf.SEARCHES if n not in OTHERS])
def test_every_search_respects_k_map(name: str) -> None:
    """It is k-anonymity with the least size of a class, which all of them reach."""
    search, least = brief(sf.SEARCHES[name].example), sf.KMap(5, 0.2).least_size
    for table in small_tables(5, FUZZ):
        ours, plain = (release(table, search, [c], 0, loss_for(name)) for c in (sf.KMap(5, 0.2), sf.KAnonymity(least)))
        assert ours.table.equals(plain.table) or not ours.solution.reproducible


def test_a_table_that_satisfies_stays_as_it_is() -> None:
    """One row of ten stands alone, which the promise allows: searches that look at the whole table blur nothing."""
    table = pl.DataFrame({"a": ["x"] * 5 + ["y"] * 4 + ["z"], "b": [1] * 10})
    for name in ("optimal", "datafly", "tds", "iterated", "refined", "auto", "annealing", "samarati"):
        found = sf.anonymize(
            table, quasi=["a", "b"], require=sf.SampleUniqueness(0.1), search=brief(sf.SEARCHES[name].example)
        )
        assert found.solution.verdict.loss == 0, name


def test_suppressing_rows_alone_does_not_claim_the_optimum() -> None:
    table = pl.DataFrame({"a": ["x", "y", "z", "z", "z"]})
    options = {"quasi": ["a"], "search": "tuple-suppression", "suppression": 2}
    found = sf.anonymize(table, require=sf.AverageRisk(0.4), **options).solution
    assert (found.verdict.suppressed, found.optimal, found.bound) == (2, False, None)
    assert sf.anonymize(table, require=sf.KAnonymity(2), **options).solution.optimal


def test_rows_that_a_first_search_suppressed_find_their_class_again() -> None:
    """The classes of the first search are numbered anew where some are gone."""
    for table in small_tables(8, FUZZ):
        found = release(table, sf.Refined(rounds=2), [sf.AverageRisk(0.3), sf.DistinctLDiversity("s", 2)], 0.2, "lm")
        assert found.verification.holds


@pytest.mark.parametrize("asked", [sf.TCloseness("s", 0.11), sf.BetaLikeness("s", 0.3), sf.DeltaDisclosure("s", 0.45)])
def test_what_the_release_alone_cannot_show_is_said_by_name(asked: Any, tmp_path: Path) -> None:
    """Shares of x: 0.5 and 0.7 in two classes, 0.605 with the suppressed rows, which are all y, 0.65 without them."""
    shares = {"a": (10, 10), "b": (42, 18), "c": (0, 6)}
    rows = [(q, s) for q, counts in shares.items() for s, n in zip("xy", counts, strict=True) for _ in range(n)]
    table = pl.DataFrame(rows, schema=["q", "s"], orient="row")
    found = sf.anonymize(table, quasi=["q"], require=asked, search="tuple-suppression", suppression=6)
    assert found.solution.verdict.suppressed == 6
    assert found.whole is None  # it would give the suppressed rows away
    with pytest.raises(PolicyError, match=f"{asked.model} holds against the whole table.*larger {asked.bounded_by}$"):
        found.save(tmp_path / "out")
    assert not (tmp_path / "out").exists()
    whole = sf.anonymize(table, quasi=["q"], require=asked, search="optimal")
    assert sf.verify(whole.save(tmp_path / "out")).holds
