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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from sfumato.core.parameters import is_whole
from sfumato.core.policy import sets_required
from sfumato.core.roles import ROLES, Roles, check_roles, contradictions
from sfumato.core.wording import count
from sfumato.errors import PolicyError, SfumatoError, did_you_mean
from sfumato.policyfile.tables import (
    MODELS,
    OF_A_FILE,
    STREAMED,
    TABLES,
    Faults,
    InputTable,
    Origin,
    Output,
    Places,
    PolicyTable,
    RolesTable,
    SearchTable,
    in_our_words,
    make_recipe,
    make_variant,
)
from sfumato.release.about import checked_about
from sfumato.release.destination import Folder
from sfumato.release.destination import Table as NewTable

ASKED = ("require", "search", "loss", "suppression", "hierarchies", "levels", "ends", "numbers", "tidy", "seed",
         "order", "normalise", "drop_missing", "row_key", "profile", "about")  # fmt: skip


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
        table, bad = _table(self, "input", Faults(self.places))
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
    drop_missing: bool | list[str]
    row_key: list[str]
    ends: str
    numbers: str | dict[str, str]
    tidy: bool | None
    output: Path | None
    format: str
    overwrite: bool
    table: str | None = None  # that the release is
    max_cells: int | None = None
    profile: str | None = None  # the standard that the release is held to
    about: dict[str, Any] = field(default_factory=dict)  # what it is about, in its owner's words

    def keywords(self) -> dict[str, Any]:
        """The keyword arguments of `anonymize`."""
        roles = {name: list(names) if isinstance(names, tuple) else names for name, names in vars(self.roles).items()}
        roles["quasi"] = [list(names) for names in self.roles.quasi]
        return roles | {name: getattr(self, name) for name in ASKED}

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
    faults = Faults(draft.places, draft.faults)
    read = {name: _table(draft, name, faults) for name in MODELS}
    (_, (table, bad), (found, _), (output, _)) = read.values()
    assert isinstance(table, RolesTable)
    assert isinstance(found, SearchTable)
    assert isinstance(output, Output)
    source = draft.source()
    stored = source is not None and source.stored if stored is None else stored
    if source is not None:
        input_faults(source, faults, stored)
    _output_faults(source, output, read["output"][1], faults, stored)
    for name in draft.tables:
        if name not in TABLES:
            hint = _elsewhere(name) or did_you_mean(name, TABLES) or f"the tables are {', '.join(TABLES)}"
            faults.tell(f'unknown table "{name}"; {hint}', name)
    roles = _roles(table, bad, columns, faults, *_of_models(draft))
    for name in table.row_key:
        if columns is not None and name not in columns:
            faults.meant(f'the table has no column "{name}"', name, columns, "roles", "row_key")
    require = _requirements(draft, faults)
    roles = _protected(roles, require, columns, faults)
    roles, require = _over_sets(roles, require, bad, faults)
    _unknown_attributes(draft, roles, require, columns, faults)
    search, loss = _method(found, faults)
    if stored and search is not None:
        _refuse_search(search, faults)
    hierarchies = _hierarchies(draft, columns, faults)
    levels = _levels(draft, roles, "quasi" not in bad, faults)
    about, wrong = checked_about(draft.tables.get("about"), columns)
    for key, fault in wrong:
        faults.tell(fault, "about", *([key] if key else []))
    if levels and search is not None and not search.by_level:
        from sfumato.search import search_name

        faults.tell(f"levels bound full-domain searches, not {search_name(search)}", "levels")
    if faults:
        if unread is not None:
            faults.tell(str(unread), "input", "path")
        raise PolicyError(f"{draft.name} has {count(len(faults), 'fault')}:", sorted(faults, key=_line))
    if unread is not None:
        raise unread
    assert source is not None  # no faults: every part is there
    return PolicyFile(
        input=source.path,
        reader=source.reader,
        roles=roles,
        require=tuple(require.values()),
        search=search,
        loss=loss,
        hierarchies=hierarchies,
        levels=levels,
        normalise=table.normalise,
        drop_missing=table.drop_missing,
        row_key=table.row_key,
        about=about,
        output=None if output.path is None else draft.folder / output.path,
        format=output.format or format,
        **found.model_dump(include={"suppression", "tidy", "seed", "max_cells"}),
        **output.model_dump(include={"order", "ends", "numbers", "overwrite", "table", "profile"}),
    )


