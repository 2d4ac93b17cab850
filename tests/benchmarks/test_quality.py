"""What each method loses: the results agree with their page, cover every local method, and reach what was asked."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

import sfumato as sf
from sfumato.search import search_name

ROOT = Path(__file__).resolve().parents[2]
Load = Callable[[str], ModuleType]


@pytest.fixture(scope="module")
def load() -> Iterator[Load]:
    """A module of benchmarks/quality, which is no part of the package."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT))
        yield lambda name: importlib.import_module(f"benchmarks.quality.{name}")


def test_the_page_is_made_from_the_results(load: Load) -> None:
    results = load("results")
    assert results.PAGE.read_text("utf-8") == results.markdown(results.read())


def test_every_local_method_is_in_the_table(load: Load) -> None:
    names = {search_name(s) if not isinstance(s, str) else s for s in load("methods").METHODS.values()}
    local = {name for name, variant in sf.SEARCHES.items() if variant.example.code in ("CG_", "_CS")}
    assert local - {"mpalm"} <= names  # which cuts as mondrian does where no population is counted
    found = load("results").read()
    assert {(p["method"], p["k"]) for p in found["methods"]} == {
        (m, k) for m in load("methods").METHODS for k in load("methods").KS
    }


def test_what_was_asked_is_reached(load: Load) -> None:
    results = load("results")
    assert results.missed(results.read()) == []


def test_a_miss_is_told(load: Load) -> None:
    results = load("results")
    found = results.read()
    found["nine"][0]["loss"] = 0.9
    found["speeds"][0]["seconds"] = 99.0
    for point in found["methods"]:
        if point["method"] == "default":
            point["loss"] = 0.9
    assert len(results.missed(found)) == 2 + 6


@pytest.mark.slow
def test_the_default_on_nine_attributes_still_reaches_it(load: Load, shared: Path) -> None:
    """The loss of the default does not depend on the machine: it is measured anew."""
    yardsticks, tables = load("yardsticks"), importlib.import_module("benchmarks.tables")
    table, files = tables.nine()
    options = {"quasi": table.columns, "hierarchies": files, "loss": yardsticks.LOSS}
    for k, tidy, ranges in ((5, 0.0531, 0.045), (10, 0.075, 0.075)):
        assert sf.anonymize(table, k=k, **options).solution.verdict.loss < tidy
        assert sf.anonymize(table, k=k, **options, labels="ranges").solution.verdict.loss < ranges
