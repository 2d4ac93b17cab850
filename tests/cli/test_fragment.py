"""sfumato fragment: from flags and from a policy file, verified, refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run

pytestmark = pytest.mark.slow

ROWS = "name,ssn,birth,zip,disease\n" + "".join(
    f"N{i},s{i},{1960 + i},z{i},{('flu', 'gout', 'cold', 'ulcer')[i % 4]}\n" for i in range(16)
)
SETS = ("--constraint", "name,disease", "--constraint", "zip,birth", "--constraint", "ssn", "--seed", "1")


@pytest.fixture
def people(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text(ROWS, "utf-8")
    return tmp_path / "people.csv"


def test_taken_apart_verified_and_explained(run: Run, people: Path, tmp_path: Path) -> None:
    done = run("fragment", people, *SETS, "-o", "out")
    assert done.code == 0, done.err
    assert "2 tables: fragment_1 with 16 rows, fragment_2 with 16 rows" in done.out
    assert (
        "ssn" not in (tmp_path / "out" / "fragment_1.csv").read_text() + (tmp_path / "out/fragment_2.csv").read_text()
    )
    assert run("verify", "out").code == 0
    assert "It leaves open: Each fragment stands as it is" in " ".join(run("explain", "out").out.split())
    lines = (tmp_path / "out" / "fragment_2.csv").read_text().splitlines()
    (tmp_path / "out" / "fragment_2.csv").write_text("\n".join([lines[0], *lines[:0:-1]]) + "\n")
    assert run("verify", "out").code == 1


def test_a_policy_file_gives_the_same_bytes(run: Run, people: Path, tmp_path: Path) -> None:
    assert run("fragment", people, *SETS, "--k", "2,2", "-o", "flags", "--json").json["tables"]["association"] == 16
    (tmp_path / "policy.toml").write_text(
        '[input]\npath = "people.csv"\n[fragments]\nconstraints = [["name", "disease"], ["zip", "birth"], "ssn"]\n'
        'k = [2, 2]\nseed = 1\n[output]\npath = "file"\n'
    )
    done = run("fragment", "policy.toml")
    assert done.code == 0, done.err
    for one in (tmp_path / "flags").iterdir():
        assert one.read_bytes() == (tmp_path / "file" / one.name).read_bytes()


def test_encrypted_with_a_key_file(run: Run, people: Path, tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    assert run("pseudonyms", "new", "study.key").code == 0
    done = run("fragment", people, *SETS, "--singletons", "encrypt", "--key", "study.key", "-o", "out")
    assert done.code == 0, done.err
    assert ",s1," not in (tmp_path / "out" / "fragment_1.csv").read_text()
    assert run("verify", "out").code == 0


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--constraint", "name,disease,zip"), "the larger one is redundant"),
        (("--constraint", "nme,disease"), 'did you mean "name"'),
        (("--k", "5"), "no k above 4 is possible here"),
        (("--k", "some"), "error: the command line has 1 fault:\n  - --k: must be a whole number from 2, or two"),
        (("--k", "2,"), "--k: must be a whole number from 2, or two"),
        (("--constraint", ","), "the name of a column is empty"),
    ],
)
def test_what_makes_no_sense_writes_nothing(
    run: Run, people: Path, tmp_path: Path, more: tuple[str, ...], said: str
) -> None:
    done = run("fragment", people, *SETS, *more, "-o", "out")
    assert (done.code, said in done.err) == (2, True), done.err
    assert not (tmp_path / "out").exists()
    undecided = run("fragment", people, "--constraint", "name,disease", "-o", "out")
    assert (undecided.code, "--insensitive" in undecided.err) == (2, True), undecided.err


def test_policies_with_faults(run: Run, people: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text('[input]\npath = "people.csv"\n[fragment]\n[fragments]\nj = 3\n')
    done = run("fragment", "bad.toml")
    assert done.code == 2
    for said in ('unknown table "fragment"', "constraints is missing", "path is missing"):
        assert said in done.err, done.err


def test_what_suppressed_rows_tell_is_noted(run: Run, people: Path) -> None:
    people.write_text(ROWS.replace("gout", "flu"), "utf-8")
    done = run("fragment", people, *SETS, "--k", "3", "--suppression", "10", "-o", "out")
    assert done.code == 0, done.err
    assert "are suppressed for too frequent values of" in " ".join(done.err.split())
    assert "whoever misses a known person knows the value" in " ".join(run("explain", "out").out.split())