def _table(draft: Draft, name: str, faults: Faults) -> tuple[PolicyTable, set[str]]:
    """One table through its model; its faulty keys are told and left out, so that the rest is checked as well."""
    written, model = draft.tables.get(name, {}), MODELS[name]
    if not isinstance(written, dict):
        faults.tell("must be a table", name)
        return model.model_construct(), set(model.model_fields)
    bad: set[str] = set()
    try:
        return model.model_validate(written), bad
    except ValidationError as error:
        for fault in error.errors():
            bad.add(str(fault["loc"][0]))
            _tell(dict(fault), name, str(fault["loc"][0]), model.model_fields, faults)
    try:
        return model.model_validate({key: value for key, value in written.items() if key not in bad}), bad
    except ValidationError:  # a key that must be there is not
        return model.model_construct(), bad


def _tell(fault: Mapping[str, Any], table: str, key: str, known: Mapping[str, Any], faults: Faults) -> None:
    """One fault of pydantic in our words; types are named, values are not."""
    if fault["type"] == "missing":
        faults.tell(f"{key} is missing; {faults.places.ask(table, key)}", table, key)
    elif fault["type"] == "extra_forbidden":
        hint = _elsewhere(key) or did_you_mean(key, known) or f"the keys are {', '.join(known)}"
        faults.tell(f'unknown key "{key}"; {hint}', table, key)
    else:
        message = in_our_words(str(fault["msg"]))
        faults.tell(f"{message[:1].lower()}{message[1:]}; got {_shown(fault.get('input'))}", table, key)


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


def _roles(
    table: RolesTable,
    bad: set[str],
    columns: Sequence[str] | None,
    faults: Faults,
    sets: tuple[tuple[str, ...], ...],
    attributes: set[str],
) -> Roles:
    """The roles; where no quasi-identifier is named, those of the `sets` that models are for. A column may be sensitive
    too where it is among the `attributes` of models."""
    names = ("identifying", "sensitive", "insensitive", "unprotected")
    identifying, sensitive, insensitive, accepted = (tuple(getattr(table, name)) for name in names)
    secrets = (*sensitive, *dict.fromkeys(name for name in accepted if name not in sensitive))
    quasi = tuple(map(tuple, table.quasi)) or sets
    roles = Roles(identifying, quasi, secrets, insensitive, table.weight, accepted, table.rest)
    both = attributes & {*sensitive}
    for fault in contradictions(roles, both) if columns is None else check_roles(columns, roles, both):
        role = fault.split(" ", 1)[0]
        if role not in bad:  # else told already
            faults.tell(fault, "roles", *([role] if role in ROLES else []))
    return roles


def _of_models(draft: Draft) -> tuple[tuple[tuple[str, ...], ...], set[str]]:
    """The sets of columns that models are for, and the columns they are about, as they are written; what makes no sense
    is told with its model."""
    written = draft.tables.get("require", [])
    models = [item for item in written if isinstance(item, dict)] if isinstance(written, list) else []
    given = [names for item in models if isinstance(names := item.get("quasi"), list)]
    sets = [tuple(names) for names in given if names and all(isinstance(n, str) for n in names)]
    return tuple(dict.fromkeys(sets)), {name for item in models if isinstance(name := item.get("attribute"), str)}


def _requirements(draft: Draft, faults: Faults) -> dict[int, Any]:
    """The privacy models asked for, by their number in the file."""
    from sfumato.criteria import CRITERIA

    written = draft.tables.get("require", [])
    if not isinstance(written, list) or not all(isinstance(item, dict) for item in written):
        faults.tell("write each model as its own table, headed [[require]]", "require")
        return {}
    if not written and not any(fault.startswith("--require") for fault in draft.faults):
        faults.tell(f"no privacy model is asked for; {draft.places.ask('require')}", "require")
    found = {}
    for i, item in enumerate(written):
        if not isinstance(item.get("model"), str):
            hint = "it must be a string" if "model" in item else did_you_mean("model", item)
            faults.tell("model is missing" + (f"; {hint}" if hint else ""), "require", i)
            continue
        parameters = {key: value for key, value in item.items() if key != "model"}
        if isinstance(file := parameters.get("reference"), str):
            parameters["reference"] = str(draft.folder / file)
        criterion = make_variant(CRITERIA, "model", item["model"], parameters, faults, ("require", i))
        if criterion is not None:
            found[i] = criterion
    return found


