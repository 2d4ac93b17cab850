"""The table that a command is given: a file, streamed files, a table of a database, or the folder of a release."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sfumato.cli.options import PlaceOptions, ReadingOptions
from sfumato.errors import PolicyError

if TYPE_CHECKING:
    from sfumato.engines.files.read import TableRead
    from sfumato.errors import SfumatoError
    from sfumato.measures.reach import Reach
    from sfumato.policyfile.file import Draft, PolicyFile
    from sfumato.policyfile.tables import Origin
    from sfumato.release.verify import Verification

SHARE = 4  # a file of more than this part of the memory that is free is streamed
FLAT = "a folder of files, without the manifest.json of a release"
FORMS = ("missing", "dates", "decimal", "verbatim")  # options about values
TEXT, EXCEL = ("csv", "tsv", "tab", "txt", "data", "dat"), ("xlsx", "xlsm")
INSTEAD = {  # of commands that need the table in memory
    "attack": "attack one file of it, or a sample that fits; sfumato risk measures all of it where it is",
    "compare": "compare on one file of it, or on a sample, then anonymize all of it in the way that does best",
    "choose": "choose on one file of it, or on a sample, then anonymize all of it with that k",
    "lattice": "look at the lattice of one file of it, or of a sample",
    "republish": "who stays and who leaves is found out in memory: publish a sample, or fewer columns",
    "report": "sfumato anonymize writes report.html beside a release, and sfumato verify and risk measure any table",
}


@dataclass(frozen=True)
class NamedSource:
    """What the command line says about the table: a policy file, paths or an address, and how to take them."""

    policy: Path | None
    data: tuple[str, ...]
    table: str | None = None
    stream: bool | None = None
    reader: Mapping[str, Any] = field(default_factory=dict)  # options for reading a file

    def keys(self) -> dict[tuple[str | int, ...], Any]:
        """The same as keys of [input]."""
        found = {"path": list(self.data) or None, "table": self.table, "stream": self.stream, **self.reader}
        return {("input", key): value for key, value in found.items() if value is not None}

    def origin(self) -> Origin:
        """The same as the input of a policy."""
        from sfumato.policyfile.tables import Origin, anchored

        paths = tuple(anchored(path, Path()) for path in self.data)
        return Origin(paths, self.table, self.stream, dict(self.reader))

    def exists(self) -> bool:
        """Whether there is something to read, or an address or a pattern that may name something."""
        return all("://" in path or has_magic(path) or Path(path).exists() for path in self.data)


def named(
    files: Sequence[str] | None, reading: ReadingOptions, *, what: str = "FILE", policies: bool = False
) -> NamedSource:
    """The table that arguments and --input name; a policy file, where there can be one, is one argument alone."""
    given: Sequence[str] | None = reading.place
    if not files and not given:
        raise typer.BadParameter(f"give {what}, or --input", param_hint=f"'{what}'")
    if not all([*(files or ()), *(given or ())]):
        raise typer.BadParameter("a name is empty, which would be this folder", param_hint=f"'{what}'")
    if not files and given and len(given) == 1:
        files, given = given, None
    policy = policies and files is not None and any(name.lower().endswith(".toml") for name in files)
    if policy and files is not None and len(files) > 1:
        raise typer.BadParameter("a policy file stands alone; name data by --input", param_hint=f"'{what}'")
    if files and given and not policy:
        hint = "a pattern after --input stands in quotes"
        raise typer.BadParameter(f"the data is named twice, by {what} and by --input; {hint}", param_hint="'--input'")
    data = given if policy else [*(files or ()), *(given or ())]
    found = Path(files[0]) if policy and files else None
    return NamedSource(found, tuple(data or ()), reading.table, reading.stream, reading.reader)


@dataclass(frozen=True)
class Opened:
    """A table, its columns, or why there is none; whether it is out-of-core, and in what format it comes."""

    data: Any
    columns: list[str] | None
    unread: SfumatoError | None
    stored: bool
    format: str
    reading: Mapping[str, Any] = field(default_factory=dict)  # how its file was read, for the manifest


def opened(origin: Origin | None, command: str | None = None) -> Opened:
    """The table that an input names; what is wrong with it is told with the other faults.

    A command that needs it in memory gives its name, and is refused what is not.
    """
    from sfumato.errors import SfumatoError

    if origin is None:
        return Opened(None, None, None, False, "csv")
    if command is not None:
        refuse_stored(command, origin)
    stored = origin.stored or (command is None and is_large(origin))
    try:
        if not stored:
            read = _read(origin.paths[0], **origin.reader)
            return Opened(read.frame, read.frame.columns, None, False, "csv", read.record)
        data = store_of(origin)
    except SfumatoError as error:
        return Opened(None, None, error, stored, "csv")
    if data is None:
        return Opened(None, None, None, stored, "csv")
    return Opened(data, list(data.schema()), None, stored, _format(data, origin))


def _read(path: str | Path, format: str | None = None, **given: Any) -> TableRead:
    """A file in memory, and how it was read."""
    from sfumato.engines.files.forms import Forms
    from sfumato.engines.files.read import Options, read_table

    forms = {name: given.pop(name) for name in FORMS if name in given}
    return read_table(path, format, Options(**given), Forms(**forms))


def checked(draft: Draft, command: str | None = None, made_by: str = "recoding") -> tuple[Opened, PolicyFile]:
    """The table and the checked policy, or all faults of both."""
    from sfumato.policyfile.file import check
    from sfumato.release.people import refuse_people

    origin = draft.source()
    found = opened(origin, command)
    policy = check(draft, found.columns, found.unread, stored=found.stored, format=found.format, made_by=made_by)
    if command is not None:
        refuse_people(policy, command)
    if origin is not None and not origin.database and _is_private(policy, made_by):
        found = opened(replace(origin, reader=as_written(origin.reader)), command)
        if found.unread is not None:
            raise found.unread
    return found, policy


def _is_private(policy: PolicyFile, made_by: str) -> bool:
    """Whether what is made so is differentially private: a model, a step or a criterion of it is."""
    from sfumato.core.protocols import BY_CONSTRUCTION
    from sfumato.release.manifest import SYNTHESIS

    if made_by == SYNTHESIS:
        return bool(getattr(policy.drawing.get("generator"), "private", False))
    by_construction = any(one.how == BY_CONSTRUCTION for one in policy.require)
    return by_construction or any(step.private for _, step in policy.mask)


def measured(source: NamedSource) -> Any:
    """A table to measure, in memory or not."""
    from sfumato.core.wording import count
    from sfumato.errors import PolicyError
    from sfumato.policyfile.file import input_faults
    from sfumato.policyfile.tables import Faults, Places

    origin = source.origin()
    found = opened(origin)
    faults = Faults(Places(file=False))
    input_faults(origin, faults, found.stored)
    if faults:
        raise PolicyError(f"the command line has {count(len(faults), 'fault')}:", faults)
    if found.unread is not None:
        raise found.unread
    return found.data


def in_memory(command: str, files: Sequence[str] | None, reading: ReadingOptions) -> Path:
    """The one file, or folder of a release, that a command needs in memory; anything else is refused by name."""
    found = named(files, reading, what="TARGET")
    path = Path(found.data[0])
    if len(found.data) > 1 or not path.is_dir() or is_flat(path) or found.table is not None or found.stream:
        refuse_stored(command, found.origin())
    elif (name := table_name(path)) is not None:
        raise PolicyError(
            f'{command} needs the rows in memory, and those of the release in {path} are the table "{name}"',
            hint=f"export the table, or some rows of it, to a file, and {command} that",
        )
    return path


def refuse_stored(command: str, origin: Origin) -> None:
    """Raise a PolicyError where a command is given an out-of-core table."""
    if not origin.stored:
        return
    got = "a table of a database" if origin.database else "several files" if origin.many else "--stream"
    if len(origin.paths) == 1 and is_flat(Path(origin.paths[0])):
        got = FLAT
    raise PolicyError(f"{command} needs the table in memory", got=got, hint=INSTEAD[command])


def table(path: Path | None, given: Mapping[str, Any], *, other: bool = True) -> Any:
    """A data file as a frame, or the folder of a release as it is.

    Options that the format of an `other` file does not know are meant for the first one.
    """
    import sfumato as sf

    if path is None:
        return None
    if is_flat(path):
        hint = "name one file of it, or a sample that fits"
        raise PolicyError(f"the table {path} is needed in memory", got=FLAT, hint=hint)
    return path if path.is_dir() else sf.read(path, **(fitting(path, given) if other else given))


def private_table(path: Path, given: Mapping[str, Any]) -> Any:
    """A data file that is asked privately, or the folder of a release: each cell is read as it is written, so that no
    row has a say in how others are read."""
    return table(path, as_written(given))


def as_written(given: Mapping[str, Any]) -> dict[str, Any]:
    """Options for reading of what is private: what hangs on all rows is refused."""
    if {"dates", "decimal"} & {*given}:
        what = "dates and decimal marks are found out from all rows, and what is private reads each cell by itself"
        raise PolicyError(what, hint="write dates as 2024-01-31 and numbers as 1234.5 in the file")
    return {**given, "verbatim": True}


def fitting(path: Path, given: Mapping[str, Any]) -> dict[str, Any]:
    """The options for reading that the format of a file knows."""
    from sfumato.policyfile.tables import ending

    kind = ending(path)
    fits = {"header", "sheet", "skip"} if kind in EXCEL else {"separator", "quote", "encoding", "header", "skip"}
    fits = fits if kind in TEXT + EXCEL else {"value_labels"} if kind in ("sav", "zsav", "dta") else set()
    return {key: value for key, value in given.items() if key in fits or key in FORMS}


def store_of(origin: Origin) -> Any:
    """The store of an input, or None where [input] has a fault that is told elsewhere."""
    import sfumato as sf
    from sfumato.engines.sql.table import Database
    from sfumato.errors import ReadError
    from sfumato.policyfile.tables import STREAMED

    for path in [] if origin.database else map(Path, origin.paths):
        if path.is_dir() and not any(path.iterdir()):
            raise ReadError(f"{path} is a folder with nothing in it")
    if not origin.database:
        return sf.scan(list(origin.paths), **{k: v for k, v in origin.reader.items() if k in STREAMED})
    if origin.table is None or len(origin.paths) > 1:
        return None
    return Database(origin.paths[0], origin.table)


def _format(store: Any, origin: Origin) -> str:
    """The format in which an out-of-core table is released if nothing else is said: Parquet from Parquet."""
    from sfumato.policyfile.tables import ending

    kind = "csv" if origin.database else origin.reader.get("format") or ending(store.files[0].path)
    return "parquet" if kind == "parquet" else "csv"


def is_large(origin: Origin) -> bool:
    """Whether a file is to be streamed since it may not fit into memory; a note says so."""
    from sfumato.engines.files.source import ENDINGS
    from sfumato.policyfile.tables import STREAMED, ending

    path, free = Path(origin.paths[0]), available()
    kind = origin.reader.get("format") or ending(path)
    if origin.stream is not None or free is None or kind not in ENDINGS or set(origin.reader) - set(STREAMED):
        return False
    size = path.stat().st_size if path.is_file() else 0
    if size * SHARE <= free:
        return False
    shown = f"{path.name} has {size / 1e9:.3g} GB, and {free / 1e9:.3g} GB of memory are free"
    warnings.warn(f"{shown}: it is streamed; --no-stream reads it into memory", stacklevel=1)
    return True


def available() -> int | None:
    """Bytes of memory that this process could still take, or None where the system does not say."""
    found = []
    try:
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
        found += [1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")]
        group = Path("/sys/fs/cgroup")  # the limit of a container
        limit, used = ((group / name).read_text("ascii").strip() for name in ("memory.max", "memory.current"))
        lines = (group / "memory.stat").read_text("ascii").splitlines()
        cached = sum(int(line.split()[1]) for line in lines if line.startswith("inactive_file "))  # given back at need
        found += [] if limit == "max" else [max(0, int(limit) - int(used) + cached)]
    except (OSError, ValueError, IndexError):
        pass
    return min(found, default=None)


def release_folder(target: Sequence[str] | None, asked: Sequence[str], stream: bool | None) -> Path | None:
    """The folder of a release, or None where the target is data.

    A folder without a manifest is data where something is asked of the files in it.
    """
    if not target or len(target) > 1 or not Path(target[0]).is_dir():
        return None
    folder = Path(target[0])
    return None if is_flat(folder) and (asked or stream) else folder


def is_flat(folder: Path) -> bool:
    """Whether a folder holds files, and no manifest that would make them a release."""
    return folder.is_dir() and not (folder / "manifest.json").exists() and any(folder.iterdir())


def manifest_of(folder: Path) -> dict[str, Any]:
    """What a release says of itself, where that can be read; empty where it cannot, which verify tells."""
    from sfumato.errors import ReadError
    from sfumato.release.manifest import load_manifest

    try:
        found = load_manifest(folder)
        return found if isinstance(found, dict) and isinstance(found.get("data"), dict) else {}
    except ReadError:
        return {}


def table_name(folder: Path) -> str | None:
    """The table that a release was kept as, or None where its rows are in the folder."""
    name = manifest_of(folder).get("data", {}).get("table")
    return name if isinstance(name, str) else None


def rows_of(folder: Path, reading: PlaceOptions) -> Any:
    """The rows of a release: its folder where they are in it, else the table of the database that --input names."""
    from sfumato.engines.sql.table import Database

    name, place, table = table_name(folder), reading.place, reading.table
    if name is None:
        if place or table:
            flag = "--input" if place else "--table"
            raise PolicyError(f"{flag}: the rows of the release are in {folder} itself", hint="leave it out")
        return folder
    if not place or len(place) > 1:
        raise PolicyError(
            f'the rows of the release in {folder} are the table "{name}" of a database',
            hint="give its address, as in --input postgresql://host/db or --input hospital.duckdb",
        )
    return Database(place[0], table or name)


def known(folder: Path) -> dict[str, Any]:
    """The roles of the columns, and k, of a release that is a table."""
    from sfumato.release.manifest import read_manifest, wanted

    manifest = read_manifest(folder)
    weight = next((column.name for column in manifest.data.columns if column.role == "weight"), None)
    k = max((c.bound for c, _ in wanted(manifest) if c.model == "k-anonymity"), default=None)
    return {"quasi": manifest.policy.quasi, "sensitive": manifest.policy.sensitive, "weight": weight, "k": k}


def target(
    names: Sequence[str] | None, reading: ReadingOptions, asked: Sequence[str] = ()
) -> tuple[Any, dict[str, Any]]:
    """A table to measure, and the roles of its columns where it is a release that is a table of a database."""
    folder = release_folder(names, asked, reading.stream)
    if folder is None:
        return measured(named(names, reading, what="TARGET")), {}
    rows = rows_of(folder, reading)
    return rows, {} if rows is folder else known(folder)


def released(name: str, reading: ReadingOptions) -> tuple[Any, dict[str, Any]]:
    """A release to compare: its folder, its table in the database of the original, or a table of any tool.

    Beside it, for a table of a database, what its folder says of it.
    """
    folder = release_folder([name], (), reading.stream)
    if folder is None:
        return measured(NamedSource(None, (name,), None, reading.stream, fitting(Path(name), reading.reader))), {}
    if table_name(folder) is None:
        return folder, {}
    return rows_of(folder, replace(reading, table=None)), known(folder)


def verify(
    folder: Path,
    reading: ReadingOptions,
    max_cells: int | None,
    signer: Path | None,
    original: Path | None = None,
    people: Mapping[str, str | None] | None = None,
    population: str | None = None,
) -> tuple[Verification, Reach]:
    """Which promises of a release hold, of its own file or of its table, who signed it, and how far they go."""
    from sfumato.engines.files.read import read
    from sfumato.engines.memory.table import enter
    from sfumato.errors import ReadError
    from sfumato.release.folder import EVERY, verify_folder, verify_manifest
    from sfumato.release.people import owned
    from sfumato.release.signature import signed
    from sfumato.release.stream_folder import holds_stream, verify_stream
    from sfumato.report.sections.headline import reach_from

    if is_flat(folder):
        hint = "give --quasi and --k, or --require, to verify the files in it as one table"
        raise ReadError(f"{folder} is not a release: it has no manifest.json", hint=hint)
    if holds_stream(folder):
        return signed(verify_stream(folder), folder, signer), reach_from({}, None)
    rows, most = rows_of(folder, reading), EVERY if max_cells is None else max_cells
    before = None if original is None else enter(read(original))[0]
    columns = owned(**(people or {"person": None, "household": None}), original=before)
    if rows is folder:
        found = verify_folder(folder, most, before, columns, population=population)
    else:
        found = verify_manifest(folder, rows, most, population)
    found = signed(found, folder, signer)
    return found, _reach(folder, rows, found)


def _reach(folder: Path, rows: Any, found: Verification) -> Reach:
    """How far the promises of a release go: nothing is counted of rows that are not as they were."""
    from dataclasses import asdict

    from sfumato.engines.files.bytes import read_back
    from sfumato.engines.labelled import labelled
    from sfumato.engines.numbers import forms_written
    from sfumato.measures.table import TupleCounts
    from sfumato.release.data_files import has_several
    from sfumato.release.folder import Streamed, data_place, is_streamed
    from sfumato.release.manifest import data_of
    from sfumato.report.sections.headline import reach_from

    if has_several(folder):  # each of its promises says what it covers
        return reach_from({}, None)
    manifest = manifest_of(folder) | {"promises": [asdict(promise) for promise in found.promises]}
    if not all(promise.holds for promise in found.promises):
        return reach_from(manifest, None)
    forms = forms_written(manifest["data"].get("numbers", {}))
    if rows is not folder:
        return reach_from(manifest, TupleCounts(labelled(rows, forms)))
    data = data_of(manifest)
    format, guarded = data["format"], data.get("guarded", True)
    file = data_place(folder, data["file"], format)
    if is_streamed(file, format, guarded):
        return reach_from(manifest, TupleCounts(labelled(Streamed(file, format), forms)))
    return reach_from(manifest, forms.read(read_back(file, format, guarded)))
