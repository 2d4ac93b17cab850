"""Roles: what each column tells, suggested with the reason, and decided by the steward."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nicegui import ui

from sfumato.studio.context import PageContext, with_progress
from sfumato.studio.layout import heading

ROLES = ("identifying", "quasi", "sensitive", "insensitive")


async def draw(context: PageContext) -> None:
    """A row per column."""
    text, policy = context.texts, context.policy
    heading(context, "roles")
    if "input" not in policy:
        ui.link(text("studio.choose_table"), f"/project/{context.project.name}/data")  # type: ignore[union-attr]
        return
    area = ui.column().classes("w-full")
    found = await context.run("roles.inspected", context.asked(), slot=f"roles {ui.context.client.id}")
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
        with ui.element("div").classes("studio-grid roles-grid"):
            for head in ("column", "role", "why"):
                ui.label(text(f"roles.{head}")).classes("quiet")
            for one in found["columns"]:
                _row(context, policy, one)


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