def _protected(roles: Roles, require: Mapping[int, Any], columns: Sequence[str] | None, faults: Faults) -> Roles:
    """The roles with every column that a model protects among the sensitive ones."""
    from sfumato.criteria.named import protected_by

    free = []
    for i, name in [(i, name) for i, criterion in require.items() for name in criterion.needs]:
        role = roles.role(name)
        if role is None and columns is not None and name not in columns:
            faults.meant(f'the table has no column "{name}"', name, columns, "require", i)
        elif name in roles.unprotected and name in protected_by([require[i]]):
            what = f'protects the column "{name}", which is named as unprotected; it can be one'
            faults.tell(what, "require", i)
        elif role is None:
            free.append(name)
        elif role != "sensitive" and name not in roles.sensitive:
            faults.tell(f'protects the column "{name}", which must then be sensitive; got {role}', "require", i)
    return replace(roles, sensitive=tuple(dict.fromkeys([*roles.sensitive, *free])))


def _over_sets(roles: Roles, require: dict[int, Any], bad: set[str], faults: Faults) -> tuple[Roles, dict[int, Any]]:
    """The roles with the sets that models name among those of quasi-identifiers, and the models for these."""
    columns = [name for names in roles.quasi for name in names]
    strange = False
    for i, name in [(i, name) for i, c in require.items() for name in c.quasi or () if "quasi" not in bad]:
        if name not in columns:
            strange = True
            faults.meant(f'is for the column "{name}", which is not quasi-identifying', name, columns, "require", i)
    if strange or "quasi" in bad:
        return roles, require
    try:
        sets, own = sets_required(roles.quasi, list(require.values()))
    except PolicyError as error:
        faults.raised(error, "roles", "quasi")
        return roles, require
    return replace(roles, quasi=sets), dict(zip(require, own, strict=True))


def _unknown_attributes(
    draft: Draft, roles: Roles, require: Mapping[int, Any], columns: Sequence[str] | None, faults: Faults
) -> None:
    """A model that could not be made may name a column that is not there as well: told together."""
    written = draft.tables.get("require", [])
    for i, item in enumerate(written if isinstance(written, list) and columns is not None else []):
        name = item.get("attribute") if isinstance(item, dict) and i not in require else None
        if isinstance(name, str) and name not in (columns or ()) and roles.role(name) is None:
            faults.meant(f'the table has no column "{name}"', name, columns or (), "require", i, "attribute")


def _method(table: SearchTable, faults: Faults) -> tuple[Any, Any]:
    """The search and the loss."""
    from sfumato.losses import LOSSES
    from sfumato.search import SEARCHES

    own = dict(table.model_extra or {})
    search = make_variant(SEARCHES, "method", table.method, own, faults, ("search",), SearchTable.model_fields)
    parameters = {key: value for key, value in table.loss.items() if key != "name"}
    return search, make_variant(LOSSES, "loss", table.loss["name"], parameters, faults, ("search", "loss"))


def _entries(draft: Draft, table: str, known: Sequence[str] | None, what: str, faults: Faults) -> dict[str, Any]:
    """A table whose keys are columns."""
    written = draft.tables.get(table, {})
    if not isinstance(written, dict):
        faults.tell("must be a table", table)
        return {}
    for name in written if known is not None else ():
        if name not in (known or ()):
            faults.meant(f'a column "{name}" that {what}', name, known or (), table, name)
    return written


def _hierarchies(draft: Draft, columns: Sequence[str] | None, faults: Faults) -> dict[str, Any]:
    written = _entries(draft, "hierarchies", columns, "the table does not have", faults)
    recipes = {name: make_recipe(spec, draft.folder, faults, "hierarchies", name) for name, spec in written.items()}
    return {name: recipe for name, recipe in recipes.items() if recipe is not None}


