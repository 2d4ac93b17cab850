"""Builder form: a form for each builder of hierarchies, and what it makes of a column while it is filled in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from nicegui import ui

from sfumato.studio import cuts
from sfumato.studio.context import PageContext

NAMED = ("intervals", "redact", "dates", "order", "flat", "learned")  # builders that have a name in the texts


class HierarchyPage(Protocol):
    """The page that a form is on."""

    context: PageContext
    column: str

    def number(self, value: float) -> str:
        """A number as the language writes it."""

    def slot(self, what: str) -> str:
        """What a later call of the same kind replaces."""

    def make(self, spec: Any) -> None:
        """Take what a form made."""


class BuilderForm:
    """A form for each builder of hierarchies, and what it makes of the column while it is filled in."""

    def __init__(self, page: HierarchyPage, found: Mapping[str, Any]) -> None:
        self.page, self.context, self.values = page, page.context, found["values"]
        self.builders = {one["name"]: one for one in found["builders"]}
        self.name = found["first"]
        self.given: dict[str, Any] = {}
        self.spec: Any = None

    async def draw(self) -> None:
        """The choice of a builder, its fields, and the levels beside them."""
        text = self.context.texts
        names = {name: text(f"hierarchies.by_{name}") if name in NAMED else name for name in self.builders}
        with ui.element("div").classes("maker-grid"):
            with ui.column().classes("w-full gap-3"):
                chosen = ui.select(names, value=self.name, label=text("hierarchies.builder"), on_change=self.choose)
                chosen.props("outlined dense options-dense").classes("w-full").mark("builder")
                self.form = ui.column().classes("w-full gap-3")
            with ui.column().classes("w-full gap-3"):
                self.levels = ui.element("div").classes("w-full preview").props("role=status")
                self.button = ui.button(text("hierarchies.use"), on_click=self.use).props("unelevated").mark("use")
        await self.fill()

    async def choose(self, event: Any) -> None:
        """Turn to another builder."""
        self.name, self.given = event.value, {}
        await self.fill()

    async def fill(self) -> None:
        """The fields of the builder."""
        text, builder = self.context.texts, self.builders[self.name]
        spread = None
        if any(one["name"] == "cuts" for one in builder["parameters"]):
            spread = await self.context.run("hierarchies.histogram", self.context.asked(), self.page.column)
        self.form.clear()
        self.fields: dict[str, Any] = {}
        with self.form:
            ui.label(text.said(builder["summary"])).classes("quiet")
            for parameter in builder["parameters"]:
                self.fields[parameter["name"]] = self.field(parameter)
                if parameter["name"] == "cuts" and spread is not None:
                    cuts.draw(text, spread, self.fields["cuts"])
        await self.preview()

    def field(self, parameter: Mapping[str, Any]) -> Any:
        """What a parameter is asked by, as its type says."""
        name, kind, default = parameter["name"], parameter["type"], parameter["default"]

        async def changed(event: Any) -> None:
            value = event.value
            if kind == "list" and parameter["required"]:
                value = [line.strip() for line in (value or "").splitlines() if line.strip()]
            self.given[name] = value
            await self.preview()

        if parameter["choices"] and parameter["many"]:
            found: Any = ui.select(parameter["choices"], label=name, multiple=True, value=[], on_change=changed)
            found.props("use-chips outlined dense options-dense")
        elif parameter["choices"]:
            found = ui.select(parameter["choices"], label=name, value=default, on_change=changed)
            found.props("outlined dense options-dense")
        elif kind == "yes or no":
            found = ui.checkbox(name, value=bool(default), on_change=changed)
        elif kind == "whole number" and not parameter["many"]:
            found = ui.number(name, value=default, precision=0, on_change=changed).props("outlined dense debounce=300")
        elif kind == "list" and parameter["required"]:
            found = ui.textarea(name, value="\n".join(self.values), on_change=changed)
            found.props("outlined dense autogrow debounce=300").classes("mono")
            self.given[name] = list(self.values)
        else:
            shown = "" if default in (None, []) or not isinstance(default, str | int | float) else str(default)
            found = ui.input(name, value=shown, on_change=changed).props("outlined dense debounce=300")
        found.classes("w-full").mark(f"field-{name}")
        if parameter["help"]:
            found.props["hint"] = self.context.texts.said(parameter["help"])
            found.props("hide-bottom-space")
        return found

    async def preview(self) -> None:
        """The levels as they would be, or what is wrong."""
        text, page = self.context.texts, self.page
        found = await self.context.run(
            "hierarchies.preview", self.context.asked(), page.column, self.name, self.given, slot=page.slot("preview")
        )
        if found is None or self.levels.is_deleted:
            return
        wrong = {name: fault for name, fault in found["faults"] if name in self.fields}
        for name, one in self.fields.items():
            one.props["error"], one.props["error-message"] = name in wrong, text.said(wrong.get(name, ""))
            one.update()
        self.spec = found.get("spec")
        self.button.set_enabled(self.spec is not None)
        self.levels.clear()
        with self.levels:
            for _, fault in (one for one in found["faults"] if one[0] not in self.fields):
                ui.label(text.said(fault)).classes("alarm faults")
            with ui.element("ol").classes("preview-levels"):
                for level, one in reversed(list(enumerate(found.get("levels", ())))):
                    self.level(level, one)

    def level(self, level: int, one: Mapping[str, Any]) -> None:
        """A level of the preview."""
        text, page = self.context.texts, self.page
        with ui.element("li"):
            with ui.row().classes("w-full items-baseline justify-between no-wrap"):
                ui.label(text("hierarchies.level_labels", level=level, count=page.number(one["labels"])))
                ui.label(text("hierarchies.least", rows=page.number(one["least"]))).classes("quiet note")
            with ui.element("div").classes("chips"):
                for label, rows in one["examples"]:
                    chip = ui.label(label).classes("chip mono")
                    chip.props["title"] = text("hierarchies.node", label=label, rows=page.number(rows))
                if one["labels"] > len(one["examples"]):
                    ui.label("…").classes("quiet")

    def use(self) -> None:
        """Take it."""
        self.page.make(self.spec)
