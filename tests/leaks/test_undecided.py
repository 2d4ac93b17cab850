"""Every column has a decision: what looks as if it told who somebody is, and has no role, is not released unseen."""

from __future__ import annotations

import tomllib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.cli import main
from sfumato.core.roles import Roles, uncovered, undecided
from sfumato.errors import Infeasible, PolicyError, UndecidedColumns
from tests.fuzz import FUZZ

ROWS = 400


def people(rows: int = ROWS) -> pl.DataFrame:
    """Ages, and what a table about people has beside them."""
    rng = np.random.default_rng(7)
    i = np.arange(rows)
    return pl.DataFrame(
        {
            "age": 20 + i % 50,
            "name": [f"Person {n}" for n in i],
            "postcode": [f"{80000 + n % 40}" for n in i],
            "visit": pl.Series(np.datetime64("2025-01-01") + i % 300),
            "contact": [f"p{n}@x.org" for n in i],
            "student": rng.permutation(rows) * 7 + 1_000_003,
            "assets": rng.lognormal(9, 2, rows).round(2),
            "trade": [f"{n % 40:04d}" for n in i],
            "remarks": [f"said to have been seen near the river with number {n}, who knows it" for n in i],
            "diagnosis": ["flu", "asthma", "ulcer", "cold"] * (rows // 4),
            "wing": ["north", "south"] * (rows // 2),
            "meals": i % 4,
            "smokes": i % 3 == 0,
        }
    )


TELLING = {
    "name": "the name says",
    "postcode": "others can know",
    "visit": "dates or times",
    "contact": "e-mail addresses",
    "student": "value of their own",
    "assets": "value of their own",
    "trade": "codes",
    "remarks": "free text",
    "diagnosis": "keep private",
}  # and wing, meals and smokes look harmless
K = sf.KAnonymity(5)


def stored_as(kind: str, table: pl.DataFrame, folder: Path) -> Any:
    """The table in memory, in files, or in a database."""
    if kind == "memory":
        return table
    if kind == "files":
        table.write_parquet(folder / "in.parquet")
        return sf.scan(folder / "in.parquet")
    import duckdb

    with duckdb.connect(str(folder / "in.duckdb")) as link:
        link.register("frame", table.to_arrow())
        link.execute("create table people as select * from frame")
    return sf.Database(folder / "in.duckdb", "people")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["memory", "files", "database"])
def test_a_column_without_a_role_that_looks_telling_is_refused_on_every_engine(kind: str, tmp_path: Path) -> None:
    where: dict[str, Any] = {} if kind == "memory" else {"to": tmp_path / "out"}
    data = stored_as(kind, people(), tmp_path)
    with pytest.raises(UndecidedColumns) as caught:
        sf.anonymize(data, quasi=["age"], require=K, **where)
    assert {one.column for one in caught.value.undecided} == set(TELLING)
    for fault, (column, why) in zip(caught.value.faults, TELLING.items(), strict=True):
        assert fault.startswith(f'"{column}": ')
        assert why in fault
    assert 'insensitive=["name", "postcode", ' in str(caught.value)
    assert 'rest="release"' in str(caught.value)
    assert not (tmp_path / "out").exists()
    some = ["name", "contact", "student", "remarks"]
    rest = [column for column in TELLING if column not in some]
    found = sf.anonymize(data, quasi=["age"], identifying=some, insensitive=rest, require=K, **where)
    assert found.manifest["policy"]["insensitive"] == [*rest, "wing", "meals", "smokes"]
    assert found.manifest["policy"]["rest"] == "refuse"


def test_what_releases_the_rest_is_recorded() -> None:
    found = sf.anonymize(people(), quasi=["age"], require=K, rest="release")
    assert found.manifest["policy"]["rest"] == "release"
    assert found.table.width == 13
    with pytest.raises(PolicyError, match="allowed: refuse, release"):
        sf.anonymize(people(), quasi=["age"], require=K, rest="drop")


def test_a_message_quotes_no_value_and_lists_forty_columns_at_most() -> None:
    wide = pl.DataFrame({"age": [30] * 60} | {f"email {i}": [f"secret{j}@x.org" for j in range(60)] for i in range(90)})
    with pytest.raises(UndecidedColumns) as caught:
        sf.anonymize(wide, quasi=["age"], require=K)
    assert "secret" not in str(caught.value)
    assert len(caught.value.undecided) == 90
    assert "and 50 more" in str(caught.value)
    assert "email 41" not in str(caught.value)


def value_table(values: list[Any], rows: int = 200) -> pl.DataFrame:
    return pl.DataFrame({"age": [30, 31] * (rows // 2), "x": (values * rows)[:rows]})


@pytest.mark.parametrize(
    ("what", "values", "kind"),
    [
        ("half have their own", [*range(100), *[-1] * 100], "unique"),
        ("not quite half", [*range(98), *[-1] * 102], "rare"),
        ("six in a hundred are rare", [*range(12), *[-1] * 188], "rare"),
        ("five in a hundred are rare", [*range(10), *[-1] * 190], None),
        ("four share each", [i // 4 for i in range(200)], "rare"),
        ("five share each", [i // 5 for i in range(200)], None),
        ("decimals", [i / 7 for i in range(200)], "unique"),
        ("mostly missing", [*(["", None] * 80), *(f"a {i}x" for i in range(40))], "key"),
        ("numbers through", list(range(200)), "key"),
        ("leading zeros", [f"{i % 30:03d}" for i in range(200)], "code"),
        ("diseases", [f"{'ABC'[i % 3]}{i % 4:02d}.{i % 2}" for i in range(200)], "code"),
        ("jobs as numbers", [1110 + 10 * (i % 25) for i in range(200)], "code"),
        ("amounts of several lengths", [95 + i % 25 for i in range(200)], None),
        ("dates as numbers", [20240101 + i % 28 for i in range(200)], "date"),
        ("written dates", [f"{1 + i % 28} March 1999" for i in range(200)], "date"),
        ("times", [f"{i % 24:02d}:30" for i in range(200)], "date"),
        ("sexes", ["f", "m"], "sex"),
        ("addresses", [f"10.0.0.{i % 9}" for i in range(200)], "pattern"),
        ("booleans", [True, False], None),
        ("few texts", ["red", "green", "blue"], None),
        ("nothing", [None], None),
    ],
)
def test_signs_by_the_values(what: str, values: list[Any], kind: str | None) -> None:
    found = undecided(value_table(values), Roles(quasi=(("age",),)))
    assert [one.reason.kind for one in found] == ([] if kind is None else [kind])


def test_rare_is_what_fewer_share_than_the_policy_requires() -> None:
    table = value_table([i // 8 for i in range(200)])
    sf.anonymize(table, quasi=["age"], require=sf.KAnonymity(8))
    with pytest.raises(UndecidedColumns, match="share their value with fewer than 9"):
        sf.anonymize(table, quasi=["age"], require=sf.KAnonymity(9))
    sf.anonymize(table, quasi=["age"], require="average-risk 0.5")
    with pytest.raises(Infeasible):
        sf.anonymize(table, quasi=["age"], require=sf.KAnonymity(10**6))


def test_of_few_rows_names_and_kinds_decide() -> None:
    few = pl.DataFrame({"age": [30] * 49, "x": range(49), "y": [f"t{i}" for i in range(49)], "e": ["a@b.de"] * 49})
    found = undecided(few.drop("y"), Roles(quasi=(("age",),)))
    assert [(one.column, one.reason.kind) for one in found] == [("e", "pattern")]
    more = undecided(pl.concat([few, few[:1]]), Roles(quasi=(("age",),)))
    assert [one.column for one in more] == ["x", "y", "e"]


def test_a_sample_does_not_convict_what_many_rows_of_the_table_share() -> None:
    """Of a large table a sample shows most values once, whether they are rare in it or not."""
    rng = np.random.default_rng(3)
    sample = pl.DataFrame({"age": [30] * 20_000, "shared": rng.integers(0, 10**6, 20_000)})
    sample = sample.with_columns(own=pl.Series(rng.choice(10**8, 20_000, replace=False)))
    some = sample["own"].set(pl.Series(rng.random(20_000) < 0.9), 0)
    found = undecided(sample.with_columns(some=some), Roles(quasi=(("age",),)), rows=10**8)
    assert [one.column for one in found] == ["own", "some"]


def test_a_value_per_row_is_found_where_most_rows_have_none() -> None:
    table = pl.DataFrame({"age": [30, 40] * 50_000, "x": [None] * 99_960 + [i * 97 for i in range(40)]})
    assert [one.column for one in undecided(table, Roles(quasi=(("age",),)))] == ["x"]


def test_a_sorted_column_is_judged_from_all_over_the_table() -> None:
    """The first rows repeat a value, and the others do not."""
    table = pl.DataFrame({"age": [30, 40] * 50_000, "x": [0] * 45_000 + list(range(55_000))})
    assert [one.column for one in undecided(table, Roles(quasi=(("age",),)))] == ["x"]


def test_columns_that_the_promise_does_not_cover() -> None:
    roles = Roles(("name",), (("age",),), ("disease",), ("ward",), "w")
    assert uncovered(["age", "disease", "ward", "w", "x"], roles) == ["ward", "w", "x"]


VERBS: dict[str, Callable[[pl.DataFrame], Any]] = {
    "risk": lambda table: sf.risk(table, quasi=["age"]),
    "attack": lambda table: sf.attack(table, quasi=["age"], sensitive=["diagnosis"]),
    "verify": lambda table: sf.verify(table, quasi=["age"], require=K),
    "compare": lambda table: sf.compare(table, quasi=["age"], search="mondrian", k=5),
}


@pytest.mark.parametrize("verb", VERBS)
def test_verbs_that_release_nothing_warn_and_point_at_their_caller(verb: str) -> None:
    with pytest.warns(sf.RoleWarning, match="postcode") as caught:
        VERBS[verb](people())
    mine = [w for w in caught if w.category is sf.RoleWarning]
    assert [w.filename for w in mine] == [__file__]
    assert "80001" not in str(mine[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error", sf.RoleWarning)
        VERBS[verb](people().select("age", "wing", "meals", *(["diagnosis"] if verb == "attack" else [])))


@pytest.mark.slow
def test_measures_of_a_release_do_not_warn(tmp_path: Path) -> None:
    found = sf.anonymize(people(), quasi=["age"], sensitive=["diagnosis"], require=K, rest="release")
    found.save(tmp_path / "out")
    with warnings.catch_warnings():
        warnings.simplefilter("error", sf.RoleWarning)
        sf.risk(found)
        sf.risk(tmp_path / "out")
        sf.attack(tmp_path / "out")
        sf.verify(tmp_path / "out")


def test_stored_tables_are_warned_of_too(tmp_path: Path) -> None:
    store = stored_as("files", people(), tmp_path)
    for call in (sf.risk, lambda data, quasi: sf.verify(data, quasi=quasi, require=K)):
        with pytest.warns(sf.RoleWarning, match="postcode") as caught:
            call(store, quasi=["age"])
        assert [w.filename for w in caught if w.category is sf.RoleWarning] == [__file__]


def test_what_a_suggestion_costs_is_searched_for_whoever_released_the_rest() -> None:
    found = sf.anonymize(people(), quasi=["age"], unprotected=["diagnosis"], require=K, rest="release")
    assert all(one.criterion is not None for one in sf.suggest(found, cost=True))


def wide(seed: int, rows: int = 1200, columns: int = 110) -> pl.DataFrame:
    """Columns whose names say nothing: numbers, codes, dates, text, groups, with gaps."""
    rng = np.random.default_rng(seed)
    make: list[Callable[[], Any]] = [
        lambda: rng.permutation(rows * 3)[:rows],
        lambda: rng.normal(size=rows),
        lambda: [f"{'ABC'[n % 3]}{n:02d}" for n in rng.integers(0, 90, rows)],
        lambda: pl.Series(np.datetime64("2000-01-01") + rng.integers(0, 9000, rows)),
        lambda: [f"told about {n} and the rest" for n in rng.integers(0, 900, rows)],
        lambda: rng.random(rows) < 0.3,
        lambda: rng.integers(0, 5, rows),
        lambda: [None if share < 0.9 else int(share * 1e6) for share in rng.random(rows)],
        lambda: rng.choice(["red", "green", "blue"], rows),
        lambda: [f"group {n}" for n in rng.integers(0, 60, rows)],
        lambda: rng.poisson(30, rows),
        lambda: np.where(rng.random(rows) < 0.97, 0, rng.integers(0, 10**6, rows)),
        lambda: [None] * rows,
    ]
    order = rng.integers(0, len(make), columns)
    return pl.DataFrame({f"v{i}": make[kind]() for i, kind in enumerate(order)}, strict=False)


def singled_out(table: pl.DataFrame, names: list[str]) -> float:
    """The share of rows that nobody shares the values of those columns with."""
    return table.group_by(names).len().filter(pl.col("len") == 1).height / table.height if names else 0.0


def check_unedited(folder: Path, file: Path) -> None:
    """What a newcomer types, and what is then released as insensitive."""
    assert main(["inspect", str(file), "--init", str(folder / "p.toml")]) == 0
    assert main(["anonymize", str(folder / "p.toml")]) == 0
    policy = tomllib.loads((folder / "p.toml").read_text())["roles"]
    table = sf.read(file)
    decided = [name for role, names in policy.items() if role not in ("weight", "rest") for name in names]
    assert sorted([*decided, *([policy["weight"]] if "weight" in policy else [])]) == sorted(table.columns)
    released = sf.read(folder / "p-release" / "data.csv")
    free = [name for name in policy.get("insensitive", []) if released[name].null_count() < released.height]
    for name in free:
        assert singled_out(released, [name]) <= 0.05, name
    assert singled_out(released, free) <= 0.05
    assert len(policy["quasi"]) <= 10


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(FUZZ))
def test_a_suggested_policy_of_a_wide_table_runs_unedited(seed: int, tmp_path: Path) -> None:
    wide(seed).write_csv(tmp_path / "t.csv")
    check_unedited(tmp_path, tmp_path / "t.csv")


@pytest.mark.slow
@pytest.mark.parametrize("file", ["bank/bank.csv", "sdc/testdata.csv", "sdc/EIA.csv", "sdc/Tarragona.csv"])
def test_a_suggested_policy_of_a_public_table_runs_unedited(shared: Path, tmp_path: Path, file: str) -> None:
    check_unedited(tmp_path, shared / "data" / file)


def test_names_that_come_again_are_refused() -> None:
    """Twenty visits each: no name is rare, and the header says nothing."""
    first, last = ("Ada", "Gus", "Hal", "Ida", "Lou"), ("Okoye", "van Meyer", "O'Hara", "Wong", "Diaz Sol")
    names = [f"{a} {b}" for a in first for b in last]
    table = pl.DataFrame({"who": names * 20, "yrs": [20 + i % 40 for i in range(500)]})
    with pytest.raises(sf.errors.UndecidedColumns, match="names of people"):
        sf.anonymize(table, quasi=["yrs"], require=sf.KAnonymity(5))
    sparse = [*names[:12], *[None] * 488]
    with pytest.raises(sf.errors.UndecidedColumns, match="names of people"):
        sf.anonymize(table.with_columns(who=pl.Series(sparse)), quasi=["yrs"], require=sf.KAnonymity(5))
    few = table.with_columns(who=pl.Series(["Never Married", "Divorced", "Married Once", "Widowed"] * 125))
    assert sf.anonymize(few, quasi=["yrs"], require=sf.KAnonymity(5)).verification.holds
