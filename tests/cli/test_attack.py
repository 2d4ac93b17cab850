"""sfumato attack: what is tried with what is given, row numbers and no content, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import Run
from .test_anonymize import FLAGS

pytestmark = pytest.mark.slow


@pytest.fixture
def release(run: Run, patients: Path, tmp_path: Path) -> Path:
    assert run("anonymize", patients, *FLAGS, "-o", "out").code == 0
    return tmp_path / "out"


def test_a_release_alone(run: Run, release: Path) -> None:
    done = run("attack", release)
    assert done.code == 0
    assert "homogeneity: " in done.out
    assert "by guessing (95% interval" in done.out
    for need in ("--original", "--external", "--original and --holdout", "--original and --release"):
        assert f" {need}\n" in done.out
    assert set(run("attack", release, "--json").json) == {
        "homogeneity",
        "background-knowledge",
        "skewness",
        "negative-disclosure",
    }


def test_rows_are_named_and_their_content_is_not(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age,ill\n2*,flu\n2*,flu\n3*,flu\n3*,measles\n")
    done = run("attack", "t.csv", "--quasi", "age", "--sensitive", "ill")
    assert "homogeneity: 50% succeed, 0% by guessing" in done.out
    assert "most exposed rows of the released table: 0, 1\n" in done.out
    assert "measles" not in done.out
    one = run("attack", "t.csv", "--quasi", "age", "--sensitive", "ill", "--most", "1", "--json").json
    assert one["homogeneity"]["exposed"] == [0]


def test_with_the_original(run: Run, release: Path, patients: Path) -> None:
    given = ("attack", release, "--original", patients, "--trials", "15", "--seed", "2", "--json")
    found = run(*given).json
    assert {"singling-out", "singling-out-univariate", "linkability", "inference"} <= set(found)
    assert (found["inference"]["trials"], found["inference"]["seed"]) == (15, 2)
    assert run(*given).json == found
    assert "need --original" not in run(*given[:-1]).out


def test_with_an_external_table(run: Run, release: Path, tmp_path: Path) -> None:
    (tmp_path / "voters.csv").write_text("who;age;zip;sex\nA;20;80331;f\nB;21;80332;m\nC;22;80333;f\n")
    done = run("attack", release, "--external", "voters.csv")
    assert "deterministic-linkage: " in done.out
    assert 'Of 3 people known by "age", "zip" and "sex"' in done.out
    assert "which needs --external" not in done.out
    (tmp_path / "apart.csv").write_text("town,income\nA,3\nB,4\n")
    apart = run("attack", release, "--external", "apart.csv")
    assert "not tried: linking to the external table" in apart.out


def test_attacks_that_could_not_be_tried_are_told(run: Run, release: Path, tmp_path: Path) -> None:
    (tmp_path / "voters.csv").write_text("age;zip;sex\n20;80331;f\n21;80332;m\n22;80333;f\n")
    done = run("attack", release, "--external", "voters.csv")
    assert 'not tried: similarity: "disease" holds no numbers' in done.out
    assert "not tried: distance-linkage: it is not known who is who" in done.out


def test_thresholds_of_probabilistic_linkage(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age,zip\n" + "".join(f"{20 + i},{i % 5}\n" for i in range(20)))
    given = (
        "attack",
        "t.csv",
        "--quasi",
        "age,zip",
        "--external",
        "t.csv",
        "--upper",
        "1",
        "--lower",
        "0.25",
        "--json",
    )
    details = run(*given).json["probabilistic-linkage"]["details"]
    assert (details["upper"], details["lower"]) == (1, 0.25)
    assert details["links"] < 20  # no model is as sure as that


def test_a_key_tells_who_is_who(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,age,ill\n1,20,a\n2,30,b\n3,40,c\n")
    (tmp_path / "v.csv").write_text("id,nr,age\n3,9,40\n2,8,30\n")
    (tmp_path / "w.csv").write_text("nr,age\n3,40\n2,30\n")
    for file, key in (("v.csv", "id"), ("w.csv", "id=nr")):
        found = run("attack", "t.csv", "--quasi", "age", "--external", file, "--key", key, "--json").json
        assert found["deterministic-linkage"]["success"] == 1
        assert found["deterministic-linkage"]["exposed"] == [2, 1]


def test_holdout_and_other_releases(run: Run, release: Path, patients: Path, tmp_path: Path) -> None:
    (tmp_path / "others.csv").write_text("age,zip,sex,disease\n" + "".join(f"{60 + i},90000,f,flu\n" for i in range(9)))
    more = ("--holdout", "others.csv", "--release", release, "--trials", "20")
    found = run("attack", release, "--original", patients, *more, "--json").json
    assert {"membership", "intersection"} <= set(found)


def test_the_document_in_a_file(run: Run, release: Path, tmp_path: Path) -> None:
    assert run("attack", release, "-o", "a.json").out.endswith("written: a.json\n")
    assert json.loads((tmp_path / "a.json").read_text("utf-8")) == run("attack", release, "--json").json
    assert run("attack", release, "-o", "a.json").code == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("none",), ["none does not exist"]),
        (("t.csv",), ["attack needs the quasi-identifiers"]),
        (("t.csv", "--quasi", "age"), ["no attack to try", "sensitive"]),
        (("t.csv", "--quasi", "agee", "--sensitive", "ill"), ['did you mean "age"?']),
        (("t.csv", "--quasi", "age", "--sensitive", "il"), ['did you mean "ill"?']),
        (("t.csv", "--quasi", "age", "--sensitive", "ill", "--external", "no.csv"), ["no.csv does not exist"]),
        (("t.csv", "--quasi", "age", "--sensitive", "ill", "--key", "id"), ["--key", "--external"]),
        (("t.csv", "--quasi", "age", "--external", "t.csv", "--key", "id"), ['"id"']),
        (("t.csv", "--quasi", "age", "--original", "t.csv", "--trials", "0"), ["trials"]),
        (("t.csv", "--quasi", "age", "--original", "t.csv", "--seed", "-1"), ["seed", "got -1"]),
        (("t.csv", "--quasi", "age", "--sensitive", "ill", "--most", "-3"), ["most", "got -3"]),
        (("t.csv", "--quasi", "age", "--external", "t.csv", "--upper", "2"), ["upper", ">= 0 and <= 1"]),
        (("empty",), ["manifest"]),
    ],
)
def test_questions_that_make_no_sense(run: Run, tmp_path: Path, arguments: tuple[str, ...], words: list[str]) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "t.csv").write_text("age,ill\n3,x\n3,y\n4,y\n")
    done = run("attack", *arguments)
    assert (done.code, done.out) == (2, "")
    assert all(word in done.err for word in words), done.err
    assert run("attack", *arguments, "--json").json["error"]["message"]
