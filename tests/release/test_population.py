"""Promises that count a population: the worked example, all worlds, planted faults, and what is refused."""

from __future__ import annotations

import itertools
import json
import random
import sqlite3
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import ColumnError, EmptyTable, Infeasible, PolicyError
from sfumato.release.population import KnownPopulation, count_people
from tests.fuzz import examples

AGES = {"age": sf.redact("right"), "zip": sf.flat()}
PEOPLE = pl.DataFrame(
    {
        "name": ["Ann", "Bob", "Cid", "Dan", "Eve", "Fay", "Gil", "Hal", "Ida"],
        "age": [21, 22, 23, 24, 25, 31, 32, 33, 34],
        "zip": ["47", "47", "47", "48", "48", "47", "47", "47", "47"],
    }
)
ILL = pl.DataFrame(PEOPLE[[0, 1, 3, 5, 6, 7]]).drop("name").with_columns(disease=pl.Series(["a", "b"] * 3))


def released(search: Any = "spalm", low: float = 0.5, high: float = 0.75, **more: Any) -> Any:
    asked = sf.DeltaPresence(PEOPLE, low, high)
    given: dict[str, Any] = {"require": [asked, sf.DistinctLDiversity("disease", 1)], "hierarchies": AGES} | more
    return sf.anonymize(ILL, quasi=["age", "zip"], search=search, **given)


def shown(found: Any, model: str = "delta-presence") -> Any:
    return next(promise for promise in found.promises if promise.model == model)


@pytest.mark.parametrize("search", ["spalm", "optimal", "ola", "samarati", "mpalm"])
def test_worked_example(search: str) -> None:
    """Classes (2*,47) 2 of 3, (2*,48) 1 of 2, (3*,47) 3 of 4: (0.5, 0.75)-present."""
    release = released(search)
    promise = shown(release.verification)
    assert (promise.holds, promise.measured, promise.note) == (True, 0.75, "the least presence is 0.5")
    sizes = release.table.group_by("age", "zip").len().sort("age", "zip")
    assert sizes.rows() == [("2*", "47", 2), ("2*", "48", 1), ("3*", "47", 3)]


def test_what_is_below_or_above_is_not_released() -> None:
    assert released(low=0.6).solution.levels == {"age": 1, "zip": 1}  # 3 of 5 and 3 of 4
    with pytest.raises(Infeasible):
        released(low=0.7, high=0.8)
    with pytest.raises(Infeasible):
        released("mpalm", low=0.7, high=0.8)


def test_people_whom_no_record_fits_count() -> None:
    """Nobody of (4*, 47) is in the table: their presence is 0, which only a low of 0 allows."""
    more = pl.concat([PEOPLE, pl.DataFrame({"name": ["Jo"], "age": [41], "zip": ["47"]})])
    promise = shown(sf.anonymize(ILL, quasi=["age", "zip"], require=sf.DeltaPresence(more, 0, 0.75), rest="release",
                                 search="spalm", hierarchies=AGES).verification)  # fmt: skip
    assert promise.note == "the least presence is 0; 1 person of the population fit no record"
    whole = sf.anonymize(ILL, quasi=["age", "zip"], require=sf.DeltaPresence(more, 0.1, 0.75), rest="release",
                         search="spalm", hierarchies=AGES)  # fmt: skip
    assert shown(whole.verification).measured < 0.75
    assert "fit no record" not in shown(whole.verification).note


def test_a_folder_is_proven_with_the_population_and_stated_without(tmp_path: Path) -> None:
    folder = released().save(tmp_path / "out")
    PEOPLE.write_csv(tmp_path / "voters.csv")
    alone, proven = sf.verify(folder), sf.verify(folder, population=tmp_path / "voters.csv")
    assert (alone.outcome, shown(alone).how) == ("stated", "stated")
    assert (proven.outcome, shown(proven).how) == ("holds", "against the population")
    assert sf.verify(folder, population=PEOPLE.reverse().select("zip", "age")).holds
    assert sf.verify(folder, population=sf.scan(tmp_path / "voters.csv")).holds
    assert "Ann" not in (folder / "manifest.json").read_text() + (folder / "report.html").read_text()


