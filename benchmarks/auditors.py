"""k, l and t of a table beside pycanon, which must find the same.

A table is Adult, or Adult enlarged, with eight quasi-identifiers and the occupation as the secret: as it is, and as
Mondrian releases it. pycanon has a call for each of k, l (distinct values) and t (equal distance). Ours is one call for
k alone, and one for everything that a table achieves: l and t are both beside the whole of that.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import sfumato as sf
from benchmarks.figures import Agreement, say, timed, warm
from benchmarks.peers import LIMIT, PYTHON, ask
from benchmarks.tables import nine, resample

SECRET = "occupation"
SAME = 1e-9


def run() -> list[Agreement]:
    """Adult and 100,000 rows of it, as they are and released."""
    python = os.environ.get(PYTHON)
    if not python:
        say(f"pycanon: left out; set {PYTHON} to a Python that has it, or use `make bench`")
        return []
    small, _ = nine()
    found: list[Agreement] = []
    for table in (small, resample(small, 100_000)):
        quasi = [name for name in table.columns if name != SECRET]
        require = [sf.KAnonymity(10), sf.DistinctLDiversity(SECRET, 3)]
        release = sf.anonymize(table, quasi=quasi, sensitive=SECRET, require=require, search="mondrian").table
        found += _compared(python, "Adult as it is", table, quasi)
        found += _compared(python, "Adult released by mondrian", release, quasi)
    return found


def _compared(python: str, about: str, table: pl.DataFrame, quasi: list[str]) -> list[Agreement]:
    ours, found = _ours(table, quasi), []
    with tempfile.TemporaryDirectory(prefix="sfumato-bench-") as name:
        table.write_csv(Path(name) / "table.csv")
        for measure, (our_seconds, value) in ours.items():
            job = {"peer": "pycanon", "measure": measure, "quasi": quasi, "sensitive": SECRET}
            told = ask(python, job, Path(name))
            if told is not None:
                agree(measure, value, told["value"])
            tool = "pycanon" if told is None else f"pycanon {told['version']}"
            seconds = None if told is None else told["seconds"]
            found.append(Agreement("measures", table.height, tool, measure, about, value, seconds, our_seconds, LIMIT))
            theirs = f"not finished in {LIMIT:g} s" if seconds is None else f"{seconds:.3g} s"
            both = f"{tool} {theirs}; sfumato {our_seconds:.3g} s"
            say(f"  {about}, {table.height:,} rows, {measure} = {value:.4g}: {both}")
    return found


def agree(measure: str, ours: float, theirs: float) -> None:
    """RuntimeError where two tools do not find the same."""
    if abs(ours - theirs) > SAME:
        raise RuntimeError(f"pycanon does not find the same {measure}: {theirs!r}, and ours is {ours!r}")


def _ours(table: pl.DataFrame, quasi: list[str]) -> dict[str, tuple[float, float]]:
    """Median seconds and value of each measure."""
    alone = warm(lambda: timed(lambda: sf.measures.risk.achieved(table, quasi)), 5)
    whole = warm(lambda: timed(lambda: sf.measures.risk.achieved(table, quasi, [SECRET])), 5)
    k, secret = alone[0][1]["k"], whole[0][1]["sensitive"][SECRET]
    return {
        "k": (_median(alone), k),
        "l": (_median(whole), secret["distinct_l"]),
        "t": (_median(whole), secret["t"]["equal"]),
    }


def _median(runs: list[tuple[float, Any]]) -> float:
    return float(np.median([seconds for seconds, _ in runs]))
