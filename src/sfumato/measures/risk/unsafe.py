"""Minimum unsafe combination: how few attributes it takes to single a record out."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import polars as pl

from sfumato.core.parameters import checked
from sfumato.engines.memory.table import enter
from sfumato.measures.arguments import COUNT, QUASI, TABLE, WILDCARD
from sfumato.measures.measure import Measure
from sfumato.measures.risk.suda import minimal_uniques


@checked
def minimum_unsafe(
    data: Annotated[Any, TABLE],
    quasi: Annotated[Any, QUASI],
    up_to: Annotated[int | None, COUNT] = None,
    *,
    wildcard: Annotated[bool, WILDCARD] = False,
) -> pl.DataFrame:
    """The smallest number of columns on which each record is unique, and how many minimal sets of columns do it.

    Parameters
    ----------
    data
        A frame or the path of a file.
    quasi
        The columns.
    up_to
        Look at sets of so many columns at most; all where None.
    wildcard
        Whether a missing value (and `*`) matches anything; else it is a value of its own.

    Returns
    -------
    One row per record: `size`, 0 where no set of up to `up_to` columns makes it unique, and `combinations`, the number
    of sets, of any size, that make it unique and of which none can be left out.

    Examples
    --------
    >>> table = {"sex": ["f", "f", "m", "m"], "town": ["A", "A", "A", "B"]}
    >>> minimum_unsafe(table, ["sex", "town"])["size"].to_list()
    [0, 0, 2, 1]

    References
    ----------
    Willenborg, de Waal, "Elements of Statistical Disclosure Control", 2001; Manning, Haglin, Keane 2008.
    """
    found = minimal_uniques(enter(data)[0], quasi, up_to, wildcard, lambda s, columns: 1.0)
    return pl.DataFrame({"size": found.least[found.cell_of_row], "combinations": found.number[found.cell_of_row]})


def unsafe_share(data: Any, quasi: Any, up_to: int | None = None, *, wildcard: bool = False) -> Measure:
    """The share of records that some set of up to `up_to` columns makes unique.

    >>> table = {"sex": ["f", "f", "m", "m"], "town": ["A", "A", "A", "B"]}
    >>> unsafe_share(table, ["sex", "town"], up_to=1).value
    0.25
    """
    found = minimal_uniques(data, quasi, up_to, wildcard, lambda s, columns: 1.0)
    rows, some = int(found.rows.sum()), found.least[found.least > 0]
    records = np.bincount(some, minlength=1)  # who stands alone is the only row of its cell
    unsafe, least = len(some), int(some.min()) if len(some) else 0
    limit = "some of the columns" if up_to is None else f"up to {up_to} of the columns"
    sentence = f"{unsafe} of {rows} records are unique on {limit}" + (
        f"; for {records[least]} of them it takes no more than {least}." if unsafe else "."
    )
    details = {"records_by_size": {str(s): int(n) for s, n in enumerate(records) if s and n}, "least": least}
    return Measure("minimum unsafe combination", unsafe / rows, (0.0, 1.0), sentence, details=details)
