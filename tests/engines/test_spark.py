"""A Spark frame gives the release that the same table gives in memory, whatever its types and names."""

from __future__ import annotations

import datetime
import math
import traceback
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.printed import plain, printed_frame
from sfumato.core.progress import quiet
from sfumato.engines.files.bytes import read_back
from sfumato.engines.protocol import COUNT, LABEL, Plan
from sfumato.engines.spark import recode as spark_map
from sfumato.engines.spark import recode as spark_pack
from sfumato.engines.spark.table import SparkTable
from sfumato.engines.tables import is_spark
from sfumato.errors import ColumnError, EmptyTable, InputError, OutputError, PolicyError, ReadError, SfumatoError

pytestmark = pytest.mark.spark

ROWS = 400
TYPES = {"share": pl.Float32, "price": pl.Decimal(9, 2), "small": pl.Int8, "seen": pl.Datetime("us", "UTC")}
NASTY = [
    "=1+1",
    "'=x",
    " -y",
    "+1",
    'say "no"',
    "a,b\tc",
    "two\nlines",
    "\r\n",
    "#",
    "\\",
    '\\"',
    " x ",
    "",
    "Åé",
    "null",
]


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    """Every type that prints, with missing values of all forms and both zeros."""
    rng = np.random.default_rng(8)
    instant = datetime.datetime(2024, 10, 27, 0, 30, tzinfo=datetime.UTC)  # local clocks go back within the hour

    def some(values: list[Any]) -> list[Any]:
        return [values[i] for i in rng.integers(0, len(values), ROWS)]

    return pl.DataFrame(
        {
            "name": [f"p{i}" for i in range(ROWS)],
            "age": some([*range(20, 30), None]),
            "small": some([-1, 0, 1, None]),
            "share": some([-0.0, 0.0, 0.1, 1e10, math.nan, None]),
            "size": some([-0.0, 0.0, 2.5, 1e-7, 1e22, math.nan, None]),
            "price": some([Decimal("0.50"), Decimal("-12.00"), Decimal("0.00"), None]),
            "town": some(["080", "7", "Åé", "", None]),
            "member": some([True, False, None]),
            "born": some([datetime.date(1960, 1, d) for d in (1, 2, 3)] + [datetime.date(1500, 2, 28), None]),
            "seen": some([instant + datetime.timedelta(minutes=m, microseconds=m) for m in (0, 60, 61)] + [None]),
            "local": some([datetime.datetime(2024, 3, 31, 2, 30), datetime.datetime(2024, 3, 31, 2, 30, 0, 5), None]),
            "stay": some([datetime.timedelta(days=2), datetime.timedelta(hours=1), None]),
            "note": some(NASTY),
        },
        schema_overrides=TYPES,
    )


def on(session: Any, table: pl.DataFrame) -> Any:
    """The table on the cluster, in three parts."""
    from pyspark.sql.types import TimestampNTZType

    data = table.to_arrow(compat_level=pl.CompatLevel.oldest())
    naive = [name for name, dtype in table.schema.items() if dtype == pl.Datetime("us")]
    if not naive:
        return session.createDataFrame(data).repartition(3)
    fields = session.createDataFrame(data).schema
    for name in naive:  # as it is, Spark would take it for an instant in the zone of the session
        fields[name].dataType = TimestampNTZType()
    return session.createDataFrame(data, fields).repartition(3)


def rows(table: pl.DataFrame) -> list[tuple[Any, ...]]:
    """What is printed, in an order of its own."""
    return sorted(printed_frame(table).fill_null("").rows())


def fetched(frame: Any) -> pl.DataFrame:
    found = pl.from_arrow(frame.toArrow())
    assert isinstance(found, pl.DataFrame)
    return found


ROLES: dict[str, Any] = {"identifying": ["name"], "require": sf.KAnonymity(4)}
LEVELS: dict[str, Any] = {"quasi": ["size", "town"], "search": "optimal", "suppression": 0.3}


