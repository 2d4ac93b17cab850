"""SDMX-CSV: a published table as statistical offices exchange it (field guide 1.0, code list CL_CONF_STATUS)."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from sfumato.engines.guard import guard_names, guarded_frame
from sfumato.tables.values import STATUS, VALUE

FLOW = "SFUMATO:CELLS(1.0)"
CONFIDENTIAL = {"published": "F", "hidden": "C", "primary": "C", "secondary": "D"}


def sdmx_csv(frame: pl.DataFrame, by: Sequence[str]) -> str:
    """The cells with `OBS_STATUS` (A, or M where there is no value) and `CONF_STATUS` (F free, C confidential, D hidden
    for the sake of others).

    >>> cells = pl.DataFrame({"sex": ["*", "f"], "value": [7, None], "status": ["published", "hidden"]})
    >>> print(sdmx_csv(cells, ["sex"]))
    DATAFLOW,sex,OBS_VALUE,OBS_STATUS,CONF_STATUS
    SFUMATO:CELLS(1.0),*,7,A,F
    SFUMATO:CELLS(1.0),f,,M,C
    <BLANKLINE>
    """
    value = pl.col(VALUE)
    found = frame.select(
        pl.lit(FLOW).alias("DATAFLOW"),
        *(pl.col(name) for name in by),
        value.cast(pl.String).alias("OBS_VALUE"),
        pl.when(value.is_null()).then(pl.lit("M")).otherwise(pl.lit("A")).alias("OBS_STATUS"),
        pl.col(STATUS).replace_strict(CONFIDENTIAL, return_dtype=pl.String).alias("CONF_STATUS"),
    )
    return guarded_frame(found).rename(dict(zip(found.columns, guard_names(found.columns), strict=True))).write_csv()
