"""Output that appears whole or not at all: written beside its target, then renamed into place.

What is being written stands in a folder of its own beside the target, that only its owner may read, with a lock that
lasts as long as the run. What a killed run left is found by its name and its free lock, and removed by the next run
beside it; an earlier release that it had moved aside is put back first.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sfumato.core.progress import whole
from sfumato.engines.documents import MANIFEST, read_document
from sfumato.errors import OutputError, ReadError

try:
    import fcntl
except ImportError:  # Windows: what a killed run leaves there stays
    fcntl = None  # type: ignore[assignment]

PREFIX = ".sfumato-"  # what a killed run leaves behind starts so, and may be deleted
STAGE = re.compile(re.escape(PREFIX) + r"[0-9a-f]{8}-(.+)", re.DOTALL)
LOCK, OLD = "lock", "old"  # in a stage, beside what is new
AT_FDCWD, RENAME_EXCHANGE = -100, 2  # of Linux
NO_EXCHANGE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EXDEV, errno.EPERM)
# what a release may consist of beside its data; a folder that holds anything else is never replaced
RELEASE_FILES = frozenset({MANIFEST, "report.html", "report.pdf", "report.json", "value_map.json", "signature.json"})


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
    with _stage(target) as stage:
        place = stage / f"new{target.suffix}"
        place.mkdir()
        yield place
        _sync(place)
        with whole():
            check_target(target, overwrite)  # again: another run may have been faster
            _swap(place, target, stage / OLD)


@contextmanager
def atomic_file(target: str | Path, overwrite: bool = False) -> Iterator[Path]:
    """A temporary path that becomes the file `target` at the end of the block, or vanishes if the block fails."""
    target = Path(target)
    _check_file(target, overwrite)
    with _stage(target) as stage:
        place = stage / f"new{target.suffix}"
        yield place
        _sync(place)
        with whole():
            _check_file(target, overwrite)
            os.replace(place, target)


def _check_file(target: Path, overwrite: bool) -> None:
    _refuse(target.is_dir(), f"{target} is a folder, not a file")
    _refuse(target.exists() and not overwrite, f"{target} exists", "choose another place, or overwrite it")


def check_target(target: str | Path, overwrite: bool = False) -> None:
    """Raise an OutputError where a release cannot go to `target`: worth a call before a long run.

    >>> check_target("/")
    Traceback (most recent call last):
    ...
    sfumato.errors.OutputError: / exists. Hint: choose another folder, or overwrite it
    """
    target = Path(target)
    clean(target.parent)
    if not target.exists() and not target.is_symlink():
        return
    _refuse(not target.is_dir(), f"{target} exists and is not a folder", "choose another folder")
    _refuse(not overwrite, f"{target} exists", "choose another folder, or overwrite it")
    _refuse(target.is_symlink(), f"{target} is a link", "name the folder it points to")
    names = {entry.name for entry in target.iterdir()}
    _refuse(bool(names) and MANIFEST not in names, f"{target} is not a release", "choose another folder")
    foreign = sorted(names - RELEASE_FILES - _data_files(target))
    _refuse(bool(foreign), f"{target} holds files that are no part of the release: {', '.join(foreign)}", "move them")


def _data_files(folder: Path) -> set[str]:
    """The names of the data files of the release in a folder; the first manifests named one with the data."""
    try:
        manifest = read_document(folder / MANIFEST)
        files = manifest["files"] if "files" in manifest else [manifest["data"]]
        every = [*files, *manifest.get("beside", [])]
        return {str(one["file"]) for one in every} if "sfumato" in manifest else set()
    except (ReadError, KeyError, TypeError, AttributeError):
        return set()


def _refuse(when: bool, what: str, hint: str | None = None) -> None:
    if when:
        raise OutputError(what, hint=hint)


def clean(folder: Path) -> None:
    """Remove what killed runs left in a folder, and put back the release that one had moved aside."""
    with suppress(OSError):
        for stage in [Path(entry) for entry in os.scandir(folder) if STAGE.fullmatch(entry.name)]:
            _clean(stage)


def _clean(stage: Path) -> None:
    with suppress(OSError):  # of a run that lives, of another user, or where there are no locks: it stays
        if fcntl is None or stage.is_symlink() or stage.stat().st_uid != os.geteuid():
            return
        if not any(stage.iterdir()):  # killed before it had its lock; a run that lives makes another
            stage.rmdir()
            return
        lock = _lock(stage / LOCK)
        try:
            _settle(stage, stage.parent / STAGE.sub(r"\1", stage.name))
        finally:
            os.close(lock)


def _lock(path: Path, flags: int = 0) -> int:
    """A handle that holds the lock of a file while it is open; BlockingIOError where another run has it."""
    handle = os.open(path, os.O_RDWR | flags, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.path.samestat(os.fstat(handle), path.stat()):
            raise FileNotFoundError
    except OSError:
        os.close(handle)
        raise
    return handle


def hold(path: Path) -> int | None:
    """A handle that holds the lock of a file while it is open, None where there are no locks.

    BlockingIOError where another run has it.
    """
    try:
        return None if fcntl is None else _lock(path, os.O_CREAT)
    except FileNotFoundError:  # the other run has just ended, and removed it
        raise BlockingIOError from None
    except BlockingIOError:
        raise
    except OSError:
        return None


@contextmanager
def _stage(target: Path) -> Iterator[Path]:
    """A folder of this run beside the target, locked, the owner's alone; it is removed in the end."""
    try:
        os.fsencode(target)
    except UnicodeEncodeError:
        raise OutputError("this is no path: it is not valid Unicode", hint="it has a lone surrogate") from None
    made = [parent for parent in (target.parent, *target.parent.parents) if not parent.exists()]
    stage, lock = None, None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        clean(target.parent)
        stage, lock = _make_stage(target)
        yield stage
        for folder in (target.parent, *(parent.parent for parent in made)):
            _sync_one(folder)
    except OSError as error:
        raise OutputError(f"{target} cannot be written: {error.strerror or type(error).__name__}") from None
    finally:
        if stage is not None:
            _settle(stage, target)
        if lock is not None:
            os.close(lock)
        with suppress(OSError):  # one that is in use stays
            for parent in made:  # innermost first
                parent.rmdir()


