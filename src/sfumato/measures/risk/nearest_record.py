"""Nearest records: do synthetic rows lie nearer to the rows that the model saw than to real rows that it did not see?

M. Platzer, T. Reutterer, Holdout-based empirical assessment of mixed-type synthetic data, Frontiers in Big Data 2021;
distance: J. C. Gower, A general coefficient of similarity and some of its properties, Biometrics 1971.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from sfumato.core.parameters import checked
from sfumato.core.wording import percent
from sfumato.errors import PolicyError
from sfumato.measures.arguments import ORIGINAL, SEED, SOME_COLUMNS, TABLE
from sfumato.measures.attacks.kernels import ABSOLUTE, NAMED, NIL, SAME
from sfumato.measures.attacks.nearest import NearestRows
from sfumato.measures.attacks.result import sample
from sfumato.measures.measure import Measure, wilson
from sfumato.measures.risk.synthetic_tables import SyntheticTables, tables_of

MOST = 25_000  # rows whose nearest one is looked for
FEWEST = 500  # such rows, however long each takes
GLANCE = 200  # rows that tell how long each takes
WORK = 3e9  # values compared at most, about


@checked
def nearest_record(
    original: Annotated[Any, ORIGINAL],
    synthetic: Annotated[Any, TABLE] = None,
    *,
    hold_out: Annotated[Any, TABLE] = None,
    columns: Annotated[Any, SOME_COLUMNS] = None,
    seed: Annotated[int, SEED] = 0,
) -> Measure:
    """The share of synthetic rows that are nearer to a row of the original than to any row of the hold-out.

    If the model learnt nothing of single rows, that share is the share of the original among both, the baseline: where
    the hold-out is as large as the original, one half. Of equally near rows of both tables each counts the same. The
    distance is the mean over the columns: the difference of numbers, dates and times as a share of the range of real
    rows, 0 for equal categories and 1 for others; a missing value is at 0 from a missing one, and at 1 from others.

    Parameters
    ----------
    original, synthetic
        The rows that the model was fitted on, and those drawn from it.
    hold_out
        Real rows of the same kind that the model never saw.
    columns
        The columns to compare, all that the tables share unless given.
    seed
        Draws the synthetic rows that are looked at where they are more than 25,000, or take long; `details` say how
        many were. They are always compared with all rows of the original and of the hold-out.

    Returns
    -------
    A Measure. Its interval counts synthetic rows with the same nearest row as one. `details`: rows of each table, rows
    looked at, the median distances to both, the median `ratio` of these (of rows that are no copy of a row held out),
    and the share of rows at distance 0 of each.

    Examples
    --------
    >>> real, others = {"age": [20, 40, 60, 80]}, {"age": [30, 50, 70, 90]}
    >>> found = nearest_record(real, {"age": [21, 41, 59, 90]}, hold_out=others)
    >>> found.value, found.baseline
    (0.75, 0.5)
    """
    tables = with_hold_out(tables_of(original, synthetic, hold_out, columns))
    space = Space.of(tables)
    real, drawn, others = space.points
    trees = [space.tree(points) for points in (real, others)]
    rows = space.looked_at(drawn, trees, seed)
    (near, ties, one), (far, tied, other) = (tree.find(drawn[rows]) for tree in trees)
    same = np.abs(near - far) <= SAME * np.maximum(near, far) + NIL
    credit = np.where(same, ties / (ties + tied), near < far)
    value, baseline = float(credit.mean()), len(real) / (len(real) + len(others))
    nearest = np.bincount(np.where(near <= far, one, len(real) + other)).astype(np.float64)
    apart = round(float(nearest.sum() ** 2 / np.square(nearest).sum()))  # rows that tell something of their own
    known = far > 0
    details = {
        "columns": list(tables.names),
        "rows": {"original": len(real), "synthetic": len(drawn), "hold_out": len(others)},
        "looked_at": len(rows),
        "distance": {"original": float(np.median(near)), "hold_out": float(np.median(far))},
        "ratio": float(np.median(near[known] / far[known])) if known.any() else None,
        "at_zero": {"original": float((near == 0).mean()), "hold_out": float((far == 0).mean())},
    }
    sentence = (
        f"{percent(value)} of the synthetic rows are nearer to a row that the model was fitted on than to any that it "
        f"never saw; by chance {percent(baseline)} are{_of_a_sample(len(rows), len(drawn))}."
    )
    interval = wilson(round(value * apart), apart)
    interval = min(interval[0], value), max(interval[1], value)
    return Measure("nearest-record", value, (0.0, 1.0), sentence, interval, baseline, details)


def with_hold_out(tables: SyntheticTables) -> SyntheticTables:
    """The tables, or an error where no rows were held out."""
    if tables.hold_out is None:
        raise PolicyError(
            "this measure compares with real rows that the model never saw, and none are given",
            hint="hold some rows out before the model is fitted, and give them as the hold-out",
        )
    return tables


def _of_a_sample(rows: int, every: int) -> str:
    return f" ({rows:,} of {every:,} synthetic rows were looked at)" if rows < every else ""


@dataclass(frozen=True, eq=False, repr=False)
class Space:
    """The rows of the original, the synthetic table and the hold-out as points: numbers in their range, and names."""

    points: list[np.ndarray]  # float64 [rows, columns] per table
    kind: np.ndarray
    weight: np.ndarray
    blank: np.ndarray  # what an unknown number adds: nothing, for the column beside it says that it is unknown

    @staticmethod
    def of(tables: SyntheticTables) -> Space:
        """The space of the columns that the tables have; a column with missing values has one more for these."""
        found: list[np.ndarray] = []
        kind: list[int] = []
        real = np.concatenate([np.full(len(t), t is not tables.synthetic) for t in tables.tables])
        for name in tables.names:
            column = tables.column(name)
            place = column.position
            if place is None:
                found.append(column.code.astype(np.float64))
                kind.append(NAMED)
                continue
            there, value = np.isfinite(place)[column.code], place[column.code]
            known = value[there & real]
            low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)
            with np.errstate(over="ignore", invalid="ignore"):
                span = high / 2 - low / 2  # halves: a range may be beyond floats
                scaled = (value / 2 - low / 2) / (span if span > 0 else 0.5)
            found.append(np.where(there, np.clip(scaled, -1.0, 2.0), np.nan))
            kind.append(ABSOLUTE)
            if not there.all():
                found.append(np.where(there, -1, column.code).astype(np.float64))
                kind.append(NAMED)
        weight = np.full(len(found), 1.0 / len(tables.names))
        return Space(tables.parts(np.stack(found, axis=1)), np.array(kind), weight, np.zeros(len(found)))

    def tree(self, points: np.ndarray) -> NearestRows:
        """Points, ready to be looked up."""
        return NearestRows(points, self.kind, self.weight, self.blank)

    def looked_at(self, queries: np.ndarray, trees: list[NearestRows], seed: int) -> np.ndarray:
        """The queries to look up: all, or a sample of as many as a few of them say can be done in a few seconds."""
        rng = np.random.default_rng(seed)
        work = sum(tree.work(queries[sample(rng, len(queries), GLANCE)]) for tree in trees)
        return sample(rng, len(queries), min(MOST, max(FEWEST, int(WORK / (work * len(self.kind))))))
