"""The files of a table: one file, a pattern, or a folder, as one table with one schema."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import unquote

import polars as pl

from sfumato.engines.files.text import BLOCK, TextFile, released_text, text_file
from sfumato.engines.protocol import refuse_names
from sfumato.errors import OutputError, ReadError, did_you_mean

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


def sources(
    given: str | Path | Sequence[str | Path],
    format: str | None = None,
    separator: str | None = None,
    encoding: str | None = None,
    block: int = BLOCK,
) -> list[FileSource]:
    """The files of a table in the order of their names, each with the columns of the first.

    `given` is a file, a pattern such as "2024-*.parquet", a folder, or a list of those. The folders of a partitioned
    table (`year=2024/part-0.parquet`) give columns of text.
    """
    if format is not None and format not in ENDINGS:
        hint = did_you_mean(format, ENDINGS)
        raise ReadError(f'format "{format}" cannot be streamed', allowed=", ".join(ENDINGS), hint=hint)
    found = []
    for path, folder in _files(given, format):
        kind = format or _ending(path)
        if kind == "parquet":
            found.append(_source(path, folder, _parquet(path)))
        else:
            text = text_file(path, separator or TEXT[kind], encoding, block)
            found.append(_source(path, folder, text.scan(), text))
    first = found[0]
    return [first, *(_alike(other, first) for other in found[1:])]


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
