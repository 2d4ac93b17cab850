"""Mondrian in parts on Spark: the same classes as on one machine where one part is enough, the same promises always."""

from __future__ import annotations

import datetime
import math
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.microdata import encode
from sfumato.core.policy import Policy
from sfumato.core.printed import printed_frame
from sfumato.criteria import CRITERIA
from sfumato.criteria.known_population import MEMBERSHIP
from sfumato.engines.protocol import COUNT
from sfumato.engines.spark.table import SparkTable
from sfumato.errors import BrokenPromise, ColumnError, EmptyTable, PolicyError, SfumatoError
from sfumato.losses import loss
from sfumato.release.parts import domain as distributed_whole
from sfumato.release.parts import mondrian as distributed_mondrian
from sfumato.release.parts import mondrian as distributed_parts
from sfumato.release.parts import verify as distributed_verify
from sfumato.release.parts.mondrian import Distributed, distribute
from sfumato.release.parts.verify import verify_on
from sfumato.release.pipeline import make_release
from sfumato.release.request import parse_hierarchy
from sfumato.release.verify import verify_table
from sfumato.search import Mondrian

pytestmark = pytest.mark.spark

ROWS = 1500
QUASI = ["age", "height", "born", "seen", "pay", "zip", "town", "member", "o`d.d name"]
TREE: dict[str, Any] = {"town": {"=A": "x", "B, b": "x", 'C"c"': "y", "D": "y"}, "age": sf.intervals(5, 10)}
REST = ["id", "disease", "note"]


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    """Every type, with missing values of all forms, both zeros, and names that Spark would take apart."""
    rng = np.random.default_rng(6)
    day, moment = datetime.date(1960, 1, 1), datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)

    def holes(values: list[Any], hole: Any, share: float = 0.03) -> list[Any]:
        return [hole if gone else v for v, gone in zip(values, rng.random(ROWS) < share, strict=True)]

    return pl.DataFrame(
        {
            "id": np.arange(ROWS),
            "age": holes(rng.integers(20, 60, ROWS).tolist(), None),
            "height": pl.Series(
                holes(holes(rng.choice([-0.0, 0.0, 1.5, 2.25, 3.0], ROWS).tolist(), math.nan), None), dtype=pl.Float64
            ),
            "born": holes([day + datetime.timedelta(int(d)) for d in rng.integers(0, 400, ROWS)], None),
            "seen": pl.Series(
                holes([moment + datetime.timedelta(hours=int(h)) for h in rng.integers(0, 900, ROWS)], None),
                dtype=pl.Datetime("us", "UTC"),
            ),
            "pay": pl.Series(rng.integers(100, 9000, ROWS) / 100).cast(pl.Decimal(9, 2)),
            "zip": holes(rng.choice(["7", "10", "080", "9"], ROWS).tolist(), ""),
            "town": holes(rng.choice(["=A", "B, b", 'C"c"', "D"], ROWS).tolist(), None),
            "member": holes((rng.random(ROWS) < 0.4).tolist(), None),
            "o`d.d name": rng.integers(0, 3, ROWS).astype(np.int32),
            "disease": holes(rng.choice(["flu", "cold", "ache", "none"], ROWS).tolist(), None, 0.05),
            "note": holes(rng.choice(["+1", "x", "-y"], ROWS).tolist(), ""),
        }
    )


def sent(spark: Any, frame: pl.DataFrame, parts: int = 3) -> Any:
    return spark.createDataFrame(frame.to_arrow(compat_level=pl.CompatLevel.oldest())).repartition(parts)


def back(frame: Any) -> pl.DataFrame:
    found = pl.from_arrow(frame.toArrow())
    assert isinstance(found, pl.DataFrame)
    return found.sort("id")


def run(frame: Any, quasi: list[str], require: list[Any], most: int, **more: Any) -> Distributed:
    method, by = more.pop("method", Mondrian()), loss(more.pop("loss", "lm"))
    policy = Policy((tuple(quasi),), tuple(require), 0, by, more.pop("ends", "rounded"))
    histogram_columns = tuple(dict.fromkeys((*policy.needs, *method.needs)))
    trees = {name: parse_hierarchy(of) for name, of in more.pop("hierarchies", {}).items() if name in quasi}
    return distribute(frame, policy, method, histogram_columns=histogram_columns, recipes=trees, part_rows=most, **more)


def local(frame: pl.DataFrame, quasi: list[str], require: list[Any], method: Any = "mondrian", **more: Any) -> Any:
    free = [name for name in frame.columns if name not in (*quasi, "disease")]
    return sf.anonymize(frame, quasi=quasi, insensitive=free, rest="release", require=require, search=method, **more)


REQUIRED = [
    [sf.KAnonymity(3), sf.EntropyLDiversity("disease", 2.5)],
    [sf.KAnonymity(3), sf.TCloseness("disease", 0.35), sf.AverageRisk(0.2)],
]


