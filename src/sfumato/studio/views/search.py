"""Search: how the table is protected, and what that gives: recoded by a search, masked by steps, or rows made up."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from nicegui import ui

from sfumato.policyfile.protection import made_by
from sfumato.studio.context import PageContext, with_progress
from sfumato.studio.forms import Form, columns_by_role, variants
from sfumato.studio.layout import heading
from sfumato.studio.views import VIEWS, lattice, picture, synthesis
from sfumato.studio.views.steps import MaskingSteps, as_sentence

DEFAULT, LOSS = "auto", "lm"
BESIDE = ("loss", "suppression", "tidy", "max_cells", "seed", "account")  # keys that are of no method, seeds of some
ASKED = ("input", "roles", "hierarchies", "levels", "require", "mask", "search", "synthesis")  # what results depend on
PROTECTIONS = {"recoding": "blur_on", "masking": "shuffle", "synthesis": "auto_awesome"}
OF_ONE = ("require", "levels", "mask", "search", "synthesis")  # tables that each protection has for itself


async def draw(context: PageContext) -> None:
    """The choice of a protection, its settings, a run, and what it gave."""
    text, policy, project = context.texts, context.policy, context.project
    assert project is not None
    heading(context, "search")
    for needed, view in (("input", "data"), ("roles", "roles")):
        if not policy.get(needed):
            ui.link(text(f"search.needs_{needed}"), f"/project/{project.name}/{view}")
            return
    by = _protection(context)
    _choice(context, by)
    if by == "recoding":
        await _recoding(context)
        return
    table = await context.run("protection.columns", context.asked())
    if table is not None:
        await _changing(context, by, table)


async def _changing(context: PageContext, by: str, table: Mapping[str, Any]) -> None:
    """The steps of masking or the generator, what is said of them while they are filled in, and a run."""
    text = context.texts
    faults = ui.column().classes("w-full gap-1").props("role=alert")

    async def look() -> None:
        found = await context.run("protection.described", context.asked(), slot=f"protection {ui.context.client.id}")
        if found is None or faults.is_deleted:
            return
        faults.clear()
        with faults:
            for fault in found["faults"]:
                ui.label(text.said(fault)).classes("alarm faults")
        drawn.tell([found["generator"]] if by == "synthesis" else found["steps"])
        paid.clear()
        if found["private"] is not None:
            with paid:
                await synthesis.account(context, "synthesis" if by == "synthesis" else "search", found["private"])

    drawn: Any = (MaskingSteps if by == "masking" else synthesis.SynthesisForm)(context, table, look)
    await drawn.draw()
    if by == "masking" and not context.policy.get("mask"):
        return
    paid = ui.column().classes("w-full")
    _promised(context)
    _run(context, ui.column().classes("w-full"), "search.try")
    await look()


def _protection(context: PageContext) -> str:
    """What the policy asks for; masking also where it was chosen, and there is no step yet."""
    policy, project = context.policy, context.project
    assert project is not None
    bare = not any(policy.get(name) for name in ("require", "mask", "synthesis"))
    return "masking" if bare and project.kept("protection") == "masking" else made_by(policy)


def _choice(context: PageContext, by: str) -> None:
    """The protections, one of which is pressed."""
    text, project = context.texts, context.project
    assert project is not None

    def choose(to: str) -> None:
        policy = context.policy
        project.keep(f"protection {by}", {name: policy[name] for name in OF_ONE if name in policy})
        project.keep("protection", to)
        if not context.change("protection", with_protection(policy, to, project.kept(f"protection {to}"))):
            project.keep("protection", by)

    with ui.element("div").classes("protections").props("role=group") as group:
        for name, icon in PROTECTIONS.items():
            with ui.element("button").classes("protection").mark(f"protection-{name}") as button:
                ui.icon(icon).props("aria-hidden=true")
                ui.label(text(f"search.{name}")).classes("protection-name")
                ui.label(text(f"search.{name}_about")).classes("quiet note")
            button.props["aria-pressed"] = "true" if name == by else "false"
            if name != by:
                button.on("click", lambda name=name: choose(name))
    group.props["aria-label"] = text("search.protection")


def with_protection(policy: Mapping[str, Any], to: str, kept: Mapping[str, Any] | None) -> dict[str, Any]:
    """A policy that protects in another way: as it did when that was left, or as it does at first. Random numbers have
    a seed, so that a shell gives the same bytes.

    >>> with_protection({"roles": {}, "require": [1], "search": {"method": "auto"}}, "recoding", {"require": [2]})
    {'roles': {}, 'require': [2]}
    """
    found = {name: table for name, table in policy.items() if name not in OF_ONE}
    if kept:
        return found | dict(kept)
    if to == "recoding":
        return found
    made = {} if to == "masking" else {"synthesis": {"generator": {"name": synthesis.DEFAULT}}}
    return found | made | {"search": {"seed": secrets.randbelow(10**9)}}


def _promised(context: PageContext) -> None:
    """What the rows must keep besides."""
    text, project = context.texts, context.project
    assert project is not None
    models = [str(one.get("model")) for one in context.policy.get("require", [])]
    with ui.row().classes("w-full items-center gap-3"):
        ui.label(text("search.promised", models=", ".join(models)) if models else text("search.unpromised"))
        ui.link(text("search.promise"), f"/project/{project.name}/promises")


async def _recoding(context: PageContext) -> None:
    """Settings, a run, what it gave; and two more ways to look at it."""
    text, project = context.texts, context.project
    assert project is not None
    if not context.policy.get("require"):
        ui.link(text("search.needs_require"), f"/project/{project.name}/promises")
        return
    with ui.tabs().props("dense align=left no-caps").classes("w-full") as tabs:
        for name in ("find", "lattice", "picture"):
            ui.tab(name, label=text(f"search.{name}"))
    drawn: set[str] = set()
    areas = {}
    with ui.tab_panels(tabs, value="find", animated=False).classes("w-full studio-panels"):
        with ui.tab_panel("find"):
            first = ui.column().classes("w-full")
        for name in ("lattice", "picture"):
            with ui.tab_panel(name):
                areas[name] = ui.column().classes("w-full")

    async def opened(event: Any) -> None:
        view = {"lattice": lattice, "picture": picture}.get(event.value)
        if view is not None and event.value not in drawn:
            drawn.add(event.value)
            with areas[event.value]:
                await view.draw(context)

    tabs.on_value_change(opened)  # before the settings, which others may not wait for
    with first:
        await _settings(context)
        await _around(context)
        _run(context, ui.column().classes("w-full"))


async def _around(context: PageContext) -> None:
    """Steps of masking before and after the search, and the account of a private one."""
    text = context.texts
    private = any(one.get("model") == "differential-privacy" for one in context.policy.get("require", []))
    some = bool(context.policy.get("mask"))
    with ui.expansion(text("search.around"), value=some).classes("w-full bordered around").mark("around") as folded:
        area = ui.column().classes("w-full gap-3")
    steps: list[MaskingSteps] = []

    async def look() -> None:
        described = await context.run("protection.described", context.asked(), slot=f"steps {ui.context.client.id}")
        if described is not None and not area.is_deleted:
            steps[0].tell(described["steps"])

    async def fill() -> None:
        found = await context.run("protection.columns", context.asked())
        if found is None or area.is_deleted:
            return
        steps[:] = [MaskingSteps(context, found, look, around=True)]
        with area:
            ui.label(text("search.around_about")).classes("quiet")
            await steps[0].draw()
        if some:
            await look()

    async def open_(event: Any) -> None:
        if event.value and not area.default_slot.children:
            await fill()

    folded.on_value_change(open_)
    if some:
        await fill()
    if private:
        described = await context.run("protection.described", context.asked())
        if described is not None and described["private"] is not None:
            await synthesis.account(context, "search", described["private"])


def deciding_settings(policy: Mapping[str, Any]) -> dict[str, Any]:
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

            taken = {one["name"] for one in searches.get(method, {"parameters": ()})["parameters"]}
            beside = [key for key in BESIDE if key not in taken]

            def choose(event: Any) -> None:
                kept = {key: value for key, value in now().items() if key in beside}
                save({"method": event.value, **kept}, redraw=True)

            chosen.on_value_change(choose)
            if method in searches:
                ui.label(text.said(searches[method]["summary"])).classes("quiet")
                own = {key: value for key, value in table.items() if key not in (*beside, "method")}

                async def parameters(found: dict[str, Any]) -> None:
                    kept = {key: value for key, value in now().items() if key in beside}
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


def _run(context: PageContext, area: ui.column, words: str = "search.run") -> None:
    text, project = context.texts, context.project
    assert project is not None

    async def run() -> None:
        button.disable()
        try:
            asked = context.asked()
            with area:
                found = await with_progress(context, "search.find", asked)
            if found is not None:
                project.keep("search", {"asked": deciding_settings(asked["tables"]), "found": found})
                show()
        finally:
            button.enable()

    with area:
        button = ui.button(text(words), icon="play_arrow", on_click=run).props("unelevated").mark("run")
        shown = ui.column().classes("w-full gap-4").props("aria-live=polite")

    def show() -> None:
        shown.clear()
        kept = project.kept("search")
        if kept is None:
            return
        with shown:
            if kept["asked"] != deciding_settings(context.policy):
                ui.label(text("search.stale")).classes("quiet").mark("stale")
            elif "infeasible" in kept["found"]:
                _infeasible(context, kept["found"])
            elif kept["found"].get("by", "recoding") == "recoding":
                _result(context, kept["found"])
            else:
                _changed(context, kept["found"])

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
            near, by = found["suppressed"], found.get("by", "recoding")
            if near and near < found["rows"] and by == "recoding":
                with ui.element("li"):
                    said = text("search.allow", rows=text.number(near), share=text.percent(near / found["rows"]))

                    def allow() -> None:
                        table = context.policy.get("search", {})
                        context.change("search", context.policy | {"search": {**table, "suppression": int(near)}})

                    ui.button(said, on_click=allow).props("flat no-caps").mark("allow")
            for knob, view in (("ask_less", "promises"), ("coarser", "hierarchies")):
                if view not in VIEWS or (knob == "coarser" and by != "recoding"):
                    continue
                with ui.element("li"):
                    ui.link(text(f"search.{knob}"), f"/project/{project.name}/{view}")
        if told["hint"]:
            ui.label(text.said(told["hint"])).classes("quiet")


def _result(context: PageContext, found: Mapping[str, Any]) -> None:
    text = context.texts
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
        for note in found.get("notes", ()):
            ui.label(as_sentence(text.said(note))).classes("quiet note")
        _keep(context, found["title"], found)


def _changed(context: PageContext, found: Mapping[str, Any]) -> None:
    """What masking or a generator gave: what was checked of it, how much it gives away, and what it is good for."""
    text = context.texts
    with ui.card().classes("w-full").mark("result"):
        ui.label(text("search.result")).classes("card-title")
        with ui.element("div").classes("figures"):
            if found["suppressed"] is not None:
                share = text.percent(found["suppressed"] / found["rows"]) if found["rows"] else ""
                figure(text("search.suppressed"), text.number(found["suppressed"]), share)
            for name, chance in (("linkage", "guessing"), ("copied", "by_chance"), ("membership", "guessing")):
                if found[name] is not None:
                    value, baseline = found[name]
                    beside = "" if baseline is None else text(f"search.{chance}", share=text.percent(baseline))
                    figure(text(f"search.{name}"), text.percent(value), beside)
            for name in ("distributions", "counts", "pairs"):
                if (value := found["utility"][name]) is not None:
                    figure(text(f"search.{name}"), text.percent(value), text(f"search.{name}_about"))
            if found["smallest"] is not None:
                figure(text("search.smallest"), text.number(found["smallest"]), "")
        if found["outcome"] in ("holds", "by construction"):
            ui.label(text(f"search.outcome_{found['outcome'].replace(' ', '_')}"))
        if found["facts"]:
            ui.label(text("search.facts")).classes("eyebrow")
            with ui.element("ul").classes("studio-list"):
                for fact in found["facts"]:
                    with ui.element("li"):
                        ui.label(as_sentence(text.said(fact["sentence"])))
        if found["sampled"]:
            ui.label(text("compare.sampled", rows=text.number(found["rows"]))).classes("quiet note")
        for note in dict.fromkeys(found["notes"]):
            ui.label(as_sentence(text.said(note))).classes("quiet note")
        _keep(context, found["search"], found)


def _keep(context: PageContext, title: str, found: Mapping[str, Any]) -> None:
    """What was found can be kept for comparison."""
    text, project = context.texts, context.project
    assert project is not None
    with ui.row().classes("w-full items-center gap-4"):
        name = ui.input(text("search.candidate"), value=_free_name(context, title))
        name.props("outlined dense").classes("grow").mark("candidate")
        ui.button(
            text("search.keep"), icon="bookmark_add", on_click=lambda: project.add_candidate(name.value or title, found)
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
