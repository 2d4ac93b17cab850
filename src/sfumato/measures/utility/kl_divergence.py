"""KL divergence of the original quasi-identifiers from what the release implies. Kifer and Gehrke, SIGMOD 2006."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sfumato.measures.measure import Measure
from sfumato.measures.utility.boxes import boxes_of, implied
from sfumato.measures.utility.notes import many
from sfumato.measures.utility.pair import pair_of


def kl_divergence(
    original: Any,
    released: Any = None,
    quasi: Any = None,
    *,
    hierarchies: Mapping[str, Any] | None = None,
    rows: Sequence[int] | np.ndarray | None = None,
    key: str | None = None,
) -> Measure:
    """Sum over tuples of p ln(p/q), p their share in the original and q the one that the release implies.

    The release implies that a row is any tuple of original values that its labels cover, with the same chance, and a
    suppressed row any tuple of the whole domain. 0 where the release gives the joint distribution exactly. It is
    infinite where the release rules out a tuple that the original has, as values with noise do. The greatest finite
    value stated is that of a release that says nothing.

    >>> round(kl_divergence({"a": [1, 2], "b": [1, 2]}, {"a": [1, 2], "b": ["*", "*"]}, ["a", "b"]).value, 4)  # ln 2
    0.6931
    """
    pair = pair_of(original, released, rows=rows, key=key, hierarchies=hierarchies)
    names = pair.changed() if quasi is None else pair.names(quasi, "quasi")
    found = boxes_of(pair, names)
    n = int(found.cell_count.sum())
    log_domain = sum(math.log(pair.column(name).values) for name in names)  # the domain itself may be past all numbers
    spread = implied(pair, names, found)
    if pair.suppressed:
        spread = np.logaddexp(spread, math.log(pair.suppressed) - log_domain)
    log_q = spread - math.log(pair.released_rows + pair.suppressed)
    p, log_p = found.cell_count / n, np.log(found.cell_count) - math.log(n)
    value = max(float((p * (log_p - log_q)).sum()), 0.0)
    most = max(float((p * log_p).sum()) + log_domain, 0.0)
    if math.isinf(value):
        lost = int(found.cell_count[np.isinf(log_q)].sum())
        sentence = (
            f"The release rules out the quasi-identifiers of {lost} of {n} original records, as values that were "
            "replaced do: the divergence has no bound."
        )
    else:
        sentence = (
            f"The distribution of {many(len(names))} together that the release implies is {value:.4g} nats away from "
            f"the original (0: the same); a release that says nothing would be {most:.4g} away."
        )
    return Measure("kl-divergence", value, (0.0, math.inf), sentence, baseline=most, details={"columns": list(names)})
