"""Policy files: a TOML file, checked in full, as keyword arguments for `anonymize`.

All faults of a file are reported together, each with its table, key and line. Flags of the command line are laid over
the same tables before the check, so that both ways in obey the same rules. Relative paths start at the file's folder.
The address of a database is no path.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from sfumato.core.forms import in_our_words
from sfumato.core.parameters import is_whole
from sfumato.core.policy import sets_required
from sfumato.core.roles import ROLES, Roles, check_roles, contradictions
from sfumato.core.wording import count
from sfumato.criteria.known_population import MEMBERSHIP
from sfumato.errors import PolicyError, SfumatoError, did_you_mean
from sfumato.policyfile.paths import step_from
from sfumato.policyfile.population import population_of, with_files
from sfumato.policyfile.tables import (
    MODELS,
    OF_A_FILE,
    STREAMED,
    TABLES,
    WHEN,
    Faults,
    InputTable,
    Origin,
    Output,
    Places,
    PolicyTable,
    RolesTable,
    SearchTable,
    SynthesisTable,
    instead,
    make_recipe,
    make_variant,
)
from sfumato.release.about import checked_about
from sfumato.release.destination import Folder
from sfumato.release.destination import Table as NewTable
from sfumato.release.manifest import RECODING, SYNTHESIS

PEOPLE = ("person", "household")  # columns that say whose each row is
ASKED = ("require", "search", "loss", "suppression", "hierarchies", "levels", "ends", "numbers", "tidy", "seed",
         "order", "normalise", "drop_missing", "row_key", *PEOPLE, "profile", "about", "mask", "account")  # fmt: skip
MASKED = ("require", "hierarchies", "row_key", "seed", "order", "about", "account")  # of these, what `mask` is asked
DRAWN = ("require", "hierarchies", "seed", "order", "about")  # and what `synthesize` is
OF_A_SEARCH = ("method", "loss", "suppression", "tidy")


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
        table, bad = checked_table(self, "input", Faults(self.places))
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
    mask: tuple[tuple[str, Any], ...] = ()  # steps, each "before" or "after" the search
    drawing: dict[str, Any] = field(default_factory=dict)  # what [synthesis] says
    person: str | None = None  # the column that says whose each row is, and that of households:
    household: str | None = None
    account: Any = None  # that a private release of rows is charged to

    def verb_keywords(self, made_by: str) -> dict[str, Any]:
        """The keyword arguments of the verb that makes a "recoding", a "masking" or a "synthesis"."""
        return {RECODING: self.keywords, "masking": self.masking, SYNTHESIS: self.synthesis}[made_by]()

    def masking(self) -> dict[str, Any]:
        """The keyword arguments of `mask`."""
        return self._with_roles(MASKED) | {"steps": [step for _, step in self.mask]}

    def synthesis(self) -> dict[str, Any]:
        """The keyword arguments of `synthesize`."""
        asked = self._with_roles(DRAWN) | self.drawing
        return {name: value for name, value in asked.items() if name != "weight"}

    def keywords(self) -> dict[str, Any]:
        """The keyword arguments of `anonymize`."""
        return self._with_roles(ASKED)

    def _with_roles(self, names: Iterable[str]) -> dict[str, Any]:
        roles = {name: list(given) if isinstance(given, tuple) else given for name, given in vars(self.roles).items()}
        roles["quasi"] = [list(given) for given in self.roles.quasi]
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
    made_by: str = RECODING,
) -> PolicyFile:
    """The policy ready for use, or PolicyError with every fault.

    `columns` is the header of the input, where it could be read; `unread` the reason where it could not, raised by
    itself where the policy has no fault of its own. `stored` is whether the table is out-of-core: by default as the
    policy says; `format` that of a release for which it says nothing. `made_by` "masking", it is for `mask`: steps are
    needed, and a promise is not; "synthesis", it is for `synthesize`.
    """
    faults = Faults(draft.places, draft.faults)
    read = {name: checked_table(draft, name, faults) for name in MODELS}
    (_, (table, bad), (found, _), _, (drawing, _), (output, _)) = read.values()
    assert isinstance(table, RolesTable)
    assert isinstance(found, SearchTable)
    assert isinstance(drawing, SynthesisTable)
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
    searching, synthesis = made_by == RECODING, made_by == SYNTHESIS
    elsewhere = not synthesis and "synthesis" in draft.tables  # it is for another command
    steps = _steps(draft, columns, faults, made_by == "masking" and not elsewhere)
    promising = (searching and not elsewhere) or bool(draft.tables.get("require"))
    roles = _roles(table, bad, columns, faults, *_of_models(draft), promising)
    for name, key in [*((name, "row_key") for name in table.row_key), *((getattr(table, k), k) for k in PEOPLE)]:
        if columns is not None and name not in (None, *columns):
            faults.meant(f'the table has no column "{name}"', name, columns, "roles", key)
        if key in PEOPLE and name is not None and not searching:
            faults.tell("counts people in what a search promises, and there is none", "roles", key)
    require = requirements_of(draft, faults, promising, population_of(*read["population"], draft.folder))
    for key in () if searching else OF_A_SEARCH:
        if key in draft.tables.get("search", {}):
            instead = "" if synthesis else "; sfumato anonymize runs both"
            faults.tell(f"is of a search, and {made_by} has none{instead}", "search", key)
    if not searching and output.table is not None:
        what = "a synthetic" if synthesis else "a masked"
        faults.tell(f"{what} table is released into a folder of files; give its path", "output", "table")
    if synthesis:
        _not_drawn(draft, table, faults)
    elif elsewhere:
        faults.tell("is of a table that is drawn from a model; sfumato synth draws it", "synthesis")
    roles = _protected(roles, require, columns, faults)
    roles, require = _over_sets(roles, require, bad, faults)
    _unknown_attributes(draft, roles, require, columns, faults)
    generator = _generator(drawing, faults) if synthesis else None
    of, paid = ("synthesis", drawing.account) if synthesis else ("search", found.account)
    account = _account(of, paid, draft.folder, faults)
    search, loss = _method(found, faults)
    if stored and search is not None:
        _refuse_search(search, faults)
    hierarchies = hierarchies_of(draft, columns, faults)
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
        **table.model_dump(include={"normalise", "drop_missing", "row_key", *PEOPLE}),
        about=about,
        mask=steps,
        drawing={**drawing.model_dump(), "generator": generator, "account": account},
        account=None if synthesis else account,
        output=None if output.path is None else draft.folder / output.path,
        format=output.format or format,
        **found.model_dump(include={"suppression", "tidy", "seed", "max_cells"}),
        **output.model_dump(include={"order", "ends", "numbers", "overwrite", "table", "profile"}),
    )


def checked_table(draft: Draft, name: str, faults: Faults, model: Any = None) -> tuple[PolicyTable, set[str]]:
    """One table through its model; its faulty keys are told and left out, so that the rest is checked as well."""
    written, model = draft.tables.get(name, {}), model or MODELS[name]
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
        hint = _elsewhere(key, table) or did_you_mean(key, known) or f"the keys are {', '.join(known)}"
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


def _elsewhere(key: str, table: str = "") -> str | None:
    """Where a misplaced key belongs; the file of [control] has no other table."""
    homes = [name for name, model in MODELS.items() if key in model.model_fields]
    return f"it belongs in [{homes[0]}]" if homes and table != "control" and key not in ("path", "table") else None


def _roles(
    table: RolesTable,
    bad: set[str],
    columns: Sequence[str] | None,
    faults: Faults,
    sets: tuple[tuple[str, ...], ...],
    attributes: set[str],
    promising: bool = True,
) -> Roles:
    """The roles; where no quasi-identifier is named, those of the `sets` that models are for. A column may be sensitive
    too where it is among the `attributes` of models."""
    names = ("identifying", "sensitive", "insensitive", "unprotected")
    identifying, sensitive, insensitive, accepted = (tuple(getattr(table, name)) for name in names)
    secrets = (*sensitive, *dict.fromkeys(name for name in accepted if name not in sensitive))
    quasi = tuple(map(tuple, table.quasi)) or sets
    roles = Roles(identifying, quasi, secrets, insensitive, table.weight, accepted, table.rest)
    both = attributes & {*sensitive}
    given = contradictions(roles, both, promising) if columns is None else check_roles(columns, roles, both, promising)
    for fault in given:
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


def _steps(draft: Draft, columns: Sequence[str] | None, faults: Faults, needed: bool) -> tuple[tuple[str, Any], ...]:
    """The steps of masking, each with when it is done; one at least where some are needed."""
    from sfumato.verbs.steps import STEPS

    written = draft.tables.get("mask", [])
    if not isinstance(written, list) or not all(isinstance(item, dict) for item in written):
        faults.tell("write each step as its own table, headed [[mask]]", "mask")
        return ()
    if needed and not written and not any(fault.startswith("--step") for fault in draft.faults):
        faults.tell(f"no step is given; {draft.places.ask('mask')}", "mask")
    found = []
    for i, item in enumerate(written):
        if not isinstance(item.get("step"), str):
            hint = "it must be a string" if "step" in item else did_you_mean("step", item)
            faults.tell("step is missing" + (f"; {hint}" if hint else ""), "mask", i)
            continue
        when = item.get("when", WHEN[0])
        if when not in WHEN:
            faults.tell(f"must be {' or '.join(WHEN)} the search", "mask", i, "when")
        seen = step_from(item, draft.folder)
        parameters = {key: value for key, value in seen.items() if key not in ("step", "when")}
        step = make_variant(STEPS, "step", item["step"], parameters, faults, ("mask", i), ("when",))
        named = [item.get("columns"), item.get("by")] if step is None else [step.columns, step.by, step.needs]
        listed = [[one] if isinstance(one, str) else one for one in named if isinstance(one, str | list | tuple)]
        for name in dict.fromkeys(name for names in listed for name in names if isinstance(name, str)):
            if columns is not None and name not in columns:
                faults.meant(f'the table has no column "{name}"', name, columns, "mask", i)
        found += [] if step is None else [(str(when), step)]
    return tuple(found)


def requirements_of(draft: Draft, faults: Faults, promising: bool = True, population: Any = None) -> dict[int, Any]:
    """The privacy models asked for, by their number in the file; those that count a population are given it."""
    from sfumato.criteria import CRITERIA

    written = draft.tables.get("require", [])
    if not isinstance(written, list) or not all(isinstance(item, dict) for item in written):
        faults.tell("write each model as its own table, headed [[require]]", "require")
        return {}
    if promising and not written and not any(fault.startswith("--require") for fault in draft.faults):
        faults.tell(f"no privacy model is asked for; {draft.places.ask('require')}", "require")
    found = {}
    for i, item in enumerate(written):
        if not isinstance(item.get("model"), str):
            hint = "it must be a string" if "model" in item else did_you_mean("model", item)
            faults.tell("model is missing" + (f"; {hint}" if hint else ""), "require", i)
            continue
        parameters = with_files(item, population, draft.folder)
        criterion = make_variant(CRITERIA, "model", item["model"], parameters, faults, ("require", i))
        if criterion is not None:
            found[i] = criterion
    return found


def _protected(roles: Roles, require: Mapping[int, Any], columns: Sequence[str] | None, faults: Faults) -> Roles:
    """The roles with every column that a model protects among the sensitive ones."""
    from sfumato.criteria.model import protected_by

    free = []
    for i, name in [(i, name) for i, one in require.items() for name in one.needs if name != MEMBERSHIP]:
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


def _generator(table: SynthesisTable, faults: Faults) -> Any | None:
    """The generator of a synthetic table; None where none is named, or where it has faults."""
    from sfumato.synthetic import GENERATORS

    if table.generator is None:
        return None
    name, *more = str(table.generator["name"]).split()
    if more and name in GENERATORS:
        what = f'parameters stand beside the name: generator = {{ name = "{name}", ... }}'
        faults.tell(what, "synthesis", "generator")
        return None
    own = {key: value for key, value in table.generator.items() if key != "name"}
    return make_variant(GENERATORS, "generator", table.generator["name"], own, faults, ("synthesis", "generator"))


def _account(table: str, given: Mapping[str, Any] | None, folder: Path, faults: Faults) -> Any | None:
    """The account that a private release is charged to; its ledger is a file beside the policy."""
    from sfumato.dp.account import Account

    if given is None:
        return None
    known = {field.name for field in fields(Account)}
    if {*given} - known or {"ledger", "epsilon"} - {*given}:
        what = 'account is a table such as { ledger = "ledger.sqlite", epsilon = 3, delta = 1e-6 }'
        faults.tell(f"{what}; its keys are {', '.join(sorted(known))}", table, "account")
        return None
    account = Account(**{**given, "ledger": at if "://" in (at := str(given["ledger"])) else folder / at})
    try:
        account.budget  # noqa: B018 - which is checked
    except PolicyError as error:
        faults.tell(str(error), table, "account")
    return account


def _not_drawn(draft: Draft, roles: RolesTable, faults: Faults) -> None:
    """What a policy may say, and nothing of a synthetic table answers to."""
    if draft.tables.get("mask"):
        faults.tell("steps change the rows of a table, and a synthetic table has rows of its own", "mask")
    if roles.weight is not None:
        faults.tell("a synthetic table draws weights as it draws every column; call it insensitive", "roles", "weight")
    if roles.row_key:
        faults.tell("rows that are drawn from a model have no keys", "roles", "row_key")


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


def hierarchies_of(draft: Draft, columns: Sequence[str] | None, faults: Faults) -> dict[str, Any]:
    """The hierarchies asked for, by column."""
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
            faults.tell("must be two whole numbers, the least and the greatest level, as in [1, 3]", "levels", name)
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
            tell(f"is not for files that are streamed{instead(origin, places)}", "input", key)


def _table_told(places: Places) -> bool:
    """Whether the table is written, faulty or misspelt, which is a fault that is told already."""
    written = {path[1] for path in (*places.lines, *places.given) if len(path) == 2 and path[0] == "input"}
    return "table" in written or any(did_you_mean(str(key), ["table"]) for key in written - {*InputTable.model_fields})


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
    otherwise = instead(origin, places)
    if output.format == "xlsx":
        tell(f"xlsx cannot be streamed; use csv, tsv or parquet{otherwise}", "output", "format")
    if output.order == "input" and origin.database:
        tell("the rows of a table of a database have no order that could be kept", "output", "order")
    if output.order == "random" and output.table is not None:
        tell("a table of a database is in canonical order, or in none", "output", "order")
    if output.internal_report is not None:
        tell(f"an out-of-core original cannot be compared with{otherwise}", "output", "internal_report")
    if output.pdf:
        tell(f"there is no PDF of an out-of-core release{otherwise}", "output", "pdf")


def _refuse_search(search: Any, faults: Faults) -> None:
    """A search that needs the rows in memory."""
    from sfumato.release.request import refuse_out_of_core

    try:
        refuse_out_of_core(search)
    except PolicyError as error:
        faults.tell(str(error), "search", "method")
