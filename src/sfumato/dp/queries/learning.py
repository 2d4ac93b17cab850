"""What private learning shares: features on a public scale, in whole numbers, and models that are plain values."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import polars as pl

from sfumato.core.parameters import column_name, column_names
from sfumato.core.printed import printed
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
    column_name(query.target, "target")
    names = column_names((query.features,) if isinstance(query.features, str) else query.features, "features")
    if not 1 <= len(names) <= MOST or len(set(names)) < len(names) or query.target in names:
        what = "a model has a target, and some other columns as features"
        raise PolicyError(what, allowed=f'target="pay", features=["age", "sex"], up to {MOST}')
    object.__setattr__(query, "features", names)


@dataclass(frozen=True)
class Design:
    """Features as numbers between -1 and 1: a one for the intercept, numbers by their bounds, and of categories one
    for each public value but the first, which the others are compared with."""

    features: tuple[str, ...]
    bounds: Mapping[str, tuple[float, float]]
    keys: Mapping[str, tuple[str, ...]]

    @staticmethod
    def of(features: Sequence[str], public: Public) -> Design:
        """The design of these columns, each of which has public bounds or values."""
        bounds = {name: public.ends(name) for name in features if name not in public.keys}
        return Design(tuple(features), bounds, {name: public.keys[name] for name in features if name in public.keys})

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

    def matrix(self, view: RowView) -> tuple[np.ndarray, np.ndarray]:
        """The same in whole steps, as floating point numbers of which sums of products are exact; 0 throughout of rows
        that lack a value."""
        found, there = self.scaled({name: view.column(name) for name in self.features}, view.height)
        return np.rint(found * UNIT) * there[:, None], there

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


def products(view: RowView, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Sums over all rows of products of whole numbers, exactly whatever their order."""
    if view.times is not None:
        one = one * (view.times if one.ndim == 1 else view.times[:, None])
    if view.total() <= EXACT:
        return np.rint(one.T @ other).astype(np.int64)
    return np.asarray(one.T.astype(np.int64) @ other.astype(np.int64))


def moments(view: RowView, matrix: np.ndarray) -> np.ndarray:
    """The sums of products of all pairs of columns of a matrix, each once."""
    return products(view, matrix, matrix)[np.triu_indices(matrix.shape[1])]


def moments_part(design: Design, unit: Unit, target: bool, share: int = 1) -> Part:
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
    """A matrix from what `moments` gives."""
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

    def codes(self, column: pl.Series) -> np.ndarray:
        """The number of the bin or value of each row, -1 where it has none; numbers beyond the ends are in the bins
        there."""
        if self.values:
            return codes_of(column, self.values)
        x = column.cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy()
        code = np.clip(np.searchsorted(self.edges, x, side="right") - 1, 0, self.size - 1)
        return np.where(np.isnan(x), -1, code)
