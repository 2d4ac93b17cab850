"""Roles: what each column tells, suggested with the reason, and decided by the steward."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nicegui import app, ui

from sfumato.studio.context import PageContext, with_progress
from sfumato.studio.layout import heading

ROLES = ("identifying", "quasi", "sensitive", "insensitive")
ALONE = ("weight", "person", "household")  # of one column each
SHOWN = 100  # columns at a time


async def draw(context: PageContext) -> None:
    """A row per column."""
    text, policy = context.texts, context.policy
    heading(context, "roles")
    if "input" not in policy:
        ui.link(text("studio.choose_table"), f"/project/{context.project.name}/data")  # type: ignore[union-attr]
        return
    area = ui.column().classes("w-full")
    with area, ui.row().classes("items-center quiet"):
        ui.spinner(size="1.2em").props("aria-hidden=true")
        ui.label(text("data.reading")).props("role=status")
    found = await context.run("roles.inspected", context.asked(), slot=f"roles {ui.context.client.id}")
    area.clear()
    if found is None:
        return

    with area:
        given = _Roles(context, found["columns"])
        with ui.row().classes("w-full items-center"):
            given.said = ui.label().classes("grow")
            given.take = ui.button(text("roles.take"), on_click=lambda: _take(context, area)).mark("take")
        if found["risks"]:
            worst = found["risks"][-1]
            rows, share = text.said(worst["rows"]), text.said(worst["share"])
            said = text("roles.alone", rows=rows, share=share, columns=", ".join(worst["columns"]))
            ui.label(said).classes("alarm")
        given.draw()
        given.tell()


async def _take(context: PageContext, area: ui.column) -> None:
    with area:
        tables = await with_progress(context, "roles.suggested", context.asked())
    if tables is not None:
        context.change("suggestions", context.policy | tables)


class _Roles:
    """The columns with their roles, some at a time where there are many.

    A role that is chosen here is shown at once, and the page stays as it is: whoever goes through the columns keeps
    the place, and the list that may be open already for the next one.
    """

    said: ui.label
    take: ui.button

    def __init__(self, context: PageContext, columns: list[dict[str, Any]]) -> None:
        self.context, self.columns = context, columns
        self.fields: dict[str, ui.select] = {}
        self.looked = app.storage.client.setdefault("roles", {"page": 1, "find": ""})
        self.turn: ui.pagination | None = None

    def tell(self) -> None:
        """How many columns have no role yet; the roles themselves, of which a choice may take one from another."""
        text, policy = self.context.texts, self.context.policy
        left = sum(role_of(policy, str(one["name"])) is None for one in self.columns)
        self.said.set_text(text("roles.left", count=left) if left else text("roles.done"))
        self.take.props("unelevated", remove="outline") if left else self.take.props("outline", remove="unelevated")
        for name, field in self.fields.items():
            field.set_value(role_of(policy, name))

    def draw(self) -> None:
        """What finds and turns pages where there are many columns, and the columns."""
        text, looked = self.context.texts, self.looked
        if len(self.columns) > SHOWN:
            pages = -(-len(self.columns) // SHOWN)
            with ui.row().classes("w-full items-center gap-4"):
                asked = ui.input(text("data.find"), value=looked["find"], on_change=self._find).mark("find")
                asked.props("outlined dense clearable debounce=300")
                self.turn = ui.pagination(1, pages, value=looked["page"], direction_links=True, on_change=self._go)
                self.turn.props("max-pages=6").props["aria-label"] = text("roles.pages")
        self.grid = ui.element("div").classes("studio-grid roles-grid")
        self._fill()

    def _fill(self) -> None:
        text, looked, policy = self.context.texts, self.looked, self.context.policy
        fits = [one for one in self.columns if looked["find"].casefold() in one["name"].casefold()]
        pages = max(1, -(-len(fits) // SHOWN))
        looked["page"] = min(looked["page"], pages)
        self.grid.clear()
        self.fields.clear()
        with self.grid:
            for head in ("column", "role", "why"):
                ui.label(text(f"roles.{head}")).classes("quiet")
            for one in fits[(looked["page"] - 1) * SHOWN : looked["page"] * SHOWN]:
                self._row(policy, one)
        if self.turn is not None:
            self.turn.max = pages

    def _find(self, event: Any) -> None:
        self.looked.update(find=event.value or "", page=1)
        self._fill()

    def _go(self, event: Any) -> None:
        self.looked["page"] = int(event.value)
        self._fill()

    def _row(self, policy: Mapping[str, Any], column: Mapping[str, Any]) -> None:
        text, name = self.context.texts, str(column["name"])
        ui.label(name).classes("mono")
        options = {role: text(f"roles.{role}") for role in (*ROLES, *ALONE)}
        chosen = ui.select(options, value=role_of(policy, name))
        chosen.on_value_change(lambda event: self._decide(name, event.value))
        chosen.props("outlined dense options-dense").props["aria-label"] = text("roles.role_of", column=name)
        self.fields[name] = chosen
        suggestion = text(f"roles.{column['role']}") if column["role"] in options else text("roles.undecided")
        ui.label(f"{suggestion}: {text.said(column['why'])}").classes("quiet")

    def _decide(self, name: str, role: str | None) -> None:
        policy = self.context.policy
        if role is not None and role != role_of(policy, name):  # else it was set by what was decided before
            self.context.change("role", with_role(policy, name, role), redraw=False)
            self.tell()


def role_of(policy: Mapping[str, Any], column: str) -> str | None:
    """The role that a policy gives a column."""
    roles = policy.get("roles", {})
    if alone := next((role for role in ALONE if roles.get(role) == column), None):
        return alone
    return next((role for role in ROLES if column in _flat(roles.get(role, []))), None)


def _flat(names: list[Any]) -> list[str]:
    return [name for one in names for name in (one if isinstance(one, list) else [one])]


def with_role(policy: Mapping[str, Any], column: str, role: str) -> dict[str, Any]:
    """A policy in which a column has another role."""
    roles = {key: value for key, value in policy.get("roles", {}).items() if value != column}
    for key, value in roles.items():
        if isinstance(value, list):
            roles[key] = [[name for name in one if name != column] if isinstance(one, list) else one
                          for one in value if one != column]  # fmt: skip
    if role in ALONE:
        roles[role] = column
    elif role == "quasi" and any(isinstance(one, list) for one in roles.get("quasi", [])):
        roles["quasi"] = [[*one, column] for one in roles["quasi"]]
    else:
        roles[role] = [*roles.get(role, []), column]
    return {**policy, "roles": {key: value for key, value in roles.items() if value}}
