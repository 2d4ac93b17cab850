"""Tables to files and back: CSV, TSV, Parquet, Excel; the same table always gives the same bytes."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO

import numpy as np
import polars as pl

from sfumato.core.printed import FieldTexts, new_rows, printed_frame, refuse_unprintable
from sfumato.engines.atomic import HINT, atomic_file, atomic_folder, check_target, is_full, no_space
from sfumato.engines.files.delimited import TextDialect, parse, records
from sfumato.engines.files.encoding import decode, load
from sfumato.engines.files.read import read_parquet, read_xlsx, write_xlsx
from sfumato.engines.guard import guard_names, guarded_text, unguard_names, unguarded_frame
from sfumato.errors import EmptyTable, OutputError, ReadError, did_you_mean

__all__ = ["FORMATS", "GUARDED", "atomic_file", "atomic_folder", "check_target", "read_back", "sha256", "write_table"]

GUARDED = frozenset({"csv", "tsv", "xlsx"})  # formats that spreadsheets open
SEPARATORS = {"csv": ",", "tsv": "\t"}
SLICE = 1 << 18  # rows at a time, to bound memory
LINES = 1 << 16  # rows of text that are written at a time
BLOCK = 1 << 23  # bytes of text that are looked at at a time: memory that is used again need not be cleared


def write_table(frame: pl.DataFrame, path: str | Path, format: str = "csv") -> None:
    """Write a table to a file.

    CSV and TSV hold the printed form of every value, an empty cell where it is missing; Parquet keeps the types; Excel
    has numbers where they are exact there and text otherwise. Text that a spreadsheet could run is guarded, but for
    Parquet.

    Parameters
    ----------
    frame
        At least one column; no lists, structs or bytes.
    path
        Where to; not atomic by itself, see `atomic_file`.
    format
        One of `FORMATS`.

    Examples
    --------
    >>> write_table(pl.DataFrame({"age": ["[20, 30)"]}), "data.csv")  # doctest: +SKIP
    """
    if format not in FORMATS:
        hint = did_you_mean(format, FORMATS)
        raise OutputError(f'format "{format}" is unknown', allowed=", ".join(FORMATS), hint=hint)
    if not frame.width:
        raise EmptyTable("the table has no columns")
    refuse_unprintable(frame.schema)
    try:
        FORMATS[format][0](frame, Path(path))
    except (OSError, pl.exceptions.PolarsError) as error:
        if is_full(error):
            raise OutputError(no_space([Path(path)]), hint=HINT) from None
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise OutputError(f"{path} cannot be written: {reason}") from None


def read_back(path: str | Path, format: str = "csv", guarded: bool = True) -> pl.DataFrame:
    """The printed form of a written table: every column text, missing where the cell is empty.

    Nothing is guessed: what comes back is `printed_frame` of what was written. `guarded=False` leaves apostrophes.
    """
    return _read_back(Path(path), format, guarded, FORMATS[format][1] if format in FORMATS else None)


@dataclass(frozen=True, eq=False)
class LineRuns:
    """A delimited text with lines that are alike and follow one another once, and how many they are."""

    text: bytes
    often: np.ndarray


def hashed_runs(path: str | Path, format: str) -> tuple[str, LineRuns | None]:
    """The SHA-256 of a file, and its lines, read once; None where that is no shorter, or a line may be no row."""
    path = Path(path)
    if format not in SEPARATORS or not path.is_file():
        return sha256(path), None
    mac, parts, often = hashlib.sha256(), list[bytes](), list[np.ndarray]()
    try:
        with path.open("rb") as file:
            header = file.readline()
            mac.update(header)
            fits = b"\r" not in header and header.count(b'"') % 2 == 0 and header.endswith(b"\n")
            every = 0
            while text := _some_lines(file):
                mac.update(text)
                found = _runs(text) if fits else None
                fits = found is not None
                if found is not None:
                    parts.append(found.text)
                    often.append(found.often)
                    every += int(found.often.sum())
                    fits = 2 * sum(map(len, often)) <= every
    except OSError as error:
        raise ReadError(f"{path} cannot be read: {error.strerror or type(error).__name__}") from None
    runs = LineRuns(header + b"\n".join(parts), np.concatenate(often)) if fits and often else None
    return mac.hexdigest(), runs


def _some_lines(file: BinaryIO) -> bytes:
    """The next lines of a file, in bytes that are not put together."""
    start = file.tell()
    file.seek(start + BLOCK)
    size = BLOCK + len(file.readline())
    file.seek(start)
    return file.read(size)


def _runs(text: bytes) -> LineRuns | None:
    """The runs of some lines; None where one may be no row."""
    try:
        line = pl.read_csv(text, has_header=False, separator="\0", quote_char=None, infer_schema=False).to_series()
    except pl.exceptions.PolarsError:
        return None
    # blank lines, returns at the end of one, and all else that is no line of this text, are not among its bytes
    size = int(line.str.len_bytes().sum()) + len(line)
    if line.null_count() or size != len(text) + (not text.endswith(b"\n")):
        return None
    new = np.append(0, np.flatnonzero((line[1:] != line[:-1]).to_numpy()) + 1)
    once = line.gather(new)
    odd = once.str.contains("\r", literal=True) | (once.str.count_matches('"', literal=True) % 2 > 0)
    if odd.any():  # a field of two lines
        return None
    return LineRuns(once.str.join("\n")[0].encode(), np.diff(new, append=len(line)))


def read_runs(
    path: str | Path, format: str = "csv", guarded: bool = True, runs: LineRuns | None = None
) -> tuple[pl.DataFrame, pl.Series | None]:
    """What `read_back` gives, of the lines that `hashed_runs` found once, and how often each is there; None: every row
    is there."""
    path = Path(path)
    if runs is not None:
        try:
            frame = _read_back(path, format, guarded, partial(_parsed, runs.text, separator=SEPARATORS[format]))
        except ReadError:  # which has to name a line of the file
            return read_back(path, format, guarded), None
        if frame.height == len(runs.often):
            return frame, pl.Series(runs.often)
    return read_back(path, format, guarded), None


def _read_back(path: Path, format: str, guarded: bool, reader: Callable[[Path], pl.DataFrame] | None) -> pl.DataFrame:
    if reader is None:
        hint = did_you_mean(format, FORMATS)
        raise ReadError(f'format "{format}" is unknown', allowed=", ".join(FORMATS), hint=hint)
    if not path.is_file():
        raise ReadError(f"{path} does not exist")
    frame = reader(path)
    if guarded and format in GUARDED:
        names = unguard_names(frame.columns)
        _refuse_twice(names, path)
        frame = unguarded_frame(frame)
        frame.columns = names
    return frame


def sha256(path: str | Path) -> str:
    """The SHA-256 of a file, in hexadecimal digits.

    That of a folder is of a line per file in it, sorted by its path in the folder: the file's SHA-256, two spaces and
    that path, as `sha256sum` prints them.
    """
    path = Path(path)
    try:
        if path.is_dir():
            files = sorted((p.relative_to(path).as_posix(), p) for p in path.rglob("*") if p.is_file())
            return hashlib.sha256("".join(f"{sha256(p)}  {name}\n" for name, p in files).encode()).hexdigest()
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ReadError(f"{path} cannot be read: {error.strerror or type(error).__name__}") from None


def _write_delimited(frame: pl.DataFrame, path: Path, separator: str) -> None:
    with path.open("wb") as file:
        file.write(_header(frame.columns, separator).encode())
        # a lone missing value must not become a blank line, which readers skip
        field = partial(_field, separator=separator, missing='""' if frame.width == 1 else "")
        new, first = new_rows(frame), 0
        texts = FieldTexts.of(frame if new is None else frame.filter(new), separator, field)
        for low in range(0, frame.height, LINES):
            if new is None:
                rows = texts.rows(low, LINES)
            else:  # a line is put together once, however many rows follow that are alike
                place = np.cumsum(new[low : low + LINES]) - new[low]
                first += int(new[low] and low > 0)
                line = texts.rows(first, int(place[-1]) + 1).select(pl.concat_str("*", separator=separator))
                rows = line.to_series().gather(place).to_frame()
                first += int(place[-1])
            buffer = io.BytesIO()
            rows.write_csv(buffer, include_header=False, separator=separator, quote_style="never")
            file.write(buffer.getbuffer())


def _field(column: pl.Series, separator: str, missing: str) -> pl.Series:
    """A column as it stands in a delimited file: guarded, and quoted where it has to be, as `text_of` has it."""
    text = guarded_text(column)
    if not isinstance(column.dtype, pl.String | pl.Categorical):
        return text.fill_null(missing)  # no number, day or time has a sign that is quoted
    special = text.str.contains_any(['"', separator, "\n", "\r"])
    if special.any():
        quoted = '"' + text.str.replace_all('"', '""', literal=True) + '"'
        text = quoted.zip_with(special, text)
    return text.fill_null(missing)


def text_of(text: pl.DataFrame, separator: str) -> memoryview:
    """The lines of a frame of guarded text in a delimited file."""
    buffer = io.BytesIO()
    # a lone missing value must not become a blank line, which readers skip
    missing = '""' if text.width == 1 else None
    text.write_csv(buffer, include_header=False, separator=separator, null_value=missing)
    return buffer.getbuffer()


def _header(names: list[str], separator: str) -> str:
    special = {separator, '"', "\n", "\r", "\ufeff"}  # the last, in front, would pass as a byte order mark
    cells = [
        '"' + name.replace('"', '""') + '"' if not name or special & set(name) else name for name in guard_names(names)
    ]
    return separator.join(cells) + "\n"


def _read_delimited(path: Path, separator: str) -> pl.DataFrame:
    return _parsed(load(path), path, separator)


def _parsed(data: bytes, path: Path, separator: str) -> pl.DataFrame:
    text, encoding = decode(data, path.name)
    if encoding != "utf-8":
        raise ReadError(f"{path.name} is not a file that Sfumato wrote", got=f"encoding {encoding}", allowed="utf-8")
    end = text.find(b"\n")
    while text.count(b'"', 0, end) % 2 and end >= 0:  # a name may hold a line break
        end = text.find(b"\n", end + 1)
    names = next(iter(records(text[: end + 1 or None].decode(), separator, '"', skip_spaces=False)), [])
    if not names:
        raise ReadError(f"{path.name} has no header")
    _refuse_twice(names, path)
    return parse(text, TextDialect(separator, '"', header=True, skip_spaces=False, names=tuple(names)), path.name)


def _refuse_twice(names: list[str], path: Path) -> None:
    if len(set(names)) < len(names):
        raise ReadError(f"{path.name} names a column twice")


def _write_parquet(frame: pl.DataFrame, path: Path) -> None:
    # the type of a category column lists values that no row may have
    frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String)).write_parquet(path, row_group_size=SLICE)


def _read_parquet(path: Path) -> pl.DataFrame:
    return printed_frame(read_parquet(path))


FORMATS: dict[str, tuple[Callable[[pl.DataFrame, Path], None], Callable[[Path], pl.DataFrame]]] = {
    **{
        f: (partial(_write_delimited, separator=s), partial(_read_delimited, separator=s))
        for f, s in SEPARATORS.items()
    },
    "parquet": (_write_parquet, _read_parquet),
    "xlsx": (write_xlsx, read_xlsx),
}
