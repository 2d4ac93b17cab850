"""Roles: what each column tells, suggested with the reason, and decided by the steward."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nicegui import app, ui

from sfumato.studio.context import PageContext, with_progress
from sfumato.studio.layout import heading

ROLES = ("identifying", "quasi", "sensitive", "insensitive")
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

    async def take() -> None:
        with area:
            tables = await with_progress(context, "roles.suggested", context.asked())
        if tables is not None:
            context.change("suggestions", policy | tables)

    with area:
        with ui.row().classes("w-full items-center"):
            left = sum(role_of(policy, one["name"]) is None for one in found["columns"])
            ui.label(text("roles.left", count=left) if left else text("roles.done")).classes("grow")
            ui.button(text("roles.take"), on_click=take).props("unelevated" if left else "outline").mark("take")
        if found["risks"]:
            worst = found["risks"][-1]
            rows, share = text.said(worst["rows"]), text.said(worst["share"])
            said = text("roles.alone", rows=rows, share=share, columns=", ".join(worst["columns"]))
            ui.label(said).classes("alarm")
        _columns(context, policy, found["columns"])


def _columns(context: PageContext, policy: dict[str, Any], columns: list[dict[str, Any]]) -> None:
    """The columns, some at a time where there are many; which ones stays while roles are changed."""
    text = context.texts
    looked = app.storage.client.setdefault("roles", {"page": 1, "find": ""})

    def fill() -> None:
        fits = [one for one in columns if looked["find"].casefold() in one["name"].casefold()]
        pages = max(1, -(-len(fits) // SHOWN))
        looked["page"] = min(looked["page"], pages)
        grid.clear()
        with grid:
            for head in ("column", "role", "why"):
                ui.label(text(f"roles.{head}")).classes("quiet")
            for one in fits[(looked["page"] - 1) * SHOWN : looked["page"] * SHOWN]:
                _row(context, policy, one)
        if turn is not None:
            turn.max = pages

    def find(event: Any) -> None:
        looked.update(find=event.value or "", page=1)
        fill()

    def go(event: Any) -> None:
        looked["page"] = int(event.value)
        fill()

    turn: ui.pagination | None = None
    if len(columns) > SHOWN:
        with ui.row().classes("w-full items-center gap-4"):
            asked = ui.input(text("data.find"), value=looked["find"], on_change=find).mark("find")
            asked.props("outlined dense clearable debounce=300")
            turn = ui.pagination(1, -(-len(columns) // SHOWN), value=looked["page"], direction_links=True, on_change=go)
            turn.props("max-pages=6").props["aria-label"] = text("roles.pages")
    grid = ui.element("div").classes("studio-grid roles-grid")
    fill()


def _row(context: PageContext, policy: dict[str, Any], column: Mapping[str, Any]) -> None:
    text, name = context.texts, str(column["name"])
    ui.label(name).classes("mono")
    options = {role: text(f"roles.{role}") for role in (*ROLES, "weight")}

    def decide(event: Any) -> None:
        context.change("role", with_role(policy, name, event.value))

    chosen = ui.select(options, value=role_of(policy, name), on_change=decide).props("outlined dense options-dense")
    chosen.props["aria-label"] = text("roles.role_of", column=name)
    suggestion = text(f"roles.{column['role']}") if column["role"] in options else text("roles.undecided")
    ui.label(f"{suggestion}: {text.said(column['why'])}").classes("quiet")


def role_of(policy: Mapping[str, Any], column: str) -> str | None:
    """The role that a policy gives a column."""
    roles = policy.get("roles", {})
    if roles.get("weight") == column:
        return "weight"
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
    if role == "weight":
        roles["weight"] = column
    elif role == "quasi" and any(isinstance(one, list) for one in roles.get("quasi", [])):
        roles["quasi"] = [[*one, column] for one in roles["quasi"]]
    else:
        roles[role] = [*roles.get(role, []), column]
    return {**policy, "roles": {key: value for key, value in roles.items() if value}}