def _make_stage(target: Path) -> tuple[Path, int | None]:
    while True:
        stage = target.parent / f"{PREFIX}{secrets.token_hex(4)}-{target.name}"
        stage.mkdir(0o700)
        try:
            return stage, None if fcntl is None else _lock(stage / LOCK, os.O_CREAT)
        except (BlockingIOError, FileNotFoundError):
            pass  # another run took it for a left one, before it had its lock
        except OSError:
            return stage, None  # a file system without locks


def _settle(stage: Path, target: Path) -> None:
    """Put back what was moved aside where nothing took its place, and remove the stage, its lock last."""
    with suppress(OSError):
        if (stage / OLD).is_dir():
            if not target.exists():
                os.rename(stage / OLD, target)
                _sync_one(target.parent)
            else:
                os.rename(stage / OLD, stage / "gone")  # half of it must not be put back
        for path in sorted(stage.iterdir(), key=lambda path: path.name == LOCK):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        stage.rmdir()


def _swap(place: Path, target: Path, aside: Path) -> None:
    """Rename into place, in one exchange with what is there; where the system has none, that goes aside first.

    It is put back where the second rename fails; killed between the two, by the next run.
    """
    if not target.exists():
        os.rename(place, target)
    elif not _exchange(place, target):
        os.rename(target, aside)
        os.rename(place, target)


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two folders at once; False where the system or the file system cannot."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, TypeError, OSError):  # not Linux, or an old one
        return False
    if rename(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE) == 0:
        return True
    if (number := ctypes.get_errno()) in NO_EXCHANGE:
        return False
    raise OSError(number, os.strerror(number))


def _sync(place: Path) -> None:
    """Everything on disk before the rename: a crash must not leave an empty file under a final name."""
    for path in [*place.rglob("*"), place] if place.is_dir() else [place]:
        _sync_one(path)


def _sync_one(path: Path) -> None:
    if path.is_dir() and (os.name == "nt" or not os.access(path, os.R_OK)):
        return  # Windows cannot sync a folder, and nobody one that may not be listed
    handle = os.open(path, os.O_RDONLY if os.name != "nt" else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


NUMBERS = (errno.ENOSPC, errno.EDQUOT)
PHRASES = (  # of the system, Polars, SQLite and DuckDB
    "no space left",
    "os error 28)",
    "os error 122)",
    "disk is full",
    "disk quota exceeded",
    "max_temp_directory_size",
)
HINT = "free some space, or choose another place"


def is_full(error: BaseException) -> bool:
    """Whether an error says that a disk is full, or a quota used up."""
    return getattr(error, "errno", None) in NUMBERS or any(words in str(error).lower() for words in PHRASES)


def no_space(places: Iterable[Path]) -> str:
    """What to say of a full disk: which of the places is on it.

    >>> no_space([Path("/")])
    'no space left on the disk of /'
    """
    free: dict[Path, int] = {}
    for given in places:
        place = next(p for p in (given, *given.parents) if not any(part.startswith(PREFIX) for part in p.parts))
        with suppress(OSError):
            free[place] = shutil.disk_usage(next(p for p in (place, *place.parents) if p.exists())).free
    return f"no space left on the disk of {min(free, key=lambda p: free[p])}" if free else "no space left on a disk"


def why(error: Exception, place: Path) -> str:
    """Why a place cannot be written, in the words of the system but for a full disk.

    >>> why(PermissionError(13, "Permission denied"), Path("out"))
    'out cannot be written: Permission denied'
    """
    if is_full(error):
        return no_space([place])
    return f"{place} cannot be written: {getattr(error, 'strerror', None) or type(error).__name__}"


def temporary() -> list[Path]:
    """Where SQLite keeps what does not fit into memory."""
    named = [os.environ.get(name) for name in ("SQLITE_TMPDIR", "TMPDIR")]
    known = [Path(name) for name in (*named, "/var/tmp", "/usr/tmp", "/tmp") if name]
    return [place for place in known if place.is_dir() and os.access(place, os.W_OK)][:1]
