"""A table in a database gives the release that it gives in memory: the same rows, labels, classes and losses."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.printed import plain, printed_frame
from sfumato.core.progress import quiet
from sfumato.engines.files.bytes import read_back
from sfumato.engines.protocol import COUNT, LABEL, Plan
from sfumato.engines.sql.table import Database
from sfumato.errors import ColumnError, EmptyTable, PolicyError, ReadError
from sfumato.release.destination import Table
from tests import postgres as server

pytestmark = pytest.mark.slow

ROWS = 800
K = sf.KAnonymity(5)
Put = Callable[..., Database]


TYPED = ["duckdb", pytest.param("postgresql", marks=pytest.mark.postgres)]  # SQLite has few types


@pytest.fixture(params=[*TYPED, "sqlite"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def put(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> Put:
    """A frame as a table of a database; `types` are those that the database gives it."""
    source = request.getfixturevalue("postgres") if kind == "postgresql" else tmp_path / f"in.{kind}"

    def make(frame: pl.DataFrame, name: str = "people") -> Database:
        connection = connect(kind, source)
        with connection, connection.cursor() as cursor:
            if kind == "duckdb":
                cursor.register("frame", frame.to_arrow())
                cursor.execute(f'CREATE OR REPLACE TABLE "{name}" AS SELECT * FROM frame')
            else:
                cursor.execute(f'DROP TABLE IF EXISTS "{name}"')
                cursor.execute('DROP TABLE IF EXISTS "kept"')
                table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
                cursor.adbc_ingest(name, table, mode="create")
                connection.commit()
        return Database(source, name)

    return make


def connect(kind: str, source: Any) -> Any:
    if kind == "duckdb":
        import duckdb

        return duckdb.connect(str(source))
    if kind == "sqlite":
        import adbc_driver_sqlite.dbapi

        return adbc_driver_sqlite.dbapi.connect(str(source))
    import adbc_driver_postgresql.dbapi

    return adbc_driver_postgresql.dbapi.connect(str(source))


def simple(table: pl.DataFrame, kind: str) -> pl.DataFrame:
    """The table without what a database has no type for."""
    return table.drop("born", "member", "seen") if kind == "sqlite" else table


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    """Every type that all databases have, with missing values of all forms, both zeros, and names that need quotes."""
    rng = np.random.default_rng(6)
    day = datetime.date(1960, 1, 1)

    def holes(values: list[Any], hole: Any, share: float = 0.03) -> list[Any]:
        return [hole if gone else v for v, gone in zip(values, rng.random(ROWS) < share, strict=True)]

    days = rng.integers(0, 40, ROWS)
    heights = holes(holes(rng.choice([-0.0, 0.0, 1.5, 2.25, 3.0], ROWS).tolist(), math.nan), None)
    return pl.DataFrame(
        {
            "name": [f"p{i}" for i in range(ROWS)],
            "age": holes(rng.integers(20, 60, ROWS).tolist(), None),
            'hei"ght': pl.Series(heights, dtype=pl.Float64),
            "born": holes([day + datetime.timedelta(int(d)) for d in days], None),
            "zip; --": holes(rng.choice(["7", "10", "080", "9"], ROWS).tolist(), ""),
            "tówn {}": holes(holes(rng.choice(["=A", "B, b", 'C"c"', "D'd", "Å\\"], ROWS).tolist(), ""), None),
            "member": holes((rng.random(ROWS) < 0.4).tolist(), None),
            "seen": holes([datetime.datetime(2020, 1, 1, 12, 0, int(d)) for d in days % 7], None),
            "disease": holes(rng.choice(["flu", "cold", "ache", "none"], ROWS).tolist(), None, 0.05),
            "wage": holes(rng.integers(1, 6, ROWS).tolist(), None),
            "weight": rng.random(ROWS) + 0.5,
            "note": holes(rng.choice(["+1", "x", "-y"], ROWS).tolist(), ""),
        }
    )


def test_missing_values_of_several_forms_are_not_verified_as_one(kind: str, put: Put, table: pl.DataFrame) -> None:
    store, quasi = put(simple(table, kind)), ["age", 'hei"ght', "zip; --", "tówn {}"]
    assert store.mixed(quasi) == (["tówn {}"] if kind == "sqlite" else ['hei"ght', "tówn {}"])  # which has no NaN
    with pytest.raises(ColumnError, match="can be told apart there"):
        sf.verify(store, quasi=["age", "tówn {}"], require=sf.KAnonymity(1))
    assert sf.verify(store, quasi=["age", "zip; --"], require=sf.KAnonymity(1)).holds


def same(table: pl.DataFrame, store: Database, folder: Path, **asked: Any) -> None:
    """All ways, compared: in memory, kept in the database, exported."""
    asked = {"identifying": ["name"], "insensitive": ["note", "wage"], "weight": "weight"} | asked
    local = sf.anonymize(table, **asked)
    here = printed_frame(local.table).sort(pl.all())
    kept = sf.anonymize(store, to=Table("kept", beside=folder / "beside"), **asked)
    there = Database(store.source, kept.data)
    assert list(there.schema()) == local.table.columns
    assert printed_frame(there.sample(10 * ROWS)).sort(pl.all()).equals(here)
    file = sf.anonymize(store, to=folder / "out", **asked)
    assert read_back(folder / "out" / "data.parquet", "parquet").sort(pl.all()).equals(here)
    for stored in (kept, file):
        assert stored.solution.verdict == local.solution.verdict
        assert stored.solution.levels == local.solution.levels
        mine, other = dict(stored.manifest), dict(local.manifest)
        mine["data"] = {k: mine["data"][k] for k in ("rows", "columns", "order")}
        mine["files"] = []
        mine["input"], other["input"] = mine["input"]["rows"], other["input"]["rows"]
        assert mine == other
    assert kept.manifest["data"]["table"] == "kept"
    assert kept.manifest["data"]["format"] in repr(store)


ASKED = {  # more policies: tests/conformance/test_engines.py
    "levels": {"search": "optimal", "suppression": 0.1, "hierarchies": {"age": "intervals:5,10,20"}},
    "partition": {"search": "mondrian"},
    "labels": {"search": sf.Mondrian(labels="hierarchy"), "quasi": ["age", "zip; --", "tówn {}"]},
}


@pytest.mark.parametrize("asked", ASKED)
def test_a_release_is_that_of_the_table_in_memory(
    put: Put, kind: str, table: pl.DataFrame, tmp_path: Path, asked: str
) -> None:
    table = simple(table, kind)
    given: Any = {"quasi": ["age", 'hei"ght', "zip; --", "tówn {}"], "require": K, "rest": "release"} | ASKED[asked]
    same(table, put(table), tmp_path, **given)


@pytest.mark.parametrize("kind", TYPED)
@pytest.mark.parametrize("search", ["optimal", "mondrian"])
def test_dates_times_and_booleans(put: Put, kind: str, table: pl.DataFrame, tmp_path: Path, search: str) -> None:
    share = 0.2 if search == "optimal" else 0
    asked: Any = {"quasi": ["born", "member", "seen"], "require": K, "rest": "release"}
    same(table, put(table), tmp_path, search=search, suppression=share, **asked)


def count(store: Database, columns: list[str], most: int = 10**6) -> pl.DataFrame:
    return store.count(columns, quiet, most)


TYPES = pl.DataFrame(
    {
        "small": pl.Series([1, -2, None, 1], dtype=pl.Int16),
        "large": [2**62 + 1, -(2**63), None, 2**62 + 1],
        "single": pl.Series([0.1, -0.0, math.nan, 0.1], dtype=pl.Float32),
        "double": [0.1, 0.0, math.inf, 0.1],
        "text": ["", None, "x\ty'\"\\", ""],
        "yes": [True, False, None, True],
        "day": [datetime.date(1, 1, 1), datetime.date(9999, 12, 31), None, datetime.date(1, 1, 1)],
        "clock": [datetime.time(1, 2, 3, 4), datetime.time(0), None, datetime.time(1, 2, 3, 4)],
        "at": [datetime.datetime(1970, 1, 1, 0, 0, 0, 1), datetime.datetime(2262, 5, 1), None] * 1
        + [datetime.datetime(1970, 1, 1, 0, 0, 0, 1)],
        "zone": pl.Series(
            [datetime.datetime(2020, 1, 1, 12), datetime.datetime(1900, 1, 1), None, datetime.datetime(2020, 1, 1, 12)]
        ).dt.replace_time_zone("UTC"),
    }
)


POSTGRES = pytest.mark.postgres
VALUES = [
    *(pytest.param("duckdb", name) for name in TYPES.columns),
    *(pytest.param("postgresql", name, marks=POSTGRES) for name in TYPES.columns),
    *(pytest.param("sqlite", name) for name in ("small", "large", "double", "text")),
]


@pytest.mark.parametrize(("kind", "name"), VALUES)
def test_values_are_counted_and_mapped_as_in_memory(put: Put, kind: str, name: str, tmp_path: Path) -> None:
    frame = TYPES.select(name, pl.Series("other", [1, 2, 3, 4]))
    store = put(frame)
    if kind != "sqlite":
        assert store.schema()[name] == TYPES.schema[name]
    found = count(store, [name])
    values = frame.select(plain(name, frame.schema[name])).group_by(name).agg(pl.len().cast(pl.Int64).alias(COUNT))
    assert printed_frame(found).sort(name).equals(printed_frame(values).sort(name))
    known = found.select(name)
    maps = {name: known.with_columns(pl.Series(LABEL + name, [f"label {i}" for i in range(known.height)]))}
    gone = known.filter(pl.col(name).is_null())
    expected = frame.select(plain(name, frame.schema[name]), "other").filter(pl.col(name).is_not_null())
    labels = maps[name].with_columns(printed_frame(known))
    expected = printed_frame(expected).join(labels, on=name).select("other", LABEL + name).sort("other")
    plan = Plan(("other", name), (name,), (), maps, None, gone)
    with store.release(plan, "kept", True, quiet) as kept:
        assert list(kept.schema()) == ["other", name]
        there = kept.count(["other", name], quiet)
    assert there.drop(COUNT).sort("other").rows() == expected.rows()
    kept_as_is = Plan((name, "other"), (name,), (name,), {}, known.head(2))
    store.recode(kept_as_is, tmp_path / "data.parquet", "parquet", quiet)
    out = pl.read_parquet(tmp_path / "data.parquet")
    assert out.schema[name] == store.schema()[name]
    assert set(printed_frame(out)[name]) == set(printed_frame(known.head(2))[name])


COMMON = ["DECIMAL(10,2)", "VARCHAR(9)", "CHAR(3)", "UUID", "ENUM"]
DECLARED = [
    *(pytest.param("duckdb", declared) for declared in [*COMMON, "HUGEINT"]),
    *(pytest.param("postgresql", declared, marks=POSTGRES) for declared in [*COMMON, "NUMERIC"]),
]


@pytest.mark.parametrize(("kind", "declared"), DECLARED)
def test_types_of_databases(put: Put, kind: str, declared: str) -> None:
    store = put(pl.DataFrame({"x": [1]}))
    uuid = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
    cells = {"UUID": [uuid, None], "ENUM": ["b", "a", None], "VARCHAR(9)": ["a", "", None], "CHAR(3)": ["a", "b", None]}
    values: list[Any] = cells.get(declared, ["1.50", "-0.50", None])
    values = ["170141183460469231731687303715884105727", "-5", None] if declared == "HUGEINT" else values
    values = ["1.50", "1.5", "NaN", None] if declared == "NUMERIC" else values
    if kind == "postgresql" and declared == "DECIMAL(10,2)":
        values = [*values, "NaN"]
    said = ", ".join("(NULL)" if v is None else f"('{v}')" for v in values)
    made = ["DROP TABLE IF EXISTS typed", "DROP TABLE IF EXISTS kept", "DROP TYPE IF EXISTS mood"]
    made += ["CREATE TYPE mood AS ENUM ('b', 'a')"] if declared == "ENUM" else []
    made += [f"CREATE TABLE typed (x {'mood' if declared == 'ENUM' else declared})", f"INSERT INTO typed VALUES {said}"]
    connection = connect(kind, store.source)
    with connection, connection.cursor() as cursor:
        for statement in made:
            cursor.execute(statement)
        if kind == "postgresql":
            connection.commit()
    typed = Database(store.source, "typed")
    found = count(typed, ["x"])
    texts = {"1.50": 1.5, "1.5": 1.5, "-0.50": -0.5} if declared in ("NUMERIC", "DECIMAL(10,2)") else {}
    expected = {texts.get(v, v) if v not in ("", "NaN", None) else None for v in values}
    mine = {None if v is None else float(v) if texts else str(v) for v in found["x"].to_list()}
    assert mine == expected
    assert found.height == len(expected)
    assert found[COUNT].sum() == len(values)
    with typed.release(Plan(("x",), ("x",), ("x",), {}, found.select("x")), "kept", False, quiet) as kept:
        again = kept.count(["x"], quiet)
        assert kept.schema() == typed.schema()
    assert again[COUNT].sum() == len(values)
    released = Database(store.source, "kept").sample(10)["x"]
    assert released.null_count() == sum(v in ("", "NaN", None) for v in values)
    assert released.n_unique() == len(expected)


@pytest.mark.parametrize("kind", TYPED)
def test_decimals_are_decimals(put: Put, kind: str) -> None:
    frame = pl.DataFrame({"x": pl.Series([Decimal("1.50"), None, Decimal("-2.25")], dtype=pl.Decimal(9, 2))})
    store = put(frame) if kind == "duckdb" else put(pl.DataFrame({"x": [1]}))
    if kind == "postgresql":
        server.run(store.source, "DROP TABLE people; CREATE TABLE people (x numeric(9, 2))")
        server.run(store.source, "INSERT INTO people VALUES (1.5), (NULL), (-2.25)")
        store = Database(store.source, "people")
    assert store.schema() == {"x": pl.Decimal(9, 2)}
    assert store.sample(9).sort("x").equals(frame.sort("x"))


def test_rows_sample_weights_and_fingerprint(put: Put, kind: str, table: pl.DataFrame) -> None:
    table = simple(table, kind)
    store = put(table)
    assert store.rows() == ROWS
    assert printed_frame(store.sample(ROWS)).sort(pl.all()).equals(printed_frame(table).sort(pl.all()))
    some = store.sample(200)
    assert some.columns == table.columns
    assert some.equals(store.sample(200))
    if kind != "postgresql":  # which samples whole pages
        assert 100 < some.height < 400
        assert some["name"].str.slice(1).cast(pl.Int64).max() > ROWS // 2
    assert store.positive("weight")
    assert not store.positive("wage")  # some are missing
    assert not store.positive("disease")
    mark = store.fingerprint(b"key")
    if kind == "sqlite":
        assert mark is None
        return
    assert mark == put(table.reverse(), "reversed").fingerprint(b"key")
    assert mark != store.fingerprint(b"other")
    assert mark != put(table.with_columns(pl.col("wage") + 1), "other").fingerprint(b"key")
    assert mark.startswith("hmac-sha256-sum:")
    assert store.fingerprint(None) is None


def test_a_sample_of_a_large_table_comes_from_all_over_it(put: Put) -> None:
    store = put(pl.DataFrame({"x": range(100_000), "y": ["word"] * 100_000}))
    some = store.sample(5000)["x"]
    assert 2000 < len(some) < 12_000
    assert some.min() < 20_000
    assert some.max() > 80_000
    assert some.equals(store.sample(5000)["x"])


def test_too_many_tuples_are_refused(put: Put) -> None:
    store = put(pl.DataFrame({"x": range(100)}))
    assert count(store, ["x"], 100).height == 100
    with pytest.raises(PolicyError, match="max_cells=99"):
        count(store, ["x"], 99)


def test_one_row_and_none(put: Put) -> None:
    one = put(pl.DataFrame({"x": ["a"], "y": [None]}, schema={"x": pl.String, "y": pl.Int64}))
    assert count(one, ["x", "y"]).rows() == [("a", None, 1)]
    with pytest.raises(EmptyTable):
        put(pl.DataFrame({"x": ["a"]}).clear())


def test_a_column_whose_first_values_are_all_missing(put: Put) -> None:
    texts = [None] * 70_000 + ["late"]
    store = put(pl.DataFrame({"x": pl.Series(texts, dtype=pl.String), "n": range(len(texts))}))
    assert store.sample(10**6)["x"].drop_nulls().to_list() == ["late"]


def test_a_key_of_many_values_does_not_wrap(put: Put, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    names = [f"c{i}" for i in range(9)]
    frame = pl.DataFrame({name: rng.permutation(300) for name in names})  # 300 to the ninth is beyond 64 bits
    store = put(frame)
    half = frame.head(150)
    stays = Plan(("c0",), tuple(names), (), {}, half.with_columns(pl.lit("in").alias(LABEL + "c0")))
    goes = Plan(("c0",), tuple(names), (), {}, None, half)
    store.recode(stays, tmp_path / "stays.csv", "csv", quiet)
    assert read_back(tmp_path / "stays.csv")["c0"].to_list() == ["in"] * 150
    with store.release(goes, "kept", True, quiet) as kept:
        left = kept.count(["c0"], quiet)["c0"].cast(pl.Int64)
    assert set(left) == set(frame["c0"][150:])


@pytest.mark.parametrize("format", ["csv", "tsv"])
def test_text_that_a_spreadsheet_would_run_is_guarded(
    put: Put, kind: str, table: pl.DataFrame, tmp_path: Path, format: str
) -> None:
    table = simple(table, kind)
    to = sf.Folder(tmp_path / "out", format=format)
    asked: Any = {"quasi": ["age"], "require": K, "identifying": ["name"], "rest": "release"}
    release = sf.anonymize(put(table), to=to, **asked)
    text = release.data.read_text("utf-8")
    assert "'=A" in text
    assert "'-y" in text
    assert sorted(read_back(release.data, format)["note"].fill_null("")) == sorted(table["note"])


def test_a_table_that_changes_between_count_and_release_is_refused(put: Put, tmp_path: Path) -> None:
    frame = pl.DataFrame({"x": ["a", "b", "b"]})
    store = put(frame)
    known = count(store, ["x"]).select("x")
    put(pl.concat([frame, frame]))
    plan = Plan(("x",), ("x",), ("x",), {}, known)
    with pytest.raises(ReadError, match="changed"):
        store.recode(plan, tmp_path / "data.csv", "csv", quiet)
    with pytest.raises(ReadError, match="changed"), store.release(plan, "kept", True, quiet):
        pass


def test_columns_that_cannot_be_printed_are_named(put: Put, kind: str, tmp_path: Path) -> None:
    store = put(pl.DataFrame({"x": [1, 1], "picture": [b"\xff", b"\x00"]}))
    assert store.sample(5).schema == {"x": pl.Int64, "picture": pl.Null}
    with pytest.raises(ColumnError, match="picture"):
        sf.anonymize(store, to=tmp_path / "out", quasi=["x"], require=sf.KAnonymity(2))
    asked: Any = {"quasi": ["x"], "require": sf.KAnonymity(2), "identifying": ["picture"]}
    assert sf.anonymize(store, to=Table("kept"), **asked).verification.holds


@pytest.mark.parametrize("kind", TYPED)
def test_infinite_dates_are_refused_by_name(put: Put, kind: str) -> None:
    store = put(pl.DataFrame({"x": [1]}))
    for declared in ("DATE", "TIMESTAMP", "TIMESTAMPTZ"):
        connection = connect(kind, store.source)
        with connection, connection.cursor() as cursor:
            cursor.execute("DROP TABLE IF EXISTS typed")
            cursor.execute(f"CREATE TABLE typed (born {declared})")
            cursor.execute("INSERT INTO typed VALUES ('2020-01-01'), ('infinity'), ('-infinity')")
            if kind == "postgresql":
                connection.commit()
        with pytest.raises(ColumnError, match=r'"born".*infinite'):
            count(Database(store.source, "typed"), ["born"])
