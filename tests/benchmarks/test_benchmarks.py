"""The benchmarks import, and their tables say what was measured."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted(path.stem for path in (ROOT / "benchmarks").glob("*.py") if path.stem != "__init__")
MACHINE = dict.fromkeys(["cpu", "system", "cores", "memory_gib", "sfumato", "python", "numpy", "numba", "polars"], 2)


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch):
    """A module of benchmarks/, which is no part of the package."""
    monkeypatch.syspath_prepend(str(ROOT))

    def load(name: str) -> ModuleType:
        return importlib.import_module(f"benchmarks.{name}")

    return load


@pytest.mark.parametrize("name", MODULES)
def test_imports(name: str, module) -> None:
    assert module(name).__doc__


def test_figure_is_the_median_beside_its_target(module) -> None:
    figures = module("figures")
    found = figures.figure("g", "n", [0.3, 0.1, 0.2], target=0.2, cells=5)
    assert (found.value, found.least, found.runs, found.met) == (0.2, 0.1, 3, True)
    assert figures.figure("g", "n", [0.3], target=0.2).met is False
    assert figures.figure("g", "n", [0.3]).met is None


def test_warm_leaves_the_first_call_out(module) -> None:
    calls = iter(range(9))
    assert module("figures").warm(lambda: next(calls), 3) == [1, 2, 3]


def test_markdown(module) -> None:
    figures, results = module("figures"), module("results")
    quick = figures.Figure("optimal", "quick", 0.01, "s", 0.015, details={"cells": 1234})
    large = figures.Figure("optimal", "large", 2.0, "GiB", 1.5)
    done = figures.Comparison(1000, "peer 1", "mondrian", 0.0, 3.0, 0.5, 0.1, 0.25, 120.0)
    late = figures.Comparison(1000, "slow", "full domain", 0.04, None, None, 0.1, 0.25, 120.0)
    found = json.loads(json.dumps(results.document(MACHINE, {"optimal": 50.0}, [quick, large], [done, late])))
    lines = results.markdown(found).splitlines()
    assert "| quick | 0.0100 s | 0.015 s | yes | 0.200 | 1,234 cells |" in lines
    assert "| large | 2.00 GiB | 1.5 GiB | **no** |  |  |" in lines
    assert "| 1,000 | mondrian | peer 1 | 3.00 s | 0.100 s | 30.0 | 0.5000 | 0.2500 | 2.00 |" in lines
    assert (
        "| 1,000 | full domain, suppression 4% | slow | not finished in 120 s | 0.100 s | > 1,200 |  | 0.2500 |  |"
        in lines
    )


def test_markdown_of_what_two_tools_agree_on(module) -> None:
    figures, results = module("figures"), module("results")
    slow = figures.Figure("measures", "linkage", 2.0, "s", details={"found": 0.25})
    exact = figures.Figure("measures", "splits", 2.0, details={"nodes_checked": 7, "loss": 36654.0, "gap": 0.0})
    done = figures.Agreement("measures", 1000, "peer 1", "t", "a table", 0.25, 3.0, 0.1, 120.0)
    late = figures.Agreement("measures", 1000, "peer", "t", "a table", 0.25, None, 0.1, 120.0)
    found = json.loads(json.dumps(results.document(MACHINE, {"measures": 50.0}, [slow, exact], [], [done, late])))
    lines = results.markdown(found).splitlines()
    assert "| linkage | 2.00 s |  |  | 40.0 | 25.0% found |" in lines
    assert "| splits | 2.00 s |  |  | 40.0 | 7 checked, loss 36,654, proven |" in lines
    assert "| 1,000 | a table | t | 0.25 | peer 1 | 3.00 s | 0.100 s | 30.0 |" in lines
    assert "| 1,000 | a table | t |  | peer | not finished in 120 s | 0.100 s | > 1,200 |" in lines


def test_tools_that_do_not_agree(module) -> None:
    agree = module("auditors").agree
    agree("t", 0.25, 0.25 + 1e-12)
    with pytest.raises(RuntimeError, match="the same t"):
        agree("t", 0.25, 0.26)


def test_merged_replaces_the_groups_that_were_measured(module) -> None:
    figures, results = module("figures"), module("results")

    def document(value: float, groups: list[str], machine: dict[str, int] = MACHINE) -> dict:
        some = [figures.Figure(group, "n", value) for group in groups if group != "peers"]
        peers = [figures.Comparison(1, "peer", "m", 0.0, value, 0.5, 0.1, 0.25, 120.0)] if "peers" in groups else []
        both = [figures.Agreement("b", 1, "peer", "t", "a", value, 3.0, 0.1, 120.0)] if "b" in groups else []
        return results.document(machine, dict.fromkeys(groups, value), some, peers, both)

    order = ["a", "b", "c", "peers"]
    found = results.merged(document(1.0, ["a", "c", "peers"]), document(2.0, ["b"]), order)
    assert [(figure["group"], figure["value"]) for figure in found["figures"]] == [("a", 1.0), ("b", 2.0), ("c", 1.0)]
    assert list(found["sort_1m_float64_ms"]) == order
    assert (found["peers"][0]["seconds"], found["agreements"][0]["value"]) == (1.0, 2.0)
    again = results.merged(found, document(3.0, ["peers"]), order)
    assert again["figures"] == found["figures"]
    assert (again["peers"][0]["seconds"], again["agreements"]) == (3.0, found["agreements"])
    with pytest.raises(SystemExit, match="another machine"):
        results.merged(found, document(2.0, ["b"], {**MACHINE, "cores": 3}), order)


def test_committed_results_agree(module) -> None:
    results = module("results")
    found = json.loads((ROOT / "benchmarks/results.json").read_text("utf-8"))
    text = results.markdown(found)
    assert (ROOT / "benchmarks/results.md").read_text("utf-8") == text
    assert text in (ROOT / "docs/benchmarks.md").read_text("utf-8")
    groups = set(module("__main__").GROUPS)
    assert {"optimal", "peers"} < groups
    assert {figure["group"] for figure in found["figures"]} == groups - {"peers"}
    assert set(found["sort_1m_float64_ms"]) == groups
    assert {peer["tool"].split()[0] for peer in found["peers"]} == {"anjana", "anonypy"}
    assert {(a["tool"].split()[0], a["measure"]) for a in found["agreements"]} == {("pycanon", m) for m in "klt"}


def test_what_is_met_follows_from_value_and_target(module) -> None:
    """In the committed results; and what a row says of itself is not believed."""
    results = module("results")
    rows = json.loads((ROOT / "benchmarks/results.json").read_text("utf-8"))["figures"]
    for row in rows:
        assert row["met"] == (None if row["target"] is None else row["value"] <= row["target"]), row["name"]
    wrong = {"name": "n", "value": 2.66, "unit": "", "target": 3, "details": {}, "met": False}
    assert results.judged(wrong)["met"] is True
    assert results.judged(wrong | {"target": 2})["met"] is False
    found = {"machine": MACHINE, "sort_1m_float64_ms": {"g": 1.0}, "peers": [], "agreements": []}
    assert "| n | 2.6600 | 3 | yes |" in results.markdown(found | {"figures": [wrong | {"group": "g"}]})


def test_targets_are_those_of_the_issue(module) -> None:
    assert module("optimal").TARGETS[0.0] == 0.007
    asked = {name: loss for name, _, k, loss, _ in module("quality.yardsticks").NINE if k == 5}
    assert asked["refined, 15 s"] == 0.036


def test_resample_repeats_and_redraws(module) -> None:
    resample = module("tables").resample
    table = pl.DataFrame({"a": range(100), "b": range(100)})
    large = resample(table, 10_000)
    assert large.equals(resample(table, 10_000))
    assert not large.equals(resample(table, 10_000, seed=2))
    assert resample(table, 10_000, redraw=0.0).select(pl.col("a") == pl.col("b")).to_series().all()
    together = large.select(pl.col("a") == pl.col("b")).to_series().mean()
    assert together == pytest.approx(0.49 + 0.51 / 100, abs=0.02)  # neither of the two was drawn anew, or by chance


def test_redrawn_keeps_most_values_in_their_rows(module) -> None:
    table = pl.DataFrame({"a": range(10_000), "b": range(10_000)})
    found = module("tables").redrawn(table, 0.1)
    kept = (found == table).mean()
    assert all(kept[name][0] == pytest.approx(0.9, abs=0.02) for name in table.columns)
    assert module("tables").redrawn(table, 0.0).equals(table)


def test_range_loss_of_labels(module) -> None:
    """Two attributes of span 10: half of the rows cost 0.4 + 0, a quarter 0 + 1, a quarter is suppressed."""
    peers = module("peers")
    table = pl.DataFrame({"a": [0, 4, 5, 10], "b": [0, 0, 0, 10]})
    groups = pl.DataFrame({"a": ["0-4", "5"], "b": ["0", "0-10"], "count": [2, 1]})
    known = {name: peers.ranges(groups.get_column(name).to_list()) for name in ("a", "b")}
    assert peers.range_loss(table, groups, known) == pytest.approx((2 * 0.4 + 1.0 + 2.0) / 4)


@pytest.mark.slow
def test_launch_measures_another_process(module, tmp_path: Path) -> None:
    launch = module("launch").launch
    code = "import time; held = bytearray(200 << 20); time.sleep(0.1); print('done')"
    found = launch([sys.executable, "-c", code], tmp_path)
    assert found.printed == "done\n"
    assert found.seconds >= 0.1
    assert 0.19 < found.peak_gib < 0.4
    with pytest.raises(RuntimeError, match="failed with code 3: why"):
        launch([sys.executable, "-c", "import sys; print('why'); sys.exit(3)"], tmp_path)
