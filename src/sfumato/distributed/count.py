"""Rows, extents and histograms of the leaves of a tree: exact, from all rows of the table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from sfumato.cells import Cells, Classes, Histogram, classes_of
from sfumato.distributed.domain import Domain, places
from sfumato.distributed.tree import Branches

ROWS = 0  # the item that counts rows; from 1 the extents of the columns, after those the histograms
RECORD = {
    "leaf": pl.Int32,
    "item": pl.Int32,
    "value": pl.Int64,
    "count": pl.Int64,
    "low": pl.Float64,
    "high": pl.Float64,
}


@dataclass(frozen=True, eq=False)
class Stat:
    """What is known of a leaf: its rows, the least and greatest place in each column, and the sensitive values."""

    rows: int
    low: np.ndarray
    high: np.ndarray
    values: dict[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)  # codes ascending, and counts

    def __add__(self, other: Stat) -> Stat:
        values = {}
        for name, (code, count) in self.values.items():
            more, times = other.values[name]
            both, of = np.unique(np.concatenate([code, more]), return_inverse=True)
            values[name] = both, np.bincount(of, weights=np.concatenate([count, times])).astype(np.int64)
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return Stat(self.rows + other.rows, low, high, values)


def nothing(columns: int, looks_at: Iterable[str]) -> Stat:
    """A leaf without rows."""
    none = np.zeros(0, np.int64)
    return Stat(0, np.full(columns, np.inf), np.full(columns, -np.inf), dict.fromkeys(looks_at, (none, none)))


def tally(
    rows: pl.DataFrame,
    domain: Domain,
    branches: Branches,
    columns: Sequence[str],
    looks_at: Sequence[str],
    wanted: np.ndarray,
) -> pl.DataFrame:
    """What some rows add to the leaves that are wanted, as records to be added up."""
    where = places(rows, domain, columns)
    leaf = branches.leaf(where)
    stay = wanted[leaf]
    if not stay.all():
        rows, where, leaf = rows.filter(pl.Series(stay)), where[:, stay], leaf[stay]
    parts = [_record(leaf, ROWS)]
    parts += [_record(leaf, 1 + i, place=place) for i, place in enumerate(where)]
    if looks_at:
        codes = places(rows, domain, looks_at).astype(np.int64)
        parts += [_record(leaf, 1 + len(columns) + i, value=code) for i, code in enumerate(codes)]
    return added(pl.concat(parts))


def _record(
    leaf: np.ndarray, item: int, value: np.ndarray | None = None, place: np.ndarray | None = None
) -> pl.DataFrame:
    made = pl.DataFrame({"leaf": leaf})
    made = made.with_columns(
        pl.lit(item).alias("item"),
        pl.lit(0).alias("value") if value is None else pl.Series("value", value),
        pl.lit(1).alias("count"),
        pl.lit(None).alias("low") if place is None else pl.Series("low", place),
        pl.lit(None).alias("high") if place is None else pl.Series("high", place),
    )
    return added(made.cast(RECORD))  # type: ignore[arg-type]


def added(records: pl.DataFrame) -> pl.DataFrame:
    """Records of one leaf, item and value as one."""
    sums = pl.col("count").sum(), pl.col("low").min(), pl.col("high").max()
    return records.group_by("leaf", "item", "value").agg(*sums)


def stats_of(records: pl.DataFrame, columns: Sequence[str], looks_at: Sequence[str]) -> dict[int, Stat]:
    """The leaves from the records of all rows."""
    found = {}
    ordered = records.sort("leaf", "item", "value")
    for (leaf,), own in ordered.group_by("leaf", maintain_order=True):
        of = {int(item): part for (item,), part in own.group_by("item", maintain_order=True)}
        extents = [of[1 + i] for i in range(len(columns))]
        first = 1 + len(columns)
        values = {
            name: (of[first + i]["value"].to_numpy(), of[first + i]["count"].to_numpy())
            for i, name in enumerate(looks_at)
        }
        low, high = (np.array([part[end][0] for part in extents]) for end in ("low", "high"))
        found[int(leaf)] = Stat(int(of[ROWS]["count"][0]), low, high, values)
    return found


def as_classes(stats: Sequence[Stat], domain: Domain, looks_at: Sequence[str]) -> Classes:
    """Leaves as the classes that criteria are asked about."""
    histograms = {}
    for name in looks_at:
        attribute = domain.attribute(name)
        runs = [stat.values[name] for stat in stats]
        start = np.concatenate([[0], np.cumsum([len(code) for code, _ in runs])]).astype(np.int64)
        ancestor = None if attribute.hierarchy is None else attribute.ladder.of
        histograms[name] = Histogram(
            start,
            np.concatenate([code for code, _ in runs]).astype(np.int32),
            np.concatenate([count for _, count in runs]).astype(np.int64),
            attribute.categories.count,
            attribute.categories.text,
            ancestor,
        )
    count = np.array([stat.rows for stat in stats], dtype=np.int64)
    cells = Cells((), np.zeros((0, len(stats)), np.int32), count, (), histograms)
    return classes_of(cells, np.arange(len(stats), dtype=np.int32), len(stats))


def whole_stat(domain: Domain, columns: Sequence[str], looks_at: Sequence[str]) -> Stat:
    """The whole table as one leaf; what its extents are is not asked."""
    values = {}
    for name in looks_at:
        count = domain.attribute(name).categories.count
        values[name] = np.flatnonzero(count), count[count > 0]
    return Stat(domain.rows, np.full(len(columns), -np.inf), np.full(len(columns), np.inf), values)
