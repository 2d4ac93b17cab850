"""Tables in files that are not read into memory: several files, patterns, folders, and files that are streamed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.cli import inputs as memory

from .conftest import Run, admissions, policy_text
from .test_anonymize import FLAGS, manifest

pytestmark = pytest.mark.slow

STREAM = (*FLAGS, "--search", "mondrian")


def data(folder: Path) -> pl.DataFrame:
    file = next(folder.glob("data.*"))
    separator = "\t" if file.suffix == ".tsv" else ","
    known = file.suffix == ".parquet"
    return pl.read_parquet(file) if known else pl.read_csv(file, infer_schema=False, separator=separator)


@pytest.mark.parametrize("named", [("in/0.parquet", "in/1.parquet", "in/2.parquet"), ("in/*.parquet",), ("in/",)])
@pytest.mark.parametrize("flag", [False, True])
def test_several_files(run: Run, parts: Path, tmp_path: Path, named: tuple[str, ...], flag: bool) -> None:
    words = [word for name in named for word in ("--input", name)] if flag else named
    done = run("anonymize", *words, *STREAM, "-o", "out")
    assert done.code == 0, done.err
    assert "600 of 600 rows released" in done.out
    assert "verify it with: sfumato verify out\n" in done.out
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "data.parquet",
        "manifest.json",
        "report.html",
    ]
    asked = {"quasi": ["age", "zip", "sex"], "identifying": ["name"], "sensitive": ["disease"], "search": "mondrian"}
    expected = sf.anonymize(admissions(), **asked, require=sf.KAnonymity(4)).data
    assert data(tmp_path / "out").equals(expected)
    assert run("verify", "out").code == 0


@pytest.mark.parametrize("format", [None, "csv", "tsv", "parquet"])
def test_one_file(run: Run, tmp_path: Path, format: str | None) -> None:
    admissions().write_csv(tmp_path / "t.csv")
    asked = ("anonymize", "t.csv", *STREAM, *(("--format", format) if format else ()))
    assert run(*asked, "-o", "memory").code == 0
    done = run(*asked, "--stream", "-o", "streamed", "--json")
    assert done.code == 0, done.out
    assert Path(done.json["files"][0]).name == f"data.{format or 'csv'}"
    assert done.json["folder"] == "streamed"
    assert "table" not in done.json
    assert done.json["rows"] == 600
    name = f"data.{format or 'csv'}"
    if format != "parquet":  # the writers of Parquet differ in what surrounds the cells
        assert (tmp_path / "streamed" / name).read_bytes() == (tmp_path / "memory" / name).read_bytes()
    assert data(tmp_path / "streamed").equals(data(tmp_path / "memory"))


def test_options_for_reading(run: Run, tmp_path: Path) -> None:
    text = admissions().write_csv(separator=";")
    (tmp_path / "t.txt").write_bytes(text.encode("utf-16"))
    done = run("anonymize", "t.txt", "--stream", "--separator", ";", "--encoding", "utf-16", *STREAM, "-o", "out")
    assert done.code == 0, done.err
    assert manifest(tmp_path / "out")["input"]["rows"] == 600


def test_a_file_larger_than_a_quarter_of_the_memory(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    admissions().write_csv(tmp_path / "t.csv")
    numbers = (*STREAM, "--hierarchy", "zip=learned")
    size = (tmp_path / "t.csv").stat().st_size
    monkeypatch.setattr(memory, "available", lambda: 4 * size)
    assert run("anonymize", "t.csv", *numbers, "-o", "one").err == ""
    monkeypatch.setattr(memory, "available", lambda: 4 * size - 1)
    done = run("anonymize", "t.csv", *numbers, "-o", "two")
    assert done.code == 0
    assert done.err.startswith("note: t.csv has ")
    assert "it is streamed; --no-stream reads it into memory" in done.err
    assert run("anonymize", "t.csv", *numbers, "--no-stream", "-o", "three").err == ""
    done = run("anonymize", "t.csv", *numbers, "--format", "xlsx", "-o", "four")
    assert done.code == 2
    assert "--format: " in done.err
    assert "--no-stream reads the file into memory" in done.err
    assert run("anonymize", "t.csv", *numbers, "--quote", '"', "-o", "five").err == ""  # what streaming does not know
    assert run("inspect", "t.csv", "--json").json["notes"][0].startswith("t.csv has ")


def test_the_memory_that_is_free() -> None:
    free = memory.available()
    assert free is None or 0 <= free < 1 << 50


def test_what_streaming_cannot_do_is_told_with_the_other_faults(run: Run, parts: Path, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    done = run(
        "anonymize", "in/", "--quasi", "agee", "--k", "0", "--format", "xlsx", "--order", "sorted", "--pdf",
        "--no-stream", "--internal-report", "x.html", "--quote", "x", "--sheet", "one", "--table", "t",
        "--max-cells", "0", "--output-table", "r", "--search", "minimal-suppression rule=wildcard", "--json",
    )  # fmt: skip
    assert done.code == 2
    told = {fault.split(":")[0] for fault in done.json["error"]["faults"]}
    assert told == {
        "--no-stream", "--quote", "--sheet", "--table", "--quasi", "--k", "--search", "--max-cells",
        "--output-table", "--format", "--order", "--internal-report", "--pdf",
    }  # fmt: skip
    done = run("anonymize", "in/", *FLAGS, "--search", "minimal-suppression rule=wildcard", "--quote", "x", "-o", "out")
    assert done.code == 2
    assert "--search: " in done.err
    assert "--quote: is not for files that are streamed\n" in done.err
    assert sorted(tmp_path.rglob("*")) == before
    done = run("anonymize", "in/", *FLAGS, "--no-header", "-o", "out")
    assert done.code == 2
    assert "are not for Parquet files that are streamed" in done.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("in/0.parquet", "--table", "t", *FLAGS, "-o", "out"), ["--table: is of a database"]),
        (("in/0.parquet", *FLAGS, "--output-table", "r"), ["--output-table: "]),
        (("in/0.parquet", "--input", "in/1.parquet", *FLAGS), ["named twice", "--input", "in quotes"]),
        (("in/0.parquet", "p.toml", *FLAGS), ["a policy file stands alone"]),
        (("in/*.csv", *FLAGS, "-o", "out"), ["error: no file matches in/*.csv\n"]),
        (("in/", *FLAGS, "--max-cells", "3", "-o", "out"), ["--max-cells 3", '"age"']),
        (
            ("in/", *FLAGS, "--search", "refined", "--k", "20", "-o", "out"),
            ["different labels", "--row-key id", "--search mondrian"],
        ),
        (("in/", *FLAGS, "--row-key", "nam", "-o", "out"), ["--row-key: ", 'no column "nam"', '"name"']),
        (("nofolder/*.parquet", *FLAGS, "-o", "out"), ["error: no file matches nofolder/*.parquet\n"]),
        (("in/0.parquet", "all.csv", *FLAGS, "-o", "out"), ["all.csv"]),
    ],
)
def test_refusals(run: Run, parts: Path, tmp_path: Path, arguments: tuple[str, ...], words: list[str]) -> None:
    (tmp_path / "all.csv").write_text("other,columns\n1,2\n")
    before = sorted(tmp_path.rglob("*"))
    done = run("anonymize", *arguments)
    assert (done.code, done.out) == (2, "")
    assert all(word in done.err for word in words), done.err
    assert "fault of Sfumato" not in done.err
    assert sorted(tmp_path.rglob("*")) == before


def test_rows_with_equal_values_are_dealt_by_a_key(run: Run, parts: Path, tmp_path: Path) -> None:
    done = run("anonymize", "in/", *FLAGS, "--search", "refined", "--k", "20", "--row-key", "name", "-o", "out")
    assert done.code == 0, done.err
    assert manifest(tmp_path / "out")["policy"]["row_key"] == ["name"]
    assert run("verify", "out").code == 0
    (tmp_path / "p.toml").write_text(policy_text().replace("[roles]\n", '[roles]\nrow_key = ["name"]\n'))
    again = run("anonymize", "p.toml", "--input", "in/", "--search", "refined", "--k", "20", "-o", "again")
    assert again.code == 0, again.err
    assert manifest(tmp_path / "again")["policy"]["row_key"] == ["name"]


def test_a_policy_file(run: Run, parts: Path, tmp_path: Path) -> None:
    folder = tmp_path / "deep [1]"  # brackets are no pattern of ours
    folder.mkdir()
    parts.rename(folder / "in")
    paths = '["in/[01].parquet", "in/2.parquet"]'
    (folder / "policy.toml").write_text(policy_text().replace('"patients.csv"', paths))
    done = run("anonymize", "deep [1]/policy.toml")
    assert done.code == 0, done.err
    assert manifest(folder / "release")["data"]["rows"] == 600
    done = run("anonymize", "deep [1]/policy.toml", "--input", "deep [1]/in/0.parquet", "--stream", "-o", "here")
    assert done.code == 0, done.err
    assert manifest(tmp_path / "here")["data"]["rows"] == 200
    assert (tmp_path / "here" / "data.parquet").exists()
    done = run("anonymize", "deep [1]/policy.toml", "--input", "none/*.parquet", "--k", "0")
    assert "--input: no file matches none/*.parquet\n" in done.err.replace(str(tmp_path) + "/", "")


def test_verify(run: Run, parts: Path) -> None:
    assert run("verify", "in/*.parquet", "--quasi", "sex", "--k", "300").code == 0
    done = run("verify", "in/0.parquet", "in/1.parquet", "--quasi", "age,sex", "--k", "300", "--json")
    assert done.code == 1
    assert done.json["rows"] == 400
    assert run("verify", "in/", "--quasi", "sex", "--require", "distinct-l-diversity disease 2").code == 0
    assert run("verify", "in/0.parquet", "--stream", "--quasi", "sex", "--k", "100").code == 0
    asked = ("verify", "in/", "--quasi", "age", "--k", "2", "--max-cells")
    assert run(*asked, "60").code == run(*asked[:-1]).code
    assert "allowed: --max-cells 3." in run(*asked, "3").err
    done = run("verify", "in/")
    assert done.code == 2
    assert "it has no manifest.json. Hint: give --quasi and --k" in done.err
    done = run("verify", "in/*.parquet", "--quasi", "sexx", "--k", "0")
    assert done.code == 2
    assert '"sex"' in done.err
    assert "--k" in done.err


def test_risk_and_utility(run: Run, parts: Path, tmp_path: Path) -> None:
    admissions().write_parquet(tmp_path / "all.parquet")
    here = run("risk", "all.parquet", "--quasi", "age,sex", "--json").json
    there = run("risk", "in/*.parquet", "--quasi", "age,sex", "--json").json
    assert there["prosecutor"] == here["prosecutor"]
    done = run("risk", "in/", "--quasi", "age,sex", "--household", "zip")
    assert done.code == 2
    assert "household" in done.err
    assert run("anonymize", "in/", *STREAM, "-o", "out").code == 0
    found = run("utility", "in/0.parquet", "in/1.parquet", "in/2.parquet", "out", "--json")
    assert found.code == 0, found.out
    expected = run("utility", "all.parquet", "out", "--json").json
    assert found.json["loss"]["ncp"] == pytest.approx(expected["loss"]["ncp"])
    assert run("utility", "--input", "in/*.parquet", "out", "--json").json["loss"] == found.json["loss"]
    assert "RELEASED" in run("utility", "out").err


def test_inspect(run: Run, parts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sfumato.cli import inspect

    done = run("inspect", "in/*.parquet", "--json")
    assert done.json["rows"] == 600
    assert "notes" not in done.json  # nothing was left out
    monkeypatch.setattr(inspect, "SAMPLE", 80)
    done = run("inspect", "in/0.parquet", "in/1.parquet", "in/2.parquet", "--init", "deep/p.toml")
    assert done.code == 0, done.err
    assert done.err == "note: these are figures of a sample of 80 rows, of about 600\n"
    assert run("anonymize", "deep/p.toml").code == 0
    assert manifest(tmp_path / "deep" / "p-release")["files"][0]["format"] == "parquet"


@pytest.mark.parametrize("command", ["attack", "compare", "choose", "lattice", "report"])
@pytest.mark.parametrize(
    ("named", "got"),
    [
        (("in/0.parquet", "in/1.parquet"), "several files"),
        (("in/*.parquet",), "several files"),
        (("in/",), "a folder of files, without the manifest.json of a release"),
        (("in/0.parquet", "--stream"), "--stream"),
        (("--input", "postgresql://host/db", "--table", "t"), "a table of a database"),
        (("hospital.duckdb", "--table", "t"), "a table of a database"),
    ],
)
def test_commands_that_need_rows(run: Run, parts: Path, command: str, named: tuple[str, ...], got: str) -> None:
    done = run(command, *named, "--quasi", "age")
    assert (done.code, done.out) == (2, "")
    assert f"{command} needs the table in memory; got {got}. Hint: " in done.err


@pytest.mark.parametrize(
    "command",
    [
        ("risk", "in/0.parquet", "--quasi", "age", "--original", "in"),
        ("risk", "in/0.parquet", "--quasi", "age", "--population", "in"),
        ("attack", "in/0.parquet", "--quasi", "age", "--external", "in"),
        ("attack", "in/0.parquet", "--quasi", "age", "--release", "in"),
        ("report", "in/0.parquet", "--quasi", "age", "--original", "in", "-o", "r.html"),
    ],
)
def test_other_tables_that_are_needed_in_memory(run: Run, parts: Path, command: tuple[str, ...]) -> None:
    done = run(*command)
    assert (done.code, done.out) == (2, "")
    assert "the table in is needed in memory; got a folder of files" in done.err


def test_a_folder_is_not_mistaken_for_itself(run: Run, tmp_path: Path) -> None:
    (tmp_path / "o2").mkdir()
    (tmp_path / "o2" / "report.html").write_text("")
    done = run("inspect", "o2")
    assert done.code == 2
    assert "o2 holds no file that can be streamed" in done.err
    assert "did you mean" not in done.err


@pytest.mark.parametrize("ending", ["dat", "data", "txt"])
def test_delimited_text_of_any_ending(run: Run, tmp_path: Path, ending: str) -> None:
    admissions().write_csv(tmp_path / f"t.{ending}", separator=";")
    done = run("anonymize", f"t.{ending}", *STREAM, "--stream", "-o", "out")
    assert done.code == 0, done.err
    assert run("anonymize", f"t.{ending}", *STREAM, "-o", "memory").code == 0
    assert data(tmp_path / "out").equals(data(tmp_path / "memory"))


def test_rows_without_numbers_are_not_announced(run: Run, parts: Path) -> None:
    asked = ("--quasi", "name,age,sex", "--suda")
    assert "most exposed rows, counted from 0" in run("risk", "in/0.parquet", *asked).out
    done = run("risk", "in/0.parquet", "--stream", *asked)
    assert "what each column contributes to the SUDA scores" in done.out
    assert "most exposed rows" not in done.out
    assert "rows of an out-of-core table have no numbers" in done.err


def test_a_policy_that_streams_and_a_command_that_does_not(run: Run, parts: Path, tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(policy_text().replace('"patients.csv"', '"in/0.parquet"\nstream = true'))
    assert run("anonymize", "p.toml").code == 0
    assert "lattice needs the table in memory" in run("lattice", "p.toml").err
    assert "compare needs the table in memory" in run("compare", "p.toml").err


INTERRUPTED = """
import os, signal, sys
import sfumato.cli.console as progress, sfumato.engines.files.table as scanned
from sfumato.cli import main
scanned.scan.__kwdefaults__["part"] = 200
told = progress.Progress.__call__
def call(self, message, share=None):
    told(self, message, share)
    if message == "counting rows" and share and share > 0.5 and "stop" in sys.argv:
        os.kill(os.getpid(), signal.SIGINT)
progress.Progress.__call__ = call
sys.exit(main([a for a in sys.argv[1:] if a != "stop"]))
"""


def test_an_interrupted_count_goes_on(parts: Path, tmp_path: Path) -> None:
    def shell(*more: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", INTERRUPTED, "anonymize", "in/", *STREAM, "-o", "out", *more]
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=os.environ, timeout=120)

    done = shell("stop")
    assert done.returncode == 130, done.stderr
    assert (
        "interrupted, nothing written; what was counted is kept in .sfumato-count-out, and the same command"
        in done.stderr
    )
    kept = sorted((tmp_path / ".sfumato-count-out").rglob("*.parquet"))
    assert kept
    assert not (tmp_path / "out").exists()
    assert json.loads(shell("stop", "--json").stdout)["error"]["type"] == "Interrupted"
    assert shell().returncode == 0
    assert not (tmp_path / ".sfumato-count-out").exists()
