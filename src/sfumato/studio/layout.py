"""Layout: what every page of the studio has around it: its name, the steps of the project, undo, language, colours."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from typing import Any

from nicegui import ui

from sfumato.studio.context import PageContext, prefer, preferences
from sfumato.studio.project import Project
from sfumato.studio.texts import LANGUAGES

STYLE = files("sfumato.studio").joinpath("studio.css").read_text(encoding="utf-8")
# NiceGUI marks the page while the list of a select is open.
CHOOSING = """<script>{
  const page = document.documentElement;
  let last = false;
  new MutationObserver(() => {
    const open = page.classList.contains('nicegui-select-popup-open');
    if (open !== last) emitEvent('choosing', last = open);
  }).observe(page, {attributeFilter: ['class']});
}</script>"""
COLOURS = {"primary": "#35685f", "secondary": "#6a635b", "accent": "#35685f", "positive": "#35685f",
           "negative": "#9c3324", "warning": "#8a5a00", "info": "#2f5d8a", "dark": "#23201d",
           "dark_page": "#1b1917"}  # fmt: skip


@contextmanager
def page(
    context: PageContext, view: str, steps: dict[str, str], beside: dict[str, str], others: Sequence[str] = ()
) -> Iterator[None]:
    """The frame of a page; `steps` are the views of a project and their icons, `beside` those that are no step."""
    text, project = context.texts, context.project
    ui.add_css(STYLE)
    ui.add_head_html(f'<script>document.documentElement.lang = "{text.language}"</script>')
    ui.colors(**COLOURS)
    chosen = preferences(context.root).get("dark")
    dark = ui.dark_mode(chosen)
    title = text("studio.title") if project is None else f"{project.name} · {text('steps.' + view)}"
    ui.page_title(title)
    ui.context.client.content.classes("p-0 gap-0")
    skip = ui.link(text("studio.skip")).classes("skip")
    with ui.header(elevated=False).classes("studio-header items-center no-wrap"):
        if project is not None:
            menu = ui.button(icon="menu").props(f'flat round dense aria-label="{text("studio.menu")}"').classes("lt-md")
        ui.link(text("studio.title"), "/").classes("studio-name")
        if project is not None:
            ui.label(project.name).classes("studio-project ellipsis")
        ui.space()
        if project is None:
            for name in others:
                ui.link(text(f"steps.{name}"), f"/{name}").classes("studio-other")
        if project is not None:
            steps_back = _button("undo", text("studio.undo"), project.undo)
            steps_forward = _button("redo", text("studio.redo"), project.redo)

            def enable() -> None:
                back, forward = project.can()
                steps_back.set_enabled(back)
                steps_forward.set_enabled(forward)

            enable()
            on_change(project, enable)

        async def toggle() -> None:
            dark.set_value(not await ui.run_javascript("document.body.classList.contains('body--dark')"))
            prefer(context.root, dark=dark.value)

        _button("contrast", text("studio.dark"), toggle)

        def speak(language: str) -> None:
            prefer(context.root, language=language)
            ui.navigate.reload()

        with _button("translate", text("studio.language")), ui.menu().props("auto-close"):
            for language, name in LANGUAGES.items():
                ui.menu_item(name, on_click=lambda language=language: speak(language)).props(f"lang={language}")
    if project is not None:
        with ui.left_drawer(value=False, elevated=False).props("width=208 breakpoint=900 show-if-above") as drawer:
            drawer.classes("studio-steps")
            with ui.element("nav").props(f'aria-label="{text("studio.menu")}"').classes("w-full"):
                with ui.link(target="/").classes("studio-step lt-md"):
                    ui.icon("home").props("aria-hidden=true")
                    ui.label(text("projects.title"))
                for number, (name, icon) in enumerate(steps.items(), 1):
                    _step(context, name, icon, f"{number}. ", name == view)
                ui.separator().classes("my-2")
                for name, icon in beside.items():
                    _step(context, name, icon, "", name == view)
        menu.on_click(drawer.toggle)
    with ui.element("div").classes("studio-main").props("tabindex=-1") as main:
        skip.props["href"] = f"#{main.html_id}"
        yield
        later = list(steps)[list(steps).index(view) + 1 :] if view in steps else []
        if project is not None and later:
            with ui.link(target=f"/project/{project.name}/{later[0]}").classes("next"):
                ui.label(text("studio.next"))
                ui.icon("arrow_forward").props("aria-hidden=true")


def on_change(project: Project, action: Callable[[], object]) -> None:
    """Do something on this page whenever the project changes, until the page is closed."""
    loop, client = asyncio.get_running_loop(), ui.context.client

    def changed() -> None:
        loop.call_soon_threadsafe(lambda: None if client.is_deleted else action())

    project.listeners.add(changed)
    client.on_delete(lambda: project.listeners.discard(changed))


def on_choosing(action: Callable[[Any], object]) -> None:
    """Do something whenever the list of a select opens or closes on this page."""
    ui.add_head_html(CHOOSING)
    ui.on("choosing", action)


def _step(context: PageContext, name: str, icon: str, number: str, current: bool) -> None:
    assert context.project is not None
    with ui.link(target=f"/project/{context.project.name}/{name}").classes(
        "studio-step" + (" current" if current else "")
    ) as link:
        ui.icon(icon).props("aria-hidden=true")
        ui.label(number + context.texts(f"steps.{name}"))
    if current:
        link.props("aria-current=" + ("step" if number else "page"))


def _button(icon: str, label: str, action: Callable[[], object] | None = None) -> ui.button:
    found = ui.button(icon=icon, on_click=action).props(f'flat round dense aria-label="{label}"')
    found.tooltip(label)
    return found


def heading(context: PageContext, view: str) -> None:
    """The title of a view and the sentence below it."""
    ui.html(f"<h1>{context.texts(view + '.title')}</h1>", sanitize=False)
    ui.label(context.texts(view + ".lead")).classes("lead")
