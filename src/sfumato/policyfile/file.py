"""Policy files: a TOML file, checked in full, as keyword arguments for `anonymize`.

All faults of a file are reported together, each with its table, key and line. Flags of the command line are laid over
the same tables before the check, so that both ways in obey the same rules. Relative paths start at the file's folder.
The address of a database is no path.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import PydanticCustomError

from sfumato.core.roles import ROLES, Roles, check_roles, contradictions
from sfumato.errors import PolicyError, SfumatoError, did_you_mean
from sfumato.policyfile.input import Origin, input_faults, output_faults, search_faults
from sfumato.policyfile.places import Key, Places
from sfumato.policyfile.tables import (
    MODELS,
    TABLES,
    InputTable,
    Output,
    PolicyTable,
    RolesTable,
    SearchTable,
    in_our_words,
    level_range,
    make_recipe,
    make_variant,
)
from sfumato.release.destination import Folder
from sfumato.release.destination import Table as NewTable


@dataclass(frozen=True)
class Draft:
    """A policy as written: its tables, the folder its paths start from, and where each key stands."""

    tables: dict[str, Any]
    folder: Path
    name: str
    places: Places = field(default_factory=Places)
    faults: tuple[str, ...] = ()  # seen while it was put together

    def source(self) -> Origin | None:
        """Where the table is and how it is read, faulty keys left out; None where [input] has no path."""
        table, bad = _table(self, "input", InputTable, [])
        return None if "path" in bad or not isinstance(table, InputTable) else Origin.of(table, self.folder)


@dataclass(frozen=True)
class PolicyFile:
    """A checked policy: what to read, what `anonymize` is asked, where the release goes.

    `input` is a path, an address or a list of paths; `output` is None where the release is a table without a folder.
    """

    input: Any
    reader: dict[str, Any]
    roles: Roles
    require: tuple[Any, ...]
    search: Any
    loss: Any
    suppression: int | float
    hierarchies: dict[str, Any]
    levels: dict[str, tuple[int, int]]
    seed: int | None
    order: str
    normalise: bool | list[str]
    ends: str
    output: Path | None
    format: str
    overwrite: bool
    table: str | None = None  # that the release is
    max_cells: int | None = None
    profile: str | None = None  # the standard that the release is held to

    def keywords(self) -> dict[str, Any]:
        """The keyword arguments of `anonymize`."""
        names = (
            "require",
            "search",
            "loss",
            "suppression",
            "hierarchies",
            "levels",
            "ends",
            "seed",
            "order",
            "normalise",
            "profile",
        )
        roles = {"quasi": [list(names) for names in self.roles.quasi], "weight": self.roles.weight}
        listed = ("identifying", "sensitive", "insensitive", "unprotected")
        roles |= {role: list(getattr(self.roles, role)) for role in listed}
        roles["rest"] = self.roles.rest
        return roles | {name: getattr(self, name) for name in names}

    def stored(self) -> dict[str, Any]:
        """Those for an out-of-core table: where its release goes, and how many cells may be held."""
        if self.table is not None:
            to: Any = NewTable(self.table, self.overwrite, self.output)
        else:
            assert self.output is not None  # no table: checked
            to = Folder(self.output, self.format, self.overwrite)
        return {"to": to} | ({} if self.max_cells is None else {"max_cells": self.max_cells})


def load(path: str | Path) -> Draft:
    """Read a policy file; PolicyError where it is not TOML."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
        tables = tomllib.loads(text)
    except OSError as error:
        raise PolicyError(f'the policy file "{path}" cannot be read', got=error.strerror) from None
    except UnicodeDecodeError:
        raise PolicyError(f'the policy file "{path}" is not UTF-8 text') from None
    except tomllib.TOMLDecodeError as error:
        where = re.search(r"\(at .*\)$", str(error))
        fault = f"not TOML {where[0] if where else ''}: {re.sub(r' *[(]at .*[)]$', '', str(error))}"
        raise PolicyError(f'the policy file "{path}" has 1 fault:', [fault]) from None
    except ValueError:
        raise PolicyError(f'the policy file "{path}" has 1 fault:', ["a number has too many digits"]) from None
    except RecursionError:
        raise PolicyError(f'the policy file "{path}" has lists or tables nested too deeply') from None
    return Draft(tables, path.parent, f'the policy file "{path}"', Places.of(text, tables))


