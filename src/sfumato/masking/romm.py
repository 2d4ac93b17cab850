"""Random orthogonal matrix masking (Ting, Fienberg and Trottini, "Random orthogonal matrix masking methodology for
microdata release", International Journal of Information and Computer Security 2, 2008)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import polars as pl

from sfumato.core.covariance import mean_and_covariance, root
from sfumato.core.masked import Change, Context, MaskStep, as_numbers, numbers_of, refuse_constant
from sfumato.core.parameters import Share
from sfumato.core.wording import number
from sfumato.masking.moments import FEWEST, are_enough, complete_rows, normals, patterns, refuse_far, same_moments

BLOCK = 17  # rows that are mixed with each other: a matrix of all rows would have the square of their number
AT_ONCE = 1 << 10  # blocks whose matrices are held at a time


@dataclass(frozen=True)
class ROMM(MaskStep):
    """Mix rows by a random orthogonal matrix, which keeps means, variances and covariances exactly (ROMM).

    p: the share of mixing, from 0, where rows stay as they are, to 1, where nothing is left of them but a random
    rotation; it changes values as much as restricted noise with a share of p / (1 - p). Rows are dealt at random
    into blocks of seventeen or a few more, each with a matrix of its own that fixes the vector of ones. Rows that
    have values in the same columns are mixed, where they are ten, and two more than these columns; a few rows with
    missing values of their own kind get normal noise as strong. Whole numbers become decimals.
    """

    p: Annotated[Any, Share(above=True)] = 0.5

    kinds = ("number",)
    leaves = (
        "A value far from all others still stands out where the share of mixing is small; several releases of a table"
        " average the mixing out. Whoever knows all rows but one learns that one from the means."
    )

    def sentence(self) -> str:
        """What it does."""
        return (
            f"rows are mixed by random orthogonal matrices, with a share of mixing of {number(self.p)}: means and"
            " covariances stay exactly"
        )

    def apply(self, columns: pl.DataFrame, context: Context) -> Change:
        """Mix the rows."""
        x, p = numbers_of(columns, self), float(self.p)
        refuse_constant(x, columns.columns, self)
        refuse_far(x, columns.columns, self)
        rows, w = complete_rows(x, self, FEWEST), context.weights
        mean, covariance = mean_and_covariance(x[rows], None if w is None else w[rows])
        length = np.hypot(1 - p, p)
        e = normals(context.random, columns.columns, len(x)) @ root(covariance) if np.isnan(x).any() else 0.0
        y = mean + ((1 - p) * (x - mean) + p * e) / length
        chance = context.random.part("rows").generator()
        for rows, known in patterns(x):
            at = np.ix_(rows, known)
            if are_enough(x[at]):
                y[at] = mixed(x[at], None if w is None else w[rows], p, chance)
        return Change(as_numbers(columns, y), facts=same_moments(columns.columns, context))


def mixed(x: np.ndarray, weights: np.ndarray | None, p: float, chance: np.random.Generator) -> np.ndarray:
    """Rows mixed within random blocks. Under weights it is rows times the roots of theirs that are rotated, and the
    vector of these roots that is fixed: it is then the weighted moments that stay."""
    scale = np.ones(len(x)) if weights is None else np.sqrt(weights)
    y = np.empty_like(x)
    for rows in blocks(len(x), chance):
        s = scale[rows]
        y[rows] = rotated(x[rows] * s[:, :, None], s, p, chance) / s[:, :, None]
    return y


def blocks(rows: int, chance: np.random.Generator) -> Iterator[np.ndarray]:
    """Rows dealt at random into blocks, all of a size or of two sizes: matrices of row numbers, one row a block."""
    order, often = chance.permutation(rows), max(rows // BLOCK, 1)
    size, larger = divmod(rows, often)
    cut = larger * (size + 1)
    for dealt in (order[:cut].reshape(larger, size + 1), order[cut:].reshape(often - larger, size)):
        yield from (dealt[i : i + AT_ONCE] for i in range(0, len(dealt), AT_ONCE))


def rotation_of(block: np.ndarray, p: float, chance: np.random.Generator) -> np.ndarray:
    """Blocks of rows, each turned by a random orthogonal matrix: the Cayley transform of a skew one, whose size
    makes (1 - p) / sqrt(p^2 + (1 - p)^2) the mean of the diagonal, by the semicircle law of its eigenvalues."""
    often, size, _ = block.shape
    radius = np.sqrt((4 / (1 + (1 - p) / np.hypot(p, 1 - p)) - 1) ** 2 - 1)
    drawn = radius / np.sqrt(8 * size) * chance.standard_normal((often, size, size))
    skew = drawn - drawn.transpose(0, 2, 1)
    return np.asarray(2 * np.linalg.solve(np.eye(size) + skew, block) - block)


def rotated(rows: np.ndarray, fixed: np.ndarray, p: float, chance: np.random.Generator) -> np.ndarray:
    """Blocks of rows, rotated in the space that is orthogonal to a fixed vector, to which a reflection leads."""
    v = fixed / np.linalg.norm(fixed, axis=1, keepdims=True)
    v[:, 0] += 1
    v /= np.linalg.norm(v, axis=1, keepdims=True)

    def reflected(x: np.ndarray) -> np.ndarray:
        return np.asarray(x - 2 * v[:, :, None] * (v[:, None, :] @ x))

    turned = reflected(rows)
    turned[:, 1:] = rotation_of(turned[:, 1:], p, chance)
    return reflected(turned)
