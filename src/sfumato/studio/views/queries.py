"""Queries: the page of a service of private answers: what is left, what a question costs, and what it answers.

The studio asks the service, not the browser. The key of the user stays in the memory of the open page.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from nicegui import ui

from sfumato.core.wording import number
from sfumato.errors import ReadError, SfumatoError
from sfumato.studio.context import PageContext
from sfumato.studio.layout import heading

ADDRESS = "http://127.0.0.1:8321"
START = ("sfumato query key --key-file my.key", "sfumato query serve policy.toml")
MOST_ROWS = 200  # of an answer on the page


def draw(context: PageContext) -> None:
    """The form to connect, and below it what the service has."""
    text, studio = context.texts, context.studio
    heading(context, "queries")
    with ui.card().classes("w-full gap-3"):
        with ui.element("div").classes("options"):
            address = ui.input(text("queries.address"), value=studio.service or ADDRESS).props("outlined dense")
            key = ui.input(text("queries.key"), password=True).props("outlined dense autocomplete=off")
        with ui.row().classes("items-center gap-4"):
            button = ui.button(text("queries.connect"), icon="link").props("unelevated").mark("connect")
            ui.label(text("queries.memory")).classes("quiet note")
        fault = _fault()
        with ui.expansion(text("queries.start"), icon="terminal", value=True).classes("w-full") as start:
            ui.label(text("queries.start_about")).classes("quiet")
            for line in START:
                ui.label(line).classes("mono shell")
    area = ui.column().classes("w-full gap-4")

    async def connect() -> None:
        from sfumato.service.client import ServiceClient

        area.clear()
        with _waiting(button):
            try:
                client = ServiceClient(studio.service_at(address.value or ""), key=(key.value or "").strip())
                budgets, schema = await asyncio.to_thread(lambda: (client.budget(), client.schema()))
            except SfumatoError as error:
                fault.set_text(text.said(str(error)))
                start.set_value(isinstance(error, ReadError))
                return
        key.value = ""
        fault.set_text("")
        start.set_value(False)
        with area:
            _Service(context, client).draw(budgets, schema)

    button.on_click(connect)
    key.on("keydown.enter", connect)


class _Service:
    """A service that is connected: its budgets, its columns, the form to ask, and the answers so far."""

    def __init__(self, context: PageContext, client: Any) -> None:
        self.context, self.client = context, client
        self.under_way: dict[str, str] = {}  # names of calls that were interrupted: made again, they cost once

    def draw(self, budgets: list[dict[str, Any]], schema: list[dict[str, Any]]) -> None:
        """All of it."""
        text = self.context.texts
        self.budgets = ui.element("div").classes("budgets")
        self._show_budgets(budgets)
        if schema:
            with ui.card().classes("w-full"), ui.expansion(text("queries.schema"), icon="schema").classes("w-full"):
                for one in schema:
                    _schema(self.context, one)
        grants = [one for one in budgets if "accounting" in one] or budgets
        if not grants:
            ui.label(text("queries.no_grant"))
            return
        with ui.card().classes("w-full gap-3"):
            self._form(grants)
        self.answers = ui.column().classes("w-full gap-4")

    def _show_budgets(self, budgets: list[dict[str, Any]]) -> None:
        text = self.context.texts
        self.budgets.clear()
        with self.budgets:
            for one in budgets:
                with ui.card().classes("gap-1"):
                    ui.label(_grant_name(one)).classes("mono")
                    ui.label(text("queries.left", left=one["budget_left"])).classes("budget-left").mark("left")
                    whole, left = _decimal(one["epsilon"]), _decimal(one["left"])
                    bar = ui.linear_progress(float(left / whole) if whole else 0, show_value=False)
                    bar.props("instant-feedback").props["aria-label"] = text("queries.left", left=one["budget_left"])
                    ui.label(text("queries.of", whole=number(float(whole)))).classes("quiet")

    def _form(self, grants: list[dict[str, Any]]) -> None:
        text = self.context.texts
        chosen = None
        if len(grants) > 1:
            names = {i: _grant_name(one) for i, one in enumerate(grants)}
            chosen = ui.select(names, value=0, label=text("queries.dataset")).props("outlined dense")
        question = ui.textarea(text("queries.question"), placeholder=text("queries.example"))
        question.props("outlined dense autogrow").classes("w-full mono")
        ui.label(text("queries.forms")).classes("quiet note")
        with ui.element("div").classes("options"):
            fields = {"epsilon": ui.input("epsilon", value="0.1"), "delta": ui.input("delta", value="0")}
            if any(one.get("accounting") == "zcdp" for one in grants):
                fields["rho"] = ui.input("rho")
            for field in fields.values():
                field.props("outlined dense inputmode=decimal")

        def asked() -> dict[str, Any]:
            grant, words = grants[0 if chosen is None else chosen.value], (question.value or "").strip()
            given = {name: (field.value or "").strip().replace(",", ".") for name, field in fields.items()}
            named = {"dataset": grant["dataset"], "purpose": grant.get("purpose") or None}
            found = {"query": words, **given, **named}
            return {name: value for name, value in found.items() if value not in (None, "")}

        async def call(button: ui.button, work: Callable[[dict[str, Any]], Any]) -> Any:
            fault.set_text("")
            with _waiting(button):
                try:
                    return await asyncio.to_thread(work, asked())
                except SfumatoError as error:
                    fault.set_text(text.said(str(error)))
                    return None

        async def price() -> None:
            said.set_text("")
            found = await call(price_button, self.client.cost)
            if found is not None:
                scales = ", ".join(number(one) for one in found["scales"])
                said.set_text(text("queries.price", cost=found["cost"], scales=scales, left=found["budget_left"]))

        async def ask() -> None:
            said.set_text("")
            words = (question.value or "").strip()
            found = await call(ask_button, self._ask)
            if found is not None:
                with self.answers:
                    _answer(self.context, words, found).move(self.answers, 0)
                self._show_budgets(await asyncio.to_thread(self.client.budget))

        with ui.row().classes("items-center gap-4"):
            price_button = ui.button(text("queries.cost"), on_click=price).props("outline").mark("price")
            ask_button = ui.button(text("queries.ask"), icon="send", on_click=ask).props("unelevated").mark("ask")
        said = ui.label().props("role=status").mark("priced")
        fault = _fault()

    def _ask(self, question: dict[str, Any]) -> Any:
        name = self.under_way.setdefault(repr(sorted(question.items())), secrets.token_hex(16))
        try:
            found = self.client.ask(question | {"request": name})
        except ReadError:
            raise  # perhaps it was answered: the same name next time
        except SfumatoError:
            self.under_way.pop(repr(sorted(question.items())))
            raise
        self.under_way.pop(repr(sorted(question.items())))
        return found


def _answer(context: PageContext, question: str, found: Mapping[str, Any]) -> ui.card:
    """A question and its answer, in numbers with their intervals."""
    text = context.texts
    with ui.card().classes("w-full gap-2 answer").mark("answer") as card:
        ui.label(question).classes("mono quiet")
        _value(context, found["value"], found["interval"])
        cost = text("queries.again") if found["again"] else text("queries.paid", cost=found["cost"])
        ui.label(f"{cost} {text('queries.noise', mechanism=found['mechanism'])}").classes("quiet")
        if found["clipped"] is not None:
            ui.label(text("queries.clipped", rows=found["clipped"])).classes("quiet")
    return card


def _value(context: PageContext, value: Any, ends: Any) -> None:
    text = context.texts
    if isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
        _rows(context, value, ends)
    elif isinstance(value, list) and isinstance(ends, list) and len(ends) == len(value):
        for one, own in zip(value, ends, strict=True):
            _value(context, one, own)
    elif isinstance(value, list | dict) or value is None:
        ui.label(_cell(value)).classes("mono path")
    else:
        ui.label(_cell(value)).classes("figure-value")
        if ends is not None:
            ui.label(text("queries.between", low=_cell(ends[0]), high=_cell(ends[1])))


def _rows(context: PageContext, rows: list[dict[str, Any]], ends: Any) -> None:
    """A table of numbers, with the interval of each; of several statistics, with those of each in their order."""
    text, names = context.texts, list(rows[0])
    lists: list[list[Any]] = []
    if isinstance(ends, list) and len(ends) == len(rows) and all(_is_pair(one) for one in ends):
        lists = [ends]
    elif isinstance(ends, list):
        lists = [one for one in ends if isinstance(one, list) and len(one) == len(rows)]
    with ui.element("div").classes("rows-grid").props("tabindex=0 role=group") as scrolled:
        scrolled.props["aria-label"] = text("queries.answer")
        table = ui.element("table").classes("lesson-rows")
    with table:
        with ui.element("thead"), ui.element("tr"):
            more = [text("queries.interval") + (f" {i + 1}" if len(lists) > 1 else "") for i in range(len(lists))]
            for name in (*names, *more):
                with ui.element("th").props("scope=col"):
                    ui.label(name)
        with ui.element("tbody"):
            for i, row in enumerate(rows[:MOST_ROWS]):
                with ui.element("tr"):
                    cells = [_cell(row.get(name)) for name in names]
                    cells += [f"{_cell(own[i][0])} – {_cell(own[i][1])}" if _is_pair(own[i]) else "" for own in lists]
                    for cell in cells:
                        with ui.element("td"):
                            ui.label(cell)
    if len(rows) > MOST_ROWS:
        ui.label(text("queries.more", rows=len(rows) - MOST_ROWS)).classes("quiet")


def _schema(context: PageContext, one: Mapping[str, Any]) -> None:
    """What is public of a dataset: its columns, and what may be asked."""
    text = context.texts
    ui.label(_grant_name(one)).classes("mono")
    with ui.element("dl").classes("told"):
        for name, kind in one["columns"].items():
            bounds, keys = one["bounds"].get(name), one["keys"].get(name)
            said = [str(kind)]
            if bounds is not None:
                said.append(text("queries.bounds", low=_cell(bounds[0]), high=_cell(bounds[1])))
            if keys is not None:
                said.append(", ".join(map(str, keys)))
            with ui.element("dt"):
                ui.label(name)
            with ui.element("dd"):
                ui.label(" · ".join(said))
    if one.get("queries"):
        ui.label(text("queries.allowed", queries=", ".join(one["queries"]))).classes("quiet")


def _grant_name(one: Mapping[str, Any]) -> str:
    return " · ".join(str(part) for part in (one["dataset"], one.get("purpose")) if part)


def _cell(value: Any) -> str:
    return number(value) if isinstance(value, float) else "–" if value is None else str(value)


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(isinstance(one, int | float) for one in value)


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        return Decimal(0)


def _fault() -> ui.label:
    return ui.label().classes("alarm faults").props("role=alert").mark("fault")


class _waiting:
    """A button that turns while its work is done."""

    def __init__(self, button: ui.button) -> None:
        self.button = button

    def __enter__(self) -> None:
        self.button.props("loading")

    def __exit__(self, *_: object) -> None:
        self.button.props(remove="loading")
