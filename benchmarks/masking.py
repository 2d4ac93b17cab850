"""Maskers on a million rows, microaggregation beside its exact groups, and refined groups on the reference tables."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.figures import Figure, cpu, figure
from sfumato.masking.run import masked, streams_of
from sfumato.search.microaggregation.groups import loss, standardised
from sfumato.search.microaggregation.mdav import MDAV
from sfumato.search.microaggregation.refined import RefinedMicroaggregation
from sfumato.verbs.steps import parse

GROUP = "masking"
ROWS = 1_000_000
RUNS = 3
COLUMN = 0.5  # CPU seconds that a column of a million rows may take
ONE = [
    "additive-noise x", "multiplicative-noise x", "outlier-noise x", "romm x", "restricted-noise x",
    "pram c invariant=true", "rounding x base=10", "rounding x base=10 random=true", "rank-swapping x p=5",
    "swapping x keys=g", "shuffling x given=y", "resampling x", "lossy-compression x",
    "top-bottom-coding x top=99 kind=percentile", "global-recoding x groups=10", "sampling fraction=0.1",
]  # fmt: skip
SHARED = Path(os.environ.get("SFUMATO_SHARED") or Path(__file__).resolve().parents[2] / "shared")
REFERENCE = {"Tarragona": "Tarragona", "Census": "CASCrefmicrodata", "EIA": "EIA"}
ASKED = {"Tarragona": (14.87, 20.47, 30.38), "Census": (5.04, 7.77, 11.75), "EIA": (0.39, 0.78, 1.99)}
SDCMICRO = 49.8  # CPU seconds of its MDAV in C++ on 100,000 rows of three columns, k = 3


def run() -> list[Figure]:
    """Each step alone on a million rows; MDAV; refined groups."""
    return [*_steps(), *_mdav(), *_refined()]


def _steps() -> list[Figure]:
    rng = np.random.default_rng(1)
    table = pl.DataFrame(
        {
            "x": rng.lognormal(8, 1, ROWS).round(2),
            "y": rng.normal(50, 9, ROWS).round(1),
            "c": rng.choice(["a", "b", "c", "d"], ROWS),
            "g": rng.choice([f"k{i}" for i in range(50)], ROWS),
        }
    )
    found = []
    for text in ONE:
        step = parse(text)
        streams = streams_of(1, table.height, table.columns, [step])
        seconds = [cpu(lambda step=step, streams=streams: masked(table, [step], streams))[0] for _ in range(RUNS)]
        found.append(figure(GROUP, f"{text}, 1M rows, CPU", seconds, target=COLUMN))
    return found


def _mdav() -> list[Figure]:
    rng = np.random.default_rng(2)
    three, six = (rng.standard_normal((100_000, d)) for d in (3, 6))
    seconds, groups = cpu(lambda: MDAV().groups(three, 3))
    blocks = loss(six, MDAV().groups(six, 3))
    exact = loss(six, MDAV(block=100_000).groups(six, 3))
    million = rng.standard_normal((ROWS, 6))
    large, _ = cpu(lambda: MDAV().groups(million, 3))
    return [
        figure(GROUP, "MDAV, k=3, 100k x 3, CPU", [seconds], target=SDCMICRO / 10, loss=loss(three, groups)),
        figure(GROUP, "MDAV in blocks over exact MDAV, loss, k=3, 100k x 6", [blocks / exact], "", target=1.03),
        figure(GROUP, "MDAV in blocks, k=3, 1M x 6, CPU", [large], target=60.0),
    ]


def _refined() -> list[Figure]:
    found = []
    for name, file in REFERENCE.items():
        table = pl.read_csv(SHARED / "data" / "sdc" / f"{file}.csv")
        x = standardised(
            table.select("UTILITYID", "^.*(REVENUE|SALES)$").to_numpy() if name == "EIA" else table.to_numpy()
        )
        for k, most in zip((3, 5, 10), ASKED[name], strict=True):
            began = time.process_time()
            lost = loss(x, RefinedMicroaggregation(k=k).groups(x, k))
            spent = round(time.process_time() - began, 1)
            about = f"refined groups of {name}, k={k}, loss in percent"
            found.append(figure(GROUP, about, [lost], "", target=most, cpu_seconds=spent))
    return found
