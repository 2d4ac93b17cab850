"""The parts of a table blurred by the workers of a cluster, stored there, and what the parts report."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from sfumato import errors
from sfumato.distributed.part import Task, blur
from sfumato.distributed.spark import dealt, packed, unpacked
from sfumato.distributed.verify import INSTALLED
from sfumato.engines.order import sorted_by
from sfumato.engines.spark_frame import SparkFrame, as_polars
from sfumato.engines.spark_job import CHANGED, job
from sfumato.engines.spark_kept import checkpointed
from sfumato.engines.spark_order import dealt_and_sorted
from sfumato.engines.spark_types import functions
from sfumato.errors import Infeasible, OutputError, ReadError, SfumatoError

REPORT = "report"  # beside the released rows: what a part says about itself, in a row without any values


@dataclass(frozen=True, eq=False)
class Stored:
    """The released frame, where it is stored, what its rows lose in each column, and how many parts it was made in."""

    data: Any
    place: dict[str, Any]
    cost: np.ndarray
    parts: int


def release(table: SparkFrame, task: Task) -> Stored:
    """Blur every part where it is sent to, and store the rows; raises what a part raised."""
    F = functions(table.rows)
    names = list(task.schema)
    with job(table.spark, "the cluster could not make the release", OutputError, INSTALLED):
        by = [table.place[name] for name in sorted_by(names, task.policy.columns)]
        rows, where = checkpointed(dealt_and_sorted(_blurred(table, task), by, task.domain.rows))
        said = rows.filter(F.col(REPORT).isNotNull()).select(REPORT).toArrow().column(0).to_pylist()
    reports = sorted((json.loads(text) for text in said), key=lambda found: (found["leaf"], found["piece"]))
    for found in reports:
        if "error" in found:
            raise _raised(found)
    if sum(found["rows"] for found in reports) != task.domain.rows:
        raise ReadError(CHANGED)
    cost = np.array([found["cost"] for found in reports]).sum(axis=0)
    same = [name for name in task.policy.columns if all(name in found["plain"] for found in reports)]
    kept = rows.filter(F.col(REPORT).isNull())
    columns = []
    for name in names:
        column = F.col(table.place[name])
        if (
            name in same and table.schema[name] != pl.Duration
        ):  # nothing was blurred: it keeps its type, if it has a text
            column = column.cast(table.rows.schema[table.place[name]].dataType)
        columns.append(column.alias(table.place[name]))
    return Stored(kept.select(*columns).toDF(*names), {"format": "spark", "checkpoint": where}, cost, len(reports))


def _blurred(table: SparkFrame, task: Task) -> Any:
    """The released rows and the reports, yet to be run."""
    from pyspark.sql.types import StringType, StructField, StructType

    sent, names = packed(task), list(task.schema)
    quasi = {table.place[name]: name for name in task.policy.columns}
    rows = dealt(table, task, names)
    types = {name: table.schema[name] for name in names}
    fields = [
        StructField(f.name, StringType() if f.name in quasi else f.dataType)
        for f in rows.schema.fields
        if f.name not in ("leaf", "piece")
    ]

    def work(part: Any) -> Any:
        import pyarrow as pa

        own = unpacked(sent)
        at = {name: part.column(name)[0].as_py() for name in ("leaf", "piece")}
        part = _in_utc(part.drop_columns(["leaf", "piece"]))
        try:
            found = blur(own, at["leaf"], as_polars(part, types))
        except SfumatoError as error:
            return _report(part, quasi, {**at, **_told(error)})
        columns = [
            _text(found.labels[quasi[name]]) if name in quasi else part.column(name) for name in part.column_names
        ]
        made = pa.Table.from_arrays([*columns, pa.nulls(part.num_rows, pa.string())], [*part.column_names, REPORT])
        told = {**at, "rows": found.rows, "cost": found.cost, "plain": found.plain}
        return pa.concat_tables([made, _report(part, quasi, told)])

    schema = StructType([*fields, StructField(REPORT, StringType())])
    return rows.groupBy("leaf", "piece").applyInArrow(work, schema)


def _in_utc(part: Any) -> Any:
    """The rows with their instants in the one zone that Spark takes back; it hands them out in that of the session."""
    import pyarrow as pa

    zoned = [pa.types.is_timestamp(field.type) and field.type.tz is not None for field in part.schema]
    types = [pa.timestamp("us", tz="UTC") if z else f.type for z, f in zip(zoned, part.schema, strict=True)]
    return part.cast(pa.schema(list(zip(part.column_names, types, strict=True))))


def _report(part: Any, quasi: dict[str, str], told: dict[str, Any]) -> Any:
    import pyarrow as pa

    types = [pa.string() if field.name in quasi else field.type for field in part.schema]
    columns = [pa.nulls(1, dtype) for dtype in types]
    return pa.Table.from_arrays([*columns, pa.array([json.dumps(told)])], [*part.column_names, REPORT])


def _text(labels: pl.Series) -> Any:
    import pyarrow as pa

    return labels.to_arrow(compat_level=pl.CompatLevel.oldest()).cast(pa.string())


def _told(error: SfumatoError) -> dict[str, Any]:
    """An error in words; none of ours holds a cell."""
    got, allowed = (None if x is None else str(x) for x in (error.got, error.allowed))
    return {"error": type(error).__name__, "what": error.what, "got": got, "allowed": allowed, "hint": error.hint}


def _raised(told: dict[str, Any]) -> SfumatoError:
    kind = getattr(errors, told["error"], Infeasible)
    more = {name: told[name] for name in ("got", "allowed", "hint")}
    found: SfumatoError = kind(told["what"], **more)
    return found
