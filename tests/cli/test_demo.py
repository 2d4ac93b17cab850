"""sfumato demo: runs twice, replaces only itself, and keeps its promises."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import Run

pytestmark = pytest.mark.slow


def test_demo_runs_twice(run: Run, tmp_path: Path) -> None:
    done = run("demo", "-o", "out", "--rows", "3000")
    assert done.code == 0, done.err
    assert "out/report.html" in done.out
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"data.csv", "manifest.json", "report.html"}
    assert {path.name for path in (tmp_path / "out-input").iterdir()} == {
        "register.csv",
        "diagnosis.csv",
        "policy.toml",
    }
    require = json.loads((tmp_path / "out" / "manifest.json").read_text())["policy"]["require"]
    assert require == [
        {"model": "k-anonymity", "k": 12},
        {"model": "entropy-l-diversity", "attribute": "diagnosis", "l": 3},
    ]
    first = (tmp_path / "out" / "data.csv").read_bytes()
    assert run("demo", "-o", "out", "--rows", "3000").code == 0
    assert (tmp_path / "out" / "data.csv").read_bytes() == first
    assert run("verify", "out").code == 0
    assert run("demo", "-o", "out", "--rows", "3000", "--seed", "1", "--json").json["folder"] == "out"
    assert (tmp_path / "out" / "data.csv").read_bytes() != first


def test_demo_leaves_other_things_alone(run: Run, patients: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("x")
    done = run("demo", "-o", "mine", "--rows", "300")
    assert done.code == 2
    assert (tmp_path / "mine" / "notes.txt").read_text() == "x"
    assert not (tmp_path / "mine-input").exists()
    roles = ("--quasi", "age", "--identifying", "name", "--insensitive", "zip,sex,disease")
    assert run("anonymize", patients, *roles, "--k", "4", "-o", "other").code == 0
    done = run("demo", "-o", "other", "--rows", "300")
    assert done.code == 2
    assert "not the demo" in done.err


def test_demo_into_an_empty_folder(run: Run, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert run("demo", "-o", "out/", "--rows", "1000").code == 0
    assert (tmp_path / "out" / "manifest.json").exists()
