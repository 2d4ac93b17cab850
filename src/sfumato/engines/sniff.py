"""Guess how a delimited text file is written, from its first lines: separator, quotes, header, spaces."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sfumato.errors import ColumnError

if TYPE_CHECKING:
    from _csv import Reader

SEPARATORS = ("\t", ";", "|", ",")  # ties go to the first: in "1,5;2,5" the comma is decimal
NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)*|[.,]\d+)([eE][+-]?\d+)?%?")
DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([T ].*)?")
FIELD = r"(?:^|(?<=[,;\t|])) ?"  # where a field may begin, whatever the separator
DOUBLE_OPEN = re.compile(FIELD + '"', re.MULTILINE)
SINGLE_OPEN = re.compile(FIELD + "'", re.MULTILINE)
SINGLE = re.compile(FIELD + r"'(?:[^'\n]|'')*'(?=[,;\t|\r]|$)", re.MULTILINE)


@dataclass(frozen=True)
class Dialect:
    """How a delimited text file is written."""

    separator: str
    quote: str | None  # None: quotes have no meaning
    header: bool
    skip_spaces: bool  # a space follows practically every separator and is no part of the values
    names: tuple[str, ...]
    encoding: str = "utf-8"


def sniff(
    head: str, *, separator: str | None = None, quote: str | None = None, header: bool | None = None, whole: bool = True
) -> Dialect:
    """Guess the dialect of a file from its first lines; what is given is taken as given.

    The separator is the one of comma, semicolon, tab and bar that cuts the first line, and then the most lines into
    as many fields. The quote is double unless only single quotes enclose fields. The first line is a header unless its
    cells look like the cells below them: numbers above numbers, or words that come again.

    Parameters
    ----------
    head
        The first lines.
    separator, quote, header
        Overrides; `quote=""` says that quotes have no meaning.
    whole
        Whether `head` is all there is; if not, its last line may be half a record.

    Examples
    --------
    >>> sniff("name;born\\nAnn;1970\\nBob;1985\\n").names
    ('name', 'born')
    """
    mark = _quote(head) if quote is None else quote or None
    separator = separator or _separator(head, mark, whole)
    skip_spaces = _spaced(head, separator, mark)
    rows = records(head, separator, mark, skip_spaces)
    first = rows[0] if rows else []
    if header is None:
        header = _has_header(first, rows[1:] if whole or len(rows) < 3 else rows[1:-1])
    return Dialect(separator, mark, header, skip_spaces, column_names(first, header), "utf-8")


def records(text: str, separator: str, quote: str | None, skip_spaces: bool) -> list[list[str]]:
    """The fields of each line that is not blank."""
    try:
        rows = list(reader(text, separator, quote, skip_spaces))
    except csv.Error:  # a lone carriage return outside quotes
        rows = list(reader(text.replace("\r\n", "\n").replace("\r", " "), separator, quote, skip_spaces))
    wide = any(len(row) > 1 for row in rows)
    return [row for row in rows if row and not (wide and len(row) == 1 and row[0].isspace())]


def reader(text: str, separator: str, quote: str | None, skip_spaces: bool, strict: bool = False) -> Reader:
    """Python's own reader: a second opinion on the head, and for what Polars cannot parse."""
    csv.field_size_limit(2**31 - 1)  # a cell may be long
    return csv.reader(
        io.StringIO(text, newline="\n"),
        delimiter=separator,
        quotechar=quote,
        quoting=csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE,
        skipinitialspace=skip_spaces,
        strict=strict,
    )


def column_names(first: Sequence[str], header: bool) -> tuple[str, ...]:
    """The names of the columns: those of the header, `column_N` where it has none.

    >>> column_names(["age", ""], header=True)
    ('age', 'column_2')
    """
    names = [name if header and name.strip() else f"column_{i}" for i, name in enumerate(first, 1)]
    places: dict[str, list[int]] = {}
    for i, name in enumerate(names, 1):
        places.setdefault(name, []).append(i)
    twice = [" and ".join(map(str, several)) for several in places.values() if len(several) > 1]
    if twice:  # their names may be cells of a file without a header
        hint = "rename one, or pass header=False if the file has no header"
        raise ColumnError(f"the header names a column twice: columns {', '.join(twice)}", hint=hint)
    return tuple(names)


def _quote(head: str) -> str:
    if DOUBLE_OPEN.search(head):
        return '"'
    closed = len(SINGLE.findall(head))
    return "'" if closed > 1 and closed == len(SINGLE_OPEN.findall(head)) else '"'


def _separator(head: str, quote: str | None, whole: bool) -> str:
    best, share = None, 0.0
    for separator in SEPARATORS:
        rows = records(head, separator, quote, skip_spaces=True)
        rows = rows if whole or len(rows) < 3 else rows[:-1]
        if rows and len(rows[0]) > 1:
            agree = sum(len(row) == len(rows[0]) for row in rows) / len(rows)
            if agree > share:
                best, share = separator, agree
    # a single column: any separator that does not occur will do
    return best or next((separator for separator in reversed(SEPARATORS) if separator not in head), ",")


def _spaced(head: str, separator: str, quote: str | None) -> bool:
    if separator.isspace() and separator != "\t":
        return False
    bare = re.sub(f"{quote}[^{quote}]*{quote}", "", head) if quote else head
    return bare.count(separator + " ") > 0.95 * bare.count(separator) > 0


def _typed(cell: str) -> bool:
    cell = cell.strip()
    return bool(NUMBER.fullmatch(cell) or DATE.fullmatch(cell))


def _has_header(first: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    if not body:
        return not any(_typed(cell) for cell in first)
    votes = 0
    for j, name in enumerate(first):
        cells = [row[j] for row in body if len(row) > j and row[j].strip()]
        if not cells or not name.strip():
            continue
        typed = sum(map(_typed, cells)) > 0.9 * len(cells)
        if typed:
            votes += -1 if _typed(name) else 1
        elif name in cells:
            votes -= 1
        elif 2 * len(set(cells)) <= len(cells):
            votes += 1
    return votes >= 0
