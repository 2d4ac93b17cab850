"""Where DuckDB puts what does not fit into memory: a folder beside its file, which is to be its owner's alone."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

FILE = re.compile(r"duckdb_temp_(\d+)_.*", re.DOTALL)  # with the number of its process


def spill_folder(database: Path) -> Path | None:
    """Make the folder before DuckDB does, closed to others, and remove what killed processes left in it.

    None where it cannot be made: DuckDB then says so where it needs it.
    """
    place = database.with_name(database.name + ".tmp")
    try:
        place.mkdir(0o700, exist_ok=True)
        if place.is_symlink() or place.stat().st_uid != os.geteuid():
            return None
        place.chmod(0o700)
        for file in place.iterdir():
            found = FILE.fullmatch(file.name)
            if found and not _runs(int(found[1])):
                file.unlink()
    except OSError:
        return None
    return place


def remove_spill(place: Path | None) -> None:
    """Remove the folder, where nobody uses it any more."""
    if place is not None:
        with suppress(OSError):
            place.rmdir()


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # of another user
        return True
    return True
