"""Tidy labels: they nest, and a number or date has no more of them than it had values."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.label_grammar import read_printed
from sfumato.errors import PolicyError


def people(rows: int = 3000, seed: int = 5) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    born = np.datetime64("1940-01-01") + rng.integers(0, 365 * 60, rows).astype("m8[D]")
    return pl.DataFrame(
        {
            "age": rng.integers(17, 90, rows),
            "income": np.round(rng.lognormal(10, 0.5, rows), 2),
            "born": pl.Series(born.astype("M8[D]")),
            "sex": rng.choice(["f", "m"], rows),
        }
    )


def released(**more: Any) -> sf.Release:
    table = people()
    return sf.anonymize(table, quasi=table.columns, require=sf.KAnonymity(5), **more)


@pytest.mark.slow
def test_labels_nest_and_are_no_more_than_the_values() -> None:
    table, made = people(), released()
    for name in ("age", "income", "born"):
        assert made.table[name].n_unique() <= table[name].n_unique()
    ends = []
    for label in set(made.table["age"].cast(pl.String)) - {"*"}:
        found = read_printed(label)
        ends.append((int(found.low or 0), int(found.high or 0)) if found else (int(label), int(label)))
    for low, high in ends:
        for other, end in ends:
            assert high < other or end < low or (low <= other <= end <= high) or (other <= low <= high <= end)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["age", "born"])
def test_without_it_labels_overlap_and_lose_less(name: str) -> None:
    tidy, free = released(), released(tidy=False)
    assert free.solution.verdict.loss < tidy.solution.verdict.loss
    assert free.table[name].n_unique() > tidy.table[name].n_unique()
    assert tidy.manifest["policy"]["tidy"]
    assert not free.manifest["policy"]["tidy"]


def test_a_search_that_prints_ranges_goes_on_to() -> None:
    given = {"hierarchies": {"age": sf.intervals(10, 20)}, "search": sf.Mondrian(labels="ranges")}
    assert released(**given, tidy=False).table.equals(released(**given).table)


@pytest.mark.slow
def test_given_hierarchies_are_what_is_released() -> None:
    trees = {"age": sf.intervals(10, 20), "born": sf.dates("year", "decade")}
    for more in ({}, {"tidy": False}, {"search": "mondrian"}):
        made = released(hierarchies=trees, **more)
        assert made.table["born"].cast(pl.String).str.contains(r"^(\*|[0-9]{4}|[0-9]{3}0s|[0-9-]{10})$").all(), more
        assert made.table["age"].cast(pl.String).str.contains(r"^(\*|[0-9]+|\[[0-9]+, [0-9]+\))$").all(), more
    ranges = released(hierarchies=trees, labels="ranges").table["age"].cast(pl.String)
    assert ranges.str.contains(r"^\[[0-9]+, [0-9]+\]$").any()


def test_more_labels_than_values_join_those_above_that_cost_least() -> None:
    rng = np.random.default_rng(1)
    table = pl.DataFrame({"age": rng.integers(30, 38, 400), "town": [f"t{i}" for i in rng.zipf(1.6, 400) % 40]})
    asked: dict[str, Any] = {"quasi": ["age", "town"], "require": sf.KAnonymity(3), "rest": "release"}
    asked["hierarchies"] = {"age": sf.intervals(2, 4, 8), "town": sf.flat()}
    many, few = (sf.anonymize(table, **asked, labels="hierarchy", tidy=tidy) for tidy in (False, True))
    assert many.table["age"].n_unique() > 9 >= few.table["age"].n_unique()
    assert many.solution.verdict.loss < few.solution.verdict.loss < 1.5 * many.solution.verdict.loss
    assert few.verification.holds


def test_few_values_have_as_many_labels_beside_the_one_that_says_nothing() -> None:
    for seed in range(4):
        rng = np.random.default_rng(seed)
        table = pl.DataFrame({"rooms": rng.choice([1, 2, 5, 9], 100), "town": rng.choice(list("abcdefg"), 100)})
        made = sf.anonymize(table, quasi=["rooms", "town"], k=6).table
        assert len(set(made["rooms"].cast(pl.String)) - {"*"}) <= 4
        gaps = table.with_columns(rooms=pl.when(pl.int_range(100) % 20 > 0).then("rooms"))  # missing is no value
        made = sf.anonymize(gaps, quasi=["rooms", "town"], k=6).table
        assert len(set(made["rooms"].cast(pl.String)) - {"*", None}) <= 4


def test_what_contradicts_itself_is_refused() -> None:
    with pytest.raises(PolicyError, match=r"tidy labels are those of hierarchies; got labels ranges"):
        released(tidy=True, labels="ranges")
    with pytest.raises(PolicyError, match="tidy must be true or false; got 'yes'"):
        released(tidy="yes")


@pytest.mark.slow
def test_what_ranges_would_save_is_known() -> None:
    tidy, ranges = released(ends="exact"), released(labels="ranges", ends="exact")
    assert tidy.solution.as_ranges is not None
    assert ranges.solution.as_ranges is None
    assert tidy.solution.as_ranges < tidy.solution.verdict.loss
    assert "as_ranges" not in str(tidy.manifest)
