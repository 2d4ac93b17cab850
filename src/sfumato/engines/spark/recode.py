"""A Plan on a cluster: cells made small before they are joined, rows dealt to parts and sorted by what is released."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import takewhile
from operator import and_
from typing import Any

import polars as pl

from sfumato.core.printed import LARGEST_KEY, pack_numbers
from sfumato.engines.order import sorted_by, value_ranks
from sfumato.engines.protocol import LABEL, PIECE, RESERVED_PREFIX, Plan
from sfumato.engines.spark.count import SparkFrame
from sfumato.engines.spark.types import MARK, functions

PART = 1 << 18  # rows of a part, about
WHOLE = ("byte", "short", "integer", "long")


def dealt_and_sorted(frame: Any, by: Sequence[str], rows: int, ranks: Sequence[str] = (), ranked: int = 0) -> Any:
    """The rows of a frame in parts, sorted in each by its columns in this order; names must need no quoting.

    Which part a row goes to is a hash of its values, and how many parts there are follows from how many rows are
    released: Spark's own sort would cut the parts by a sample, which depends on where the rows came from. Texts compare
    byte by byte and whole numbers by their digits. What the cluster prints in another way than Sfumato, as fractions,
    is compared by its value. The columns `ranks` have whole numbers in the order of the first columns, so many as are
    `ranked`: they sort faster.
    """
    F, types = functions(frame), {field.name: field.dataType.typeName() for field in frame.schema.fields}
    keys = [F.col(name).asc_nulls_last() for name in ranks]
    for name in by[ranked:]:
        text = F.col(name).cast("string").asc_nulls_last()
        alone = types[name] in (*WHOLE, "string", "char", "varchar")
        keys += [text] if alone else [F.col(name).asc_nulls_last(), text]  # zeros are equal, and print differently
    return frame.repartition(max(1, math.ceil(rows / PART)), *by).sortWithinPartitions(*keys)


CLASS = RESERVED_PREFIX + "class"
RANK = RESERVED_PREFIX + "rank of "
VALUES = 100_000  # values of a column that are worth a code


@dataclass(frozen=True, eq=False)
class Packed:
    """Cells by a number in `RESERVED_PREFIX`; it is made of the codes of the values, most significant column first."""

    cells: pl.DataFrame
    codes: dict[str, pl.DataFrame]


def numbered(cells: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Cells with a number in place of their labels, and the labels of each number.

    >>> cells, classes = numbered(pl.DataFrame({"a": [1, 2], LABEL + "a": ["x", "x"]}))
    >>> cells.columns, classes.rows()
    (['a', 'sfumato: class'], [(0, 'x')])
    """
    labels = [name for name in cells.columns if name.startswith(LABEL)]
    if not labels:
        return cells.with_columns(pl.lit(0, pl.Int32).alias(CLASS)), pl.DataFrame({CLASS: [0]}, {CLASS: pl.Int32})
    classes = cells.select(labels).unique(maintain_order=True)
    classes = classes.with_columns(pl.int_range(classes.height, dtype=pl.Int32).alias(CLASS)).select(CLASS, *labels)
    return cells.join(classes, on=labels, nulls_equal=True).drop(labels), classes


def pack(cells: pl.DataFrame, keys: Sequence[str]) -> Packed | None:
    """Cells by one number, or None where a column has many values or the number would not fit 64 bits.

    >>> pack(pl.DataFrame({"a": ["x", None], "b": [5, 5], CLASS: [0, 0]}), ["a", "b"]).cells[RESERVED_PREFIX].to_list()
    [1, 0]
    """
    codes: dict[str, pl.DataFrame] = {}
    key, domain = pl.repeat(0, cells.height, dtype=pl.Int64, eager=True), 1
    for name in keys:
        values = cells.get_column(name).unique().sort()
        domain *= len(values)
        if len(values) > VALUES or domain >= LARGEST_KEY:
            return None
        codes[name] = pl.DataFrame(
            [values, pl.int_range(len(values), dtype=pl.Int64, eager=True).alias(RESERVED_PREFIX)]
        )
        code = cells.select(name).join(codes[name], on=name, how="left", nulls_equal=True, maintain_order="left")
        key = key * len(values) + code.get_column(RESERVED_PREFIX)
    return Packed(pl.DataFrame([key.alias(RESERVED_PREFIX), cells.get_column(CLASS)]), codes)


