"""Where a release of a table that is not in memory goes: a folder of files, or a table beside the original."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.arguments import path_of
from sfumato.engines.atomic import check_target
from sfumato.engines.scanned_write import refuse_format
from sfumato.engines.store import Store, is_home
from sfumato.errors import OutputError, PolicyError

ALLOWED = 'the path of a folder, sf.Folder("out", format="csv"), or for a database sf.Table("release")'


@dataclass(frozen=True)
class Folder:
    """A folder of data, manifest.json and report.html. format: parquet, csv or tsv. overwrite: an earlier release.

    >>> Folder("out", format="csv")
    Folder(path='out', format='csv', overwrite=False)
    """

    path: str | Path
    format: str = "parquet"
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


def destination(to: Any, store: Store) -> Folder | Table | None:
    """Where a release goes, checked before the work: None is a frame, which a cluster alone can keep."""
    named = is_home(store) and getattr(store, "named", True)
    if to is None and (named or not is_home(store)):
        what = "a table of a database" if named else "a table in files"
        raise PolicyError(f"{what} is released to a place that has to be named", allowed=f"to={ALLOWED}")
    if isinstance(to, Table) and not named:
        raise PolicyError("the release cannot be a table: the original is in no database", allowed=f"to={ALLOWED}")
    if to is None:
        return None
    if not isinstance(to, Folder | Table | str | Path):
        raise PolicyError("to must say where the release goes", got=type(to).__name__, allowed=ALLOWED)
    place = Folder(to) if isinstance(to, str | Path) else to
    if isinstance(place, Folder):
        refuse_format(place.format)
    elif not isinstance(place.name, str) or not place.name:
        raise PolicyError("a table needs a name", got=type(place.name).__name__)
    elif is_home(store):
        store.check_target(place.name, place.overwrite)
    folder = place.path if isinstance(place, Folder) else place.beside
    if folder is not None:
        target = path_of(folder)
        check_target(target, place.overwrite)
        if any(source.path.resolve().is_relative_to(target.resolve()) for source in getattr(store, "files", ())):
            raise OutputError(f"{target} holds the table that would be released", hint="choose another folder")
    return place
