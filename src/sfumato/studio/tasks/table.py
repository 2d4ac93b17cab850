"""The table of a project, read once and kept in memory as long as its file stays as it is."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.cli.console import notes
from sfumato.cli.inputs import Opened, opened
from sfumato.core.parameters import path_of
from sfumato.errors import PolicyError
from sfumato.policyfile.file import Draft, PolicyFile, check
from sfumato.policyfile.protection import row_policy
from sfumato.policyfile.tables import Origin

KEPT = 2  # tables, and samples of tables
SAMPLE = 100_000  # rows looked at of an out-of-core table
MINUTE = 60  # seconds that a sample of a database is kept: it may change unseen
_tables: OrderedDict[Any, tuple[Opened, list[str]]] = OrderedDict()
_samples: OrderedDict[Any, TableRows] = OrderedDict()


@dataclass(frozen=True, eq=False)
class TableRows:
    """Rows of a table in memory: all of them, or a sample; how many there are, and how it was read."""

    frame: pl.DataFrame
    rows: int
    sampled: bool
    notes: list[str]


def draft_of(asked: Mapping[str, Any]) -> Draft:
    """The policy of a project as written, for a release of rows."""
    return Draft(row_policy(asked["tables"]), Path(asked["folder"]), "the policy of the project")


def table_of(draft: Draft) -> Opened:
    """Its table; what is wrong with it is in `unread`."""
    return _opened(draft)[0]


def _opened(draft: Draft) -> tuple[Opened, list[str]]:
    """Its table, and what its reader has to say of it."""
    origin = _origin(draft)
    key = _key(origin)
    if key in _tables:
        _tables.move_to_end(key)
        return _tables[key]
    with notes() as told:
        found = opened(origin)
    if found.unread is None and not found.stored:
        _tables[key] = found, told
        while len(_tables) > KEPT:
            _tables.popitem(last=False)
    return found, told


def _origin(draft: Draft) -> Origin:
    origin = draft.source()
    if origin is None:
        raise PolicyError("no table is chosen yet", hint="name one on the page of data")
    for path in origin.paths:
        path_of(path)  # or why it is none
    return origin


def _key(origin: Origin) -> Any:
    """What a table is known by: where it is, how it is read, and the state of its files."""
    paths = [Path(path) for path in origin.paths if "://" not in str(path)]
    return repr(origin), tuple((str(path), _seen(path)) for path in paths)


def file_marks(draft: Draft) -> Any:
    """What changes when another table is named, or its files change."""
    return _key(_origin(draft))


def _seen(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns


def read_table(draft: Draft) -> Opened:
    """The table, or what is wrong with it raised."""
    found = table_of(draft)
    if found.unread is not None:
        raise found.unread
    return found


def rows_of(draft: Draft) -> TableRows:
    """Its rows, or a sample of an out-of-core table."""
    found, told = _opened(draft)
    if found.unread is not None:
        raise found.unread
    if not found.stored:
        return TableRows(found.data, found.data.height, False, told)
    key = (_key(_origin(draft)), int(time.monotonic() // MINUTE) if _origin(draft).database else 0)
    if key not in _samples:
        frame = found.data.sample(SAMPLE)
        rows = found.data.rows()
        _samples[key] = TableRows(frame, max(rows, frame.height), rows > frame.height, told)
        while len(_samples) > KEPT:
            _samples.popitem(last=False)
    _samples.move_to_end(key)
    return _samples[key]


def checked(draft: Draft, made_by: str = "recoding") -> tuple[Opened, PolicyFile]:
    """The table and the checked policy, or all faults of both. Where a release goes is none: the studio knows."""
    draft.tables["output"] = {"path": "out", **draft.tables.get("output", {})}
    found = table_of(draft)
    return found, check(draft, found.columns, found.unread, stored=found.stored, format=found.format, made_by=made_by)
