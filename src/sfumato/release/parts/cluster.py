"""What a cluster is asked while a table is cut into parts and blurred: DataFrames and Arrow functions, nothing else."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.cells import Cells
from sfumato.core.policy import Policy, Verdict, label_losses
from sfumato.core.printed import printed, with_texts
from sfumato.engines.protocol import COUNT, RESERVED_PREFIX
from sfumato.engines.spark.count import SparkFrame, as_polars
from sfumato.engines.spark.types import MARK, functions, job
from sfumato.errors import Infeasible, ReadError
from sfumato.losses import LM
from sfumato.release.ends import with_ends
from sfumato.release.parts.domain import RECORD, Domain, added, places, pose_part, tally
from sfumato.release.parts.tree import Branches
from sfumato.release.parts.verify import INSTALLED
from sfumato.release.recode import recode
from sfumato.search.mondrian.mondrian import Mondrian, labels_of
from sfumato.search.mondrian.parts import columns_of
from sfumato.search.problem import Partition, Problem, Solution

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


LEAF = RESERVED_PREFIX + "leaf"  # the column of leaves


@dataclass(frozen=True, eq=False)
class Task:
    """What the workers are sent. `schema` is of the columns that are released, under their names.

    `solid` has, for each leaf that is too large and cannot be cut, rows with the least and the greatest value of each
    column: it is one class, whose rows come in pieces.
    """

    domain: Domain
    policy: Policy
    histogram_columns: tuple[str, ...]
    search: Mondrian
    schema: Mapping[str, pl.DataType]
    branches: Branches
    most: int  # rows of a part
    solid: Mapping[int, pl.DataFrame] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Blurred:
    """The labels of the rows of a part, as text, and what they come to.

    `cost` is the sum over its rows of what each column loses; `plain` are the columns in which nothing was blurred.
    """

    labels: dict[str, pl.Series]
    rows: int
    cost: list[float]
    plain: list[str]


def blur(task: Task, leaf: int, rows: pl.DataFrame) -> Blurred:
    """The labels of the rows of a leaf, in their order."""
    policy, ends = task.policy, task.solid.get(leaf)
    extra = 0 if ends is None else ends.height
    seen = list(dict.fromkeys((*policy.columns, *task.histogram_columns)))
    table = rows.select(seen)
    row_counts = None
    if ends is not None:
        table = pl.concat([ends.select(seen), table])
        row_counts = np.repeat(np.array([0, 1]), [extra, rows.height])
    micro, problem, cell_of_row = pose_part(table, task.domain, policy, task.histogram_columns, row_counts)
    if ends is None:
        solution = with_ends(problem, task.search(problem))
    else:
        solution = alike(problem, one_class(problem, task.search), cell_of_row[:extra])
    if not solution.kept.all():
        raise Infeasible(
            "mondrian found classes that satisfy the policy one by one, but not as they print",
            closest={"suppressed": solution.verdict.suppressed},
        )
    _, coded = recode(table, micro, solution, cell_of_row, policy.columns, part=True)
    released = with_texts(pl.DataFrame(coded), table.schema).to_dict()
    labels = {name: printed(column)[extra:] for name, column in released.items()}
    plain = [name for name, column in released.items() if column.dtype == task.schema[name]]
    return Blurred(labels, rows.height, cost_of(problem, solution), plain)


def one_class(problem: Problem, search: Mondrian) -> Solution:
    """All cells as one class."""
    cells = problem.cells
    columns = columns_of(problem, "hierarchy", search.labels)
    first = np.zeros(1, np.int64)
    labels = {
        column.attribute.name: labels_of(column, search.labels, column.place[cells.codes[i]], cells.count, first)
        for i, column in enumerate(columns)
    }
    partition = Partition(np.zeros(len(cells), np.int32), labels)
    return Solution(partition, Verdict(True, 0, 0.0, {}), np.ones(len(cells), np.bool_), False, 0, 0.0)


def alike(problem: Problem, solution: Solution, ends: np.ndarray) -> Solution:
    """The class with ends that are the same in each of its pieces: by the cells of its least and greatest values."""
    there = np.zeros(len(problem.cells), np.bool_)
    there[ends] = True
    cells, policy = replace(problem.cells, count=there.astype(np.int64)), replace(problem.policy, require=())
    found = with_ends(replace(problem, cells=cells, policy=policy), replace(solution, kept=there), common=False)
    return replace(found, kept=solution.kept)


def cost_of(problem: Problem, solution: Solution) -> list[float]:
    """What all rows of a part lose in each column: LM where the loss is one of class sizes."""
    recoding = solution.recoding
    assert isinstance(recoding, Partition)
    loss: Any = problem.policy.loss
    by_label = loss if loss.by_label else LM()
    found = []
    for i, attribute in enumerate(problem.attributes):
        labels = recoding.labels[attribute.name]
        found.append((labels, labels.of[recoding.class_of_cell], problem.cells.codes[i]))
    return [float(x) for x in label_losses(by_label, found, problem.cells.count, solution.kept, 1)]


def ends_of(task: Task, rows: pl.DataFrame, leaf: np.ndarray) -> np.ndarray:
    """Which rows: for each leaf one with the least and one with the greatest place, for each column."""
    names = task.policy.columns
    attributes = tuple(task.domain.attribute(name) for name in names)
    nothing = Cells((), np.zeros((0, 0), np.int32), np.zeros(0, np.int64), ())
    columns = columns_of(Problem(attributes, nothing, task.policy, 0), "hierarchy", task.search.labels)
    at = []
    for column, place in zip(columns, places(rows, task.domain, names), strict=True):
        line = column.attribute.name in task.domain.spans
        order = np.lexsort((place if line else column.place[place.astype(np.int64)], leaf))
        new = np.diff(leaf[order], prepend=-1) != 0
        at += [order[new], order[np.append(new[1:], True)[: len(order)]]]
    return np.unique(np.concatenate(at))
