"""Out-of-core tables are masked as tables in memory are: the same rows for a seed and a key, whatever the engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.printed import printed_frame
from sfumato.errors import BrokenPromise, ColumnError, Infeasible, PolicyError, ReadError, SfumatoError, TooManyCells
from sfumato.masking import MASKERS, streamed
from tests.conformance.engines import Make, csv, duckdb, param, parquet

ROWS = 900
RANDOM = np.random.default_rng(5)
TABLE = pl.DataFrame(
    {
        "no": RANDOM.permutation(ROWS) * 7 + 11,
        "ward": RANDOM.choice(["north", "south", "west"], ROWS),
        "job": [None if i % 19 == 0 else str(job) for i, job in enumerate(RANDOM.choice(["cook", "nurse"], ROWS))],
        "age": RANDOM.integers(20, 60, ROWS),
        "income": [None if i % 23 == 0 else x for i, x in enumerate(RANDOM.lognormal(7, 0.4, ROWS).round(2))],
        "tax": RANDOM.lognormal(4, 0.4, ROWS),
        "w": RANDOM.integers(1, 9, ROWS) / 4,
    }
)
PLAIN: dict[str, Any] = {"insensitive": TABLE.columns, "seed": 4}
STEPS: dict[str, list[Any]] = {
    "rounding": [sf.Rounding(["age", "income"], base=10)],
    "random-rounding": [sf.Rounding(["age", "tax"], base=2.5, random=True)],
    "global-recoding": [sf.GlobalRecoding("age", width=10), sf.GlobalRecoding("job", merge={"staff": ["cook"]})],
    "equal-count": [sf.GlobalRecoding("income", groups=4, method="equal-count", by="ward")],
    "generalisation": [sf.Generalisation({"age": 1}, hierarchies={"age": "intervals:10,20"})],
    "top-bottom-coding": [sf.TopBottomCoding(["income", "tax"], top=95, bottom=5, kind="percentile")],
    "mean-of-top": [sf.TopBottomCoding("tax", top=2, kind="z-score", replacement="mean", by="ward")],
    "additive-noise": [sf.AdditiveNoise(["age", "income"], share=0.3, by="ward")],
    "correlated-noise": [sf.CorrelatedNoise(["income", "tax"], restore=True)],
    "multiplicative-noise": [sf.MultiplicativeNoise(["age", "income"], share=0.2, together=True)],
    "pram": [sf.Pram(["ward", "job"], p=0.6)],
    "pram-invariant": [sf.Pram(["ward", "job"], invariant=True, together=True)],
    "pram-strata": [sf.Pram("job", invariant=True, by="ward")],
    "one-after-another": [sf.Rounding("tax", base=5), sf.AdditiveNoise("tax"), sf.Pram("job", by="ward", p=0.7)],
}

CHAIN = [
    *(sf.Rounding("tax", base=5), sf.AdditiveNoise(["tax", "income"], by="ward"), sf.Pram("job", by="ward", p=0.7)),
    *(sf.TopBottomCoding("income", top=95, kind="percentile"), sf.GlobalRecoding("age", width=10)),
]


@pytest.fixture(autouse=True)
def _owner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFUMATO_KEY", "0123456789abcdef" * 2)
    monkeypatch.setattr(streamed, "HELD", 50)


def texts(table: pl.DataFrame) -> list[tuple[str, ...]]:
    return sorted(printed_frame(table).fill_null("").rows())


def masked(make: Make, table: pl.DataFrame, folder: Path, request: Any, steps: Any, **more: Any) -> tuple[Any, Any]:
    """The table masked in memory, and out of core."""
    held = make(table, folder, request)
    own = table if held.table is None else held.table
    to = sf.Folder(folder / "masked", format="csv" if make is csv else None)
    asked = {**PLAIN, "row_key": ["no"], **more}
    return sf.mask(own, steps, **asked), sf.mask(held.data, steps, to=to, **asked)


def check_same(memory: Any, stored: Any) -> None:
    """The same rows and facts in memory and out of core, which verify on their own."""
    assert texts(sf.read(stored.data)) == texts(memory.table) != texts(TABLE)
    told = ("changed", "perturbed", "pseudonymous", "policy", "measured", "promises", "seed")
    assert {key: stored.manifest[key] for key in told} == {key: memory.manifest[key] for key in told}
    assert [step.get("published") for step in stored.manifest["steps"]] == [
        step.get("published") for step in memory.manifest["steps"]
    ]
    assert {(f["fact"], c, str(f["parameters"])) for f in stored.manifest["facts"] for c in f["columns"]} == {
        (f["fact"], c, str(f["parameters"])) for f in memory.manifest["facts"] for c in f["columns"]
    }
    assert stored.manifest["input"]["rows"] == stored.manifest["data"]["rows"] == ROWS
    assert stored.path is not None
    found = sf.verify(stored.path)
    assert found.outcome == stored.verification.outcome == memory.verification.outcome
    assert [(fact.fact, fact.holds) for fact in found.facts] == [(fact.fact, True) for fact in stored.facts]


ENGINES = ("parquet", "csv", "duckdb", "sqlite", "postgresql")


@pytest.mark.slow
@pytest.mark.parametrize("make", [param(name, slow=name == "sqlite") for name in ENGINES])
def test_engines_mask_as_memory_does(make: Make, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    memory, stored = masked(make, TABLE, tmp_path, request, CHAIN)
    check_same(memory, stored)
    page = (tmp_path / "masked" / "report.html").read_text()
    assert page.count(">checked on the released rows<") == len(stored.facts)
    assert "Random numbers of a row are drawn by" in page
    assert f"{len(stored.facts)} facts of the steps on the released rows" in str(sf.explain(stored))


@pytest.mark.spark
def test_a_spark_frame_is_masked_as_memory_is(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = spark.createDataFrame(TABLE.to_arrow(compat_level=pl.CompatLevel.oldest()))
    monkeypatch.setattr("sfumato.engines.spark.table.SAMPLED", ROWS // 3)  # several batches
    asked = {**PLAIN, "row_key": ["no"]}
    check_same(sf.mask(TABLE, CHAIN, **asked), sf.mask(frame, CHAIN, to=tmp_path / "out", **asked))
    with pytest.raises(PolicyError, match="into a folder of files"):
        sf.mask(frame, CHAIN, **asked)
    with pytest.raises(PolicyError, match="row_key"):
        sf.mask(frame, [sf.AdditiveNoise("income")], to=tmp_path / "other", **PLAIN)


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("make", [param(name, slow=True) for name in ENGINES])
def test_each_step_is_the_same(make: Make, name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    check_same(*masked(make, TABLE, tmp_path, request, STEPS[name]))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mean-of-top", "equal-count", "additive-noise", "pram-strata"])
def test_weights_count_out_of_core(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    roles = {**PLAIN, "insensitive": [n for n in TABLE.columns if n != "w"], "weight": "w"}
    weighted = masked(parquet, TABLE, tmp_path, request, STEPS[name], **roles)
    check_same(*weighted)
    assert texts(weighted[0].table) != texts(sf.mask(TABLE, STEPS[name], row_key=["no"], **PLAIN).table)


@pytest.mark.filterwarnings("ignore:the rows leave in the order")
@pytest.mark.parametrize("order", ["canonical", "random", "input"])
def test_rows_of_files_draw_by_their_number(order: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    steps = [sf.Rounding("tax", base=5, random=True), sf.Pram("job")]
    memory, stored = masked(parquet, TABLE, tmp_path, request, steps, row_key=(), order=order)
    check_same(memory, stored)
    assert sf.read(stored.data).equals(memory.table) or order == "random"  # in the same order, too
    assert texts(memory.table) != texts(sf.mask(TABLE, steps, row_key=["no"], **PLAIN).table)


def test_a_row_key_makes_the_order_of_the_rows_irrelevant(tmp_path: Path) -> None:
    TABLE.sample(ROWS, shuffle=True, seed=1).write_parquet(tmp_path / "in.parquet")
    asked: dict[str, Any] = {**PLAIN, "row_key": ["no", "ward"]}
    stored = sf.mask(sf.scan(tmp_path / "in.parquet"), CHAIN, to=tmp_path / "out", **asked)
    assert sf.read(stored.data).equals(sf.mask(TABLE, CHAIN, **asked).table)


def test_columns_without_a_printed_form_are_dropped_or_refused(tmp_path: Path) -> None:
    TABLE.select(pl.concat_list("age", "no").alias("list"), "tax").write_parquet(tmp_path / "in.parquet")
    scanned = sf.scan(tmp_path / "in.parquet")
    assert sf.mask(scanned, [NOISE], identifying=["list"], to=tmp_path / "out").verification.rows == ROWS
    with pytest.raises(ColumnError, match='"list" holds values that cannot be released as text'):
        sf.mask(scanned, [NOISE], insensitive=["list"], to=tmp_path / "no")


def test_what_is_required_must_hold(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    steps = [sf.GlobalRecoding("age", width=10)]
    roles = {"insensitive": ["no", "job", "income", "tax", "w"], "quasi": ["age", "ward"]}
    memory, stored = masked(parquet, TABLE, tmp_path, request, steps, k=5, **roles)
    check_same(memory, stored)
    assert stored.verification.holds
    with pytest.raises(Infeasible, match="k-anonymity measures"):
        sf.mask(sf.scan(str(tmp_path / "in-*.parquet")), steps, k=500, to=tmp_path / "no", **roles)
    assert not (tmp_path / "no").exists()


def test_pseudonyms_and_shifted_dates(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    days = pl.Series("day", RANDOM.integers(0, 900, ROWS)).cast(pl.Int32).cast(pl.Date)
    table = TABLE.select(pl.col("no").alias("patient_id"), "job").with_columns(days)
    steps = [sf.DateShift("day", person="patient_id"), sf.KeyedTokens("patient_id")]
    roles = {"identifying": ["patient_id"], "insensitive": ["job"], "row_key": ()}
    memory, stored = masked(duckdb, table, tmp_path, request, steps, **roles)  # neither draws by row
    assert texts(sf.read(stored.data)) == texts(memory.table)
    assert stored.pseudonymous
    assert stored.manifest["facts"] == memory.manifest["facts"]
    assert [column["kind"] for column in stored.manifest["data"]["columns"]] == ["text", "text", "date"]


def test_texts_that_are_numbers_are_numbers(tmp_path: Path) -> None:
    pay = [*map(str, range(100, 700)), *(f"{x}.0" for x in range(100, 400))]
    zone = [*(str(x % 90) for x in range(899)), "n.a."]
    table = pl.DataFrame({"pay": pay, "zone": zone, "no": TABLE["no"]})
    for i, part in enumerate(table.iter_slices(300)):
        part.write_parquet(tmp_path / f"{i}.parquet")
    stored = sf.scan(str(tmp_path / "*.parquet"))
    asked: dict[str, Any] = {"seed": 1, "insensitive": ["zone", "no"]}
    memory = sf.mask(table, [sf.AdditiveNoise("pay")], **asked)
    found = sf.mask(stored, [sf.AdditiveNoise("pay")], to=tmp_path / "out", **asked)
    assert sf.read(found.data).equals(memory.table)
    assert found.manifest["data"]["columns"][0]["kind"] == "decimal"
    with pytest.raises(ColumnError, match="does not fit the column"):
        sf.mask(stored, [sf.AdditiveNoise("zone")], to=tmp_path / "no", **asked)


def test_a_changed_cell_breaks_a_fact(tmp_path: Path) -> None:
    TABLE.write_csv(tmp_path / "in.csv")
    to = sf.Folder(tmp_path / "out", format="csv")
    found = sf.mask(sf.scan(tmp_path / "in.csv"), [sf.Rounding("age", base=10)], to=to, **PLAIN)
    text = found.data.read_text()
    found.data.write_text(text.replace(",30,", ",31,", 1))
    assert sf.verify(tmp_path / "out").facts[0].holds is False


@pytest.mark.parametrize("name", MASKERS)
def test_other_steps_are_refused_by_name(name: str, stored: Any, tmp_path: Path) -> None:
    step = MASKERS[name].example
    if step.stored is not None:
        return
    with pytest.raises((PolicyError, ColumnError), match=f"{name} needs all rows at once|has no column"):
        sf.mask(stored, [step], to=tmp_path / "out", **PLAIN)


@pytest.fixture
def stored(tmp_path: Path) -> Any:
    TABLE.write_parquet(tmp_path / "in.parquet")
    return sf.scan(tmp_path / "in.parquet")


NOISE = sf.AdditiveNoise("tax")


@pytest.mark.parametrize(
    ("steps", "asked", "error", "match"),
    [
        ([NOISE], {"row_key": ["ward", "age"]}, ColumnError, 'row key "ward" and "age" does not tell all rows apart'),
        ([NOISE], {"row_key": ["nr"]}, ColumnError, 'no column "nr"'),
        ([NOISE], {"to": sf.Table("kept")}, PolicyError, "in no database"),
        ([NOISE], {"to": None}, PolicyError, "has to be named"),
        ([sf.KeyedTokens("no")], {"max_cells": 100}, TooManyCells, "too many different combinations"),
        ([sf.AdditiveNoise("age", by="no")], {}, ColumnError, r'"age" has one value only \(stratum 1 of 900 by "no"\)'),
        ([sf.Pram("tax")], {}, ColumnError, "too many categories"),
        ([sf.GlobalRecoding("job", merge={"x": ["smith"]})], {}, ColumnError, "does not have all values"),
    ],
)
def test_what_makes_no_sense_is_refused(
    steps: Any,
    asked: dict[str, Any],
    error: type[SfumatoError],
    match: str,
    stored: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sfumato.masking.pram.MOST", 100)
    with pytest.raises(error, match=match):
        sf.mask(stored, steps, **{"to": tmp_path / "out", **PLAIN, **asked})
    assert not (tmp_path / "out").exists()


def test_a_row_key_must_tell_rows_apart_in_memory_too() -> None:
    with pytest.raises(ColumnError, match='row key "age" does not tell all rows apart'):
        sf.mask(TABLE, [NOISE], row_key="age", **PLAIN)


def test_a_database_needs_a_row_key_for_random_numbers(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    data = duckdb(TABLE, tmp_path, request).data
    with pytest.raises(PolicyError, match="additive-noise draws a number for each row") as raised:
        sf.mask(data, [NOISE], to=tmp_path / "out", **PLAIN)
    assert 'row_key=["id"]' in str(raised.value)
    with pytest.raises(PolicyError, match=r"released into a folder of files.*Hint: load the file"):
        sf.mask(data, [NOISE], to=sf.Table("kept"), **PLAIN)
    with pytest.raises(PolicyError, match="a table of a database is masked into a folder of files") as raised:
        sf.mask(data, [NOISE], **PLAIN)
    assert "sf.Table" not in str(raised.value), "which would be refused next"


def test_a_column_without_values_is_refused(tmp_path: Path) -> None:
    TABLE.with_columns(pl.lit(None, pl.Float64).alias("tax")).write_parquet(tmp_path / "in.parquet")
    for step in (NOISE, sf.Rounding("tax", base=5), sf.Rounding("tax", base=5, random=True)):
        with pytest.raises(ColumnError, match='column "tax" has no value in any row'):
            sf.mask(sf.scan(tmp_path / "in.parquet"), [step], to=tmp_path / "out", **PLAIN)


def test_a_table_that_changes_meanwhile_is_not_released(stored: Any, tmp_path: Path) -> None:
    def meddle(what: str, share: float | None) -> None:
        if what == "masking rows":
            TABLE.head(100).write_parquet(tmp_path / "in.parquet")

    with pytest.raises(ReadError, match="changed while it was read"):
        sf.mask(stored, [NOISE], to=tmp_path / "out", progress=meddle, **PLAIN)
    assert not (tmp_path / "out").exists()


def test_a_fact_that_is_not_so_is_a_fault(stored: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streamed.MapStage, "__call__", lambda self, table, at: table.select(self.step.columns))
    with pytest.raises(BrokenPromise, match="not what its steps say"):
        sf.mask(stored, [sf.TopBottomCoding("age", top=40)], to=tmp_path / "out", **PLAIN)
    assert not (tmp_path / "out").exists()
