"""The verb stream: rows are released while they arrive."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sfumato.core.forms import variant_of_words
from sfumato.core.parameters import path_of
from sfumato.engines.tables import is_spark
from sfumato.errors import PolicyError
from sfumato.series.streams import STREAMS
from sfumato.series.streams.folder import FolderStream
from sfumato.series.streams.request import parse_request
from sfumato.series.streams.stream import Stream

Names = str | Sequence[str]


def stream(
    source: Any,
    *,
    quasi: Names,
    require: Iterable[Any] | Any = None,
    person: str | None = None,
    sensitive: Names = (),
    insensitive: Names = (),
    identifying: Names = (),
    unprotected: Names = (),
    delay: int = 10_000,
    search: Any = "castle",
    hierarchies: Mapping[str, Any] | None = None,
    domains: Mapping[str, tuple[Any, Any]] | None = None,
    ends: str = "rounded",
    time: str | None = None,
    seed: int | None = None,
    to: Any = None,
    state: Any = None,
    once: bool = False,
    finish: bool = False,
    format: str = "csv",
    poll: float = 1.0,
    about: Mapping[str, Any] | None = None,
) -> Stream:
    """Release the rows of a stream while they arrive, none of them later than a delay.

    `source` is an iterator of frames of pandas, Polars or PyArrow, a folder in which files arrive, or a streaming frame
    of PySpark; the result is an iterator of released frames, of Polars where they are written to a folder. A row is
    released, or suppressed, with the batch in which the last of `delay` rows came that begin with it. Every released
    class has k different people, by the `person` column; without one, each row is taken for a person of its own.
    `require` is k-anonymity, and distinct l-diversity if wanted: l values that different people hold.

    Parameters
    ----------
    quasi, sensitive, insensitive, identifying
        The role of each column: blurred, kept, kept, dropped. All columns have one; `person` is dropped.
    unprotected
        Sensitive columns that no criterion is about, on purpose: nothing warns of them then.
    search
        The algorithm: a name or a value of `sf.STREAMS`, such as "castle", "castle beta=100" or `sf.CASTLE(beta=100)`.
    hierarchies
        As for `anonymize`. Numbers and dates without one print ranges; other values without one are kept or lost.
    domains
        Column to its least and greatest value: what ranges are measured against. Without one it is that of the first
        `delay` rows, and nothing is released before these have come, as nothing has to be.
    ends
        "rounded": ranges end at round numbers. "exact": at the values of the people in them, as in the papers.
    time
        The column of times, for an algorithm that counts by time.
    to, state, once, finish, format, poll
        For a `source` that is a folder or a streaming frame of PySpark: the folder that batches are written to, as
        "csv" or "parquet"; a private file from which a run goes on that was ended or killed, beside which Spark's own
        checkpoint stands; whether to stop when all that is there was taken, and whether to release what then waits,
        which is done without a `state` anyway; and how many seconds to wait for more.
    about
        For the same: what the release is about, in its owner's words, as for `anonymize`. "language" is that of its
        report.

    Examples
    --------
    >>> import polars as pl
    >>> days = [pl.DataFrame({"age": [31, 34, 52], "disease": ["flu", "cold", "flu"]})] * 2
    >>> asked = ["k-anonymity 2", "distinct-l-diversity disease 2"]
    >>> out = stream(days, quasi="age", sensitive="disease", require=asked, delay=4, seed=1)
    >>> sum(frame.height for frame in out), out.suppressed
    (6, 0)
    """
    algorithm = variant_of_words(STREAMS, "stream algorithm", search)
    asked = parse_request(
        algorithm, person=person, quasi=quasi, sensitive=sensitive, insensitive=insensitive, identifying=identifying,
        require=require, delay=delay, hierarchies=hierarchies, domains=domains, ends=ends, seed=seed, time=time,
        unprotected=unprotected, about=about,
    )  # fmt: skip
    if is_spark(source):
        from sfumato.series.streams.spark import SparkStream

        return SparkStream(source, asked, to, state, once, finish, format, poll)
    if isinstance(source, str | Path):
        return FolderStream(path_of(source), asked, to, state, once, finish, format, poll)
    if to is not None or state is not None or once or finish or about is not None:
        raise PolicyError(
            "to, state, once, finish and about are for a folder in which files arrive, and for Spark", got="frames"
        )
    return Stream(source, asked)
