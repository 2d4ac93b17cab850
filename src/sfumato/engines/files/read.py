"""Files in: delimited text, Parquet, Excel, SPSS, Stata, SAS; and Excel files out."""

from __future__ import annotations

import io
import re
import weakref
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.core.printed import printed, printed_frame
from sfumato.core.wording import quoted
from sfumato.engines.atomic import HINT, is_full, no_space
from sfumato.engines.files.delimited import (
    FIRST_LINES,
    TextDialect,
    check_skip,
    column_names,
    name_columns,
    open_delimited,
    parse,
    rows_above,
)
from sfumato.engines.files.forms import Forms, FormsFound, ReadWarning, declare_missing, read_forms, skip_note
from sfumato.engines.guard import guard_names, guarded_text
from sfumato.errors import ColumnError, EmptyTable, MissingExtra, OutputError, ReadError, did_you_mean, warn

INSTEAD = "write csv or parquet"
NEVER = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
# what stands in a cell as _xHHHH_: control characters, what would read as such an escape, and markup of the writer
ESCAPED = re.compile(r"[\x00-\x08\x0b-\x1f]|_(?=x[0-9A-Fa-f]{4}[_\x00-\x08\x0b-\x1f])|\A<(?=r>)")
SOME = 100_000  # rows that are looked at for what was declared missing
TYPED = {pl.Int64(): "integer", pl.Float64(): "decimal", pl.Date(): "date"}  # what texts may be, and its kind
UNPACKED, RATIO = 1 << 28, 200  # bytes of a part of a workbook, and times what it is packed: both above are refused
FIRST_DAY = date(1900, 3, 1)  # Excel counts a day before it that there was not
ROWS, COLUMNS, LETTERS, DIGITS = 1_048_575, 16_384, 32_767, 15  # what a sheet holds below its header, and a cell


@dataclass(frozen=True)
class Options:
    """What the caller said about a file; None is guessed."""

    separator: str | None = None
    encoding: str | None = None
    quote: str | None = None
    header: bool | None = None
    sheet: str | int | None = None
    skip: int | None = None
    columns: Sequence[str] | None = None
    value_labels: bool | None = None


@dataclass(frozen=True, eq=False)
class TableRead:
    """A table of a file, how it was read as a manifest may say it, and the same in sentences."""

    frame: pl.DataFrame
    record: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()


def read_excel(path: Path, options: Options) -> TableRead:
    """A sheet of an Excel workbook, the first if none is named.

    Rows without any value are skipped, and so is what stands above the header; days without a clock are dates.
    """
    check_skip(options.skip)
    book = _open(path)
    place = _sheet(path, options.sheet, book.sheet_names)
    others = options.sheet is None and len(book.sheet_names) > 1 and _other_tables(path, book)
    try:
        first = book.load_sheet(place, header_row=None, n_rows=FIRST_LINES, dtypes="string").to_polars()
        skip = options.skip
        if skip is None:
            skip = 0 if options.header is False else rows_above(first.rows())
        if first.height <= skip:
            return TableRead(pl.DataFrame())
        top, header = [cell or "" for cell in first.row(skip)], options.header is not False
        names = (
            None if options.columns is None else name_columns(top, options.columns, header, options.header is not None)
        )
        header = header and names is None
        frame = book.load_sheet(
            place,
            header_row=None,
            skip_rows=skip + header,
            column_names=list(names or column_names(top, header)),
            schema_sample_rows=None,
        ).to_polars()
        holes = [
            i for i, column in enumerate(frame.iter_columns()) if column.dtype != pl.String and column.null_count()
        ]
        marked = []  # N/A and the like among numbers, which its reader takes for missing
        if holes:
            given = {"header_row": None, "skip_rows": skip + header, "n_rows": SOME, "use_columns": holes}
            written = book.load_sheet(place, dtypes="string", **given).to_polars().iter_columns()
            typed = [frame.to_series(i).head(SOME) for i in holes]
            marked = [t.name for t, w in zip(typed, written, strict=True) if w.replace("", None).count() > t.count()]
    except ColumnError:
        raise
    except Exception:  # its message may hold cells
        raise ReadError(f"{path.name} cannot be read as a table") from None
    text, time = pl.col(pl.String), frame.select(pl.col(pl.Datetime))
    days = [series.dt.date() for series in time.iter_columns() if (series.dt.truncate("1d") == series).all()]
    filled = whole_numbers(frame.with_columns(days)).filter(~pl.all_horizontal(pl.all().is_null()))
    notes = skip_note(skip, options.skip)
    notes += [f"some cells are read as missing in {quoted(marked)}"] if marked else []
    if others and book.sheet_names != ["data", "columns"]:  # which we write
        notes = [f'sheet "{book.sheet_names[0]}" is read, the first of {len(book.sheet_names)}', *notes]
    return TableRead(filled.with_columns(pl.when(text != "").then(text)), {"skip": skip} if skip else {}, notes)


