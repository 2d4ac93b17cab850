"""sfumato republish and attack --releases: a series in the shell, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Run

ROLES = ("--person", "id", "--quasi", "age", "--sensitive", "disease", "--m", "2")


@pytest.fixture
def months(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SFUMATO_KEY", "a key of these tests")
    (tmp_path / "january.csv").write_text("id,age,disease\nAnn,30,flu\nBob,32,ulcer\n")
    (tmp_path / "february.csv").write_text("id,age,disease,note\nAnn,30,flu,x\nCid,40,cold,y\n")
    return tmp_path


@pytest.mark.slow
def test_a_series(run: Run, months: Path) -> None:
    january, february = months / "january.csv", months / "february.csv"
    done = run("republish", january, *ROLES, "--state", "state.bin", "-o", "a")
    assert done.code == 0, done.err
    assert "release 1: 2 people in 1 group, with 0 counterfeits" in done.out
    assert "by construction  m-invariance" in done.out
    found = run("republish", "a", february, "--state", "state.bin", "-o", "b", "--json").json
    assert found["turnover"] | {"number": 2, "stayed": 1, "arrived": 1, "left": 1} == found["turnover"]
    assert found["left_out"] == ["note"]
    assert run("verify", "b").code == 0
    series = ("attack", "--releases", "a", "b", "--person", "id", "--original", january, "--original", february)
    done = run(*series)
    assert done.code == 0, done.err
    assert "intersection: 0% pinned" in done.out
    assert run(*series, "--json").json["intersection"]["details"]["fewer values than m"]["people"] == 0
    again = run("republish", "a", february, "--state", "state.bin", "-o", "c")
    assert again.code == 2
    assert "does not belong to the release" in again.err
    assert not (months / "c").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "must be named"),
        (("a", "b", "c"), "3 paths"),
        (("january.csv",), "must be given"),
        (("january.csv", "--state", "s.bin", "-o", "a"), "first release needs"),
        (("january.csv", *ROLES, "--state", "a/s.bin", "-o", "a"), "must not be"),
        (("january.csv", *ROLES, "--changed", "drop", "--state", "s.bin", "-o", "a"), "keep, leave"),
    ],
)
def test_what_is_refused(run: Run, months: Path, arguments: tuple[str, ...], told: str) -> None:
    done = run("republish", *arguments)
    assert done.code == 2
    assert told in done.err
    assert not (months / "a").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--releases", "january.csv", "february.csv"), "who is who"),
        (("--releases", "january.csv", "--person", "id", "--original", "january.csv"), "two releases"),
        (("--releases", "january.csv", "--person", "id", "--key", "id"), "--key is for"),
        (("january.csv", "--original", "january.csv", "--original", "february.csv"), "of a series"),
    ],
)
def test_attacks_on_a_series_that_make_no_sense(run: Run, months: Path, arguments: tuple[str, ...], told: str) -> None:
    done = run("attack", *arguments)
    assert done.code == 2
    assert told in done.err
