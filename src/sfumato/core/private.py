"""Files that must never be published, such as keys: where they may stand, and who may read them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from sfumato.core.parameters import path_of
from sfumato.errors import OutputError, ReadError


def private_file(path: Any, what: str) -> Path:
    """The place of a file that must never be published: ~ is the home, and no folder above it may be a release."""
    place = path_of(path).expanduser()
    for folder in {*place.absolute().parents, *place.resolve().parents}:
        if (folder / "manifest.json").exists():
            raise OutputError(f"{folder} is a release, and {what} must not be published", hint="keep it elsewhere")
    return place


def refuse_open(place: Path, what: str) -> None:
    """Refuse a private file that others may read."""
    if os.name != "nt" and place.stat().st_mode & 0o077:
        raise ReadError(f'{what} "{place}" can be read by others', hint=f"chmod 600 {place}")
