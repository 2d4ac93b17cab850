"""Promises: what a release shall keep, what attack each stops and what it leaves open, checked as it is written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nicegui import ui

from sfumato.studio.context import PageContext
from sfumato.studio.forms import Form, columns_by_role, first_values, variants
from sfumato.studio.layout import heading


async def draw(context: PageContext) -> None:
    """A card per promise of the policy, and a further one."""
    text, policy, project = context.texts, context.policy, context.project
    assert project is not None
    heading(context, "promises")
    if "input" not in policy:
        ui.link(text("studio.choose_table"), f"/project/{project.name}/data")
        return
    columns = columns_by_role(policy)
    if not columns["quasi-identifier"]:
        ui.link(text("promises.choose_roles"), f"/project/{project.name}/roles")
        return
    known = await variants(context, "criteria")
    page = _Promises(context, known, columns)
    for number in range(len(page.required)):
        await page.card(number)
    if not page.required:
        ui.label(text("promises.none")).classes("quiet")
    page.adding()
    await page.check()


class _Promises:
    """The cards of a page, which show what a check says of their promises."""

    def __init__(self, context: PageContext, known: Mapping[str, Any], columns: Mapping[str, list[str]]) -> None:
        self.context, self.known, self.columns = context, known, columns
        self.required = [dict(one) for one in context.policy.get("require", [])]
        self.cards: list[tuple[ui.label, ui.row, ui.label]] = []
        self.faults = ui.column().classes("w-full gap-1").props("role=alert")

    async def card(self, number: int) -> None:
        """One promise: its words, its parameters, and how the table stands to it."""
        text, asked = self.context.texts, self.required[number]
        model = str(asked.get("model"))
        variant = self.known.get(model)
        with ui.card().classes("promise-card w-full").mark("promise"):
            with ui.row().classes("w-full items-center"):
                ui.label(text.said(variant["title"]) if variant else model).classes("card-title grow")
                verdict = ui.row().classes("items-center gap-2").props("role=status")
                remove = ui.button(icon="delete_outline", on_click=lambda: self._remove(number)).props("flat round")
                remove.props["aria-label"] = text("promises.remove", model=model)
                remove.tooltip(text("promises.remove", model=model))
            sentence = ui.label().classes("promise-sentence")
            if variant is not None:
                with ui.element("div").classes("promise-attacks"):
                    against = [text.said(kind) for kind in variant["kinds"]]
                    self._said("promises.stops", variant["stops"], "; ".join(against))
                    self._said("promises.leaves", variant["leaves"])
                values = {key: value for key, value in asked.items() if key != "model"}

                async def change(found: dict[str, Any]) -> None:
                    self.required[number] = {"model": model, **found}
                    if self._save("promise", redraw=False):
                        await self.check()

                form = Form(self.context, "criteria", model, values, self.columns, change)
                await form.draw()
            figures = ui.label().classes("promise-figures quiet")
            self.cards.append((sentence, verdict, figures))

    def _said(self, title: str, words: str, more: str = "") -> None:
        text = self.context.texts
        if words or more:
            with ui.column().classes("gap-0"):
                ui.label(text(title)).classes("eyebrow")
                ui.label(text.said(words))
                if more:
                    ui.label(more).classes("quiet")

    def adding(self) -> None:
        """A select of all criteria, and what the chosen one is."""
        text = self.context.texts
        ui.html(f"<h2>{text('promises.add_title')}</h2>", sanitize=False)
        with ui.card().classes("w-full"):
            with ui.row().classes("w-full items-center gap-4"):
                options = {name: text.said(one["title"]) for name, one in self.known.items()}
                model = ui.select(options, label=text("promises.model"), value=next(iter(options), None))
                model.props("outlined dense").classes("grow").mark("model")

                def add() -> None:
                    self.required.append({"model": model.value, **first_values(self.known[model.value], self.columns)})
                    self._save("promise")

                ui.button(text("promises.add"), on_click=add).props("unelevated").mark("add")
            about = ui.label().classes("quiet")

            def tell() -> None:
                one = self.known[model.value]
                about.set_text(f"{text.said(one['stops'] or one['summary'])}")

            model.on_value_change(tell)
            if self.known:
                tell()

    def _remove(self, number: int) -> None:
        del self.required[number]
        self._save("promise removed")

    def _save(self, step: str, *, redraw: bool = True) -> bool:
        return self.context.change(step, self.context.policy | {"require": self.required}, redraw=redraw)

    async def check(self) -> None:
        """Ask how the table stands to the promises, and show it; an answer that is late is dropped."""
        text = self.context.texts
        for _, verdict, _ in self.cards:
            verdict.clear()
            with verdict:
                ui.spinner(size="1.2em").props["aria-label"] = text("promises.checking")
        slot = f"promises {ui.context.client.id}"
        found = await self.context.run("promises.check", self.context.asked(), slot=slot)
        if found is None:
            return
        self.faults.clear()
        with self.faults:
            for fault in found["faults"]:
                ui.label(text.said(fault)).classes("alarm")
            if found["sampled"]:
                ui.label(text("promises.sampled")).classes("quiet")
        for card, one in zip(self.cards, found["promises"] or [None] * len(self.cards), strict=True):
            self._show(*card, one)

    def _show(self, sentence: ui.label, verdict: ui.row, figures: ui.label, one: Mapping[str, Any] | None) -> None:
        text = self.context.texts
        verdict.clear()
        figures.set_text("")
        if one is None:
            return
        words = text.said(one["sentence"])
        sentence.set_text(words[:1].upper() + words[1:])
        if one["holds"] is None:
            figures.set_text(text("promises.constructed"))
            return
        with verdict, ui.label().classes("verdict" if one["holds"] else "verdict broken"):
            ui.icon("check" if one["holds"] else "close").props("aria-hidden=true")
            ui.label(text("promises.holds_now" if one["holds"] else "promises.broken_now"))
        said = []
        if one["broken_classes"]:
            numbers = {key: text.number(one[key]) for key in ("broken_classes", "classes", "broken_rows", "rows")}
            said.append(text("promises.breaking", **numbers))
        if one["measured"] is not None:
            side = text(f"promises.{one['side'].replace(' ', '_')}")
            said.append(text("promises.worst", measured=text.number(one["measured"]), side=side,
                             bound=text.number(one["bound"])))  # fmt: skip
        figures.set_text(" ".join(said))
