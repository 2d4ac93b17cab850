"""SparkTable: a frame of a Spark cluster, classic or Spark Connect, counted and mapped where it lives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.engines.order import CANONICAL
from sfumato.engines.spark_frame import SparkFrame
from sfumato.engines.spark_job import job
from sfumato.engines.spark_kept import SparkKept, checkpointed
from sfumato.engines.spark_map import mapped
from sfumato.engines.spark_rows import fingerprint, positive
from sfumato.engines.spark_write import SparkParts, write_parts
from sfumato.engines.store import Plan, Say, refuse_names
from sfumato.errors import OutputError


def is_spark(data: Any) -> bool:
    """Whether something is a frame of Spark, classic or Spark Connect, found out without importing Spark.

    >>> is_spark(pl.DataFrame())
    False
    """
    frame = ("pyspark.sql.dataframe", "DataFrame")
    return any((kind.__module__, kind.__name__) == frame for kind in type(data).__mro__)


class SparkTable:
    """A frame of PySpark, classic or Spark Connect, on any cluster that its session points at.

    Only the DataFrame API is used; the counted tuples come here, and the rows stay on the cluster. The frame is read
    several times: cache one that takes long to compute, and checkpoint one that gives other rows each time.

    >>> SparkTable(spark.read.parquet("admissions/")).rows()  # doctest: +SKIP
    100000000
    """

    named = False  # a release is a frame
    orders = (CANONICAL,)  # that a release can have

    def __init__(self, frame: Any) -> None:
        self.frame, self._table = frame, SparkFrame(frame)
        refuse_names(self._table.schema)

    def schema(self) -> dict[str, pl.DataType]:
        """Column to type, in order."""
        return dict(self._table.schema)

    def snapshot(self, write: bool) -> AbstractContextManager[SparkTable]:
        """The frame itself: a frame that gives other rows each time has to be checkpointed."""
        return nullcontext(self)

    def rows(self) -> int:
        """How many rows there are; they are counted once."""
        return self._rows

    @cached_property
    def _rows(self) -> int:
        with job(self._table.spark, "the cluster could not count the rows"):
            return int(self._table.rows.count())

    def sample(self, rows: int) -> pl.DataFrame:
        """About so many rows, from all over the table: each is taken with the same chance, by a fixed seed."""
        share, some = rows / max(1, self.rows()), self._table.rows
        return self._table.fetch(some if share >= 1 else some.sample(False, share, seed=6), self._table.printable)

    def positive(self, column: str) -> bool:
        """Whether every row has a finite number above 0 in a column."""
        return positive(self._table, column)

    def fingerprint(self, secret: bytes | None) -> str | None:
        """A keyed fingerprint of the rows, in whatever order, or None without a key."""
        return None if secret is None else fingerprint(self._table, secret)

    def count(self, columns: Sequence[str], say: Say, most: int, work: Path | None = None) -> pl.DataFrame:
        """Distinct tuples of columns, and in `COUNT` how many rows have them."""
        say("counting rows", None)
        return self._table.count(columns, most)

    def singled(self, sets: Sequence[Sequence[str]]) -> list[int]:
        """For each set of columns how many rows have values of them that no other row has."""
        return self._table.singled(sets)

    def recode(self, plan: Plan, file: Path, format: str, say: Say) -> SparkParts:
        """Have the cluster write the rows as the plan says, as parts in a folder that all machines see."""
        say("recoding rows", None)
        with job(self._table.spark, "the cluster could not take the recoding in"):
            rows = mapped(self._table, plan)
        return write_parts(rows, file, format)

    @contextmanager
    def release(self, plan: Plan, name: str | None, overwrite: bool, say: Say) -> Iterator[SparkKept]:
        """The rows as the plan says, as a frame of their own: what is verified is what is handed out."""
        if name is not None:
            self.check_target(name, overwrite)
        say("recoding rows", None)
        with job(self._table.spark, "the cluster could not make the release", OutputError):
            kept, where = checkpointed(mapped(self._table, plan))
        yield SparkKept(kept, {"format": "spark", "checkpoint": where})

    def check_target(self, name: str, overwrite: bool) -> None:
        """A release has no name here."""
        hint = "leave the name out, and save the frame that comes back"
        raise OutputError("a release of a Spark frame is a frame, not a table with a name", hint=hint)

    def kept(self, data: Any) -> SparkTable:
        """A released frame."""
        return SparkTable(data)
