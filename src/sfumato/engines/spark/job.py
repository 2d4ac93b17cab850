"""A piece of work on a Spark cluster: cancelled where it is interrupted; its errors hold no cells and no paths."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from sfumato.errors import ReadError, SfumatoError

CHANGED = "the table has other values than when it was counted: it was changed while it was read"
MARK = "sfumato: unknown value"  # what a job raises where it meets a value that was not counted


@contextmanager
def job(spark: Any, what: str, error: type[SfumatoError] = ReadError, hint: str | None = None) -> Iterator[None]:
    """Run the block as one piece of work; a failure of the cluster is an error of ours that says what it was for."""
    tag = "sfumato-" + secrets.token_hex(8)
    try:
        spark.addTag(tag)
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
