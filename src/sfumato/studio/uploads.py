"""Uploads: files that a browser sends, written as they come, into the private folder of a project."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

from sfumato.engines.atomic import is_full
from sfumato.errors import OutputError, ReadError
from sfumato.studio.project import PRIVATE

LARGEST = 200_000_000  # bytes
BUFFER = 1 << 20
UPLOADS = "uploads"
READABLE = (
    "csv", "tsv", "tab", "txt", "data", "dat", "parquet", "xlsx", "xlsm", "sav", "zsav", "dta", "sas7bdat", "xpt",
)  # fmt: skip
TOO_LARGE = "files of more than 200 MB are not uploaded: name their path, and they are read where they lie"


def safe_name(name: str) -> str:
    """The name under which an upload is kept: no folder, no strange letters, the ending of a table.

    >>> safe_name("../Röntgen <b>.CSV"), safe_name("C:\\\\data\\\\a b.csv")
    ('Röntgen b.CSV', 'a b.csv')
    """
    last = re.split(r"[/\\\\]", name)[-1]
    kept = re.sub(r"[^\w .()-]", "", last).strip(" .")
    stem, dot, end = kept.removesuffix(".gz").rpartition(".")
    if not dot or not stem or end.lower() not in READABLE:
        raise ReadError("the ending of this file names no table that can be read", allowed=", ".join(READABLE))
    return kept[-120:].strip(" .-")


async def receive(folder: Path, name: str, chunks: AsyncIterator[bytes], said: int | None = None) -> str:
    """Write an upload into the private folder of a project; its path from there. `said` is how long it claims to be.

    One of the same name stays beside it, so that a step back finds it.
    """
    if said is not None and said > LARGEST:
        raise OutputError(TOO_LARGE)
    place, kept = folder / PRIVATE / UPLOADS, safe_name(name)
    place.mkdir(mode=0o700, exist_ok=True)
    part = place / f".{os.urandom(8).hex()}.part"
    try:
        await _write(part, chunks)
        stem, dot, rest = kept.partition(".")
        number = 1
        while True:
            target = place / (kept if number == 1 else f"{stem} {number}{dot}{rest}")
            try:
                os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))  # never over another
                break
            except FileExistsError:
                number += 1
        part.replace(target)
    except OSError as error:
        what = "the disk is full" if is_full(error) else f"the upload cannot be written: {error.strerror}"
        raise OutputError(what, hint="name the path of the file instead") from None
    finally:
        with suppress(OSError):
            part.unlink()
    return target.relative_to(folder).as_posix()


async def _write(part: Path, chunks: AsyncIterator[bytes]) -> None:
    taken, waiting = 0, bytearray()
    with os.fdopen(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
        async for chunk in chunks:
            taken += len(chunk)
            if taken > LARGEST:
                raise OutputError(TOO_LARGE)
            waiting += chunk
            if len(waiting) >= BUFFER:
                await asyncio.to_thread(file.write, bytes(waiting))
                waiting.clear()
        await asyncio.to_thread(file.write, bytes(waiting))
    if not taken:
        raise ReadError("the file is empty")
