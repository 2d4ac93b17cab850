"""Whether a file fits into memory: how much of it is free, and how much a file may take."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from sfumato.errors import SfumatoError
    from sfumato.policyfile.file import Draft, PolicyFile
    from sfumato.policyfile.input import Origin


SHARE = 4  # a file of more than this part of the memory that is free is streamed


def is_large(origin: Origin) -> bool:
    """Whether a file is to be streamed since it may not fit into memory; a note says so."""
    from sfumato.engines.files.source import ENDINGS
    from sfumato.policyfile.input import STREAMED, ending

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


INSTEAD = {  # of commands that need the table in memory
    "attack": "attack one file of it, or a sample that fits; sfumato risk measures all of it where it is",
    "compare": "compare on one file of it, or on a sample, then anonymize all of it in the way that does best",
    "lattice": "look at the lattice of one file of it, or of a sample",
    "report": "sfumato anonymize writes report.html beside a release, and sfumato verify and risk measure any table",
}


@dataclass(frozen=True)
class NamedSource:
    """What the command line says about the table: a policy file, paths or an address, and how to take them."""

    policy: Path | None
    data: tuple[str, ...]
    table: str | None = None
    stream: bool | None = None

    def keys(self) -> dict[tuple[str | int, ...], Any]:
        """The same as keys of [input]."""
        found = {"path": list(self.data) or None, "table": self.table, "stream": self.stream}
        return {("input", key): value for key, value in found.items()}

    def exists(self) -> bool:
        """Whether there is something to read, or an address or a pattern that may name something."""
        return all("://" in path or has_magic(path) or Path(path).exists() for path in self.data)


def named(
    files: Sequence[str] | None,
    given: Sequence[str] | None = None,
    table: str | None = None,
    stream: bool | None = None,
    *,
    what: str = "FILE",
    policies: bool = True,
) -> NamedSource:
    """The table that arguments and --input name; a policy file is one argument alone."""
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
    return NamedSource(Path(files[0]) if policy and files else None, tuple(data or ()), table, stream)


@dataclass(frozen=True)
class Opened:
    """A table, its columns, or why there is none; whether it is not in memory, and in what format it comes."""

    data: Any
    columns: list[str] | None
    unread: SfumatoError | None
    stored: bool
    format: str


def opened(origin: Origin | None) -> Opened:
    """The table that an input names; what is wrong with it is told with the other faults."""
    import sfumato as sf
    from sfumato.errors import SfumatoError

    if origin is None:
        return Opened(None, None, None, False, "csv")
    stored = origin.stored or is_large(origin)
    try:
        data: Any = store_of(origin) if stored else sf.read(origin.paths[0], **origin.reader)
    except SfumatoError as error:
        return Opened(None, None, error, stored, "csv")
    if data is None:
        return Opened(None, None, None, stored, "csv")
    columns = list(data.schema()) if stored else data.columns
    return Opened(data, columns, None, stored, _format(data, origin) if stored else "csv")


def checked(draft: Draft) -> tuple[Opened, PolicyFile]:
    """The table and the checked policy, or all faults of both."""
    from sfumato.policyfile.file import check

    found = opened(draft.source())
    return found, check(draft, found.columns, found.unread, stored=found.stored, format=found.format)


def measured(named: NamedSource, reader: Mapping[str, Any]) -> Any:
    """A table to measure, in memory or not."""
    from sfumato.errors import PolicyError
    from sfumato.policyfile.input import input_faults
    from sfumato.policyfile.places import Places

    origin = _origin(named, reader)
    found = opened(origin)
    faults = input_faults(origin, Places(file=False), found.stored)
    if faults:
        count = f"{len(faults)} faults" if len(faults) > 1 else "1 fault"
        raise PolicyError(f"the command line has {count}:", faults)
    if found.unread is not None:
        raise found.unread
    return found.data


def in_memory(
    command: str, files: Sequence[str] | None, given: Sequence[str] | None, table: str | None, stream: bool | None
) -> Path:
    """The one file, or folder of a release, that a command needs in memory; anything else is refused by name."""
    from sfumato.cli.kept import is_flat, refuse_table

    found = named(files, given, table, stream, what="TARGET", policies=False)
    path = Path(found.data[0])
    if len(found.data) > 1 or not path.is_dir() or is_flat(path) or table is not None or stream:
        refuse_stored(command, _origin(found, {}))
    elif path.is_dir():
        refuse_table(path, command)
    return path


def refuse_stored(command: str, origin: Origin | None) -> None:
    """Raise a PolicyError where a command is given an out-of-core table."""
    from sfumato.cli.kept import FLAT, is_flat
    from sfumato.errors import PolicyError

    if origin is None or not origin.stored:
        return
    got = "a table of a database" if origin.database else "several files" if origin.many else "--stream"
    if len(origin.paths) == 1 and is_flat(Path(origin.paths[0])):
        got = FLAT
    raise PolicyError(f"{command} needs the table in memory", got=got, hint=INSTEAD[command])


def _origin(named: NamedSource, reader: Mapping[str, Any]) -> Origin:
    from sfumato.policyfile.input import Origin, anchored

    paths = tuple(anchored(path, Path()) for path in named.data)
    return Origin(paths, named.table, named.stream, dict(reader))


def store_of(origin: Origin) -> Any:
    """The store of an input, or None where [input] has a fault that is told elsewhere."""
    import sfumato as sf
    from sfumato.errors import ReadError
    from sfumato.policyfile.input import STREAMED

    for path in [] if origin.database else map(Path, origin.paths):
        if path.is_dir() and not any(path.iterdir()):
            raise ReadError(f"{path} is a folder with nothing in it")
    if not origin.database:
        return sf.scan(list(origin.paths), **{k: v for k, v in origin.reader.items() if k in STREAMED})
    if origin.table is None or len(origin.paths) > 1:
        return None
    return database(origin.paths[0], origin.table)


def database(place: str | Path, table: str) -> Any:
    """A table of a database."""
    from sfumato.engines.sql.table import Database

    return Database(place, table)


def _format(store: Any, origin: Origin) -> str:
    """The format in which an out-of-core table is released if nothing else is said: Parquet from Parquet."""
    from sfumato.policyfile.input import ending

    kind = "csv" if origin.database else origin.reader.get("format") or ending(store.files[0].path)
    return "parquet" if kind == "parquet" else "csv"
