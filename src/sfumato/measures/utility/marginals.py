"""Marginals: how far the tables of counts of one, two and three columns are from those of the real rows.

R. McKenna, G. Miklau, D. Sheldon, Winning the NIST contest: a scalable and general approach to differentially private
synthetic data, Journal of Privacy and Confidentiality 11, 2021 (scored by the total variation of sets of columns).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Annotated, Any

import numpy as np

from sfumato.core.keys import number_tuples, tally
from sfumato.core.parameters import Whole, checked, is_whole, shown, whole_number
from sfumato.core.wording import count, percent, quoted
from sfumato.errors import PolicyError
from sfumato.measures.arguments import COUNT, ORIGINAL, SEED, SOME_COLUMNS, TABLE
from sfumato.measures.measure import Measure
from sfumato.measures.risk.synthetic_tables import SyntheticTables, tables_of
from sfumato.measures.utility.coded_rows import BINS, binned

MOST_WAYS = 4


@checked
def marginals(
    original: Annotated[Any, ORIGINAL],
    synthetic: Annotated[Any, TABLE] = None,
    columns: Annotated[Any, SOME_COLUMNS] = None,
    *,
    ways: Sequence[int] = (1, 2, 3),
    bins: Annotated[int, Whole(2)] = BINS,
    hold_out: Annotated[Any, TABLE] = None,
    most: Annotated[int, COUNT] = 2_000,
    seed: Annotated[int, SEED] = 0,
) -> Measure:
    """The mean total variation distance between the tables of counts of real and of synthetic rows, in 0..1.

    For each set of columns, half the sum over its combinations of values of abs(p - q), p the share of the real rows
    and q of the synthetic rows. Numbers and dates are in ten bins at the quantiles of the real rows. The value is the
    mean over all pairs of columns (over the largest sets where there are no pairs). The baseline is the same between
    the real rows and `hold_out`: what chance does to that many rows. `contingency` reads generalised values as well.

    Parameters
    ----------
    original, synthetic
        The rows that the model was fitted on, and those drawn from it. hold_out: real rows that it never saw.
    columns
        All that the tables share unless given.
    ways
        How many columns the sets have: any of 1, 2, 3, 4.
    bins
        Of numbers; one that has as few real values is counted by these, and by whatever no real row has as another.
    most, seed
        How many sets of a size are counted at most, drawn at random.

    Returns
    -------
    A Measure. `details`: `ways`, for each size of sets the `mean`, the `worst` set, how many `sets` were counted and
    were `left_out`; `pairs`, a matrix for a heat map, its diagonal each column alone; `hold_out` with the same;
    `one_bin`, columns of numbers whose real values all fall into one bin, which then tells nothing.

    Examples
    --------
    >>> real = {"a": [1, 1, 2, 2], "b": ["x", "x", "y", "y"]}
    >>> found = marginals(real, {"a": [1, 1, 2, 2], "b": ["x", "y", "x", "y"]})
    >>> found.value, found.details["ways"]["1"]["mean"]
    (0.5, 0.0)
    """
    asked = _ways(ways)
    tables = tables_of(original, synthetic, hold_out, columns)
    names, rng = tables.names, np.random.default_rng(seed)
    coded = [binned(tables.column(name), tables.original.height, bins) for name in names]
    sets = {way: _sets(len(names), way, most, rng) for way in asked if way <= len(names)}
    if not sets:
        raise PolicyError("there are fewer columns than a set has", got=len(names), allowed=f"{min(asked)} or more")
    far = {way: np.array([distances(tables, [coded[i] for i in one]) for one in of]) for way, of in sets.items()}
    head = 2 if 2 in sets else max(sets)
    details: dict[str, Any] = {"columns": list(names), "bins": bins, "one_bin": _one_bin(tables, names, coded)}
    details |= _figures(names, sets, {way: found[:, 0] for way, found in far.items()})
    own, baseline = details["ways"][str(head)], None
    if tables.hold_out is not None:
        details["hold_out"] = _figures(names, sets, {way: found[:, 1] for way, found in far.items()})
        baseline = details["hold_out"]["ways"][str(head)]["mean"]
    beside = f", against {percent(baseline)} of held-out real rows" if baseline is not None else ""
    sentence = (
        f"In {count(own['sets'], 'table')} of {count(head, 'column')}, {percent(own['mean'])} of the synthetic rows "
        f"are counted in another cell than real rows, on average{beside}; in the worst, of "
        f"{quoted(own['worst']['columns'])}, {percent(own['worst']['distance'])}."
    )
    if details["one_bin"]:
        sentence += f" The numbers of {quoted(details['one_bin'])} are all in one bin, which tells nothing of them."
    return Measure("marginals", own["mean"], (0.0, 1.0), sentence, None, baseline, details)


def distances(tables: SyntheticTables, coded: Sequence[tuple[np.ndarray, int]]) -> list[float]:
    """The total variation of the synthetic rows from the real ones by the codes of some columns; then the hold-out's.

    >>> from sfumato.measures.risk.synthetic_tables import tables_of
    >>> distances(tables_of({"a": [1, 2]}, {"a": [1, 1]}, {"a": [1, 2]}), [(np.array([0, 1, 0, 0, 0, 1], np.int32), 2)])
    [0.5, 0.0]
    """
    of, cells = number_tuples([code for code, _ in coded], [np.arange(size) for _, size in coded], tables.rows)
    real, *others = (tally(part, cells) / len(part) for part in tables.parts(of))
    return [float(np.abs(real - other).sum() / 2) for other in others]


def _ways(given: Any) -> tuple[int, ...]:
    ways = (given,) if is_whole(given) else given
    if isinstance(ways, str) or not hasattr(ways, "__iter__"):
        raise PolicyError("ways is no list of whole numbers", got=shown(given), allowed=f"any of 1 to {MOST_WAYS}")
    found = tuple(sorted({whole_number(way, "ways", 1, MOST_WAYS) for way in ways}))
    if not found:
        raise PolicyError("ways is empty", allowed=f"any of 1 to {MOST_WAYS}")
    return found


def _sets(columns: int, way: int, most: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """All sets of so many columns, or as many of them as are counted at most."""
    if math.comb(columns, way) <= most:
        return list(combinations(range(columns), way))
    found: set[tuple[int, ...]] = set()
    while len(found) < most:
        found.add(tuple(sorted(rng.choice(columns, way, replace=False).tolist())))
    return sorted(found)


def _one_bin(tables: SyntheticTables, names: Sequence[str], coded: Sequence[tuple[np.ndarray, int]]) -> list[str]:
    real = tables.original.height
    return [
        name
        for name, (code, _) in zip(names, coded, strict=True)
        if (code[:real] == code[0]).all() and (tables.column(name).code[:real] != tables.column(name).code[0]).any()
    ]


def _figures(
    names: Sequence[str], sets: dict[int, list[tuple[int, ...]]], far: dict[int, np.ndarray]
) -> dict[str, Any]:
    ways, pairs = {}, np.full((len(names), len(names)), np.nan)
    for way, of in sets.items():
        worst = int(far[way].argmax())
        ways[str(way)] = {
            "mean": float(far[way].mean()),
            "worst": {"columns": [names[i] for i in of[worst]], "distance": float(far[way][worst])},
            "sets": len(of),
            "left_out": math.comb(len(names), way) - len(of),
        }
        if way <= 2:
            at = np.array(of)
            pairs[at[:, 0], at[:, -1]] = pairs[at[:, -1], at[:, 0]] = far[way]
    return {"ways": ways, "pairs": pairs.tolist()}