@pytest.mark.parametrize("fault", ["row left out", "row moved", "row added", "other population", "figure"])
def test_planted_faults_are_found(fault: str, tmp_path: Path) -> None:
    """The bytes of the data are those of the manifest again, so that only the promise can tell."""
    from sfumato.engines.files.bytes import sha256

    folder, population = released().save(tmp_path / "out"), PEOPLE
    data = folder / "data.csv"
    header, *lines = data.read_text().splitlines()
    manifest = json.loads((folder / "manifest.json").read_text())
    if fault == "row left out":
        lines = lines[1:]
    elif fault == "row moved":
        lines[0] = lines[0].replace("2*", "3*")
    elif fault == "row added":
        lines.append(lines[-1])
    elif fault == "other population":
        population = PEOPLE[1:]
    else:
        manifest["population"]["promises"][0]["measured"] = 0.5
    data.write_text("\n".join([header, *lines]) + "\n")
    manifest["files"][0]["sha256"] = sha256(data)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    found = sf.verify(folder, population=population)
    assert found.outcome == "broken"
    assert not shown(found).holds or fault == "row left out", shown(found)


def worlds(release: pl.DataFrame, people: pl.DataFrame, fits: Any) -> list[tuple[int, ...]]:
    """Every set of people whose members, as many as there are records, can be dealt to the records they fit."""
    labels = release.group_by(release.columns).len().rows()
    found = []
    for chosen in itertools.combinations(range(people.height), release.height):
        counts: dict[tuple[Any, ...], int] = {}
        for i in chosen:
            own = [label[:-1] for label in labels if fits(people.row(i), label[:-1])]
            key = own[0] if own else ()
            counts[key] = counts.get(key, 0) + 1
        if counts == {label[:-1]: label[-1] for label in labels}:
            found.append(chosen)
    return found


def inside(value: str, label: str) -> bool:
    """Whether a number of one digit is what a label says, read without the library."""
    if label == "*" or value == label:
        return True
    if label.startswith("["):
        low, high = label.strip("[]()").split(", ")
        return int(low) <= int(value) <= int(high) - label.endswith(")")
    return value in label.strip("{}").split(", ")


@pytest.mark.slow
@pytest.mark.parametrize("search", ["spalm", "mpalm"])
def test_presence_in_all_worlds(search: str) -> None:
    """Of all sets of people that fit what is published, the share with each person is within the bounds."""
    rng, made = random.Random(search), 0
    for _ in range(40):
        n = rng.randint(4, 8)
        people = pl.DataFrame({"a": [rng.randint(1, 6) for _ in range(n)], "b": [rng.choice("123") for _ in range(n)]})
        taken = sorted(rng.sample(range(n), rng.randint(2, n - 1)))
        low, high = rng.choice([(0, 0.5), (0, 0.75), (0.25, 0.8), (0.5, 0.9)])
        try:
            found = sf.anonymize(
                people[taken], quasi=["a", "b"], require=sf.DeltaPresence(people, low, high), search=search,
                hierarchies={"a": sf.intervals(2, 4), "b": "flat"} if search == "spalm" else None,
            ).table  # fmt: skip
        except Infeasible:
            continue
        made += 1
        texts = found.select(pl.all().cast(pl.String))
        fitting = worlds(texts, people, lambda p, label: all(inside(str(v), w) for v, w in zip(p, label, strict=True)))
        assert tuple(taken) in fitting
        for person in range(n):
            share = sum(person in world for world in fitting) / len(fitting)
            assert low - 1e-9 <= share <= high + 1e-9, (people, taken, found)
    assert made > 5


