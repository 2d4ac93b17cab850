"""Views: the pages of the studio, a file each. A view is a function that draws a project, and a row of VIEWS."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import Any

from fastapi import FastAPI, Request
from nicegui import core, ui

from sfumato.errors import SfumatoError
from sfumato.studio import layout
from sfumato.studio.context import PageContext, preferences
from sfumato.studio.project import find
from sfumato.studio.server import Studio
from sfumato.studio.texts import Texts, preferred

VIEWS = {  # the steps of a project in their order, with their icons; each is the module of its name
    "data": "table_chart",
    "roles": "badge",
    "hierarchies": "account_tree",
    "promises": "verified_user",
    "search": "travel_explore",
    "compare": "balance",
    "release": "outbox",
}
BESIDE = {"statistical": "grid_on"}  # pages of a project that are none of these steps
OTHERS = ("teach", "queries")  # pages without a project
CHARTED = ("search", "compare")  # views with charts; their library is loaded while they are read
PRELOAD = "(window.requestIdleCallback || setTimeout)(() => import('nicegui-echart'))"


def make_app(studio: Studio) -> FastAPI:
    """The application with all pages."""
    ui.echart  # noqa: B018 - so that pages know where it is
    core.sio.on("log", lambda socket, message: None)  # what a browser complains of may quote cells
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)

    def context(request: Request) -> PageContext:
        user = getattr(request.state, "user", "")
        root = studio.root_of(user)
        language = preferences(root).get("language") or preferred(request.headers.get("accept-language", ""))
        return PageContext(studio, user, Texts(language))

    @ui.page("/")
    async def _projects(request: Request) -> None:
        await show(context(request), "projects", None)

    for name in OTHERS:
        _other_page(name, context)

    @ui.page("/project/{name}/{view}")
    async def _project(request: Request, name: str, view: str) -> None:
        own = context(request)
        try:
            project = find(own.root, name)
        except SfumatoError as error:
            own.complain(error)
            await show(own, "projects", None)
            return
        if view not in VIEWS and view not in BESIDE:
            ui.navigate.to(f"/project/{name}/data")
            return
        await show(replace(own, project=project), view, VIEWS)

    for route in (import_module(f"{__name__}.{name}") for name in (*VIEWS, *BESIDE, *OTHERS)):
        if hasattr(route, "add_routes"):  # downloads and uploads that are no page
            route.add_routes(app, context)
    ui.run_with(app, title="Sfumato Studio", dark=None, show_welcome_message=False, storage_secret=None,
                reconnect_timeout=30, tailwind=True)  # fmt: skip
    return app


def _other_page(name: str, context: Callable[[Request], PageContext]) -> None:
    @ui.page(f"/{name}")
    async def _page(request: Request) -> None:
        await show(context(request), name, None)


async def show(context: PageContext, view: str, steps: dict[str, str] | None) -> None:
    """Draw a view in its frame; again whenever the project changes."""
    draw, project = import_module(f"{__name__}.{view}").draw, context.project

    drawing: asyncio.Task[Any] | None = None

    @ui.refreshable
    async def content() -> None:
        nonlocal drawing
        if drawing is not None:
            drawing.cancel()  # what it draws on is gone
        drawing = asyncio.current_task()
        context.drawn.choosing = False
        if project is not None:
            context.drawn.step = project.step.number
        found = draw(context)
        if inspect.isawaitable(found):
            await found

    client, missed = ui.context.client, False

    def changed() -> None:
        nonlocal missed
        if context.drawn.own:
            context.drawn.own -= 1
        elif client.has_socket_connection and not context.drawn.choosing:
            content.refresh()
        else:
            missed = True  # closed, or asleep, or a list is open: it is drawn again once it is not

    def back() -> None:
        nonlocal missed
        if missed:
            missed = False
            content.refresh()

    def chooses(event: Any) -> None:
        context.drawn.choosing = bool(event.args)
        if not context.drawn.choosing:
            back()

    client.on_exception(context.complain)  # of what no view expects
    client.on_connect(back)
    client.on_delete(context.leave)
    with layout.page(context, view, steps or {}, BESIDE if steps else {}, OTHERS):
        if project is not None:
            layout.on_change(project, changed)
            layout.on_choosing(chooses)
        await client.connected(timeout=60)  # the frame is there at once, whatever the view waits for
        await content()
    if view in CHARTED:
        client.run_javascript(PRELOAD)
