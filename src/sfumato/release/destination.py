"""Where a release goes: a folder of files, a table beside the original, or a frame; all of it or nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sfumato.core.parameters import path_of
from sfumato.core.progress import Progress
from sfumato.engines.atomic import atomic_folder, check_target
from sfumato.engines.files.bytes import GUARDED, sha256
from sfumato.engines.order import CANONICAL
from sfumato.engines.protocol import Engine, Plan, StagedRelease
from sfumato.errors import OutputError, PolicyError, did_you_mean
from sfumato.release.manifest import write_manifest

FOLDER = 'the path of a folder, or sf.Folder("out", format="csv")'
ALLOWED = 'the path of a folder, sf.Folder("out", format="csv"), or for a database sf.Table("release")'
NAMES = {"csv": "data.csv", "tsv": "data.tsv", "parquet": "data.parquet", "xlsx": "data.xlsx"}


@dataclass(frozen=True)
class Folder:
    """A folder of data, manifest.json and report.html.

    format: csv, tsv or parquet, and xlsx for a table in memory; without it csv for that, and parquet for others.
    overwrite: whether an earlier release is replaced.

    >>> Folder("out", format="csv")
    Folder(path='out', format='csv', overwrite=False)
    """

    path: str | Path
    format: str | None = None
    overwrite: bool = False


@dataclass(frozen=True)
class Table:
    """A new table of the database that the original is in.

    overwrite: whether a table of that name is replaced. beside: a folder for manifest.json and report.html.

    >>> Table("admissions_release", beside="out")
    Table(name='admissions_release', overwrite=False, beside='out')
    """

    name: str
    overwrite: bool = False
    beside: str | Path | None = None


def destination(to: Any, engine: Engine) -> Folder | Table | None:
    """Where a release goes, checked before the work: None is a frame, where the engine keeps one."""
    allowed = FOLDER if engine.in_memory else ALLOWED
    if to is None and engine.keeps != "frame":
        raise PolicyError(f"{engine.called} is released to a place that has to be named", allowed=f"to={allowed}")
    if isinstance(to, Table) and engine.keeps != "table":
        raise PolicyError("the release cannot be a table: the original is in no database", allowed=f"to={allowed}")
    if to is None:
        return None
    if not isinstance(to, Folder | Table | str | Path):
        raise PolicyError("to must say where the release goes", got=type(to).__name__, allowed=allowed)
    place = Folder(to) if isinstance(to, str | Path) else to
    if isinstance(place, Folder):
        place = replace(place, format=_format(place.format, engine))
    elif not isinstance(place.name, str) or not place.name:
        raise PolicyError("a table needs a name", got=type(place.name).__name__)
    else:
        engine.check_target(place.name, place.overwrite)
    if (target := folder_of(place)) is not None:
        check_target(target, place.overwrite)
        if any(source.path.resolve().is_relative_to(target.resolve()) for source in getattr(engine, "files", ())):
            raise OutputError(f"{target} holds the table that would be released", hint="choose another folder")
    return place


def _format(given: Any, engine: Engine) -> str:
    """The format of a file, checked; the engine's first where none is given."""
    allowed = engine.formats
    if given is None:
        return allowed[0]
    if not isinstance(given, str) or given not in allowed:
        known = isinstance(given, str) and given in NAMES
        what = f"{engine.called} cannot be released in this format" if known else "unknown output format"
        hint = did_you_mean(str(given), allowed)
        raise OutputError(what, got=repr(given), allowed=", ".join(allowed), hint=hint)
    return given


def refuse_row_order(order: str, engine: Engine, place: Folder | Table | None) -> None:
    """Raise a PolicyError where rows cannot be had in an order: not every table has one, or keeps one."""
    allowed = (CANONICAL,) if isinstance(place, Table) else engine.orders
    if order not in allowed:
        what = f"the rows of {engine.called} cannot be released in this order"
        raise PolicyError(what, got=order, allowed=", ".join(allowed))


def folder_of(to: Folder | Table | None) -> Path | None:
    """The folder that is made, or None."""
    if isinstance(to, Folder):
        return path_of(to.path)
    return path_of(to.beside) if isinstance(to, Table) and to.beside is not None else None


@dataclass(frozen=True, eq=False)
class StagedOutput:
    """What was made and not yet kept: the rows, what the manifest says of them, what users get, the folder beside."""

    written: StagedRelease
    describe: Callable[[], Mapping[str, Any]]
    data: Callable[[], Any]
    folder: Path | None = None  # under its temporary name

    def publish(self, manifest: Mapping[str, Any], page: str, pdf: bytes | None = None) -> Path:
        """Put the manifest and the report into the folder."""
        assert self.folder is not None
        write_manifest(self.folder, manifest)
        (self.folder / "report.html").write_text(page, encoding="utf-8")
        if pdf is not None:
            (self.folder / "report.pdf").write_bytes(pdf)
        return self.folder


@contextmanager
def stage_release(
    engine: Engine, plan: Plan, to: Folder | Table | None, report_progress: Progress
) -> Iterator[StagedOutput]:
    """The release as the plan says; it stays where the block ends, and is gone where it raises."""
    target = folder_of(to)
    if isinstance(to, Folder):
        assert target is not None
        format = _format(to.format, engine)
        with atomic_folder(target, to.overwrite) as folder:
            file = folder / NAMES[format]
            written = engine.recode(plan, file, format, report_progress)
            yield StagedOutput(written, lambda: _of_file(file, format), lambda: target / file.name, folder)
        return
    name, overwrite = (None, False) if to is None else (to.name, to.overwrite)
    beside: AbstractContextManager[Path | None]
    beside = nullcontext() if target is None else atomic_folder(target, overwrite)
    # the folder gets its name after the database has committed: it never tells of a table that is not there
    with beside as folder, engine.release(plan, name, overwrite, report_progress) as kept:
        yield StagedOutput(kept, lambda: kept.place, lambda: kept.data, folder)


def _of_file(file: Path, format: str) -> dict[str, Any]:
    return {"file": file.name, "format": format, "sha256": sha256(file), "guarded": format in GUARDED}
