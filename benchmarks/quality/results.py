"""The results of the quality benchmark as files: results.json, and the page docs/quality.md made from it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.quality.methods import DEFAULT, KS, RANGES, YARDSTICK
from benchmarks.quality.yardsticks import ARX

HERE = Path(__file__).resolve().parent
FILE = HERE / "results.json"
PAGE = HERE.parents[1] / "docs" / "quality.md"
LEAST_GAIN = 0.15  # what the default must lose less than the yardstick at every k


def save(found: dict[str, Any]) -> None:
    """Write both."""
    FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(markdown(found), encoding="utf-8")


def read() -> dict[str, Any]:
    """What was measured last."""
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def losses(found: dict[str, Any], method: str) -> dict[int, float | None]:
    """The loss of a method by k."""
    return {point["k"]: point["loss"] for point in found["methods"] if point["method"] == method}


def gains(found: dict[str, Any]) -> dict[int, float]:
    """By how much the default loses less than the balanced-cut Mondrian."""
    ours, theirs = losses(found, DEFAULT), losses(found, YARDSTICK)
    return {k: 1 - (ours[k] or 0.0) / (theirs[k] or 1.0) for k in KS}


def prices(found: dict[str, Any]) -> dict[int, float]:
    """By how much the default loses more than where its labels are ranges."""
    tidy, ranges = losses(found, DEFAULT), losses(found, RANGES)
    return {k: (tidy[k] or 0.0) / (ranges[k] or 1.0) - 1 for k in KS}


def missed(found: dict[str, Any]) -> list[str]:
    """What was asked for and not reached."""
    faults = [
        f"default at k={k}: {gain:.0%} less than Mondrian" for k, gain in gains(found).items() if gain < LEAST_GAIN
    ]
    for row in found["nine"]:
        for unit in ("loss", "seconds"):
            if row["asked"][unit] is not None and row[unit] > row["asked"][unit]:
                faults.append(f"{row['method']}, k={row['k']}: {unit} {row[unit]:.4g}, asked {row['asked'][unit]}")
    for row in found["speeds"]:
        if row.get("asked") is not None and row["seconds"] > row["asked"]:
            faults.append(f"{row['what']}: {row['seconds']:.2f} s, asked {row['asked']}")
        if row.get("asked_cells") is not None and row["cells"] > row["asked_cells"]:
            faults.append(f"{row['what']}: {row['cells']} cells, asked {row['asked_cells']}")
    return faults


def markdown(found: dict[str, Any]) -> str:
    """The page."""
    machine = found["machine"]
    sort = " to ".join(f"{ms:.0f}" for ms in found["sort_1m_float64_ms"])
    lines = [
        "# What each method loses",
        "",
        "The same promise, the same table, every method: how much is lost, and how long it takes. Lower is better.",
        f"Made by `make quality` on {machine['cores']} cores of {machine['cpu']}, where `np.sort` of a million",
        f"floats takes {sort} ms.",
        "",
        "## GCP on Adult",
        "",
        "All attributes but occupation, k-anonymity, nothing suppressed, loss `ncp` (its value is GCP); seconds of the",
        "search, counting included, in brackets. A dash: the method refuses this policy, or finds nothing.",
        "",
        "| method | " + " | ".join(f"k={k}" for k in KS) + " |",
        "|---|" + "---|" * len(KS),
    ]
    for method in dict.fromkeys(point["method"] for point in found["methods"]):
        points = {point["k"]: point for point in found["methods"] if point["method"] == method}
        lines.append(f"| {method} | " + " | ".join(_cell(points[k]) for k in KS) + " |")
    if later := found.get("measured_later"):
        lines += ["", f"Measured later than the others, in seconds of the processor: {', '.join(later)}."]
    gained = ", ".join(f"{gain:.0%} at k={k}" for k, gain in gains(found).items())
    price = ", ".join(f"{share:.0%} at k={k}" for k, share in prices(found).items())
    lines += [
        "",
        f"The default loses less than the balanced-cut Mondrian by {gained} (asked: {LEAST_GAIN:.0%} at every k).",
        "",
        "The default prints labels of the hierarchies, no more of them than there were values; its price beside",
        f"ranges: {price} more. Methods that can print either print ranges here, unless their name says otherwise.",
        "",
        "## Beside the best local recoding of another system",
        "",
        'Nine attributes, nothing suppressed, `LM(leaves="hierarchy", aggregate="geometric")`. The iterated local',
        f"recoding of ARX reaches {_arx(5)} at k=5 on this table, and {_arx(10)} at k=10.",
        "",
        "| method | k | loss | asked | seconds | asked |",
        "|---|---|---|---|---|---|",
    ]
    for row in found["nine"]:
        asked = row["asked"]
        lines.append(
            f"| {row['method']} | {row['k']} | {row['loss']:.4f} | {asked['loss']} "
            f"| {row['seconds']:.2f} | {asked['seconds'] or ''} |"
        )
    lines += ["", "## Speed, and cells suppressed", "", "| what | measured | asked | peer |", "|---|---|---|---|"]
    for row in found["speeds"]:
        if "cells" in row:
            peer = f"sdcMicro {row['sdcMicro_cells']}" if "sdcMicro_cells" in row else ""
            asked = f"at most {row['asked_cells']}" if "asked_cells" in row else ""
            lines.append(f"| {row['what']} | {row['cells']} cells | {asked} | {peer} |")
        else:
            peer = f"sdcMicro {row['sdcMicro_seconds']:.0f} s" if "sdcMicro_seconds" in row else ""
            lines.append(f"| {row['what']} | {row['seconds']:.2f} s | {row['asked']:.0f} s | {peer} |")
    return "\n".join(lines) + "\n"


def _cell(point: dict[str, Any]) -> str:
    return "–" if point["loss"] is None else f"{point['loss']:.4f} ({point['seconds']:.2f})"


def _arx(k: int) -> str:
    return " and ".join(f"{loss}" + (f" in {seconds} s" if seconds else "") for loss, seconds in ARX[k])
