"""What the page of data shows: how the table was read, its columns, and its rows page by page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sfumato.studio.tasks.table import draft_of, read_table, rows_of

BARS = 24  # of a histogram
VALUES = 12  # bars of a column without an order: its most frequent values
MOST_ROWS = 500  # that a browser holds
LONGEST = 200  # letters of a cell
LOOKED_INTO = 200_000_000  # bytes of a file whose dialect is told, which takes all of it


def summary(asked: Mapping[str, Any], progress: Any) -> dict[str, Any]:
    """How many rows there are, the names of the columns, and how the file was read."""
    progress("reading", None)
    found = rows_of(draft_of(asked))
    return {
        "rows": found.rows,
        "sampled": found.frame.height if found.sampled else None,
        "columns": [{"name": name} for name in found.frame.columns],
        "notes": found.notes,
    }


def columns(asked: Mapping[str, Any], names: Sequence[str], progress: Any) -> list[dict[str, Any]]:
    """Each of some columns: its kind, distinct and missing values, and a histogram as numbers."""
    frame = rows_of(draft_of(asked)).frame
    found = []
    for i, name in enumerate(names):
        progress("reading", i / len(names))
        found.append(described(frame.get_column(name)))
    return found


def described(series: pl.Series) -> dict[str, Any]:
    """A column: of numbers and dates as many bars as there are values between least and greatest, of others the most
    frequent values; `low` and `high` are what the first and the last bar begin and end with."""
    from sfumato.core.hierarchy import kind_of
    from sfumato.core.microdata import encode
    from sfumato.errors import SfumatoError

    try:
        categories, _ = encode(series)
    except SfumatoError:  # what cannot be printed, such as a list
        kind, missing = kind_of(series.dtype), series.null_count()
        return {
            "name": series.name,
            "kind": kind,
            "distinct": None,
            "missing": missing,
            "bars": [],
            "low": "",
            "high": "",
        }
    known = len(categories) - categories.missing
    found = {
        "name": series.name,
        "kind": categories.kind,
        "distinct": known,
        "missing": int(categories.count[-1]) if categories.missing else 0,
    }
    count, place = categories.count[:known], categories.position
    if place is not None and known and np.isfinite(place[:known]).all():
        bars = np.histogram(place[:known], bins=min(BARS, known), weights=count)[0]
        low, high = categories.text[0], categories.text[known - 1]
    else:
        order = np.argsort(-count, kind="stable")[:VALUES]
        bars = count[order]
        low, high = (categories.text[order[0]], categories.text[order[-1]]) if known else ("", "")
    return found | {"bars": [int(n) for n in bars], "low": (low or "")[:LONGEST], "high": (high or "")[:LONGEST]}


def page(asked: Mapping[str, Any], names: Sequence[str], start: int, count: int, progress: Any) -> dict[str, Any]:
    """Some rows of some columns as texts, and how many there are to page through."""
    from sfumato.core.printed import printed

    frame = rows_of(draft_of(asked)).frame
    some = frame.select(names).slice(max(0, start), min(count, MOST_ROWS))
    texts = []
    for column in some.iter_columns():
        try:
            texts.append(printed(column).str.slice(0, LONGEST).to_list())
        except (pl.exceptions.PolarsError, TypeError, ValueError):
            texts.append([None] * some.height)
    return {"rows": [list(row) for row in zip(*texts, strict=True)], "of": frame.height}


def fingerprint(asked: Mapping[str, Any], progress: Any) -> str | None:
    """The keyed fingerprint of the table in files, which tells whether it is still the one that was looked at."""
    from sfumato.core.fingerprint import fingerprint as of_frame
    from sfumato.core.fingerprint import key

    progress("reading", None)
    found = read_table(draft_of(asked))
    if not found.stored:
        return of_frame(found.data, key())
    mark: str | None = found.data.fingerprint(key())
    return mark


def dialect(asked: Mapping[str, Any], progress: Any) -> dict[str, Any]:
    """How a text file is written, as it was found out, and the sheets of a workbook."""
    from sfumato.engines.files.read import FORMATS, describe_csv, sheet_names
    from sfumato.policyfile.tables import ending

    origin = draft_of(asked).source()
    if origin is None or origin.stored:
        return {}
    path = Path(origin.paths[0])
    if not path.is_file() or path.stat().st_size > LOOKED_INTO:
        return {}
    kind = origin.reader.get("format") or ending(path)
    if kind in ("xlsx", "xlsm"):
        return {"sheets": sheet_names(path)}
    if kind not in FORMATS or FORMATS[kind] not in (FORMATS["csv"], FORMATS["tsv"]):
        return {}
    given = {name: origin.reader[name] for name in ("separator", "encoding", "quote", "header", "skip", "columns")
             if name in origin.reader}  # fmt: skip
    found = describe_csv(path, **given)
    return {"separator": found.separator, "encoding": found.encoding, "quote": found.quote, "header": found.header,
            "skip": found.skip}  # fmt: skip


def tables(address: str, folder: str, progress: Any) -> list[str]:
    """The tables and views of a database, as they are named in a policy."""
    from sfumato.engines.sql.connect import place
    from sfumato.engines.sql.connect import tables as tables_of
    from sfumato.policyfile.tables import anchored

    progress("connecting", None)
    found = place(anchored(address, Path(folder)))
    link = found.link()
    try:
        listed = tables_of(link, found.dialect, None)
    finally:
        link.close()
    return sorted({one.name for one in listed if one.kind not in ("index", "sequence", "type", "something else")})
