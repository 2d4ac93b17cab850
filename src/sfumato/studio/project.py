"""Project: a folder with a policy, the steps that led to it, and what was released.

    project.sqlite      steps, notes, candidates, releases
    policy.toml         always equal to the state: what a shell run would take
    table.toml          the same of its statistical table, where there is one
    hierarchies/*.csv   wide form; a file never changes, so that a step back finds the one it was made with
    releases/<n>/       data, manifest, report and signature
    private/            internal reports, row maps, keys

The state is the tables of a policy file. A change appends the new state as a step that knows the one before it, so undo
and redo walk the steps and nothing is lost. The table itself is named by its path and is not copied.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.engines.atomic import atomic_file, is_full
from sfumato.errors import OutputError, PolicyError, ReadError
from sfumato.policyfile.dump import dump
from sfumato.policyfile.paths import absolute
from sfumato.policyfile.protection import cell_policy, row_policy

FORMAT = 1
STATE, POLICY, TABLE = "project.sqlite", "policy.toml", "table.toml"
PRIVATE, RELEASES, HIERARCHIES = "private", "releases", "hierarchies"
NAME = re.compile(r"[^\W_][\w .()-]{0,79}")
SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE steps (number INTEGER PRIMARY KEY, before INTEGER, name TEXT NOT NULL, policy TEXT NOT NULL,
                    time REAL NOT NULL);
CREATE TABLE candidates (number INTEGER PRIMARY KEY, name TEXT NOT NULL, step INTEGER NOT NULL, policy TEXT NOT NULL,
                         figures TEXT NOT NULL, time REAL NOT NULL);
CREATE TABLE releases (number INTEGER PRIMARY KEY, step INTEGER NOT NULL, policy TEXT NOT NULL, figures TEXT NOT NULL,
                       time REAL NOT NULL);
"""
LATER = "the project was made by a newer Sfumato"


class StaleState(PolicyError):
    """Somebody changed the project since the page was drawn, in another tab for example."""


@dataclass(frozen=True)
class ProjectStep:
    """A state of the project, and what led to it."""

    number: int
    name: str
    policy: dict[str, Any]
    time: float


