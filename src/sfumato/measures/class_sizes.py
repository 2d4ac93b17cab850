"""Class sizes of a released table, and the risk that follows from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from sfumato.engines.printed import printed

# a record's risk is 1/n: it is strictly above the threshold where its class has fewer than so many records
THRESHOLDS = {"0.05": 20, "0.1": 10, "0.2": 5}


def class_sizes(released: pl.DataFrame, quasi: Sequence[str]) -> dict[str, Any]:
    """How large the equivalence classes are, and how at risk their records.

    A class is the rows whose quasi-identifiers print alike; missing is a value. The risk of a record is 1/n, with n
    the size of its class (the prosecutor's): the highest, the average (classes per row), and the share of records whose
    risk is strictly above a threshold.

    Parameters: `released`, a table; `quasi`, its quasi-identifying columns.

    >>> sizes = class_sizes(pl.DataFrame({"age": [20, 20, 20, 30]}), ["age"])
    >>> sizes["classes"], sizes["smallest"], sizes["sizes"], sizes["risk"]["average"]
    (2, 1, {'1': 1, '3': 1}, 0.5)
    """
    names = list(dict.fromkeys(quasi))
    keys = pl.DataFrame([printed(released.get_column(name)).alias(f"q{i}") for i, name in enumerate(names)])
    return summary(keys.group_by(keys.columns).agg(size=pl.len()).get_column("size"), names)


def summary(sizes: pl.Series, quasi: Sequence[str]) -> dict[str, Any]:
    """The same from the sizes themselves."""
    table = sizes.cast(pl.Int64).alias("size").value_counts(name="classes").sort("size")
    classes, rows = len(sizes), int(sizes.sum())
    below = {name: table.filter(pl.col("size") < n) for name, n in THRESHOLDS.items()}
    at_risk = {name: int((part["size"] * part["classes"]).sum()) for name, part in below.items()}
    middle: Any = sizes.median() or 0
    smallest, largest = (int(table["size"][i]) if classes else 0 for i in (0, -1))
    return {
        "quasi": list(quasi),
        "classes": classes,
        "smallest": smallest,
        "median": int(middle) if middle == int(middle) else float(middle),
        "average": rows / classes if classes else 0.0,
        "largest": largest,
        "sizes": {str(size): int(count) for size, count in table.iter_rows()},
        "risk": {
            "highest": 1 / smallest if classes else 0.0,
            "average": classes / rows if rows else 0.0,
            "records_above": {name: count / rows if rows else 0.0 for name, count in at_risk.items()},
        },
    }
