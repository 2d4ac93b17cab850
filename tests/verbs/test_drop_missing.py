"""Rows with missing values, left out before anything is counted."""

from __future__ import annotations

import shutil
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import ColumnError, EmptyTable
from sfumato.report import report

TABLE = {
    "age": [30, None, 31, 30, 31, 30],
    "sex": ["f", "f", "", "m", "m", "f"],
    "ill": ["a", "b", "c", None, "a", "b"],
}
ASKED: dict[str, Any] = {"quasi": ["age", "sex"], "sensitive": ["ill"], "unprotected": ["ill"], "k": 2}


def frames() -> list[Any]:
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    return [TABLE, pl.DataFrame(TABLE), pl.LazyFrame(TABLE), pandas.DataFrame(TABLE), pyarrow.table(TABLE)]


@pytest.mark.parametrize("kind", range(5))
def test_rows_without_a_quasi_identifier_are_left_out_of_every_kind_of_frame(kind: int) -> None:
    data = frames()[kind]
    with pytest.warns(sf.ReadWarning, match='2 rows are left out for a missing value in "age" and "sex"'):
        release = sf.anonymize(data, **ASKED, drop_missing=True, search="mondrian")
    assert type(release.data) is type(data)
    assert release.table.height == 4
    assert sorted(map(str, release.table["ill"].to_list())) == ["None", "a", "a", "b"]
    assert release.manifest["input"]["rows"] == 4
    assert release.manifest["input"]["reading"] == {"drop_missing": {"columns": ["age", "sex"], "rows": 2}}
    page = report(release.manifest)
    assert "2 rows left out for a missing value in" in page
    assert "--drop-missing-in age,sex" in page


def test_columns_can_be_named() -> None:
    with pytest.warns(sf.ReadWarning, match='1 row is left out for a missing value in "ill"'):
        assert sf.anonymize(TABLE, **ASKED, drop_missing=["ill"], search="mondrian").table.height == 5


def test_nothing_is_said_where_no_row_lacks_anything(recwarn: pytest.WarningsRecorder) -> None:
    release = sf.anonymize({"age": [30, 30]}, quasi=["age"], k=2, drop_missing=True)
    assert "reading" not in release.manifest["input"]
    assert not [w for w in recwarn if w.category is sf.ReadWarning]


def test_the_fingerprint_is_that_of_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFUMATO_KEY", "a key of more than enough letters to be one")
    with pytest.warns(sf.ReadWarning):
        some = sf.anonymize(TABLE, **ASKED, drop_missing=True, search="mondrian").manifest["input"]["fingerprint"]
    every = sf.anonymize(TABLE, **ASKED, search="mondrian", suppression=6).manifest["input"]["fingerprint"]
    assert some == every is not None


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ColumnError, match='"agee"'):
        sf.anonymize(TABLE, **ASKED, drop_missing=["agee"])
    with pytest.raises(EmptyTable, match='every row has a missing value in "age"'):
        sf.anonymize({"age": [None, None], "sex": ["f", "f"]}, quasi=["age", "sex"], k=2, drop_missing=["age"])
    pl.DataFrame({"age": [None, None]}, {"age": pl.Int64}).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(EmptyTable, match='every row has a missing value in "age"'):
        sf.anonymize(sf.scan(tmp_path / "t.parquet"), quasi=["age"], k=2, drop_missing=True, to=tmp_path / "out")


def test_a_count_goes_on_without_the_rows_that_are_left_out(tmp_path: Path) -> None:
    """Where it stopped is told by rows as they come; what was counted with those rows is not taken up."""
    pl.DataFrame({"age": [None] * 40 + [30, 31] * 30, "sex": ["f", ""] * 50}).write_parquet(tmp_path / "t.parquet")
    table, said = sf.scan(tmp_path / "t.parquet", part=8), 0

    def stop(message: str, share: float | None) -> None:
        nonlocal said
        said += message == "counting rows"
        if said == 9:
            raise KeyboardInterrupt

    asked: dict[str, Any] = {"quasi": ["age", "sex"], "k": 2, "search": "mondrian", "to": tmp_path / "out"}
    for drop, rows in ((False, 100), (["age"], 60), (True, 30)):
        said = 0
        with pytest.raises(KeyboardInterrupt), pytest.warns(sf.ReadWarning) if drop else nullcontext():
            sf.anonymize(table, **asked, drop_missing=drop, progress=stop)
        with pytest.warns(sf.ReadWarning) if drop else nullcontext():
            release = sf.anonymize(table, **asked, drop_missing=drop)
        assert release.manifest["input"]["rows"] == release.verification.rows == rows
        shutil.rmtree(tmp_path / "out")
