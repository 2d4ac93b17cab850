"""Results as JSON, as Markdown, and in the marked places of docs/study.md."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.study.tables import PARTS

HERE = Path(__file__).resolve().parent
DOCS = HERE.parents[1] / "docs"
PAGE = DOCS / "study.md"
PLACE = re.compile(r"<!-- (?P<name>[\w-]+): begin -->\n.*?<!-- (?P=name): end -->", re.DOTALL)
WIDTH = 300


def plain(found: Mapping[str, Any]) -> dict[str, Any]:
    """The results as JSON gives them back: tuples are lists."""
    return json.loads(json.dumps(found))


def read() -> dict[str, Any]:
    """The results of the last run."""
    return json.loads((HERE / "results.json").read_text(encoding="utf-8"))


def markdown(found: Mapping[str, Any]) -> str:
    """All parts, one below the other."""
    title = "# A 2024 study of Samarati and Mondrian, repeated\n\n"
    return title + "\n\n".join(f"## {heading}\n\n{part(found)}" for heading, part in PARTS.values()) + "\n"


def page(text: str, found: Mapping[str, Any]) -> str:
    """A page with its marked places filled anew."""

    def fill(place: re.Match[str]) -> str:
        name = place["name"]
        return f"<!-- {name}: begin -->\n\n{PARTS[name][1](found)}\n\n<!-- {name}: end -->"

    return PLACE.sub(fill, text)


def save(found: Mapping[str, Any]) -> None:
    """Write results.json, results.md, and the page."""
    (HERE / "results.json").write_text(dump(found) + "\n", encoding="utf-8")
    (HERE / "results.md").write_text(markdown(found), encoding="utf-8")
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), found), encoding="utf-8")


def save_tables(found: Mapping[str, Any], folder: Path) -> None:
    """Write each list of results as a CSV table, its file named after it; what is nested gets a column of its own."""
    lists = {name: found[name] for name in ("samarati", "mondrian", "defaults", "random", "access", "sweeps")}
    for name, rows in (lists | {"minimal": found["minimal"]["minimal"]}).items():
        pl.DataFrame([_flat(row) for row in rows], infer_schema_length=None).write_csv(folder / f"{name}.csv")


def _flat(row: Mapping[str, Any], under: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{under}{name} ")
        else:
            flat[under + name] = " ".join(map(str, value)) if isinstance(value, list) else value
    return flat


def dump(value: Any, indent: str = "") -> str:
    """JSON with one line for whatever fits in one.

    >>> dump({"a": [1, 2]})
    '{"a": [1, 2]}'
    """
    short = json.dumps(value, ensure_ascii=False)
    if len(indent) + len(short) <= WIDTH or not isinstance(value, dict | list):
        return short
    deeper = indent + " "
    if isinstance(value, dict):
        inner = [f"{deeper}{json.dumps(name)}: {dump(item, deeper)}" for name, item in value.items()]
        return "{\n" + ",\n".join(inner) + f"\n{indent}}}"
    return "[\n" + ",\n".join(deeper + dump(item, deeper) for item in value) + f"\n{indent}]"
