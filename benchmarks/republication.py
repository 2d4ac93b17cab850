"""Publishing again: a million rows of which five in a hundred change, and ten releases of Adult, made anew each time
and m-invariant, attacked by who was in which."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import sfumato as sf
from benchmarks.figures import Figure, figure
from benchmarks.tables import MILLION, nine, resample

GROUP = "republication"
ROLES: dict[str, Any] = {"person": "id", "quasi": ["age", "sex", "race", "education"], "sensitive": "occupation"}
M, SECONDS = 4, 5.0
PEOPLE, RELEASES, TURNOVER = 10_000, 10, 0.1  # of Adult; a tenth leaves each month, and as many come


def run() -> list[Figure]:
    """CPU seconds of the second release of a million, and how many people of Adult each way gives away."""
    os.environ.setdefault("SFUMATO_KEY", "the key of the benchmarks")
    with tempfile.TemporaryDirectory() as folder:
        return [*_times(Path(folder)), *attacked(Path(folder), PEOPLE, RELEASES)]


def _times(folder: Path) -> list[Figure]:
    more = int(MILLION * 1.05)
    table = resample(nine()[0].select("age", "sex", "race", "education", "occupation"), more)
    table = table.with_columns(id=pl.Series(np.arange(more)))
    took, last = [], None
    for first in (0, more - MILLION):
        began = time.process_time()
        last = sf.republish(last, table[first : first + MILLION], m=M, state=folder / "m.state", seed=1, **ROLES)
        took.append(time.process_time() - began)
        last.save(folder / f"m{first}", "parquet")
    about = "republication of a million rows, 5% changed, CPU, verified"
    return [figure(GROUP, about, [took[1]], target=SECONDS)]


def attacked(folder: Path, people: int, releases: int) -> list[Figure]:
    """The share of people that an attacker who knows who was in which release pins, of series made either way."""
    step = int(people * TURNOVER)
    adult = nine()[0].select("age", "sex", "race", "education", "occupation")
    adult = resample(adult, people + step * (releases - 1)).with_row_index("id")
    months = [adult[i * step : i * step + people] for i in range(releases)]
    naive, invariant, last = [], [], None
    for i, month in enumerate(months):
        require = [sf.DistinctLDiversity("occupation", M)]
        quasi = {"quasi": ROLES["quasi"], "sensitive": ["occupation"], "identifying": ["id"]}
        naive.append(sf.anonymize(month, require=require, search="mondrian", seed=1, **quasi).data)
        last = sf.republish(last, month, m=M, state=folder / "a.state", seed=1, **ROLES)
        last.save(folder / f"a{i}")
        invariant.append(folder / f"a{i}")
    known = {"original": months, "person": "id", "quasi": ROLES["quasi"], "sensitive": ["occupation"], "m": M}
    found = []
    for name, series in (("made anew each time", naive), ("m-invariant", invariant)):
        tried = sf.attack(releases=series, trials=adult.height, **known)["intersection"]
        few = tried["details"]["fewer values than m"]["people"]
        target = 0.0 if name == "m-invariant" else None
        title = f"{releases} releases of {people} of Adult, {name}, of {adult.height} people"
        found.append(figure(GROUP, f"{title}: pinned", [tried["success"] * adult.height], "", target=target))
        found.append(figure(GROUP, f"{title}: fewer than {M} values left", [few], "", target=target))
    return found
