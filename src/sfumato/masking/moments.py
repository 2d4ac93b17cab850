"""What the maskers that add noise share: moments of rows that come in parts, and the grid that noisy values lie on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from sfumato.core.covariance import mean_and_covariance
from sfumato.core.masked import Context, Fact, MaskStep, as_numbers, no_value, numbers_of, refuse_constant
from sfumato.core.random_stream import RandomStream
from sfumato.core.wording import count, quoted
from sfumato.errors import ColumnError

DIGITS = 3  # of the noise that are released: the floats of a sum would tell what was added (Mironov 2012)
MOST = 1e6  # of the noise over the standard deviation of a column
ALL_DIGITS = 15  # of a float
FEWEST = 10  # rows whose moments are kept: those of fewer tell their values
FINEST, COARSEST = -6, 9  # powers of ten that the unit of a column is looked for among
FAR = 1e6  # times the standard deviation: a float has sixteen digits, and moments are kept to nine


@dataclass(frozen=True, eq=False)
class Scatter:
    """Rows, their weight, means and sums of squares about these: of two sets of rows they add up (Chan, Golub and
    LeVeque, "Algorithms for computing the sample variance", The American Statistician 37, 1983)."""

    rows: int
    weight: float
    mean: np.ndarray
    squares: np.ndarray

    @staticmethod
    def of(x: np.ndarray, weights: np.ndarray | None) -> Scatter:
        """That of complete rows."""
        if not len(x):
            return Scatter(0, 0.0, np.zeros(x.shape[1]), np.zeros((x.shape[1],) * 2))
        mean, covariance = mean_and_covariance(x, weights) if len(x) > 1 else (x[0], np.zeros((x.shape[1],) * 2))
        weight = float(len(x)) if weights is None else float(weights.sum())
        return Scatter(len(x), weight, mean, covariance * ((len(x) - 1) * weight / len(x)))

    def __add__(self, other: Scatter) -> Scatter:
        if not self.rows or not other.rows:
            return self if self.rows else other
        weight, apart = self.weight + other.weight, other.mean - self.mean
        squares = self.squares + other.squares + np.outer(apart, apart) * (self.weight * other.weight / weight)
        return Scatter(self.rows + other.rows, weight, self.mean + apart * (other.weight / weight), squares)

    @property
    def covariance(self) -> np.ndarray:
        """Covariances (n - 1), under the weights."""
        return np.asarray(self.squares * (self.rows / self.weight / (self.rows - 1)))


@dataclass(frozen=True, eq=False)
class Moments:
    """What noise has to know of columns of numbers; of two sets of rows it adds up."""

    low: np.ndarray
    high: np.ndarray
    unit: np.ndarray
    size: np.ndarray  # sums of absolute values
    each: tuple[Scatter, ...]  # of the known values of each column
    complete: Scatter  # of complete rows; of none where it was not asked for

    def __add__(self, other: Moments) -> Moments:
        return Moments(
            np.fmin(self.low, other.low),
            np.fmax(self.high, other.high),
            np.minimum(self.unit, other.unit),
            self.size + other.size,
            tuple(one + more for one, more in zip(self.each, other.each, strict=True)),
            self.complete + other.complete,
        )

    @property
    def known(self) -> np.ndarray:
        """How many values each column has."""
        return np.array([one.rows for one in self.each])

    @property
    def deviations(self) -> np.ndarray:
        """The standard deviation of each column."""
        return np.array([np.sqrt(one.covariance[0, 0]) for one in self.each])


def moments_of(columns: pl.DataFrame, context: Context, step: MaskStep, together: bool = False) -> Moments:
    """The moments of some rows; `together` for covariances too."""
    x = numbers_of(columns, step, some=True)
    known, w = ~np.isnan(x), context.weights
    each = [Scatter.of(c[k, None], None if w is None else w[k]) for c, k in zip(x.T, known.T, strict=True)]
    rows = np.flatnonzero(known.all(axis=1)) if together else np.empty(0, np.int64)
    whole = Scatter.of(x[rows], None if w is None else w[rows])
    low, high = (f.reduce(x, axis=0, initial=np.nan) for f in (np.fmin, np.fmax))
    units = np.array([unit_of(column) for column in x.T])
    return Moments(low, high, units, np.nansum(np.abs(x), axis=0), tuple(each), whole)


def looked_at(
    columns: pl.DataFrame, context: Context, step: MaskStep, together: bool = False
) -> tuple[np.ndarray, Moments]:
    """Numbers, and the moments of all rows; columns that have no value, or only one, are refused."""
    x, names = numbers_of(columns, step, some=True), columns.columns
    seen = moments_of(columns, context, step, together) if context.seen is None else context.seen
    refuse_empty(seen, names, step)
    refuse_constant(np.array([seen.low, seen.high]), names, step)
    return x, seen


def refuse_empty(seen: Moments, names: list[str], step: MaskStep) -> None:
    """Raise a ColumnError for a column without values."""
    for name, known in zip(names, seen.known.tolist(), strict=True):
        if not known:
            raise no_value(name, step)


def standard_deviations(x: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """The standard deviation of the known values of each column."""
    known = ~np.isnan(x)
    found = []
    for column, there in zip(x.T, known.T, strict=True):
        w = None if weights is None else weights[there]
        found.append(np.sqrt(mean_and_covariance(column[there, None], w)[1][0, 0]))
    return np.array(found)


def complete_rows(x: np.ndarray, step: MaskStep, fewest: int = 0) -> np.ndarray:
    """Which rows have all values; a ColumnError where there are too few for a covariance of the columns, or fewer than
    the `fewest`."""
    rows = np.flatnonzero(~np.isnan(x).any(axis=1))
    refuse_incomplete(len(rows), x.shape[1], step, fewest)
    return rows


def refuse_incomplete(rows: int, columns: int, step: MaskStep, fewest: int = 0) -> None:
    """Raise a ColumnError where too few rows are complete for a covariance of so many columns."""
    if rows < (least := max(columns + 2, fewest)):
        got = f"{count(rows, 'complete row')} for {count(columns, 'column')}"
        hint, allowed = "give it fewer columns, or those with fewer missing values", f"at least {least}"
        raise ColumnError(f"{step.name}: too few rows have all values", got=got, allowed=allowed, hint=hint)


def are_enough(x: np.ndarray) -> bool:
    """Whether the moments of rows may be kept: those of few rows, or of equal values, are values of people."""
    return len(x) >= max(x.shape[1] + 2, FEWEST) and bool(np.ptp(x, axis=0).all())


def patterns(x: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows that have values in the same columns, with these columns; rows without any value are left out."""
    known = ~np.isnan(x)
    if known.all():
        yield np.arange(len(x)), np.arange(x.shape[1])
        return
    kinds, of_row = np.unique(np.packbits(known, axis=1), axis=0, return_inverse=True)
    order = np.argsort(of_row.ravel(), kind="stable")
    ends = np.cumsum(np.bincount(of_row.ravel(), minlength=len(kinds)))
    for rows in np.split(order, ends[:-1]):
        columns = np.flatnonzero(known[rows[0]])
        if len(columns):
            yield rows, columns