def test_one_part_is_what_one_machine_gives(spark: Any, table: pl.DataFrame) -> None:
    require = REQUIRED[1]
    found = run(sent(spark, table), QUASI, require, ROWS, hierarchies=TREE, ends="exact")
    here = local(table, QUASI, require, hierarchies=TREE, ends="exact")
    assert found.parts == 1
    got = back(found.data)
    assert printed_frame(got).equals(printed_frame(here.table.sort("id")))
    assert got.schema["o`d.d name"] == here.table.schema["o`d.d name"]  # an unblurred column keeps its type
    assert found.verdict == here.solution.verdict
    assert found.verification == here.verification
    engine = SparkTable(sent(spark, table))
    made = make_release(engine, engine, replace(here.request, max_cells=10, schema=engine.schema()), None)
    mine, other = dict(made.manifest), dict(here.manifest)
    assert mine["data"]["format"] == "spark"
    mine["data"] = {k: mine["data"][k] for k in ("rows", "columns", "order")}
    mine["input"], other["input"] = mine["input"]["rows"], other["input"]["rows"]
    assert mine == other


@pytest.mark.parametrize("require", REQUIRED, ids=["l", "t"])
def test_many_parts_keep_every_row_and_promise(spark: Any, table: pl.DataFrame, require: list[Any]) -> None:
    method = Mondrian(cut="best", dimension="ncp")
    there = sent(spark, table)
    found = run(there, QUASI, require, 200, hierarchies=TREE, method=method, ends="exact")
    got = back(found.data)
    assert found.parts > 5
    assert got.columns == table.columns
    assert got.select(REST).equals(table.select(REST))
    whole = {"disease": dict(table["disease"].fill_null("").value_counts().iter_rows())}
    again = verify_table(got, [QUASI], require, whole=whole)
    assert again.holds
    assert found.verification == again  # audited in buckets, and at once
    here = local(table, QUASI, require, method, hierarchies=TREE, ends="exact")
    assert printed_frame(got).equals(printed_frame(here.table.sort("id")))  # the sample has all rows


def test_a_sample_by_hash_gives_the_same_release_however_rows_lie(
    spark: Any, table: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distributed_parts, "SAMPLE", (300, 300))
    first, second = (
        run(sent(spark, frame, parts), QUASI[:5], [sf.KAnonymity(5)], 300)
        for frame, parts in ((table, 3), (table.sample(fraction=1, shuffle=True, seed=1), 5))
    )
    assert back(first.data).equals(back(second.data))
    assert first.verdict == second.verdict
    here = local(table, QUASI[:5], [sf.KAnonymity(5)])
    assert first.verdict.loss == pytest.approx(here.solution.verdict.loss, rel=0.06)


def test_rows_that_no_cut_tells_apart_come_in_pieces(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distributed_parts, "SAMPLE", (150, 150))
    heavy = pl.DataFrame({"a": [5.0] * 900, "b": ["x"] * 900})
    light = pl.DataFrame({"a": [float(i % 50) for i in range(300)], "b": [str(i % 7) for i in range(300)]})
    frame = pl.concat([heavy, light]).with_row_index("id").cast({"id": pl.Int64})
    found = run(sent(spark, frame), ["a", "b"], [sf.KAnonymity(10)], 300)
    got = back(found.data)
    assert found.parts >= 4
    assert got["id"].equals(frame["id"])
    assert got.filter(pl.col("a") == "5.0", pl.col("b") == "x").height >= 900
    again = sf.utility(frame, got, quasi=["a", "b"], queries=0)
    assert found.verdict.loss == pytest.approx(again["loss"]["lm"], rel=1e-9)


