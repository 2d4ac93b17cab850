"""Delimited text larger than memory: blocks of whole lines, each parsed just as a whole file would be."""

from __future__ import annotations

import codecs
import gzip
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO

import polars as pl
from polars.io.plugins import register_io_source

from sfumato.engines.callbacks import called
from sfumato.engines.files.delimited import BOMS, HEAD, TextDialect, parse, records, sniff
from sfumato.engines.guard import unguard, unguard_names
from sfumato.errors import ReadError

BLOCK = 1 << 24  # bytes parsed at a time
PACKED = 4  # times that a compressed file is taken to be larger when unpacked
MOST = 1 << 30  # bytes without a line end outside quotes at which a file is given up


@dataclass(frozen=True)
class TextFile:
    """A delimited text file and how it is written; `guarded` where apostrophes of the formula guard are to go."""

    path: Path
    dialect: TextDialect
    guarded: bool = False
    block: int = BLOCK
    rows: int = 1  # about so many, from the lines of its beginning

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return tuple(unguard_names(list(self.dialect.names))) if self.guarded else self.dialect.names

    def frames(self) -> Iterator[pl.DataFrame]:
        """The table, in frames of some rows, in order; every cell verbatim text, missing where empty."""
        for parsed in self.blocks():
            yield parsed()

    def blocks(self) -> Iterator[Callable[[], pl.DataFrame]]:
        """The same, not yet parsed."""
        dialect, name, line = self.dialect, self.path.name, 1
        for text in _blocks(self.path, dialect.encoding, dialect.quote, self.block):
            yield partial(self._parsed, text, dialect, name)
            dialect = replace(dialect, header=False)  # only the first block has one
            line += text.count(b"\n")
            name = f"{self.path.name}, from line {line} on"

    def _parsed(self, text: bytes, dialect: TextDialect, name: str) -> pl.DataFrame:
        frame = parse(text, dialect, name)
        if not self.guarded:
            return frame
        return pl.DataFrame(dict(zip(self.names, map(unguard, frame.iter_columns()), strict=True)))

    def scan(self) -> pl.LazyFrame:
        """The same as a lazy frame that streams."""

        def source(
            columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, batch: int | None
        ) -> Iterator[pl.DataFrame]:
            frames = self.frames()
            while True:
                with called():
                    frame = next(frames, None)
                if frame is None:
                    return
                part = frame if rows is None else frame.head(rows)
                rows = None if rows is None else rows - part.height
                part = part if columns is None else part.select(columns)
                yield part if predicate is None else part.filter(predicate)
                if rows == 0:
                    return

        return register_io_source(source, schema=dict.fromkeys(self.names, pl.String))


def text_file(path: Path, separator: str | None = None, encoding: str | None = None, block: int = BLOCK) -> TextFile:
    """Open a file and guess its dialect from its beginning, as `read` does.

    The encoding is that of a byte order mark, or else UTF-8; for a file in another, pass `encoding`.
    """
    with _open(path) as file:
        start = _read(file, path, 4)
    packed = _packed(path)
    found = encoding or next((name for mark, name in BOMS if start.startswith(mark)), "utf-8")
    found = "utf-8-sig" if found.lower() in ("utf-8", "utf8") else found  # takes a mark away where there is one
    beginning = _blocks(path, found, None, HEAD)
    first = next(beginning, b"")
    if not first or first.isspace():
        raise ReadError(f"{path.name} is empty")
    if b"\n" not in first and b"\r" in first:
        raise ReadError(f"{path.name}: its lines end in a lone carriage return", hint="rewrite it with line feeds")
    dialect = sniff(first.decode(), separator=separator, whole=next(beginning, None) is None)
    lines = first.count(b"\n") * path.stat().st_size * (PACKED if packed else 1) // len(first)
    return TextFile(path, replace(dialect, encoding=found), block=block, rows=max(1, lines))


def released_text(path: Path, separator: str) -> TextFile:
    """A file that Sfumato wrote: nothing is guessed, and the names are those of its header."""
    first = next(_blocks(path, "utf-8", '"', HEAD), b"").decode()
    names = next(iter(records(first, separator, '"', skip_spaces=False)), [])
    if not names or len(set(names)) < len(names):
        raise ReadError(f"{path.name} has no header, or names a column twice")
    return TextFile(path, TextDialect(separator, '"', header=True, skip_spaces=False, names=tuple(names)), guarded=True)


def _blocks(path: Path, encoding: str, quote: str | None, size: int) -> Iterator[bytes]:
    """The file as UTF-8 in blocks that end where a line does, outside quotes."""
    mark = None if quote is None else quote.encode()
    with _open(path) as file:
        rest = b""
        for text in _decoded(file, path, encoding, size):
            rest += text
            cut = _cut(rest, mark)
            if cut:
                yield rest[:cut]
                rest = rest[cut:]
            elif len(rest) > MOST:
                raise ReadError(f"{path.name} has a quote that is never closed, or a line of {MOST >> 30} GiB")
        if rest:
            yield rest


def _cut(text: bytes, mark: bytes | None) -> int:
    """Where the last line ends that does so outside quotes: behind it an even number of quotes has gone by."""
    end = text.rfind(b"\n") + 1
    if mark is None or not end:
        return end
    inside = text.count(mark, 0, end) % 2
    while inside and end:
        before = text.rfind(b"\n", 0, end - 1) + 1
        inside = (inside + text.count(mark, before, end)) % 2
        end = before
    return end


def _decoded(file: IO[bytes], path: Path, encoding: str, size: int) -> Iterator[bytes]:
    try:
        decoder = codecs.getincrementaldecoder(encoding)()
    except LookupError:
        raise ReadError(f"encoding {encoding!r} is unknown", allowed="utf-8, utf-16, cp1252, latin-1") from None
    try:
        while data := _read(file, path, size):
            text = decoder.decode(data).encode()
            if b"\0" in text:
                raise ReadError(f"{path.name} has a null byte, which no text file has")
            yield text
        yield decoder.decode(b"", final=True).encode()
    except UnicodeError:
        raise ReadError(
            f"{path.name} is not in encoding {encoding}", hint='pass encoding=, for example "cp1252"'
        ) from None


def _open(path: Path) -> IO[bytes]:
    try:
        return gzip.open(path) if _packed(path) else path.open("rb")  # type: ignore[return-value]
    except OSError as error:
        raise ReadError(f"{path} cannot be read: {error.strerror or type(error).__name__}") from None


def _packed(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def _read(file: IO[bytes], path: Path, size: int) -> bytes:
    try:
        return file.read(size)
    except (OSError, EOFError, zlib.error) as error:
        raise ReadError(f"{path} cannot be read: {getattr(error, 'strerror', None) or 'damaged'}") from None
