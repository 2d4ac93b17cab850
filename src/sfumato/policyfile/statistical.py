"""Policies of statistical tables: [input], [table] or several [[tables]], [hierarchies], [[rule]], [protect] and
[output] of a file, as `tabulate` and `protect` are asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field

from sfumato.errors import PolicyError, did_you_mean
from sfumato.policyfile.baskets import BasketOutput
from sfumato.policyfile.file import Draft, checked_table
from sfumato.policyfile.tables import Faults, Origin, PolicyTable, make_recipe, make_variant

TABLES = ("input", "table", "tables", "hierarchies", "rule", "protect", "output")


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


class TabulationTable(PolicyTable):
    by: Annotated[list[str] | None, BeforeValidator(_listed)] = None
    value: str | None = None
    weight: str | None = None
    contributor: str | None = None
    request: str | None = None
    record: str | None = None
    largest: Annotated[int, Field(ge=2, le=100)] | None = None
    levels: dict[str, Annotated[int, Field(ge=0)]] | None = None


class LinkedTabulation(TabulationTable):
    name: str | None = None
    hierarchies: dict[str, Any] | None = None


class ProtectTable(PolicyTable):
    model_config = ConfigDict(extra="allow", strict=True)  # the method's own parameters stand beside its name

    method: str = "exact"
    cost: str | None = None
    zeros: str | None = None
    publish: list[dict[str, Any]] | None = None
    hide: list[dict[str, Any]] | None = None
    coalition: Annotated[int, Field(ge=0, le=10)] | None = None
    flags: bool | None = None
    beside: Annotated[list[str] | None, BeforeValidator(_listed)] = None


@dataclass(frozen=True)
class StatisticalPolicy:
    """A checked policy of a statistical table, or of several: what to read, how to count and protect it, where the
    release goes."""

    source: Origin
    counting: dict[str, Any]  # the keywords of `tabulate`
    several: dict[str, dict[str, Any]]  # the same by table, where there is a set of them
    protecting: dict[str, Any]  # and of `protect`
    output: Path
    format: str
    overwrite: bool


def check_statistical(draft: Draft) -> StatisticalPolicy:
    """The policy ready for use, or PolicyError with every fault."""
    from sfumato.tables import CELL_RULES, PROTECTIONS

    faults = Faults(draft.places, draft.faults)
    for name in draft.tables:
        if name not in TABLES:
            hint = did_you_mean(name, TABLES) or f"the tables of a statistical table are {', '.join(TABLES)}"
            faults.tell(f'unknown table "{name}"; {hint}', name)
    source = draft.source()
    if source is None:
        checked_table(draft, "input", faults)
    several = _several(draft, faults) if "tables" in draft.tables else {}
    counted, bad = checked_table(draft, "table", faults, TabulationTable)
    protect, _ = checked_table(draft, "protect", faults, ProtectTable)
    output, bad_output = checked_table(draft, "output", faults, BasketOutput)
    assert isinstance(counted, TabulationTable)
    assert isinstance(protect, ProtectTable)
    assert isinstance(output, BasketOutput)
    if several and "table" in draft.tables:
        faults.tell("is one table, and [[tables]] are several: name the columns under one of them", "table")
    elif counted.by is None and "by" not in bad and "tables" not in draft.tables:
        faults.tell("by is missing; name the columns that cells are counted by, or give --by", "table", "by")
    named = {name for one in several.values() for name in one["by"]} if several else {*(counted.by or ())}
    trees = _hierarchies(draft, named, faults)
    for one in several.values():
        own = {name: tree for name, tree in trees.items() if name in one["by"]} | one.pop("hierarchies", {})
        one |= {"hierarchies": own} if own else {}
    rules = _rules(draft, CELL_RULES, faults)
    extra = dict(protect.model_extra or {})
    method = make_variant(PROTECTIONS, "method", protect.method, extra, faults, ("protect",), ProtectTable.model_fields)
    if output.path is None and "path" not in bad_output:
        faults.tell("path is missing; name a folder, or give -o", "output", "path")
    if faults:
        what = f"{draft.name} has {len(faults)} fault{'s' if len(faults) > 1 else ''}:"
        raise PolicyError(what, list(faults))
    assert source is not None
    own = protect.model_dump(include=set(ProtectTable.model_fields) - {"method"})
    given = {name: value for name, value in own.items() if value is not None}
    if protect.beside is not None:
        given["beside"] = [draft.folder / one for one in protect.beside]
    keywords = {name: value for name, value in counted.model_dump().items() if value is not None}
    given |= {"rules": rules, "method": method}
    return StatisticalPolicy(
        source, keywords | ({"hierarchies": trees} if trees else {}), several, given,
        draft.folder / str(output.path), output.format or "csv", output.overwrite,
    )  # fmt: skip


def _several(draft: Draft, faults: Faults) -> dict[str, dict[str, Any]]:
    """The keywords of `tabulate` of each of several tables."""
    written = draft.tables["tables"]
    if not isinstance(written, list) or not all(isinstance(one, Mapping) for one in written):
        faults.tell('must be a list of tables, each under [[tables]], as by = ["region"]', "tables")
        return {}
    found: dict[str, dict[str, Any]] = {}
    for number, one in enumerate(written, 1):
        checked, bad = checked_table(
            replace(draft, tables={**draft.tables, "tables": dict(one)}), "tables", faults, LinkedTabulation
        )
        assert isinstance(checked, LinkedTabulation)
        name = checked.name or f"table-{number}"
        if name in found:
            faults.tell(f"two tables have the name of table {number}", "tables")
        if checked.by is None and "by" not in bad:
            faults.tell(f"by is missing of table {number}; name the columns it is counted by", "tables")
        written_keys = checked.model_dump(exclude={"name", "hierarchies"})
        keywords = {key: value for key, value in written_keys.items() if value is not None}
        own = replace(draft, tables={"hierarchies": checked.hierarchies or {}})
        trees = _hierarchies(own, checked.by or (), faults)
        found[name] = {"by": [], **keywords, **({"hierarchies": trees} if trees else {})}
    return found


def _hierarchies(draft: Draft, by: Any, faults: Faults) -> dict[str, Any]:
    found = {}
    given = draft.tables.get("hierarchies", {})
    for name, spec in given.items() if isinstance(given, Mapping) else ():
        if name not in by:
            faults.tell("is of no column that cells are counted by", "hierarchies", name)
        elif (recipe := make_recipe(spec, draft.folder, faults, "hierarchies", name)) is not None:
            found[name] = recipe
    return found


def _rules(draft: Draft, registry: Any, faults: Faults) -> list[Any]:
    written = draft.tables.get("rule", [])
    if not isinstance(written, list) or not all(isinstance(one, Mapping) for one in written):
        faults.tell('must be a list of tables, each under [[rule]], as rule = "minimum-frequency", n = 3', "rule")
        return []
    found = []
    for number, one in enumerate(written):
        name = one.get("rule")
        if not isinstance(name, str):
            faults.tell(f'rule {number + 1} is without a name, as rule = "minimum-frequency"', "rule")
            continue
        parameters = {key: value for key, value in one.items() if key != "rule"}
        made = make_variant(registry, "rule", name, parameters, faults, ("rule",), ("rule",))
        if made is not None:
            found.append(made)
    if not written:
        faults.tell('there is no rule; say which cells are unsafe under [[rule]], or give --rule "minimum-frequency 3"',
                    "rule")  # fmt: skip
    return found