def normals(random: RandomStream, names: list[str], rows: int) -> np.ndarray:
    """A standard normal number for each row and column."""
    return np.column_stack([random.part(name).normal(rows) for name in names])


def same_moments(names: list[str], context: Context) -> tuple[Fact, ...]:
    """The facts of a step that keeps means and covariances, weighted ones where there are weights."""
    stated = {} if context.weight is None else {"weight": context.weight}
    return tuple(Fact(fact, tuple(names), stated) for fact in ("means", "covariances"))


def refuse_far(x: np.ndarray, names: list[str], step: MaskStep) -> None:
    """Raise a ColumnError where values lie so far from zero beside their spread that floats cannot keep moments."""
    spread = standard_deviations(x, None)
    if far := [
        name for name, most, sd in zip(names, np.nanmax(np.abs(x), axis=0), spread, strict=True) if most > FAR * sd
    ]:
        lie = "lies" if len(far) == 1 else "lie"
        what = f"{step.name}: {quoted(far)} {lie} so far from zero that means and covariances cannot be kept exactly"
        raise ColumnError(
            what, hint="take a constant off, such as the year of dates as numbers, or use correlated-noise"
        )


def unit_of(x: np.ndarray) -> float:
    """The largest power of ten that all values are multiples of; 0 where there is none.

    >>> unit_of(np.array([1200.0, 300.0, np.nan])), unit_of(np.array([0.25, 7])), unit_of(np.array([1 / 3]))
    (100.0, 0.01, 0.0)
    """
    known = x[~np.isnan(x)]
    for power in range(COARSEST, FINEST - 1, -1):
        if all(bool((np.round(part, -power) == part).all()) for part in (known[:1000], known)):
            return 10.0**power
    return 0.0


def refuse_undone(name: str, spread: float, unit: float, step: MaskStep) -> None:
    """Raise a ColumnError where noise is so small beside the unit of a column that rounding gives most values back."""
    if spread < unit / 2:
        raise ColumnError(
            f'{step.name}: the noise is so small beside the unit of column "{name}" that rounding undoes it',
            allowed="noise of at least half a unit, such as 1 of whole numbers",
            hint="ask for more noise, or leave the column out",
        )


def decimals(spread: float, unit: float, *, exact: bool = False) -> int:
    """How many decimals of noisy values are released: about a thousandth of the noise, no more than the originals have;
    `exact`, as many as these have, fewer than none in hundreds: digits do not tell noisy values among others.

    >>> decimals(0.2, 0.0), decimals(0.2, 0.01), decimals(50000, 0.01), decimals(50000, 0.01, exact=True)
    (4, 2, -1, 2)
    >>> decimals(50000, 100), decimals(50000, 100, exact=True), decimals(0.2, 0.0, exact=True)
    (-1, -2, 16)
    """
    size = int(np.floor(np.log10(spread)))
    if exact:
        return -round(np.log10(unit)) if unit else ALL_DIGITS - size
    return min(DIGITS - size, max(-round(np.log10(unit)), 0)) if unit else DIGITS - size


def on_grid(
    columns: pl.DataFrame, y: np.ndarray, units: np.ndarray, spread: np.ndarray, step: MaskStep
) -> tuple[pl.DataFrame, tuple[Fact, ...]]:
    """Noisy values `y` on a grid of about a thousandth of the noise, whole ones where the originals are whole.

    `units` are those of the originals, `spread` is the standard deviation of the noise.
    """
    made, facts = np.empty_like(y), []
    for i, (name, unit) in enumerate(zip(columns.columns, units.tolist(), strict=True)):
        refuse_undone(name, spread[i], unit, step)
        places = decimals(spread[i], unit)
        made[:, i] = np.round(y[:, i], places)
        facts.append(points(name, places))
    return as_numbers(columns, made), tuple(facts)


def points(name: str, places: int) -> Fact:
    """The fact that a column has so many decimals."""
    return Fact("points", (name,), {"base": 10.0**-places if places > 0 else 10**-places})
