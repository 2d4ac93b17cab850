"""The files of a table, Parquet or blocks of delimited text, as one table with one schema."""

from __future__ import annotations

import codecs
import glob
import gzip
import os
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import IO, Any
from urllib.parse import unquote

import polars as pl
from polars.io.plugins import register_io_source

from sfumato.engines.callbacks import called
from sfumato.engines.files.delimited import TextDialect, check_skip, parse, records, skip_lines, sniff
from sfumato.engines.files.encoding import BOMS, HEAD
from sfumato.engines.files.forms import ColumnForm, Forms, FormsFound, parse_block, read_forms
from sfumato.engines.guard import unguard, unguard_names
from sfumato.engines.protocol import refuse_names
from sfumato.errors import ColumnError, OutputError, ReadError, did_you_mean

BLOCK = 1 << 24  # bytes parsed at a time
PACKED = 4  # times that a compressed file is taken to be larger when unpacked
FIRST = 1 << 20  # bytes whose rows decide the forms of values
MOST = 1 << 30  # bytes without a line end outside quotes at which a file is given up


@dataclass(frozen=True)
class TextFile:
    """A delimited text file and how it is written; `guarded` where apostrophes of the formula guard are to go."""

    path: Path
    dialect: TextDialect
    guarded: bool = False
    block: int = BLOCK
    rows: int = 1  # about so many, from the lines of its beginning
    declared: Forms = field(default_factory=lambda: Forms(verbatim=True))
    forms: Mapping[str, ColumnForm] = field(default_factory=dict)  # of columns that are not plain

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return tuple(unguard_names(list(self.dialect.names))) if self.guarded else self.dialect.names

    def frames(self) -> Iterator[pl.DataFrame]:
        """The table, in frames of some rows, in order; every cell text, missing where empty."""
        for parsed in self.blocks():
            yield parsed()

    def blocks(self) -> Iterator[Callable[[], pl.DataFrame]]:
        """The same, not yet parsed."""
        dialect, name, line = self.dialect, self.path.name, 1
        for text in _blocks(self.path, dialect.encoding, dialect.quote, self.block):
            text = text if line > 1 else skip_lines(text, dialect.skip, name)
            line += dialect.skip if line == 1 else 0
            yield partial(self._parsed, text, dialect, name)
            dialect = replace(dialect, header=False, skip=0)  # only the first block has one
            line += text.count(b"\n")
            name = f"{self.path.name}, from line {line} on"

    def _parsed(self, text: bytes, dialect: TextDialect, name: str) -> pl.DataFrame:
        frame = parse(text, dialect, name)
        if not self.guarded:
            return parse_block(frame, self.declared, self.forms, name) if self.forms or self.declared.missing else frame
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


def text_file(
    path: Path, separator: str | None = None, encoding: str | None = None, block: int = BLOCK, **given: Any
) -> TextFile:
    """Open a file and guess its dialect from its beginning, as `read` does; `given` is for `sniff`.

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
    dialect = sniff(first.decode(), separator=separator, whole=next(beginning, None) is None, **given)
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
            f"{path.name} is not in encoding {encoding.removesuffix('-sig')}",
            hint='pass encoding=, for example "cp1252"',
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


TEXT = {
    "csv": None,
    "tsv": "\t",
    "tab": "\t",
    "txt": None,
    "data": None,
    "dat": None,
}  # ending to separator; None is guessed
ENDINGS = ("parquet", *TEXT)
MISSING = "__HIVE_DEFAULT_PARTITION__"  # what partitioned folders call a missing value


@dataclass(frozen=True)
class FileSource:
    """One file: its rows, and its bytes; `text` where it is text, whose rows are a guess, and which cannot be cut.

    `read` is the file as it is, and `more` what is added to it: columns of its folders, text in place of categories.
    """

    path: Path
    read: pl.LazyFrame = field(compare=False)
    text: TextFile | None = field(compare=False)
    more: tuple[pl.Expr, ...] = field(compare=False)
    schema: dict[str, pl.DataType] = field(compare=False)
    rows: int
    bytes: int
    stamp: tuple[int, int, int]  # which file it was, and when it was written

    @property
    def exact(self) -> bool:
        """Whether its rows are no guess."""
        return self.text is None

    @property
    def frame(self) -> pl.LazyFrame:
        """The table of the file, as the other files have it."""
        return self.read.with_columns(self.more).select(list(self.schema))

    def shaped(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows of the file, as the other files have them."""
        return rows.with_columns(self.more).select(list(self.schema))


