"""What is asked of the rows of a Spark frame beside their counts: a fingerprint, and whether weights are weights."""

from __future__ import annotations

import hashlib
import hmac

import polars as pl

from sfumato.engines.spark_frame import SparkFrame
from sfumato.engines.spark_job import job
from sfumato.engines.spark_types import functions

NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"


def positive(table: SparkFrame, column: str) -> bool:
    """Whether every row has a finite number above 0 in a column."""
    F, dtype = functions(table.rows), table.schema[column]
    value = F.col(table.place[column])
    if dtype == pl.String:
        value = F.when(value.rlike(NUMBER), value)
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
