"""A Plan applied to a Spark frame: its values and labels are frames of the cluster, and joined."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import reduce
from operator import and_
from typing import Any

import polars as pl

from sfumato.engines.order import sorted_by
from sfumato.engines.spark_frame import SparkFrame
from sfumato.engines.spark_job import MARK
from sfumato.engines.spark_order import dealt_and_sorted
from sfumato.engines.spark_pack import CLASS, numbered, pack
from sfumato.engines.spark_types import functions
from sfumato.engines.store import LABEL, OURS, Plan

SMALL = 1 / 32  # of the memory of a process: a frame that every worker is sent whole; it takes several times that
UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def mapped(table: SparkFrame, plan: Plan) -> Any:
    """The rows that a plan releases, yet to be run."""
    F, place = functions(table.rows), table.place
    made = {name: F.col("plain " + place[name]) for name in dict.fromkeys((*plan.keys, *plan.plain, *plan.maps))}
    rows = table.rows.select("*", *(table.plain(name).alias("plain " + place[name]) for name in made))
    released = {name: made[name] if name in plan.plain else F.col(place[name]) for name in plan.columns}
    if plan.gone is not None:
        rows, _ = joined(table, rows, plan.gone, {name: made[name] for name in plan.keys}, "left_anti")
    if plan.cells is not None:
        keys = {name: made[name] for name in plan.keys}
        cells, classes = numbered(plan.cells)
        if (packed := pack(cells, plan.keys)) is not None:
            key = F.lit(0)
            for name, codes in packed.codes.items():
                rows, found = joined(table, rows, codes, {name: made[name]}, "inner")
                key = key * F.lit(codes.height) + found[OURS]
            cells, keys = packed.cells, {OURS: key}
        rows, found = joined(table, rows, cells, keys, "inner")
        rows, found = joined(table, rows, classes, {CLASS: found[CLASS]}, "inner")
        released |= {name.removeprefix(LABEL): column for name, column in found.items() if name.startswith(LABEL)}
    for name, labels in plan.maps.items():
        given = labels.with_columns(pl.lit(1).alias(OURS))
        rows, found = joined(table, rows, given, {name: made[name]}, "left")
        unknown = F.raise_error(F.lit(MARK)).cast("string")
        released[name] = F.when(found[OURS].isNotNull(), found[LABEL + name]).otherwise(unknown)
    columns = [released[name].alias(f"c{i}") for i, name in enumerate(plan.columns)]
    by = [f"c{plan.columns.index(name)}" for name in sorted_by(plan.columns, plan.order.quasi)]
    made_of = rows.select(*columns)
    return dealt_and_sorted(made_of, by, made_of.count() if plan.rows is None else plan.rows).toDF(*plan.columns)


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
    from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

    numbers: dict[Any, Any] = {pl.Int32: IntegerType(), pl.Int64: LongType()}
    ours = {name: numbers.get(dtype, StringType()) for name, dtype in given.schema.items()}
    given = given.with_columns(pl.col(pl.Enum, pl.Categorical).cast(pl.String))
    fields = [StructField(f"{start}{i}", (ours | table.types)[name]) for i, name in enumerate(given.columns)]
    data = given.to_arrow(compat_level=pl.CompatLevel.oldest()).rename_columns([field.name for field in fields])
    made = table.spark.createDataFrame(data, StructType(fields))
    small = given.estimated_size() <= SMALL * memory(table.spark)
    return functions(table.rows).broadcast(made) if small else made  # else the rows go to where their cells are


def memory(spark: Any) -> int:
    """The bytes that the smallest process of a cluster has."""
    alone = spark.conf.get("spark.master", "").startswith("local")
    names = ["spark.driver.memory"] if alone else ["spark.driver.memory", "spark.executor.memory"]
    sizes = [re.fullmatch(r"([0-9]+)([kmgt]?)b?", spark.conf.get(name, "1g").lower()) for name in names]
    return min(int(size[1]) * UNITS[size[2] or "m"] if size else UNITS["g"] for size in sizes)
