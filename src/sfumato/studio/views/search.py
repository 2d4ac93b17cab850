"""Search: which algorithm blurs the table, for what loss, and what it gives; the lattice and a picture beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nicegui import ui

from sfumato.studio.context import PageContext, with_progress
from sfumato.studio.forms import Form, columns_by_role, variants
from sfumato.studio.layout import heading
from sfumato.studio.views import VIEWS, lattice, picture

DEFAULT, LOSS = "auto", "lm"
BESIDE = ("loss", "suppression", "tidy", "max_cells", "account")  # keys that are of no method
ASKED = ("input", "roles", "hierarchies", "levels", "require", "mask", "search")  # what a result depends on


async def draw(context: PageContext) -> None:
    """Settings, a run, what it gave; and two more ways to look at it."""
    text, policy, project = context.texts, context.policy, context.project
    assert project is not None
    heading(context, "search")
    for needed, view in (("input", "data"), ("roles", "roles"), ("require", "promises")):
        if not policy.get(needed):
            ui.link(text(f"search.needs_{needed}"), f"/project/{project.name}/{view}")
            return
    with ui.tabs().props("dense align=left no-caps").classes("w-full") as tabs:
        for name in ("find", "lattice", "picture"):
            ui.tab(name, label=text(f"search.{name}"))
    with ui.tab_panels(tabs, value="find", animated=False).classes("w-full studio-panels"):
        with ui.tab_panel("find"):
            await _settings(context)
            area = ui.column().classes("w-full")
            _run(context, area)
        drawn: set[str] = set()
        areas = {}
        for name in ("lattice", "picture"):
            with ui.tab_panel(name):
                areas[name] = ui.column().classes("w-full")

    async def opened(event: Any) -> None:
        view = {"lattice": lattice, "picture": picture}.get(event.value)
        if view is not None and event.value not in drawn:
            drawn.add(event.value)
            with areas[event.value]:
                await view.draw(context)

    tabs.on_value_change(opened)


def asked_of(policy: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a policy that a result depends on."""
    return {name: policy[name] for name in ASKED if name in policy}


async def _settings(context: PageContext) -> None:
    text, policy = context.texts, context.policy
    table = dict(policy.get("search", {}))
    method = str(table.get("method", DEFAULT))
    searches, losses = await variants(context, "searches"), await variants(context, "losses")
    loss = table.get("loss", LOSS)
    loss = {"name": loss} if isinstance(loss, str) else dict(loss)
    columns = columns_by_role(policy)

    def save(search: Mapping[str, Any], redraw: bool = False) -> None:
        context.change("search", context.policy | {"search": dict(search)}, redraw=redraw)

    def now() -> dict[str, Any]:
        return dict(context.policy.get("search", {}))

    with ui.element("div").classes("search-settings"):
        with ui.card().classes("w-full"):
            options = {
                name: text("search.auto") if name == DEFAULT else text.said(one["title"])
                for name, one in searches.items()
            }
            chosen = ui.select(options, label=text("search.method"), value=method if method in options else None)
            chosen.props("outlined dense").classes("w-full").mark("method")

            def choose(event: Any) -> None:
                kept = {key: value for key, value in now().items() if key in BESIDE}
                save({"method": event.value, **kept}, redraw=True)

            chosen.on_value_change(choose)
            if method in searches:
                ui.label(text.said(searches[method]["summary"])).classes("quiet")
                own = {key: value for key, value in table.items() if key not in (*BESIDE, "method")}

                async def parameters(found: dict[str, Any]) -> None:
                    kept = {key: value for key, value in now().items() if key in BESIDE}
                    save({"method": method, **kept, **found})

                await Form(context, "searches", method, own, columns, parameters).draw()
        with ui.card().classes("w-full"):
            options = {name: text.said(one["title"]) for name, one in losses.items()}
            measured = ui.select(options, label=text("search.loss"), value=loss.get("name"))
            measured.props("outlined dense").classes("w-full").mark("loss")
            measured.on_value_change(lambda event: save(now() | {"loss": event.value}, redraw=True))
            ui.label(text.said(losses[loss["name"]]["summary"])).classes("quiet")

            async def weigh(found: dict[str, Any]) -> None:
                save(now() | {"loss": {"name": loss["name"], **found} if found else loss["name"]})

            values = {key: value for key, value in loss.items() if key != "name"}
            await Form(context, "losses", loss["name"], values, columns, weigh).draw()
            _suppression(context, table.get("suppression", 0), lambda value: save(now() | {"suppression": value}))


