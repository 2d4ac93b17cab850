"""R reads what Sfumato writes, and Sfumato what R writes, without loss; where Rscript is installed."""

from __future__ import annotations

import datetime as dt
import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.engines.files.bytes import write_table

pytestmark = pytest.mark.skipif(shutil.which("Rscript") is None, reason="Rscript is not installed")
ROOT = Path(__file__).parents[2]
LINE = """read.csv("data.csv", colClasses = c(zip = "character", born = "Date"),
         na.strings = "", blank.lines.skip = FALSE, fileEncoding = "UTF-8")"""


def rscript(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "script.R").write_text(script, encoding="utf-8")
    asked = ["Rscript", "--vanilla", "--encoding=UTF-8", "script.R"]
    return subprocess.run(asked, cwd=folder, capture_output=True, text=True, timeout=60, env=None)


def run(script: str, folder: Path) -> None:
    done = rscript(script, folder)
    assert done.returncode == 0, done.stderr


def test_r_reads_a_table_as_it_was_written(tmp_path: Path) -> None:
    table = pl.DataFrame(
        {
            "zip": ["01067", "NA", None, "01069"],
            "note": ['say "hi"\nthere', "Müller, Ä; ß", "a,b\tc", " "],
            "born": [dt.date(1961, 10, 16), None, dt.date(2020, 2, 29), dt.date(1900, 1, 1)],
            "paid": [1.5, None, 1e-12, 0.1 + 0.2],
            "count": [1, None, -3, 2**53 - 1],
            "alive": [True, False, None, True],
            "seen": [dt.datetime(2020, 1, 2, 3, 4, 5), None, dt.datetime(1999, 12, 31, 23, 59), None],
        }
    )
    write_table(table, tmp_path / "data.csv")
    assert LINE in (ROOT / "docs" / "files.md").read_text("utf-8")
    script = f"""
    t <- {LINE}
    stopifnot(nrow(t) == 4, ncol(t) == 7)
    stopifnot(identical(t$zip, c("01067", "NA", NA, "01069")))
    stopifnot(identical(enc2utf8(t$note), c("say \\"hi\\"\\nthere", "M\\u00fcller, \\u00c4; \\u00df", "a,b\\tc", " ")))
    stopifnot(identical(t$born, as.Date(c("1961-10-16", NA, "2020-02-29", "1900-01-01"))))
    stopifnot(identical(t$paid, c(1.5, NA, 1e-12, 0.1 + 0.2)), identical(as.numeric(t$count), c(1, NA, -3, 2^53 - 1)))
    stopifnot(identical(as.logical(t$alive), c(TRUE, FALSE, NA, TRUE)))
    seen <- as.POSIXct(t$seen, format = "%Y-%m-%dT%H:%M:%OS", tz = "UTC")
    stopifnot(format(seen[1]) == "2020-01-02 03:04:05", is.na(seen[2]), format(seen[3], "%H:%M") == "23:59")
    """
    run(script, tmp_path)


@pytest.mark.slow
def test_r_keeps_the_rows_of_a_column_with_missing_values(tmp_path: Path) -> None:
    write_table(pl.DataFrame({"zip": ["01067", None, "", "01069", None]}), tmp_path / "data.csv")
    read = 'read.csv("data.csv", colClasses = "character", na.strings = "", blank.lines.skip = FALSE)'
    run(f't <- {read}; stopifnot(identical(t$zip, c("01067", NA, NA, "01069", NA)))', tmp_path)


@pytest.mark.slow
def test_r_reads_a_release(tmp_path: Path) -> None:
    table = {"age": [31, 32, 58, 59] * 5, "town": ["Köln", "Köln", "Zürich", "Zürich"] * 5}
    release = sf.anonymize(table, quasi=["age", "town"], k=10)
    release.save(tmp_path / "out", format="csv")
    script = """
    t <- read.csv("out/data.csv", na.strings = "", fileEncoding = "UTF-8", check.names = FALSE)
    stopifnot(nrow(t) == 20, identical(names(t), c("age", "town")))
    stopifnot(setequal(enc2utf8(t$town), c("K\\u00f6ln", "Z\\u00fcrich")), all(grepl("^\\\\[", t$age)))
    """
    run(script, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("format", ["sav", "dta"])
def test_files_that_haven_wrote(format: str, tmp_path: Path) -> None:
    pytest.importorskip("pyreadstat")
    if rscript("library(haven)", tmp_path).returncode:
        pytest.skip("the R package haven is not installed")
    missing = "labelled_spss(c(1, 2, 99), c(no = 1, yes = 2, refused = 99), na_values = 99)"
    smokes = missing if format == "sav" else 'labelled(c(1, 2, tagged_na("a")), c(no = 1, yes = 2))'
    script = f"""
    library(haven)
    t <- data.frame(zip = c("01067", "", "12345"), town = c("K\\u00f6ln", "say \\"hi\\"", "x"), n = c(1, NA, 3))
    t$born <- as.Date(c("1961-10-16", NA, "2020-02-29"))
    t$sex <- labelled(c(1, 2, 2), c(male = 1, female = 2))
    t$smokes <- {smokes}
    write_{format}(t, "data.{format}")
    """
    run(script, tmp_path)
    with pytest.warns(sf.ReadWarning, match="value labels stand in place of codes"):
        table = sf.read(tmp_path / f"data.{format}")
    assert table.to_dict(as_series=False) == {
        "zip": ["01067", None, "12345"],
        "town": ["Köln", 'say "hi"', "x"],
        "n": [1, None, 3],
        "born": [dt.date(1961, 10, 16), None, dt.date(2020, 2, 29)],
        "sex": ["male", "female", "female"],
        "smokes": ["no", "yes", None],
    }
