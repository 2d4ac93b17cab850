"""Ledger: finished points, one line of JSON each, so that a run that was stopped goes on where it was."""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import os
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from sfumato.errors import BrokenPromise, Infeasible, MissingExtra, OutputError, SfumatoError

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


T = TypeVar("T")
Row = dict[str, Any]
NOTHING: Mapping[str, Any] = dict.fromkeys(("risk", "utility", "loss", "suppressed", "classes", "seconds"))
SETTLED = ("done", "infeasible", "refused")  # a point that failed is tried again


class Stopped(Exception):
    """Ends a point at its next sign of progress."""


def attempt(work: Callable[[], Mapping[str, Any]]) -> Row:
    """The figures of a point, or why there are none. A missing library and a full disk end the whole run."""
    try:
        return {**work(), "status": "done", "reason": None}
    except (MissingExtra, OutputError, Stopped):
        raise
    except BrokenPromise as error:
        return {**NOTHING, "status": "failed", "reason": error.what}
    except SfumatoError as error:
        status = "infeasible" if isinstance(error, Infeasible) else "refused"
        return {**NOTHING, "status": status, "reason": str(error)}
    except Exception as error:  # the message may quote values: only the place is told
        place = _place(error)
        return {**NOTHING, "status": "failed", "reason": f"a fault of Sfumato: {type(error).__name__} at {place}"}


def finite(value: float) -> float | None:
    """A number that JSON knows."""
    return float(value) if math.isfinite(value) else None


def in_parallel(works: Sequence[Callable[[threading.Event], T]], workers: int, done: Callable[[T], None]) -> list[T]:
    """The results of `works` in their order; `done` hears of each here, in this thread.

    An interrupt, or an error of one, stops those that run at their next sign of progress, and is raised here.
    """
    stop, found = threading.Event(), {}
    pool = ThreadPoolExecutor(max_workers=workers, thread_name_prefix="compare")
    futures: dict[Future[T], int] = {}
    try:
        futures = {pool.submit(work, stop): i for i, work in enumerate(works)}
        left = set(futures)
        while left:
            ready, left = wait(left, timeout=0.2, return_when=FIRST_COMPLETED)  # a signal may reach another thread
            for future in sorted(ready, key=futures.__getitem__):
                found[futures[future]] = future.result()
                done(found[futures[future]])
    except BaseException:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)  # what runs ends soon; a second interrupt does not wait
        raise
    pool.shutdown()
    return [found[i] for i in range(len(works))]


def _place(error: BaseException) -> str:
    root = Path(__file__).resolve().parents[1]
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if Path(frame.filename).resolve().is_relative_to(root)]
    if not ours:
        return "an unknown place"
    return f"{Path(ours[-1].filename).resolve().relative_to(root.parent)}:{ours[-1].lineno}"
