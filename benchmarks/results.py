"""Results as JSON for machines and as Markdown for people; the page in docs/ shows the same Markdown."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.figures import Agreement, Comparison, Figure

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "benchmarks.md"
BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"


def document(
    machine: Mapping[str, Any],
    yardsticks: Mapping[str, float],
    figures: Sequence[Figure],
    comparisons: Sequence[Comparison],
    agreements: Sequence[Agreement] = (),
) -> dict[str, Any]:
    """Everything that was measured, as plain values."""
    return {
        "machine": dict(machine),
        "sort_1m_float64_ms": dict(yardsticks),
        "figures": [judged(asdict(figure)) for figure in figures],
        "peers": [asdict(c) | {"times": c.times, "losses": c.losses} for c in comparisons],
        "agreements": [asdict(a) | {"times": a.times} for a in agreements],
    }


def merged(old: Mapping[str, Any], new: Mapping[str, Any], order: Sequence[str]) -> dict[str, Any]:
    """The old results with those groups replaced that the new ones have, in the order of the groups.

    Only results of one machine and the same versions stand in one document.
    """
    if old["machine"] != new["machine"]:
        raise SystemExit("benchmarks: the results are of another machine or other versions; run everything")
    groups = new["sort_1m_float64_ms"].keys()
    sorts = old["sort_1m_float64_ms"] | new["sort_1m_float64_ms"]
    figures = [*(figure for figure in old["figures"] if figure["group"] not in groups), *new["figures"]]
    return {
        "machine": new["machine"],
        "sort_1m_float64_ms": {name: sorts[name] for name in order if name in sorts},
        "figures": sorted(figures, key=lambda figure: order.index(figure["group"])),
        "peers": (new if "peers" in groups else old)["peers"],
        "agreements": [*(a for a in old["agreements"] if a["group"] not in groups), *new["agreements"]],
    }


def judged(figure: Mapping[str, Any]) -> dict[str, Any]:
    """A figure with whether it is within its target, by its value alone, whatever it said; None without a target."""
    target = figure["target"]
    return dict(figure) | {"met": None if target is None else figure["value"] <= target}


def saved() -> dict[str, Any]:
    """The results that were written last."""
    found: dict[str, Any] = json.loads((HERE / "results.json").read_text(encoding="utf-8"))
    return found


def markdown(found: Mapping[str, Any]) -> str:
    """The tables of a results document."""
    sorts = found["sort_1m_float64_ms"]
    parts = [_machine(found["machine"], sorts)]
    if found["figures"]:
        rows = [_figure_row(figure, sorts[figure["group"]]) for figure in found["figures"]]
        parts.append(_table(["figure", "measured", "target", "met", "sorts", "notes"], rows, right=(1, 2, 4)))
    if found["peers"]:
        head = ["rows", "method", "tool", "its time", "ours", "times ours", "its loss", "ours", "times ours"]
        parts.append(_table(head, [_peer_row(peer) for peer in found["peers"]], right=(0, 3, 4, 5, 6, 7, 8)))
    if found["agreements"]:
        head = ["rows", "table", "measure", "found by both", "tool", "its time", "ours", "times ours"]
        parts.append(_table(head, [_agreement_row(a) for a in found["agreements"]], right=(0, 3, 5, 6, 7)))
    return "\n\n".join(parts) + "\n"


def save(found: Mapping[str, Any]) -> None:
    """Write results.json, results.md, and the tables in the documentation page."""
    found = dict(found) | {"figures": [judged(figure) for figure in found["figures"]]}
    text = markdown(found)
    (HERE / "results.json").write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (HERE / "results.md").write_text(text, encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8")
    before, after = page[: page.index(BEGIN)], page[page.index(END) :]
    PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n{after}", encoding="utf-8")


def number(value: float | None) -> str:
    """Three digits that count.

    >>> number(0.012345), number(12.345), number(1234.5)
    ('0.0123', '12.3', '1,234')
    """
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 1000 else f"{value:#.3g}".rstrip(".")


def _machine(facts: Mapping[str, Any], sorts: Mapping[str, float]) -> str:
    versions = ", ".join(f"{name} {facts[name]}" for name in ("sfumato", "python", "numpy", "numba", "polars"))
    least, most = min(sorts.values()), max(sorts.values())
    spread = f"{least:.0f}" + (f" to {most:.0f}" if len(sorts) > 1 else "")
    return (
        f"{facts['cpu']}, {facts['cores']} cores, {facts['memory_gib']} GiB, {facts['system']}; {versions}. "
        f"Yardstick: `np.sort` of a million float64 takes {spread} ms here."
    )


def _figure_row(figure: Mapping[str, Any], sort: float) -> list[str]:
    unit = f" {figure['unit']}" if figure["unit"] else ""
    loss = not figure["unit"]
    show = (lambda x: f"{x:.4f}") if loss else number
    target = "" if figure["target"] is None else f"{figure['target']:g}{unit}"
    met = {None: "", True: "yes", False: "**no**"}[judged(figure)["met"]]
    sorts = number(figure["value"] / (sort / 1000)) if figure["unit"] == "s" else ""
    return [figure["name"], show(figure["value"]) + unit, target, met, sorts, _notes(figure["details"])]


def _notes(details: Mapping[str, Any]) -> str:
    notes = []
    if "nodes_checked" in details:
        of = f" of {details['lattice']:,} nodes" if "lattice" in details else ""
        notes.append(f"{details['nodes_checked']:,}{of} checked, loss {_loss(details['loss'])}")
    if "gap" in details:
        notes.append(f"gap {details['gap']:.2%}" if details["gap"] else "proven")
    if "cells" in details:
        notes.append(f"{details['cells']:,} cells")
    if "classes" in details:
        notes.append(f"{details['classes']:,} classes")
    if "speed_up" in details:
        notes.append(f"{details['speed_up']:g} times as fast as one thread")
    if "found" in details:
        notes.append(f"{details['found']:.1%} found")
    if "error" in details:
        notes.append(f"error {details['error']:.1%}")
    if "per_second" in details:
        notes.append(f"{details['per_second']:,} a second")
    notes += [f"{tool} {number(1000 * seconds)} ms" for tool, seconds in details.get("beside", {}).items()]
    if "studio_cpu" in details:
        notes.append(f"{details['studio_cpu']:g} s of the studio's CPU")
    if "cpu_seconds" in details:
        notes.append(f"{number(details['cpu_seconds'])} s of CPU")
    if "load" in details:
        notes.append(f"load {details['load']:g}")
    if "before" in details:  # what it took when columns were encoded and counted for each measure
        notes.append(f"formerly {number(details['before'])} s")
    if "says_that_it_compiles" in details:
        notes.append("says that it compiles" if details["says_that_it_compiles"] else "does not say that it compiles")
    return ", ".join(notes)


def _loss(value: float) -> str:
    return f"{value:.4f}" if value < 1000 else f"{value:,.0f}"  # a share, or squares of class sizes


def _peer_row(peer: Mapping[str, Any]) -> list[str]:
    suppression = f", suppression {peer['suppression']:.0%}" if peer["suppression"] else ""
    late = peer["seconds"] is None
    return [
        f"{peer['rows']:,}",
        peer["method"] + suppression,
        peer["tool"],
        *_race(peer),
        "" if late else f"{peer['loss']:.4f}",
        f"{peer['our_loss']:.4f}",
        number(peer["losses"]),
    ]


def _agreement_row(found: Mapping[str, Any]) -> list[str]:
    value = f"{found['value']:.4f}".rstrip("0").rstrip(".") if found["seconds"] is not None else ""
    return [f"{found['rows']:,}", found["table"], found["measure"], value, found["tool"], *_race(found)]


def _race(found: Mapping[str, Any]) -> list[str]:
    """Its time, ours, and how many times ours."""
    late = found["seconds"] is None
    theirs = f"not finished in {found['limit']:g} s" if late else f"{number(found['seconds'])} s"
    times = f"> {number(found['limit'] / found['our_seconds'])}" if late else number(found["times"])
    return [theirs, f"{number(found['our_seconds'])} s", times]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    rule = ["---:" if i in right else "---" for i in range(len(head))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *rows))
