"""Table watch: whether the files of the table are still those that were looked at."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from glob import has_magic
from pathlib import Path
from typing import Any

from nicegui import ui

from sfumato.studio.context import PageContext
from sfumato.studio.project import Project

KEPT = "table"  # what was seen of it: input, files with size and time of change, fingerprint


def files_of(policy: Mapping[str, Any], folder: Path) -> list[Path]:
    """The files of its table; none where it is a pattern or in a database at an address."""
    written = policy.get("input", {}).get("path", [])
    named = written if isinstance(written, list) else [written]
    return [folder / path for path in named if "://" not in path and not has_magic(path)]


def seen(paths: list[Path]) -> list[list[Any]]:
    """Size and time of change of each; None of those that are gone."""
    found: list[list[Any]] = []
    for path in paths:
        try:
            state = path.stat()
            found.append([str(path), state.st_size, state.st_mtime_ns])
        except (OSError, ValueError):
            found.append([str(path), None, None])
    return found


async def look(context: PageContext) -> str:
    """Whether the table is the "same", "changed" or "gone". One that is new to the project is noted with its
    fingerprint, and so is one whose file was only touched."""
    project = context.project
    assert project is not None
    policy = project.policy
    paths = files_of(policy, project.folder)
    now = await asyncio.to_thread(seen, paths)
    if not paths:
        return "same"
    if any(size is None for _, size, _ in now):
        return "gone"
    kept = project.kept(KEPT)
    known = kept is not None and kept["input"] == policy["input"]
    if known and kept["files"] == now:
        return "same"
    if known and any(path.is_dir() for path in paths):
        return "changed"
    mark = await context.run("data.fingerprint", context.asked(), failed=lambda error: None)
    if mark is None or (known and kept["fingerprint"] != mark):
        return "changed" if known else "same"
    _note(project, policy, now, mark)
    return "same"


def _note(project: Project, policy: Mapping[str, Any], files: list[list[Any]], mark: str | None) -> None:
    project.keep(KEPT, {"input": policy["input"], "files": files, "fingerprint": mark})


async def banner(context: PageContext) -> None:
    """Say where the file changed or went away since it was looked at."""
    text, project = context.texts, context.project
    assert project is not None
    if "input" not in project.policy:
        return
    area = ui.element("div").classes("w-full")
    found = await look(context)
    if found == "same":
        area.delete()
        return

    async def take() -> None:
        paths = files_of(project.policy, project.folder)
        mark = await context.run("data.fingerprint", context.asked())
        if mark is not None:
            _note(project, project.policy, await asyncio.to_thread(seen, paths), mark)
            ui.navigate.reload()

    with area, ui.element("div").classes("banner").props("role=alert"):
        ui.icon("sync_problem").props("aria-hidden=true")
        ui.label(text(f"data.file_{found}")).classes("grow")
        if found == "changed":
            ui.button(text("data.take_it"), on_click=take).props("flat").mark("take-table")
