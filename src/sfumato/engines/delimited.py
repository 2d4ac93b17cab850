"""Delimited text: bytes to text, text to a table in which every cell is verbatim text."""

from __future__ import annotations

import codecs
import csv
import gzip
import re
import zlib
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from sfumato.engines.scan import scan
from sfumato.engines.sniff import Dialect, reader, sniff
from sfumato.errors import ReadError

if TYPE_CHECKING:
    from _csv import Reader

HEAD = 1 << 16  # bytes looked at to guess the dialect
BATCH = 50_000  # rows at a time through Python's reader, to bound memory
BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark is its beginning
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def open_delimited(
    path: Path,
    *,
    separator: str | None = None,
    encoding: str | None = None,
    quote: str | None = None,
    header: bool | None = None,
) -> tuple[bytes, Dialect]:
    """The text of a file in UTF-8 and its dialect, guessed where it is not given."""
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
    dialect = sniff(head.decode("utf-8", "ignore"), separator=separator, quote=quote, header=header, whole=whole)
    return text, replace(dialect, encoding=found)


def decode(data: bytes, name: str, encoding: str | None = None) -> tuple[bytes, str]:
    """Bytes in any encoding to UTF-8 without a byte order mark, and the name of the encoding.

    A byte order mark decides; else it is UTF-8 if it can be, else Windows-1252, else Latin-1.

    >>> decode("é".encode("cp1252"), "x.csv") == ("é".encode(), "cp1252")
    True
    """
    if encoding is None:
        encoding = next((found for mark, found in BOMS if data.startswith(mark)), None)
    if encoding is None:
        fault = None if data.isascii() else _utf8_fault(data)
        if fault is None:
            return data, "utf-8"
        if _mostly_utf8(data[max(0, fault - HEAD) : fault + HEAD]):
            line = data.count(b"\n", 0, fault) + 1
            hint = 'the file is damaged; or pass encoding=, for example "cp1252"'
            raise ReadError(f"{name}: line {line} is not valid UTF-8, though the others are", hint=hint)
    for candidate in [encoding] if encoding else ["cp1252", "latin-1"]:
        try:
            return data.decode(candidate).removeprefix("\ufeff").encode(), candidate
        except LookupError:
            raise ReadError(f"encoding {candidate!r} is unknown", allowed="utf-8, utf-16, cp1252, latin-1") from None
        except UnicodeError:
            continue
    raise ReadError(f"{name} is not in encoding {encoding!r}", hint="leave encoding= out to have it guessed")


def parse(text: bytes, dialect: Dialect, name: str) -> pl.DataFrame:
    """The table of a delimited text: every column text, verbatim; an empty cell is missing; blank lines are skipped.

    In a file of one column a blank line is refused: it may be a missing value, or nothing.

    Parameters
    ----------
    text
        UTF-8 without byte order mark.
    dialect
        How it is written.
    name
        The file's name, for messages.

    Examples
    --------
    >>> parse(b"a,b\\n01,\\n", sniff("a,b\\n01,\\n"), "x.csv").rows()
    [('01', None)]
    """
    single = len(dialect.names) == 1
    if text.endswith(b"\r" if single else (b"\n\n", b"\n\r\n", b"\r")):
        text = text.rstrip(b"\r\n") + b"\n"
    quoted = dialect.quote is not None and dialect.quote.encode() in text
    lines = scan(text, dialect.separator, dialect.quote, len(dialect.names))
    if not lines.regular and not quoted and not single:
        full = _without_blank_lines(text)
        if (again := scan(full, dialect.separator, None, len(dialect.names))).regular:
            text, lines = full, again
    packed = text.startswith(b"x\x01")  # Polars would take it for compressed
    slowly = not lines.regular or (quoted and dialect.skip_spaces) or b"\r\r" in text or packed
    if slowly:
        frame = _by_python(text, dialect, name)
    else:
        frame = _by_polars(text, dialect, name, lines.rows - dialect.header)
    if dialect.skip_spaces:
        frame = frame.with_columns(pl.all().str.strip_chars_start(" "))
    if quoted or slowly or dialect.skip_spaces:
        frame = frame.with_columns(pl.when(pl.all() != "").then(pl.all()))
    return frame