@pytest.mark.parametrize(
    "asked",
    [
        LEVELS | {"suppression": 0.02},
        {"quasi": ["small", "born", "seen", "local"], "search": "mondrian"},
        {"quasi": ["share", "price", "member", "stay"], "search": "optimal", "suppression": 0.3},
    ],
    ids=["levels", "partition", "types"],
)
def test_every_type_is_released_as_in_memory(spark: Any, table: pl.DataFrame, asked: dict[str, Any]) -> None:
    free = [name for name in table.columns if name not in (*asked["quasi"], "name")]
    here = sf.anonymize(table, insensitive=free, **ROLES, **asked)
    there = sf.anonymize(SparkTable(on(spark, table)), insensitive=free, **ROLES, **asked)
    assert type(there.data) is type(spark.range(1))
    assert there.data.columns == here.table.columns
    assert rows(fetched(there.data)) == rows(here.table)
    assert there.solution.verdict == here.solution.verdict
    assert there.verification == here.verification
    assert there.manifest["data"]["columns"] == here.manifest["data"]["columns"]
    assert there.manifest["data"]["checkpoint"] == "local"


@pytest.mark.parametrize("values", [0, 100_000], ids=["tuples", "packed"])
def test_cells_too_many_to_send_to_every_worker_are_joined_where_they_are(
    spark: Any, table: pl.DataFrame, monkeypatch: pytest.MonkeyPatch, values: int
) -> None:
    monkeypatch.setattr(spark_map, "SMALL", -1)
    monkeypatch.setattr(spark_pack, "VALUES", values)
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", -1)
    few, asked = table.select("size", "town", "born", "age"), {"quasi": ["size", "town", "born"], "search": "mondrian"}
    try:
        there = sf.anonymize(SparkTable(on(spark, few)), insensitive=["age"], require=sf.KAnonymity(4), **asked)
    finally:
        spark.conf.unset("spark.sql.autoBroadcastJoinThreshold")
    here = sf.anonymize(few, insensitive=["age"], require=sf.KAnonymity(4), **asked)
    assert rows(fetched(there.data)) == rows(here.table)


@pytest.mark.parametrize(
    ("size", "bytes"), [("1g", 1 << 30), ("512M", 512 << 20), ("2048", 2048 << 20), ("odd", 1 << 30)]
)
def test_what_is_sent_to_every_worker_follows_the_smallest_memory(size: str, bytes: int) -> None:
    far = {"spark.master": "spark://x", "spark.driver.memory": "8g", "spark.executor.memory": size}
    near = {"spark.master": "local[2]", "spark.driver.memory": size, "spark.executor.memory": "1k"}
    for settings in (far, near):
        assert spark_map.memory(SimpleNamespace(conf=settings)) == bytes


def test_values_are_counted_in_their_plain_form_in_any_time_zone(spark: Any, table: pl.DataFrame) -> None:
    names = [name for name in table.columns if name != "name"]
    cells = table.select(plain(name, table.schema[name]) for name in names)
    expected = cells.group_by(names).agg(pl.len().cast(pl.Int64).alias(COUNT))
    store = SparkTable(on(spark, table))
    assert store.schema() == dict(table.schema)
    before = spark.conf.get("spark.sql.session.timeZone")
    try:
        for zone in ("UTC", "America/New_York", "+05:30"):
            spark.conf.set("spark.sql.session.timeZone", zone)
            found = store.count(names, quiet, 10_000)
            assert found.schema == expected.schema
            assert sorted(map(repr, found.rows())) == sorted(map(repr, expected.rows()))
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


def test_missing_values_of_several_forms_are_known(spark: Any) -> None:
    table = pl.DataFrame({"x": [float("nan"), None, 1.0], "t": ["", None, "a"], "u": ["", "", "a"], "n": [1, None, 2]})
    assert SparkTable(on(spark, table)).mixed(["n", "t", "u", "x"]) == ["t", "x"]


@pytest.mark.parametrize("format", ["parquet", "csv", "tsv"])
def test_the_cluster_writes_parts_with_the_bytes_of_the_table_in_memory(
    spark: Any, table: pl.DataFrame, tmp_path: Path, format: str
) -> None:
    few = table.drop("stay").rename({"note": "-n,o\nte", "local": "lo.cal`"})
    plan = Plan(tuple(few.columns), (), unchanged=("size", "town"))
    folder = tmp_path / "a [1] %20 {b}" / f"data.{format}"
    written = SparkTable(on(spark, few)).recode(plan, folder, format, quiet)
    parts = sorted(folder.iterdir())
    assert [part.name for part in parts] == [f"part-0000{i}.{format}" for i in range(len(parts))]
    assert rows(pl.concat(read_back(part, format) for part in parts)) == rows(few)
    assert list(written.schema()) == few.columns
    names = ["-n,o\nte", "lo.cal`", "size", "seen"]
    counted = printed_frame(few.select(names)).group_by(names).agg(pl.len().cast(pl.Int64).alias(COUNT))
    assert sorted(map(repr, written.count(names, quiet).rows())) == sorted(map(repr, counted.rows()))


