"""Synthesis: which generator makes the rows up, how many are drawn, and what a private one is charged to."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from nicegui import ui

from sfumato.studio.context import PageContext
from sfumato.studio.forms import Form, columns_by_role, first_values, variants
from sfumato.studio.views.steps import seed, tell_step

DEFAULT = "sequential-trees"
DRAWN, DRAWN_PRIVATELY = ("rows", "m", "copies", "hold_out"), ("rows", "m")
ACCOUNT = ("ledger", "epsilon", "delta", "dataset")


class SynthesisForm:
    """The generator and how its rows are drawn, which shows what a check says of it."""

    def __init__(self, context: PageContext, table: Mapping[str, Any], changed: Callable[[], Awaitable[None]]) -> None:
        self.context, self.changed, self.stored = context, changed, table["stored"]
        self.columns = columns_by_role(context.policy, table["columns"])

    async def draw(self) -> None:
        """A card for the generator, and one for the drawing."""
        written = self.now().get("generator", DEFAULT)
        generator = {"name": written} if isinstance(written, str) else dict(written)
        known = await variants(self.context, "generators")
        variant = known.get(str(generator["name"]))
        with ui.element("div").classes("search-settings"):
            with ui.card().classes("w-full"):
                await self._generator(generator, known)
                self.told = ui.element("div").classes("step-told").props("role=status")
            with ui.card().classes("w-full"):
                await self._drawing(variant is not None and variant["private"])

    async def _generator(self, generator: Mapping[str, Any], known: Mapping[str, Any]) -> None:
        text, name = self.context.texts, str(generator["name"])
        options = {one: text.said(found["title"]) for one, found in known.items()}
        chosen = ui.select(options, label=text("synthesis.generator"), value=name if name in options else None)
        chosen.props("outlined dense").classes("w-full").mark("generator")

        def choose(event: Any) -> None:
            variant = known[event.value]
            kept = {key: value for key, value in self.now().items() if key in ("rows", "m")}
            values = first_values(variant, self.columns, example=not variant["private"])
            self._save({**kept, "generator": {"name": event.value, **values}}, redraw=True)

        chosen.on_value_change(choose)
        if name not in known:
            return
        private = known[name]["private"]
        ui.label(text.said(known[name]["summary"])).classes("quiet")
        if private:
            ui.label(text("synthesis.domain"))

        async def change(found: dict[str, Any]) -> None:
            self._save(self.now() | {"generator": {"name": name, **found}})
            await self.changed()

        values = {key: value for key, value in generator.items() if key != "name"}
        first = ("bounds", "keys", "delta") if private else ()
        await Form(self.context, "generators", name, values, self.columns, change, first=first).draw()

    async def _drawing(self, private: bool) -> None:
        """How many rows are drawn, and from which seed."""
        only = DRAWN_PRIVATELY if private else (*DRAWN, *(("sample",) if self.stored else ()))

        async def change(found: dict[str, Any]) -> None:
            self._save({key: value for key, value in self.now().items() if key not in only} | found)
            await self.changed()

        values = {key: value for key, value in self.now().items() if key in only}
        await Form(self.context, "verbs", "synthesize", values, {}, change, only=only, first=("rows",)).draw()
        if private:
            ui.label(self.context.texts("synthesis.fresh")).classes("quiet")
        else:
            seed(self.context)

    def now(self) -> dict[str, Any]:
        """What the policy says."""
        return dict(self.context.policy.get("synthesis", {}))

    def _save(self, table: Mapping[str, Any], redraw: bool = False) -> None:
        self.context.change("generator", {**self.context.policy, "synthesis": dict(table)}, redraw=redraw)

    def tell(self, described: Sequence[Mapping[str, Any] | None]) -> None:
        """Say what the generator does, and what it leaves open."""
        self.told.clear()
        with self.told:
            for one in described:
                if one is not None:
                    tell_step(self.context, one)


async def account(context: PageContext, of: str, told: Mapping[str, Any]) -> None:
    """What a private release costs, and the account that it is charged to; `of` is its table in the policy."""
    text, kept = context.texts, context.policy.get(of, {}).get("account")

    def save(found: Mapping[str, Any] | None, redraw: bool) -> None:
        table = {key: value for key, value in context.policy.get(of, {}).items() if key != "account"}
        context.change("account", {**context.policy, of: table if found is None else {**table, "account": dict(found)}},
                       redraw=redraw)  # fmt: skip

    with ui.card().classes("w-full").mark("account"):
        with ui.element("h2").classes("card-title"):
            ui.label(text("synthesis.account"))
        if told["cost"]:
            ui.label(text("synthesis.cost", cost=text.said(told["cost"]))).mark("cost")
        ui.label(text("synthesis.account_about")).classes("quiet")
        charged = ui.switch(text("synthesis.charge"), value=kept is not None).mark("charge")
        assert context.project is not None
        first = {"ledger": "private/ledger.sqlite", "epsilon": 1, "delta": 1e-6, "dataset": context.project.name}
        charged.on_value_change(lambda event: save(first if event.value else None, True))
        if kept is not None:
            if told["spent"]:
                ui.label(text("synthesis.spent", spent=text.said(told["spent"])))

            async def change(found: dict[str, Any]) -> None:
                save(found, False)

            await Form(context, "verbs", "account", kept, {}, change, only=ACCOUNT, folded=False).draw()
