"""Lossy compression: few coefficients of a cosine transform or few singular vectors stand for the numbers
(Domingo-Ferrer and Torra, "Disclosure control methods and information loss for microdata", 2001; Ahmed, Natarajan and
Rao, "Discrete cosine transform", IEEE Transactions on Computers 1974)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import polars as pl

from sfumato.core.covariance import mean_and_covariance
from sfumato.core.masked import Change, Context, Fact, MaskStep, as_numbers, numbers_of, refuse_constant
from sfumato.core.parameters import Column, OneOf, Real, Whole
from sfumato.core.wording import count, percent

KEEP = 0.01  # unless it is given


@dataclass(frozen=True)
class LossyCompression(MaskStep):
    """Compress numbers with loss, and release what is read back: small differences between rows are gone.

    kind: "cosine", each column by itself: of the coefficients of its cosine transform the largest stay, a share `keep`
    of them, 0.01 unless given; "singular", all columns together: of the singular vectors of the standardised columns
    the first `rank` stay, half as many as there are columns unless given. keep: the share of coefficients that stay.
    rank: how many singular vectors stay. order: the column in whose order the rows are transformed, under "cosine";
    None for the order of the values themselves, which loses least.
    """

    kind: Annotated[Any, OneOf(("cosine", "singular"))] = "cosine"
    keep: Annotated[Any, Real(0, 1, above=True)] = None
    rank: Annotated[Any, Whole()] = None
    order: Annotated[Any, Column()] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        cosine = self.kind == "cosine"
        for name, of_cosine in (("keep", True), ("order", True), ("rank", False)):
            if getattr(self, name) is not None and of_cosine != cosine:
                allowed = "keep, order" if cosine else "rank"
                raise self.refuse(f'{name} is no parameter of kind "{self.kind}"', allowed=allowed)
        if cosine and self.keep is None:
            self.settle(keep=KEEP)

    kinds = ("number",)
    leaves = (
        "What is near to a curve, or to a few directions, hardly changes; the order of most rows stays. Whoever knows"
        " all rows but one learns that one from the means."
    )

    @property
    def needs(self) -> tuple[str, ...]:
        """The column that orders the rows."""
        return () if self.order is None or self.order in self.columns else (self.order,)

    def sentence(self) -> str:
        """What it does."""
        if self.kind == "cosine":
            by = "of their own values" if self.order is None else f'of "{self.order}"'
            return f"of the cosine transform of each column, in the order {by}, the largest {percent(self.keep)} stay"
        return f"of the standardised columns the first {_vectors(self.rank)} stay"

    def apply(self, columns: pl.DataFrame, context: Context) -> Change:
        """Compress the columns; where no value is missing, or each column is by itself, means stay exactly."""
        x, names = numbers_of(columns, self), columns.columns
        refuse_constant(x, names, self)
        if self.kind == "singular":
            y = self._projected(x, names, context.weights)
            stated = {} if context.weight is None else {"weight": context.weight}
            facts = () if np.isnan(x).any() else (Fact("means", tuple(names), stated),)
            return Change(as_numbers(columns, y), facts=facts)
        y = x.copy()
        for i in range(len(names)):
            rows = np.flatnonzero(~np.isnan(x[:, i]))
            rows = context.random.part(names[i]).generator().permutation(rows)  # equal values tell no order of rows
            by = pl.Series(x[rows, i]) if self.order is None else context.table.get_column(self.order)[rows]
            rows = rows[np.argsort(by.rank("ordinal").fill_null(len(rows) + 1).to_numpy(), kind="stable")]
            y[rows, i] = compressed(x[rows, i], float(self.keep))
        return Change(as_numbers(columns, y), facts=tuple(Fact("means", (name,)) for name in names))

    def _projected(self, x: np.ndarray, names: list[str], weights: np.ndarray | None) -> np.ndarray:
        """Standardised rows, projected on the first singular vectors; a missing value counts as the mean."""
        rank = max(len(names) // 2, 1) if self.rank is None else int(self.rank)
        if rank >= len(names):
            got = f"{count(len(names), 'column')}, rank {rank}"
            raise self.refuse("the rank must be below the number of columns", got=got, hint="all else changes nothing")
        known = ~np.isnan(x)
        w = np.ones(len(x)) if weights is None else weights
        mean = np.array([mean_and_covariance(x[there, i, None], w[there])[0][0] for i, there in enumerate(known.T)])
        centred = np.where(known, x - mean, 0.0)
        centred -= np.average(centred, axis=0, weights=w)
        sd = np.sqrt(np.diag(mean_and_covariance(centred, weights)[1]))
        z = centred / sd
        _, vectors = np.linalg.eigh((z * w[:, None]).T @ z)  # the right singular vectors, by ascending singular values
        first = vectors[:, -rank:]
        return np.where(known, z @ first @ first.T * sd + mean, np.nan)


def _vectors(rank: int | None) -> str:
    return "half of the singular vectors" if rank is None else count(rank, "singular vector")


def cosine_transform(x: np.ndarray) -> np.ndarray:
    """The orthonormal cosine transform of type II, by a Fourier transform of the same length (Makhoul 1980).

    >>> cosine_transform(np.array([1.0, 1, 1, 1])).round(12).tolist()
    [2.0, 0.0, 0.0, 0.0]
    """
    n = len(x)
    turned = np.fft.fft(np.concatenate([x[::2], x[1::2][::-1]]))
    found = np.real(turned * np.exp(-0.5j * np.pi * np.arange(n) / n)) * np.sqrt(2 / n)
    found[0] /= np.sqrt(2)
    return np.asarray(found)


def inverse_cosine_transform(c: np.ndarray) -> np.ndarray:
    """What a cosine transform was made of.

    >>> inverse_cosine_transform(cosine_transform(np.array([3.0, 1, 2]))).round(12).tolist()
    [3.0, 1.0, 2.0]
    """
    n = len(c)
    scaled = c * np.sqrt(n / 2)
    scaled[0] *= np.sqrt(2)
    back = np.concatenate([[0.0], scaled[:0:-1]])
    turned = np.real(np.fft.ifft((scaled - 1j * back) * np.exp(0.5j * np.pi * np.arange(n) / n)))
    found = np.empty(n)
    found[::2], found[1::2] = turned[: (n + 1) // 2], turned[(n + 1) // 2 :][::-1]
    return found


def compressed(x: np.ndarray, keep: float) -> np.ndarray:
    """A sequence from its largest coefficients; the first, which is the mean, stays always."""
    mean = x.mean()
    c = cosine_transform(x - mean)
    stay = max(int(keep * len(c)), 1)
    if stay < len(c):
        c[np.argpartition(np.abs(c), len(c) - stay)[: len(c) - stay]] = 0.0
    c[0] = 0.0
    return np.asarray(inverse_cosine_transform(c) + mean)