@pytest.mark.slow
@settings(max_examples=examples(25), deadline=None)
@given(st.data())
def test_lattice_searches_find_the_best_of_all(data: Any) -> None:
    """Every level vector by hand: presence of all classes of the population, loss of the released rows."""
    n = data.draw(st.integers(4, 14))
    rows = data.draw(st.lists(st.tuples(st.integers(0, 7), st.sampled_from("abc")), min_size=n, max_size=n))
    people = pl.DataFrame(rows, schema={"a": pl.Int64, "b": pl.String}, orient="row")
    taken = data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=n, unique=True))
    low, high = data.draw(st.sampled_from([(0, 0.5), (0, 0.8), (0.2, 0.7), (0.5, 1)]))
    k = data.draw(st.integers(1, 3))
    trees = {"a": sf.wide([[str(v), f"[{v // 2 * 2}, {v // 2 * 2 + 2})", "*"] for v in range(8)]), "b": sf.flat()}
    asked = {"quasi": ["a", "b"], "require": [sf.DeltaPresence(people, low, high), sf.KAnonymity(k)]}
    found: dict[str, Any] = {}
    for search in ("spalm", "optimal", "ola"):
        try:
            found[search] = sf.anonymize(people[taken], **asked, search=search, hierarchies=trees).solution
        except Infeasible:
            found[search] = None
    good = []
    for i, j in itertools.product(range(3), range(2)):
        key = [pl.col("a") // (1, 2, 99)[i], pl.col("b") if j == 0 else pl.lit("*").alias("b")]
        of_people = people.select(key).group_by("a", "b").len("people")
        both = of_people.join(people[taken].select(key).group_by("a", "b").len("rows"), on=["a", "b"], how="left")
        rows_of, people_of = both["rows"].fill_null(0), both["people"]
        presence = rows_of / people_of
        if ((presence >= low - 1e-12) & (presence <= high + 1e-12) & ((rows_of == 0) | (rows_of >= k))).all():
            good.append({"a": i, "b": j})
    for name, solution in found.items():
        assert (solution is None) == (not good), name
        if solution is not None:
            assert solution.levels in good
            assert solution.optimal
            assert solution.verdict.loss == pytest.approx(found["spalm"].verdict.loss)
            fixed = [
                sf.anonymize(people[taken], **asked, search="spalm", hierarchies=trees,
                             levels={n: (v, v) for n, v in node.items()}).solution.verdict.loss
                for node in good
            ]  # fmt: skip
            assert solution.verdict.loss == pytest.approx(min(fixed)), name


def test_k_map_counts_the_population() -> None:
    """Two of the three of (2*, 47) are in the table, and all three may be either: a 2-map, and no 3-map with 48."""
    release = released(require=sf.KMap(2, population=PEOPLE), unprotected=["disease"], sensitive=["disease"])
    assert shown(release.verification, "k-map").measured == 2
    wider = released(require=sf.KMap(4, population=PEOPLE), unprotected=["disease"], sensitive=["disease"])
    assert shown(wider.verification, "k-map").measured >= 4


def test_a_table_of_any_tool() -> None:
    table = released().table
    found = sf.verify(table, quasi=["age", "zip"], require=[sf.DeltaPresence(PEOPLE, 0.5, 0.75), sf.KAnonymity(1)])
    assert found.holds
    assert not sf.verify(table, quasi=["age", "zip"], require=sf.DeltaPresence(PEOPLE, 0.5, 0.7)).holds
    assert not sf.verify(table[1:], quasi=["age", "zip"], require=sf.DeltaPresence(PEOPLE, 0.5, 0.75)).holds


def test_tables_in_files_give_the_same(tmp_path: Path) -> None:
    """Neither table is in memory."""
    PEOPLE.write_csv(tmp_path / "voters.csv")
    ILL.write_csv(tmp_path / "ill.csv")
    people = sf.scan(tmp_path / "voters.csv")
    sf.anonymize(
        sf.scan(tmp_path / "ill.csv"), quasi=["age", "zip"], require=sf.DeltaPresence(people, 0.5, 0.75),
        search="spalm", hierarchies=AGES, sensitive=["disease"], unprotected=["disease"], to=tmp_path / "out",
    )  # fmt: skip
    assert sf.verify(tmp_path / "out", population=people).holds
    assert sf.verify(tmp_path / "out", population=PEOPLE).holds


def test_a_population_that_lacks_people_is_refused() -> None:
    with pytest.raises(PolicyError, match="2 rows of 6 are of nobody in it") as refused:
        sf.anonymize(ILL, quasi=["age", "zip"], require=sf.DeltaPresence(PEOPLE[2:], 0, 1), rest="release")
    assert not {"Ann", "21", "22"} & {*str(refused.value).split()}


@pytest.mark.parametrize(
    ("population", "error", "what"),
    [
        (PEOPLE.drop("zip"), ColumnError, 'the population has no column "zip"'),
        (PEOPLE.with_columns(pl.lit(date(2000, 1, 1)).alias("age")), ColumnError, "other values in the population"),
        (PEOPLE.with_columns(pl.lit("x").alias("age")), PolicyError, "lacks people of the table: 6 rows of 6"),
        (PEOPLE.clear(), EmptyTable, "no rows"),
    ],
)
def test_odd_populations(population: pl.DataFrame, error: type[Exception], what: str) -> None:
    with pytest.raises(error, match=what):
        sf.anonymize(ILL, quasi=["age", "zip"], require=sf.DeltaPresence(population, 0, 1), rest="release")


def test_odd_parameters() -> None:
    with pytest.raises(PolicyError, match="low <= high"):
        sf.DeltaPresence(PEOPLE, 0.8, 0.2)
    with pytest.raises(PolicyError, match="population"):
        sf.DeltaPresence(None, 0, 1)
    with pytest.raises(PolicyError, match="sampling fraction"):
        sf.KMap(5)
    with pytest.raises(PolicyError, match="different populations"):
        released(require=[sf.DeltaPresence(PEOPLE, 0, 1), sf.KMap(2, population=PEOPLE.clone())])


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ({"search": "k-member"}, "counts no population"),
        ({"suppression": 0.1}, "no row may be suppressed"),
        ({"loss": "discernibility"}, "loss must be one of labels"),
        ({"person": "disease"}, "cannot count people"),
    ],
)
def test_what_a_population_does_not_go_with(more: dict[str, Any], what: str) -> None:
    with pytest.raises(PolicyError, match=what):
        released(**more)


