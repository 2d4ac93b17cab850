"""Ledger: finished points, one line of JSON each, so that a run that was stopped goes on where it was."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sfumato.errors import OutputError

FILE = "points.jsonl"
MAPS = ("map.json", "map.svg", "map.html", "map.png")
FORMAT = "sfumato points 1"


@dataclass
class Ledger:
    """The finished points of a comparison by their fingerprint; in a file, where there is an output folder."""

    path: Path | None
    known: dict[str, dict[str, Any]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, name: str, row: Mapping[str, Any]) -> None:
        """Keep a finished point: one line, written in one go and on disk when this returns."""
        with self._lock:
            self.known[name] = dict(row)
            if self.path is not None:
                _append(self.path, {"point": name, **row})


def identity(secret: bytes, parts: Mapping[str, Any]) -> str:
    """A keyed fingerprint of plain values: equal parts give equal names, and nobody can guess parts from a name."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return hmac.new(secret, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()[:32]


def open_ledger(folder: Path | None, source: str) -> tuple[Ledger, str | None]:
    """The ledger of a folder, and where it starts anew, why.

    `source` names the input. Points of another input are dropped, with the maps drawn from them.
    """
    if folder is None:
        return Ledger(None), None
    check_folder(folder)
    path, why = folder / FILE, None
    header, points = _read(path)
    if header.get("input") != source:
        if path.exists() or any((folder / name).exists() for name in MAPS):
            why = "the points in the folder are of another input, or of another version: starting anew"
        _start(folder, {"format": FORMAT, "input": source})
        points = {}
    return Ledger(path, points), why


def check_folder(folder: Path) -> None:
    """Refuse a folder that holds anything that is no part of a map."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise OutputError(f"{folder} is not a folder", hint="choose another place")
    if not folder.exists():
        return
    foreign = sorted(p.name for p in folder.iterdir() if p.name not in (FILE, *MAPS) and not _left_over(p.name))
    if foreign:
        what = f"{folder} holds files that are no part of a map: {', '.join(foreign[:5])}"
        raise OutputError(what, hint="choose another folder")


def _left_over(name: str) -> bool:
    """What a killed run leaves behind."""
    return name.startswith(".sfumato-")


def _read(path: Path) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """The header and the points; a line that was cut off, or is none of ours, is passed over."""
    try:
        lines = path.read_text("utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return {}, {}
    except OSError as error:
        raise OutputError(f"{path} cannot be read: {error.strerror}") from None
    found = [entry for entry in map(_entry, lines) if entry]
    header = found[0] if found and found[0].get("format") == FORMAT else {}
    return header, {entry.pop("point"): entry for entry in found if isinstance(entry.get("point"), str)}


def _entry(line: str) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except ValueError:
        return {}
    return entry if isinstance(entry, dict) else {}


def _start(folder: Path, header: Mapping[str, Any]) -> None:
    """An empty ledger, and no map of other points beside it."""
    from sfumato.engines.atomic import atomic_file

    try:
        for name in MAPS:
            (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(f"{folder} cannot be written: {error.strerror}") from None
    with atomic_file(folder / FILE, overwrite=True) as place:
        place.write_text(json.dumps(header) + "\n", encoding="utf-8", newline="\n")


def _append(path: Path, entry: Mapping[str, Any]) -> None:
    line = json.dumps(entry, ensure_ascii=False, allow_nan=False) + "\n"
    try:
        handle = os.open(path, os.O_RDWR | os.O_APPEND | getattr(os, "O_BINARY", 0))
        try:
            size = os.fstat(handle).st_size
            if size and os.lseek(handle, size - 1, os.SEEK_SET) >= 0 and os.read(handle, 1) != b"\n":
                line = "\n" + line  # the line before was cut off: it must not spoil this one
            os.write(handle, line.encode("utf-8"))
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror}") from None
