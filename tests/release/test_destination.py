"""Where a release of an out-of-core table may go."""

from __future__ import annotations

import json
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import polars as pl
import pytest

import sfumato as sf
from sfumato.engines.files.table import FileTable, ScannedFile
from sfumato.errors import OutputError, PolicyError
from sfumato.release.destination import destination


class Ward(FileTable):
    """A store that keeps its releases, each in a file of its own, and counts how often it let one go."""

    keeps: ClassVar[Any] = "table"
    called: ClassVar[str] = "a table of a database"

    def __init__(self, path: Path, home: Path) -> None:
        super().__init__(path)
        self.home, self.held, self.gone = home, 0, 0

    @contextmanager
    def release(self, plan: Any, name: str | None, overwrite: bool, say: Any) -> Any:
        file = self.home / f"{name}.parquet"
        written = self.recode(plan, file, "parquet", say)
        try:
            yield _Kept(written, name)
        except BaseException:
            file.unlink()
            self.gone += 1
            raise
        self.held += 1

    def check_target(self, name: str, overwrite: bool) -> None:
        if (self.home / f"{name}.parquet").exists() and not overwrite:
            raise OutputError("there is a table of that name")

    def kept(self, data: Any) -> Ward:
        return Ward(self.home / f"{data}.parquet", self.home)


class _Kept(ScannedFile):
    def __init__(self, written: ScannedFile, name: str | None) -> None:
        super().__init__(written.file, written.format)
        self.data, self.place = name, {"table": name, "format": "ward"}


@pytest.fixture
def ward(tmp_path: Path) -> Ward:
    table = pl.DataFrame({"age": [30, 31, 50, 51] * 5, "disease": ["flu", "cold"] * 10})
    table.write_parquet(tmp_path / "in.parquet")
    return Ward(tmp_path / "in.parquet", tmp_path)


ASKED: dict[str, Any] = {"quasi": ["age"], "rest": "release", "require": "k-anonymity 6", "search": "mondrian"}


def test_a_table_is_kept_and_described_beside(ward: Ward, tmp_path: Path) -> None:
    release = sf.anonymize(ward, to=sf.Table("quiet", beside=tmp_path / "out"), **ASKED)
    assert (release.data, release.path, ward.held, ward.gone) == ("quiet", tmp_path / "out", 1, 0)
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["manifest.json", "report.html"]
    assert release.manifest["data"]["table"] == "quiet"
    assert pl.read_parquet(tmp_path / "quiet.parquet").height == 20


def test_a_table_needs_no_folder(ward: Ward, tmp_path: Path) -> None:
    release = sf.anonymize(ward, to=sf.Table("quiet"), **ASKED)
    assert release.path is None
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.parquet", "quiet.parquet"]


def test_a_release_that_fails_its_verification_is_let_go(
    ward: Ward, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = _Kept.count
    monkeypatch.setattr(_Kept, "count", lambda *given: counted(*given).head(1))
    with pytest.raises(sf.errors.BrokenPromise):
        sf.anonymize(ward, to=sf.Table("quiet", beside=tmp_path / "out"), **ASKED)
    assert (ward.held, ward.gone) == (0, 1)
    assert [p.name for p in tmp_path.iterdir()] == ["in.parquet"]


def test_a_folder_that_is_there_is_refused_before_the_work(ward: Ward, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    for to in (tmp_path / "out", sf.Table("quiet", beside=tmp_path / "out")):
        with pytest.raises(OutputError, match="exists"):
            destination(to, ward)


def test_a_table_that_is_there_is_refused_before_the_work(ward: Ward) -> None:
    with pytest.raises(OutputError, match="there is a table"):
        destination(sf.Table("in"), ward)
    assert destination(sf.Table("in", overwrite=True), ward) == sf.Table("in", overwrite=True)


def test_a_frame_is_no_place_for_a_database(ward: Ward) -> None:
    with pytest.raises(PolicyError, match="table of a database is released to a place"):
        destination(None, ward)


def test_tables_in_memory_are_sent_too(tmp_path: Path) -> None:
    sf.anonymize({"age": [1, 1]}, quasi=["age"], require="k-anonymity 2", to=tmp_path / "out")
    assert sf.verify(tmp_path / "out").holds


def test_an_order_that_there_is_not(ward: Ward, tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="canonical, random, input"):
        sf.anonymize(ward, to=tmp_path / "out", order="sorted", **ASKED)


def test_a_frame_whose_columns_have_the_names_of_methods_is_in_memory() -> None:
    pandas = pytest.importorskip("pandas")
    names = ["schema", "rows", "sample", "positive", "fingerprint", "count", "recode"]
    frame = pandas.DataFrame({name: [1, 1] for name in names})
    assert isinstance(sf.anonymize(frame, quasi=names, require="k-anonymity 2"), sf.Release)


def test_what_was_kept_is_measured_and_saved_in_a_folder_too(ward: Ward, tmp_path: Path) -> None:
    release = sf.anonymize(ward, to=sf.Table("quiet", beside=tmp_path / "told"), **ASKED)
    assert sf.risk(release)["prosecutor"]["highest"] == 0.1
    assert sf.verify(release.location, manifest=tmp_path / "told").holds
    assert release.save(tmp_path / "out", format="csv") == tmp_path / "out"
    assert sf.verify(tmp_path / "out").holds
    assert "table" not in json.loads((tmp_path / "out" / "manifest.json").read_text("utf-8"))["data"]
    assert sf.read(tmp_path / "out" / "data.csv").height == 20


def test_a_table_that_was_changed_meanwhile_is_not_saved(ward: Ward, tmp_path: Path) -> None:
    release = sf.anonymize(ward, to=sf.Table("quiet"), **ASKED)
    pl.read_parquet(tmp_path / "quiet.parquet").head(3).write_parquet(tmp_path / "quiet.parquet")
    with pytest.raises(sf.errors.BrokenPromise):
        release.save(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_what_is_in_a_folder_is_not_saved_again(ward: Ward, tmp_path: Path) -> None:
    release = sf.anonymize(ward, to=tmp_path / "out", **ASKED)
    assert release.location == tmp_path / "out"
    with pytest.raises(OutputError, match="already"):
        release.save(tmp_path / "again")


def test_a_protected_column_that_changed_between_count_and_release_is_found_out(ward: Ward, tmp_path: Path) -> None:
    def change(message: str, share: float | None) -> None:
        if message == "searching":
            table = pl.read_parquet(tmp_path / "in.parquet").with_columns(disease=pl.lit("flu"))
            table.write_parquet(tmp_path / "in.parquet")
            ward.files = FileTable(tmp_path / "in.parquet").files

    asked = ASKED | {"require": ["k-anonymity 6", sf.TCloseness("disease", 0.9)]}
    with pytest.raises(sf.errors.ReadError, match='"disease" was changed'):
        sf.anonymize(ward, to=sf.Table("quiet"), progress=change, **asked)
    assert [p.name for p in tmp_path.iterdir()] == ["in.parquet"]