def _other_tables(path: Path, book: Any) -> bool:
    """Whether other sheets than the first hold tables; a ReadError where the first is a page about them."""
    sizes = []
    for place in range(len(book.sheet_names)):
        sheet = book.load_sheet(place, header_row=None, n_rows=FIRST_LINES, dtypes="string").to_polars()
        rows = sheet.select(filled=pl.sum_horizontal(pl.all().is_not_null())).to_series() if sheet.width else sheet
        sizes.append((sheet.width, int((rows > 1).sum()) if sheet.width > 1 else 0))
    (width, rows), others = sizes[0], sizes[1:]
    if any(wide > max(width, 2) and full > rows and (width < 3 or rows < 2) for wide, full in others):
        what = f"the first sheet of {path.name} looks like a page about the others, not like a table"
        raise ReadError(what, allowed=", ".join(book.sheet_names), hint='name the sheet: pass sheet="..."')
    return any(full > 0 for _, full in others)


def whole_numbers(frame: pl.DataFrame) -> pl.DataFrame:
    """Columns of whole numbers as integers: Excel, SPSS and SAS store every number as floating point.

    >>> whole_numbers(pl.DataFrame({"age": [30.0, None], "cost": [1.0, 2.5]})).schema.dtypes()
    [Int64, Float64]
    """
    whole = []
    for name in frame.columns:
        column = frame.get_column(name)
        if column.dtype == pl.Null:
            whole.append(column.cast(pl.String))
        elif column.dtype.is_float():
            column = column.fill_nan(None)
            exact = bool(((column == column.round()) & (column.abs() < 2**53)).all())
            whole.append(column.cast(pl.Int64) if exact else column)
    return frame.with_columns(whole)


def write_xlsx(frame: pl.DataFrame, path: Path) -> None:
    """A workbook of two sheets: `data`, and `columns` with the name and type of each.

    Numbers of up to 15 digits, which is what Excel computes with, days from March 1900 on, and booleans are written as
    such where that holds for their whole column, also where they came as text; everything else is guarded text.
    """
    try:
        import xlsxwriter
    except ImportError:
        raise MissingExtra("xlsxwriter", "excel") from None
    if frame.height > ROWS or frame.width > COLUMNS:
        got, allowed = f"{frame.height} rows, {frame.width} columns", f"at most {ROWS} rows, {COLUMNS} columns"
        raise OutputError("the table is too large for Excel", got=got, allowed=allowed, hint=INSTEAD)
    names, kinds = guard_names(frame.columns), [_kind(series) for series in frame.iter_columns()]
    _refuse_unfit(pl.Series(names), "the header")
    columns = [_cells(series, kind) for series, kind in zip(frame.iter_columns(), kinds, strict=True)]
    file = io.BytesIO()  # packed; the rows before that are in temporary files beside the target
    try:
        with xlsxwriter.Workbook(file, {**NEVER, "constant_memory": True, "tmpdir": str(path.parent)}) as book:
            book.set_properties({"created": datetime(2000, 1, 1)})  # the clock must not change the bytes
            data, about = (book.add_worksheet(name, _sheet_class()) for name in ("data", "columns"))
            day = book.add_format({"num_format": "yyyy-mm-dd"})
            for place in [place for place, kind in enumerate(kinds) if kind == "date"]:
                data.set_column(place, place, 12, day)
            _write_sheet(data, chain([names], zip(*columns, strict=True)))
            _write_sheet(about, [("name", "type"), *zip(names, kinds, strict=True)])
    except xlsxwriter.exceptions.XlsxWriterException as error:
        if is_full(error):
            raise OutputError(no_space([path]), hint=HINT) from None
        raise OutputError(f"{path} cannot be written") from None
    path.write_bytes(file.getbuffer())


def read_xlsx(path: Path) -> pl.DataFrame:
    """What `write_xlsx` wrote, as printed but still guarded."""
    book = _open(path)
    try:
        names = book.load_sheet("data", header_row=None, n_rows=1, dtypes="string").to_polars().row(0)
        kinds = book.load_sheet("columns", dtypes="string").to_polars().get_column("type").to_list()
        dtypes = {i: {"decimal": "float", "date": "date"}.get(kind, "string") for i, kind in enumerate(kinds)}
        places = [str(i) for i in range(len(kinds))]
        frame = book.load_sheet("data", header_row=None, skip_rows=1, column_names=places, dtypes=dtypes).to_polars()
        frame.columns = list(names)
    except Exception:  # its message may hold cells
        raise ReadError(f"{path.name} is not a file that Sfumato wrote") from None
    return printed_frame(frame)


