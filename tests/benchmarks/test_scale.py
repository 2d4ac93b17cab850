"""The scale benchmark runs at a small size and writes its figures; the committed page shows the committed figures."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl
import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted(path.stem for path in (ROOT / "benchmarks/scale").glob("*.py") if path.stem != "__init__")
MACHINE = dict.fromkeys(["cpu", "system", "cores", "memory_gib", "sfumato", "python", "numpy", "numba", "polars"], 2)


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch):
    """A module of benchmarks/scale/, which is no part of the package."""
    monkeypatch.syspath_prepend(str(ROOT))

    def load(name: str) -> ModuleType:
        return importlib.import_module(f"benchmarks.scale.{name}")

    return load


@pytest.mark.slow
@pytest.mark.parametrize("name", MODULES)
def test_imports(name: str, module) -> None:
    assert module(name).__doc__


@pytest.mark.slow
def test_files_are_released_and_figures_written(module, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    main = module("__main__")
    monkeypatch.setattr(main, "yardstick", lambda: 0.7)
    monkeypatch.setattr(main.files, "warm", lambda folder: None)
    work = tmp_path / "work"
    work.mkdir()
    main.main(["--only", "files", "--rows", "3000", "--folder", str(work), "--into", str(tmp_path)])
    found = json.loads((tmp_path / "scale.json").read_text("utf-8"))
    runs = {(run["tool"], run["search"]): run for run in found["runs"]}
    assert set(runs) == {(t, s) for t in ("Parquet to Parquet", "CSV to CSV") for s in ("full domain", "mondrian")}
    for run in runs.values():
        assert run["rows"] == 3000
        assert run["rows_per_second"] == pytest.approx(3000 / run["seconds"], abs=1)
        assert 0.05 < run["peak_gib"] < 4
        assert set(run["details"]["phases"]) == {"sample", "count", "search", "write", "verify"}
        assert sum(run["details"]["phases"].values()) <= run["seconds"] + 0.1
    assert (
        runs["Parquet to Parquet", "mondrian"]["details"]["loss"] == runs["CSV to CSV", "mondrian"]["details"]["loss"]
    )
    assert (tmp_path / "scale.md").read_text("utf-8") == module("results").markdown(found)
    assert not list(work.iterdir())


@pytest.mark.slow
def test_masking_is_measured(module, tmp_path: Path) -> None:
    found = module("masking").run(tmp_path, [3000])
    assert [run.search for run in found] == [*module("masking").STEPS, module("masking").KEYED]
    assert all(run.seconds and run.rows == 3000 and run.why is None for run in found)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_synthesis_is_measured(module, tmp_path: Path) -> None:
    found = module("synthesis").run(tmp_path, [3000])
    assert [run.search for run in found] == list(module("synthesis").GENERATORS)
    assert all(run.seconds and run.rows == 3000 and run.why is None for run in found)
    assert not list(tmp_path.iterdir())


def test_the_table_is_the_same_each_time_and_has_the_cells_it_says(module, tmp_path: Path) -> None:
    table = module("table")
    frames = [pl.read_parquet(table.make(tmp_path / name, 2000)) for name in ("a", "b")]
    assert frames[0].equals(frames[1])
    assert frames[0].width == 6
    counts = {name: frames[0][name].n_unique() for name in table.QUASI}
    assert all(counts[name] <= values for name, values in table.QUASI.items())
    assert (counts["age"], counts["sex"], counts["education"], counts["marital"]) == (78, 2, 8, 4)
    text = pl.read_csv(table.make(tmp_path / "c", 2000, "csv") / "000.csv")
    assert text["zip"].to_list() == frames[0]["zip"].to_list()


@pytest.mark.slow
def test_a_process_that_takes_too_long_is_ended_and_its_memory_told(module) -> None:
    measured = module("measured")
    like = measured.Measured("peers", "slow", 10, "mondrian")
    code = "import time; held = bytearray(200 << 20); time.sleep(60)"
    found = measured.child([sys.executable, "-c", code], like, limit=1.5)
    assert found.seconds is None
    assert found.why == "did not finish in 1.5 s"
    assert 0.19 < found.peak_gib < 0.4
    with pytest.raises(RuntimeError, match="code 3"):
        measured.child([sys.executable, "-c", "import sys; sys.exit(3)"], like)


def run(module, group: str, rows: int, seconds: float | None, **more: Any) -> dict[str, Any]:
    tool = "Parquet to Parquet" if group == "files" else group
    given = {"cpu_seconds": seconds, "peak_gib": 1.5, "load": 0.5} | more
    found: dict[str, Any] = module("measured").Measured(group, tool, rows, "mondrian", seconds, **given).plain()
    return found


def test_markdown_says_targets_and_what_was_left_out(module) -> None:
    results = module("results")
    runs = [
        run(module, "files", 100_000_000, 60.0, details={"cells": 5, "phases": {"count": 4.0}}),
        run(module, "files", 1000, 0.5),
        run(module, "peers", 1000, None, why="did not finish in 300 s"),
    ]
    found = json.loads(
        json.dumps(results.document(MACHINE, {"files": 0.7}, runs, {"spark": "pyspark is not installed"}))
    )
    lines = results.markdown(found).splitlines()
    assert (
        "| Parquet to Parquet | 100,000,000 | mondrian | 60.0 s | 1,666,667 | 0.60 | 60.0 s | 1.50 GiB | "
        "target met; 5 cells; count 4.0 s; load 0.5 |"
    ) in lines
    assert (
        "| Parquet to Parquet | 1,000 | mondrian | 0.500 s | 2,000 | 500.00 | 0.500 s | 1.50 GiB | load 0.5 |" in lines
    )
    assert "| peers | 1,000 | mondrian | did not finish in 300 s |  |  |  | 1.50 GiB |  |" in lines
    assert "Not measured: pyspark is not installed." in lines
    assert run(module, "files", 100_000_000, 121.0)["met"] is False
    assert run(module, "files", 100_000_000, 60.0, peak_gib=4.5)["met"] is False


def test_merged_replaces_what_was_measured_again(module) -> None:
    results = module("results")
    old = results.document(MACHINE, {"files": 1.0}, [run(module, "files", n, 1.0) for n in (10, 20)], {"spark": "no"})
    new = results.document(MACHINE, {"spark": 2.0}, [run(module, "files", 10, 3.0), run(module, "spark", 5, 4.0)], {})
    found = results.merged(old, new)
    assert [(r["group"], r["rows"], r["seconds"]) for r in found["runs"]] == [
        ("files", 10, 3.0),
        ("files", 20, 1.0),
        ("spark", 5, 4.0),
    ]
    assert found["left_out"] == {}
    assert found["sort_10m_float64_s"] == {"files": 1.0, "spark": 2.0}
    assert results.merged(None, old) == old
    with pytest.raises(SystemExit, match="another machine"):
        results.merged(old, {**new, "machine": {}})


def test_committed_results_agree(module) -> None:
    results = module("results")
    found = json.loads((ROOT / "benchmarks/scale.json").read_text("utf-8"))
    assert (ROOT / "benchmarks/scale.md").read_text("utf-8") == results.markdown(found)
    large = [r for r in found["runs"] if (r["group"], r["rows"]) == ("files", 100_000_000)]
    assert {r["search"] for r in large} == {"full domain", "mondrian"}
    assert all(r["met"] for r in large)
