"""The notebooks run, and hold what their cells give."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))
PATH = re.compile(r"(?:^|[\s\"'(])(?:/(?:home|tmp|work|root|usr|var|Users)\b|[A-Za-z]:\\|~/)|\.py:\d")
OF_SHARED_DATA = {"study"}  # repeats runs on tables that are not in the repository
TIME = re.compile(r"\b\d{1,2}:\d{2}(?::\d{2})?\b|\b\d+\.\d+ ?(?:s|ms|sec)\b|\bseconds\b")


def runner() -> ModuleType:
    spec = importlib.util.spec_from_file_location("notebooks", ROOT / "tools" / "notebooks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def texts(outputs: list[list[dict[str, Any]]]) -> list[str]:
    """What is printed and the plain form of what is shown, cell by cell; pictures and pages may differ by versions."""
    return ["".join(line for one in cell for line in one.get("text") or one["data"]["text/plain"]) for cell in outputs]


def test_there_are_four() -> None:
    assert len(NOTEBOOKS) == 4


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_holds_what_it_gives(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    pytest.importorskip("pandas")
    if path.stem in OF_SHARED_DATA:
        monkeypatch.setenv("SFUMATO_SHARED", str(request.getfixturevalue("shared")))
    monkeypatch.chdir(tmp_path)
    run, notebook = runner(), json.loads(path.read_text("utf-8"))
    stored = [cell["outputs"] for cell in run.code_cells(notebook)]
    assert texts(run.outputs(notebook)) == texts(stored), "python tools/notebooks.py writes them anew"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_tells_neither_paths_nor_times(path: Path) -> None:
    notebook = json.loads(path.read_text("utf-8"))
    outputs = [one for cell in notebook["cells"] for one in cell.get("outputs", ())]
    assert outputs
    for one in outputs:
        assert one["output_type"] in ("stream", "execute_result")
        assert one.get("name", "stdout") == "stdout"
        for text in ("".join(one.get("text", ())), *map("".join, one.get("data", {}).values())):
            assert not PATH.search(text)
            assert not TIME.search(re.sub(r"<style.*?</style>", "", text, flags=re.DOTALL))
    source = "".join(line for cell in notebook["cells"] for line in cell["source"])
    assert ("shared" in source) == (path.stem in OF_SHARED_DATA)


def test_every_notebook_is_linked_from_the_docs() -> None:
    page = (ROOT / "docs" / "python.md").read_text("utf-8")
    assert [path.name for path in NOTEBOOKS if f"examples/notebooks/{path.name}" not in page] == []


def test_the_runner_gives_what_is_printed_and_shown() -> None:
    run = runner()
    cells = [["x = 2\n", "print(x)"], ["x + 1"], ["y = x"]]
    found = run.outputs({"cells": [{"cell_type": "code", "source": source} for source in cells]})
    assert texts(found) == ["2\n", "3", ""]
    warns = {"cell_type": "code", "source": ["import warnings\n", "warnings.warn('told', stacklevel=1)"]}
    with pytest.raises(UserWarning, match="told"):
        run.outputs({"cells": [warns]})
