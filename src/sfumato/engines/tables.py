"""The engine of a table: engines as they are, frames of a cluster, and whatever else is a table in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeGuard

from sfumato.engines.memory.table import MemoryTable
from sfumato.engines.protocol import Engine


def engine_of(data: Any) -> Engine:
    """The engine that a table is counted by.

    >>> engine_of({"age": [30, 41]}).rows()
    2
    """
    store = store_of(data)
    return MemoryTable(data) if store is None else store


def private_engine(data: Any) -> Engine:
    """The engine of a table that is asked privately. A file is read as it is written: a form that all values of a
    column have, as dates by day and month or a decimal comma, would hang on every row for how each other is read."""
    from sfumato.engines.files.read import read

    return engine_of(read(data, verbatim=True) if isinstance(data, str | Path) else data)


def store_of(data: Any) -> Engine | None:
    """The engine of an out-of-core table, or None for a table in memory.

    >>> store_of({"age": [30, 41]}) is None
    True
    """
    if is_spark(data):
        from sfumato.engines.spark.table import SparkTable

        return SparkTable(data)
    return data if is_engine(data) else None


def is_engine(data: Any) -> TypeGuard[Engine]:
    """Whether a table is an engine already; asked of its type, since a frame may have columns of any name."""
    return all(hasattr(type(data), name) for name in ("schema", "count", "recode", "fingerprint"))


def is_spark(data: Any) -> bool:
    """Whether something is a frame of Spark, classic or Spark Connect, found out without importing Spark.

    >>> is_spark({"age": [30, 41]})
    False
    """
    frame = ("pyspark.sql.dataframe", "DataFrame")
    return any((kind.__module__, kind.__name__) == frame for kind in type(data).__mro__)
