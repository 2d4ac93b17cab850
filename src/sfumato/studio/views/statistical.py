"""Statistical table: what is counted, which cells are unsafe, how they are protected, what that gives, its release."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nicegui import ui

from sfumato.core.wording import quoted
from sfumato.policyfile.protection import cell_policy
from sfumato.studio import table_watch
from sfumato.studio.context import PageContext, with_progress
from sfumato.studio.forms import Form, first_values, variants
from sfumato.studio.layout import heading
from sfumato.studio.views.protected_table import draw_fault, draw_table, section

DEFAULT, RULE, LARGEST = "exact", "minimum-frequency", 3
FIRST, FURTHER = ("value", "contributor"), ("request", "weight", "record")  # columns that are named
COSTS, ZEROS = ("value", "log-value", "rows", "cells"), ("publish", "hide")
BESIDE = ("cost", "zeros", "coalition", "flags", "publish", "hide")  # keys of [protect] that are of no method


async def draw(context: PageContext) -> None:
    """What is asked of the table, a run, and what it gave."""
    text, project = context.texts, context.project
    assert project is not None
    heading(context, "statistical")
    if "input" not in context.policy:
        ui.link(text("studio.choose_table"), f"/project/{project.name}/data")
        return
    await table_watch.banner(context)
    found = await context.run("protection.columns", context.asked())
    rules, ways = await variants(context, "rules"), await variants(context, "protections")
    if found is None or not rules or not ways:
        return
    page = _TablePage(context, found["columns"])
    page.counting()
    if context.policy.get("table"):
        with ui.element("div").classes("search-settings"):
            with ui.column().classes("w-full gap-3"):
                await page.rules(rules)
            with ui.column().classes("w-full gap-3"):
                await page.protection(ways)
        if context.policy.get("rule"):
            page.result()


class _TablePage:
    """The settings of a table, which say below what they come to."""

    def __init__(self, context: PageContext, columns: list[str]) -> None:
        self.context, self.columns = context, columns
        self.show: Callable[[], object] = lambda: None  # what the settings give, or that they changed since

    def _save(self, step: str, *, redraw: bool = False, **tables: Any) -> None:
        if self.context.change(step, self.context.policy | tables, redraw=redraw) and not redraw:
            self.show()

    def counting(self) -> None:
        """Which columns the cells are counted by, what is added up, and whose each row is."""
        text, asked = self.context.texts, self.context.policy.get("table", {})

        def change(name: str, value: Any) -> None:
            now = self.context.policy
            table = {key: one for key, one in now.get("table", {}).items() if key != name} | (
                {name: value} if value else {}
            )
            if not table.get("by"):
                table = {}
            began = {} if now.get("table") else {"rule": now.get("rule") or [{"rule": RULE, "n": 3}]}
            self._save("table", table=table, redraw=True, **began)

        with ui.card().classes("w-full gap-3"):
            section(text("statistical.counting"))
            by = ui.select(self.columns, multiple=True, value=list(asked.get("by", [])), label=text("statistical.by"))
            by.props("outlined dense use-chips hide-bottom-space").classes("w-full").mark("by")
            by.props["hint"] = text("statistical.by_about")
            # several are chosen from one open list: they count once it closes, and a chip that is removed at once
            by.on("popup-hide", lambda: change("by", by.value))
            by.on_value_change(lambda: None if self.context.drawn.choosing else change("by", by.value))
            if not asked:
                return
            with ui.element("div").classes("form-grid"):
                for name in FIRST:
                    self._column(name, asked.get(name), change)
            used = any(asked.get(name) for name in FURTHER)
            more = ui.expansion(text("forms.more"), value=used).classes("form-more w-full").props("dense")
            with more, ui.element("div").classes("form-grid"):
                for name in FURTHER:
                    self._column(name, asked.get(name), change)
            told = [text("statistical.adds" if asked.get("value") else "statistical.counts",
                         value=asked.get("value", ""), by=text.said(quoted(asked["by"])))]  # fmt: skip
            told.append(text("statistical.each" if asked.get("contributor") else "statistical.alone",
                             contributor=asked.get("contributor", "")))  # fmt: skip
            if trees := cell_policy(self.context.policy).get("hierarchies"):
                told.append(text("statistical.subtotals", columns=", ".join(trees)))
            ui.label(" ".join(told)).props("role=status").mark("counted")

    def _column(self, name: str, value: Any, change: Callable[[str, Any], None]) -> None:
        text, by = self.context.texts, self.context.policy["table"]["by"]
        options = [one for one in self.columns if one not in by]
        named = [value] if value and value not in options else []
        field = ui.select([*options, *named], value=value, label=text(f"statistical.{name}"), clearable=True)
        field.props("outlined dense stack-label hide-bottom-space").mark(name)
        field.props["hint"] = text(f"statistical.{name}_about")
        field.on_value_change(lambda event: change(name, event.value))

    async def rules(self, known: Mapping[str, Any]) -> None:
        """A card per rule, and a further one."""
        text = self.context.texts
        section(text("statistical.rules"))
        listed = self.context.policy.get("rule", [])
        for number in range(len(listed)):
            await self._rule(number, listed[number], known)
        if not listed:
            ui.label(text("statistical.no_rule")).classes("quiet")
        with ui.row().classes("w-full items-center gap-4"):
            options = {name: text.said(one["title"]) for name, one in known.items()}
            taken = {one.get("rule") for one in listed}
            first = next((name for name in options if name not in taken), next(iter(options)))
            chosen = ui.select(options, value=first, label=text("statistical.another")).props("outlined dense")
            chosen.classes("grow").mark("rule")

            def add() -> None:
                named = {"rule": chosen.value, **first_values(known[chosen.value], {})}
                self._rules([*self.context.policy.get("rule", []), named], redraw=True)

            ui.button(text("statistical.add"), on_click=add).props("outline").mark("add")

    async def _rule(self, number: int, asked: Mapping[str, Any], known: Mapping[str, Any]) -> None:
        text, name = self.context.texts, str(asked.get("rule"))
        with ui.card().classes("w-full gap-3").mark("rule-card"):
            with ui.row().classes("w-full items-center no-wrap"):
                title = text.said(known[name]["title"]) if name in known else name
                ui.label(title).classes("card-title grow")

                def remove() -> None:
                    listed = self.context.policy.get("rule", [])
                    self._rules([*listed[:number], *listed[number + 1 :]], redraw=True)

                button = ui.button(icon="delete_outline", on_click=remove).props("flat round")
                button.props["aria-label"] = text("statistical.remove", rule=title)
                button.tooltip(text("statistical.remove", rule=title))
            if name not in known:
                return
            ui.label(text.said(known[name]["summary"]))

            async def change(values: dict[str, Any]) -> None:
                listed = list(self.context.policy.get("rule", []))
                listed[number] = {"rule": name, **values}
                self._rules(listed)

            values = {key: value for key, value in asked.items() if key != "rule"}
            await Form(self.context, "rules", name, values, {"column": self.columns}, change).draw()

    def _rules(self, listed: list[dict[str, Any]], redraw: bool = False) -> None:
        """Save the rules; as many of the largest contributions are kept as they look at."""
        table = {key: value for key, value in self.context.policy["table"].items() if key != "largest"}
        most = max((int(one.get("n", 0)) for one in listed if one.get("rule") == "dominance"), default=0)
        self._save("rule", rule=listed, table=table | ({"largest": most} if most > LARGEST else {}), redraw=redraw)

    async def protection(self, known: Mapping[str, Any]) -> None:
        """The method, its parameters, and what holds of every method."""
        text, asked = self.context.texts, self.context.policy.get("protect", {})
        name = str(asked.get("method", DEFAULT))
        section(text("statistical.protection"))
        with ui.card().classes("w-full gap-3"):
            options = {one: text.said(found["title"]) for one, found in known.items()}
            chosen = ui.select(options, value=name if name in options else None, label=text("statistical.method"))
            chosen.props("outlined dense").classes("w-full").mark("method")

            def beside() -> dict[str, Any]:
                return {key: value for key, value in self.context.policy.get("protect", {}).items() if key in BESIDE}

            def choose(event: Any) -> None:
                self._save("method", protect={"method": event.value, **beside()}, redraw=True)

            chosen.on_value_change(choose)
            if name not in known:
                return
            ui.label(text.said(known[name]["summary"])).classes("quiet")

            async def change(values: dict[str, Any]) -> None:
                self._save("method", protect={"method": name, **beside(), **values})

            values = {key: value for key, value in asked.items() if key not in (*BESIDE, "method")}
            await Form(self.context, "protections", name, values, {"column": self.columns}, change).draw()
            more = ui.expansion(text("statistical.further")).classes("form-more w-full").props("dense")
            with more, ui.element("div").classes("form-grid"):
                self._beside(asked)

    def _beside(self, asked: Mapping[str, Any]) -> None:
        text = self.context.texts

        def change(key: str, value: Any) -> None:
            now = {one: kept for one, kept in self.context.policy.get("protect", {}).items() if one != key}
            self._save("protect", protect={"method": DEFAULT, **now, **({} if value is None else {key: value})})

        for key, values in (("cost", COSTS), ("zeros", ZEROS)):
            options = {one: text(f"statistical.{key}_{one.replace('-', '_')}") for one in values}
            field = ui.select(options, value=asked.get(key, values[0]), label=text(f"statistical.{key}"))
            field.props("outlined dense").mark(key)
            field.on_value_change(lambda event, key=key: change(key, event.value))
        people = ui.number(text("statistical.coalition"), value=asked.get("coalition", 1), min=0, max=10, precision=0)
        people.props("outlined dense debounce=400").mark("coalition")
        people.props["hint"] = text("statistical.coalition_about")
        people.on_value_change(lambda event: change("coalition", None if event.value is None else int(event.value)))
        flags = ui.switch(text("statistical.flags"), value=bool(asked.get("flags"))).mark("flags")
        flags.on_value_change(lambda event: change("flags", event.value or None))

    def result(self) -> None:
        """A run, and what it gave."""
        context, text, project = self.context, self.context.texts, self.context.project
        assert project is not None
        with ui.row():
            button = ui.button(text("statistical.try"), icon="play_arrow").props("unelevated").mark("run")
        area = ui.column().classes("w-full gap-4")
        shown = ui.column().classes("w-full gap-4").props("aria-live=polite")

        def show() -> None:
            shown.clear()
            kept = project.kept("statistical")
            if kept is None:
                return
            with shown:
                if kept["asked"] != cell_policy(context.policy):
                    ui.label(text("search.stale")).classes("quiet").mark("stale")
                elif "fault" in kept["found"] or "infeasible" in kept["found"]:
                    draw_fault(context, kept["found"])
                else:
                    draw_table(context, kept["found"])

        async def run() -> None:
            button.disable()
            asked, faults = cell_policy(context.policy), list[str]()
            with area:
                found = await with_progress(
                    context, "statistical.tried", context.asked(), failed=lambda error: faults.append(str(error))
                )
            if found is None and faults:
                found = {"fault": faults[0]}
            if found is not None:
                project.keep("statistical", {"asked": asked, "found": found})
            if not button.is_deleted:
                button.enable()
                show()

        button.on_click(run)
        self.show = show
        show()
