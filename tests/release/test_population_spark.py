"""Populations that Spark counts: the release and the promises are those of the same tables in memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.printed import printed_frame
from sfumato.errors import ColumnError, Infeasible, PolicyError
from tests.release.test_population import AGES, ILL, PEOPLE, shown

pytestmark = pytest.mark.spark
ROWS = 600
QUASI = ["age", "sex", "town"]
TREES = {"age": sf.intervals(5, 10, 20), "sex": sf.flat(), "town": sf.flat()}


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    """Many people, with missing values and a key of their own."""
    rng = np.random.default_rng(4)
    towns = rng.choice(["Rome", "Milan", "Turin"], ROWS).tolist()
    ages = rng.integers(20, 60, ROWS)
    return pl.DataFrame(
        {"key": np.arange(ROWS), "age": ages, "sex": rng.choice(["f", "m"], ROWS), "town": [*towns[:-1], None]}
    )


@pytest.fixture(scope="module")
def ill(people: pl.DataFrame) -> pl.DataFrame:
    """A third of them, and what they have."""
    rng = np.random.default_rng(5)
    some = people[sorted(rng.choice(ROWS, 200, replace=False))].drop("key")
    return some.with_columns(disease=pl.Series(rng.choice(["flu", "cold", "ulcer"], 200)))


@pytest.fixture
def of_spark(spark: Any) -> Callable[[pl.DataFrame], Any]:
    """A table of these tests as a frame of Spark."""
    return lambda table: spark.createDataFrame(table.to_arrow())


def rows(release: Any) -> list[Any]:
    table = release.data if isinstance(release.data, pl.DataFrame) else pl.from_arrow(release.data.toArrow())
    return sorted(printed_frame(pl.DataFrame(table)).rows(), key=repr)


def asked(model: str, population: Any) -> Any:
    if model == "k-map":
        return sf.KMap(8, population=population)
    return sf.DeltaPresence(population, 0.05, 0.6)


ASKED: dict[str, Any] = {"quasi": QUASI, "sensitive": ["disease"], "unprotected": ["disease"], "hierarchies": TREES}


@pytest.mark.parametrize("model", ["delta-presence", "k-map"])
@pytest.mark.parametrize("search", ["spalm", "optimal", "mpalm"])
def test_both_tables_on_spark_give_what_both_in_memory_give(
    of_spark: Callable[[pl.DataFrame], Any], people: pl.DataFrame, ill: pl.DataFrame, model: str, search: str
) -> None:
    given: dict[str, Any] = {**ASKED, "search": search}
    if search == "mpalm":  # which may mix a missing value with others
        people, ill, given["hierarchies"] = people.drop_nulls(), ill.drop_nulls(), None
    here = sf.anonymize(ill, require=asked(model, people), **given)
    there = sf.anonymize(of_spark(ill), require=asked(model, of_spark(people)), **given)
    mine, theirs = shown(here.verification, model), shown(there.verification, model)
    assert (theirs.holds, theirs.measured, theirs.note, theirs.how) == (True, mine.measured, mine.note, mine.how)
    assert rows(there) == rows(here)
    assert there.manifest["population"]["sha256"] == here.manifest["population"]["sha256"]


def test_the_worked_example(of_spark: Callable[[pl.DataFrame], Any]) -> None:
    release = sf.anonymize(
        of_spark(ILL), quasi=["age", "zip"], require=sf.DeltaPresence(of_spark(PEOPLE), 0.5, 0.75), search="spalm",
        hierarchies=AGES, rest="release",
    )  # fmt: skip
    promise = shown(release.verification)
    assert (promise.measured, promise.note) == (0.75, "the least presence is 0.5")


def test_either_table_may_be_elsewhere(
    of_spark: Callable[[pl.DataFrame], Any], people: pl.DataFrame, ill: pl.DataFrame, tmp_path: Path
) -> None:
    people.write_parquet(tmp_path / "people.parquet")
    here = sf.anonymize(ill, require=asked("k-map", people), search="spalm", **ASKED)
    for table, population in (
        (ill, of_spark(people)),
        (of_spark(ill), people),
        (of_spark(ill), sf.scan(tmp_path / "people.parquet")),
        (of_spark(ill), str(tmp_path / "people.parquet")),
    ):
        assert rows(sf.anonymize(table, require=asked("k-map", population), search="spalm", **ASKED)) == rows(here)


def test_a_folder_is_proven_by_a_population_on_spark(
    of_spark: Callable[[pl.DataFrame], Any], people: pl.DataFrame, ill: pl.DataFrame, tmp_path: Path
) -> None:
    out, population = tmp_path / "out", of_spark(people)
    sf.anonymize(of_spark(ill), require=asked("delta-presence", population), search="spalm", to=out, **ASKED)
    assert sf.verify(out).outcome == "stated"
    assert sf.verify(out, population=population).outcome == "holds"
    assert sf.verify(out, population=people).outcome == "holds"
    assert sf.verify(out, population=of_spark(people[1:])).outcome == "broken"
    assert "Rome" not in (out / "manifest.json").read_text("utf-8").split('"population"')[1].split('"promises"')[0]


def test_a_table_on_spark_is_verified(
    of_spark: Callable[[pl.DataFrame], Any], people: pl.DataFrame, ill: pl.DataFrame
) -> None:
    release = sf.anonymize(ill, require=asked("delta-presence", people), search="spalm", **ASKED)
    table, population = of_spark(release.table), of_spark(people)
    found = sf.verify(table, quasi=QUASI, require=asked("delta-presence", population))
    assert found.holds
    assert found.promises[0].measured == shown(release.verification).measured
    narrow = sf.DeltaPresence(population, 0.05, found.promises[0].measured - 0.001)
    assert not sf.verify(table, quasi=QUASI, require=narrow).holds


def test_a_distribution_on_spark(of_spark: Callable[[pl.DataFrame], Any]) -> None:
    some = pl.DataFrame({"age": [21, 22, 31, 31], "sex": ["F", "M", "F", "F"]})
    people = pl.DataFrame({"age": [21, 22, 31, 32], "sex": ["F", "M", "F", "M"], "n": [10, 20, 30, 40]})
    given: dict[str, Any] = {"quasi": ["age", "sex"], "search": "optimal", "rest": "release"}
    given["hierarchies"] = {"age": sf.redact("right"), "sex": sf.flat()}
    here, there = (
        sf.anonymize(table, require=sf.ConfidentDeltaPresence(of, 200, 0, 0.5, 0.9, weight="n"), **given)
        for table, of in ((some, people), (of_spark(some), of_spark(people)))
    )
    assert rows(here) == rows(there)
    model = "confident-delta-presence"
    assert shown(here.verification, model).measured == shown(there.verification, model).measured


def test_what_is_refused_in_memory_is_refused(
    of_spark: Callable[[pl.DataFrame], Any], people: pl.DataFrame, ill: pl.DataFrame
) -> None:
    table, given = of_spark(ill), {**ASKED, "search": "spalm"}
    with pytest.raises(PolicyError, match=r"the population lacks people of the table: \d+ rows of 200") as refused:
        sf.anonymize(table, require=sf.DeltaPresence(of_spark(people[:300]), 0, 1), **given)
    assert not {"Rome", "Milan", "Turin"} & {*str(refused.value).split()}
    with pytest.raises(ColumnError, match='the population has no column "town"'):
        sf.anonymize(table, require=sf.DeltaPresence(of_spark(people.drop("town")), 0, 1), **given)
    dates = people.with_columns(age=pl.lit("2000-01-01").str.to_date())
    with pytest.raises(ColumnError, match="other values in the population"):
        sf.anonymize(table, require=sf.DeltaPresence(of_spark(dates), 0, 1), **given)
    ills, free = people.with_columns(disease=pl.lit("flu")), {**given, "sensitive": [], "unprotected": []}
    with pytest.raises(PolicyError, match='has "disease", too'):
        sf.anonymize(table, require=sf.DeltaPresence(of_spark(ills), 0, 1), insensitive=["disease"], **free)
    with pytest.raises(Infeasible):
        sf.anonymize(table, require=sf.DeltaPresence(of_spark(people), 0.5, 0.6), **given)