def test_a_mark_of_people_knows_no_order() -> None:
    def mark(people: pl.DataFrame) -> str:
        engine = sf.verbs.engine_of(people)
        return count_people(KnownPopulation(people), engine, ["age", "zip"], people.schema, 99).sha256(["age", "zip"])

    assert mark(PEOPLE) == mark(PEOPLE.reverse()) != mark(PEOPLE[1:])


def test_a_population_in_a_database(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "register.db") as there:
        there.execute("create table voters (age integer, zip text)")
        there.executemany("insert into voters values (?, ?)", PEOPLE.select("age", "zip").rows())
    voters = sf.Database(f"sqlite:///{tmp_path / 'register.db'}", table="voters")
    release = released(require=sf.DeltaPresence(voters, 0.5, 0.75), sensitive=["disease"], unprotected=["disease"])
    folder = release.save(tmp_path / "out")
    assert sf.verify(folder, population=voters).holds
    assert sf.verify(folder, population=PEOPLE).holds
    assert "register" not in (folder / "manifest.json").read_text()


def test_where_a_file_lies_is_not_published(tmp_path: Path) -> None:
    PEOPLE.write_csv(tmp_path / "voters.csv")
    folder = released(require=sf.DeltaPresence(str(tmp_path / "voters.csv"), 0.5, 0.75), rest="release").save(
        tmp_path / "o"
    )
    told = (folder / "manifest.json").read_text() + (folder / "report.html").read_text()
    assert "voters.csv" in told
    assert str(tmp_path) not in told


def test_classes_that_print_over_others_are_refused() -> None:
    """A class that mixes missing values with others prints *, which fits everybody."""
    rng = random.Random(1)
    ages, towns = [None, *range(20, 60)], ["Rome", "Milan", "Turin", None]
    people = pl.DataFrame({"age": rng.choices(ages, k=400), "town": rng.choices(towns, k=400), "pay": range(400)})
    taken = people[sorted(rng.sample(range(400), 60))]
    with pytest.raises(PolicyError, match="fit several classes"):
        sf.anonymize(
            taken, quasi=["age", "town", "pay"], require=[sf.DeltaPresence(people, 0, 0.5), sf.KAnonymity(3)],
            search="mpalm",
        )  # fmt: skip


def test_missing_values_are_released_by_levels_unless_told_otherwise() -> None:
    some = ILL.with_columns(age=pl.when(pl.int_range(6) == 0).then(None).otherwise("age"))
    people = pl.concat([some.drop("disease"), PEOPLE[[2, 4, 8]].drop("name")])
    asked = {"quasi": ["age", "zip"], "insensitive": ["disease"], "require": sf.DeltaPresence(people, 0, 0.8)}
    release = sf.anonymize(some, **asked)
    assert release.solution.optimal
    assert shown(release.verification).holds
    assert not sf.anonymize(ILL, **asked | {"require": sf.DeltaPresence(PEOPLE, 0, 0.8)}).solution.optimal


PLATES = PEOPLE.with_columns(plate=pl.Series([f"p{i}" for i in range(9)]))


@pytest.mark.parametrize("require", [sf.DeltaPresence(PLATES, 0.5, 0.75), sf.KMap(2, population=PLATES)])
def test_a_released_column_that_the_population_has_is_refused_unless_that_is_accepted(require: Any) -> None:
    ill = ILL.with_columns(plate=pl.Series(["p0", "p1", "p3", "p5", "p6", "p7"]))
    given: dict[str, Any] = {"quasi": ["age", "zip"], "search": "spalm", "hierarchies": AGES, "rest": "release"}
    for roles in ({}, {"sensitive": ["plate"]}):
        with pytest.raises(PolicyError, match='has "plate", too'):
            sf.anonymize(ill, require=require, **roles, **given)
    assert "plate" in sf.anonymize(ill, require=require, unprotected=["plate"], **given).table.columns
    assert sf.anonymize(ill, require=require, identifying=["plate"], **given).verification.holds
