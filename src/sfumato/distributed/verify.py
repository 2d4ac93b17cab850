"""Verify on a cluster: classes are audited where they are, by the code of verify, and the findings put together."""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from sfumato import errors
from sfumato.criteria.audit import Counts, Wide
from sfumato.criteria.promise import Promise
from sfumato.distributed.findings import all_sizes, findings, joined
from sfumato.engines.printed import printed_frame
from sfumato.engines.spark_frame import SparkFrame, as_polars
from sfumato.engines.spark_job import job
from sfumato.engines.spark_types import functions
from sfumato.engines.store import COUNT, Say
from sfumato.errors import ColumnError, PolicyError, SfumatoError, did_you_mean
from sfumato.measures.class_sizes import summary
from sfumato.measures.verify import Verification, wide_of

BUCKET = 1_000_000  # rows whose classes are audited together, about
MAX_VALUES = 1_000_000  # different values of a sensitive attribute
INSTALLED = "the workers need this version of Sfumato: is it in the Python that PYSPARK_PYTHON names there?"


def verify_on(
    frame: Any,
    quasi: Sequence[Sequence[str]],
    require: Sequence[Any],
    *,
    whole: Mapping[str, Counts] | None = None,
    hierarchies: Mapping[str, Any] | None = None,
    say: Say | None = None,
    bucket: int = BUCKET,
) -> Verification:
    """The same as `verify_table`, of a Spark frame whose classes need not fit one machine.

    The rows are counted by their quasi-identifiers and the sensitive attributes; the classes are dealt to buckets by a
    hash of their quasi-identifiers, and a worker audits each bucket. Distances compare with the distribution of all
    released rows where `whole` has none.

    >>> verify_on(spark.read.parquet("out/"), [["age", "zip"]], [KAnonymity(10)]).holds  # doctest: +SKIP
    True
    """
    table = SparkFrame(frame)
    if say is not None:
        say("verifying", None)
    needed = list(dict.fromkeys(name for criterion in require for name in criterion.needs))
    for name in (*(name for names in quasi for name in names), *needed):
        if name not in table.schema:
            raise ColumnError(f'the table has no column "{name}"', hint=did_you_mean(name, table.schema))
    released = {name: distribution_on(table, name) for name in needed}
    own = dict(whole or {})
    trees = {name: wide_of(tree) for name, tree in (hierarchies or {}).items()}
    promises: list[Promise] = []
    classes, rows = [], 0
    for names in quasi:
        told = _audited(table, list(names), needed, require, {**released, **own}, trees, bucket)
        sizes = all_sizes(told)
        rows = int(sizes.sum())
        classes.append(summary(sizes, names))
        promises += joined(told, sizes, names, require, released, own, trees)
    return Verification(rows, tuple(promises), tuple(classes))


def _audited(
    table: SparkFrame,
    names: list[str],
    needed: list[str],
    require: Sequence[Any],
    given: Mapping[str, Counts],
    trees: Mapping[str, Wide],
    bucket: int,
) -> list[dict[str, Any]]:
    """Count the classes on the cluster and audit them in buckets: what each bucket says."""
    F = functions(table.rows)
    columns = list(dict.fromkeys((*names, *needed)))
    types = {name: table.schema[name] for name in columns} | {COUNT: pl.Int64()}
    sent = pickle.dumps((names, needed, tuple(require), dict(given), trees), protocol=5)

    def audit(part: Any) -> Any:
        import pyarrow as pa

        counted = as_polars(part.drop_columns(["bucket"]), types)
        text = printed_frame(counted.drop(COUNT)).with_columns(counted.get_column(COUNT))
        try:
            told = findings(text, *pickle.loads(sent))
        except SfumatoError as error:
            told = {"error": [type(error).__name__, error.what, error.hint]}
        return pa.table({"found": [json.dumps(told)]})

    with job(table.spark, "the cluster could not verify the release", hint=INSTALLED):
        buckets = max(1, math.ceil(table.rows.count() / bucket))
        level = table.rows.select(*(table.plain(name) for name in columns))
        counted = level.groupBy(*level.columns).agg(F.count(F.lit(1)).alias("n"))
        keys = [table.place[name] for name in names]
        dealt = counted.withColumn("bucket", F.pmod(F.xxhash64(*keys), F.lit(buckets)))
        said = dealt.groupBy("bucket").applyInArrow(audit, "found string").toArrow().column(0).to_pylist()
    found = [json.loads(text) for text in said]
    for told in found:
        if "error" in told:
            kind, what, hint = told["error"]
            raise getattr(errors, kind, PolicyError)(what, hint=hint)
    return found


def distribution_on(table: SparkFrame, name: str) -> dict[str, int]:
    """Printed value to rows; the empty text stands for missing."""
    try:
        counted = table.count([name], MAX_VALUES)
    except PolicyError:
        raise PolicyError(
            f'column "{name}" has too many different values for its distribution to be sent to every worker',
            got=f"more than {MAX_VALUES:,}",
        ) from None
    text = printed_frame(counted.select(name)).get_column(name)
    return {value or "": n for value, n in zip(text.to_list(), counted[COUNT].to_list(), strict=True)}
