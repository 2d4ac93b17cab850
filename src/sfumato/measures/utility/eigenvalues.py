"""Eigenvalue differences: M. Templ, Statistical disclosure control for microdata using sdcMicro, TDP 1(2), 2008."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np

from sfumato.core.parameters import checked
from sfumato.core.wording import count, percent
from sfumato.measures.arguments import HIERARCHIES, KEY, ORIGINAL, RELEASED, ROWS, SOME_COLUMNS
from sfumato.measures.measure import Measure
from sfumato.measures.utility.numeric_error import Numbers, correlation, numbers_of
from sfumato.measures.utility.pair import pair_of


@checked
def eigenvalues(
    original: Annotated[Any, ORIGINAL],
    released: Annotated[Any, RELEASED] = None,
    columns: Annotated[Any, SOME_COLUMNS] = None,
    *,
    hierarchies: Annotated[Mapping[str, Any] | None, HIERARCHIES] = None,
    rows: Annotated[Sequence[int] | np.ndarray | None, ROWS] = None,
    key: Annotated[str | None, KEY] = None,
) -> Measure:
    """Half the sum of absolute differences of the eigenvalues of the correlation matrices, over the number of columns.

    Both matrices have the sum of eigenvalues d where every column has spread, so that the value lies in 0..1: 0 where
    the numbers vary together as before. `details["relative"]` is the sum of abs(l - l')/l, as sdcMicro gives it, which
    is not bounded, and noise where the matrix is near singular.

    >>> eigenvalues({"x": [1, 2, 3], "y": [1, 2, 3]}, {"x": [1, 2, 3], "y": [3, 1, 3]}).value > 0.3
    True
    """
    pair = pair_of(original, released, rows=rows, key=key, hierarchies=hierarchies)
    return eigenvalues_of(numbers_of(pair, columns))


def eigenvalues_of(found: Numbers) -> Measure:
    """The same of numbers that were read already."""
    d = len(found.names)
    if min(found.rows) < 2:
        return Measure("eigenvalues", math.nan, (0.0, 1.0), "There are no eigenvalues: it takes two rows.")
    with np.errstate(over="ignore", invalid="ignore"):
        matrices = [correlation(x, of) for x, of in zip((found.before, found.after), found.row_counts, strict=True)]
    if not all(np.isfinite(matrix).all() for matrix in matrices):
        sentence = "There are no eigenvalues: the numbers are too large to be squared."
        return Measure("eigenvalues", math.nan, (0.0, 1.0), sentence)
    before, after = (np.linalg.eigvalsh(matrix)[::-1] for matrix in matrices)
    value = float(min(np.abs(before - after).sum() / (2 * d), 1.0))
    known = before > 1e-12 * d
    relative = float((np.abs(before - after)[known] / before[known]).sum()) if known.any() else math.nan
    sentence = (
        f"{percent(value)} of the common variation of {count(d, 'numeric column')} moved: 0% where they vary "
        "together as before (eigenvalues of their correlations)."
    )
    details = {
        "original": before.tolist(), "released": after.tolist(), "relative": relative, "percent": 100 * value,
        "singular": int((~known).sum()),
    }  # fmt: skip
    return Measure("eigenvalues", value, (0.0, 1.0), sentence, details=details)