def _suppression(context: PageContext, value: Any, save: Any) -> None:
    """How many rows may be left out: a share of them, or a number."""
    text = context.texts
    share = isinstance(value, float) or not value
    with ui.row().classes("w-full items-center no-wrap"):
        limit = ui.number(text("search.suppression"), value=round(100 * value, 6) if share else value, min=0)
        limit.props("outlined dense debounce=400").classes("grow").mark("suppression")
        unit = ui.toggle({"share": "%", "rows": text("search.rows")}, value="share" if share else "rows")
        unit.props("no-caps dense unelevated").props["aria-label"] = text("search.unit")

    def changed() -> None:
        given = limit.value or 0
        if unit.value == "rows":
            save(int(given))
        elif given <= 100:
            save(given / 100)

    limit.on_value_change(changed)
    unit.on_value_change(changed)


def _run(context: PageContext, area: ui.column) -> None:
    text, project = context.texts, context.project
    assert project is not None

    async def run() -> None:
        button.disable()
        try:
            asked = context.asked()
            with area:
                found = await with_progress(context, "search.find", asked)
            if found is not None:
                project.keep("search", {"asked": asked_of(asked["tables"]), "found": found})
                show()
        finally:
            button.enable()

    with area:
        button = ui.button(text("search.run"), icon="play_arrow", on_click=run).props("unelevated").mark("run")
        shown = ui.column().classes("w-full gap-4").props("aria-live=polite")

    def show() -> None:
        shown.clear()
        kept = project.kept("search")
        if kept is None:
            return
        with shown:
            if kept["asked"] != asked_of(context.policy):
                ui.label(text("search.stale")).classes("quiet").mark("stale")
            elif "infeasible" in kept["found"]:
                _infeasible(context, kept["found"])
            else:
                _result(context, kept["found"])

    show()


def _infeasible(context: PageContext, found: Mapping[str, Any]) -> None:
    """A promise that cannot be met: how near it came, and what to turn."""
    text, project, told = context.texts, context.project, found["infeasible"]
    assert project is not None
    with ui.card().classes("w-full").mark("infeasible"):
        ui.label(text("search.infeasible")).classes("card-title alarm")
        ui.label(text.said(told["what"]))
        if told["got"]:
            ui.label(f"{text.said(told['got'])}; {text.said(told['allowed'] or '')}".rstrip("; ")).classes("quiet")
        if found["levels"]:
            levels = ", ".join(f"{name} {level}" for name, level in found["levels"].items())
            ui.label(text("search.closest", levels=levels)).classes("quiet")
        ui.label(text("search.knobs")).classes("eyebrow")
        with ui.element("ul").classes("studio-list"):
            near = found["suppressed"]
            if near and near < found["rows"]:
                with ui.element("li"):
                    said = text("search.allow", rows=text.number(near), share=text.percent(near / found["rows"]))

                    def allow() -> None:
                        table = context.policy.get("search", {})
                        context.change("search", context.policy | {"search": {**table, "suppression": int(near)}})

                    ui.button(said, on_click=allow).props("flat no-caps").mark("allow")
            for knob, view in (("ask_less", "promises"), ("coarser", "hierarchies")):
                if view not in VIEWS:
                    continue
                with ui.element("li"):
                    ui.link(text(f"search.{knob}"), f"/project/{project.name}/{view}")
        if told["hint"]:
            ui.label(text.said(told["hint"])).classes("quiet")