def test_names_need_no_quotes_and_may_differ_by_case_alone(spark: Any) -> None:
    names = ["a.b", "a`b", "A.B", "select", "p 'x' \"y\"", "c0"]
    table = pl.DataFrame({name: [i, i, None, i + 1] for i, name in enumerate(names)})
    there = sf.anonymize(SparkTable(on(spark, table)), quasi=names[:3], insensitive=names[3:], require=sf.KAnonymity(2))
    here = sf.anonymize(table, quasi=names[:3], insensitive=names[3:], require=sf.KAnonymity(2))
    assert there.data.columns == names
    assert rows(fetched(there.data.toDF(*"uvwxyz"))) == rows(here.table)


def test_what_cannot_be_printed_is_refused_by_name_and_may_be_dropped(spark: Any) -> None:
    nested = "array(id) as `li st`, struct(id), map(id, 1), binary(string(id)), parse_json('1'), interval '1' month"
    frame = spark.sql(f"select id % 2 as sex, null as v, {nested} from range(8)")
    with pytest.raises(ColumnError, match='"li st"'):
        sf.anonymize(SparkTable(frame), quasi=["sex"], require=sf.KAnonymity(2))
    released = sf.anonymize(SparkTable(frame), quasi=["sex"], identifying=frame.columns[2:], require=sf.KAnonymity(2))
    assert released.data.dtypes == [("sex", "bigint"), ("v", "string")]
    for name in frame.columns[2:]:
        with pytest.raises(ColumnError, match="cannot be released as text"):
            sf.anonymize(SparkTable(frame.select("sex", frame[f"`{name}`"])), quasi=["sex"], require=sf.KAnonymity(2))


def test_text_of_a_collation_is_compared_by_its_bytes(spark: Any) -> None:
    frame = spark.sql("select collate(s, 'UTF8_LCASE') as s from values ('a'), ('A'), ('A') as t(s)")
    counted = SparkTable(frame).count(["s"], quiet, 10)
    assert sorted(counted.rows()) == [("A", 2), ("a", 1)]


def test_refusals(spark: Any, table: pl.DataFrame) -> None:
    store = SparkTable(on(spark, table))
    with pytest.raises(PolicyError, match="too many different combinations"):
        store.count(["name"], quiet, ROWS - 1)
    assert store.count(["name"], quiet, ROWS).height == ROWS
    with pytest.raises(ColumnError, match='"a" is there twice'):
        SparkTable(spark.sql("select 1 as a, 2 as a"))
    with pytest.raises(EmptyTable):
        SparkTable(spark.range(1).select())
    with pytest.raises(InputError, match="stream"):
        SparkTable(spark.readStream.format("rate").load())
    with pytest.raises(EmptyTable):
        sf.anonymize(SparkTable(spark.sql("select 1 as a").limit(0)), quasi=["a"], require=sf.KAnonymity(2))
    with pytest.raises(OutputError), store.release(Plan((), ()), "name", False, quiet):
        pass


def test_a_value_that_was_not_counted_is_refused_not_blanked(spark: Any) -> None:
    store = SparkTable(on(spark, pl.DataFrame({"a": ["x", "secret"]})))
    plan = Plan(("a",), ("a",), maps={"a": pl.DataFrame({"a": ["x"], LABEL + "a": ["*"]})})
    with pytest.raises(ReadError, match="changed while it was read") as caught, store.release(plan, None, False, quiet):
        pass
    assert "secret" not in "".join(traceback.format_exception(caught.value))


def test_a_release_stays_as_it_was_verified_when_its_source_is_gone(
    spark: Any, table: pl.DataFrame, tmp_path: Path
) -> None:
    table.select("size", "town").write_parquet(tmp_path / "in.parquet")
    released = sf.anonymize(
        SparkTable(spark.read.parquet(str(tmp_path / "in.parquet"))), **LEVELS, require=sf.KAnonymity(4)
    )
    (tmp_path / "in.parquet").unlink()
    assert released.data.count() == released.verification.rows


def test_a_checkpoint_folder_is_used_where_there_is_one(spark: Any, table: pl.DataFrame, tmp_path: Path) -> None:
    store, plan = SparkTable(on(spark, table.select("age"))), Plan(("age",), ("age",), unchanged=("age",))
    spark.sparkContext.setCheckpointDir(str(tmp_path))
    try:
        with store.release(plan, None, False, quiet) as kept:
            assert kept.place == {"format": "spark", "checkpoint": "reliable"}
            assert kept.count(["age"], quiet)[COUNT].sum() == ROWS
        assert [path for path in tmp_path.rglob("part-*") if path.is_file()]
    finally:
        spark.sparkContext._jsc.setCheckpointDir(None)


