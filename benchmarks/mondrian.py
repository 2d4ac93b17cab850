"""Mondrian, k = 10: loss on Adult, and speed on a million rows, from a Polars frame in memory."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import polars as pl

import sfumato as sf
from benchmarks.figures import Figure, figure, warm
from benchmarks.tables import MILLION, THREE, adult, continuous, resample

GROUP = "mondrian"
SUM = sf.LM(aggregate="sum")


@dataclass(frozen=True)
class Timing:
    """Seconds of the search, to the released labels, and to the verified release."""

    search: float
    labels: float
    whole: float
    release: sf.Release


def measure(table: pl.DataFrame) -> Timing:
    """One call of anonymize, all columns quasi-identifiers."""
    reached: dict[str, float] = {}
    began = time.perf_counter()

    def note(message: str, share: float | None) -> None:
        reached.setdefault(message, time.perf_counter() - began)

    release = sf.anonymize(
        table, quasi=table.columns, require=sf.KAnonymity(10), search="mondrian", loss=SUM, ends="exact", progress=note
    )
    whole = time.perf_counter() - began
    # Verifying begins when every label is made.
    return Timing(release.solution.seconds, reached["verifying"], whole, release)


def run() -> list[Figure]:
    """Loss, then a million rows with few cells, then a million rows of which every one is a cell."""
    small = adult().select(THREE)
    release = measure(small).release
    about = f"mondrian k=10, 3 attributes, {small.height:,} rows: sum of LM"
    figures = [figure(GROUP, about, [release.solution.verdict.loss], "", 0.0602, **_facts(release))]

    table = resample(small, MILLION)
    runs = warm(lambda: measure(table), 7)
    facts = _facts(runs[0].release)
    about = "mondrian k=10, 3 attributes, 1M rows"
    figures.append(figure(GROUP, f"{about}: search", [r.search for r in runs], target=0.15, **facts))
    figures.append(figure(GROUP, f"{about}: frame to labels", [r.labels for r in runs], target=0.6, **facts))
    figures.append(figure(GROUP, f"{about}: anonymize with verify", [r.whole for r in runs], **facts))

    normal = continuous(MILLION)
    runs = warm(lambda: measure(normal), 5)
    facts = _facts(runs[0].release)
    about = "mondrian k=10, 3 continuous columns, 1M rows"
    figures.append(figure(GROUP, f"{about}: search", [r.search for r in runs], target=1.0, **facts))
    figures.append(figure(GROUP, f"{about}: anonymize with verify", [r.whole for r in runs], **facts))
    return figures


def _facts(release: sf.Release) -> dict[str, Any]:
    return {"cells": len(release.solution.kept), "classes": release.verification.classes[0]["classes"]}
