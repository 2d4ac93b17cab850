"""Builders: a form for each builder of hierarchies, beside what it makes of a column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nicegui import ui

from sfumato.studio import cuts
from sfumato.studio.forms import Form, columns_by_role, variants

if TYPE_CHECKING:
    from sfumato.studio.views.hierarchies import HierarchyPage

NAMED = ("intervals", "redact", "dates", "order", "flat", "learned")  # builders that have a name in the texts


class HierarchyMaker:
    """A form for each builder of hierarchies, and what it makes of the column while it is filled in."""

    def __init__(self, page: HierarchyPage, found: Mapping[str, Any]) -> None:
        self.page, self.context, self.found = page, page.context, found
        self.spec: Any = None

    async def draw(self) -> None:
        """The choice of a builder, its fields, and the levels beside them."""
        text = self.context.texts
        self.known = await variants(self.context, "hierarchies")
        names = {name: text(f"hierarchies.by_{name}") if name in NAMED else text.said(self.known[name]["title"])
                 for name in self.found["names"]}  # fmt: skip
        with ui.element("div").classes("maker-grid"):
            with ui.column().classes("w-full gap-3"):
                chosen = ui.select(names, value=self.found["first"], label=text("hierarchies.builder"))
                chosen.props("outlined dense options-dense").classes("w-full").mark("builder")
                self.area = ui.column().classes("w-full gap-3")
            with ui.column().classes("w-full gap-3"):
                self.levels = ui.element("div").classes("w-full preview").props("role=status")
                self.button = ui.button(text("hierarchies.use"), on_click=self.use).props("unelevated").mark("use")

        async def choose(event: Any) -> None:
            await self.fill(event.value)

        chosen.on_value_change(choose)
        await self.fill(self.found["first"])

    async def fill(self, name: str) -> None:
        """The fields of a builder."""
        context, column, builder = self.context, self.page.column, self.known[name]
        spread = None
        if any(one["name"] == "cuts" for one in builder["parameters"]):
            spread = await context.run("hierarchies.histogram", context.asked(), column)
        self.area.clear()
        values = self.found["given"].get(name, {})

        async def preview(given: Mapping[str, Any]) -> None:
            await self.preview(name, given)

        with self.area:
            ui.label(context.texts.said(builder["summary"])).classes("quiet")
            beside = {} if spread is None else {"cuts": lambda field: cuts.draw(context.texts, spread, field)}
            await Form(context, "hierarchies", name, values, columns_by_role(context.policy), preview, folded=False,
                       beside=beside, failed=self.nothing).draw()  # fmt: skip
        await preview(values)

    def nothing(self) -> None:
        """There is nothing to use."""
        self.spec = None
        self.button.set_enabled(False)
        self.levels.clear()

    async def preview(self, name: str, values: Mapping[str, Any]) -> None:
        """The levels as they would be, or what is wrong."""
        page = self.page
        found = await self.context.run(
            "hierarchies.preview", self.context.asked(), page.column, name, values, slot=page.slot("preview")
        )
        if found is None or self.levels.is_deleted:
            return
        self.nothing()
        self.spec = found.get("spec")
        self.button.set_enabled(self.spec is not None)
        with self.levels:
            for fault in found["faults"]:
                ui.label(self.context.texts.said(fault)).classes("alarm faults")
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