def test_a_job_that_fails_leaves_nothing_and_tells_no_cell(spark: Any, table: pl.DataFrame, tmp_path: Path) -> None:
    flag = str(tmp_path / "flag")

    def breaks(batches: Any) -> Any:
        import os

        for batch in batches:
            if os.path.exists(flag):
                raise ValueError("secret cell")
            yield batch

    source = on(spark, table.select("size", "town"))
    store = SparkTable(source.mapInArrow(breaks, source.schema))

    def say(message: str, share: float | None) -> None:
        if message == "recoding rows":
            Path(flag).touch()

    for to in (None, tmp_path / "out"):
        with pytest.raises(SfumatoError) as caught:
            sf.anonymize(store, to=to, **LEVELS, require=sf.KAnonymity(4), progress=say)
        assert isinstance(caught.value, OutputError)
        assert "secret" not in "".join(traceback.format_exception(caught.value))
        Path(flag).unlink()
    assert not list(tmp_path.iterdir())


def test_sample_rows_and_weights(spark: Any, table: pl.DataFrame) -> None:
    many = SparkTable(spark.range(0, 20_000, 1, 4).selectExpr("id", "array(id) as many"))
    some = many.sample(1000)
    assert many.rows() == 20_000
    assert some.columns == ["id"]
    assert 800 < some.height < 1200
    assert some["id"].min() < 1000 < 19_000 < some["id"].max()
    assert some.equals(many.sample(1000))
    values = {"ok": ["1", "2e1"], "no": ["1", "0"], "text": ["1", "2d"], "gap": ["1", None], "wide": ["1", "1e999"]}
    texts = SparkTable(on(spark, pl.DataFrame(values)))
    assert [name for name in values if texts.positive(name)] == ["ok"]
    numbers = {
        "ok": [1.5, 2.0],
        "inf": [1.0, math.inf],
        "nan": [1.0, math.nan],
        "zero": [1.0, 0.0],
        "flag": [True, True],
    }
    floats = SparkTable(on(spark, pl.DataFrame(numbers)))
    assert [name for name in numbers if floats.positive(name)] == ["ok"]


def test_a_fingerprint_is_of_the_rows_in_any_order_and_of_the_key(spark: Any, table: pl.DataFrame) -> None:
    first = SparkTable(on(spark, table)).fingerprint(b"key")
    assert first is not None
    assert first.startswith("hmac-sha256-hashes:")
    assert first == SparkTable(on(spark, table.reverse()).coalesce(1)).fingerprint(b"key")
    assert first != SparkTable(on(spark, table)).fingerprint(b"other")
    assert first != SparkTable(on(spark, table.with_columns(age=pl.lit(1)))).fingerprint(b"key")
    assert SparkTable(on(spark, table)).fingerprint(None) is None
    parts = pl.DataFrame({"a": ["1", None], "b": [None, "1"]})
    assert SparkTable(on(spark, parts)).fingerprint(b"k") != SparkTable(
        on(spark, parts.with_columns(a=None))
    ).fingerprint(b"k")
    # a missing value is told apart from where it stands
    moved = pl.DataFrame({"a": ["1", "1"], "b": pl.Series([None, None], dtype=pl.String)})
    assert SparkTable(on(spark, parts)).fingerprint(b"k") != SparkTable(on(spark, moved)).fingerprint(b"k")
    assert SparkTable(on(spark, parts)).singled([["a", "b"]]) == [2]


def test_a_release_reads_the_frame_four_times(spark: Any, tmp_path: Path) -> None:
    read = spark.sparkContext.accumulator(0)

    def row(i: int) -> tuple[int, str, float]:
        read.add(1)
        return i % 40, "fm"[i % 2], i / 4

    frame = spark.sparkContext.parallelize(range(400), 2).map(row).toDF("age int, sex string, cost double")
    sf.anonymize(frame, quasi=["age", "sex"], insensitive=["cost"], k=5, search="mondrian", to=tmp_path / "out")
    assert read.value == 4 * 400  # its size and fingerprint, a sample, the counts, the map


def test_frames_of_spark_are_known(spark: Any) -> None:
    assert is_spark(spark.range(1))
    assert not is_spark(spark)
    assert not is_spark(spark.range(1).id)
