"""Rows with equal values that go to different classes, of tables out of core: dealt by a row key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.progress import quiet
from sfumato.engines.files.table import FileTable
from sfumato.engines.protocol import LABEL, PIECE, Plan
from sfumato.errors import ColumnError, PolicyError
from sfumato.release.dealing import Pieces, dealt

ROWS = 600
ASKED: dict[str, Any] = {"quasi": ["age", "sex"], "insensitive": ["cost"], "require": sf.KAnonymity(20)}


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> pl.DataFrame:
    """Few different tuples, so that most are cut; cost tells whose row it is, and grows with the number."""
    monkeypatch.setenv("SFUMATO_KEY", "a key of more than enough letters to be one")
    rng = np.random.default_rng(3)
    age, sex = rng.integers(30, 36, ROWS), rng.choice(["F", "M"], ROWS)
    return pl.DataFrame({"id": range(1000, 1000 + ROWS), "age": age, "sex": sex, "cost": range(ROWS)})


def made(table: pl.DataFrame, folder: Path, **more: Any) -> pl.DataFrame:
    table.write_parquet(folder / "in.parquet")
    asked = {**ASKED, "identifying": ["id"], "row_key": ["id"], "search": sf.Mondrian(relaxed=True), **more}
    release = sf.anonymize(sf.scan(folder / "in.parquet"), **asked, to=sf.Folder(folder / "out", overwrite=True))
    return pl.read_parquet(release.data)


def test_whose_row_goes_where_is_not_told_by_its_number(table: pl.DataFrame, tmp_path: Path) -> None:
    """Numbers are given in turn: were rows dealt in their order, the first of a cell would be in its first class."""
    released = made(table, tmp_path)
    both = table.select("age", "sex", "cost").join(released, on="cost", suffix=" label")
    labels = both.group_by("age", "sex", "age label", "sex label").agg(pl.len(), pl.col("cost").mean())
    cut = labels.filter(pl.len().over("age", "sex") > 1)
    assert cut.height > 6
    for cell in cut.partition_by("age", "sex"):
        rows = cell["len"].to_numpy()
        apart = np.abs(cell["cost"].to_numpy() - np.average(cell["cost"], weights=rows)) * np.sqrt(rows) / ROWS
        assert apart.max() < 1  # a standard error is 0.29; in the order of numbers it comes to 1.5


@pytest.mark.slow
def test_the_deal_is_the_owners(table: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same whatever the order of the rows, and another for each key and seed."""
    first = made(table, tmp_path)
    assert made(table.sample(fraction=1, shuffle=True, seed=1), tmp_path).equals(first)
    assert made(table.with_columns(pl.col("id").cast(pl.String)), tmp_path).equals(first)
    seeded = made(table, tmp_path, seed=4)
    assert not seeded.equals(first)
    monkeypatch.setenv("SFUMATO_KEY", "another key of more than enough letters")
    assert not made(table, tmp_path).equals(first)
    assert not made(table, tmp_path, seed=4).equals(seeded)
    assert made(table, tmp_path)["age", "sex"].sort("age", "sex").equals(first["age", "sex"].sort("age", "sex"))


def test_another_table_is_dealt_otherwise(table: pl.DataFrame, tmp_path: Path) -> None:
    """Else somebody who finds the classes of one table would know by numbers those of another."""
    first, other = (made(some, tmp_path).sort("cost") for some in (table, table.with_columns(pl.col("id") + 5000)))
    assert first["age", "sex"].sort("age", "sex").equals(other["age", "sex"].sort("age", "sex"))
    assert not first.equals(other)