def _result(context: PageContext, found: Mapping[str, Any]) -> None:
    text, project = context.texts, context.project
    assert project is not None
    with ui.card().classes("w-full").mark("result"):
        with ui.row().classes("w-full items-center"):
            ui.label(text.said(found["title"])).classes("card-title grow")
            ui.label(text("studio.seconds", seconds=text.number(round(found["seconds"], 2)))).classes("quiet")
        if found["choice"]:
            why = text.said(found["choice"]["why"])
            ui.label(text("search.chosen", search=text.said(found["title"]), why=why)).mark("why")
            ui.label(text("search.next", next=text.said(found["choice"]["next"]))).classes("quiet")
        if found["optimal"]:
            ui.label(text("search.optimal")).classes("quiet")
        with ui.element("div").classes("figures"):
            share = text.percent(found["suppressed"] / found["rows"]) if found["rows"] else ""
            figure(text("search.suppressed"), text.number(found["suppressed"]), share)
            figure(text("search.loss_found"), text.number(found["loss"]), text.said(found["loss_title"]))
            figure(text("search.smallest"), text.number(found["smallest"]),
                   text("search.classes", classes=text.number(found["classes"])))  # fmt: skip
            figure(text("search.risk"), text.percent(found["risk"]),
                   text("search.average", risk=text.percent(found["average_risk"])))  # fmt: skip
        with ui.element("div").classes("studio-grid recoded-grid"):
            for one in found["columns"]:
                ui.label(one["name"]).classes("mono")
                with ui.column().classes("gap-0"):
                    for line in in_words(context, one):
                        ui.label(line)
                with ui.column().classes("gap-1"):
                    bar = ui.linear_progress(one["loss"] or 0, show_value=False).props("instant-feedback")
                    bar.props["aria-label"] = text("search.loss_of", column=one["name"])
                    ui.label(text.number(one["loss"])).classes("quiet")
        with ui.row().classes("w-full items-center gap-4"):
            name = ui.input(text("search.candidate"), value=_free_name(context, found["title"]))
            name.props("outlined dense").classes("grow").mark("candidate")
            ui.button(
                text("search.keep"),
                icon="bookmark_add",
                on_click=lambda: project.add_candidate(name.value or found["title"], found),
            ).props("unelevated").mark("keep")
        kept = [one["name"] for one in project.candidates()]
        if kept:
            ui.label(text("search.kept", names=", ".join(kept))).classes("quiet").mark("kept")


def _free_name(context: PageContext, title: str) -> str:
    assert context.project is not None
    taken = {one["name"] for one in context.project.candidates()}
    return next(one for one in (title, *(f"{title} {i}" for i in range(2, 10_000))) if one not in taken)


def figure(title: str, value: str, more: str = "") -> None:
    """A number with what it is."""
    with ui.column().classes("figure gap-0"):
        ui.label(title).classes("eyebrow")
        ui.label(value).classes("figure-value")
        ui.label(more).classes("quiet")


def in_words(context: PageContext, one: Mapping[str, Any]) -> list[str]:
    """What became of a column."""
    text = context.texts
    labels = [text("search.missing") if label is None else str(label) for label in one["shown"]]
    if one["level"] == 0 or (one["labels"] is not None and one["labels"] == one["values"]):
        return [text("search.unchanged", values=text.number(one["values"]))]
    if one["labels"] == 1 and labels == ["*"]:
        return [text("search.gone")]
    level = [] if one["level"] is None else [text("search.level", level=one["level"], height=one["height"])]
    if one["labels"] is None:
        return level or [text("search.blurred")]
    numbers = {"values": text.number(one["values"]), "labels": text.number(one["labels"])}
    return [*level, text("search.labels", **numbers, shown=" · ".join(labels))]
