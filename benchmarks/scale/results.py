"""Results as JSON for machines and as Markdown for people."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.results import number
from benchmarks.scale.measured import TARGET_GIB, TARGET_SECONDS

HERE = Path(__file__).resolve().parent.parent
HEAD = ["tool", "rows", "search", "wall", "rows per second", "microseconds per row", "CPU", "peak memory", "notes"]
TITLES = {
    "files": "Files",
    "masking": "Masking; in the place of a search, the steps",
    "synthesis": "Synthetic tables; in the place of a search, the generator and what it learns from",
    "duckdb": "DuckDB, table to table",
    "postgresql": "PostgreSQL, table to table; memory of the client alone",
    "spark": "Spark, Parquet to Parquet; memory and CPU of the driver's Python alone",
    "peers": "Beside the pandas peers, CSV to CSV",
}


def document(
    machine: Mapping[str, Any],
    sorts: Mapping[str, float],
    runs: Sequence[Mapping[str, Any]],
    left_out: Mapping[str, str],
) -> dict[str, Any]:
    """Everything that was measured, and why what was not was left out."""
    return {
        "machine": dict(machine),
        "sort_10m_float64_s": {name: round(sort, 3) for name, sort in sorts.items()},
        "left_out": dict(left_out),
        "runs": [dict(run) for run in runs],
    }


def merged(old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> dict[str, Any]:
    """The old results with those replaced that were measured anew; only results of one machine stand together."""
    if old is None:
        return dict(new)
    if old["machine"] != new["machine"]:
        raise SystemExit("benchmarks: the results are of another machine or other versions; delete them or run all")
    again = {_which(run) for run in new["runs"]}
    runs = [*(run for run in old["runs"] if _which(run) not in again), *new["runs"]]
    order = list(TITLES)
    runs = sorted(runs, key=lambda run: (order.index(run["group"]), run["rows"]))
    measured = {run["group"] for run in runs}
    left = {name: why for name, why in (old["left_out"] | new["left_out"]).items() if name not in measured}
    sorts = old["sort_10m_float64_s"] | new["sort_10m_float64_s"]
    return document(new["machine"], {name: sorts[name] for name in order if name in sorts}, runs, left)


def _which(run: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(run[name] for name in ("group", "tool", "rows", "search"))


def saved(folder: Path = HERE) -> dict[str, Any] | None:
    """The results that were written last."""
    file = folder / "scale.json"
    found: dict[str, Any] | None = json.loads(file.read_text(encoding="utf-8")) if file.exists() else None
    return found


def save(found: Mapping[str, Any], folder: Path = HERE) -> None:
    """Write scale.json and scale.md."""
    (folder / "scale.json").write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (folder / "scale.md").write_text(markdown(found), encoding="utf-8")


def markdown(found: Mapping[str, Any]) -> str:
    """The tables of a results document."""
    parts = ["# Tables larger than memory", _machine(found["machine"], found["sort_10m_float64_s"])]
    for group, title in TITLES.items():
        runs = [run for run in found["runs"] if run["group"] == group]
        if runs:
            parts += [f"## {title}", _table(HEAD, [_row(run) for run in runs])]
        elif group in found["left_out"]:
            parts += [f"## {title}", f"Not measured: {found['left_out'][group]}."]
    return "\n\n".join(parts) + "\n"


def _machine(facts: Mapping[str, Any], sorts: Mapping[str, float]) -> str:
    versions = ", ".join(f"{name} {facts[name]}" for name in ("sfumato", "python", "numpy", "numba", "polars"))
    sort = f"{min(sorts.values()):.2f}" + (f" to {max(sorts.values()):.2f}" if len(sorts) > 1 else "")
    return (
        f"{facts['cpu']}, {facts['cores']} cores, {facts['memory_gib']} GiB, {facts['system']}; {versions}. "
        f"Yardstick: `np.sort` of ten million float64 takes {sort} s here.\n\n"
        "Six columns, five quasi-identifiers of 78, 2, 1000, 8 and 4 values, all tuples equally frequent, k = 10; the "
        f"full-domain search may suppress 1%. Target for 100M rows of Parquet: {TARGET_SECONDS:g} s, {TARGET_GIB:g} "
        "GiB. Every release is verified from what was written. Load is that of the machine before a run."
    )


def _row(run: Mapping[str, Any]) -> list[str]:
    start = [_tool(run), f"{run['rows']:,}", run["search"]]
    memory = "" if run["peak_gib"] is None else f"{run['peak_gib']:.2f} GiB"
    if run["seconds"] is None:
        return [*start, run["why"], "", "", "", memory, ""]
    took = [f"{number(run['seconds'])} s", f"{run['rows_per_second']:,}", f"{run['microseconds_per_row']:.2f}"]
    return [*start, *took, f"{number(run['cpu_seconds'])} s", memory, _notes(run)]


def _tool(run: Mapping[str, Any]) -> str:
    return f"{run['tool']} {run['details'].get('version', '')}".strip()


def _notes(run: Mapping[str, Any]) -> str:
    notes = [] if run["met"] is None else ["target met" if run["met"] else "target **missed**"]
    if "cells" in run["details"]:
        notes.append(f"{run['details']['cells']:,} cells")
    if floor := run["details"].get("floor_cpu_seconds"):
        notes.append(f"{run['cpu_seconds'] / floor:.1f} times the CPU of its own GROUP BY and copy, {floor:.1f} s")
    if run["details"].get("phases"):
        notes.append(", ".join(f"{name} {seconds:.1f} s" for name, seconds in run["details"]["phases"].items()))
    if run["load"] is not None:
        notes.append(f"load {run['load']:.1f}")
    return "; ".join(notes)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    rule = ["---:" if i in (1, 3, 4, 5, 6, 7) else "---" for i in range(len(head))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *rows))