def test_without_a_secret_rows_are_not_dealt(
    table: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By chance each release would be another, and the classes of two intersect."""
    monkeypatch.delenv("SFUMATO_KEY")
    monkeypatch.setenv("XDG_CONFIG_HOME", "/proc/nowhere")
    with pytest.raises(PolicyError, match=r"a secret of the owner, and there is none.*SFUMATO_KEY"):
        made(table, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


@pytest.mark.parametrize("key", [np.array(["id"]), pl.Series(["id"]), "id"])
def test_a_key_is_given_as_other_columns_are(key: Any, table: pl.DataFrame, tmp_path: Path) -> None:
    assert made(table, tmp_path, row_key=key).equals(made(table, tmp_path))


@pytest.mark.parametrize(
    ("key", "change", "words"),
    [
        (["id"], {"id": pl.lit(7)}, r'row key "id" does not tell rows apart that have equal values'),
        (["age"], {}, r'row key "age" does not tell rows apart'),
        (["id", "cost"], {"id": pl.when(pl.col("id") > 1001).then("id")}, r'missing values in "id"'),
        (["idd"], {}, r'no column "idd".*id'),
    ],
)
def test_keys_that_are_refused(
    key: list[str], change: dict[str, Any], words: str, table: pl.DataFrame, tmp_path: Path
) -> None:
    with pytest.raises(ColumnError, match=words) as caught:
        made(table.with_columns(**change), tmp_path, row_key=key)
    assert "100" not in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


def test_without_a_key_the_hint_says_how_to_state_one(table: pl.DataFrame, tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r'row_key=\["id"\], use search="mondrian"'):
        made(table, tmp_path, row_key=())
    with pytest.raises(PolicyError, match="row_key must be a set of columns"):
        made(table, tmp_path, row_key=["id", "id"])
    whole = made(table, tmp_path, row_key=(), search="auto")
    manifest = sf.anonymize(sf.scan(tmp_path / "in.parquet"), **ASKED, identifying=["id"], to=tmp_path / "o").manifest
    assert "without a row key" in manifest["policy"]["chosen"]["why"]
    assert whole.height == ROWS


def test_a_key_may_tell_apart_rows_of_each_cell_alone(table: pl.DataFrame, tmp_path: Path) -> None:
    """The same number in several cells, and a key that is released."""
    within = table.with_columns(id=pl.int_range(pl.len()).over("age", "sex"))
    released = made(within, tmp_path, identifying=(), insensitive=["id", "cost"])
    assert released.select("id", "cost").sort("cost").equals(within.select("id", "cost"))


def test_a_table_in_memory_needs_no_key(table: pl.DataFrame, tmp_path: Path) -> None:
    asked = {**ASKED, "identifying": ["id"], "search": "k-member"}
    release = sf.anonymize(table, **asked, row_key=["id"])
    assert release.table.equals(sf.anonymize(table, **asked).table)
    assert "row_key" not in release.manifest["policy"]
    with pytest.raises(ColumnError, match='no column "idd"'):
        sf.anonymize(table, **asked, row_key="idd")


def test_manifest_and_report_say_so(table: pl.DataFrame, tmp_path: Path) -> None:
    made(table, tmp_path)
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "--row-key id" in page
    assert "in an order that is secret" in page
    assert sf.verify(tmp_path / "out").holds


def test_rows_of_a_piece_that_is_left_out(table: pl.DataFrame, tmp_path: Path) -> None:
    """As many as the piece has; a tuple all of which is left out is not even read."""
    few = pl.DataFrame({"id": range(8), "age": [30] * 5 + [31] * 3})
    few.write_parquet(tmp_path / "in.parquet")
    engine = FileTable(tmp_path / "in.parquet")
    counted = pl.DataFrame({"age": [30, 31]})
    pieces = Pieces(np.array([0, 0, 1, 1]), np.array([3, 2, 1, 2]), np.arange(4), np.array([1, 2, 1, 2], np.int32))
    cells = pl.DataFrame({"age": [30], PIECE: [2], LABEL + "age": ["3*"]}).cast({PIECE: pl.Int32})
    plan = Plan(("id", "age"), ("age", PIECE), cells=cells)
    found = dealt(engine, plan, pieces, counted, np.array([False, True, False, False]), ["id"], None, quiet)
    assert found.dealt is not None
    assert sorted(found.dealt["id"]) == [0, 1, 2, 3, 4]
    assert engine.fetch(found, quiet).get_column("age").to_list() == ["3*", "3*"]
