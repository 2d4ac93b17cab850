"""What is asked of the rows of a Spark frame beside their counts: a fingerprint, and whether weights are weights."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property, reduce
from operator import and_
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from sfumato.core.label_grammar import DECIMAL
from sfumato.engines.order import CANONICAL
from sfumato.engines.protocol import FETCHING, LABEL, Engine, Plan, Progress, reading_without, refuse_names
from sfumato.engines.spark.count import SparkFrame, as_polars
from sfumato.engines.spark.recode import mapped
from sfumato.engines.spark.types import functions, job
from sfumato.engines.spark.write import SparkKept, SparkParts, checkpointed, write_parts
from sfumato.errors import OutputError


def positive(table: SparkFrame, column: str) -> bool:
    """Whether every row has a finite number above 0 in a column."""
    F, dtype = functions(table.rows), table.schema[column]
    value = F.col(table.place[column])
    if dtype == pl.String:
        value = F.when(value.rlike(f"^{DECIMAL}$"), value)
    elif not dtype.is_numeric():
        return False
    number = value.cast("double")
    good = (number > 0) & (number < F.lit(float("inf")))
    with job(table.spark, f'the cluster could not read column "{column}"'):
        return not table.rows.filter(~F.coalesce(good, F.lit(False))).limit(1).count()


def fingerprint(table: SparkFrame, secret: bytes) -> str:
    """HMAC-SHA256 of the columns and of sums over the SHA-256 of all rows: of the rows, in whatever order.

    The key stays here: what the cluster sums has none. Columns without a printed form do not count.
    """
    F, texts = functions(table.rows), []
    for name in table.printable:
        value = table.plain(name)
        if table.schema[name] == pl.Datetime("us", "UTC"):
            value = F.unix_micros(value)  # as text it would depend on the time zone of the session
        text = value.cast("string")
        # with its length before it no text passes for two others
        long = F.concat(F.length(text).cast("string"), F.lit(":"), text)
        texts.append(F.when(text.isNull(), F.lit("-")).otherwise(long))
    row = table.rows.select(F.sha2(F.concat(*texts), 256).alias("row"))
    lanes = [F.xxhash64("row", F.lit(i)).cast("decimal(20,0)") for i in range(2)]  # numbers that can be summed
    sums = [F.sum(lane).cast("string").alias(f"sum{i}") for i, lane in enumerate(lanes)]
    with job(table.spark, "the cluster could not read the table"):
        found = row.agg(F.count("row").cast("string").alias("rows"), *sums).toArrow().to_pylist()[0]
    whole = [[name, str(table.schema[name])] for name in table.printable], sorted(found.items())
    return "hmac-sha256-rows:" + hmac.new(secret, repr(whole).encode(), hashlib.sha256).hexdigest()


class SparkTable(Engine):
    """A frame of PySpark, classic or Spark Connect, on any cluster that its session points at.

    Only the DataFrame API is used; the counted tuples come here, and the rows stay on the cluster. The frame is read
    several times: cache one that takes long to compute, and checkpoint one that gives other rows each time.

    >>> SparkTable(spark.read.parquet("admissions/")).rows()  # doctest: +SKIP
    100000000
    """

    in_parts: ClassVar[bool] = True
    keeps: ClassVar = "frame"
    orders: ClassVar = (CANONICAL,)
    draws: ClassVar[bool] = False
    called: ClassVar = "a Spark frame"

    def __init__(self, frame: Any) -> None:
        self.frame, self._table = frame, SparkFrame(frame)
        self._given = self._table  # all rows, whichever are left out
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
        return None if secret is None else fingerprint(self._given, secret)

    def missing(self, columns: Sequence[str]) -> tuple[int, int]:
        """How many rows have a missing value in one of the columns, and how many rows there are."""
        return self._rows - self._complete(columns)._rows, self._rows

    def without_missing(self, columns: Sequence[str], gone: int) -> SparkTable:
        """The table without the rows that have a missing value in one of the columns."""
        found = self._complete(columns)
        found._given, found._rows = self._given, self._rows - gone
        found.reading = reading_without(self.reading, columns, gone)
        return found

    def _complete(self, columns: Sequence[str]) -> SparkTable:
        table = self._table
        with job(table.spark, "the cluster could not read the table"):
            rows = table.rows.filter(reduce(and_, (table.plain(name).isNotNull() for name in columns)))
            return SparkTable(rows.toDF(*table.place))

    def count(
        self, columns: Sequence[str], report_progress: Progress, most: int, work: Path | None = None
    ) -> pl.DataFrame:
        """Distinct tuples of columns, and in `COUNT` how many rows have them."""
        report_progress("counting rows", None)
        return self._table.count(columns, most)

    def singled(self, sets: Sequence[Sequence[str]]) -> list[int]:
        """For each set of columns how many rows have values of them that no other row has."""
        return self._table.singled(sets)

    def fetch(self, plan: Plan, report_progress: Progress) -> pl.DataFrame:
        """The rows that the plan releases, in memory."""
        report_progress(FETCHING, None)
        labelled = dict.fromkeys(() if plan.cells is None else plan.cells.columns, pl.String())
        types = {name: labelled.get(LABEL + name) or self._table.schema[name] for name in plan.columns}
        with job(self._table.spark, "the cluster could not read the table"):
            return as_polars(mapped(self._table, plan).toArrow(), types)

    def recode(self, plan: Plan, file: Path, format: str, report_progress: Progress) -> SparkParts:
        """Have the cluster write the rows as the plan says, as parts in a folder that all machines see."""
        report_progress("recoding rows", None)
        with job(self._table.spark, "the cluster could not take the recoding in"):
            rows = mapped(self._table, plan)
        return write_parts(rows, file, format)

    @contextmanager
    def release(self, plan: Plan, name: str | None, overwrite: bool, report_progress: Progress) -> Iterator[SparkKept]:
        """The rows as the plan says, as a frame of their own: what is verified is what is handed out."""
        if name is not None:
            self.check_target(name, overwrite)
        report_progress("recoding rows", None)
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
