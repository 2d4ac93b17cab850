"""The shell counts people: flags, policy file, and what is told apart from what rows prove."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from .conftest import Run

pytestmark = pytest.mark.slow


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    table = {"patient": [f"zq{i:03d}" for i in rng.integers(0, 60, 300)], "age": rng.integers(20, 80, 300)}
    pl.DataFrame(table).write_csv(tmp_path / "v.csv")
    return tmp_path / "v.csv"


def test_flags(run: Run, visits: Path, tmp_path: Path) -> None:
    ask = ("--quasi", "age", "--k", "5", "--search", "optimal")
    done = run("anonymize", visits, *ask, "--person", "patient", "-o", "out")
    assert done.code == 0
    assert "holds against the original  k-anonymity (k=5, person=patient) on age" in done.out
    assert not any("zq0" in file.read_text("utf-8") for file in (tmp_path / "out").iterdir())
    alone = run("verify", "out")
    assert alone.code == 0
    assert "stated  k-anonymity" in alone.out
    assert "every promise holds" not in alone.out
    assert run("verify", "out", "--json").json["holds"] is False
    assert "every promise holds" in run("verify", "out", "--original", visits, "--person", "patient").out
    assert run("verify", "out", "--person", "patient").code == 2
    assert run("verify", visits, "--quasi", "age", "--k", "20", "--person", "patient").code == 1
    assert run("risk", visits, "--quasi", "age", "--person", "patient", "--json").json["people"] == 60


def test_a_policy_file(run: Run, visits: Path, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    text = '[input]\npath = "v.csv"\n[roles]\nquasi = ["age"]\nperson = "patient"\n[output]\npath = "out"\n'
    text += '[search]\nmethod = "optimal"\n[[require]]\nmodel = "k-anonymity"\nk = 4\n'
    policy.write_text(text)
    assert run("anonymize", policy).code == 0
    assert "stated  k-anonymity (k=4, person=patient)" in run("verify", "out").out
    assert "lattice counts rows, and this policy counts people" in run("lattice", policy).err
    assert "counts people in what a search promises" in run("mask", policy).err
    policy.write_text(text.replace('"patient"', '"nobody"'))
    assert 'the table has no column "nobody"' in run("anonymize", policy).err


def test_the_report_tells_whom_it_counts(run: Run, visits: Path, tmp_path: Path) -> None:
    ask = ("--quasi", "age", "--k", "5", "--search", "optimal", "--person", "patient")
    assert run("anonymize", visits, *ask, "-o", "out").code == 0
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "People are counted, and not records: a person may have several." in page
    assert "Shown against the original" in page
    assert "what it promises of the people in it is proven" not in page


def test_a_column_that_repeats_draws_a_note(run: Run, visits: Path) -> None:
    done = run("anonymize", visits, "--quasi", "age", "--k", "5", "--identifying", "patient", "-o", "out")
    assert done.code == 0
    assert "people seem to have several rows" in done.err
    assert "--person patient counts people" in done.err.replace('"', "")