def _levels(draft: Draft, roles: Roles, sure: bool, faults: Faults) -> dict[str, tuple[int, int]]:
    quasi = [name for names in roles.quasi for name in names] if sure else None
    found = {}
    for name, pair in _entries(draft, "levels", quasi, "is not quasi-identifying", faults).items():
        if isinstance(pair, list) and len(pair) == 2 and all(map(is_whole, pair)) and 0 <= pair[0] <= pair[1]:
            found[name] = (pair[0], pair[1])
        else:
            what = "must be two whole numbers, the least and the greatest level, as in [1, 3]"
            faults.tell(what, "levels", name)
    return found


def input_faults(origin: Origin, faults: Faults, stored: bool) -> None:
    """What of [input] does not fit together; `stored` is whether the table is not read into memory."""
    tell, places = faults.tell, faults.places
    if origin.database:
        if origin.table is None and not _table_told(places):
            tell(f"the table of the database is missing; {places.ask('input', 'table')}", "input", "table")
        if len(origin.paths) > 1:
            tell(f"a database is one address or one file; got {len(origin.paths)} paths", "input", "path")
    elif origin.table is not None:
        tell("is of a database, and the input is a file", "input", "table")
    if origin.stream and origin.database:
        tell(OF_A_FILE, "input", "stream")
    if origin.stream is False and (origin.database or origin.many):
        what = "a table of a database is" if origin.database else "several files are"
        tell(f"{what} never read into memory; leave it out", "input", "stream")
    for key in origin.reader if stored else ():
        if origin.database:
            tell(OF_A_FILE, "input", key)
        elif key not in STREAMED:
            tell(f"is not for files that are streamed{_instead(origin, places)}", "input", key)


def _table_told(places: Places) -> bool:
    """Whether the table is written, faulty or misspelt, which is a fault that is told already."""
    written = {path[1] for path in (*places.lines, *places.given) if len(path) == 2 and path[0] == "input"}
    unknown = [str(key) for key in written if key not in InputTable.model_fields]
    return "table" in written or any(did_you_mean(key, ["table"]) for key in unknown)


def _output_faults(origin: Origin | None, output: Output, bad: Iterable[str], faults: Faults, stored: bool) -> None:
    """What of [output] does not fit together, or not with the input."""
    tell, places = faults.tell, faults.places
    if output.path is None and output.table is None and not {"path", "table"} & set(bad):
        base = origin is not None and origin.database
        table = f" or {places.ask('output', 'table').partition(' ')[2]}" if base else ""
        tell(f"path is missing; {places.ask('output', 'path')}{table}", "output", "path")
    if output.table is not None:
        if origin is not None and not origin.database:
            tell("the release can be a table only where the input is one", "output", "table")
        if output.format is not None:
            tell("is of a file, and the release is a table", "output", "format")
    if origin is None or not stored:
        return
    instead = _instead(origin, places)
    if output.format == "xlsx":
        tell(f"xlsx cannot be streamed; use csv, tsv or parquet{instead}", "output", "format")
    if output.order == "input" and origin.database:
        tell("the rows of a table of a database have no order that could be kept", "output", "order")
    if output.order == "random" and output.table is not None:
        tell("a table of a database is in canonical order, or in none", "output", "order")
    if output.internal_report is not None:
        tell(f"an out-of-core original cannot be compared with{instead}", "output", "internal_report")
    if output.pdf:
        tell(f"there is no PDF of a release that is not in memory{instead}", "output", "pdf")


def _refuse_search(search: Any, faults: Faults) -> None:
    """A search that needs the rows in memory."""
    from sfumato.release.request import refuse_out_of_core

    try:
        refuse_out_of_core(search)
    except PolicyError as error:
        faults.tell(str(error), "search", "method")


def _instead(origin: Origin, places: Places) -> str:
    """What to do about a file that could be read into memory as well."""
    how = "stream = false" if places.file else "--no-stream"
    return "" if origin.database or origin.many else f"; {how} reads the file into memory"


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
