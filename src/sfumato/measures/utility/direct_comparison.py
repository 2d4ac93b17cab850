"""Direct comparison: J. Domingo-Ferrer, V. Torra, Disclosure control methods and information loss, 2001."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sfumato.core.wording import count, percent
from sfumato.errors import PolicyError
from sfumato.measures.measure import Measure
from sfumato.measures.utility.column import ComparedColumn
from sfumato.measures.utility.pair import pair_of


def direct_comparison(
    original: Any,
    released: Any = None,
    columns: Any = None,
    *,
    distance: str = "equal",
    hierarchies: Mapping[str, Any] | None = None,
    rows: Sequence[int] | np.ndarray | None = None,
    key: str | None = None,
) -> Measure:
    """The mean distance of a released cell from the original one, in 0..1.

    "equal": 0 where they are equal, 1 where not. "ranked": the difference of their ranks among the m distinct original
    values in order, over m - 1, for ordered columns; others by "equal". A label that covers several values is each of
    them with the same chance, so that it is off by 1 - 1/M where the value is one of its M. Rows that both tables have
    are compared; a value that the original lacks is at distance 1. The baseline is a release that hides every value.

    >>> direct_comparison({"sex": ["f", "m", "m", "m"]}, {"sex": ["f", "f", "m", "*"]}).value
    0.375
    """
    if distance not in ("equal", "ranked"):
        raise PolicyError("unknown distance of categories", got=repr(distance), allowed="equal, ranked")
    pair = pair_of(original, released, rows=rows, key=key, hierarchies=hierarchies)
    names, of = pair.names(columns), pair.aligned("direct comparison")
    per_column = {name: _mean_distance(pair.column(name), of, distance) for name in names}
    value = float(np.mean(list(per_column.values())))
    baseline = float(np.mean([_hidden(pair.column(name), of, distance) for name in names]))
    sentence = (
        f"Compared cell by cell, values of {count(len(names), 'column')} are on average {percent(value)} off (0%: all "
        f"as before, 100%: as far off as can be); with every value hidden it would be {percent(baseline)}."
    )
    details = {"per_column": per_column, "distance": distance, "percent": 100 * value}
    return Measure("direct-comparison", value, (0.0, 1.0), sentence, baseline=baseline, details=details)


def _hidden(column: ComparedColumn, of: np.ndarray, distance: str) -> float:
    """The mean distance where every label covers every value."""
    m = column.values
    if distance == "ranked" and column.attribute.categories.ordered and m > 1:
        c = column.code[of].astype(np.float64)
        return float((c * (c + 1) + (m - 1 - c) * (m - c)).mean() / (2 * m * (m - 1)))
    return 1 - 1 / m


def _mean_distance(column: ComparedColumn, of: np.ndarray, distance: str) -> float:
    """The expected distance of a label's values from the original value, on average over the released rows."""
    values, met = column.values, column.meetings(of)
    code, label, n = met.code, met.label, max(len(of), 1)
    if distance == "ranked" and column.attribute.categories.ordered and values > 1:
        found = np.empty(len(code))
        for i, (c, a, b) in enumerate(zip(code, column.start[label], column.start[label + 1], strict=True)):
            members = column.members[a:b]
            found[i] = np.where(members < values, np.abs(members - c) / (values - 1), 1.0).sum() / (b - a)
        return float(found @ met.count / n)
    return float((1 - met.covered / np.maximum(column.size[label], 1)) @ met.count / n)
