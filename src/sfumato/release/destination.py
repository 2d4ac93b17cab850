"""Where a release goes: a folder of files, or a table beside the original."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.core.parameters import path_of
from sfumato.engines.atomic import check_target
from sfumato.engines.files.bytes import FORMATS
from sfumato.engines.files.write import refuse_format
from sfumato.engines.order import CANONICAL, ORDERS
from sfumato.engines.protocol import Engine, is_home
from sfumato.errors import OutputError, PolicyError, did_you_mean

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


def refuse_row_order(order: str, store: Engine, place: Folder | Table | None) -> None:
    """Raise a PolicyError where rows cannot be had in an order: not every table has one, or keeps one."""
    allowed = (CANONICAL,) if isinstance(place, Table) else getattr(store, "orders", ORDERS)
    if order not in allowed:
        what = "a table of a database" if isinstance(place, Table) else store_name(store)
        raise PolicyError(f"the rows of {what} cannot be released in this order", got=order, allowed=", ".join(allowed))


def store_name(store: Engine) -> str:
    """What a store is, in words."""
    return "a table in files" if not is_home(store) else "a table of a database" if _named(store) else "a Spark frame"


def _named(store: Engine) -> bool:
    return is_home(store) and getattr(store, "named", True)


def folder_for(to: Any) -> Folder:
    """The folder that a release of rows in memory goes to, checked before the work."""
    if not isinstance(to, Folder | str | Path):
        allowed = 'the path of a folder, or sf.Folder("out", format="csv")'
        raise PolicyError("to must say where the release goes", got=type(to).__name__, allowed=allowed)
    folder = to if isinstance(to, Folder) else Folder(to)
    if folder.format not in FORMATS:
        hint = did_you_mean(str(folder.format), FORMATS)
        raise OutputError("unknown output format", got=repr(folder.format), allowed=", ".join(FORMATS), hint=hint)
    check_target(path_of(folder.path), folder.overwrite)
    return folder


def destination(to: Any, store: Engine) -> Folder | Table | None:
    """Where a release goes, checked before the work: None is a frame, which a cluster alone can keep."""
    named = _named(store)
    if to is None and (named or not is_home(store)):
        raise PolicyError(f"{store_name(store)} is released to a place that has to be named", allowed=f"to={ALLOWED}")
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
