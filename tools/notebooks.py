"""Run the notebooks of `examples/notebooks` without Jupyter; as a program, write what their cells give into them."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import sys
import warnings
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "examples" / "notebooks"
SHOWN = {"text/html": "_repr_html_", "image/svg+xml": "_repr_svg_"}


def outputs(notebook: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """What each code cell gives, in order, in one namespace: what it prints, and its last expression. A warning is an
    error: what people should know, a notebook says."""
    names: dict[str, Any] = {"__name__": "__main__"}
    found = []
    for number, cell in enumerate(code_cells(notebook), 1):
        with contextlib.redirect_stdout(io.StringIO()) as told, warnings.catch_warnings():
            warnings.simplefilter("error")
            value = _run("".join(cell["source"]), names, f"cell {number}")
        made: list[dict[str, Any]] = []
        if told.getvalue():
            made.append({"name": "stdout", "output_type": "stream", "text": lines(told.getvalue())})
        if value is not None:
            data = {"text/plain": lines(repr(value))}
            data |= {kind: lines(getattr(value, method)()) for kind, method in SHOWN.items() if hasattr(value, method)}
            made.append({"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"})
        found.append(made)
    return found


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    """The cells that hold code."""
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def lines(text: str) -> list[str]:
    """A text as notebooks store it."""
    return text.splitlines(keepends=True)


def _run(code: str, names: dict[str, Any], where: str) -> Any:
    """Run a cell; its last expression, or None."""
    tree = ast.parse(code, where)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, where, "exec", dont_inherit=True), names)
    return eval(compile(ast.Expression(last.value), where, "eval"), names) if isinstance(last, ast.Expr) else None


def main() -> int:
    """Write the outputs into the notebooks."""
    os.chdir(FOLDER)
    for path in sorted(FOLDER.glob("*.ipynb")):
        notebook = json.loads(path.read_text("utf-8"))
        for number, (cell, made) in enumerate(zip(code_cells(notebook), outputs(notebook), strict=True), 1):
            cell["outputs"], cell["execution_count"] = made, number
        path.write_text(json.dumps(notebook, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        print(path.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