def check(
    draft: Draft,
    columns: Sequence[str] | None = None,
    unread: SfumatoError | None = None,
    *,
    stored: bool | None = None,
    format: str = "csv",
) -> PolicyFile:
    """The policy ready for use, or PolicyError with every fault.

    `columns` is the header of the input, where it could be read; `unread` the reason where it could not, raised by
    itself where the policy has no fault of its own. `stored` is whether the table is not in memory: by default as the
    policy says; `format` that of a release for which it says nothing.
    """
    faults = list(draft.faults)
    read = {name: _table(draft, name, model, faults) for name, model in MODELS.items()}
    parts = {name: part for name, (part, _) in read.items()}
    source, output = draft.source(), parts["output"]
    stored = source is not None and source.stored if stored is None else stored
    if source is not None:
        faults += input_faults(source, draft.places, stored)
    if isinstance(output, Output):
        faults += output_faults(source, output, read["output"][1], draft.places, stored)
    for name in draft.tables:
        if name not in TABLES:
            hint = _elsewhere(name) or did_you_mean(name, TABLES) or f"the tables are {', '.join(TABLES)}"
            faults.append(f'{draft.places.at(name)}: unknown table "{name}"; {hint}')
    roles = _roles(draft, *read["roles"], columns, faults)
    require = _requirements(draft, faults)
    roles = _protected(draft, roles, require, columns, faults)
    _unknown_attributes(draft, roles, require, columns, faults)
    search, loss = _method(draft, parts["search"], faults)
    if stored and search is not None:
        faults += search_faults(search, draft.places)
    hierarchies = _hierarchies(draft, columns, faults)
    levels = _levels(draft, roles, "quasi" not in read["roles"][1], faults)
    if levels and search is not None and not search.by_level:
        from sfumato.search import search_name

        faults.append(f"{draft.places.at('levels')}: levels bound full-domain searches, not {search_name(search)}")
    if faults:
        if unread is not None:
            faults.append(f"{draft.places.at('input', 'path')}: {unread}")
        count = f"{len(faults)} faults" if len(faults) > 1 else "1 fault"
        raise PolicyError(f"{draft.name} has {count}:", sorted(faults, key=_line))
    if unread is not None:
        raise unread
    found, table = parts["search"], parts["roles"]
    assert source is not None  # no faults: every part is there
    assert isinstance(table, RolesTable)
    assert isinstance(output, Output)
    assert isinstance(found, SearchTable)
    return PolicyFile(
        input=source.path,
        reader=source.reader,
        roles=roles,
        require=tuple(require.values()),
        search=search,
        loss=loss,
        suppression=found.suppression,
        hierarchies=hierarchies,
        levels=levels,
        seed=found.seed,
        normalise=table.normalise,
        order=output.order,
        ends=output.ends,
        output=None if output.path is None else draft.folder / output.path,
        format=output.format or format,
        overwrite=output.overwrite,
        table=output.table,
        max_cells=found.max_cells,
        profile=output.profile,
    )


def _table(draft: Draft, name: str, model: type[PolicyTable], faults: list[str]) -> tuple[PolicyTable, set[str]]:
    """One table through its model; its faulty keys are told and left out, so that the rest is checked as well."""
    written = draft.tables.get(name, {})
    if not isinstance(written, dict):
        faults.append(f"{draft.places.at(name)}: must be a table")
        return model.model_construct(), set(model.model_fields)
    bad: set[str] = set()
    try:
        return model.model_validate(written), bad
    except ValidationError as error:
        for fault in error.errors():
            path: tuple[Key, ...] = (name, *fault["loc"])
            bad.add(str(path[1]))
            faults.append(_sentence(draft, path, dict(fault), model.model_fields))
    try:
        return model.model_validate({key: value for key, value in written.items() if key not in bad}), bad
    except ValidationError:  # a key that must be there is not
        return model.model_construct(), bad


def _sentence(draft: Draft, path: tuple[Key, ...], fault: Mapping[str, Any], known: Mapping[str, Any]) -> str:
    """One fault of pydantic in our words; types are named, values are not."""
    key = str(path[1]) if len(path) > 1 else ""
    kind, message = str(fault["type"]), str(fault["msg"])
    if kind == "missing":
        return f"{draft.places.at(str(path[0]), key)}: {key} is missing; {draft.places.ask(*path[:2])}"
    if kind == "extra_forbidden":
        hint = _elsewhere(key) or did_you_mean(key, known) or f"the keys are {', '.join(known)}"
        return f'{draft.places.at(*path[:2])}: unknown key "{key}"; {hint}'
    message = in_our_words(message)
    got = "" if message.startswith("must be two") else f"; got {_shown(fault.get('input'))}"
    return f"{draft.places.at(*path[:2])}: {message[:1].lower()}{message[1:]}{got}"


