"""Types of Spark as types of Polars, the plain form of a column, and a piece of work on the cluster."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import polars as pl

from sfumato.core.progress import whole
from sfumato.errors import ReadError, SfumatoError

PLAIN = {
    "byte": pl.Int8(),
    "short": pl.Int16(),
    "integer": pl.Int32(),
    "long": pl.Int64(),
    "float": pl.Float32(),
    "double": pl.Float64(),
    "boolean": pl.Boolean(),
    "string": pl.String(),
    "char": pl.String(),
    "varchar": pl.String(),
    "void": pl.String(),
    "date": pl.Date(),
    "timestamp": pl.Datetime("us", "UTC"),  # an instant: its text must not depend on the zone of a session
    "timestamp_ntz": pl.Datetime("us"),
    "daytimeinterval": pl.Duration("us"),
}
NESTED = {"array": pl.List(pl.Null()), "map": pl.Struct({}), "struct": pl.Struct({}), "binary": pl.Binary()}


def polars_type(dtype: Any) -> pl.DataType:
    """The type that the values of a Spark type have in Polars; `Object` for what Polars does not have."""
    name = dtype.typeName()
    if name == "decimal":
        return pl.Decimal(dtype.precision, dtype.scale)
    return PLAIN.get(name) or NESTED.get(name) or pl.Object()


def printable(dtype: pl.DataType) -> bool:
    """Whether values of a type have a printed form."""
    return not (dtype.is_nested() or isinstance(dtype, pl.Binary | pl.Object))


def functions(frame: Any) -> Any:
    """The functions that make columns for a frame: classic Spark and Spark Connect have each their own."""
    if type(frame).__module__.startswith("pyspark.sql.connect"):
        from pyspark.sql.connect import functions as remote

        return remote
    from pyspark.sql import functions as classic

    return classic


def windows(frame: Any) -> Any:
    """What makes windows for a frame, of which each kind has its own, too."""
    if type(frame).__module__.startswith("pyspark.sql.connect"):
        from pyspark.sql.connect.window import Window as remote

        return remote
    from pyspark.sql import Window as classic

    return classic


def bytewise(dtype: Any) -> Any:
    """The type that a column is cast to: of text, that of texts which are equal where their bytes are."""
    if PLAIN.get(dtype.typeName()) == pl.String:
        from pyspark.sql.types import StringType

        return StringType()
    return dtype


def plain(frame: Any, column: str, dtype: pl.DataType) -> Any:
    """A column in its plain form: what `sfumato.core.printed.plain` does, on the cluster."""
    F = functions(frame)
    value = F.col(column)
    if dtype.is_float():
        zero = F.lit(0.0).cast("float" if dtype == pl.Float32 else "double")
        return F.when(value == zero, zero).when(~F.isnan(value), value)
    if dtype == pl.String:
        return F.when(value != F.lit(""), value)
    return value


CHANGED = "the table has other values than when it was counted: it was changed while it was read"
MARK = "sfumato: unknown value"  # what a job raises where it meets a value that was not counted


@contextmanager
def job(spark: Any, what: str, error: type[SfumatoError] = ReadError, hint: str | None = None) -> Iterator[None]:
    """Run the block as one piece of work; a failure of the cluster is an error of ours that says what it was for."""
    tag = "sfumato-" + secrets.token_hex(8)
    try:
        spark.addTag(tag)
        with whole(lambda: spark.interruptTag(tag)):
            yield
    except SfumatoError:
        raise
    except Exception as raised:  # its message may hold cells
        if MARK in str(raised):
            raise ReadError(CHANGED) from None
        raise error(what, got=reason(raised), hint=hint) from None
    except BaseException:
        with suppress(Exception):
            spark.interruptTag(tag)
        raise
    finally:
        with suppress(Exception):
            spark.removeTag(tag)


def reason(raised: Exception) -> str:
    """The name that Spark has for an error, or that of its class: neither holds a value."""
    with suppress(Exception):
        named = raised.getCondition()  # type: ignore[attr-defined]
        if named and re.fullmatch(r"[A-Z0-9_.]+", named):
            return str(named)
    with suppress(Exception):
        return str(raised.java_exception.getClass().getName())  # type: ignore[attr-defined]
    return type(raised).__name__
