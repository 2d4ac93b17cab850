"""Guess how a delimited text file is written, from its first lines: separator, quotes, header, spaces."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sfumato.core.parameters import is_whole
from sfumato.engines.files.encoding import HEAD, decode, load
from sfumato.errors import ColumnError, ReadError

if TYPE_CHECKING:
    from _csv import Reader


SEPARATORS = ("\t", ";", "|", ",")  # ties go to the first: in "1,5;2,5" the comma is decimal
NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)*|[.,]\d+)([eE][+-]?\d+)?%?")
DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([T ].*)?")
SEP = re.compile(r'"?sep=([^\r\n"])"?\r?\n')  # a line for Excel
FIRST_LINES = 50  # among which the header is looked for
FIELD = r"(?:^|(?<=[,;\t|])) ?"  # where a field may begin, whatever the separator
DOUBLE_OPEN = re.compile(FIELD + '"', re.MULTILINE)
SINGLE_OPEN = re.compile(FIELD + "'", re.MULTILINE)
SINGLE = re.compile(FIELD + r"'(?:[^'\n]|'')*'(?=[,;\t|\r]|$)", re.MULTILINE)


@dataclass(frozen=True)
class TextDialect:
    """How a delimited text file is written."""

    separator: str
    quote: str | None  # None: quotes have no meaning
    header: bool
    skip_spaces: bool  # a space follows practically every separator and is no part of the values
    names: tuple[str, ...]
    encoding: str = "utf-8"
    skip: int = 0  # lines above the header: titles, dates of export


def sniff(
    head: str,
    *,
    separator: str | None = None,
    quote: str | None = None,
    header: bool | None = None,
    whole: bool = True,
    skip: int | None = None,
    columns: Sequence[str] | None = None,
) -> TextDialect:
    """Guess the dialect of a file from its first lines; what is given is taken as given.

    The separator is the one of comma, semicolon, tab and bar that cuts the first line, and then the most lines into
    as many fields. The quote is double unless only single quotes enclose fields. The first line is a header unless its
    cells look like the cells below them: numbers above numbers, or words that come again. Lines above it that
    have few of its cells are skipped, where it is a header beyond doubt.

    Parameters
    ----------
    head
        The first lines.
    separator, quote, header
        Overrides; `quote=""` says that quotes have no meaning.
    whole
        Whether `head` is all there is; if not, its last line may be half a record.
    skip
        The lines above the header; None is guessed.
    columns
        Names of the columns, where the file has no header.

    Examples
    --------
    >>> sniff("name;born\\nAnn;1970\\nBob;1985\\n").names
    ('name', 'born')
    """
    mark = _quote(head) if quote is None else quote or None
    if skip is None and (told := SEP.match(head)) and separator in (None, told[1]):
        separator, skip = told[1], 1
    skip = _preamble(head, separator, mark, header) if skip is None else skip
    head = head.split("\n", skip)[-1] if skip else head
    separator = separator or _separator(head, mark, whole)
    skip_spaces = _spaced(head, separator, mark)
    rows = records(head, separator, mark, skip_spaces)
    first = rows[0] if rows else []
    sure = header is not None
    if header is None:
        header = _has_header(first, rows[1:] if whole or len(rows) < 3 else rows[1:-1])
    names = None if columns is None else name_columns(first, columns, header, sure)
    if names is not None:
        return TextDialect(separator, mark, False, skip_spaces, names, "utf-8", skip)
    return TextDialect(separator, mark, header, skip_spaces, column_names(first, header), "utf-8", skip)


def name_columns(first: Sequence[str], columns: Sequence[str], header: bool, sure: bool) -> tuple[str, ...] | None:
    """The columns as the names of a table without a header, whose first row is given; None where they choose columns.

    A header that was guessed is none where the columns are as many, and it has none of them.
    """
    known = set(first) if header else set(column_names(first, header=False))
    if known & set(columns) or (header and (sure or len(columns) != len(first))):
        return None
    if len(columns) != len(first):
        what = f"the file has no header, and columns names {len(columns)}"
        raise ColumnError(what, got=f"{len(first)} columns in the file", hint="name all of them, in their order")
    if len(set(columns)) < len(columns):
        raise ColumnError("columns names a column twice")
    return tuple(columns)


def _preamble(head: str, separator: str | None, quote: str | None, header: bool | None) -> int:
    """How many lines stand above the header."""
    if header is False:
        return 0
    for mark in [separator] if separator else SEPARATORS:
        lines = reader(head, mark, quote, skip_spaces=True)
        rows, ends = [], []
        try:
            for row in islice(lines, FIRST_LINES):
                rows.append(row)
                ends.append(lines.line_num)
        except csv.Error:
            continue
        if above := rows_above(rows):
            return ends[above - 1]
    return 0


def rows_above(rows: Sequence[Sequence[str | None]]) -> int:
    """How many of the first rows of a sheet or a file stand above its header.

    They have a third of its cells at most, and the header is beyond doubt: all of its cells are names, no two alike,
    and the rows below are as wide, and look different.

    >>> rows_above([["Patients 2024"], [], ["name", "age"], ["Ann", "31"], ["Bob", "47"]])
    2
    """
    width = max(map(len, rows), default=0)
    filled = [sum(bool(cell and cell.strip()) for cell in row) for row in rows]
    start = next((i for i, row in enumerate(rows) if filled[i] == len(row) == width), 0)
    if width < 2 or not start or 3 * max(filled[:start]) > max(3, width) or not any(filled[:start]):
        return 0
    names, body = (
        [cell or "" for cell in rows[start]],
        [[cell or "" for cell in row] for row in rows[start + 1 :] if any(row)],
    )
    named = len(set(names)) == width and not any(map(_typed, names))
    wide = sum(len(row) == width for row in body) >= 0.5 * len(body) > 0
    return start if named and wide and _votes(names, body) > 0 else 0


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
    return _votes(first, body) >= 0 if body else not any(_typed(cell) for cell in first)


def _votes(first: Sequence[str], body: Sequence[Sequence[str]]) -> int:
    """Columns whose first cell looks like a name, less those where it looks like the cells below it."""
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
    return votes


CHUNK = 1 << 16  # stays in the processor's cache
PIECE = 1 << 22  # bytes whose copies need no new memory
NEWLINE, RETURN, SPACE = 10, 13, 32


@dataclass(frozen=True)
class Lines:
    """What a scan found: `regular` where every line has its fields, none is blank and all quotes are in place.

    `short` are the places of lines of one field, where all others are regular; `opened` is how many quotes open a field
    after a separator and a space.
    """

    rows: int
    regular: bool
    short: Sequence[int] = ()
    opened: int = 0


def scan(text: bytes, separator: str, quote: str | None, columns: int, spaced: bool = False) -> Lines:
    """Check that every line of a text in UTF-8 has as many fields as there are columns.

    A line ends at a line feed outside quotes. Separator and quote are one ASCII character each; quote is None where
    quotes have no meaning. With `spaced` one space stands between a separator and a quote that opens a field, and
    nowhere else.

    >>> scan(b"a,b\\n1,2\\n3\\n", ",", None, 2).regular
    False
    """
    opened = 0
    if quote is not None and quote.encode() in text:
        ends, stray, opened = _ends_quoted(text, ord(separator), ord(quote), spaced)
    else:
        ends, stray = _ends(text, ord(separator)), False
    if text and not text.endswith(b"\n"):
        ends = np.append(ends, True)
    rows = int(np.count_nonzero(ends))
    regular = not stray and ends.size == rows * columns and bool(ends.reshape(-1, columns)[:, -1].all())
    if regular and columns == 1:
        regular = not (text.startswith((b"\n", b"\r\n")) or b"\n\n" in text or b"\n\r\n" in text)
    short: Sequence[int] = ()
    if not stray and not regular and columns > 1:
        fields = np.diff(np.flatnonzero(ends), prepend=-1)
        if ((fields == 1) | (fields == columns)).all():
            short = np.flatnonzero(fields == 1).tolist()
    return Lines(rows, regular, short, opened)


def _ends(text: bytes, separator: int) -> np.ndarray:
    """For each separator and line feed, in order, whether it is a line feed."""
    buffer = np.frombuffer(text, np.uint8)
    found = []
    for low in range(0, buffer.size, CHUNK):
        chunk = buffer[low : low + CHUNK]
        newline = chunk == NEWLINE
        found.append(newline[newline | (chunk == separator)])
    return np.concatenate(found) if found else np.zeros(0, bool)


def _ends_quoted(text: bytes, separator: int, quote: int, spaced: bool) -> tuple[np.ndarray, bool, int]:
    """The same outside quotes, whether a quote stands where it neither opens nor closes a field, and how many open one
    after a separator and a space."""
    buffer = np.frombuffer(text, np.uint8)
    found, inside, stray, opened = [], False, False, 0
    for low in range(0, buffer.size, CHUNK):
        view = buffer[max(low - 2, 0) : low + CHUNK + 1]  # bytes of context: two before, one behind
        if low == 0:
            view = np.concatenate([np.array([NEWLINE, NEWLINE], np.uint8), view])
        if low + CHUNK >= buffer.size:
            view = np.append(view, np.uint8(NEWLINE))
        newline, mark, between = view == NEWLINE, view == quote, view == separator
        edge = newline | between | mark
        closes = edge[3:] | (view[3:] == RETURN)
        after = (view[1:-2] == SPACE) & between[:-3] if spaced else between[1:-2]  # a separator
        opens = (newline | mark)[1:-2] | after
        if spaced:
            led = after & mark[2:-1]
            closes &= ~led  # else the space would be part of a value
            opened += int(np.count_nonzero(led))
        # one byte per structural character: 1 quote, 2 line feed, 4 a field may open here, 8 a field may close here
        code = mark.view(np.uint8)[2:-1] | (newline.view(np.uint8)[2:-1] << 1)
        code |= (opens.view(np.uint8) << 2) | (closes.view(np.uint8) << 3)
        code = code[edge[2:-1]]
        quotes = (code & 1).view(bool)
        state = np.logical_xor.accumulate(quotes) ^ inside  # inside quotes; a doubled quote closes and opens again
        allowed = code & (np.uint8(8) >> state.view(np.uint8))
        stray |= bool((quotes & (allowed == 0)).any())
        found.append(((code & 2) > 0)[~(quotes | state)])
        inside = bool(state[-1]) if state.size else inside
    return np.concatenate(found), stray or inside, opened


BATCH = 50_000  # rows at a time through Python's reader, to bound memory


def open_delimited(
    path: Path,
    *,
    separator: str | None = None,
    encoding: str | None = None,
    quote: str | None = None,
    header: bool | None = None,
    skip: int | None = None,
    columns: Sequence[str] | None = None,
) -> tuple[bytes, TextDialect]:
    """The text of a file in UTF-8, without lines above its header, and its dialect, guessed where it is not given."""
    for option, value in (("separator", separator), ("quote", quote or None)):
        if value is not None and (len(value) != 1 or not value.isascii() or value in "\r\n\0"):
            raise ReadError(f"{option} must be one ASCII character", got=repr(value))
    if separator is not None and separator == quote:
        raise ReadError("separator and quote must differ", got=repr(quote))
    text, found = decode(load(path), path.name, encoding)
    if not text or text.isspace():
        raise ReadError(f"{path.name} is empty")
    if b"\0" in text:
        line = text.count(b"\n", 0, text.index(b"\0")) + 1
        hint = 'it may be UTF-16 without a byte order mark: pass encoding="utf-16-le"'
        raise ReadError(f"{path.name}: line {line} has a null byte, which no text file has", hint=hint)
    if b"\n" not in text[:HEAD] and b"\r" in text[:HEAD]:  # lines ended by a lone carriage return
        text = text.replace(b"\r", b"\n")
    head = _head(text)
    whole = len(head) == len(text)
    check_skip(skip)
    given: dict[str, Any] = {"separator": separator, "quote": quote, "header": header, "skip": skip, "columns": columns}
    dialect = sniff(head.decode("utf-8", "ignore"), whole=whole, **given)
    return skip_lines(text, dialect.skip, path.name), replace(dialect, encoding=found)


def check_skip(skip: int | None) -> None:
    """Refuse what is no number of lines."""
    if skip is not None and (not is_whole(skip) or skip < 0):
        raise ReadError("skip must be a whole number of lines above the header", got=repr(skip))


def skip_lines(text: bytes, lines: int, name: str) -> bytes:
    """The text below so many lines."""
    if not lines:
        return text
    rest = text.split(b"\n", lines)
    if len(rest) <= lines or not rest[-1].strip():
        raise ReadError(f"{name} has nothing below the {lines} lines that are skipped")
    return rest[-1]


def parse(text: bytes, dialect: TextDialect, name: str) -> pl.DataFrame:
    """The table of a delimited text: every column text, verbatim; an empty cell is missing; blank lines are skipped.

    In a file of one column a blank line is refused: it may be a missing value, or nothing. The text is in UTF-8 without
    byte order mark; `name` is the file's, for messages.

    >>> parse(b"a,b\\n01,\\n", sniff("a,b\\n01,\\n"), "x.csv").rows()
    [('01', None)]
    """
    single = len(dialect.names) == 1
    if text.endswith(b"\r" if single else (b"\n\n", b"\n\r\n", b"\r")):
        text = text.rstrip(b"\r\n") + b"\n"
    body = text if single else text.lstrip(b"\r\n")  # in the text lines are counted
    quoted = dialect.quote is not None and dialect.quote.encode() in text
    frame = None if quoted or single else _by_counts(body, dialect, name)
    if frame is not None and not dialect.skip_spaces:
        return frame
    if frame is None:
        frame = (_by_pieces if quoted and dialect.skip_spaces else _by_scan)(body, dialect, name)
    slowly = frame is None
    if frame is None:
        frame = _by_python(text, dialect, name)
    if dialect.skip_spaces:  # texts are compared faster than looked at
        led = [c.name for c in frame.iter_columns() if (c < "!").any() and c.str.starts_with(" ").any()]
        frame = frame.with_columns(pl.col(led).str.strip_chars_start(" "))
    if quoted or slowly or dialect.skip_spaces:
        frame = frame.with_columns(pl.when(pl.all() != "").then(pl.all()))
    return frame


def _by_counts(text: bytes, dialect: TextDialect, name: str) -> pl.DataFrame | None:
    """The table of a text without quotes whose separators are as many as its lines ask for, or None.

    Polars refuses a line with too many of them, so that none can have too few.
    """
    buffer = np.frombuffer(text, np.uint8)
    chunks = [buffer[low : low + CHUNK] for low in range(0, buffer.size, CHUNK)]
    separators, lines = (sum(np.count_nonzero(c == b) for c in chunks) for b in (ord(dialect.separator), NEWLINE))
    rows, each = int(lines) + (not text.endswith(b"\n")), len(dialect.names) - 1
    last = text[text.rfind(b"\n", 0, -1) + 1 :].count(dialect.separator.encode())  # where Polars lets one more pass
    if separators != rows * each or last != each or _unfit(text):
        return None
    try:
        return _by_polars(text, dialect, name, rows - dialect.header)
    except ReadError:  # the slow way tells the line
        return None


def _by_pieces(text: bytes, dialect: TextDialect, name: str) -> pl.DataFrame | None:
    """The same of a text with spaces before quotes, which has to be changed: little of it at a time costs less."""
    frames = []
    for piece in _pieces(text, dialect.quote or ""):
        frame = _by_scan(piece, dialect, name)
        if frame is None:
            return None
        frames.append(frame)
        dialect = replace(dialect, header=False)  # only the first piece has one
    return pl.concat(frames)


def _pieces(text: bytes, quote: str) -> Iterator[bytes]:
    """The text in pieces that end outside quotes, where a line ends with a quote and the next begins with one."""
    mark, buffer, low = quote.encode(), np.frombuffer(text, np.uint8), 0
    between = re.compile(re.escape(mark) + b"\r?\n(?=" + re.escape(mark) + b")")
    while len(text) - low > PIECE:
        end, inside = low + PIECE, np.count_nonzero(buffer[low : low + PIECE] == ord(quote)) % 2
        while found := between.search(text, end):
            inside = (inside + text.count(mark, end, found.end())) % 2
            end = found.end()
            if not inside:
                break
        else:
            break
        yield text[low:end]
        low = end
    yield text[low:]


def _by_scan(text: bytes, dialect: TextDialect, name: str) -> pl.DataFrame | None:
    """The table of a text every line of which has its fields or is blank, or None."""
    width, quote = len(dialect.names), dialect.quote or ""
    lines = scan(text, dialect.separator, dialect.quote, width, dialect.skip_spaces)
    if not (lines.regular or lines.short) or _unfit(text):
        return None
    given: bytes | io.BytesIO = text
    every = lines.opened == (lines.rows - len(lines.short)) * (width - 1) > 0
    if every:
        given = _empty_between(text, ord(dialect.separator), ord(quote))
    elif lines.opened:
        given = text.replace(f"{dialect.separator} {quote}".encode(), f"{dialect.separator}{quote}".encode())
    frame = _by_polars(given, dialect, name, lines.rows - dialect.header, every)
    blank = frame.select(pl.all_horizontal(pl.all().is_null())).to_series() if lines.short else None
    if blank is None:
        return frame
    at = np.flatnonzero(blank.to_numpy()) + dialect.header
    return frame.filter(~blank) if np.array_equal(at, lines.short) else None  # the slow way tells the line


def _empty_between(text: bytes, separator: int, quote: int) -> io.BytesIO:
    """The text with a separator in place of each space between a separator and a quote.

    So each becomes an empty field, which costs less than to take it out.
    """
    copy = io.BytesIO(text)
    with copy.getbuffer() as memory:
        buffer = np.frombuffer(memory, np.uint8)
        for low in range(0, buffer.size - 2, CHUNK):
            view = buffer[low : low + CHUNK + 2]
            space = (view[1:-1] == SPACE) & (view[:-2] == separator) & (view[2:] == quote)
            view[1:-1] ^= space.view(np.uint8) * np.uint8(SPACE ^ separator)
        del view, buffer  # or the memory could not be given back
    return copy


def _unfit(text: bytes) -> bool:
    """Whether Polars would take a text for compressed, or a carriage return follows another: one byte is found ten
    times as fast as two."""
    return text.startswith((b"x\x01", b"\n", b"\r")) or (b"\r" in text and b"\r\r" in text)


def _by_polars(
    text: bytes | io.BytesIO, dialect: TextDialect, name: str, rows: int, every_other: bool = False
) -> pl.DataFrame:
    """The table of a text whose lines are regular; with `every_other` the second, fourth and so on are empty fields."""
    try:
        frame = pl.read_csv(
            text,
            columns=list(range(0, 2 * len(dialect.names), 2)) if every_other else None,
            has_header=dialect.header,
            separator=dialect.separator,
            quote_char=dialect.quote,
            infer_schema=False,
        )
    except pl.exceptions.NoDataError:
        return pl.DataFrame(schema=dict.fromkeys(dialect.names, pl.String))
    except pl.exceptions.PolarsError:  # its message may hold cells
        raise ReadError(f"{name} cannot be parsed", hint=_hint(dialect)) from None
    if frame.shape != (rows, len(dialect.names)):
        raise ReadError(f"{name} cannot be parsed: its lines and its rows differ in number", hint=_hint(dialect))
    frame.columns = list(dialect.names)
    return frame


def _by_python(text: bytes, dialect: TextDialect, name: str) -> pl.DataFrame:
    """The slow way, for quotes inside fields, spaces before quotes, doubled returns; it names the line at fault."""
    schema = dict.fromkeys(dialect.names, pl.String)
    frames = [pl.DataFrame(schema=schema)]
    lines = reader(text.decode(), dialect.separator, dialect.quote, dialect.skip_spaces, strict=True)
    rows = _checked(lines, dialect, name)
    while batch := list(islice(rows, BATCH)):
        columns = zip(*batch, strict=True)
        frames.append(pl.DataFrame(dict(zip(dialect.names, columns, strict=True)), schema=schema))
    return pl.concat(frames).slice(int(dialect.header))


def _checked(rows: Reader, dialect: TextDialect, name: str) -> Iterator[list[str]]:
    """The records that are not blank; a ReadError where one has too many or too few fields, or could be missing."""
    line, width = 1 + dialect.skip, len(dialect.names)
    try:
        for row in rows:
            if len(row) == width:
                yield row
            elif not row and width == 1:
                what = f"{name}: line {line} is blank, which in a file of one column may be a missing value, or nothing"
                raise ReadError(what, hint='write "" for a missing value, or take the line out')
            elif row and not (len(row) == 1 and row[0].isspace()):
                fields = f"{len(row)} field" + "s" * (len(row) != 1)
                above = "the header" if dialect.skip else "the first line"
                raise ReadError(f"{name}: line {line} has {fields}, {above} has {width}", hint=_hint(dialect))
            line = dialect.skip + rows.line_num + 1
    except csv.Error:
        raise ReadError(f"{name}: line {line} is malformed: its quotes do not match", hint=_hint(dialect)) from None


def _hint(dialect: TextDialect) -> str:
    quote = repr(dialect.quote) if dialect.quote else "none"
    read = f"it was read with separator {dialect.separator!r} and quote {quote}"
    return f"{read}: pass separator= or quote= for others, or skip= where lines stand above the header"


def _head(text: bytes) -> bytes:
    """The first lines: as many as fit, but some even of a very wide table."""
    end = 0
    for _ in range(20):
        end = text.find(b"\n", end) + 1
        if end == 0:
            return text
    return text[: max(end, text.rfind(b"\n", 0, HEAD) + 1)] if len(text) > HEAD else text
