"""MASSC: micro agglomeration, substitution, subsampling, calibration (Singh, Yu and Dunteman, "MASSC: a new data mask
for limiting statistical information loss and disclosure", UNECE/Eurostat work session, Luxembourg, 2003)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import polars as pl

from sfumato.core.hierarchy import Categories
from sfumato.core.keys import first_of, rank_tuples
from sfumato.core.masked import Change, Context, Fact, MaskStep, kind_of_column
from sfumato.core.microdata import encode
from sfumato.core.parameters import ColumnNames, Written, share_of, whole_number
from sfumato.core.printed import printed
from sfumato.core.wording import listed, percent, quoted
from sfumato.errors import ColumnError

FEWEST = 10  # rows of a stratum: smaller ones join the next
WINDOW, NEAR = 4, 3  # neighbours on either side that are looked at, and how many of the nearest are drawn from
MOST = 200  # totals
ROUNDS, EXACT = 60, 1e-12  # of the calibration


@dataclass(frozen=True)
class MASSC(MaskStep):
    """Let rows take the keys of near rows, release a sample, and calibrate the weights to totals of the input (MASSC).

    columns: the keys, those that should stay near first. sizes: strata of risk, by how many rows have the same keys:
    (2, 5) makes three, of 1, of 2 to 4, and of 5 rows or more. substitute: the share of rows of each stratum that take
    the keys of a near row of it; keep: the share of its other rows that are released; one number stands for all strata.
    totals: columns whose weighted sums, or counts of categories, are those of the input. Survey weights are needed.
    """

    sizes: Annotated[Any, Written("list")] = (2, 5)
    substitute: Annotated[Any, Written("list")] = (0.2, 0.1, 0.05)
    keep: Annotated[Any, Written("list")] = (0.7, 0.8, 0.9)
    totals: Annotated[Any, ColumnNames()] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.columns:
            raise self.refuse("it needs the key columns", allowed='for example ["age", "sex"]')
        sizes = tuple(whole_number(n, f"{self.name}: sizes", 2) for n in _many(self.sizes))
        if sorted(set(sizes)) != list(sizes):
            raise self.refuse("sizes must ascend", allowed="(2, 5)")
        self.settle(sizes=sizes)
        for name in ("substitute", "keep"):
            shares = tuple(
                share_of(x, f"{self.name}: {name}", above=name == "keep") for x in _many(getattr(self, name))
            )
            if len(shares) not in (1, len(sizes) + 1):
                allowed = f"one, or {len(sizes) + 1}"
                raise self.refuse(f"{name} needs a share for each stratum", got=str(len(shares)), allowed=allowed)
            self.settle(**{name: shares if len(shares) > 1 else shares * (len(sizes) + 1)})

    kinds = ("category", "number", "date")
    leaves = "Keys that were not changed are true; whoever is known to be in the sample and stands out is still found."

    @property
    def needs(self) -> tuple[str, ...]:
        """The columns of the totals."""
        return tuple(name for name in self.totals if name not in self.columns)

    def sentence(self) -> str:
        """What it does."""
        takes, stays = (listed(dict.fromkeys(map(percent, shares))) for shares in (self.substitute, self.keep))
        met = f", and to the totals of {quoted(self.totals)}" if self.totals else ""
        return (
            f"by strata of risk, {takes} of the rows take the keys of a near row, {stays} of the others are released, "
            f"and weights are calibrated to their sum in the original{met}"
        )

    def apply(self, columns: pl.DataFrame, context: Context) -> Change:
        """Strata, substitution, subsampling, calibration."""
        if context.weights is None or context.weight is None:
            hint = "name the column of weights; one of ones will do"
            raise self.refuse("its last step calibrates survey weights, and there are none", hint=hint)
        coded = [encode(column) for column in columns.iter_columns()]
        group, groups = rank_tuples([codes for _, codes in coded], [len(one) for one, _ in coded], columns.height)
        if groups < 2:
            raise ColumnError(
                f"{self.name}: {quoted(columns.columns)} have one combination of values only, or a stratum does"
            )
        first, stratum = first_of(group, groups), self._strata(np.bincount(group))
        of = stratum[group]
        order = np.lexsort((context.random.uniform(len(of)), of))
        size = np.bincount(of, minlength=len(self.keep))
        place = np.empty(len(of), np.int64)
        place[order] = np.arange(len(of)) - np.repeat(np.cumsum(size) - size, size)
        random = context.random.part("neighbours").generator()
        takes = np.floor(np.asarray(self.substitute) * size + random.random(len(size))).astype(np.int64)
        stays = takes + np.floor(np.asarray(self.keep) * (size - takes) + random.random(len(size))).astype(np.int64)
        source, changed = np.arange(len(of)), np.flatnonzero(place < takes[of])
        near = _neighbours(stratum, [(one, codes[first]) for one, codes in coded])
        drawn = near[group[changed], (random.random(len(changed)) * NEAR).astype(np.int64)]
        source[changed[drawn >= 0]] = first[drawn[drawn >= 0]]
        rows = np.flatnonzero(place < stays[of])
        made = columns[source[rows]]
        weights = self._calibrated(context, made, rows)
        facts = (Fact("rows", (), {"rows": len(rows)}),
                 Fact("total", (context.weight,), {"total": float(context.weights.sum())}))  # fmt: skip
        lows, highs = (1, *self.sizes), (*(n - 1 for n in self.sizes), None)
        stated = [
            {"alike": f"{low} or more" if high is None else str(low) if low == high else f"{low} to {high}",
             "substituted": takes, "kept": stays}
            for low, high, takes, stays in zip(lows, highs, self.substitute, self.keep, strict=True)
        ]  # fmt: skip
        return Change(made.with_columns(pl.Series(context.weight, weights)), rows, facts, {"strata": stated})

    def _strata(self, sizes: np.ndarray) -> np.ndarray:
        """The stratum of each combination of keys, by how many rows have it; too small strata join their neighbours."""
        stratum = np.searchsorted(self.sizes, sizes, side="right")
        for number in (*range(len(self.sizes)), *range(len(self.sizes), 0, -1)):
            here = stratum == number
            if 0 < here.sum() < 2 or 0 < sizes[here].sum() < FEWEST:
                others = np.unique(stratum[~here])
                below, above = others[others < number], others[others > number]
                if len(others):  # towards the one of lower risk, with the rates of the higher
                    joined = above[0] if len(above) else below[-1]
                    stratum[here | (stratum == joined)] = min(number, joined)
        return stratum

    def _calibrated(self, context: Context, made: pl.DataFrame, rows: np.ndarray) -> np.ndarray:
        """Weights that meet the totals, as near as can be to one factor for all: they tell nothing of strata."""
        before, names = context.weights, list(self.totals)
        assert before is not None
        after = context.table[rows].with_columns(made.iter_columns())
        sides = [np.ones((len(before), 1))], [np.ones((len(rows), 1))]
        for name in names:
            old, new = context.table.get_column(name), after.get_column(name)
            for side, x in zip(sides, _indicators(old, new, self), strict=True):
                side.append(x)
        x, y = (np.column_stack(side) for side in sides)
        if x.shape[1] > MOST:
            raise self.refuse("there are too many totals", got=f"{x.shape[1] - 1:,}", allowed=f"at most {MOST - 1}")
        start = before[rows] * (before.sum() / before[rows].sum())
        found = calibrated(start, y, before @ x)
        if found is None:
            what = f"no weights meet the totals of {quoted(names)}"
            raise self.refuse(what, hint="keep more rows, or name fewer totals, or columns with fewer categories")
        return found


def _many(given: Any) -> Sequence[Any]:
    return given if isinstance(given, list | tuple) else (given,)


def _neighbours(stratum: np.ndarray, keys: list[tuple[Categories, np.ndarray]]) -> np.ndarray:
    """For each combination of keys, in their order, near ones of the same stratum that miss the same values; -1 where
    there is none. Near are those of least distance (Gower 1971) among those next in order."""
    found = np.full((len(stratum), NEAR), -1, np.int64)
    for number in np.unique(stratum):
        here = np.flatnonzero(stratum == number)
        offsets = [o for o in range(-WINDOW, WINDOW + 1) if o]
        far = np.full((len(offsets), len(here)), np.inf)
        for i, o in enumerate(offsets):
            one = np.arange(max(0, -o), min(len(here), len(here) - o))
            far[i, one] = sum(_distance(categories, code[here[one]], code[here[one + o]]) for categories, code in keys)
        nearest = np.argsort(far, axis=0, kind="stable")[:NEAR]
        best = np.take_along_axis(far, nearest, axis=0)
        other = here[np.clip(np.arange(len(here)) + np.asarray(offsets)[nearest], 0, len(here) - 1)]
        there = np.where(np.isfinite(best), other, -1)
        found[here] = np.where(there >= 0, there, there[0]).T  # where there are fewer, the nearest more often
    return found


def _distance(categories: Categories, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """How far values are from each other, from 0 to 1; a missing one is infinitely far from others."""
    apart = (a != b).astype(np.float64)
    if categories.position is not None:
        width = np.nanmax(categories.position) - np.nanmin(categories.position)
        apart = np.abs(categories.position[a] - categories.position[b]) / (width or 1.0)
    if categories.missing:
        last = len(categories) - 1
        apart = np.where((a == last) != (b == last), np.inf, np.where(a == last, 0.0, apart))
    return apart


def _indicators(old: pl.Series, new: pl.Series, step: MASSC) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of a column, or whether it is each of its categories, in the input and in the release."""
    if kind_of_column(old) == "number":
        return (
            old.cast(pl.Float64).fill_null(0).to_numpy()[:, None],
            new.cast(pl.Float64).fill_null(0).to_numpy()[:, None],
        )
    texts = printed(old).drop_nulls().unique().sort()
    if len(texts) > MOST:
        raise step.refuse(f'"{old.name}" has too many categories for totals', got=f"{len(texts):,}", allowed=str(MOST))
    if len(texts) > printed(new).drop_nulls().n_unique():
        what = f'a category of "{old.name}" is in no row that is released, so its total cannot be met'
        raise step.refuse(what, hint="keep more rows, or leave the column out of the totals")
    before, after = (printed(one) for one in (old, new))
    return tuple(
        np.column_stack([(side == text).fill_null(value=False).to_numpy() for text in texts]).astype(np.float64)
        for side in (before, after)
    )  # type: ignore[return-value]


def calibrated(weights: np.ndarray, x: np.ndarray, totals: np.ndarray) -> np.ndarray | None:
    """Weights near to given ones, all above 0, whose weighted sums of the columns of x are the totals; None where there
    are none (raking ratio: Deville and Sarndal, "Calibration estimators in survey sampling", JASA 87, 1992).

    >>> calibrated(np.ones(4), np.array([[1.0, 0], [1, 0], [1, 1], [1, 1]]), np.array([10.0, 6])).round(6).tolist()
    [2.0, 2.0, 3.0, 3.0]
    """
    scale = np.abs(x).max(axis=0)
    scale[scale == 0] = 1.0
    x, totals = x / scale, totals / scale
    found, slack = weights.copy(), EXACT * max(1.0, float(np.abs(totals).max()))
    for _ in range(ROUNDS):
        gap = totals - found @ x
        if np.abs(gap).max() <= slack:
            return found
        step = x @ np.linalg.lstsq(x.T @ (x * found[:, None]), gap, rcond=1e-12)[0]
        found = found * np.exp(step / max(1.0, float(np.abs(step).max())))  # never by more than a factor of e at once
        if not np.isfinite(found).all():
            break
    return None
