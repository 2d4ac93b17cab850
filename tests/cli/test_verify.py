"""sfumato verify: release folders and files of other tools; 1 where a promise does not hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Run
from .test_anonymize import FLAGS

pytestmark = pytest.mark.slow


@pytest.fixture
def release(run: Run, patients: Path, tmp_path: Path) -> Path:
    assert run("anonymize", patients, *FLAGS, "-o", "out").code == 0
    return tmp_path / "out"


def test_a_release(run: Run, release: Path) -> None:
    done = run("verify", release)
    assert done.code == 0
    assert "every promise holds" in done.out
    assert "holds  k-anonymity (k=4) on age, zip, sex" in done.out
    found = run("verify", release, "--json").json
    assert found["holds"] is True
    assert {promise["model"] for promise in found["promises"]} >= {"k-anonymity"}


def test_a_release_somebody_changed(run: Run, release: Path) -> None:
    data = release / "data.csv"
    lines = data.read_text().splitlines()
    data.write_text("\n".join([lines[0], "somebody else,1,x,flu", *lines[2:]]) + "\n")
    done = run("verify", release)
    assert done.code == 1
    assert "FAILS" in done.out
    assert run("verify", release, "--json").json["holds"] is False


@pytest.mark.parametrize(("k", "code"), [("2", 0), ("3", 1)])
def test_a_file_of_any_tool(run: Run, tmp_path: Path, k: str, code: int) -> None:
    (tmp_path / "t.csv").write_text("age;zip;ill\n[20-30);803**;a\n[20-30);803**;b\n*;803**;a\n*;803**;b\n")
    done = run("verify", "t.csv", "--quasi", "age,zip", "--k", k)
    assert done.code == code
    assert ("FAILS" in done.out) == bool(code)
    found = run("verify", "t.csv", "--quasi", "age,zip", "--k", k, "--require", "distinct-l-diversity ill 2", "--json")
    assert found.code == code
    assert [(p["model"], p["measured"]) for p in found.json["promises"]] == [
        ("k-anonymity", 2),
        ("distinct-l-diversity", 2),
    ]


def test_missing_values_as_wildcards(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age,zip\n30,1\n30,1\n30,\n")
    assert run("verify", "t.csv", "--quasi", "age,zip", "--k", "2").code == 1
    assert run("verify", "t.csv", "--quasi", "age,zip", "--k", "2", "--wildcard").code == 0
    done = run("verify", "t.csv", "--quasi", "age", "--require", "entropy-l-diversity zip 1", "--wildcard")
    assert done.code == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("none",), ["none does not exist"]),
        (("t.csv",), ["--quasi", "--k or --require"]),
        (("t.csv", "--quasi", "agee", "--k", "2"), ['did you mean "age"?']),
        (("t.csv", "--quasi", "age", "--k", "0"), ["--k", "got 0"]),
        (
            ("t.csv", "--quasi", "age", "--require", "distinct-l-diversity il 2"),
            ['no column "il"', 'did you mean "ill"?'],
        ),
        (("empty",), ["manifest"]),
        (("empty", "--k", "3", "--wildcard"), ["--k, --wildcard", "data file"]),
    ],
)
def test_questions_that_make_no_sense(run: Run, tmp_path: Path, arguments: tuple[str, ...], words: list[str]) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "t.csv").write_text("age,ill\n3,x\n3,y\n")
    done = run("verify", *arguments)
    assert (done.code, done.out) == (2, "")
    assert all(word in done.err for word in words), done.err
