"""The state of a run over arriving files: what is needed to go on where it was killed.

It holds the rows that wait, as they came: it is the owner's alone, signed with the owner's key, and replaced whole.
"""

from __future__ import annotations

import hashlib
import hmac
import io
import json
import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.fingerprint import key
from sfumato.core.parameters import path_of
from sfumato.engines.atomic import atomic_file
from sfumato.errors import OutputError, PolicyError, ReadError
from sfumato.release.manifest import NAME

MAGIC = b"sfumato stream state 1\n"


@dataclass(frozen=True, eq=False)
class StreamState:
    """Where a run stands: what was asked, the files that were taken, the batches that left, and the run itself."""

    asked: str
    taken: tuple[str, ...] = ()
    batches: tuple[Mapping[str, Any], ...] = ()  # file, rows, sha256
    finished: bool = False
    run: Mapping[str, Any] | None = None
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)


def state_place(given: Any, *published: Path) -> Path:
    """The place of a state, which is in no folder of the stream."""
    place = path_of(given).expanduser()
    for folder in {*place.absolute().parents, *place.resolve().parents}:
        if folder in {one.resolve() for one in published} or (folder / NAME).exists():
            what = f"{folder} is a folder of the stream, and the state holds rows that wait"
            raise OutputError(what, hint="keep it elsewhere")
    return place


def _secret() -> bytes:
    found = key()
    if found is None:
        raise PolicyError("there is no key to sign the state with", hint="set SFUMATO_KEY")
    return hmac.new(found, MAGIC, hashlib.sha256).digest()


def save_state(place: Path, state: StreamState) -> None:
    """Write a state, all of it or nothing; nobody but the owner may read it."""
    plain = {
        "asked": state.asked,
        "taken": state.taken,
        "batches": state.batches,
        "finished": state.finished,
        "run": state.run,
    }
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w") as box:
        box.writestr("state.json", json.dumps(plain))
        for name, array in state.arrays.items():
            part = io.BytesIO()
            np.save(part, array, allow_pickle=False)
            box.writestr(f"array/{name}", part.getvalue())
        for name, table in state.tables.items():
            part = io.BytesIO()
            table.write_ipc(part)
            box.writestr(f"table/{name}", part.getvalue())
    sign = hmac.new(_secret(), body.getvalue(), hashlib.sha256).digest()
    with atomic_file(place, overwrite=True) as file:
        file.touch(0o600)
        file.write_bytes(MAGIC + sign + body.getvalue())


def load_state(place: Path) -> StreamState | None:
    """The state in a file; None where there is none.

    Raises
    ------
    ReadError
        Where others may read the file, or it is not what this owner wrote.
    """
    if not place.exists():
        return None
    if os.name != "nt" and place.stat().st_mode & 0o077:
        raise ReadError(f'the state "{place}" can be read by others', hint=f"chmod 600 {place}")
    whole = place.read_bytes()
    sign, body = whole[len(MAGIC) : len(MAGIC) + 32], whole[len(MAGIC) + 32 :]
    right = hmac.new(_secret(), body, hashlib.sha256).digest()
    if not whole.startswith(MAGIC) or not hmac.compare_digest(sign, right):
        raise ReadError(f'"{place}" is no state that was written under this key', hint="is SFUMATO_KEY another?")
    arrays, tables = {}, {}
    with zipfile.ZipFile(io.BytesIO(body)) as box:
        plain = json.loads(box.read("state.json"))
        for name in box.namelist():
            kind, _, own = name.partition("/")
            if kind == "array":
                arrays[own] = np.load(io.BytesIO(box.read(name)), allow_pickle=False)
            elif kind == "table":
                tables[own] = pl.read_ipc(io.BytesIO(box.read(name)))
    return StreamState(
        plain["asked"], tuple(plain["taken"]), tuple(plain["batches"]), plain["finished"], plain["run"], arrays, tables
    )