def first_forms(file: TextFile, forms: Forms) -> FormsFound:
    """The forms of the values in the first rows of a file."""
    some = next(replace(file, block=FIRST).frames(), None)
    return FormsFound() if some is None else read_forms(some, forms, file.path.name)[1]


def sources(
    given: str | Path | Sequence[str | Path],
    format: str | None = None,
    separator: str | None = None,
    encoding: str | None = None,
    block: int = BLOCK,
    forms: Forms | None = None,
    header: bool | None = None,
    columns: Sequence[str] | None = None,
    skip: int | None = None,
) -> tuple[list[FileSource], FormsFound]:
    """The files of a table in the order of their names, each with the columns of the first.

    `given` is a file, a pattern such as "2024-*.parquet", a folder, or a list of those. The folders of a partitioned
    table (`year=2024/part-0.parquet`) give columns of text. The first rows of the first text decide the forms of all.
    """
    if format is not None and format not in ENDINGS:
        hint = did_you_mean(format, ENDINGS)
        raise ReadError(f'format "{format}" cannot be streamed', allowed=", ".join(ENDINGS), hint=hint)
    check_skip(skip)
    found: list[FileSource] = []
    forms, first_found = forms or Forms(), FormsFound()
    for path, folder in _files(given, format):
        kind = format or _ending(path)
        if kind == "parquet":
            if forms not in (Forms(), Forms(verbatim=True)) or header is not None or skip is not None:
                what = "header, skip, missing, dates, decimal and verbatim are not for Parquet files that are streamed"
                raise ReadError(what, hint=f"leave them out, or read {path.name} into memory")
            found.append(_source(path, folder, _parquet(path)))
        else:
            text = text_file(path, separator or TEXT[kind], encoding, block, header=header, columns=columns, skip=skip)
            first_found = first_found if found else first_forms(text, forms)
            text = replace(text, declared=forms, forms=first_found.forms)
            found.append(_source(path, folder, text.scan(), text))
    first = found[0]
    if columns is not None:
        for name in columns:
            if name not in first.schema:
                hint = did_you_mean(name, first.schema)
                raise ColumnError(
                    f'{first.path.name} has no column "{name}"', allowed=", ".join(first.schema), hint=hint
                )
        found = [replace(one, schema={n: one.schema[n] for n in columns if n in one.schema}) for one in found]
        first = found[0]
    return [first, *(_alike(other, first) for other in found[1:])], first_found


@contextmanager
def unchanged(files: Sequence[FileSource]) -> Iterator[None]:
    """What is read in the block is of the files that were found, or a ReadError names the one that is another now."""
    try:
        yield
    except (ReadError, OutputError):
        _refuse_changed(files)  # which is the cause
        raise
    _refuse_changed(files)


def _refuse_changed(files: Sequence[FileSource]) -> None:
    for source in files:
        try:
            now = source.path.stat()
        except FileNotFoundError:
            raise ReadError(f"{source.path} was deleted or renamed while it was read") from None
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise ReadError(f"{source.path} cannot be read any more: {why}") from None
        if (now.st_size, stamp(now)) != (source.bytes, source.stamp):
            raise ReadError(f"{source.path} was changed while it was read", hint="run it again")


def stamp(state: os.stat_result) -> tuple[int, int, int]:
    """What a file has of its own, and gets anew where it is written, or takes the place of another."""
    return state.st_ino, state.st_mtime_ns, state.st_ctime_ns


def written(path: Path, format: str) -> pl.LazyFrame:
    """A table that was written as `write_table` does, as text or typed; text without its formula guard."""
    return _parquet(path) if format == "parquet" else released_text(path, "," if format == "csv" else "\t").scan()


