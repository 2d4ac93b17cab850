"""IL1s: Mateo-Sanz, Sebe, Domingo-Ferrer, Outlier protection in continuous microdata masking, PSD 2004."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np

from sfumato.core.parameters import checked
from sfumato.core.wording import count
from sfumato.measures.arguments import HIERARCHIES, KEY, ORIGINAL, RELEASED, ROWS, SOME_COLUMNS
from sfumato.measures.measure import Measure
from sfumato.measures.utility.numeric_error import Numbers, numbers_of
from sfumato.measures.utility.pair import pair_of


@checked
def il1s(
    original: Annotated[Any, ORIGINAL],
    released: Annotated[Any, RELEASED] = None,
    columns: Annotated[Any, SOME_COLUMNS] = None,
    *,
    hierarchies: Annotated[Mapping[str, Any] | None, HIERARCHIES] = None,
    rows: Annotated[Sequence[int] | np.ndarray | None, ROWS] = None,
    key: Annotated[str | None, KEY] = None,
) -> Measure:
    """1/(d n) sum of abs(x - x')/(sqrt(2) s_j): the mean distance of a value from its release, in standard deviations.

    s_j is the standard deviation of the original column, with n - 1; columns without spread are left out.
    `details["percent"]` is 100 times the value, 100 at most. Generalised labels count as their midpoint. The baseline
    is a release that gives every column as its mean.

    >>> round(il1s({"x": [1.0, 3.0]}, {"x": [2.0, 2.0]}).value, 9)
    0.5
    """
    pair = pair_of(original, released, rows=rows, key=key, hierarchies=hierarchies)
    pair.aligned("il1s")
    return il1s_of(numbers_of(pair, columns))


def il1s_of(found: Numbers) -> Measure:
    """The same of numbers that were read already."""
    with np.errstate(over="ignore", invalid="ignore"):
        s = found.before.std(axis=0, ddof=1) if len(found.before) > 1 else np.zeros(len(found.names))
    known = (s > 0) & np.isfinite(s)
    if not known.any():
        return Measure("il1s", math.nan, (0.0, math.inf), "There is no il1s: no numeric column has any spread.")
    each = np.abs(found.before - found.after)[:, known] / (math.sqrt(2) * s[known])
    value = float(each.mean())
    spread = np.abs(found.before - found.before.mean(axis=0))[:, known] / (math.sqrt(2) * s[known])
    baseline = float(spread.mean())
    names = [name for name, there in zip(found.names, known, strict=True) if there]
    sentence = (
        f"On average a number is {value * math.sqrt(2):.4g} standard deviations away from its release "
        f"(il1s {value:.4g}, over {count(len(names), 'column')}); were each released as the mean of its column, "
        f"{baseline * math.sqrt(2):.4g}."
    )
    if found.left_out:
        sentence += f" Left out: {count(found.left_out, 'released row')} with a missing value."
    details = {
        "percent": min(100.0, 100 * value),
        "per_column": dict(zip(names, each.mean(axis=0).tolist(), strict=True)),
        "left_out": found.left_out,
    }
    return Measure("il1s", value, (0.0, math.inf), sentence, baseline=baseline, details=details)
