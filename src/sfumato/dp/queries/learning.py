"""What private learning shares: features on a public scale, in whole numbers, and models that are plain values."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, ClassVar, Protocol

import numpy as np
import polars as pl

from sfumato.core.printed import printed
from sfumato.dp.queries.contingency_table import bin_codes
from sfumato.dp.queries.query import Draw, Part, Query
from sfumato.dp.rows import PrivateRows, RowView
from sfumato.dp.values import Public, Unit
from sfumato.errors import PolicyError

UNIT = 2**12  # steps from the middle of the bounds of a feature to an end
EXACT = 2**28  # rows of which sums of products of two features are exact as floating point numbers
MOST = 100  # features
BINS = 8  # of a feature, unless stated


class Learning(Query, Protocol):
    """A question that is answered by a model: a frozen value with `predict`, which is kept as plain values."""

    model: ClassVar[type[Any]]
    target: str
    features: Any

    def plain(self, value: Any) -> Any:
        """The fields of the model."""
        return asdict(value)

    def read(self, stored: Any) -> Any:
        """The model of these fields."""
        return self.model(**stored)

    @property
    def columns(self) -> tuple[str, ...]:
        """The target and the features."""
        return (self.target, *self.features)


class Adaptive(Query, Protocol):
    """A question whose later parts depend on what was drawn of earlier ones."""

    adaptive: ClassVar[bool] = True

    @abstractmethod
    def run(self, rows: PrivateRows, draw: Draw) -> list[Any]:
        """Draw the parts one after the other."""

    def exact(self, rows: PrivateRows) -> list[Any]:
        """The numbers of each part, where nothing was learnt of those before: noise is all of these."""
        parts = self.parts(rows.public, rows.unit)
        drawn = FixedDraws(parts, [np.zeros(part.width) for part in parts])
        self.run(rows, drawn)
        return drawn.seen


class FixedDraws:
    """Draws that are known beforehand: numbers, or for choices the places of candidates, taken to the least."""

    def __init__(self, parts: Sequence[Part], draws: Sequence[np.ndarray]) -> None:
        self.scales: list[float] = []
        self.seen: list[Any] = []
        self._parts, self._draws = parts, draws

    def __call__(self, values: Any) -> Any:
        part, own = self._parts[len(self.seen)], self._draws[len(self.seen)]
        self.seen.append(values)
        self.scales.append(1.0)
        if part.candidates is None:
            return own.tolist()
        at = own.astype(np.int64).reshape(part.cells, -1)[:, : part.chosen] % len(part.candidates)
        found = [[part.candidates[i] for i in one] for one in at]
        return found if part.cells > 1 else found[0]


def settle_names(query: Any) -> None:
    """Check the names of the target and of the features."""
    names = query.features
    if not 1 <= len(names) <= MOST or len(set(names)) < len(names) or query.target in names:
        what = "a model has a target, and some other columns as features"
        raise PolicyError(what, allowed=f"linear-regression pay features=age,sex; up to {MOST} features")


@dataclass(frozen=True)
class FeatureDesign:
    """Features as numbers between -1 and 1: a one for the intercept, numbers by their bounds, and of categories one
    for each public value but the first, which the others are compared with."""

    features: tuple[str, ...]
    bounds: Mapping[str, tuple[float, float]]
    keys: Mapping[str, tuple[str, ...]]

    @staticmethod
    def of(features: Sequence[str], public: Public) -> FeatureDesign:
        """The design of these columns, each of which has public bounds or values."""
        bounds = {name: public.ends(name) for name in features if name not in public.keys}
        return FeatureDesign(
            tuple(features), bounds, {name: public.keys[name] for name in features if name in public.keys}
        )

    @property
    def names(self) -> list[str]:
        """What the coefficients are of."""
        found = ["intercept"]
        for name in self.features:
            found += [name] if name in self.bounds else [f"{name}={value}" for value in self.keys[name][1:]]
        return found

    @property
    def slots(self) -> int:
        """How many of them a row has that are not 0, at most."""
        return 1 + len(self.features)

    def scaled(self, columns: Mapping[str, pl.Series], height: int) -> tuple[np.ndarray, np.ndarray]:
        """The numbers of each row, and which rows have a known value in all columns."""
        there, found = np.ones(height, np.bool_), [np.ones(height)]
        for name in self.features:
            column = columns[name]
            if name in self.bounds:
                own = scaled(column, self.bounds[name])
                there &= ~np.isnan(own)
                found.append(np.nan_to_num(own))
            else:
                code = codes_of(column, self.keys[name])
                there &= code >= 0
                found += [(code == i).astype(np.float64) for i in range(1, len(self.keys[name]))]
        return np.column_stack(found), there

    def encoded(self, view: RowView, there: np.ndarray, target: np.ndarray | None = None) -> EncodedFeatures:
        """The same in whole steps, and a target after them, of rows that are `there` and have all values."""
        there, numbers, categories, at = there.copy(), {}, [], 1
        for name in self.features:
            if name in self.bounds:
                ends = self.bounds[name]
                own = view.codes(name, ("scaled", ends), partial(steps_of, ends=ends))
                there &= ~np.isnan(own)
                numbers[at] = own
                at += 1
            else:
                values = self.keys[name]
                code = view.codes(name, tuple(values), partial(codes_of, values=values))
                there &= code >= 0
                categories.append((at, code, len(values) - 1))
                at += len(values) - 1
        if target is not None:
            numbers[at] = target
        columns = [np.full(view.height, float(UNIT)), *numbers.values()]
        block = np.column_stack([np.where(there, own, 0.0) for own in columns])
        cells = [(start, np.where(there, code, 0) - 1, size) for start, code, size in categories]
        return EncodedFeatures(view, [0, *numbers], block, cells, at + (target is not None))

    def in_units(self) -> np.ndarray:
        """What makes coefficients of the columns themselves out of those of scaled features."""
        back = np.eye(len(self.names))
        for at, name in enumerate(self.names):
            if name in self.bounds:
                low, high = self.bounds[name]
                back[at, at] = 2 / (high - low)
                back[0, at] = -(low + high) / (high - low)
        return back


def scaled(column: pl.Series, ends: tuple[float, float]) -> np.ndarray:
    """Numbers between -1 and 1, as they lie between two ends; NaN where there is none."""
    low, high = ends
    known = column.cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy()
    return np.clip((known - (low + high) / 2) / ((high - low) / 2), -1.0, 1.0)


def codes_of(column: pl.Series, values: Sequence[str]) -> np.ndarray:
    """The number of each value among public ones, -1 where it is none of them."""
    codes = pl.DataFrame({"v": list(values), "c": np.arange(len(values))}, schema_overrides={"v": pl.String})
    texts = printed(column).fill_null("").to_frame("v")
    return texts.join(codes, on="v", how="left", maintain_order="left")["c"].fill_null(-1).to_numpy()


def steps_of(column: pl.Series, ends: tuple[float, float]) -> np.ndarray:
    """Numbers in whole steps between two ends, as floating point numbers; NaN where there is none."""
    return np.rint(scaled(column, ends) * UNIT)


@dataclass(frozen=True, eq=False)
class EncodedFeatures:
    """Features of rows in whole steps: a block of numbers, `at` their places among the coefficients, and of each
    category where it begins, which of its places a row has a one at (-1 is none), and how many it has.

    Sums are exact whatever the order of rows is, so that a row's own share depends on no other.
    """

    view: RowView
    at: list[int]
    block: np.ndarray
    categories: list[tuple[int, np.ndarray, int]]
    width: int

    def moments(self) -> np.ndarray:
        """The sums of products of all pairs of coefficients' features."""
        found = np.zeros((self.width, self.width), np.int64)
        found[np.ix_(self.at, self.at)] = self._sums(self.block, self.block)
        for i, (start, cell, size) in enumerate(self.categories):
            own = np.arange(start, start + size)
            for j, place in enumerate(self.at):
                with_number = self.view.per_cell(cell, size, self.block[:, j]) * UNIT
                found[own, place] = found[place, own] = with_number
            found[own, own] = self.view.per_cell(cell, size) * UNIT**2
            for after, other, many in self.categories[i + 1 :]:
                both = np.where((cell >= 0) & (other >= 0), cell * many + other, -1)
                pairs = self.view.per_cell(both, size * many).reshape(size, many) * UNIT**2
                found[start : start + size, after : after + many] = pairs
                found[after : after + many, start : start + size] = pairs.T
        return found

    def dot(self, beta: np.ndarray) -> np.ndarray:
        """Features times whole coefficients."""
        found = self.block @ beta[self.at]
        for start, cell, size in self.categories:
            found += np.append(beta[start : start + size] * UNIT, 0.0)[cell]
        return found

    def sums(self, values: np.ndarray) -> np.ndarray:
        """The sums of features times whole numbers of the rows."""
        found = np.zeros(self.width, np.int64)
        found[self.at] = self._sums(self.block, values)
        for start, cell, size in self.categories:
            found[start : start + size] = self.view.per_cell(cell, size, values) * UNIT
        return found

    def sums_by(self, who: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The same for each of some groups of rows."""
        often = values if self.view.times is None else values * self.view.times
        groups = int(who.max(initial=-1)) + 1
        found = np.zeros((groups, self.width))
        for j, place in enumerate(self.at):
            found[:, place] = np.bincount(who, self.block[:, j] * often, groups)
        for start, cell, size in self.categories:
            there = cell >= 0
            own = np.bincount(who[there] * size + cell[there], often[there], groups * size)
            found[:, start : start + size] = own.reshape(groups, size) * UNIT
        return found

    def _sums(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        if self.view.times is not None:
            one = one * self.view.times[:, None]
        if self.view.total() <= EXACT:
            return np.rint(one.T @ other).astype(np.int64)
        return np.asarray(one.T.astype(np.int64) @ other.astype(np.int64))


def moments_part(design: FeatureDesign, unit: Unit, target: bool, share: int = 1) -> Part:
    """What a unit changes these by, the square of a target left out: each product of two slots of a row by 1 at most.

    Where a row is exchanged, a product with a number changes sign, a square of a number stays above 0, and products of
    categories leave one place for another.
    """
    numbers, categories, own = len(design.bounds), len(design.keys), int(target)
    slots = design.slots
    l1 = squares = slots * (slots + 1) // 2 + own * slots
    if unit.times == 2:
        signed = numbers + math.comb(numbers, 2) + numbers * categories + own * slots
        moved = 2 * categories + math.comb(categories, 2)
        l1, squares = max(l1, numbers + 2 * (signed + moved)), max(squares, numbers + 4 * signed + 2 * moved)
    width = len(design.names) * (len(design.names) + 1) // 2 + own * len(design.names)
    l2 = unit.rows * math.sqrt(squares) * UNIT**2
    return Part(width, unit.rows * l1 * UNIT**2, UNIT**-2, share, l2)


def symmetric(entries: Sequence[float], width: int) -> np.ndarray:
    """A matrix from the entries of its upper triangle."""
    found = np.zeros((width, width))
    found[np.triu_indices(width)] = entries
    return found + np.triu(found, 1).T


def inverse(matrix: np.ndarray, least: float) -> tuple[np.ndarray, float]:
    """The inverse of a noisy matrix whose eigenvalues are raised to a least one, which makes it one of a ridge in the
    directions that noise drowns; and the least eigenvalue that it had."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors / np.maximum(values, max(least, 1e-9))) @ vectors.T, float(values[0])


def noise_of_matrix(spread: float, width: int) -> float:
    """About the largest eigenvalue of a matrix of noise, by half its 95% interval."""
    return spread * math.sqrt(width)


@dataclass(frozen=True)
class Binned:
    """A feature in public bins, by their ascending `edges`, or of public `values`."""

    column: str
    edges: tuple[float, ...] = ()
    values: tuple[str, ...] = ()

    @staticmethod
    def of(name: str, public: Public, bins: int) -> Binned:
        """A column with public values, or bins of equal width between its bounds."""
        if name in public.keys:
            return Binned(name, values=public.keys[name])
        return Binned(name, tuple(float(edge) for edge in np.linspace(*public.ends(name), bins + 1)))

    @property
    def size(self) -> int:
        """How many bins or values there are."""
        return len(self.values) or len(self.edges) - 1

    def codes_in(self, view: RowView) -> np.ndarray:
        """The same of the rows that a query looks at, kept for the next one."""
        return view.codes(self.column, self.values or ("binned", self.edges), self.codes)

    def codes(self, column: pl.Series) -> np.ndarray:
        """The number of the bin or value of each row, -1 where it has none; numbers beyond the ends are in the bins
        there."""
        if self.values:
            return codes_of(column, self.values)
        x = column.cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy()
        edges = np.array(self.edges)
        return bin_codes(np.clip(x, edges[0], edges[-1]), edges)
