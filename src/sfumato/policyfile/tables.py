"""The tables of a policy: which keys there are, what each may hold, where each stands, and what fits together.

A fault names its key as a table and line of the file, or as a flag of the command line.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from sfumato.core.forms import faults_of, fill
from sfumato.core.parameters import is_whole
from sfumato.core.registry import Variant
from sfumato.errors import SfumatoError, did_you_mean

Key = tuple[str | int, ...]  # a table, a key in it, and so on
T = TypeVar("T")

HEADER = re.compile(r"^\s*(\[\[?)\s*([^\[\]#]+?)\s*\]\]?\s*(?:#.*)?$")
ENTRY = re.compile(r"""^\s*("[^"]*"|'[^']*'|[A-Za-z0-9_-]+)\s*[.=]""")


def _sets(value: object) -> object:
    """One list of names, or a list of such lists, as a list of lists."""
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return [value]
    if isinstance(value, list) and all(isinstance(q, list) and all(isinstance(n, str) for n in q) for q in value):
        return value
    raise PydanticCustomError("columns", "must be a list of column names, or a list of such lists")


def _limit(value: Any) -> object:
    """A share (decimal, 0 to 1) or a count of rows (whole number)."""
    if (is_whole(value) and value >= 0) or (isinstance(value, float) and 0 <= value <= 1):
        return value
    raise PydanticCustomError("limit", "must be a share from 0.0 to 1.0 or a whole number of rows")


def _named(value: object) -> object:
    """A name, or a table with a name and parameters, as such a table."""
    if isinstance(value, str):
        return {"name": value}
    if isinstance(value, dict) and isinstance(value.get("name"), str):
        return value
    raise PydanticCustomError("named", 'must be a name or a table with a name, as in {{name = "lm"}}')


def _character(value: str | None) -> str | None:
    if value is not None and len(value) != 1:
        raise PydanticCustomError("character", "must be one character")
    return value


def _paths(value: object) -> object:
    """One path, or a list of paths, as a list."""
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not all(isinstance(item, str) for item in listed):
        raise PydanticCustomError("paths", "must be a path, or a list of paths")
    if not listed or not all(listed):
        raise PydanticCustomError("paths", "must be a path, or a list of one path or more, none of them empty")
    return listed


def _filled(value: str) -> str:
    if not value:
        raise PydanticCustomError("filled", "must not be empty")
    return value


Name = Annotated[str, AfterValidator(_filled)]


