"""Browse: a dialog to pick a file or folder of this machine, for its own user alone."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from nicegui import ui

from sfumato.errors import ReadError
from sfumato.studio.context import PageContext
from sfumato.studio.uploads import READABLE

SHOWN = 500  # entries of a folder


def listed(folder: Path, endings: tuple[str, ...]) -> tuple[list[str], list[tuple[str, int]]]:
    """Folders, and files of some endings with their sizes; nothing hidden."""
    folders, files = [], []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                try:
                    if entry.is_dir():
                        folders.append(entry.name)
                    elif entry.name.lower().removesuffix(".gz").rpartition(".")[2] in endings and entry.is_file():
                        files.append((entry.name, entry.stat().st_size))
                except OSError:
                    continue
    except OSError as error:
        raise ReadError(f"{folder} cannot be read: {error.strerror}") from None
    return sorted(folders, key=str.casefold)[:SHOWN], sorted(files, key=lambda file: file[0].casefold())[:SHOWN]


async def pick(
    context: PageContext, start: Path | None = None, endings: tuple[str, ...] = READABLE, folders: bool = False
) -> str | None:
    """The path that the user picks; with `folders` the one that is open may be picked too."""
    from sfumato.studio.views.release import shown_size

    text = context.texts
    here = start if start is not None and start.is_dir() else Path.home()
    with ui.dialog() as dialog, ui.card().classes("browse"):
        dialog.props["aria-label"] = text("data.browse")
        where = ui.label().classes("mono path")
        area = ui.column().classes("w-full gap-0 entries")
        with ui.row().classes("w-full justify-end"):
            ui.button(text("studio.cancel"), on_click=lambda: dialog.submit(None)).props("flat")
            if folders:
                ui.button(text("data.this_folder"), on_click=lambda: dialog.submit(str(here))).props("unelevated")

    async def show(folder: Path) -> None:
        nonlocal here
        try:
            within, files = await asyncio.to_thread(listed, folder, endings)
        except ReadError as error:
            context.complain(error)
            return
        here = folder
        where.set_text(str(folder))
        area.clear()
        with area, ui.list().props("dense").classes("w-full"):
            for name in ([".."] if folder.parent != folder else []) + within:
                target = folder.parent if name == ".." else folder / name
                with ui.item(on_click=lambda target=target: show(target)):
                    with ui.item_section().props("avatar"):
                        ui.icon("arrow_upward" if name == ".." else "folder").props("aria-hidden=true")
                    with ui.item_section():
                        ui.label(text("data.up") if name == ".." else name)
            for name, size in files:
                with ui.item(on_click=lambda name=name: dialog.submit(str(here / name))):
                    with ui.item_section().props("avatar"):
                        ui.icon("table_chart").props("aria-hidden=true")
                    with ui.item_section():
                        ui.label(name)
                    with ui.item_section().props("side"):
                        ui.label(shown_size(size))
        if not within and not files:
            with area:
                ui.label(text("data.nothing_here")).classes("quiet")

    await show(here)
    found: str | None = await dialog
    return found
