"""Reports that only their owner may read: written whole or not at all, never inside a release."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from sfumato.engines.atomic import atomic_file
from sfumato.errors import OutputError
from sfumato.parameters import path_of
from sfumato.report.pdf import browser, pdf_of

OWNER = 0o600


@contextmanager
def private_report(
    path: str | Path | None, release: str | Path | None, overwrite: bool = False, pdf: bool = False
) -> Iterator[Callable[[str], None]]:
    """A function that takes the page; the file, and its PDF, appear at the end of the block, the owner's alone.

    Nothing appears where `path` is None, the block fails, or no page was given.
    """
    targets = check_reports(path, release, overwrite, pdf)
    with ExitStack() as opened:
        places = [opened.enter_context(_owned(target, overwrite)) for target in targets]

        def keep(page: str) -> None:
            for place in places:
                place.write_bytes(pdf_of(page) if place.name.endswith(".pdf") else page.encode("utf-8"))

        yield keep


def check_reports(
    path: str | Path | None, release: str | Path | None, overwrite: bool = False, pdf: bool = False
) -> list[Path]:
    """The files of an internal report; OutputError where they cannot be made: worth a call before a long run."""
    if pdf:
        browser()
    if path is None:
        return []
    target = path_of(path)
    targets = [target, target.with_suffix(".pdf")] if pdf and target.suffix != ".pdf" else [target]
    place = target.resolve()
    inside = release is not None and place.is_relative_to(Path(release).resolve())
    if inside or any(_is_release(parent) for parent in place.parents):
        raise OutputError(
            f"the internal report cannot be {target}: it compares with the original, and that is inside a release",
            hint="name a file outside of every folder that is published",
        )
    for one in targets:
        if one.is_dir():
            raise OutputError(f"{one} is a folder, not a file")
        if one.exists() and not overwrite:
            raise OutputError(f"{one} exists", hint="choose another place, or overwrite it")
    return targets


def _is_release(folder: Path) -> bool:
    try:
        return "sfumato" in json.loads((folder / "manifest.json").read_text("utf-8"))
    except (OSError, ValueError, TypeError):
        return False


@contextmanager
def _owned(target: Path, overwrite: bool) -> Iterator[Path]:
    """A temporary file, empty and the owner's alone, that becomes `target`."""
    with atomic_file(target, overwrite) as place:
        os.close(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER))
        yield place
