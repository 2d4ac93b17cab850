"""The log-linear model of disclosure risk.

C. Skinner, N. Shlomo, Assessing identification risk in survey microdata using log-linear models, JASA 103, 2008.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Annotated, Any

import numpy as np

from sfumato.core.cells import Cells
from sfumato.core.keys import rank_tuples
from sfumato.core.parameters import checked
from sfumato.measures.arguments import COUNT, FRACTION, QUASI, TABLE
from sfumato.measures.risk.kernels import fit_pairs
from sfumato.measures.risk.keys import Keys, keys_of
from sfumato.measures.table import table_of

SWEEPS, TOLERANCE = 1000, 1e-7
MOST_SWEEPS, WORK = 50_000, 50_000_000  # of a small table: fits at the edge of what is possible converge slowly


@checked
def log_linear(
    df: Annotated[Any, TABLE],
    quasi: Annotated[Sequence[str], QUASI],
    sampling_fraction: Annotated[float, FRACTION],
    *,
    most_cells: Annotated[int, COUNT] = 2_000_000,
) -> dict[str, Any]:
    """How many sample uniques are expected to be unique in the population (tau1), and to be correctly matched (tau2).

    The table of the keys is modelled as Poisson counts with sample means mu, under independence of the keys and under
    all two-way interactions (by iterative proportional fitting). With lambda = mu/pi, the population rate, and pi the
    sampling fraction: tau1 = sum exp(-h) and tau2 = sum (1-exp(-h))/h over the sample uniques, with h = lambda(1-pi).

    The two-way model is over the combinations of values of which every pair occurs; where these are more than
    `most_cells` it is left out, with a `note`. With two keys it is saturated, which says no more than the counts do.

    Returns `uniques` (of the sample), `sampling_fraction`, and for "independence" and "two-way" `tau1` and `tau2`; of
    the latter also `sweeps` and the `gap` left (the greatest relative one of a margin). A fit that has not converged
    after 1,000 sweeps, or up to 50,000 of a small table, has a `note`: its figures are then rough.

    >>> found = log_linear({"a": [0, 0, 1, 1], "b": [0, 0, 0, 1]}, ["a", "b"], 0.5)
    >>> found["uniques"], round(found["independence"]["tau1"], 6), round(found["two-way"]["tau1"], 6)
    (2, 0.829661, 0.735759)
    """
    fraction = sampling_fraction
    return log_linear_figures(keys_of(table_of(df), quasi), fraction, most_cells)


def log_linear_figures(keys: Keys, fraction: float, most_cells: int) -> dict[str, Any]:
    """The same from counted keys."""
    mine = np.flatnonzero(keys.sample > 0)
    cells = Cells(keys.cells.names, keys.cells.codes[:, mine], keys.sample[mine], keys.cells.sizes)
    alone = cells.count == 1
    found: dict[str, Any] = {"uniques": int(alone.sum()), "sampling_fraction": fraction}
    found["independence"] = _taus(_independent(cells)[alone], fraction)
    if len(cells.names) == 1:  # one key has no pairs: the model is that of its counts
        found["two-way"] = _taus(cells.count[alone].astype(np.float64), fraction) | {"sweeps": 0, "gap": 0.0}
        return found
    possible = _possible(cells, most_cells)
    if possible is None:
        found["two-way"] = {"note": f"not fitted: more than {most_cells} combinations of values are possible"}
        return found
    mean, sweeps, gap = _two_way(cells, possible)
    at = _places(possible, cells.codes[:, alone], cells.sizes)
    found["two-way"] = _taus(mean[at], fraction) | {"sweeps": sweeps, "gap": gap}
    if gap > TOLERANCE:
        note = f"not converged: after {sweeps} sweeps the counts are missed by up to {gap:.2g} of them"
        found["two-way"]["note"] = note
    return found


def _taus(mean: np.ndarray, fraction: float) -> dict[str, float]:
    h = mean * (1 - fraction) / fraction
    with np.errstate(invalid="ignore", divide="ignore"):
        matched = np.where(h > 0, -np.expm1(-h) / h, 1.0)
    return {"tau1": float(np.exp(-h).sum()), "tau2": float(matched.sum())}


def _independent(cells: Cells) -> np.ndarray:
    """The mean of each cell: rows times the product of the shares of its values."""
    rows = cells.count.sum()
    mean = np.full(len(cells), float(rows))
    for code, size in zip(cells.codes, cells.sizes, strict=True):
        mean *= (np.bincount(code, weights=cells.count, minlength=size) / rows)[code]
    return mean


def _possible(cells: Cells, most: int) -> np.ndarray | None:
    """The combinations of values of which every pair occurs, [columns, combinations]; None where they are too many."""
    codes, sizes = cells.codes, cells.sizes
    found = np.unique(codes[0])[None, :]
    for j in range(1, len(codes)):
        values = np.unique(codes[j])
        keep = np.ones((found.shape[1], len(values)), dtype=np.bool_)
        for i in range(j):
            occurs = np.zeros((sizes[i], sizes[j]), dtype=np.bool_)
            occurs[codes[i], codes[j]] = True
            keep &= occurs[found[i]][:, values]
        old, new = np.nonzero(keep)
        if len(old) > most:
            return None
        found = np.concatenate([found[:, old], values[new][None, :]])
    return found


def _two_way(cells: Cells, possible: np.ndarray) -> tuple[np.ndarray, int, float]:
    pairs = list(combinations(range(len(cells.codes)), 2))
    margins = [
        np.bincount(
            cells.codes[i].astype(np.int64) * cells.sizes[j] + cells.codes[j],
            weights=cells.count,
            minlength=cells.sizes[i] * cells.sizes[j],
        )
        for i, j in pairs
    ]
    starts = np.concatenate([[0], np.cumsum([len(margin) for margin in margins])])
    first, second = np.array(pairs, dtype=np.int64).T.copy()
    widths = np.array([cells.sizes[j] for _, j in pairs], dtype=np.int64)
    most = min(max(WORK // (possible.shape[1] * len(pairs)), SWEEPS), MOST_SWEEPS)
    mean, sweeps, gap = fit_pairs(
        possible.astype(np.int64), first, second, widths, np.concatenate(margins), starts, most, TOLERANCE
    )
    return mean, int(sweeps), float(gap)


def _places(possible: np.ndarray, wanted: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
    """Where the wanted combinations stand among the possible ones."""
    both = np.concatenate([possible, wanted], axis=1)
    group, groups = rank_tuples(list(both), sizes, both.shape[1])
    place = np.empty(groups, np.int64)
    place[group[: possible.shape[1]]] = np.arange(possible.shape[1])
    return place[group[possible.shape[1] :]]
