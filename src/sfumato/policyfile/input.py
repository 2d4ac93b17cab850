"""The input of a policy: a file in memory, files that are streamed, or a table of a database; and what each allows."""

from __future__ import annotations

import glob
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sfumato.errors import PolicyError, did_you_mean
from sfumato.policyfile.places import Places
from sfumato.policyfile.tables import InputTable, Output

BASES = ("duckdb", "ddb", "db", "sqlite", "sqlite3")  # endings of database files
OF_A_FILE = "is of a file, and the input is a table of a database"
STREAMED = ("format", "separator", "encoding")  # what can be said about files that are streamed
READ = ("csv", "tsv", "tab", "txt", "data", "dat", "parquet", "xlsx", "xlsm", "sav", "zsav", "dta", "sas7bdat", "xpt")


@dataclass(frozen=True)
class Origin:
    """Where a table is: paths of files, patterns or folders, or a database and a table of it."""

    paths: tuple[str | Path, ...]  # text where it is an address
    table: str | None = None
    stream: bool | None = None  # None: as the size of the file says
    reader: dict[str, Any] = field(default_factory=dict)  # options for reading a file

    @staticmethod
    def of(written: InputTable, folder: Path) -> Origin:
        """The input that a policy in a folder names: relative paths start there, addresses do not."""
        paths = tuple(anchored(path, folder) for path in written.path)
        reader = written.model_dump(exclude={"path", "table", "stream"}, exclude_none=True)
        return Origin(paths, written.table, written.stream, reader)

    @property
    def path(self) -> str | Path | list[str | Path]:
        """The one path, or all of them."""
        return self.paths[0] if len(self.paths) == 1 else list(self.paths)

    @property
    def database(self) -> bool:
        """Whether the table is in a database: at an address, in a database file, or in one file of no known ending."""
        if any(is_address(path) or ending(path) in BASES for path in self.paths):
            return True
        return self.table is not None and not self.many and ending(self.paths[0]) not in READ

    @property
    def many(self) -> bool:
        """Whether these are several files: a list, a folder or a pattern."""
        return len(self.paths) > 1 or any(Path(p).is_dir() or _pattern(p) for p in self.paths if not is_address(p))

    @property
    def stored(self) -> bool:
        """Whether the table cannot be read into memory, or shall not be."""
        return self.database or self.many or self.stream is True


def is_address(path: str | Path) -> bool:
    """Whether a path is an address.

    >>> is_address("postgresql://host/db"), is_address("in/2024.csv")
    (True, False)
    """
    return isinstance(path, str) and "://" in path


def anchored(text: str, folder: Path) -> str | Path:
    """A path as it is seen from a folder; an address stays as it is."""
    if is_address(text):
        return text
    path = folder / text
    return Path(glob.escape(str(folder))) / text if glob.has_magic(text) and not path.exists() else path


def ending(path: str | Path) -> str:
    """The ending of a file's name, without that of its compression."""
    return Path(path).name.lower().removesuffix(".gz").rpartition(".")[2]


def _pattern(path: str | Path) -> bool:
    return glob.has_magic(str(path)) and not Path(path).exists()


def input_faults(origin: Origin, places: Places, stored: bool) -> list[str]:
    """What of [input] does not fit together; `stored` is whether the table is not read into memory."""
    at, found = places.at, []
    if origin.database:
        if origin.table is None and not _table_told(places):
            what = "the table of the database is missing"
            found.append(f"{at('input', 'table')}: {what}; {places.ask('input', 'table')}")
        if len(origin.paths) > 1:
            found.append(f"{at('input', 'path')}: a database is one address or one file; got {len(origin.paths)} paths")
    elif origin.table is not None:
        found.append(f"{at('input', 'table')}: is of a database, and the input is a file")
    if origin.stream and origin.database:
        found.append(f"{at('input', 'stream')}: {OF_A_FILE}")
    if origin.stream is False and (origin.database or origin.many):
        what = "a table of a database is" if origin.database else "several files are"
        found.append(f"{at('input', 'stream')}: {what} never read into memory; leave it out")
    for key in origin.reader if stored else ():
        if origin.database:
            found.append(f"{at('input', key)}: {OF_A_FILE}")
        elif key not in STREAMED:
            found.append(f"{at('input', key)}: is not for files that are streamed{_instead(origin, places)}")
    return found


def _table_told(places: Places) -> bool:
    """Whether the table is written, faulty or misspelt, which is a fault that is told already."""
    written = {path[1] for path in (*places.lines, *places.given) if len(path) == 2 and path[0] == "input"}
    unknown = [str(key) for key in written if key not in InputTable.model_fields]
    return "table" in written or any(did_you_mean(key, ["table"]) for key in unknown)


def output_faults(origin: Origin | None, output: Output, bad: Iterable[str], places: Places, stored: bool) -> list[str]:
    """What of [output] does not fit together, or not with the input."""
    at, found = places.at, []
    if output.path is None and output.table is None and not {"path", "table"} & set(bad):
        table = (
            f" or {places.ask('output', 'table').partition(' ')[2]}" if origin is not None and origin.database else ""
        )
        found.append(f"{at('output', 'path')}: path is missing; {places.ask('output', 'path')}{table}")
    if output.table is not None:
        if origin is not None and not origin.database:
            found.append(f"{at('output', 'table')}: the release can be a table only where the input is one")
        if output.format is not None:
            found.append(f"{at('output', 'format')}: is of a file, and the release is a table")
    if origin is None or not stored:
        return found
    instead = _instead(origin, places)
    if output.format == "xlsx":
        found.append(f"{at('output', 'format')}: xlsx cannot be streamed; use csv, tsv or parquet{instead}")
    if output.order == "input" and origin.database:
        found.append(f"{at('output', 'order')}: the rows of a table of a database have no order that could be kept")
    if output.order == "random" and output.table is not None:
        found.append(f"{at('output', 'order')}: a table of a database is in canonical order, or in none")
    if output.internal_report is not None:
        what = "an out-of-core original cannot be compared with"
        found.append(f"{at('output', 'internal_report')}: {what}{instead}")
    if output.pdf:
        found.append(f"{at('output', 'pdf')}: there is no PDF of a release that is not in memory{instead}")
    return found


def search_faults(search: Any, places: Places) -> list[str]:
    """A search that needs the rows in memory."""
    from sfumato.release.request import refuse_out_of_core

    try:
        refuse_out_of_core(search)
    except PolicyError as error:
        return [f"{places.at('search', 'method')}: {error}"]
    return []


def _instead(origin: Origin, places: Places) -> str:
    """What to do about a file that could be read into memory as well."""
    how = "stream = false" if places.file else "--no-stream"
    return "" if origin.database or origin.many else f"; {how} reads the file into memory"