def sheet_names(path: Path) -> list[str]:
    """The sheets of an Excel workbook."""
    return list(_open(_existing(path)).sheet_names)


def _refuse_bomb(path: Path) -> None:
    """Raise a ReadError for a workbook with a part that unpacks to very much more than it is."""
    try:
        with zipfile.ZipFile(path) as archive:
            parts = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError):
        return  # no workbook, which its reader says
    for part in parts:
        if part.file_size > UNPACKED and part.file_size > RATIO * part.compress_size:
            what = (
                f"{path.name} holds a part that unpacks to {part.file_size / 1e9:.2g} GB, as a file made to fill memory"
            )
            raise ReadError(f"{what} does", hint="if the table is real, save it as CSV, and read that")


def _open(path: Path) -> Any:
    try:
        import fastexcel
    except ImportError:
        raise MissingExtra("fastexcel", "excel") from None
    _refuse_bomb(path)
    try:
        return fastexcel.read_excel(path)
    except fastexcel.FastExcelError:
        raise ReadError(f"{path.name} is not an Excel file, or a damaged one") from None


def _sheet(path: Path, sheet: str | int | None, names: list[str]) -> int:
    if isinstance(sheet, str) and sheet in names:
        return names.index(sheet)
    if sheet is None or (isinstance(sheet, int) and 0 <= sheet < len(names)):
        return sheet or 0
    hint = did_you_mean(str(sheet), names)
    raise ReadError(f"{path.name} has no sheet {sheet!r}", allowed=", ".join(names), hint=hint)


def _kind(series: pl.Series) -> str:
    """How a column is written: as numbers or dates only where every one of them comes back as it was."""
    if series.dtype == pl.Boolean:
        return "boolean"
    if series.dtype == pl.String and not series.is_null().all():
        typed = (_typed(series, dtype) for dtype in TYPED)
        return next((_kind(column) for column in typed if column is not None), "text")
    if series.dtype == pl.Date:
        return "date" if bool((series >= FIRST_DAY).all()) else "text"
    if series.dtype.is_integer() and bool((series.cast(pl.Int128).abs() < 10**DIGITS).all()):
        return "integer"
    if series.dtype == pl.Float64 and bool((series.is_finite() | series.is_nan()).all()):
        digits = printed(series).str.replace(r"e.*", "").str.replace_all(r"[-.]", "").str.strip_chars("0")
        return "decimal" if bool((digits.str.len_bytes() <= DIGITS).all()) else "text"
    return "text"


def _typed(series: pl.Series, dtype: pl.DataType) -> pl.Series | None:
    """A column of text as numbers or dates, where they print as they are written."""
    series = series.alias("value")  # whatever the column is called
    typed = series.str.to_date("%Y-%m-%d", strict=False) if dtype == pl.Date else series.cast(dtype, strict=False)
    return typed if printed(typed).eq_missing(series).all() else None


def _cells(series: pl.Series, kind: str) -> list[Any]:
    if kind in TYPED.values() and series.dtype == pl.String:
        typed = _typed(series, next(dtype for dtype, name in TYPED.items() if name == kind))
        series = series if typed is None else typed
    if kind == "date":  # a day is the number of days since the last of 1899
        return (series.to_physical().cast(pl.Int64) + 25_569).to_list()
    if kind != "text":
        return (series.fill_nan(None) if kind == "decimal" else series).to_list()
    text = guarded_text(series)
    _refuse_unfit(text, f'column "{series.name}"')
    return text.to_list()


