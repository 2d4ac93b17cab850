"""The study repeated: its figures through the benchmark's own functions, to 1e-9, and the committed results agree."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest

import sfumato as sf

ROOT = Path(__file__).resolve().parents[2]
STUDY = ROOT / "benchmarks" / "study"
MODULES = sorted(path.stem for path in STUDY.glob("*.py") if not path.stem.startswith("__"))
Load = Callable[[str], ModuleType]


@pytest.fixture(scope="module")
def load() -> Iterator[Load]:
    """A module of benchmarks/study, which is no part of the package."""
    pytest.importorskip("matplotlib")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT))
        yield lambda name: importlib.import_module(f"benchmarks.study.{name}")


@pytest.fixture(scope="module")
def found() -> dict:
    return json.loads((STUDY / "results.json").read_text("utf-8"))


@pytest.mark.parametrize("name", MODULES)
def test_imports(name: str, load: Load) -> None:
    assert load(name).__doc__


@pytest.mark.slow
@pytest.mark.parametrize("at", range(11))
def test_figure_agrees(at: int, load: Load, shared: Path) -> None:
    figures = load("figures")
    run = (*figures.SAMARATI, *figures.MONDRIAN)[at]
    row = figures.compare(run)
    assert row["agree"], row
    assert row["ours"]["loss"] == pytest.approx(run.told.loss, abs=1e-9)
    assert run.told.vector in (None, row["ours"]["vector"])


def test_a_figure_that_is_off_is_told(load: Load, shared: Path) -> None:
    figures = load("figures")
    right = figures.SAMARATI[3]
    for wrong in (
        figures.Told(1.0017695200177 + 2e-9, (0, 3), 8, 4513),
        figures.Told(1.0017695200177, (0, 3), 8, 4514),
        figures.Told(1.0017695200177, (3, 0), 8, 4513),
    ):
        assert not figures.compare(figures.Run(right.name, right.case, right.search, wrong))["agree"]


@pytest.mark.slow
def test_minimal_nodes(load: Load, shared: Path) -> None:
    told = load("figures").minimal()
    assert (told["satisfying"], len(told["minimal"]), told["agree"]) == (20, 6, True)


@pytest.mark.slow
@pytest.mark.parametrize("at", [0, 1])
def test_random_choices_reach(at: int, load: Load, shared: Path) -> None:
    draw, cuts = load("figures").DRAWS[at], load("random_cuts")
    reach = cuts.run(draw.case(), draw.numerator, draws=20)
    told = load("figures").random_choices(draw, reach)
    assert told["agree"], told
    assert sum(reach["counts"]) == 20  # the bins are the reachable range: no draw lies outside
    assert not load("figures").random_choices(draw, cuts.run(draw.case(), 1, draws=1))["agree"]


@pytest.mark.slow
@pytest.mark.parametrize("at", [0, 1])
def test_random_columns_give_what_can_be_reached(at: int, load: Load, shared: Path) -> None:
    case = load("figures").DRAWS[at].case()
    cuts, found = load("random_cuts").Cuts(case), set()
    for seed in range(3):
        search = sf.Mondrian(cut="lower-median", dimension="random", categories="order", seed=seed)
        parts = load("inputs").release(case, search).solution.verdict.loss * cuts.whole_loss
        assert parts == pytest.approx(round(parts), abs=1e-3)
        assert cuts.reaches(round(parts))
        found.add(round(parts))
    assert len(found) == 3


def test_random_choices_by_hand(load: Load) -> None:
    """k=1 on a square of four rows: whichever column is cut first, every row ends alone and nothing is lost."""
    inputs = load("inputs")
    table = pl.DataFrame({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]})
    cuts = load("random_cuts").Cuts(inputs.Case("square", table, ("a", "b"), 1))
    assert cuts.reach(cuts.whole) == (0.0, 0.0, 0.0)
    pair = load("random_cuts").Cuts(inputs.Case("square", table, ("a", "b"), 2))
    assert len(pair.sides(pair.whole)) == 2
    assert pair.reach(pair.whole) == (1.0, 1.0, 1.0)  # two halves, each with the whole range of one column
    assert [pair.reaches(n) for n in range(3, 6)] == [False, True, False]


@pytest.mark.parametrize(
    ("label", "covers", "spares"),
    [("[35, 40)", (35, 39), (34, 40)), ("[37, 41]", (37, 41), (36, 42)), ("39", (39,), (38, 40)), ("*", (0, 99), ())],
)
def test_labels_cover(label: str, covers: tuple[int, ...], spares: tuple[int, ...], load: Load) -> None:
    access = load("access")
    assert all(access.covers(label, age) for age in covers)
    assert not any(access.covers(label, age) for age in spares)


@pytest.mark.slow
def test_access_counts(load: Load, shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    access = load("access")
    monkeypatch.setattr(access, "TIMES", 1)
    rows = access.run()
    told = {(row["data"], row["table"]): row["told"] for row in rows if row["agree"]}
    assert told == access.TOLD
    for row in rows:
        if "labels" in row and "Samarati" not in row["table"]:  # Mondrian removes nobody
            assert row["right"] == {"Adult": 786, "Bank": 186}[row["data"]]
            assert max(row["exact"], row["largest"], row["asked"] or 0) < row["rows"]


@pytest.mark.parametrize(("k", "valid"), [(3, True), (38, True), (39, False), (320, False)])
def test_the_top_is_checked(k: int, valid: bool, load: Load, shared: Path) -> None:
    row = load("faults").unchecked_top(k)
    assert row["valid"] is valid
    assert ("infeasible" in row["flat"]) is not valid
    assert row["right"]["suppressed"] <= 10
    assert row["best"]["loss"] <= row["right"]["loss"]


def test_published_loop_is_ours_where_it_is_valid(load: Load, shared: Path) -> None:
    published, inputs = load("published"), load("inputs")
    for case in (inputs.adult(), inputs.bank_as_read(), inputs.bank()):
        end = published.samarati(published.ladders(case), case.k, case.maxsup)
        ours = load("faults").solution(inputs.release(case, "samarati"))
        assert (end.vector, end.small) == (ours["vector"], ours["suppressed"])
        assert end.loss == pytest.approx(ours["loss"], abs=1e-9)


def test_other_faults(load: Load, shared: Path) -> None:
    faults = load("faults")
    returned = faults.returned_rows()
    assert (returned["rows"], returned["holds"], returned["smallest"]) == (7, False, 7)
    assert any("its own parent" in fault for fault in faults.job_file()["faults"])
    assert all(fault.startswith("bank_job.txt, line") for fault in faults.job_file()["faults"])
    codes = faults.codes()
    assert codes["labels"][0] == {"label": "{admin., blue-collar}", "codes": "[0, 1]", "rows": 1337}


def test_committed_results_agree(load: Load, found: dict) -> None:
    results = load("results")
    assert all(load("tables").verdicts(found))
    assert found["loop"] == {"same": 48, "settings": 48}
    assert results.dump(found) + "\n" == (STUDY / "results.json").read_text("utf-8")
    assert results.markdown(found) == (STUDY / "results.md").read_text("utf-8")
    text = results.PAGE.read_text("utf-8")
    assert results.page(text, found) == text
    assert text.count(": begin -->") == len(load("tables").PARTS) - 1  # the points of the sweeps are left to results.md


def test_tables_of_results(load: Load, found: dict, tmp_path: Path) -> None:
    load("results").save_tables(found, tmp_path)
    tables = {path.stem: pl.read_csv(path) for path in tmp_path.iterdir()}
    assert {name: table.height for name, table in tables.items()} == {
        name: len(found[name]["minimal"] if name == "minimal" else found[name]) for name in tables
    }
    assert tables["samarati"]["ours loss"].to_list() == [row["ours"]["loss"] for row in found["samarati"]]
    assert tables["samarati"]["ours vector"][0] == "1 0 1 2"
    assert tables["access"].filter(pl.col("agree"))["told"].to_list() == [786, 4085, 956, 186, 4520, 415]


def test_sweeps_are_whole(load: Load, found: dict) -> None:
    sweeps = load("sweeps")
    assert (len(sweeps.KS), sweeps.KS[9:11], len(sweeps.MAXSUPS)) == (15, (183, 200), 9)
    counts = {(p["data"], p["method"], p["over"]) for p in found["sweeps"]}
    assert len(found["sweeps"]) == 2 * 3 * (15 + 9) + 2 * 3 * 15 + 15 + 9
    assert len(counts) == 2 * 3 * 2 + 2 * 3 + 2
    best = [p["loss"] for p in found["sweeps"] if (p["method"], p["over"]) == ("least loss", "k")]
    assert best[:15] == sorted(best[:15])
    assert best[15:] == sorted(best[15:])


@pytest.mark.slow
def test_plots_repeat(load: Load, found: dict, tmp_path: Path) -> None:
    """The same results give the same bytes, no date and no other host among them."""
    first, again = (load("plots").draw(found, tmp_path / name) for name in ("a", "b"))
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in again]
    committed = sorted(path.name for path in (ROOT / "docs" / "study").glob("*.svg"))
    assert sorted(path.name for path in first) == committed
    assert all(f"study/{name}" in (ROOT / "docs" / "study.md").read_text("utf-8") for name in committed)
    assert all("<dc:date>" not in path.read_text("utf-8") for path in first)
