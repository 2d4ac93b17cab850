"""Tables that noise is added to: correlated columns of numbers, some values missing."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from sfumato.core.masked import Change
from sfumato.release.facts import as_dict, check_private, check_public


def numbers(rows: int = 4000, *, missing: bool = False) -> pl.DataFrame:
    """Whole ages, incomes and taxes that follow them, survey weights; some incomes and taxes missing where asked."""
    chance = np.random.default_rng(5)
    age = chance.integers(18, 90, rows)
    income = np.exp(9 + 0.01 * age + 0.5 * chance.standard_normal(rows))
    frame = pl.DataFrame(
        {
            "age": age,
            "income": income.round(2),
            "tax": (0.3 * income + 500 * chance.standard_normal(rows)).round(2),
            "weight": chance.uniform(1, 9, rows).round(1),
        }
    )
    if missing:
        there = pl.Series(chance.uniform(size=rows) > 0.1), pl.Series(chance.uniform(size=rows) > 0.2)
        frame = frame.with_columns(
            pl.when(there[0]).then("income").alias("income"), pl.when(there[1]).then("tax").alias("tax")
        )
    return frame


def holds(change: Change, frame: pl.DataFrame, released: pl.DataFrame | None = None) -> dict[str, bool | None]:
    """Which facts of a change hold, of what it made or of another table, private ones against the original."""
    after = frame.with_columns((change.columns if released is None else released).iter_columns())
    found: dict[str, Any] = {}
    for fact in change.facts:
        stated = as_dict(fact, 0)
        private = fact.fact not in ("points",)
        finding = (
            check_private(frame, after, stated, change.columns.columns)
            if private
            else check_public(after, None, stated)
        )
        found[fact.fact] = found.get(fact.fact, True) and finding.holds
    return found