def _refuse_unfit(text: pl.Series, where: str) -> None:
    long = text.filter(text.str.len_chars() > LETTERS // 2).to_list()  # Excel counts in UTF-16
    if any(len(value.encode("utf-16-le")) > 2 * LETTERS for value in long):
        raise OutputError(f"{where} has texts too long for Excel", allowed=f"{LETTERS} letters", hint=INSTEAD)
    if text.str.contains("[\ufffe\uffff]").any():  # no characters in XML; their escape is not read back
        raise OutputError(f"{where} has characters that Excel cannot hold", hint=INSTEAD)


def _sheet_class() -> Any:
    """The writer's sheet with escapes that come back exactly: its own lets the second of _x005F_x000D_ through."""
    from xlsxwriter.worksheet import Worksheet

    class Sheet(Worksheet):  # type: ignore[misc, unused-ignore]
        @staticmethod
        def _escape_control_characters(data: Any) -> Any:
            return ESCAPED.sub(lambda found: f"_x{ord(found[0]):04X}_", data) if isinstance(data, str) else data

    return Sheet


def _write_sheet(sheet: Any, rows: Iterable[Sequence[Any]]) -> None:
    for i, row in enumerate(rows):
        for j, value in enumerate(row):
            if isinstance(value, bool):
                sheet.write_boolean(i, j, value)
            elif isinstance(value, int | float):
                sheet.write_number(i, j, value)
            elif value is not None:
                sheet.write_string(i, j, value)
        if all(value is None for value in row):
            sheet.write_string(i, 0, "")  # or a last row without values would not count


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
    skip: int | None = None,
    value_labels: bool | None = None,
    missing: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
    dates: str | None = None,
    decimal: str | None = None,
    verbatim: bool | Sequence[str] = False,
) -> pl.DataFrame:
    """Read a table from a file.

    The format follows from the name. Delimited text comes in as text, and an empty cell is missing; the other formats
    keep their types, and whole numbers that a format stores as floating point come in as whole numbers. Columns of text
    all of whose values are dates or numbers in another form than ours (16.10.1961, 1.234,50, € 12) come in as
    1961-10-16, 1234.50 and 12, and N/A and the like among numbers or dates are missing: a `ReadWarning` says so.

    Parameters
    ----------
    path
        The file; delimited text may be compressed (`.csv.gz`).
    format
        One of `FORMATS`, where the name does not say it.
    separator, encoding, quote, header
        For delimited text: what not to guess. `quote=""` says that quotes have no meaning.
    columns
        The columns to read, in this order; all of them if left out. Where there is no header, their names: all of them.
    sheet
        For Excel: name or position (0 is the first, the default).
    skip
        For delimited text and Excel: how many lines stand above the header; found out if left out.
    value_labels
        For SPSS and Stata: False keeps codes where labels would stand in their place.
    missing
        Texts that are missing values in every column, or by column: `{"income": ["-9"]}`.
    dates, decimal
        Of dates and numbers that can be read in two ways: "dmy", "mdy" or "ymd"; "comma" or "point".
    verbatim
        Columns, or True for all, that stay as they are written.

    Examples
    --------
    >>> read("patients.csv", separator=";", columns=["age", "zip"])  # doctest: +SKIP
    """
    options = Options(separator, encoding, quote, header, sheet, skip, columns, value_labels)
    read = read_table(path, format, options, Forms(missing, dates, decimal, verbatim))
    place = id(read.frame)
    _READ[place] = weakref.ref(read.frame, lambda _: _READ.pop(place, None)), read.record
    return read.frame


_READ: dict[int, tuple[weakref.ref[pl.DataFrame], Mapping[str, Any]]] = {}


def how_read(frame: pl.DataFrame) -> Mapping[str, Any]:
    """How a frame was read that `read` gave, for the manifest of its release; empty for others."""
    known, record = _READ.get(id(frame), (None, {}))
    return record if known is not None and known() is frame else {}


def read_table(
    path: str | Path,
    format: str | None = None,
    options: Options | None = None,
    forms: Forms | None = None,
) -> TableRead:
    """The same with how it was read; the parameters are those of `read`."""
    path, options, forms = _existing(Path(path)), options or Options(), forms or Forms()
    kind = _format(path, format)
    _refuse_foreign(options, kind)
    read = FORMATS[kind](path, options)
    frame = read.frame
    if frame.width == 0 or frame.height == 0:
        raise EmptyTable(f"{path.name} has no rows" if frame.width else f"{path.name} has no columns")
    frame = frame if options.columns is None else _chosen(frame, options.columns, path)
    if kind == "parquet":  # whoever wrote it has chosen the types
        frame, gone = declare_missing(frame, forms)
        found = FormsFound(missing=gone)
    else:
        frame, found = read_forms(frame, forms, path.name)
    notes = [*read.notes, *found.notes()]
    for note in notes:
        warn(ReadWarning(f"{path.name}: {note}"))
    return TableRead(frame, {**read.record, **found.record(), **forms.record()}, notes)


def _chosen(frame: pl.DataFrame, columns: Sequence[str], path: Path) -> pl.DataFrame:
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
    text, excel = FORMATS[kind] in (_read_csv, _read_tsv), FORMATS[kind] is read_excel
    applies = {"separator": text, "encoding": text, "quote": text, "sheet": excel}
    applies |= {"header": text or excel, "skip": text or excel, "value_labels": kind in ("sav", "zsav", "dta")}
    given = [name for name, fits in applies.items() if getattr(options, name) is not None and not fits]
    if given:
        raise ReadError(f"{', '.join(given)}: not an option of format {kind}")