def test_adult_loses_about_as_much_as_on_one_machine(spark: Any, shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation"]
    names += ["relationship", "race", "sex", "capital-gain", "capital-loss", "hours", "country", "salary"]
    adult = pl.read_csv(shared / "data" / "adult" / "adult.data", has_header=False, new_columns=names)
    adult = adult.with_columns(pl.col(pl.String).str.strip_chars()).with_row_index("id").cast({"id": pl.Int64})
    quasi = ["age", "fnlwgt", "education-num", "marital-status", "race", "sex", "hours"]
    monkeypatch.setattr(distributed_parts, "SAMPLE", (3000, 3000))
    keep = adult.select("id", *quasi, "salary").sample(6000, seed=1)
    require = [sf.KAnonymity(5), sf.EntropyLDiversity("salary", 1.2)]
    found = run(sent(spark, keep), quasi, require, 800, ends="exact")
    search = sf.Mondrian(categories="order")  # parts know no order of texts by likeness
    here = sf.anonymize(keep, quasi=quasi, insensitive=["id"], require=require, search=search, ends="exact")
    assert found.parts > 6
    assert found.verdict.loss == pytest.approx(here.solution.verdict.loss, rel=0.03)
    again = sf.utility(keep, back(found.data), quasi=quasi, queries=0)
    assert again["loss"]["lm"] == pytest.approx(found.verdict.loss, rel=1e-9)


def test_the_loss_is_that_of_the_whole_table(spark: Any, table: pl.DataFrame) -> None:
    by = "non-uniform-entropy"  # which counts values in all rows; the other losses: test_distributed.py
    found = run(sent(spark, table), QUASI[:3], [sf.KAnonymity(4)], 300, loss=by, ends="exact")
    here = local(table, QUASI[:3], [sf.KAnonymity(4)], loss=by, ends="exact")
    assert found.parts > 4
    assert found.verdict.loss == pytest.approx(here.solution.verdict.loss, rel=1e-12)


def test_what_verify_refutes_is_not_handed_out(
    spark: Any, table: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = distributed_mondrian.release

    def one_row_short(*given: Any) -> Any:
        found = stored(*given)
        object.__setattr__(found, "data", found.data.filter("id <> 7"))
        return found

    monkeypatch.setattr(distributed_mondrian, "release", one_row_short)
    with pytest.raises(BrokenPromise):
        run(sent(spark, table), ["age"], [sf.KAnonymity(5)], 700)


@pytest.mark.parametrize("kind", ["string", "int"])
def test_a_table_that_changes_is_not_released(spark: Any, table: pl.DataFrame, kind: str) -> None:
    from pyspark.sql import functions as F

    other = F.udf(lambda: random.SystemRandom().randrange(10**6), "int").asNondeterministic()
    frame = sent(spark, table).withColumn("age", other().cast(kind))
    with pytest.raises(SfumatoError, match=r"changed while it was read|not have the rows"):
        run(frame.filter(F.col("age") < 500_000), ["age", "town"], [sf.KAnonymity(5)], 700)


def test_columns_with_too_many_values_are_named(
    spark: Any, table: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distributed_whole, "MAX_VALUES", 3)
    frame = sent(spark, table)
    with pytest.raises(PolicyError, match='"town" has too many'):
        run(frame, ["born", "town"], [sf.KAnonymity(5)], 700)
    assert run(frame, ["born"], [sf.KAnonymity(5)], 10_000).parts == 1  # dates need no dictionary
    empty = frame.withColumn("town", frame["town"].substr(1, 0))
    with pytest.raises(ColumnError, match='"town" is empty'):
        run(empty, ["town"], [sf.KAnonymity(5)], 700)
    with pytest.raises(EmptyTable):
        run(frame.limit(0), ["town"], [sf.KAnonymity(5)], 700)


def test_verify_in_buckets_is_verify(spark: Any, table: pl.DataFrame) -> None:
    require = [one.example for one in CRITERIA.values() if MEMBERSHIP not in one.example.needs]
    needed = sorted({name for criterion in require for name in criterion.needs})
    frame = table.with_columns(pl.col("age") // 10, **{c: pl.col("disease") for c in needed})
    trees = {c: sf.flat().build(encode(frame.get_column(c))[0]) for c in needed}
    sets = [["age", "member"], ["town"]]
    counted = printed_frame(frame.select("age", "member", "town", *needed))
    counted = counted.group_by(counted.columns).agg(pl.len().cast(pl.Int64).alias(COUNT))
    there = sent(spark, frame)
    for whole in (None, {c: dict(frame[c].fill_null("").value_counts().iter_rows()) for c in needed}):
        mine = verify_on(there, sets, require, whole=whole, hierarchies=trees, bucket=500)
        assert mine == verify_table(
            counted.drop(COUNT), sets, require, row_counts=counted[COUNT], whole=whole, hierarchies=trees
        )


def test_verify_in_buckets_knows_the_set_of_each_criterion(spark: Any, table: pl.DataFrame) -> None:
    frame = table.with_columns(pl.col("age") // 10)
    require = [
        sf.KAnonymity(2),
        sf.KAnonymity(3, quasi=["town"]),
        sf.DistinctLDiversity("disease", 2, quasi=["age", "member"]),
        sf.DistinctLDiversity("town", 1, quasi=["age"]),  # which is quasi-identifying too
    ]
    for towns in (frame["town"], pl.Series("town", ["*", "476"] * frame.height).head(frame.height)):
        now = frame.with_columns(towns)
        mine = verify_on(sent(spark, now), [["age", "member"]], require, bucket=500)
        assert mine == verify_table(now, [["age", "member"]], require)
        assert [p.quasi for p in mine.promises[-2:]] == [("age",), ("age",)]
    assert mine.promises[-1].note.startswith("labels overlap")


def test_verify_names_what_it_cannot_do(spark: Any, table: pl.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    there = sent(spark, table)
    with pytest.raises(PolicyError, match="needs a hierarchy"):
        verify_on(there, [["age"]], [sf.TCloseness("disease", 0.3, "hierarchical")])
    with pytest.raises(ColumnError, match='"agee"'):
        verify_on(there, [["agee"]], [sf.KAnonymity(2)])
    assert not verify_on(there.limit(0), [["age"]], [sf.KAnonymity(2), sf.AverageRisk(0.5)]).holds
    monkeypatch.setattr(distributed_verify, "MAX_VALUES", 2)
    with pytest.raises(PolicyError, match='"disease" has too many'):
        verify_on(there, [["age"]], [sf.DistinctLDiversity("disease", 2)])