class PolicyTable(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class InputTable(PolicyTable):
    path: Annotated[list[str], BeforeValidator(_paths)]
    table: Name | None = None
    stream: bool | None = None
    format: str | None = None
    separator: Annotated[str | None, AfterValidator(_character)] = None
    quote: str | None = None
    encoding: str | None = None
    header: bool | None = None
    sheet: str | int | None = None
    skip: Annotated[int, Field(ge=0)] | None = None
    columns: list[str] | None = None
    value_labels: bool | None = None
    missing: list[str] | dict[str, list[str]] | None = None
    dates: Literal["dmy", "mdy", "ymd"] | None = None
    decimal: Literal["comma", "point"] | None = None
    verbatim: bool | list[str] | None = None


class RolesTable(PolicyTable):
    identifying: list[str] = []
    quasi: Annotated[list[list[str]], BeforeValidator(_sets)] = []
    sensitive: list[str] = []
    insensitive: list[str] = []
    unprotected: list[str] = []
    weight: str | None = None
    person: str | None = None
    household: str | None = None
    rest: Literal["refuse", "release"] = "refuse"
    normalise: bool | list[str] = False
    drop_missing: bool | list[str] = False
    row_key: list[str] = []


class SearchTable(PolicyTable):
    model_config = ConfigDict(extra="allow", strict=True)  # the method's own parameters stand beside its name

    method: str = "auto"
    loss: Annotated[dict[str, Any], BeforeValidator(_named)] = {"name": "lm"}
    suppression: Annotated[Any, BeforeValidator(_limit)] = 0
    tidy: bool | None = None
    seed: Annotated[int, Field(ge=0)] | None = None
    max_cells: Annotated[int, Field(ge=1)] | None = None
    account: dict[str, Any] | None = None  # that a private release of rows is charged to


class PopulationFile(PolicyTable):
    path: Name | None = None
    stream: bool = False  # it is not read into memory


class SynthesisTable(PolicyTable):
    generator: Annotated[dict[str, Any] | None, BeforeValidator(_named)] = None
    rows: Annotated[int, Field(ge=1)] | None = None
    m: Annotated[int, Field(ge=1)] = 1
    copies: Literal["redraw", "drop", "keep"] | None = None
    hold_out: Annotated[float, Field(ge=0, le=0.9)] | None = None
    sample: Annotated[int, Field(ge=50)] | None = None
    account: dict[str, Any] | None = None  # that a private generator is charged to


class Output(PolicyTable):
    path: Name | None = None  # may be left out where there is a table
    table: Name | None = None
    format: Literal["csv", "tsv", "parquet", "xlsx"] | None = None
    overwrite: bool = False
    order: Literal["canonical", "random", "input"] = "canonical"
    ends: Literal["rounded", "exact"] = "rounded"
    numbers: Literal["text", "bounds", "midpoint", "draw"] | dict[str, str] = "text"
    profile: Literal["hipaa", "gdpr", "clinical"] | None = None
    internal_report: str | None = None
    pdf: bool = False


MODELS: dict[str, type[PolicyTable]] = {
    "input": InputTable,
    "roles": RolesTable,
    "search": SearchTable,
    "population": PopulationFile,
    "synthesis": SynthesisTable,
    "output": Output,
}
TABLES = (
    "input", "roles", "hierarchies", "levels", "population", "require", "mask", "search", "synthesis", "output",
    "about",
)  # fmt: skip
BASKETS = ("basket", "item", "k", "m", "h", "p", "private", "hierarchy", "search", "quasi", "class_size")
STREAM = ("delay", "search", "state", "domains", "ends", "seed", "once", "finish", "poll")
FRAGMENTS = ("constraints", "singletons", "key", "k", "between", "suppression", "insensitive", "rest", "seed")
MINE = ("basket", "item", "features", "target", "k", "l", "miner", "support", "confidence", "longest", "block", "hide",
        "depth", "counts", "bins", "compare")  # fmt: skip
COUNTED = ("by", "value", "weight", "contributor", "request", "record", "largest", "levels")
PROTECTED = ("method", "cost", "zeros", "coalition", "flags")
WHEN = ("before", "after")  # the search
FLAGS: Mapping[Key, str] = {  # the flag that sets a key: mostly of its name
    **{(table, key): f"--{key.replace('_', '-')}" for table, model in MODELS.items() for key in model.model_fields},
    **{("baskets", key): "--" + key.replace("_", "-") for key in BASKETS},
    **{("stream", key): f"--{key}" for key in STREAM},
    **{("mine", key): f"--{key}" for key in MINE},
    **{("fragments", key): f"--{key}" for key in FRAGMENTS},
    **{("table", key): f"--{key}" for key in COUNTED},
    **{("protect", key): f"--{key}" for key in PROTECTED},
    ("rule",): "--rule",
    ("protect",): "--method",
    ("protect", "beside"): "--with",
    ("fragments", "constraints"): "--constraint",
    ("roles", "time"): "--time",
    ("input", "path"): "the data file",
    ("population", "path"): "--population",
    ("population", "stream"): "--population-stream",
    ("input", "format"): "the command line",
    ("input", "header"): "--no-header",
    ("hierarchies",): "--hierarchy",
    ("levels",): "--levels",
    ("about",): "--suggest",
    ("about", "language"): "--language",
    ("require",): "--k or --require",
    ("mask",): "--step",
    ("search", "method"): "--search",
    ("search", "keep"): "--keep",
    ("search", "labels"): "--labels",
    ("output", "path"): "-o",
    ("output", "table"): "--output-table",
}


@dataclass(frozen=True)
class Places:
    """Where each key stands: on which line of a file, or in which flag of the command line.

    >>> Places(lines={("roles", "quasi"): 4}).at("roles", "quasi")
    '[roles] quasi (line 4)'
    >>> Places(given={("roles", "quasi"): "--quasi"}).at("roles", "quasi")
    '--quasi'
    """

    lines: Mapping[Key, int] = field(default_factory=dict)
    given: Mapping[Key, str] = field(default_factory=dict)  # keys set by a flag, laid over the file
    file: bool = True  # whether there is a file at all: without one, messages speak of flags only

    @staticmethod
    def of(text: str, tables: Mapping[str, Any]) -> Places:
        """The line of every table and key of a TOML text; tomllib does not tell, so the lines are read once more."""
        lines: dict[Key, int] = {}
        table: Key = ()
        counts: dict[str, int] = {}
        for number, line in enumerate(text.splitlines(), 1):
            header, key = HEADER.match(line), ENTRY.match(line)
            if header and header[2].strip("\"'").split(".")[0].strip() in tables:
                name = tuple(part.strip().strip("\"'") for part in header[2].split("."))
                table = name
                if header[1] == "[[":
                    counts[name[0]] = counts.get(name[0], -1) + 1
                    table = (*name, counts[name[0]])
                lines.setdefault(name, number)
                lines.setdefault(table, number)
            elif key:
                lines.setdefault((*table, key[1].strip("\"'")), number)
        return Places(lines)

    def at(self, *key: str | int) -> str:
        """Where a key stands: the flag that set it, else its table, key and line."""
        flag = _nearest(self.given, key)
        if flag is not None:
            return flag
        if not self.file:
            return _nearest(FLAGS, key) or "the command line"
        line = _nearest(self.lines, key)
        return _in_toml(key) + (f" (line {line})" if line else "")

    def ask(self, *key: str | int) -> str:
        """What to add where a key is missing."""
        return f"give {_nearest(FLAGS, key)}" if not self.file else f"add {_in_toml(key)}"


def _nearest(places: Mapping[Key, T], key: Key) -> T | None:
    """The entry of the key, or of the nearest table around it that has one."""
    return next((places[key[:n]] for n in range(len(key), 0, -1) if key[:n] in places), None)


def _in_toml(key: Key) -> str:
    """A key in the words of TOML."""
    head, rest = f"[{key[0]}]", key[1:]
    if head in ("[require]", "[mask]"):
        head, rest = f"[{head}]", tuple(part + 1 if isinstance(part, int) else part for part in rest)
    return " ".join([head, *map(str, rest)])


class Faults(list[str]):
    """What is wrong with a policy, each fault with the place of its key."""

    def __init__(self, places: Places, known: Iterable[str] = ()) -> None:
        super().__init__(known)
        self.places = places

    def tell(self, what: str, *key: str | int) -> None:
        """A fault of a key."""
        self.append(f"{self.places.at(*key)}: {what}")

    def meant(self, what: str, name: str, known: Iterable[str], *key: str | int) -> None:
        """A fault of a name, with those that may have been meant."""
        hint = did_you_mean(name, known)
        self.tell(what + (f"; {hint}" if hint else ""), *key)

    def raised(self, error: Exception, *key: str | int) -> None:
        """The faults of an exception; a library's own words are left out, for they may quote values."""
        told = getattr(error, "faults", ()) or (str(error),)
        for fault in told if isinstance(error, SfumatoError) else ["the parameters do not fit"]:
            self.tell(fault, *key)


def make_variant(
    table: Mapping[str, Variant[Any]],
    what: str,
    name: str,
    parameters: Mapping[str, Any],
    faults: Faults,
    key: Key,
    beside: Collection[str] = (),
) -> Any | None:
    """The variant of that name with those parameters, or None and its faults; `beside` are other keys of its table."""
    if name not in table:
        hint = did_you_mean(name, table) or "allowed: " + ", ".join(table)
        faults.tell(f'unknown {what} "{name}"; {hint}', *(key if key[-1] == what else (*key, what)))
        return None
    at = (*key, "method") if what == "method" else key
    found = faults_of(name, table[name], parameters, beside, "key")
    made = None
    if not found:
        made, found = fill(name, table[name], parameters)
    for parameter, fault in found:
        faults.tell(fault, *(at if parameter is None else (*key, parameter)))
    return made


def make_recipe(spec: Any, folder: Path, faults: Faults, *key: str) -> Any | None:
    """The hierarchy recipe of a spec such as {intervals = [5, 10]} or a file name, or None and its faults."""
    from sfumato.hierarchies import parse

    try:
        return parse(spec, folder)
    except (SfumatoError, TypeError, ValueError) as error:
        faults.raised(error, *key)
        return None


BASES = ("duckdb", "ddb", "db", "sqlite", "sqlite3")  # endings of database files
OF_A_FILE = "is of a file, and the input is a table of a database"
# what can be said about files that are streamed
STREAMED = ("format", "separator", "encoding", "header", "columns", "skip", "missing", "dates", "decimal", "verbatim")
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


def instead(origin: Origin, places: Places) -> str:
    """What to do about a file that could be read into memory as well."""
    how = "stream = false" if places.file else "--no-stream"
    return "" if origin.database or origin.many else f"; {how} reads the file into memory"