def _without_blank_lines(text: bytes) -> bytes:
    text = text.replace(b"\r\n", b"\n").lstrip(b"\n")
    while b"\n\n" in text:
        text = text.replace(b"\n\n", b"\n")
    return text


def _by_polars(text: bytes, dialect: Dialect, name: str, rows: int) -> pl.DataFrame:
    try:
        frame = pl.read_csv(
            text,
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


def _by_python(text: bytes, dialect: Dialect, name: str) -> pl.DataFrame:
    """The slow way, for quotes inside fields, spaces before quotes, doubled returns; it names the line at fault."""
    schema = dict.fromkeys(dialect.names, pl.String)
    frames = [pl.DataFrame(schema=schema)]
    lines = reader(text.decode(), dialect.separator, dialect.quote, dialect.skip_spaces, strict=True)
    rows = _checked(lines, dialect, name)
    while batch := list(islice(rows, BATCH)):
        columns = zip(*batch, strict=True)
        frames.append(pl.DataFrame(dict(zip(dialect.names, columns, strict=True)), schema=schema))
    return pl.concat(frames).slice(int(dialect.header))


def _checked(rows: Reader, dialect: Dialect, name: str) -> Iterator[list[str]]:
    """The records that are not blank; a ReadError where one has too many or too few fields, or could be missing."""
    line, width = 1, len(dialect.names)
    try:
        for row in rows:
            if len(row) == width:
                yield row
            elif not row and width == 1:
                what = f"{name}: line {line} is blank, which in a file of one column may be a missing value, or nothing"
                raise ReadError(what, hint='write "" for a missing value, or take the line out')
            elif row and not (len(row) == 1 and row[0].isspace()):
                fields = f"{len(row)} field" + "s" * (len(row) != 1)
                raise ReadError(f"{name}: line {line} has {fields}, the first line has {width}", hint=_hint(dialect))
            line = rows.line_num + 1
    except csv.Error:
        raise ReadError(f"{name}: line {line} is malformed: its quotes do not match", hint=_hint(dialect)) from None


def _hint(dialect: Dialect) -> str:
    quote = repr(dialect.quote) if dialect.quote else "none"
    return f"it was read with separator {dialect.separator!r} and quote {quote}: pass separator= or quote= for others"


def _head(text: bytes) -> bytes:
    """The first lines: as many as fit, but some even of a very wide table."""
    end = 0
    for _ in range(20):
        end = text.find(b"\n", end) + 1
        if end == 0:
            return text
    return text[: max(end, text.rfind(b"\n", 0, HEAD) + 1)] if len(text) > HEAD else text


def load(path: Path) -> bytes:
    """The bytes of a file, unpacked where it is compressed."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ReadError(f"{path} cannot be read: {error.strerror or type(error).__name__}") from None
    if not data.startswith(b"\x1f\x8b"):
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error):
        raise ReadError(f"{path.name} is a damaged gzip file") from None


def _utf8_fault(data: bytes) -> int | None:
    """Where data stops being UTF-8; piecewise, to bound memory."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    view = memoryview(data)
    for low in range(0, len(data), HEAD):
        try:
            decoder.decode(view[low : low + HEAD], final=low + HEAD >= len(data))
        except UnicodeDecodeError as error:
            return low + error.start
    return None


def _mostly_utf8(data: bytes) -> bool:
    """Whether most bytes beyond ASCII are whole UTF-8 sequences: then the file is damaged UTF-8, nothing else."""
    whole = re.findall(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}", data)
    beyond = len(data) - len(data.translate(None, bytes(range(128, 256))))
    return 2 * sum(map(len, whole)) > beyond
