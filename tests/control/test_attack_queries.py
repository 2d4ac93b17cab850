"""sfumato attack queries: what it prints of a log, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.cli import main

from .attack_logs import PATIENTS, ask_all, database
from .test_attack_log import general


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    PATIENTS.write_csv("patients.csv")
    owner = database(PATIENTS, sf.QuerySetSize(3))
    ask_all(owner, general("sex = F and age = 29", "sex = F"), "ann")
    ask_all(owner, general("sex = F and age = 29 and ill = yes", "sex = F"), "bob")
    owner.log.save("log.json")
    return Path("log.json")


def test_who_is_exposed_and_by_which_queries(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["attack", "queries", str(log)]) == 0
    told = capsys.readouterr().out
    assert "general-tracker: the answers of 2 of 2 refused queries follow from answered ones; 1 record stood" in told
    assert "exposed rows: 0\n" in told
    assert "query 1, refused, by queries 2, 3, 5" in told
    assert "users alone: ann 1, bob 1" in told
    assert "not tried: linear-system: no sum or mean was answered" in told
    assert "29" not in told


def test_with_the_table(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["attack", "queries", str(log), "--data", "patients.csv", "--sensitive", "ill", "--json"]
    assert main(given) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["linear-system"]["exposed"] == [0]
    assert main([*given[:-1], "-o", "found.json"]) == 0
    assert json.loads(Path("found.json").read_text())["intervals"]["exposed"] == [0]
    assert "yes" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["queries"], "needs one log; got 0"),
        (["queries", "log.json", "log.json"], "needs one log; got 2"),
        (["queries", "nowhere.json"], "nowhere.json"),
        (["queries", "patients.csv"], "is no log of queries"),
        (["queries", "cut.json"], "was cut"),
        (["queries", "empty.json"], "has no query"),
        (["queries", "log.json", "--external", "patients.csv"], "--external is for the attacks on a release"),
        (["queries", "log.json", "--bounds", "age=3"], "LOW:HIGH"),
        (["queries", "log.json", "--bounds", "age=a:b"], "the lower bound"),
        (["patients.csv", "--quasi", "age", "--data", "patients.csv"], "--data is for the log"),
    ],
)
def test_what_is_refused(log: Path, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = log.read_text()
    Path("cut.json").write_text(text[: len(text) // 2])
    head = json.loads(text)
    Path("empty.json").write_text(json.dumps({**head, "queries": []}))
    assert main(["attack", *arguments]) == 2
    assert said in capsys.readouterr().err