def _files(given: str | Path | Sequence[str | Path], format: str | None) -> Iterator[tuple[Path, Path]]:
    """Every file, with the folder that was named for it."""
    seen = set()
    for one in [given] if isinstance(given, str | Path) else given:
        path = Path(one)
        if path.is_file():
            pairs = [(path, path.parent)]
        elif path.is_dir():
            inside = sorted(p for p in path.rglob("*") if p.is_file() and not _hidden(p.relative_to(path)))
            pairs = [(p, path) for p in inside if format or _known(p)]
        else:
            pairs = [(Path(p), Path(_root(str(one)))) for p in sorted(glob.glob(str(one), recursive=True))]
            pairs = [(p, folder) for p, folder in pairs if p.is_file()]
        if not pairs:
            raise _none(one)
        for p, folder in pairs:
            if p.resolve() not in seen:
                seen.add(p.resolve())
                yield p, folder


def _none(given: str | Path) -> ReadError:
    """What to say where there is no file."""
    path = Path(given)
    if path.is_dir():
        return ReadError(f"{given} holds no file that can be streamed", allowed=", ".join(ENDINGS))
    if glob.has_magic(str(given)):
        return ReadError(f"no file matches {given}")
    near = [p.name for p in path.parent.iterdir() if p != path] if path.parent.is_dir() else []
    return ReadError(f"{given} is no file or folder", hint=did_you_mean(path.name, near))


def _root(pattern: str) -> str:
    """The folder above the first part of a pattern that is one."""
    parts = []
    for part in Path(pattern).parts:
        if glob.has_magic(part):
            break
        parts.append(part)
    return str(Path(*parts)) if parts else "."


def _hidden(path: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.parts)


def _known(path: Path) -> bool:
    return path.name.lower().removesuffix(".gz").rpartition(".")[2] in ENDINGS


def _ending(path: Path) -> str:
    ending = path.name.lower().removesuffix(".gz").rpartition(".")[2]
    if ending not in ENDINGS:
        raise ReadError(f"{path.name}: its ending names no format that can be streamed", allowed=", ".join(ENDINGS))
    return ending


def _parquet(path: Path) -> pl.LazyFrame:
    return pl.scan_parquet(path, glob=False, hive_partitioning=False)


def _source(path: Path, folder: Path, frame: pl.LazyFrame, text: TextFile | None = None) -> FileSource:
    try:
        schema = dict(frame.collect_schema())
        rows = int(frame.select(pl.len()).collect().item()) if text is None else text.rows
        state = path.stat()
    except (pl.exceptions.PolarsError, OSError):
        raise ReadError(f"{path.name} is not a Parquet file, or a damaged one") from None
    refuse_names(schema)
    # categories of different files have different numbers, and a column without any value has no type
    loose = [name for name, t in schema.items() if isinstance(t, pl.Categorical | pl.Enum | pl.Null)]
    more = [pl.col(name).cast(pl.String) for name in loose]
    for part in path.relative_to(folder).parent.parts if path.is_relative_to(folder) else ():
        name, sign, value = part.partition("=")
        if sign and name not in schema:
            more.append(pl.lit(None if value == MISSING else unquote(value), pl.String).alias(name))
            schema[name] = pl.String()
    schema |= dict.fromkeys(loose, pl.String())
    return FileSource(path, frame, text, tuple(more), schema, rows, state.st_size, stamp(state))


def _alike(source: FileSource, first: FileSource) -> FileSource:
    """The file with its columns in the order of the first file."""
    lacks = [name for name in first.schema if name not in source.schema]
    more = [name for name in source.schema if name not in first.schema]
    if lacks or more:
        what = " and ".join(f'{verb} "{names[0]}"' for verb, names in (("lacks", lacks), ("adds", more)) if names)
        raise ReadError(f"{source.path} has other columns than {first.path}: it {what}")
    for name, dtype in first.schema.items():
        if source.schema[name] != dtype:
            raise ReadError(
                f'column "{name}" has another type in {source.path} than in {first.path}',
                got=f"{source.schema[name]}",
                allowed=f"{dtype}",
                hint="write both files with one type",
            )
    return replace(source, schema=first.schema)
