"""Steps: how values are masked, one step after the other, each a form of its own."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from nicegui import ui

from sfumato.studio.context import PageContext
from sfumato.studio.forms import Form, columns_by_role, first_values, variants

BESIDE = ("step", "when")  # keys that are of no masker
WHEN = ("before", "after")  # the search


class MaskingSteps:
    """The steps of a policy as cards, which show what a check says of them; around a search, each with its time."""

    def __init__(
        self,
        context: PageContext,
        table: Mapping[str, Any],
        changed: Callable[[], Awaitable[None]],
        around: bool = False,
    ) -> None:
        self.context, self.changed, self.around = context, changed, around
        self.columns = columns_by_role(context.policy, table["columns"])
        self.listed = [dict(one) for one in context.policy.get("mask", [])]
        self.told: list[ui.element | None] = []

    async def draw(self) -> None:
        """A card per step, and a further one."""
        self.known = await variants(self.context, "steps")
        for number in range(len(self.listed)):
            await self._card(number)
        if not self.listed and not self.around:
            ui.label(self.context.texts("masking.none")).classes("quiet")
        self._adding()
        if self.listed and not self.around and "seed" in self.context.policy.get("search", {}):
            with ui.card().classes("w-full"):
                seed(self.context)

    async def _card(self, number: int) -> None:
        text, step = self.context.texts, self.listed[number]
        name = str(step.get("step"))
        variant = self.known.get(name)
        with ui.card().classes("step-card w-full").mark("step"):
            with ui.row().classes("w-full items-center no-wrap"):
                title = text.said(variant["title"]) if variant else name
                ui.label(f"{number + 1}. {title}").classes("card-title grow")
                for words, to in (("up", number - 1), ("down", number + 1)):
                    label = text(f"masking.{words}", step=title)
                    button = self._icon(f"arrow_{words}ward", label, lambda to=to: self._move(number, to))
                    button.set_enabled(0 <= to < len(self.listed))
                self._icon("delete_outline", text("masking.remove", step=title), lambda: self._remove(number))
            if variant is None:
                self.told.append(None)
                return
            ui.label(text.said(variant["summary"])).classes("quiet")
            if self.around:
                options = {when: text(f"masking.{when}") for when in WHEN}
                chosen = ui.select(options, value=step.get("when", WHEN[0]), label=text("masking.when"))
                chosen.props("outlined dense").classes("chooser").mark("when")

                def at(event: Any) -> None:
                    own = {key: value for key, value in self.listed[number].items() if key not in BESIDE}
                    self._set(number, own, event.value)

                chosen.on_value_change(at)
            values = {key: value for key, value in step.items() if key not in BESIDE}

            async def change(found: dict[str, Any]) -> None:
                self._set(number, found, self.listed[number].get("when"))
                await self.changed()

            await Form(self.context, "steps", name, values, self.columns, change, first=("columns",)).draw()
            self.told.append(ui.element("div").classes("step-told").props("role=status"))

    def _icon(self, icon: str, label: str, action: Any) -> ui.button:
        button = ui.button(icon=icon, on_click=action).props("flat round")
        button.props["aria-label"] = label
        button.tooltip(label)
        return button

    def _adding(self) -> None:
        """A select of all steps, and what the chosen one does."""
        text = self.context.texts
        options = {name: text.said(one["title"]) for name, one in self.known.items()}
        with ui.card().classes("w-full"):
            with ui.row().classes("w-full items-center gap-4"):
                chosen = ui.select(options, label=text("masking.step"), value="rank-swapping", with_input=True)
                chosen.props("outlined dense").classes("grow").mark("step-name")

                def add() -> None:
                    variant, names = self.known[chosen.value], self.columns["identifying"]
                    columns = {"columns": names} if variant["pseudonymous"] and names else {}
                    self.listed.append({"step": chosen.value, **columns, **first_values(variant, self.columns, True)})
                    self._save("step")

                ui.button(text("masking.add"), on_click=add).props("unelevated").mark("add-step")
            about = ui.label().classes("quiet")

            def tell() -> None:
                if chosen.value in self.known:
                    about.set_text(text.said(self.known[chosen.value]["summary"]))

            chosen.on_value_change(tell)
            tell()

    def _set(self, number: int, values: Mapping[str, Any], when: str | None) -> None:
        timed = {"when": when} if when not in (None, WHEN[0]) else {}
        self.listed[number] = {"step": self.listed[number]["step"], **timed, **values}
        self._save("step", redraw=False)

    def _move(self, number: int, to: int) -> None:
        self.listed.insert(to, self.listed.pop(number))
        self._save("steps ordered")

    def _remove(self, number: int) -> None:
        del self.listed[number]
        self._save("step removed")

    def _save(self, step: str, *, redraw: bool = True) -> None:
        policy = {**self.context.policy, "mask": self.listed}
        search = dict(policy.get("search", {}))
        if any(self.known[one["step"]]["private"] for one in self.listed if one.get("step") in self.known):
            search.pop("seed", None)  # noise that is private comes from no seed
        elif self.listed:  # so that a shell gives the same bytes
            search.setdefault("seed", secrets.randbelow(10**9))
        if self.around and self.listed:  # without a method the steps would be all there is
            search = {"method": "auto", **search}
        policy["search"] = search
        self.context.change(step, policy, redraw=redraw)

    def tell(self, described: Sequence[Mapping[str, Any] | None]) -> None:
        """Say in each card what its step does, to which columns, and what it leaves open."""
        for area, one in zip(self.told, described, strict=False):
            if area is None:
                continue
            area.clear()
            with area:
                if one is not None:
                    tell_step(self.context, one)


def seed(context: PageContext) -> None:
    """The seed of the random numbers."""
    text = context.texts
    field = ui.number(text("masking.seed"), value=context.policy.get("search", {}).get("seed"), min=0, precision=0)
    field.props("outlined dense stack-label debounce=400 hide-bottom-space").classes("w-full").mark("seed")
    field.props["hint"] = text("masking.seed_about")

    def save(event: Any) -> None:
        search = {key: value for key, value in context.policy.get("search", {}).items() if key != "seed"}
        given = {} if event.value is None or event.value < 0 else {"seed": int(event.value)}
        context.change("seed", {**context.policy, "search": {**search, **given}}, redraw=False)

    field.on_value_change(save)


def tell_step(context: PageContext, one: Mapping[str, Any]) -> None:
    """What a step or a generator does, to which columns, and what it leaves open."""
    text = context.texts
    columns = ", ".join(one.get("columns", ()))
    for term, words in (("does", text.said(as_sentence(one["sentence"]))), ("changes", columns),
                        ("leaves", text.said(one["leaves"]))):  # fmt: skip
        if words:
            ui.label(text(f"masking.{term}")).classes("eyebrow")
            ui.label(words)


def as_sentence(words: str) -> str:
    """Words that begin with a capital and end with a point.

    >>> as_sentence("values are rounded")
    'Values are rounded.'
    """
    return words[:1].upper() + words[1:] + ("" if words.endswith((".", "!", "?")) or not words else ".")
