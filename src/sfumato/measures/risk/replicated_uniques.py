"""Replicated uniques (repU): real records that their keys single out, in the original and in the synthetic table.

G. M. Raab, B. Nowok, C. Dibben, Practical privacy metrics for synthetic data, 2024.
"""

from __future__ import annotations

from typing import Annotated, Any

from sfumato.core.parameters import checked
from sfumato.core.wording import percent
from sfumato.measures.arguments import ORIGINAL, QUASI, TABLE
from sfumato.measures.measure import Measure, wilson
from sfumato.measures.risk.synthetic_tables import keyed


@checked
def replicated_uniques(
    original: Annotated[Any, ORIGINAL],
    synthetic: Annotated[Any, TABLE] = None,
    quasi: Annotated[Any, QUASI] = (),
    *,
    hold_out: Annotated[Any, TABLE] = None,
) -> Measure:
    """The share of the real records that are unique on the keys both in the original and in the synthetic table.

    Somebody who knows the keys of such a person finds one synthetic record with them, and may take it for the person's
    own. The baseline is the share of the rows of `hold_out` whose keys would be unique in the original, and are unique
    in the synthetic table: what is found of people whom the model never saw.

    Parameters
    ----------
    original, synthetic
        The rows that the model was fitted on, and those drawn from it.
    quasi
        The keys: the columns that others may know of a person.
    hold_out
        Real rows of the same kind that the model never saw.

    Returns
    -------
    A Measure; `details` count the records that are unique in each table, and in both.

    Examples
    --------
    >>> real, drawn = {"age": [30, 30, 41, 52]}, {"age": [41, 52, 52, 60]}
    >>> replicated_uniques(real, drawn, ["age"]).value
    0.25
    """
    tables, names = keyed(original, synthetic, hold_out, quasi)
    of, real, drawn = tables.counts(names)
    at, _, *others = tables.parts(of)
    rows, alone, both = len(at), int((real == 1).sum()), int(((real == 1) & (drawn == 1)).sum())
    details: dict[str, Any] = {"quasi": list(names), "rows": rows, "unique": alone, "replicated": both}
    details["unique_synthetic"] = int((drawn == 1).sum())
    baseline, told = None, ""
    for theirs in others:
        baseline = float(((real == 0) & (drawn == 1))[theirs].mean())
        told = f"; of the records that the model never saw, {percent(baseline)} would be"
    sentence = (
        f"{both:,} of {rows:,} real records ({percent(both / rows)}) are unique on the quasi-identifiers both in the "
        f"original and in the synthetic table{told}."
    )
    return Measure("replicated-uniques", both / rows, (0.0, 1.0), sentence, wilson(both, rows), baseline, details)
