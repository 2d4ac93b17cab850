"""sfumato utility: an original and a release, row by row or by distributions; what it says and what it refuses."""

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


def test_a_release_folder(run: Run, patients: Path) -> None:
    made = run("anonymize", patients, *FLAGS, "--hierarchy", "zip=learned", "--order", "input", "-o", "release")
    assert (made.code, made.err.startswith("note: the rows leave in the order of the input")) == (0, True)
    release = Path("release")
    done = run("utility", patients, release)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("40 original and 40 released rows, compared row by row\n")
    assert "information loss of age, zip, sex\n" in done.out
    assert "numeric columns\n" in done.out
    assert "query-error: " in done.out
    found = run("utility", patients, release, "--json").json
    assert found["rows"]["aligned"] is True
    assert 0 < found["loss"]["lm"] < 1
    assert list(found["distributions"]["per_column"]) == ["age", "zip", "sex", "disease"]
    assert run("utility", patients, release, "--json", "--queries", "0").json["queries"] is None


def test_files_of_any_tool_by_hand(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("age;sex\n20;f\n30;m\n40;f\n60;m\n")
    (tmp_path / "b.csv").write_text('age,sex\n"[20, 30]",f\n"[20, 30]",m\n"[40, 60]",f\n"[40, 60]",m\n')
    done = run("utility", "a.csv", "b.csv")
    assert "information loss of age\n" in done.out
    assert "lm: 0.375 (0 to 1)" in done.out
    found = run("utility", "a.csv", "b.csv", "--quasi", "age,sex", "--k", "2", "--json").json
    assert found["loss"]["lm"] == pytest.approx(0.375 / 2)


def test_a_column_to_predict(run: Run, patients: Path, release: Path) -> None:
    pytest.importorskip("sklearn")
    found = run("utility", patients, release, "--target", "disease", "--seed", "3", "--json").json
    assert 0 <= found["learning"]["released"] <= 1
    assert found["loss"]["classification-metric"] is not None


def test_rows_in_another_order(run: Run, patients: Path) -> None:
    assert run("anonymize", patients, *FLAGS, "-o", "out").code == 0
    done = run("utility", patients, "out")
    assert done.code == 0
    assert "compared by their distributions" in done.out
    assert done.err.startswith("note: it is not known which released row came from which original row")
    assert "direct-comparison" not in done.out
    assert run("utility", patients, "out", "--json").json["notes"] == [done.err.strip().removeprefix("note: ")]


def test_rows_of_files_in_another_order(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,age\n1,20\n2,30\n3,40\n")
    (tmp_path / "b.csv").write_text("id,age\n3,40\n1,20\n2,30\n")
    plainly, by_key = (run("utility", "a.csv", "b.csv", *more, "--json").json for more in ((), ("--key", "id")))
    assert (plainly["rows"]["aligned"], by_key["rows"]["aligned"]) == (False, True)
    assert by_key["categories"]["direct-comparison"] == 0


def test_a_key_tells_which_row_is_which(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,age\n1,20\n2,30\n3,40\n")
    (tmp_path / "b.csv").write_text("id,age\n3,>=30\n2,>=30\n")
    plainly, by_key = (run("utility", "a.csv", "b.csv", *more, "--json").json for more in ((), ("--key", "id")))
    assert (plainly["rows"]["aligned"], by_key["rows"]["aligned"]) == (False, True)
    assert (plainly["rows"]["suppressed"], by_key["rows"]["suppressed"]) == (1, 1)
    assert plainly["notes"]
    assert by_key["notes"] == []


def test_labels_need_their_hierarchy(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("job,age\ncook,1\nbaker,2\nnurse,3\nmidwife,4\n")
    (tmp_path / "b.csv").write_text("job,age\nfood,1\nfood,2\ncare,3\n")
    (tmp_path / "job.csv").write_text("cook;food;*\nbaker;food;*\nnurse;care;*\nmidwife;care;*\n")
    assert 'labels of "job" could not be read' in run("utility", "a.csv", "b.csv").err
    done = run("utility", "a.csv", "b.csv", "--hierarchy", "job=job.csv")
    assert "could not be read" not in done.err + done.out


def test_the_document_in_a_file(run: Run, patients: Path, release: Path, tmp_path: Path) -> None:
    assert run("utility", patients, release, "-o", "u.json").code == 0
    assert json.loads((tmp_path / "u.json").read_text("utf-8")) == run("utility", patients, release, "--json").json
    assert run("utility", patients, release, "-o", "u.json").code == 2
    assert run("utility", patients, release, "-o", "u.json", "--overwrite").code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("none.csv", "t.csv"), ["none.csv does not exist"]),
        (("t.csv", "none"), ["none does not exist"]),
        (("empty", "t.csv"), ["is a folder"]),
        (("t.csv", "empty"), ["manifest"]),
        (("t.csv", "other.csv"), ["share no column"]),
        (("t.csv", "t.csv", "--quasi", "agee"), ['did you mean "age"?']),
        (("t.csv", "t.csv", "--target", "il"), ['did you mean "ill"?']),
        (("t.csv", "t.csv", "--key", "id"), ['no key column "id"']),
        (("t.csv", "t.csv", "--key", "age"), ['"age"', "the same in some rows"]),
        (("t.csv", "t.csv", "--queries", "-1"), ["queries"]),
        (("t.csv", "t.csv", "--seed", "-1"), ["seed is out of range; got -1; allowed: a whole number >= 0"]),
        (("t.csv", "t.csv", "--dimension", "0"), ["dimension"]),
        (("t.csv", "t.csv", "--k", "0"), ["k is out of range"]),
        (("t.csv", "t.csv", "--hierarchy", "age=nothing"), ["nothing"]),
    ],
)
def test_questions_that_make_no_sense(run: Run, tmp_path: Path, arguments: tuple[str, ...], words: list[str]) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "t.csv").write_text("age,ill\n3,x\n3,y\n4,y\n")
    (tmp_path / "other.csv").write_text("town,x\nA,1\nB,2\n")
    done = run("utility", *arguments)
    assert (done.code, done.out) == (2, "")
    assert all(word in done.err for word in words), done.err
    assert run("utility", *arguments, "--json").json["error"]["message"]