def _shown(value: object) -> str:
    """What stands in the file; lists and tables are only named, for they may quote values of the table."""
    named = {list: "a list", dict: "a table", bool: str(value).lower(), str: f'"{value}"'}
    return named.get(type(value), str(value) if isinstance(value, int | float) else type(value).__name__)


def _line(fault: str) -> float:
    """The line that a fault names, those without one last."""
    found = re.search(r"\(line (\d+)\): ", fault)
    return float(found[1]) if found else math.inf


def _elsewhere(key: str) -> str | None:
    """Where a misplaced key belongs."""
    homes = [name for name, model in MODELS.items() if key in model.model_fields]
    return f"it belongs in [{homes[0]}]" if homes and key not in ("path", "table") else None


def _roles(draft: Draft, table: PolicyTable, bad: set[str], columns: Sequence[str] | None, faults: list[str]) -> Roles:
    assert isinstance(table, RolesTable)
    names = ("identifying", "sensitive", "insensitive", "unprotected")
    identifying, sensitive, insensitive, accepted = (tuple(getattr(table, name)) for name in names)
    secrets = (*sensitive, *dict.fromkeys(name for name in accepted if name not in sensitive))
    quasi = tuple(map(tuple, table.quasi))
    roles = Roles(identifying, quasi, secrets, insensitive, table.weight, accepted, table.rest)
    for fault in contradictions(roles) if columns is None else check_roles(columns, roles):
        role = fault.split(" ", 1)[0]
        if role in bad:
            continue  # told already
        where = draft.places.at("roles", role) if role in ROLES else draft.places.at("roles")
        faults.append(f"{where}: {fault}")
    return roles


def _requirements(draft: Draft, faults: list[str]) -> dict[int, Any]:
    """The privacy models asked for, by their number in the file."""
    from sfumato.criteria import CRITERIA

    written = draft.tables.get("require", [])
    if not isinstance(written, list) or not all(isinstance(item, dict) for item in written):
        faults.append(f"{draft.places.at('require')}: write each model as its own table, headed [[require]]")
        return {}
    if not written and not any(fault.startswith("--require") for fault in draft.faults):
        faults.append(f"{draft.places.at('require')}: no privacy model is asked for; {draft.places.ask('require')}")
    found = {}
    for i, item in enumerate(written):
        if not isinstance(item.get("model"), str):
            hint = "it must be a string" if "model" in item else did_you_mean("model", item)
            faults.append(f"{draft.places.at('require', i)}: model is missing" + (f"; {hint}" if hint else ""))
            continue
        parameters = {key: value for key, value in item.items() if key != "model"}
        criterion = make_variant(CRITERIA, "model", item["model"], parameters, draft.places, ("require", i), faults)
        if criterion is not None:
            found[i] = criterion
    return found


def _protected(
    draft: Draft, roles: Roles, require: Mapping[int, Any], columns: Sequence[str] | None, faults: list[str]
) -> Roles:
    """The roles with every column that a model protects among the sensitive ones."""
    free = []
    for i, name in [(i, name) for i, criterion in require.items() for name in criterion.needs]:
        place, role = draft.places.at("require", i), roles.role(name)
        if role is None and columns is not None and name not in columns:
            hint = did_you_mean(name, columns)
            faults.append(f'{place}: the table has no column "{name}"' + (f"; {hint}" if hint else ""))
        elif name in roles.unprotected:
            faults.append(f'{place}: protects the column "{name}", which is named as unprotected; it can be one')
        elif role is None:
            free.append(name)
        elif role != "sensitive":
            faults.append(f'{place}: protects the column "{name}", which must then be sensitive; got {role}')
    return replace(roles, sensitive=tuple(dict.fromkeys([*roles.sensitive, *free])))


