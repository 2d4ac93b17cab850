"""Projects: the first page: what there is and where it stands, a new one, examples, imports."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from nicegui import ui

from sfumato.errors import PolicyError, SfumatoError
from sfumato.studio.browse import pick
from sfumato.studio.context import PageContext
from sfumato.studio.imports import LARGEST_POLICY, free_name, import_path, import_policy, parsed_policy
from sfumato.studio.layout import heading
from sfumato.studio.project import STATE, Project, create, delete, opened, projects, rename

ADULT = ("SFUMATO_ADULT", "SFUMATO_SHARED")  # variables: the file itself, or a folder with data/adult/adult.data
# A policy file is small: the browser reads it, and sends its text.
READ = """async (event) => {
  const input = event.target, file = input.files[0];
  if (!file) return;
  emit(file.size > %d ? {name: file.name, text: null} : {name: file.name, text: await file.text()});
  input.value = "";
}"""


def draw(context: PageContext) -> None:
    """The list of projects, and ways to a new one."""
    text = context.texts
    heading(context, "projects")
    with ui.row().classes("w-full items-end gap-4"):
        name = ui.input(text("projects.name")).props("outlined dense").classes("grow").mark("name")

        async def make() -> None:
            await _opening(context, lambda: create(context.root, name.value or ""))

        name.on("keydown.enter", make)
        ui.button(text("projects.create"), on_click=make).props("unelevated")
    found = projects(context.root)
    if not found:
        ui.label(text("projects.none")).classes("quiet")
    with ui.element("ul").classes("studio-list projects"):
        for folder in found:
            _row(context, folder)
    _title(text("projects.examples"))
    with ui.element("div").classes("cards"):
        _example(context, "register", lambda project: context.run("projects.register", str(project.folder)))
        adult = adult_file()
        if adult is not None:
            _example(context, "adult", lambda project: context.run("projects.adult", str(project.folder), str(adult)))
        else:
            with ui.card():
                ui.label(text("projects.adult")).classes("text-lg")
                ui.label(text("projects.adult_none")).classes("quiet")
                ui.label("SFUMATO_ADULT=/path/to/adult.data sfumato studio").classes("mono shell")
    _title(text("projects.import"))
    with ui.card().classes("w-full"):
        _import(context)


def adult_file() -> Path | None:
    """The census table Adult, where it is on this machine; it is never fetched from elsewhere."""
    whole, shared = (os.environ.get(name) for name in ADULT)
    places = [Path(whole)] if whole else []
    places += [Path(shared) / "data" / "adult" / "adult.data"] if shared else []
    return next((path.absolute() for path in places if path.is_file()), None)


def stands_at(project: Project) -> str:
    """The step that a project waits for."""
    from sfumato.studio.views import VIEWS

    policy = project.policy
    protected = any(policy.get(name) for name in ("require", "mask", "synthesis"))
    if policy.get("table") and not protected:
        return "statistical"
    waits = {"data": "input" not in policy, "roles": "roles" not in policy, "promises": not protected}
    return next((view for view, open_ in waits.items() if open_ and view in VIEWS), "release")


async def _opening(context: PageContext, made: Callable[[], Project]) -> None:
    """Make a project off the loop, and show it."""
    try:
        found = await asyncio.to_thread(made)
    except SfumatoError as error:
        context.complain(error)
        return
    ui.navigate.to(f"/project/{quote(found.name)}/{stands_at(found)}")


def _row(context: PageContext, folder: Path) -> None:
    text, name = context.texts, folder.name
    with ui.element("li"), ui.row().classes("w-full items-center no-wrap"):
        with ui.column().classes("grow gap-0 min-w-0"):
            try:
                project = opened(folder)
                step, released = stands_at(project), len(project.releases())
                changed = datetime.fromtimestamp((folder / STATE).stat().st_mtime)
            except (SfumatoError, OSError) as error:
                ui.label(name).classes("text-lg")
                why = str(error) if isinstance(error, SfumatoError) else str(error.strerror)
                ui.label(text.said(why)).classes("alarm")
                return
            ui.link(name, f"/project/{quote(name)}/{step}").classes("text-lg path")
            said = [text("projects.at", step=text(f"steps.{step}"))]
            said += [text("projects.released", count=released)] if released else []
            ui.label(" · ".join([*said, text("projects.changed", time=f"{changed:%Y-%m-%d %H:%M}")])).classes("quiet")
        _icon("drive_file_rename_outline", f"{text('projects.rename')}: {name}", lambda: _rename(context, name))
        _icon("delete_outline", f"{text('studio.delete')}: {name}", lambda: _delete(context, name))


def _icon(icon: str, label: str, action: Callable[[], Any]) -> None:
    ui.button(icon=icon, on_click=action).props("flat round").props["aria-label"] = label


async def _rename(context: PageContext, name: str) -> None:
    text = context.texts
    with ui.dialog() as dialog, ui.card():
        dialog.props["aria-label"] = f"{text('projects.rename')}: {name}"
        new = ui.input(text("projects.name"), value=name).props("outlined dense autofocus")
        new.on("keydown.enter", lambda: dialog.submit(True))
        with ui.row().classes("w-full justify-end"):
            ui.button(text("studio.cancel"), on_click=lambda: dialog.submit(False)).props("flat")
            ui.button(text("projects.rename"), on_click=lambda: dialog.submit(True)).props("unelevated")
    if await dialog and new.value != name:
        _changed(context, lambda: rename(context.root, name, new.value or ""))


async def _delete(context: PageContext, name: str) -> None:
    text = context.texts
    with ui.dialog() as dialog, ui.card():
        dialog.props["aria-label"] = f"{text('studio.delete')}: {name}"
        ui.label(text("projects.delete_sure", name=name))
        with ui.row().classes("w-full justify-end"):
            ui.button(text("studio.cancel"), on_click=lambda: dialog.submit(False)).props("flat")
            ui.button(text("studio.delete"), on_click=lambda: dialog.submit(True), color="negative")
    if await dialog:
        _changed(context, lambda: delete(context.root, name))


def _changed(context: PageContext, action: Callable[[], Any]) -> None:
    """Do something to a project, and show the list as it is then."""
    try:
        action()
    except SfumatoError as error:
        context.complain(error)
        return
    ui.navigate.reload()


def _example(context: PageContext, example: str, fill: Callable[[Project], Any]) -> None:
    """A card that makes a project of an example."""
    text = context.texts

    async def make() -> None:
        button.props("loading")
        try:
            project = create(context.root, free_name(context.root, text(f"projects.{example}")))
        except SfumatoError as error:
            context.complain(error)
            return
        table = await fill(project)
        if table is None:
            delete(context.root, project.name)
            button.props(remove="loading")
            return
        project.change("example", {"input": table})
        ui.navigate.to(f"/project/{quote(project.name)}/data")

    with ui.card():
        ui.label(text(f"projects.{example}")).classes("text-lg")
        ui.label(text(f"projects.{example}_about")).classes("quiet")
        ui.space()
        button = ui.button(text("projects.open"), on_click=make).props("unelevated").mark(f"example-{example}")
        button.props["aria-label"] = f"{text('projects.open')}: {text(f'projects.{example}')}"


def _import(context: PageContext) -> None:
    """A policy file of the browser, or a path of this machine."""
    text = context.texts

    async def heard(event: Any) -> None:
        name, words = str(event.args.get("name") or ""), event.args.get("text")

        def made() -> Project:
            if not isinstance(words, str):
                raise PolicyError("this file is too large for a policy")
            tables = parsed_policy(words)
            context.refuse_paths(tables, context.root / "new")
            return import_policy(context.root, name.removesuffix(".toml"), tables)

        await _opening(context, made)

    with ui.element("label").classes("drop"):
        ui.icon("description", size="1.6rem").props("aria-hidden=true")
        ui.label(text("projects.drop"))
        ui.label(text("projects.drop_about")).classes("quiet")
        field = ui.element("input").props('type=file accept=".toml"').mark("policy")
        field.props["aria-label"] = text("projects.drop")
        field.on("change", heard, js_handler=READ % LARGEST_POLICY)
    if context.studio.users:
        return
    with ui.row().classes("w-full items-end gap-4"):
        path = ui.input(text("projects.path")).props("outlined dense").classes("grow").mark("import-path")

        async def take() -> None:
            if given := (path.value or "").strip():
                await _opening(context, lambda: import_path(context.root, Path(given).expanduser()))

        async def look() -> None:
            if (found := await pick(context, endings=("toml",), folders=True)) is not None:
                path.set_value(found)
                await take()

        path.on("keydown.enter", take)
        ui.button(text("data.browse"), on_click=look, icon="folder_open").props("outline")
        ui.button(text("projects.import"), on_click=take).props("unelevated").mark("import")


def _title(words: str) -> None:
    with ui.element("h2"):
        ui.label(words)
