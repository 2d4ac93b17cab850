"""Which inputs are out-of-core tables: stores, and frames of a cluster."""

from __future__ import annotations

from typing import Any

from sfumato.engines.protocol import Engine, is_engine
from sfumato.engines.spark.table import SparkTable, is_spark


def store_of(data: Any) -> Engine | None:
    """The store that a table is in, or None for a table in memory.

    >>> store_of({"age": [30, 41]}) is None
    True
    """
    if is_spark(data):
        return SparkTable(data)
    return data if is_engine(data) else None