def _unknown_attributes(
    draft: Draft, roles: Roles, require: Mapping[int, Any], columns: Sequence[str] | None, faults: list[str]
) -> None:
    """A model that could not be made may name a column that is not there as well: told together."""
    written = draft.tables.get("require", [])
    for i, item in enumerate(written if isinstance(written, list) else []):
        name = item.get("attribute") if isinstance(item, dict) and i not in require else None
        if isinstance(name, str) and columns is not None and name not in columns and roles.role(name) is None:
            hint = did_you_mean(name, columns)
            place = draft.places.at("require", i, "attribute")
            faults.append(f'{place}: the table has no column "{name}"' + (f"; {hint}" if hint else ""))


def _method(draft: Draft, table: PolicyTable, faults: list[str]) -> tuple[Any, Any]:
    """The search and the loss."""
    from sfumato.losses import LOSSES
    from sfumato.search import SEARCHES

    assert isinstance(table, SearchTable)
    own, beside = dict(table.model_extra or {}), SearchTable.model_fields
    search = make_variant(SEARCHES, "method", table.method, own, draft.places, ("search",), faults, beside)
    parameters = {key: value for key, value in table.loss.items() if key != "name"}
    loss = make_variant(LOSSES, "loss", table.loss["name"], parameters, draft.places, ("search", "loss"), faults)
    return search, loss


def _hierarchies(draft: Draft, columns: Sequence[str] | None, faults: list[str]) -> dict[str, Any]:
    written = draft.tables.get("hierarchies", {})
    if not isinstance(written, dict):
        faults.append(f"{draft.places.at('hierarchies')}: must be a table")
        return {}
    for name in written if columns is not None else ():
        _known(draft, "hierarchies", name, columns or (), "the table does not have", faults)
    at = draft.places.at
    recipes = {name: make_recipe(spec, draft.folder, at("hierarchies", name), faults) for name, spec in written.items()}
    return {name: recipe for name, recipe in recipes.items() if recipe is not None}


def _levels(draft: Draft, roles: Roles, sure: bool, faults: list[str]) -> dict[str, tuple[int, int]]:
    written = draft.tables.get("levels", {})
    if not isinstance(written, dict):
        faults.append(f"{draft.places.at('levels')}: must be a table")
        return {}
    quasi = [name for names in roles.quasi for name in names]
    found = {}
    for name, pair in written.items():
        if sure:
            _known(draft, "levels", name, quasi, "is not quasi-identifying", faults)
        try:
            low, high = level_range(pair)
            found[name] = (low, high)
        except PydanticCustomError as error:
            faults.append(f"{draft.places.at('levels', name)}: {error.message()}")
    return found


def _known(draft: Draft, table: str, name: str, columns: Sequence[str], what: str, faults: list[str]) -> None:
    if name not in columns:
        hint = did_you_mean(name, columns)
        faults.append(f'{draft.places.at(table, name)}: a column "{name}" that {what}' + (f"; {hint}" if hint else ""))


def dump(tables: Mapping[str, Any], comments: Mapping[tuple[str, ...], str] | None = None) -> str:
    """The tables of a policy as TOML; a comment stands above the table or key it is given for.

    >>> print(dump({"roles": {"quasi": ["age"]}}, {("roles", "quasi"): "known to others"}))
    [roles]
    # known to others
    quasi = ["age"]
    <BLANKLINE>
    """
    comments, blocks = comments or {}, []
    for name, table in tables.items():
        for i, entries in enumerate(table if isinstance(table, list) else [table]):
            head = f"[[{name}]]" if isinstance(table, list) else f"[{name}]"
            lines = [*(_comment(comments.get((name,))) if i == 0 else []), head]
            for key, value in entries.items():
                lines += [*_comment(comments.get((name, key))), f"{_key(key)} = {_toml(value)}"]
            blocks.append("\n".join(lines) + "\n")
    text = "\n".join(blocks)
    if re.search("[\ud800-\udfff]", text):
        hint = "rename the file or folder that has a byte in its name that is no UTF-8"
        raise PolicyError("a policy file cannot hold a name or path that is not valid Unicode", hint=hint)
    return text


def _comment(text: str | None) -> list[str]:
    """The lines of a comment, without the control characters that TOML does not allow there."""
    return [re.sub(r"[^\t -~\x80-\U0010ffff]", "?", f"# {line}").rstrip() for line in (text or "").splitlines()]


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _toml(key)


def _toml(value: Any) -> str:
    """A value in TOML; strings escape as in JSON, save DEL, which TOML does not allow plain."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(k)} = {_toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return {True: "true", False: "false"}.get(value, repr(value)) if isinstance(value, bool) else repr(value)
