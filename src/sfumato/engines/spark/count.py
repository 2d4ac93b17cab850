"""SparkFrame: a frame of Spark under names of ours, with the types of Polars; it is counted here."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import polars as pl

from sfumato.core.printed import printed_frame
from sfumato.engines.protocol import COUNT, refuse_many
from sfumato.engines.spark.types import bytewise, functions, job, plain, polars_type, printable
from sfumato.errors import ColumnError, EmptyTable, InputError

PIECE = 22  # bits of a hash that are summed at a time
MASK = (1 << PIECE) - 1
LARGEST = 2**31 - 1  # rows that a limit of Spark can name


class SparkFrame:
    """The columns of `rows` are named c0, c1 and so on, in the order of `schema`: then no name needs quoting."""

    def __init__(self, frame: Any) -> None:
        with job(frame.sparkSession, "the frame cannot be analysed"):
            fields, moving = list(frame.schema.fields), frame.isStreaming
        if moving:
            raise InputError("a stream has no last row to count to", hint="write it to a table first")
        if not fields:
            raise EmptyTable("the table has no columns")
        names = [field.name for field in fields]
        for name in names:
            if names.count(name) > 1:
                raise ColumnError(f'column "{name}" is there twice', hint="rename one of them")
        self.spark = frame.sparkSession
        self.schema = {field.name: polars_type(field.dataType) for field in fields}
        self.types = {field.name: bytewise(field.dataType) for field in fields}
        self.place = {name: f"c{i}" for i, name in enumerate(names)}
        F, given = functions(frame), zip(self.place.values(), fields, self.types.values(), strict=True)
        columns = [F.col(at) if f.dataType == dtype else F.col(at).cast(dtype).alias(at) for at, f, dtype in given]
        with job(self.spark, "the frame cannot be analysed"):
            self.rows = frame.toDF(*self.place.values()).select(*columns)

    @property
    def printable(self) -> list[str]:
        """The columns whose values have a printed form."""
        return [name for name, dtype in self.schema.items() if printable(dtype)]

    def plain(self, name: str) -> Any:
        """A column in its plain form, under its name of ours."""
        return plain(self.rows, self.place[name], self.schema[name]).alias(self.place[name])

    def count(self, columns: Sequence[str], most: int = LARGEST) -> pl.DataFrame:
        """Distinct tuples of columns in their plain form, and in `COUNT` how many rows have them."""
        with job(self.spark, "the cluster could not count the rows"):
            groups = self._grouped(columns)
            found = (groups if most >= LARGEST else groups.limit(most + 1)).toArrow()
            refuse_many(found.num_rows, most)
            return as_polars(found, {name: self.schema[name] for name in columns} | {COUNT: pl.Int64()})

    def _grouped(self, columns: Sequence[str]) -> Any:
        """Distinct tuples of columns, and in n how many rows have them; nothing runs yet."""
        F = functions(self.rows)
        for name in columns:
            if name not in self.schema:
                raise ColumnError(f'the table has no column "{name}"')
        level = self.rows.select(*(self.plain(name) for name in columns))
        return level.groupBy(*(self.place[name] for name in columns)).agg(F.count(F.lit(1)).alias("n"))

    def hashes(self, columns: Sequence[str]) -> list[Any]:
        """Two hashes of 64 bits of the values of columns, in their plain form: the same by any version of Spark."""
        F, values = functions(self.rows), [self.plain(name) for name in columns]
        # a missing value changes no hash, so it is told apart
        return [F.xxhash64(F.lit(i), *values, *(value.isNull() for value in values)) for i in range(2)]

    @cached_property
    def totals(self) -> list[int]:
        """How many rows there are, and the sums of both hashes of all columns that can be printed."""
        F, names = functions(self.rows), [f"hash{i}" for i in range(2)]
        row = self.rows.select(
            *(hash.alias(name) for hash, name in zip(self.hashes(self.printable), names, strict=True))
        )
        # in pieces that no sum is too large for: a sum of decimals takes far longer
        pieces = {f"{name} {i}": F.shiftright(F.col(name), PIECE * i) for name in names for i in range(3)}
        sums = [F.sum(hash if name[-1] == "2" else hash.bitwiseAND(MASK)).alias(name) for name, hash in pieces.items()]
        with job(self.spark, "the cluster could not read the table"):
            found = row.agg(F.count(F.lit(1)).alias("rows"), *sums).toArrow().to_pylist()[0]
        return [found["rows"], *(sum((found[f"{name} {i}"] or 0) << (PIECE * i) for i in range(3)) for name in names)]

    def singled(self, sets: Sequence[Sequence[str]]) -> list[int]:
        """For each set of columns how many rows have values of them, in their plain form, that no other row has.

        Rows are grouped by 128 bits of hashes, which takes half the time: no two of all rows there are share them.
        """
        with job(self.spark, "the cluster could not count the rows"):
            return [self._alone(names) for names in sets]

    def _alone(self, columns: Sequence[str]) -> int:
        if len(columns) == 1:
            return int(self._grouped(columns).filter("n = 1").count())
        F, (one, other) = functions(self.rows), self.hashes(columns)
        groups = self.rows.select(one.alias("one"), other.alias("other")).groupBy("one", "other")
        return int(groups.agg(F.count(F.lit(1)).alias("n")).filter("n = 1").count())

    def count_printed(self, columns: Sequence[str], most: int = LARGEST) -> pl.DataFrame:
        """The counts, in the printed texts: plain values that differ print differently."""
        cells = self.count(columns, most)
        return printed_frame(cells.drop(COUNT)).with_columns(cells.get_column(COUNT))

    def fetch(self, rows: Any, columns: Sequence[str]) -> pl.DataFrame:
        """Columns of some of the rows, as they are."""
        with job(self.spark, "the cluster could not read the table"):
            found = rows.select(*(self.place[name] for name in columns)).toArrow()
            return as_polars(found, {name: self.schema[name] for name in columns})


def as_polars(found: Any, schema: dict[str, pl.DataType]) -> pl.DataFrame:
    frame = pl.from_arrow(found)
    assert isinstance(frame, pl.DataFrame)
    frame.columns = list(schema)
    return frame.cast(schema)  # type: ignore[arg-type]