def _read_csv(path: Path, options: Options) -> TableRead:
    text, dialect = open_delimited(
        path, **{name: value for name, value in vars(options).items() if name not in ("sheet", "value_labels")}
    )
    record = {"skip": dialect.skip} if dialect.skip else {}
    return TableRead(parse(text, dialect, path.name), record, skip_note(dialect.skip, options.skip))


def _read_tsv(path: Path, options: Options) -> TableRead:
    return _read_csv(path, replace(options, separator=options.separator or "\t"))


def _read_parquet(path: Path, options: Options) -> TableRead:
    return TableRead(read_parquet(path))


def read_parquet(path: Path) -> pl.DataFrame:
    """A Parquet file, types and all."""
    try:
        return pl.read_parquet(path, glob=False)
    except (pl.exceptions.PolarsError, OSError):
        raise ReadError(f"{path.name} is not a Parquet file, or a damaged one") from None


def _read_stats(path: Path, options: Options, reader: str) -> TableRead:
    """A file of SPSS, Stata or SAS: values that its owner declared missing are, and labels stand in place of codes."""
    try:
        import pyreadstat
    except ImportError:
        raise MissingExtra("pyreadstat", "stats") from None
    load = getattr(pyreadstat, reader)
    try:
        frame, about = load(str(path), output_format="polars")
        text = pl.col(pl.String)
        frame = whole_numbers(frame).with_columns(pl.when(text != "").then(text))
        declared = _declared(path, frame, load)
    except Exception:  # its errors share no class, and may hold cells
        raise ReadError(f"{path.name} is not a {path.suffix} file, or a damaged one") from None
    columns, partly = [], []
    for name, labels in about.variable_value_labels.items():
        shown = _labelled(frame.get_column(name), labels)
        partly += [name] if shown is None else []
        columns += [] if shown is None else [shown]
    labelled = [series.name for series in columns]
    notes = [f"values declared missing are read as missing in {quoted(declared)}"] if declared else []
    if options.value_labels is False:
        return TableRead(frame, notes=notes)
    notes += [f"value labels stand in place of codes in {quoted(labelled)}"] if labelled else []
    notes += [f"codes are kept in {quoted(partly)}, where not every value has a label of its own"] if partly else []
    return TableRead(frame.with_columns(columns), {"value_labels": labelled} if labelled else {}, notes)


def _declared(path: Path, frame: pl.DataFrame, load: Callable[..., Any]) -> list[str]:
    """The columns with values that were declared missing: those of SPSS, and .a to .z of Stata."""
    if path.suffix.lower() not in (".sav", ".zsav", ".dta"):
        return []
    if path.suffix.lower() != ".dta":
        _, about = load(str(path), metadataonly=True, user_missing=True)
        return [name for name in about.missing_ranges if frame.get_column(name).null_count()]
    some = [series.name for series in frame.iter_columns() if series.dtype.is_numeric() and series.null_count()]
    if not some:
        return []
    _, about = load(str(path), usecols=some, user_missing=True, row_limit=SOME, output_format="dict")
    return list(about.missing_user_values)


def _labelled(column: pl.Series, labels: Mapping[Any, str]) -> pl.Series | None:
    """A column with labels in place of its codes; None where a value has none, or two have the same."""
    if not all(labels.values()) or len(set(labels.values())) < len(labels):
        return None
    values = column if column.dtype == pl.String else column.cast(pl.Float64, strict=False)
    codes = [str(code) if column.dtype == pl.String else float(code) for code in labels]
    shown = values.replace_strict(codes, list(labels.values()), default=None, return_dtype=pl.String)
    return shown if shown.null_count() == column.null_count() else None


FORMATS: dict[str, Callable[[Path, Options], TableRead]] = {
    "csv": _read_csv,
    "tsv": _read_tsv,
    "tab": _read_tsv,
    "txt": _read_csv,
    "data": _read_csv,
    "dat": _read_csv,
    "parquet": _read_parquet,
    "xlsx": read_excel,
    "xlsm": read_excel,
    "sav": partial(_read_stats, reader="read_sav"),
    "zsav": partial(_read_stats, reader="read_sav"),
    "dta": partial(_read_stats, reader="read_dta"),
    "sas7bdat": partial(_read_stats, reader="read_sas7bdat"),
    "xpt": partial(_read_stats, reader="read_xport"),
}
