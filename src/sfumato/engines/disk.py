"""A full disk, said in one way wherever it is met: libraries tell of it in words of their own, or not at all."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from sfumato.engines.atomic import PREFIX

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
