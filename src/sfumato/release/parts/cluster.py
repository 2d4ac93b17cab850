"""What a cluster is asked while a table is cut into parts and blurred: DataFrames and Arrow functions, nothing else."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl

from sfumato.engines.protocol import COUNT
from sfumato.engines.spark.count import SparkFrame, as_polars
from sfumato.engines.spark.types import MARK, functions, job
from sfumato.errors import ReadError
from sfumato.release.parts.domain import RECORD, added, places, tally
from sfumato.release.parts.part import LEAF, Task, ends_of
from sfumato.release.parts.verify import INSTALLED

CANNOT = "the cluster could not cut the table into parts"
HEAVY = 16  # units: cells with more rows are in every sample


def packed(task: Task) -> bytes:
    """A task as bytes that travel with the functions that use it."""
    return zlib.compress(pickle.dumps(task, protocol=5), 1)


@lru_cache(maxsize=2)
def unpacked(sent: bytes) -> Task:
    """The task, made once in each worker."""
    found: Task = pickle.loads(zlib.decompress(sent))
    return found


@contextmanager
def marked() -> Iterator[None]:
    """On a worker, say of a value that was not counted what `job` understands."""
    try:
        yield
    except ReadError:
        raise ValueError(MARK) from None


def sampled(table: SparkFrame, columns: Sequence[str], unit: int, seed: int) -> pl.DataFrame:
    """About one row of `unit`, chosen by a hash of all its columns: the same rows however the table is laid out."""
    F = functions(table.rows)
    every = [table.place[name] for name in table.printable]
    chosen = F.pmod(F.xxhash64(*every, F.lit(seed)), F.lit(unit)) == 0
    return table.fetch(table.rows if unit == 1 else table.rows.filter(chosen), columns)


def counted_leaves(table: SparkFrame, task: Task, wanted: Sequence[int]) -> pl.DataFrame:
    """The records of some leaves, added up over all rows."""
    F = functions(table.rows)
    mask = np.zeros(len(task.branches.column), np.bool_)
    mask[list(wanted)] = True
    sent, names = packed(task), seen_by(task)
    types = {name: table.schema[name] for name in names}

    def count(batches: Any) -> Any:
        import pyarrow as pa

        own = unpacked(sent)
        records = pl.DataFrame(schema=RECORD)
        for batch in batches:
            rows = as_polars(pa.Table.from_batches([batch]), types)
            with marked():
                new = tally(rows, own.domain, own.branches, own.policy.columns, own.histogram_columns, mask)
            records = added(pl.concat([records, new]))
        yield from _arrow(records).to_batches()

    schema = "leaf int, item int, value long, count long, low double, high double"
    found = table.rows.select(*(table.place[name] for name in names)).mapInArrow(count, schema)
    sums = F.sum("count").alias("count"), F.min("low").alias("low"), F.max("high").alias("high")
    with job(table.spark, CANNOT, hint=INSTALLED):
        return as_polars(found.groupBy("leaf", "item", "value").agg(*sums).toArrow(), _typed(RECORD))


def heavy_sample(table: SparkFrame, task: Task, wanted: Sequence[int], unit: int, seed: int) -> pl.DataFrame:
    """Cells of some leaves with the units that each stands for in `COUNT`: all those of many rows, of the others one of
    `unit`, chosen by a hash."""
    F = functions(table.rows)
    names = seen_by(task)
    cells = [table.place[name] for name in names]
    rows = dealt(table, task, names).filter(F.col("leaf").isin(list(wanted)))
    count = F.col("n")
    tuples = rows.groupBy("leaf", *cells).agg(F.count(F.lit(1)).alias("n"))
    chosen = F.pmod(F.xxhash64(*cells, F.lit(seed)), F.lit(unit)) == 0
    kept = tuples.filter((count >= HEAVY * unit) | chosen)
    with job(table.spark, CANNOT, hint=INSTALLED):
        types = {LEAF: pl.Int32(), **{name: table.schema[name] for name in names}, COUNT: pl.Int64()}
        found = as_polars(kept.toArrow(), types)
    n = pl.col(COUNT)
    return found.with_columns(pl.when(n >= HEAVY * unit).then(n // unit).otherwise(n).alias(COUNT))


def ends(table: SparkFrame, task: Task, wanted: Sequence[int]) -> dict[int, pl.DataFrame]:
    """For each of some leaves rows with the least and the greatest value of each column."""
    F = functions(table.rows)
    sent, names = packed(task), seen_by(task)
    types = {name: table.schema[name] for name in names}
    rows = dealt(table, task, names).filter(F.col("leaf").isin(list(wanted))).drop("piece")

    def thin(batches: Any) -> Any:
        import pyarrow as pa

        kept = None
        for batch in batches:
            new = pa.Table.from_batches([batch])
            kept = new if kept is None else pa.concat_tables([kept, new])
            leaf = kept.column("leaf").to_numpy()
            kept = kept.take(ends_of(unpacked(sent), as_polars(kept.drop_columns("leaf"), types), leaf))
        yield from [] if kept is None else kept.to_batches()

    with job(table.spark, CANNOT, hint=INSTALLED):
        found = as_polars(rows.mapInArrow(thin, rows.schema).toArrow(), types | {LEAF: pl.Int32()})
    return {leaf: found.filter(pl.col(LEAF) == leaf).select(names) for leaf in wanted}


def dealt(table: SparkFrame, task: Task, columns: Sequence[str]) -> Any:
    """The rows with their leaf, in some columns, and a piece of it for those that come in pieces; yet to be run."""
    from pyspark.sql.types import IntegerType, StructField, StructType

    sent, names = packed(task), list(columns)
    types = {name: table.schema[name] for name in names}

    def deal(batches: Any) -> Any:
        import pyarrow as pa
        from pyspark import TaskContext

        own, context = unpacked(sent), TaskContext.get()
        number, before = (0 if context is None else context.partitionId()) << 10, 0
        for batch in batches:
            rows = pa.Table.from_batches([batch])
            seen = as_polars(rows, types) if batch.num_rows else pl.DataFrame(schema=types)
            with marked():
                leaf = own.branches.leaf(places(seen, own.domain, own.policy.columns))
            solid = np.isin(leaf, list(own.solid))
            piece = np.where(solid, number + before // own.most, 0).astype(np.int32)
            before += int(solid.sum())
            yield from rows.append_column("leaf", [leaf]).append_column("piece", [piece]).to_batches()

    level = table.rows.select(*(table.place[name] for name in names))
    more = [StructField("leaf", IntegerType()), StructField("piece", IntegerType())]
    return level.mapInArrow(deal, StructType([*level.schema.fields, *more]))


def seen_by(task: Task) -> list[str]:
    """The columns that decide to which part a row belongs, and what it needs."""
    return list(dict.fromkeys((*task.policy.columns, *task.histogram_columns)))


def _typed(schema: Any) -> dict[str, pl.DataType]:
    return {name: dtype() for name, dtype in schema.items()}


def _arrow(frame: pl.DataFrame) -> Any:
    """A frame in the types of Arrow that Spark knows."""
    return frame.to_arrow(compat_level=pl.CompatLevel.oldest())
