"""What is asked of the rows of a Spark frame beside their counts: a fingerprint, and whether weights are weights."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, reduce
from operator import and_
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from sfumato.core.label_grammar import DECIMAL
from sfumato.core.progress import Progress
from sfumato.engines.order import CANONICAL
from sfumato.engines.protocol import FETCHING, LABEL, Engine, Plan, Sums, SumsAsked, reading_without, refuse_names
from sfumato.engines.spark.count import SparkFrame, as_polars
from sfumato.engines.spark.recode import mapped
from sfumato.engines.spark.sums import SparkSums
from sfumato.engines.spark.types import functions, job
from sfumato.engines.spark.write import SparkKept, SparkParts, checkpointed, write_parts
from sfumato.errors import OutputError

SAMPLED = 400_000  # rows: smaller samples are taken from one of so many


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
    """HMAC-SHA256 of the columns and of sums over two 64-bit hashes of all rows: of the rows, in whatever order.

    The key stays here: what the cluster sums has none. Columns without a printed form do not count. It tells a table
    from one that differs by accident, not from one that was made to match.
    """
    whole = [[name, str(table.schema[name])] for name in table.printable], table.totals
    return "hmac-sha256-hashes:" + hmac.new(secret, repr(whole).encode(), hashlib.sha256).hexdigest()


class SparkTable(Engine):
    """A frame of PySpark, classic or Spark Connect, on any cluster that its session points at.

    Only the DataFrame API is used; the counted tuples come here, and the rows stay on the cluster. A release reads the
    frame four times, for its size and fingerprint, a sample, the counts, and the map: cache one that takes long to
    compute, and checkpoint one that gives other rows each time.

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
        self._again = False  # whether more will be asked of the same rows, so that it is worth reading them once
        refuse_names(self._table.schema)

    def schema(self) -> dict[str, pl.DataType]:
        """Column to type, in order."""
        return dict(self._table.schema)

    @contextmanager
    def snapshot(self, write: bool) -> Iterator[SparkTable]:
        """The frame itself: a frame that gives other rows each time has to be checkpointed."""
        now = SparkTable(self.frame)
        now.reading, now._again = self.reading, True
        yield now

    def rows(self) -> int:
        """How many rows there are; they are counted once."""
        return self._rows

    @cached_property
    def _rows(self) -> int:
        with job(self._table.spark, "the cluster could not count the rows"):
            return self._table.totals[0] if self._again else int(self._table.rows.count())

    def sample(self, rows: int) -> pl.DataFrame:
        """About so many rows, from all over the table: each is taken with the same chance, by a fixed seed."""
        if not self._again or rows > SAMPLED:
            return self._drawn(rows)
        step = -(-self._sampled.height // max(1, rows))
        return self._sampled.gather_every(step) if step > 1 else self._sampled

    @cached_property
    def _sampled(self) -> pl.DataFrame:
        return self._drawn(SAMPLED)

    def _drawn(self, rows: int) -> pl.DataFrame:
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
        found._given, found._rows, found._again = self._given, self._rows - gone, self._again
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

    @contextmanager
    def sums(self, asked: SumsAsked) -> Iterator[Sums | None]:
        """Sums by grouped frames; None where an amount is no number there."""
        numbers = [name for name in (asked.value, asked.weight, asked.request) if name is not None]
        schema = self._table.schema
        if not all(schema[name].is_numeric() or schema[name] == pl.Boolean for name in numbers):
            yield None
            return
        found = SparkSums(self._table, asked)
        try:
            yield found
        finally:
            found.close()

    def singled(self, sets: Sequence[Sequence[str]]) -> list[int]:
        """For each set of columns how many rows have values of them that no other row has."""
        return self._table.singled(sets)

    def mixed(self, columns: Sequence[str]) -> list[str]:
        """The columns that have null beside NaN or the empty text."""
        table, F = self._table, functions(self._table.rows)
        forms = [form for name in columns for form in (F.col(table.place[name]), table.plain(name))]
        with job(table.spark, "the cluster could not read the table"):
            rows, *found = table.rows.agg(F.count(F.lit(1)), *map(F.count, forms)).collect()[0]
        return [n for n, some, plain in zip(columns, found[::2], found[1::2], strict=True) if plain < some < rows]

    def batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """All rows of some columns, in no certain order: a frame of more than some hundred thousand rows is read once
        for each batch, of rows with near hashes."""
        names, parts = list(columns), -(-self.rows() // SAMPLED) if columns else 0
        F, (number, _) = functions(self._table.rows), self._table.hashes(self._table.printable)
        for part in range(parts):
            rows = self._table.rows
            yield self._table.fetch(rows if parts == 1 else rows.filter(F.pmod(number, F.lit(parts)) == part), names)

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
