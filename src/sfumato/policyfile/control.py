"""Control of a statistical database in a policy: which controls, which columns are values and which keys."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from sfumato.core.wording import count
from sfumato.errors import PolicyError, did_you_mean
from sfumato.policyfile.file import load
from sfumato.policyfile.tables import Faults, PolicyTable, make_variant

EXAMPLE = '["sum-auditing", {name = "query-set-size", k = 3}]'


def _listed(value: object) -> object:
    return [value] if isinstance(value, str | dict) else value


class ControlTable(PolicyTable):
    """What keeps exact answers safe: the keywords of `StatisticalDatabase`."""

    controls: Annotated[list[str | dict[str, Any]], BeforeValidator(_listed)]
    values: list[str] = Field(default=[])
    keys: list[str] | None = None
    bounds: dict[str, list[int | float]] = Field(default={})
    users: Literal["together", "apart"] = "together"
    auditing: Literal["simulatable", "offline"] = "simulatable"


def control_keywords(table: ControlTable, faults: Faults, *key: str | int) -> dict[str, Any]:
    """The keywords of the database, or faults."""
    from sfumato.control import QUERY_CONTROLS

    made = []
    for one in table.controls:
        given = {"name": one} if isinstance(one, str) else dict(one)
        name = given.pop("name", None)
        if not isinstance(name, str):
            faults.tell(f"a control has a name, as in {EXAMPLE}", *key, "controls")
            continue
        found = make_variant(QUERY_CONTROLS, "control", name, given, faults, (*key, "controls"), ("name",))
        if found is not None:
            made.append(found)
    if not table.controls:
        faults.tell(f"there is no control; name some, as {EXAMPLE}", *key, "controls")
    if table.keys is None and any(one.audits for one in made):
        faults.tell("keys is missing; name the columns that everybody may know of everybody", *key, "keys")
    return {
        "controls": made,
        "values": table.values,
        "keys": table.keys,
        "bounds": table.bounds,
        "users": table.users,
        "auditing": table.auditing,
    }


def read_control(path: str | Path) -> dict[str, Any]:
    """The keywords of a statistical database from the table [control] of a file, or PolicyError with every fault."""
    from sfumato.policyfile.file import checked_table

    draft = load(path)
    faults = Faults(draft.places, draft.faults)
    for name in draft.tables:
        if name != "control":
            faults.tell(f'unknown table "{name}"; {did_you_mean(name, ["control"]) or "the table is control"}', name)
    found: dict[str, Any] = {}
    if not isinstance(draft.tables.get("control"), Mapping):
        faults.append(f"there is no control; add [control] with controls = {EXAMPLE}")
    else:
        table, bad = checked_table(draft, "control", faults, ControlTable)
        if isinstance(table, ControlTable) and not bad:
            found = control_keywords(table, faults, "control")
    if faults:
        raise PolicyError(f"{draft.name} has {count(len(faults), 'fault')}:", list(faults))
    return found
