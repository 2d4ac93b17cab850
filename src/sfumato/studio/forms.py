"""Forms: the parameters of a variant of any registry as fields, so that a new variant appears without a line here."""

from __future__ import annotations

import csv
import io
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from nicegui import ui

from sfumato.studio.context import PageContext

TYPING = 400  # milliseconds of rest after which what was typed counts
_variants: dict[str, dict[str, Any]] = {}  # by kind: they stay as they are while the studio runs


async def variants(context: PageContext, kind: str) -> dict[str, Any]:
    """The variants of a registry by name, each with its title, summary, parameters and an example of these."""
    if kind not in _variants:
        found = await context.run("forms.variants", kind)
        if found is None:
            return {}
        _variants[kind] = found
    return _variants[kind]


def columns_by_role(policy: Mapping[str, Any]) -> dict[str, list[str]]:
    """The columns that a parameter may name, by what it refers to.

    >>> columns_by_role({"roles": {"quasi": ["age"], "sensitive": ["disease"]}})["column"]
    ['age', 'disease']
    """
    found: dict[str, list[str]] = {}
    for role, given in policy.get("roles", {}).items():
        if role in ("identifying", "quasi", "sensitive", "insensitive", "unprotected"):
            found[role] = [name for one in given for name in (one if isinstance(one, list) else [one])]
    quasi = list(dict.fromkeys(found.get("quasi", [])))
    secret = [*found.get("sensitive", []), *found.get("unprotected", [])]
    every = list(dict.fromkeys(name for names in found.values() for name in names))
    return {"column": every, "quasi-identifier": quasi, "sensitive column": secret or quasi}


def first_values(variant: Mapping[str, Any], columns: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """What the parameters that must be given are at first: those of the example, with columns of this table."""
    found: dict[str, Any] = {}
    for parameter in variant["parameters"]:
        name, there = parameter["name"], columns.get(parameter["refers_to"] or "column", [])
        if not parameter["required"]:
            continue
        if parameter["type"] == "column":
            taken = [value for value in found.values() if isinstance(value, str)]
            found[name] = next((one for one in there if one not in taken), next(iter(there), None))
        else:
            found[name] = variant["example"].get(name)
    return {name: value for name, value in found.items() if value is not None}


class Form:
    """Fields for the parameters of a variant. `changed` is called with its plain values when these are right."""

    def __init__(
        self,
        context: PageContext,
        kind: str,
        name: str,
        values: Mapping[str, Any],
        columns: Mapping[str, Sequence[str]],
        changed: Callable[[dict[str, Any]], Awaitable[None]],
    ) -> None:
        self.context, self.kind, self.name, self.changed = context, kind, name, changed
        self.columns, self.values = columns, dict(values)
        self.fields: dict[str, Any] = {}
        self.fault = ui.label().classes("alarm w-full").props("role=alert")
        self.fault.set_visibility(False)

    async def draw(self) -> None:
        """Those that must be given or are, then the others, folded."""
        parameters = (await variants(self.context, self.kind))[self.name]["parameters"]
        first = [p for p in parameters if p["required"] or p["name"] in self.values]
        more = [p for p in parameters if p not in first]
        if first:
            with ui.element("div").classes("form-grid"):
                for parameter in first:
                    await self._field(parameter)
        if more:
            with ui.expansion(self.context.texts("forms.more")).classes("form-more w-full").props("dense") as folded:
                folded.mark("more")
                with ui.element("div").classes("form-grid"):
                    for parameter in more:
                        await self._field(parameter)

    async def _field(self, parameter: Mapping[str, Any]) -> None:
        name, kind, choices = parameter["name"], parameter["type"], parameter["choices"]
        value = self.values.get(name, parameter["default"])
        label = name.replace("_", " ")
        there = self.columns.get(parameter["refers_to"] or "column", [])
        if kind in ("whole number", "number") and not choices:
            field: Any = ui.number(label, value=value).props(f"debounce={TYPING}")
        elif kind == "yes or no":
            field = ui.switch(label, value=bool(value))
        elif kind == "choice":
            field = ui.select(choices, label=label, value=value if value in choices else None)
        elif kind == "variant":
            names = list(await variants(self.context, parameter["refers_to"]))
            field = ui.select(names, label=label, value=value if value in names else None)
        elif kind == "column":
            named = [value] if value and value not in there else []
            field = ui.select([*there, *named], label=label, value=value)
        elif kind == "columns":
            given = [value] if isinstance(value, str) else list(value or ())
            field = ui.select([*there, *(one for one in given if one not in there)], label=label, value=given,
                              multiple=True).props("use-chips")  # fmt: skip
        else:
            field = ui.input(label, value=as_text(value), autocomplete=choices or None).props(f"debounce={TYPING}")
        if kind != "yes or no":
            field.props("outlined dense stack-label hide-bottom-space")
            if not parameter["required"] and kind in ("choice", "column", "variant", "number", "whole number"):
                field.props("clearable")
            field.props["hint"] = self._hint(parameter)
        else:
            field.tooltip(self._hint(parameter))
        field.on_value_change(self._settle)
        self.fields[name] = (parameter, field.mark(f"{self.name} {name}"))

    def _hint(self, parameter: Mapping[str, Any]) -> str:
        """What it is, and within which bounds."""
        said = self.context.texts.said(parameter["help"]) if parameter["help"] else ""
        bounds = parameter["allowed"].removeprefix(parameter["type"]).strip() if parameter["range"] is not None else ""
        allowed = WRITTEN.get(parameter["type"]) or bounds
        allowed = self.context.texts.said(allowed).replace(">=", "≥").replace("<=", "≤")
        return f"{said} ({allowed})" if allowed else said

    async def _settle(self) -> None:
        """Check what the fields hold, and hand it on where it is right."""
        given = {}
        for name, (parameter, field) in self.fields.items():
            value = field.value
            unchanged = value == parameter["default"] or value == as_text(parameter["default"])
            if value in (None, "", []) or (unchanged and name not in self.values):
                continue
            whole = isinstance(value, float) and value.is_integer() and parameter["type"] == "whole number"
            given[name] = int(value) if whole else value
        slot = f"form {id(self)}"
        found = await self.context.run("forms.filled", self.kind, self.name, given, slot=slot)
        if found is None:
            return
        faults = {name or "": self.context.texts.said(fault) for name, fault in found["faults"]}
        for name, (_, field) in self.fields.items():
            field.props["error"], field.props["error-message"] = name in faults, faults.pop(name, "")
        self.fault.set_text(" ".join(faults.values()))
        self.fault.set_visibility(bool(faults))
        if not found["faults"]:
            self.values = found["values"]
            await self.changed(found["values"])


WRITTEN = {"list": "a, b, c", "mapping": "a=1, b=2"}  # how these are typed


def as_text(value: Any) -> str:
    """A list or a mapping as it is typed into a field, as `core.forms.read_text` reads it.

    >>> as_text({"HIV": 3, "flu, mild": 2}), as_text(["a", 2]), as_text(None)
    ('HIV=3,"flu, mild=2"', 'a,2', '')
    """
    if isinstance(value, Mapping):
        value = [f"{key}={one}" for key, one in value.items()]
    if not isinstance(value, list | tuple):
        return "" if value is None else str(value)
    row = io.StringIO()
    csv.writer(row, lineterminator="").writerow(value)
    return row.getvalue()
