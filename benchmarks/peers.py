"""The Python peers beside Sfumato: k = 10 on three attributes of Adult, and of Adult enlarged.

anonypy's Mondrian stands against ours, anjana's full-domain generalisation against our optimal search with the same
hierarchies and the same suppression limit. Seconds are those of the call: table in memory in, release in memory out.
The loss is the sum of LM over the attributes, of the range of values that each released label covers, by our code.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import sfumato as sf
from benchmarks.figures import Comparison, say, timed, warm
from benchmarks.tables import MILLION, THREE, adult, resample
from sfumato.core.labels import of_ranges
from sfumato.core.microdata import microdata

PYTHON = "SFUMATO_PEERS_PYTHON"  # the variable that names the peers' interpreter
LIMIT = 120.0  # seconds a peer may take, start included
SUPPRESSION = 0.04
WIDTHS = {"age": (5, 10, 20), "education_num": (2, 4, 8), "hours_per_week": (5, 10, 20)}
WORKER = Path(__file__).with_name("peer_worker.py")
PEERS = {"anonypy": ("mondrian", 0.0), "anjana": ("full domain", SUPPRESSION)}
Covers = dict[str, tuple[int, int]]


def run() -> list[Comparison]:
    """Adult as it is, then 100,000 and a million rows."""
    python = os.environ.get(PYTHON)
    if not python:
        say(f"peers: left out; set {PYTHON} to a Python that has anjana and anonypy, or use `make bench`")
        return []
    small = adult()
    found: list[Comparison] = []
    for table in (small, resample(small, 100_000), resample(small, MILLION)):
        for peer, (method, suppression) in PEERS.items():
            ours = _ours(table, method, suppression)
            seconds, loss, version = _theirs(python, peer, table, suppression)
            tool = f"{peer} {version}".strip()
            found.append(Comparison(table.height, tool, method, suppression, seconds, loss, *ours, LIMIT))
            theirs = f"not finished in {LIMIT:g} s" if seconds is None else f"{seconds:.3g} s, loss {loss:.4f}"
            say(f"  {table.height:,} rows, {method}: {tool} {theirs}; sfumato {ours[0]:.3g} s, loss {ours[1]:.4f}")
    return found


def _ours(table: pl.DataFrame, method: str, suppression: float) -> tuple[float, float]:
    """Median seconds of anonymize with verify, and its loss by the same measure."""
    options: dict[str, Any] = {
        "quasi": THREE,
        "rest": "release",
        "require": sf.KAnonymity(10),
        "suppression": suppression,
        "ends": "exact",
    }
    options["search"] = "mondrian"
    if method == "full domain":
        options |= {"search": "optimal", "hierarchies": {name: sf.intervals(*w) for name, w in WIDTHS.items()}}
    else:
        options["search"] = "mondrian"
    runs = warm(lambda: timed(lambda: sf.anonymize(table, **options)), 5)
    release = runs[0][1]
    if method == "full domain":
        groups = release.table.select(pl.col(THREE).cast(pl.String)).group_by(THREE).len("count")
        loss = range_loss(table, groups, {name: covers(rows) for name, rows in ladders(table).items()})
    else:
        loss = sum(release.solution.verdict.per_attribute.values())
    return float(np.median([seconds for seconds, _ in runs])), loss


def _theirs(python: str, peer: str, table: pl.DataFrame, suppression: float) -> tuple[float | None, float | None, str]:
    """Seconds, loss and version of a peer; no seconds and no loss where it did not finish."""
    levels = ladders(table)
    with tempfile.TemporaryDirectory(prefix="sfumato-bench-") as name:
        folder = Path(name)
        table.write_csv(folder / "table.csv")
        job = {"peer": peer, "quasi": THREE, "sensitive": "class", "suppression": suppression, "hierarchies": levels}
        told = ask(python, job, folder)
        if told is None:
            return None, None, ""
        groups = pl.read_csv(folder / "groups.csv", schema_overrides=dict.fromkeys(THREE, pl.String))
    known = {name: covers(rows) | ranges(groups.get_column(name).to_list()) for name, rows in levels.items()}
    return told["seconds"], range_loss(table, groups, known), told["version"]


def ask(python: str, job: dict[str, Any], folder: Path) -> dict[str, Any] | None:
    """What a peer tells of a job on the table.csv of a folder; None where it did not finish in time."""
    (folder / "job.json").write_text(json.dumps(job))
    command = [python, "-I", str(WORKER), str(folder / "job.json")]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        raise RuntimeError(f"{job['peer']} failed: {done.stderr}")
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


def ladders(table: pl.DataFrame) -> dict[str, list[list[Any]]]:
    """Per attribute the labels of each level, one per distinct value; level 0 is the values."""
    micro = microdata(
        table, dict.fromkeys(THREE, "quasi"), {name: sf.intervals(*widths) for name, widths in WIDTHS.items()}
    )
    found = {}
    for name in THREE:
        ladder = micro.attribute(name).ladder
        rows = [[ladder.text[level][label] for label in ladder.of[level]] for level in range(ladder.levels)]
        found[name] = [[int(text) for text in micro.attribute(name).categories.text if text is not None], *rows[1:]]
    return found


def covers(levels: list[list[Any]]) -> Covers:
    """Label to the least and greatest value under it.

    >>> covers([[1, 2, 3], ["[0, 2)", "[2, 4)", "[2, 4)"], ["*", "*", "*"]])["[2, 4)"]
    (2, 3)
    """
    found: Covers = {}
    for labels in levels:
        for value, label in zip(levels[0], labels, strict=True):
            low, high = found.get(str(label), (value, value))
            found[str(label)] = (min(low, value), max(high, value))
    return found


def ranges(labels: list[str]) -> Covers:
    """The labels that print as `low-high` or as one value; others are left out.

    >>> ranges(["17-25", "40", "[0, 5)"])
    {'17-25': (17, 25), '40': (40, 40)}
    """
    found: Covers = {}
    for label in labels:
        low, _, high = label.partition("-")
        if low.isdecimal() and (high.isdecimal() or not high):
            found[label] = (int(low), int(high or low))
    return found


def range_loss(table: pl.DataFrame, groups: pl.DataFrame, known: dict[str, Covers]) -> float:
    """Sum of LM over the attributes: groups of released labels with their counts, rows that are absent cost 1 each."""
    count = groups.get_column("count").to_numpy()
    micro = microdata(table, dict.fromkeys(known, "quasi"), {})
    loss = 0.0
    for name, labels in known.items():
        attribute = micro.attribute(name)
        ends = np.array([labels[label] for label in groups.get_column(name).to_list()], dtype=np.float64)
        low, high = np.searchsorted(attribute.positions, ends[:, 0]), np.searchsorted(attribute.positions, ends[:, 1])
        released = of_ranges(attribute, low, high)
        cost = sf.LM().cost(released)[released.of]
        loss += float((cost * count).sum() + table.height - count.sum()) / table.height
    return loss
