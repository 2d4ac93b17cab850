"""Output that appears whole or not at all: written beside its target, then renamed into place."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sfumato.errors import OutputError

PREFIX = ".sfumato-"  # what a killed run leaves behind starts so, and may be deleted
# what a release may consist of beside its data; a folder that holds anything else is never replaced
RELEASE_FILES = frozenset({"manifest.json", "report.html", "report.pdf", "report.json", "value_map.json"})


@contextmanager
def atomic_folder(target: str | Path, overwrite: bool = False) -> Iterator[Path]:
    """A temporary folder that becomes `target` at the end of the block, or vanishes if the block fails.

    Parameters
    ----------
    target
        The folder to make; missing parents are made too.
    overwrite
        Whether `target` may exist, if it is empty or an earlier release and nothing else is in it.

    Raises
    ------
    OutputError
        Where the target exists, holds other files, or cannot be written.

    Examples
    --------
    >>> with atomic_folder("out") as folder:  # doctest: +SKIP
    ...     (folder / "manifest.json").write_text("{}")
    """
    target = Path(target)
    check_target(target, overwrite)
    with _beside(target) as place:
        place.mkdir()
        yield place
        _sync(place)
        check_target(target, overwrite)  # again: another run may have been faster
        _swap(place, target)


@contextmanager
def atomic_file(target: str | Path, overwrite: bool = False) -> Iterator[Path]:
    """A temporary path that becomes the file `target` at the end of the block, or vanishes if the block fails."""
    target = Path(target)
    _refuse(target.is_dir(), f"{target} is a folder, not a file")
    _refuse(target.exists() and not overwrite, f"{target} exists", "choose another place, or overwrite it")
    with _beside(target) as place:
        yield place
        _sync(place)
        os.replace(place, target)
        _sync_one(target.parent)


def check_target(target: str | Path, overwrite: bool = False) -> None:
    """Raise an OutputError where a release cannot go to `target`: worth a call before a long run.

    >>> check_target("/")
    Traceback (most recent call last):
    ...
    sfumato.errors.OutputError: / exists. Hint: choose another folder, or overwrite it
    """
    target = Path(target)
    if not target.exists() and not target.is_symlink():
        return
    _refuse(not target.is_dir(), f"{target} exists and is not a folder", "choose another folder")
    _refuse(not overwrite, f"{target} exists", "choose another folder, or overwrite it")
    _refuse(target.is_symlink(), f"{target} is a link", "name the folder it points to")
    names = {entry.name for entry in target.iterdir()}
    _refuse(bool(names) and "manifest.json" not in names, f"{target} is not a release", "choose another folder")
    foreign = sorted(names - RELEASE_FILES - {_data_file(target)})
    _refuse(bool(foreign), f"{target} holds files that are no part of the release: {', '.join(foreign)}", "move them")


def _data_file(folder: Path) -> str | None:
    """The name of the data file of the release in a folder."""
    try:
        manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
        return str(manifest["data"]["file"]) if "sfumato" in manifest else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _refuse(when: bool, what: str, hint: str | None = None) -> None:
    if when:
        raise OutputError(what, hint=hint)


@contextmanager
def _beside(target: Path) -> Iterator[Path]:
    """A free path in the target's folder; whatever is there afterwards is removed."""
    made = [parent for parent in (target.parent, *target.parent.parents) if not parent.exists()]
    place = target.parent / f"{PREFIX}{secrets.token_hex(4)}-{target.name}"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        yield place
    except OSError as error:
        _remove(place, made)
        raise OutputError(f"{target} cannot be written: {error.strerror or type(error).__name__}") from None
    except BaseException:
        _remove(place, made)
        raise


def _remove(place: Path, made: list[Path]) -> None:
    if place.is_dir():
        shutil.rmtree(place, ignore_errors=True)
    with suppress(OSError):
        place.unlink()
    with suppress(OSError):  # one that is in use by now stays
        for parent in made:  # innermost first
            parent.rmdir()


def _swap(place: Path, target: Path) -> None:
    """Rename into place; what was there goes aside first and comes back if the renaming fails."""
    if not target.exists():
        os.rename(place, target)
    else:
        aside = target.parent / f"{PREFIX}{secrets.token_hex(4)}-old-{target.name}"
        os.rename(target, aside)
        try:
            os.rename(place, target)
        except BaseException:
            os.rename(aside, target)
            raise
        shutil.rmtree(aside, ignore_errors=True)
    _sync_one(target.parent)


def _sync(place: Path) -> None:
    """Everything on disk before the rename: a crash must not leave an empty file under a final name."""
    for path in [*place.rglob("*"), place] if place.is_dir() else [place]:
        _sync_one(path)


def _sync_one(path: Path) -> None:
    if os.name == "nt" and path.is_dir():
        return  # Windows cannot sync a folder
    handle = os.open(path, os.O_RDONLY if os.name != "nt" else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