class Project:
    """A project that is open. Threads and tabs share one object per folder, by `opened`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.listeners: set[Callable[[], None]] = set()  # called when the state changed
        self._lock = threading.RLock()
        if not (folder / STATE).is_file():
            raise ReadError(f'"{folder}" is no project of the studio', hint=f"it has no {STATE}")
        with self._database() as db:
            found = dict(db.execute("SELECT key, value FROM meta"))
        if not str(found.get("format")).isdigit():
            raise ReadError(f'"{folder}" is no project of the studio', hint=f"its {STATE} was made by something else")
        if int(found["format"]) > FORMAT:
            raise ReadError(f'{LATER}: "{folder.name}"', hint="update Sfumato, and open it again")

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.folder.name

    @contextmanager
    def _database(self) -> Any:
        with self._lock:
            try:
                with closing(sqlite3.connect(self.folder / STATE, 10)) as db, db:
                    db.execute("PRAGMA synchronous=FULL")
                    yield db
            except sqlite3.DatabaseError as error:
                what = f'the project "{self.name}" cannot be used: {error}'
                raise OutputError(what, hint="is the disk full, or the folder read-only?") from None

    # The state

    @property
    def step(self) -> ProjectStep:
        """Where the project stands."""
        with self._database() as db:
            row = db.execute(
                "SELECT number, name, policy, time FROM steps "
                "WHERE number = (SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'position')"
            ).fetchone()
        return ProjectStep(row[0], row[1], json.loads(row[2]), row[3])

    @property
    def policy(self) -> dict[str, Any]:
        """The tables of its policy."""
        return self.step.policy

    def change(self, name: str, policy: Mapping[str, Any], seen: int | None = None) -> ProjectStep:
        """Take a further step. `seen` is the number of the one that the change was made from."""
        tables = {key: table for key, table in policy.items() if table}
        text = json.dumps(tables)
        with self._lock:
            now = self.step
            if seen is not None and seen != now.number:
                raise StaleState(
                    "the project was changed meanwhile, in another tab", hint="look at it, then do it again"
                )
            if json.dumps(now.policy) == text:
                return now
            self._write_policy(tables)
            try:
                with self._database() as db:
                    number = db.execute("SELECT max(number) FROM steps").fetchone()[0] + 1
                    step = number, now.number, name, text, time.time()
                    db.execute("INSERT INTO steps VALUES (?, ?, ?, ?, ?)", step)
                    db.execute("UPDATE meta SET value = ? WHERE key = 'position'", (str(number),))
            except OutputError:
                with suppress(OutputError):
                    self._write_policy(now.policy)
                raise
        self._tell()
        return self.step

    def undo(self) -> bool:
        """Go back a step; False where there is none."""
        return self._go("SELECT before FROM steps WHERE number = ? AND before IS NOT NULL")

    def redo(self) -> bool:
        """Go forward again, to the step that was made last from here."""
        return self._go("SELECT max(number) FROM steps WHERE before = ? HAVING count(*) > 0")

    def can(self) -> tuple[bool, bool]:
        """Whether there is a step back, and one forward."""
        with self._database() as db:
            here = "(SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'position')"
            back = db.execute(f"SELECT before FROM steps WHERE number = {here}").fetchone()[0] is not None
            forward = db.execute(f"SELECT 1 FROM steps WHERE before = {here}").fetchone() is not None
        return back, forward

    def _go(self, query: str) -> bool:
        with self._lock, self._database() as db:
            row = db.execute(query, (self.step.number,)).fetchone()
            if row is None:
                return False
            policy = json.loads(db.execute("SELECT policy FROM steps WHERE number = ?", row).fetchone()[0])
            self._write_policy(policy)
            db.execute("UPDATE meta SET value = ? WHERE key = 'position'", (str(row[0]),))
        self._tell()
        return True

    def _tell(self) -> None:
        for listener in tuple(self.listeners):
            listener()

    def _write_policy(self, tables: Mapping[str, Any]) -> None:
        written = {POLICY: row_policy(tables)} | ({TABLE: cell_policy(tables)} if "table" in tables else {})
        for name, own in written.items():
            with atomic_file(self.folder / name, overwrite=True) as part:
                part.write_text(dump(own), encoding="utf-8", newline="\n")
        if TABLE not in written:
            (self.folder / TABLE).unlink(missing_ok=True)

    # What else is kept

    def kept(self, key: str, default: Any = None) -> Any:
        """A plain value that is no part of the policy, such as a note or what was seen of the table."""
        with self._database() as db:
            row = db.execute("SELECT value FROM meta WHERE key = ?", (f"kept {key}",)).fetchone()
        return default if row is None else json.loads(row[0])

    def keep(self, key: str, value: Any) -> None:
        """Keep such a value."""
        with self._database() as db:
            db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (f"kept {key}", json.dumps(value)))

    def candidates(self) -> list[dict[str, Any]]:
        """What was tried and kept for comparison."""
        with self._database() as db:
            rows = db.execute("SELECT number, name, step, policy, figures FROM candidates ORDER BY number").fetchall()
        names = ("number", "name", "step", "policy", "figures")
        return [dict(zip(names, (*row[:3], *map(json.loads, row[3:])), strict=True)) for row in rows]

    def add_candidate(self, name: str, figures: Mapping[str, Any], policy: Mapping[str, Any] | None = None) -> int:
        """Keep a candidate of the policy as it is, or of another."""
        table = "candidates (number, name, step, policy, figures, time)"
        return self._add(table, name, figures=figures, policy=policy)

    def drop_candidate(self, number: int) -> None:
        """Forget a candidate."""
        with self._database() as db:
            db.execute("DELETE FROM candidates WHERE number = ?", (number,))
        self._tell()

    def releases(self) -> list[dict[str, Any]]:
        """What was released, the newest last."""
        with self._database() as db:
            rows = db.execute("SELECT number, step, policy, figures, time FROM releases ORDER BY number").fetchall()
        names = ("number", "step", "policy", "figures", "time")
        return [dict(zip(names, (*row[:2], *map(json.loads, row[2:4]), row[4]), strict=True)) for row in rows]

    def next_release(self) -> tuple[int, Path]:
        """The number and the folder of the next release."""
        numbers = [int(path.name) for path in (self.folder / RELEASES).iterdir() if path.name.isdigit()]
        number = max([0, *numbers, *(one["number"] for one in self.releases())]) + 1
        return number, self.folder / RELEASES / str(number)

    def add_release(self, number: int, figures: Mapping[str, Any]) -> None:
        """Note a release that was written, with the part of the policy that it was made by."""
        own = (cell_policy if figures.get("by") == "table" else row_policy)(self.policy)
        self._add("releases (number, step, policy, figures, time)", number=number, figures=figures, policy=own)

    def note_release(self, number: int, figures: Mapping[str, Any]) -> None:
        """Keep what was found of a release since it was written, such as its signature."""
        with self._database() as db:
            db.execute("UPDATE releases SET figures = ? WHERE number = ?", (json.dumps(figures), number))
        self._tell()

    def release_folder(self, number: int) -> Path:
        """The folder of a release that was noted."""
        if not any(one["number"] == number for one in self.releases()):
            raise ReadError("there is no such release", hint="the page of the release lists them")
        return self.folder / RELEASES / str(number)

    def exported(self, policy: Mapping[str, Any]) -> str:
        """A policy of the project as a file that means the same wherever it lies."""
        return dump(absolute(policy, self.folder))

    def _add(
        self,
        table: str,
        *values: Any,
        figures: Mapping[str, Any],
        number: int | None = None,
        policy: Mapping[str, Any] | None = None,
    ) -> int:
        step = self.step
        tables = step.policy if policy is None else policy
        row = (number, *values, step.number, json.dumps(tables), json.dumps(figures), time.time())
        with self._database() as db:
            found = db.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row).lastrowid
        self._tell()
        return int(found)


def create(root: Path, name: str, policy: Mapping[str, Any] | None = None) -> Project:
    """A new project in a folder of its own."""
    _check_name(name)
    folder = root / name
    try:
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.mkdir(mode=0o700)
    except FileExistsError:
        raise OutputError(f'there is a project "{name}" already', hint="choose another name, or open it") from None
    except OSError as error:
        raise OutputError(f"the project cannot be made in {root}: {error.strerror}") from None
    try:
        return _filled(folder, dict(policy or {}))
    except (OSError, sqlite3.Error, OutputError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        full = is_full(error) if isinstance(error, OSError) else "full" in str(error)
        why = "the disk is full" if full else getattr(error, "strerror", None) or str(error)
        raise OutputError(f"the project cannot be made in {root}: {why}") from None


def _filled(folder: Path, tables: dict[str, Any]) -> Project:
    for part in (PRIVATE, RELEASES, HIERARCHIES):
        (folder / part).mkdir(mode=0o700)
    os.close(os.open(folder / STATE, os.O_CREAT | os.O_WRONLY, 0o600))
    with closing(sqlite3.connect(folder / STATE)) as db, db:
        db.execute("PRAGMA journal_mode=WAL")
        db.executescript(SCHEMA)
        db.executemany("INSERT INTO meta VALUES (?, ?)", [("format", str(FORMAT)), ("position", "1")])
        db.execute("INSERT INTO steps VALUES (1, NULL, 'new', ?, ?)", (json.dumps(tables), time.time()))
    found = opened(folder)
    found._write_policy(tables)
    return found


_open: dict[Path, Project] = {}
_opening = threading.Lock()


def opened(folder: Path) -> Project:
    """The project of a folder; the same object for all who have it open."""
    folder = folder.resolve()
    with _opening:
        found = _open.get(folder)
        if found is None or not (folder / STATE).is_file():
            found = _open[folder] = Project(folder)
        return found


def projects(root: Path) -> list[Path]:
    """The folders of the projects below a root, the one changed last first."""
    found: list[tuple[float, Path]] = []
    try:
        for path in root.iterdir() if root.is_dir() else ():
            with suppress(OSError):  # one that is deleted meanwhile, or may not be read
                if (path / STATE).is_file() and not path.is_symlink():
                    found.append(((path / STATE).stat().st_mtime, path))
    except OSError as error:
        raise ReadError(f"the projects in {root} cannot be read: {error.strerror}") from None
    return [path for _, path in sorted(found, reverse=True)]


def find(root: Path, name: str) -> Project:
    """A project by its name, which cannot lead out of the root."""
    if not NAME.fullmatch(name) or not (root / name / STATE).is_file() or (root / name).is_symlink():
        raise ReadError("there is no such project", hint="the first page lists them")
    return opened(root / name)


def rename(root: Path, name: str, new: str) -> Project:
    """Give a project another name; pages that show it have to be opened again."""
    found = find(root, name)
    _check_name(new)
    target = root / new
    if target.exists() and not target.samefile(found.folder):
        raise OutputError(f'there is a project "{new}" already', hint="choose another name")
    with found._lock:
        try:
            found.folder.rename(target)
        except OSError as error:
            raise OutputError(f"the project cannot be renamed: {error.strerror}") from None
        with _opening:
            _open.pop(found.folder, None)
    return opened(target)


def _check_name(name: str) -> None:
    if not NAME.fullmatch(name) or name != name.strip() or name.endswith("."):
        allowed = "up to 80 letters, digits, spaces and . ( ) -, a letter or digit first"
        raise PolicyError("this is no name of a project", allowed=allowed)


def delete(root: Path, name: str) -> None:
    """Delete a project, with its releases."""
    found = find(root, name)
    with _opening:
        _open.pop(found.folder, None)
    try:
        shutil.rmtree(found.folder)
    except OSError as error:
        raise OutputError(f"the project cannot be deleted: {error.strerror}") from None
