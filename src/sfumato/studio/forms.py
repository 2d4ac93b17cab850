"""Forms: the parameters of a variant of any registry as fields, so that a new variant appears without a line here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any

from nicegui import ui

from sfumato.core.forms import as_text
from sfumato.studio.context import PageContext

TYPING = 400  # milliseconds of rest after which what was typed counts
WRITTEN = {"list": "a, b, c", "lists": "a, b / c", "mapping": "a=1, b=2|3"}  # how these are typed
_variants: dict[str, dict[str, Any]] = {}  # by kind: they stay as they are while the studio runs


async def variants(context: PageContext, kind: str) -> dict[str, Any]:
    """The variants of a registry by name, each with its title, summary, parameters and an example of these."""
    if kind not in _variants:
        found = await context.run("forms.variants", kind)
        if found is None:
            return {}
        _variants[kind] = found
    return _variants[kind]


def columns_by_role(policy: Mapping[str, Any], every: Sequence[str] = ()) -> dict[str, list[str]]:
    """The columns that a parameter may name, by what it refers to; `every` are those of the table, where it is known.

    >>> columns_by_role({"roles": {"quasi": ["age"], "sensitive": ["disease"]}})["column"]
    ['age', 'disease']
    """
    found: dict[str, list[str]] = {}
    for role, given in policy.get("roles", {}).items():
        if role in ("identifying", "quasi", "sensitive", "insensitive", "unprotected"):
            found[role] = [name for one in given for name in (one if isinstance(one, list) else [one])]
    quasi = list(dict.fromkeys(found.get("quasi", [])))
    secret = [*found.get("sensitive", []), *found.get("unprotected", [])]
    named = list(dict.fromkeys(name for names in found.values() for name in names))
    of_roles = {"quasi-identifier": quasi, "sensitive column": secret or quasi}
    return {"column": list(every) or named, "identifying": found.get("identifying", []), **of_roles}


EITHER = ("sampling_fraction",)  # needed unless another is given: a form begins with it


def first_values(
    variant: Mapping[str, Any], columns: Mapping[str, Sequence[str]], example: bool = False
) -> dict[str, Any]:
    """What the parameters that must be given are at first: those of the example, with columns of this table; with
    `example` also what else the example says, but for its columns."""
    found: dict[str, Any] = {}
    for parameter in variant["parameters"]:
        name, there = parameter["name"], columns.get(parameter["refers_to"] or "column", [])
        value = variant["example"].get(name)
        of_columns = parameter["type"] in ("column", "columns") or parameter["refers_to"] == "column"
        if not parameter["required"]:
            if (
                (example or name in EITHER)
                and not of_columns
                and value not in (None, [], {})
                and value != parameter["default"]
            ):
                found[name] = value
        elif parameter["type"] == "column":
            taken = [value for value in found.values() if isinstance(value, str)]
            found[name] = next((one for one in there if one not in taken), next(iter(there), None))
        elif parameter["type"] == "path":
            found[name] = f"private/{name}"
        elif not of_columns or not example:
            found[name] = value
    return {name: value for name, value in found.items() if value is not None}


class Form:
    """Fields for the parameters of a variant. `changed` is called with its plain values when these are right, `failed`
    when they are not.

    `only` are the parameters that are asked, all unless given; `first` stand before the others with those that must be
    given or are, and with `folded` the others are folded. `beside` draws something below the field of a parameter.
    """

    def __init__(
        self,
        context: PageContext,
        kind: str,
        name: str,
        values: Mapping[str, Any],
        columns: Mapping[str, Sequence[str]],
        changed: Callable[[dict[str, Any]], Awaitable[None]],
        *,
        only: Collection[str] | None = None,
        first: Collection[str] = (),
        folded: bool = True,
        beside: Mapping[str, Callable[[Any], None]] | None = None,
        failed: Callable[[], None] | None = None,
    ) -> None:
        self.context, self.kind, self.name, self.changed = context, kind, name, changed
        self.columns, self.values = columns, dict(values)
        self.only, self.first, self.folded, self.beside, self.failed = only, first, folded, beside or {}, failed
        self.fields: dict[str, Any] = {}
        self.fault = ui.label().classes("alarm faults w-full").props("role=alert")
        self.fault.set_visibility(False)

    async def draw(self) -> None:
        """Those that come first, then the others."""
        known = (await variants(self.context, self.kind))[self.name]["parameters"]
        asked = [p for p in known if self.only is None or p["name"] in self.only]
        shown = [p for p in asked if p["required"] or p["name"] in self.values or p["name"] in self.first]
        more = [p for p in asked if p not in shown]
        if not self.folded:
            shown, more = asked, []
        if shown:
            with ui.element("div").classes("form-grid"):
                for parameter in shown:
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
        label = self.context.texts.parameter(self.name, name)
        there = self.columns.get(parameter["refers_to"] or "column", [])
        if kind in ("whole number", "number") and not choices and not parameter["many"]:
            field: Any = ui.number(label, value=value).props(f"debounce={TYPING}")
        elif kind == "yes or no":
            field = ui.switch(label, value=bool(value))
        elif kind == "choice" and parameter["many"]:
            field = ui.select(choices, label=label, value=list(value or ()), multiple=True).props("use-chips")
        elif kind == "choice":
            field = ui.select(choices, label=label, value=value if value in choices else None)
        elif kind == "variant" and not parameter["many"]:
            names = list(await variants(self.context, parameter["refers_to"]))
            field = ui.select(names, label=label, value=value if value in names else None)
        elif kind == "column":
            named = [value] if value and value not in there else []
            field = ui.select([*there, *named], label=label, value=value)
        elif kind == "columns":
            given = [value] if isinstance(value, str) else list(value or ())
            field = ui.select([*there, *(one for one in given if one not in there)], label=label, value=given,
                              multiple=True).props("use-chips")  # fmt: skip
        elif kind == "mapping" or (kind == "list" and parameter["required"]):
            field = ui.textarea(label, value=_lines(value)).props(f"autogrow debounce={TYPING}").classes("form-beside")
        else:
            field = ui.input(label, value=as_text(value), autocomplete=choices or None).props(f"debounce={TYPING}")
        if kind != "yes or no":
            field.props("outlined dense stack-label hide-bottom-space")
            if not parameter["required"] and kind in ("choice", "column", "variant", "number", "whole number"):
                field.props("clearable")
            field.props["hint"] = self._hint(parameter)
        else:
            field.tooltip(self._hint(parameter))
        if label not in (name, name.replace("_", " ")):  # what the policy calls it
            field.props["title"] = name
        field.on_value_change(self._settle)
        self.fields[name] = (parameter, field.mark(f"{self.name} {name}"))
        if name in self.beside:
            with ui.element("div").classes("form-beside"):
                self.beside[name](field)

    def _hint(self, parameter: Mapping[str, Any]) -> str:
        """What it is, and within which bounds."""
        said = self.context.texts.said(parameter["help"]).replace("`", "") if parameter["help"] else ""
        bounds = parameter["allowed"].removeprefix(parameter["type"]).strip() if parameter["range"] is not None else ""
        several = parameter["many"] and not parameter["choices"]
        allowed = WRITTEN.get(parameter["type"]) or (WRITTEN["list"] if several else bounds)
        allowed = self.context.texts.said(allowed).replace(">=", "≥").replace("<=", "≤")
        return f"{said} ({allowed})" if allowed else said

    async def _settle(self) -> None:
        """Check what the fields hold, and hand it on where it is right."""
        given = {name: value for name, value in self.values.items() if name not in self.fields}
        for name, (parameter, field) in self.fields.items():
            value, default = field.value, parameter["default"]
            unchanged = value == default or (isinstance(value, str) and value in (as_text(default), _lines(default)))
            if value not in (None, "", []) and (not unchanged or name in self.values):
                given[name] = value
        slot = f"form {id(self)}"
        found = await self.context.run("forms.filled", self.kind, self.name, given, slot=slot)
        if found is None or self.fault.is_deleted:
            return
        faults = {name or "": self.context.texts.said(fault) for name, fault in found["faults"]}
        for name, (_, field) in self.fields.items():
            field.props["error"], field.props["error-message"] = name in faults, faults.pop(name, "")
        self.fault.set_text("\n".join(faults.values()))
        self.fault.set_visibility(bool(faults))
        if not found["faults"]:
            self.values = found["values"]
            await self.changed(found["values"])
        elif self.failed is not None:
            self.failed()


def _lines(value: Any) -> str:
    """A list or a mapping with a line for each of it.

    >>> _lines({"age": [0, 120], "pay": [0, 9000]})
    'age=0|120\\npay=0|9000'
    """
    if isinstance(value, Mapping):
        return "\n".join(as_text({key: one}) for key, one in value.items())
    return "\n".join(as_text([one]) for one in value) if isinstance(value, list | tuple) else as_text(value)