SMALL = 1 / 32  # of the memory of a process: a frame that every worker is sent whole; it takes several times that
UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def mapped(table: SparkFrame, plan: Plan) -> Any:
    """The rows that a plan releases, yet to be run."""
    F, place = functions(table.rows), table.place
    touched = dict.fromkeys((*plan.keys, *plan.row_key, *plan.unchanged, *plan.maps))
    made = {name: F.col("plain " + place[name]) for name in touched}
    rows = table.rows.select("*", *(table.plain(name).alias("plain " + place[name]) for name in made))
    there = [name for name in plan.columns if name in place]  # labels may be read off other columns
    released = {name: made[name] if name in plan.unchanged else F.col(place[name]) for name in there}
    ranks: dict[str, int] = {}  # the columns whose order is known, and how many ranks they have
    beside: dict[str, Any] = {}
    if plan.suppressed_keys is not None:
        rows, _ = joined(table, rows, plan.suppressed_keys, {name: made[name] for name in plan.keys}, "left_anti")
    if plan.cells is not None:
        if plan.dealt is not None:
            told = {name: made[name] for name in (*plan.keys, *plan.row_key)}
            rows, found = joined(table, rows, plan.dealt, told, "left")
            made[PIECE] = F.coalesce(found[PIECE], F.lit(0))
        keys = {name: made[name] for name in plan.cell_keys}
        cells, classes = numbered(plan.cells)
        classes = _with_ranks(classes, [name for name in classes.columns if name.startswith(LABEL)], ranks)
        if (packed := pack(cells, plan.cell_keys)) is not None:
            key = F.lit(0)
            for name, codes in packed.codes.items():
                codes = _with_ranks(codes, [name] if name in plan.unchanged else [], ranks)
                rows, found = joined(table, rows, codes, {name: made[name]}, "inner")
                key = key * F.lit(codes.height) + found[RESERVED_PREFIX]
                beside |= found
            cells, keys = packed.cells, {RESERVED_PREFIX: key}
        rows, found = joined(table, rows, cells, keys, "inner")
        rows, found = joined(table, rows, classes, {CLASS: found[CLASS]}, "inner")
        released |= {name.removeprefix(LABEL): column for name, column in found.items() if name.startswith(LABEL)}
        beside |= found
    for name, labels in plan.maps.items():
        given = _with_ranks(labels.with_columns(pl.lit(1).alias(RESERVED_PREFIX)), [LABEL + name], ranks)
        rows, found = joined(table, rows, given, {name: made[name]}, "left")
        beside |= found
        unknown = F.raise_error(F.lit(MARK)).cast("string")
        released[name] = F.when(found[RESERVED_PREFIX].isNotNull(), found[LABEL + name]).otherwise(unknown)
    for name, values in plan.values.items():
        if len(values) <= VALUES:
            rows, found = joined(
                table, rows, _with_ranks(values.to_frame(name), [name], ranks), {name: made[name]}, "left"
            )
            beside |= found
    columns = [released[name].alias(f"c{i}") for i, name in enumerate(plan.columns)]
    first = sorted_by(plan.columns, plan.order.quasi)
    known = list(takewhile(ranks.__contains__, first))
    order = pack_numbers(
        ((beside[RANK + n], ranks[n]) for n in known), lambda key, size, rank: key * F.lit(size) + rank
    )
    by = [f"c{plan.columns.index(name)}" for name in first]
    in_order = [f"order {i}" for i in range(len(order))]
    made_of = rows.select(*columns, *(column.alias(name) for name, column in zip(in_order, order, strict=True)))
    written = {name: {name: F.col(f"c{i}")} for i, name in enumerate(plan.columns)}
    for name, used in plan.number_labels().items():  # beside the labels, which rows are sorted by
        given = plan.numbers.columns(name, used).rename(lambda column: RESERVED_PREFIX + column)
        made_of, found = joined(table, made_of, given, {RESERVED_PREFIX + "label": written[name][name]}, "left")
        written[name] = dict(zip(plan.numbers.counted(name), list(found.values())[1:], strict=True))
    dealt = dealt_and_sorted(made_of, by, made_of.count() if plan.rows is None else plan.rows, in_order, len(known))
    shown = {to: column for name in plan.columns for to, column in written[name].items()}
    return dealt.select(*shown.values()).toDF(*shown)


def _with_ranks(given: pl.DataFrame, columns: Sequence[str], ranks: dict[str, int]) -> pl.DataFrame:
    """A frame with the ranks of some columns beside them; `ranks` notes how many there are."""
    for column in columns:
        name = column.removeprefix(LABEL)
        rank, ranks[name] = value_ranks(given.get_column(column))
        given = given.with_columns(pl.Series(RANK + name, rank))
    return given


def joined(
    table: SparkFrame, rows: Any, given: pl.DataFrame, on: Mapping[str, Any], how: str
) -> tuple[Any, dict[str, Any]]:
    """Rows joined with tuples, a missing value with a missing value, and the columns that they got from them."""
    F, start = functions(rows), f"join {len(rows.columns)} "
    found = {name: F.col(f"{start}{i}") for i, name in enumerate(given.columns)}
    same = []
    for name, value in on.items():
        # a comparison that knows of missing values takes twice the keys
        safe = given.get_column(name).has_nulls()
        same.append(value.eqNullSafe(found[name]) if safe else value == found[name])
    return rows.join(staged(table, given, start), reduce(and_, same), how), found


def staged(table: SparkFrame, given: pl.DataFrame, start: str) -> Any:
    """A frame of values and texts on the cluster, sent whole to every worker where it is small."""
    from pyspark.sql import types as T

    numbers: dict[Any, Any] = {
        pl.Int32: T.IntegerType(),
        pl.Int64: T.LongType(),
        pl.Float64: T.DoubleType(),
        pl.Date: T.DateType(),
        pl.Datetime("us"): T.TimestampNTZType(),
    }
    ours = {name: numbers.get(dtype, T.StringType()) for name, dtype in given.schema.items()}
    given = given.with_columns(pl.col(pl.Enum, pl.Categorical).cast(pl.String))
    fields = [T.StructField(f"{start}{i}", (ours | table.types)[name]) for i, name in enumerate(given.columns)]
    data = given.to_arrow(compat_level=pl.CompatLevel.oldest()).rename_columns([field.name for field in fields])
    made = table.spark.createDataFrame(data, T.StructType(fields))
    small = given.estimated_size() <= SMALL * memory(table.spark)
    return functions(table.rows).broadcast(made) if small else made  # else the rows go to where their cells are


def memory(spark: Any) -> int:
    """The bytes that the smallest process of a cluster has."""
    alone = spark.conf.get("spark.master", "").startswith("local")
    names = ["spark.driver.memory"] if alone else ["spark.driver.memory", "spark.executor.memory"]
    sizes = [re.fullmatch(r"([0-9]+)([kmgt]?)b?", spark.conf.get(name, "1g").lower()) for name in names]
    return min(int(size[1]) * UNITS[size[2] or "m"] if size else UNITS["g"] for size in sizes)
