"""How a file is read, as the shell says it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run

VISITS = "day;cost;ward\n" + "\n".join(f"0{1 + i % 3}/02/2020;1.23{i % 2};{'A?'[i % 2]}" for i in range(40)) + "\n"
ASKED = ("--quasi", "day,ward", "--insensitive", "cost", "--k", "2", "-o", "out", "--json")


@pytest.mark.slow
@pytest.mark.parametrize("mark", ["comma", ","])
def test_what_can_be_read_in_two_ways_names_the_flags(run: Run, tmp_path: Path, mark: str) -> None:
    (tmp_path / "visits.csv").write_text(VISITS)
    told = run("anonymize", "visits.csv", *ASKED)
    assert told.code == 2
    assert "give --dates dmy or --dates mdy, or --verbatim" in told.json["error"]["message"]
    told = run("anonymize", "visits.csv", *ASKED, "--dates", "dmy")
    assert told.code == 2
    assert "give --decimal comma or --decimal point" in told.json["error"]["message"]
    told = run("anonymize", "visits.csv", *ASKED, "--dates", "dmy", "--decimal", mark, "--missing", "?")
    assert told.code == 0
    assert told.json["notes"][0] == 'visits.csv: dates are read as day, month, year in "day"'
    manifest = json.loads(Path("out/manifest.json").read_text("utf-8"))
    assert manifest["input"]["reading"] == {
        "dates": {"day": "dmy"},
        "decimal": "comma",
        "missing": ["*"],
    }


def test_a_policy_file_says_it_too(run: Run, tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text(VISITS)
    told = run("inspect", "visits.csv", "--verbatim", "day,cost")
    assert told.code == 0
    assert "\"ward\" may have missing values that are written as text: --missing '?' reads them so" in told.err
    assert (
        run(
            "inspect", "visits.csv", "--dates", "dmy", "--verbatim", "cost", "--missing", "ward=?", "--init", "p.toml"
        ).code
        == 0
    )
    text = (tmp_path / "p.toml").read_text("utf-8")
    assert 'dates = "dmy"' in text
    assert 'missing = { ward = ["?"] }' in text
    assert 'verbatim = ["cost"]' in text
    (tmp_path / "p.toml").write_text(text.replace('"dmy"', '"german"'))
    assert "[input] dates" in run("anonymize", "p.toml").err


def test_verify_reads_verbatim(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("day,n\n1.1.2020,1\n01.01.2020,1\n")
    assert run("verify", "t.csv", "--quasi", "day", "--k", "2").code == 1


@pytest.mark.slow
def test_rows_that_lack_a_value_are_left_out(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age,sex,n\n" + "30,f,1\n31,m,1\n" * 4 + ",f,1\n30,f,\n")
    asked = ("--quasi", "age,sex", "--insensitive", "n", "--k", "2", "-o", "out", "--overwrite", "--json")
    told = run("anonymize", "t.csv", *asked, "--drop-missing")
    assert told.code == 0
    assert (told.json["rows"], told.json["notes"][0]) == (9, '1 row is left out for a missing value in "age" and "sex"')
    assert run("anonymize", "t.csv", *asked, "--drop-missing-in", "age,n").json["rows"] == 8
    assert run("compare", "t.csv", "--quasi", "age,sex", "--k", "2", "--drop-missing", "--search", "mondrian").code == 0
    told = run("anonymize", "t.csv", *asked, "--drop-missing", "--stream")
    assert (told.json["rows"], told.json["notes"][0]) == (9, '1 row is left out for a missing value in "age" and "sex"')
