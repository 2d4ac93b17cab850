"""Files in: delimited text, Parquet, Excel, SPSS, Stata, SAS."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.engines.files.delimited import TextDialect, open_delimited, parse
from sfumato.engines.files.excel import read_excel, whole_numbers
from sfumato.errors import ColumnError, EmptyTable, MissingExtra, ReadError, did_you_mean


@dataclass(frozen=True)
class Options:
    """What the caller said about a file; None is guessed."""

    separator: str | None
    encoding: str | None
    quote: str | None
    header: bool | None
    sheet: str | int | None


def read(
    path: str | Path,
    *,
    format: str | None = None,
    separator: str | None = None,
    encoding: str | None = None,
    quote: str | None = None,
    header: bool | None = None,
    columns: Sequence[str] | None = None,
    sheet: str | int | None = None,
) -> pl.DataFrame:
    """Read a table from a file.

    The format follows from the name. Delimited text comes in as text, verbatim, and an empty cell is missing; the other
    formats keep their types, and whole numbers that a format stores as floating point come in as whole numbers.

    Parameters
    ----------
    path
        The file; delimited text may be compressed (`.csv.gz`).
    format
        One of `FORMATS`, where the name does not say it.
    separator, encoding, quote, header
        For delimited text: what not to guess. `quote=""` says that quotes have no meaning.
    columns
        The columns to read, in this order; all of them if left out.
    sheet
        For Excel: name or position (0 is the first, the default).

    Examples
    --------
    >>> read("patients.csv", separator=";", columns=["age", "zip"])  # doctest: +SKIP
    """
    path = _existing(Path(path))
    kind = _format(path, format)
    options = Options(separator, encoding, quote, header, sheet)
    _refuse_foreign(options, kind)
    frame = FORMATS[kind](path, options)
    if frame.width == 0 or frame.height == 0:
        raise EmptyTable(f"{path.name} has no rows" if frame.width else f"{path.name} has no columns")
    if columns is None:
        return frame
    for name in columns:
        if name not in frame.columns:
            raise ColumnError(
                f'{path.name} has no column "{name}"',
                allowed=", ".join(frame.columns),
                hint=did_you_mean(name, frame.columns),
            )
    return frame.select(columns)


def describe_csv(path: str | Path, **overrides: Any) -> TextDialect:
    """How a delimited text file is written, as `read` would take it: separator, quote, encoding, header, names."""
    return open_delimited(_existing(Path(path)), **overrides)[1]


def _existing(path: Path) -> Path:
    try:
        if path.is_file():
            return path
        folder = path.is_dir()
        nearby = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
    except OSError as error:
        raise ReadError(f"{path} cannot be read: {error.strerror or type(error).__name__}") from None
    if folder:
        raise ReadError(f"{path} is a folder, not a file")
    if path.exists():
        raise ReadError(f"{path} is a device or a pipe, not a file")
    raise ReadError(f"{path} does not exist", hint=did_you_mean(path.name, nearby))


def _format(path: Path, format: str | None) -> str:
    name = path.name.lower().removesuffix(".gz")
    kind = format.lower() if format else name.rpartition(".")[2]
    if kind not in FORMATS:
        raise ReadError(
            f'format "{kind}" is unknown' if format else f"{path.name}: its ending names no format that can be read",
            allowed=", ".join(FORMATS),
            hint=did_you_mean(kind, FORMATS) or 'pass format=, for example format="csv"',
        )
    return kind


def _refuse_foreign(options: Options, kind: str) -> None:
    text, excel = FORMATS[kind] in (_read_csv, _read_tsv), FORMATS[kind] is _read_excel
    applies = {"separator": text, "encoding": text, "quote": text, "header": text or excel, "sheet": excel}
    given = [name for name, fits in applies.items() if getattr(options, name) is not None and not fits]
    if given:
        raise ReadError(f"{', '.join(given)}: not an option of format {kind}")


def _read_csv(path: Path, options: Options) -> pl.DataFrame:
    text, dialect = open_delimited(
        path, separator=options.separator, encoding=options.encoding, quote=options.quote, header=options.header
    )
    return parse(text, dialect, path.name)


def _read_tsv(path: Path, options: Options) -> pl.DataFrame:
    return _read_csv(path, replace(options, separator=options.separator or "\t"))


def read_parquet(path: Path, options: Options | None = None) -> pl.DataFrame:
    """A Parquet file, types and all."""
    try:
        return pl.read_parquet(path, glob=False)
    except (pl.exceptions.PolarsError, OSError):
        raise ReadError(f"{path.name} is not a Parquet file, or a damaged one") from None


def _read_excel(path: Path, options: Options) -> pl.DataFrame:
    return read_excel(path, options.sheet, options.header is not False)


def _read_stats(path: Path, options: Options, reader: str) -> pl.DataFrame:
    try:
        import pyreadstat
    except ImportError:
        raise MissingExtra("pyreadstat", "stats") from None
    try:
        frame, _ = getattr(pyreadstat, reader)(str(path), output_format="polars")
    except Exception:  # its errors share no class, and may hold cells
        raise ReadError(f"{path.name} is not a {path.suffix} file, or a damaged one") from None
    text = pl.col(pl.String)
    return whole_numbers(frame).with_columns(pl.when(text != "").then(text))


FORMATS: dict[str, Callable[[Path, Options], pl.DataFrame]] = {
    "csv": _read_csv,
    "tsv": _read_tsv,
    "tab": _read_tsv,
    "txt": _read_csv,
    "data": _read_csv,
    "dat": _read_csv,
    "parquet": read_parquet,
    "xlsx": _read_excel,
    "xlsm": _read_excel,
    "sav": partial(_read_stats, reader="read_sav"),
    "zsav": partial(_read_stats, reader="read_sav"),
    "dta": partial(_read_stats, reader="read_dta"),
    "sas7bdat": partial(_read_stats, reader="read_sas7bdat"),
    "xpt": partial(_read_stats, reader="read_xport"),
}
