"""sfumato risk: files, release folders, profiles; what it prints, where it ends, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import Run
from .test_anonymize import FLAGS


@pytest.fixture
def release(run: Run, patients: Path, tmp_path: Path) -> Path:
    assert run("anonymize", patients, *FLAGS, "-o", "out").code == 0
    return tmp_path / "out"


@pytest.mark.slow
def test_a_release_knows_its_columns(run: Run, release: Path) -> None:
    done = run("risk", release)
    assert done.code == 0
    assert done.out.startswith("40 rows in ")
    assert "classes by age, zip, sex" in done.out
    assert "prosecutor highest risk: " in done.out
    assert "(0 to 1; baseline 0.025)" in done.out
    assert 'group of records that look alike, "disease" takes' in done.out
    assert "journalist and marketer: the same as the prosecutor" in done.out
    found = run("risk", release, "--json").json
    assert found["quasi"] == ["age", "zip", "sex"]
    assert found["achieved"]["k"] >= 4
    assert f"k is {found['achieved']['k']}." in done.out


def test_a_file_by_hand(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age;w;home\n30;2;a\n30;2;a\n30;2;b\n40;9;b\n")
    done = run("risk", "t.csv", "--quasi", "age", "--threshold", "0.5", "--weight", "w", "--household", "home")
    assert done.code == 0
    assert "4 rows in 2 classes by age" in done.out
    assert "prosecutor highest risk: 1 (0 to 1; baseline 0.25)" in done.out
    assert "25% of the records are above the threshold of 0.5" in done.out
    assert "individual risk: " in done.out
    assert "household risk: " in done.out


@pytest.mark.slow
@pytest.mark.parametrize("population", ["all.csv", "8", "1,000"])
def test_a_population_is_a_file_or_a_size(run: Run, tmp_path: Path, population: str) -> None:
    (tmp_path / "t.csv").write_text("age,ill\n30,a\n30,b\n40,c\n")
    (tmp_path / "all.csv").write_text("age\n30\n30\n30\n30\n40\n40\n40\n50\n")
    found = run("risk", "t.csv", "--quasi", "age", "--population", population, "--json").json
    size = {"all.csv": 8, "8": 8, "1,000": 1000}[population]
    assert found["uniqueness"]["sampling_fraction"] == pytest.approx(3 / size)
    shown = run("risk", "t.csv", "--quasi", "age", "--population", population).out
    assert ("journalist highest risk" in shown) == (population == "all.csv")
    if population == "all.csv":
        assert found["journalist"]["highest"] == pytest.approx(1 / 3)


def test_a_population_that_does_not_hold_the_sample_is_told(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age,ill\n30,a\n40,c\n")
    (tmp_path / "all.csv").write_text("age\n30\n50\n60\n")
    shown = run("risk", "t.csv", "--quasi", "age", "--population", "all.csv").out
    assert "holds 50% of the records less often" in shown


def test_wildcards_suda_and_subsets(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age,zip\n30,1\n30,\n40,2\n40,3\n")
    plainly = run("risk", "t.csv", "--quasi", "age,zip", "--json").json
    matching = run("risk", "t.csv", "--quasi", "age,zip", "--wildcard", "--json").json
    assert (plainly["prosecutor"]["average"], matching["prosecutor"]["average"]) == (1, 0.75)
    done = run("risk", "t.csv", "--quasi", "age,zip", "--suda", "--subsets", "2", "--sampling-fraction", "0.1")
    assert "SUDA: " in done.out
    assert "most exposed rows, counted from 0, the first after the header: 0, 1, 2, 3" in done.out
    assert "minimal" in done.out


def test_suda_on_few_columns_says_its_sampling_fraction(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age,zip\n30,1\n30,2\n40,1\n40,2\n50,3\n")
    done = run("risk", "t.csv", "--quasi", "age,zip", "--suda-up-to", "1")
    assert "1 of 5 records stand alone" in done.out
    assert "on up to 1 of these columns" in done.out
    assert "where the table holds 0.1 of the population" in done.out


def test_the_original_adds_interval_disclosure(run: Run, tmp_path: Path) -> None:
    (tmp_path / "before.csv").write_text("sex,pay\nm,10\nm,20\nf,30\nf,40\n")
    (tmp_path / "after.csv").write_text("sex,pay\nm,10\nm,21\nf,29\nf,60\n")
    given = ("risk", "after.csv", "--quasi", "sex", "--original", "before.csv")
    done = run(*given, "--sensitive", "pay")
    assert "interval disclosure of pay by sd: 0.75 (0 to 1; baseline" in done.out
    assert "no interval disclosure: no column is released as numbers" in run(*given).out


def test_several_sets(run: Run, patients: Path) -> None:
    done = run("risk", patients, "--quasi", "sex", "--quasi", "age,zip")
    assert "40 rows in 2 classes by sex\n" in done.out
    assert "classes by age, zip\n" in done.out


@pytest.mark.parametrize(("rows", "code"), [(12, 0), (11, 1)])
def test_a_profile_decides_the_exit_code(run: Run, tmp_path: Path, rows: int, code: int) -> None:
    (tmp_path / "t.csv").write_text("age,ill\n" + "20-29,a\n" * rows)
    done = run("risk", "t.csv", "--quasi", "age", "--profile", "clinical")
    assert done.code == code
    assert f"profile clinical: {'FAILS' if code else 'holds'}" in done.out
    found = run("risk", "t.csv", "--quasi", "age", "--profile", "clinical", "--json")
    assert (found.code, found.json["profile"]["holds"]) == (code, not code)


def test_hipaa_needs_no_quasi_and_quotes_nobody(run: Run, patients: Path) -> None:
    done = run("risk", patients, "--profile", "hipaa")  # the fixture refuses names in the output
    assert done.code == 1
    assert "FAILS  1. names, by name" in done.out
    assert '"zip" holds' in done.out


@pytest.mark.slow
def test_gdpr_alone_and_with_the_original(run: Run, release: Path, patients: Path) -> None:
    alone = run("risk", release, "--profile", "gdpr")
    tried = run("risk", release, "--profile", "gdpr", "--original", patients)
    assert "from the classes of the release alone" in alone.out
    assert "by carrying out the attacks on the original" in tried.out


@pytest.mark.slow
def test_the_document_in_a_file(run: Run, release: Path, tmp_path: Path) -> None:
    done = run("risk", release, "-o", "risk.json")
    assert (done.code, done.out.splitlines()[-1]) == (0, "written: risk.json")
    assert json.loads((tmp_path / "risk.json").read_text("utf-8")) == run("risk", release, "--json").json
    again = run("risk", release, "-o", "risk.json")
    assert (again.code, again.out) == (2, "")
    assert "exists already" in again.err
    assert run("risk", release, "-o", "risk.json", "--overwrite").code == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("none.csv",), ["none.csv does not exist"]),
        (("t.csv",), ["risk needs the quasi-identifiers", "--quasi age,zip", "sfumato inspect"]),
        (("t.csv", "--quasi", "agee"), ['no column "agee"', 'did you mean "age"?']),
        (("t.csv", "--quasi", "age", "--sensitive", "il"), ['did you mean "ill"?']),
        (("t.csv", "--quasi", "age", "--weight", "ill"), ['"ill"']),
        (("t.csv", "--quasi", "age", "--household", "home"), ['"home"']),
        (("t.csv", "--quasi", "age", "--profile", "hippa"), ["unknown profile", 'did you mean "hipaa"?']),
        (("t.csv", "--quasi", "age", "--subsets", "0"), ["up_to", "got 0"]),
        (("t.csv", "--quasi", "age", "--suda-up-to", "0"), ["suda", "got 0"]),
        (("t.csv", "--profile", "clinical"), ["quasi-identifiers"]),
        (("t.csv", "--quasi", "age", "--population", "no.csv"), ["no.csv does not exist"]),
        (("t.csv", "--quasi", "age", "--population", "2"), ["population"]),
        (("t.csv", "--quasi", "age", "--sampling-fraction", "0"), ["sampling_fraction"]),
        (("t.csv", "--quasi", "age", "--threshold", "7"), ["threshold", "got 7"]),
        (("t.csv", "--quasi", "age", "--hierarchy", "age"), ["--hierarchy"]),
        (("t.csv", "--quasi", "age", "--hierarchy", "x=flat"), ['"x"']),
        (("t.csv", "--quasi", "age", "--sheet", "one"), ["sheet"]),
        (("empty",), ["manifest"]),
    ],
)
def test_questions_that_make_no_sense(run: Run, tmp_path: Path, arguments: tuple[str, ...], words: list[str]) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "t.csv").write_text("age,ill\n3,x\n3,y\n4,y\n")
    done = run("risk", *arguments)
    assert (done.code, done.out) == (2, "")
    assert all(word in done.err for word in words), done.err
    assert run("risk", *arguments, "--json").json["error"]["message"]
