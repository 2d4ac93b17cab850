"""What to type next where no quasi-identifier is named: the roles that inspect suggests, as flags."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.cli import inputs, options
from sfumato.cli.console import Progress, complain, notes, say, say_command, say_json, say_table, tell
from sfumato.core.wording import as_flag

if TYPE_CHECKING:
    from sfumato.policyfile.tables import Key
    from sfumato.verbs.inspect import ColumnReport

LISTED = ("identifying", "quasi", "sensitive", "insensitive")
K = 5  # where nothing is promised
LEAST: list[dict[str, Any]] = [{"model": "k-anonymity", "k": K}]
WIDE = 76  # of a line of the command


@dataclass(frozen=True)
class Guide:
    """Suggested roles of the columns that nobody gave a role, and the command that asks for them."""

    columns: tuple[ColumnReport, ...]  # as suggested
    flags: tuple[tuple[str, str], ...]
    reasons: Mapping[str, str]  # of roles that names do not say, for the report
    every: tuple[str, ...]  # column of the table
    stored: bool  # whether the table is out-of-core
    named: inputs.NamedSource
    notes: tuple[str, ...]

    @property
    def output(self) -> str:
        """A folder for the release, where none is named."""
        first = self.named.table or Path(self.named.data[0]).name
        return f"{first.split('.')[0].strip('*?[]/') or 'table'}-release"

    def keys(self, given: Mapping[Key, Any]) -> dict[Key, Any]:
        """The same as keys of a policy file, beside those that are given."""
        names = {role: [c.name for c in self.columns if c.role == role] for role in LISTED}
        found: dict[Key, Any] = {
            ("roles", role): [*(given.get(("roles", role)) or ()), *more] for role, more in names.items() if more
        }
        found["roles", "quasi"] = [names["quasi"]]
        if weight := [c.name for c in self.columns if c.role == "weight"]:
            found["roles", "weight"] = weight[0]
        found |= {
            ("hierarchies", c.name): c.hierarchy
            for c in self.columns
            if c.hierarchy and ("hierarchies", c.name) not in given
        }
        found["about", "suggested"] = [c.name for c in self.columns]
        found["about", "columns"] = self.reasons
        if not given.get(("output", "path")) and not given.get(("output", "table")):
            found["output", "path"] = self.output
        return found

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Plain values, for json."""
        return {c.name: {"role": c.role, "hierarchy": c.hierarchy, "why": c.why} for c in self.columns}


def guide_of(named: inputs.NamedSource, roles: options.RoleOptions, unprotected: Sequence[str] | None) -> Guide | None:
    """The roles suggested for the columns without one.

    None where none of them looks quasi-identifying, or the table cannot be read: that is told with the other faults.
    """
    from sfumato.cli.inspect import SAMPLE
    from sfumato.engines.tables import is_engine
    from sfumato.errors import SfumatoError
    from sfumato.verbs.inspect import inspect

    given = [roles.identifying, roles.sensitive, roles.insensitive, unprotected, roles.weight and [roles.weight]]
    taken = {name for texts in given for name in options.joined(texts) or ()}
    described = {str(key[1]) for key in options.hierarchies(roles.hierarchy, [])}
    with Progress("inspecting"), notes() as told:
        try:
            data = inputs.measured(named)
            found = inspect(data.sample(SAMPLE) if is_engine(data) else data)
        except SfumatoError:
            return None
    columns = [c for c in found.columns if c.name not in taken]
    if roles.weight:
        columns = [replace(c, role="insensitive") if c.role == "weight" else c for c in columns]
    if not any(c.role == "quasi" for c in columns):
        return None
    listed = {role: [c.name for c in columns if c.role == role] for role in dict.fromkeys(c.role for c in columns)}
    flags = [(f"--{role}", as_flag(listed[role])) for role in (*LISTED, "weight") if role in listed]
    flags += [
        ("--hierarchy", f"{as_flag([c.name], '=')}={_recipe(c.hierarchy)}")
        for c in columns
        if c.hierarchy and c.name not in described
    ]
    reasons = {name: why for name, why in found.reasons.items() if name not in taken}
    every = tuple(c.name for c in found.columns)
    return Guide(tuple(columns), tuple(flags), reasons, every, is_engine(data), named, tuple(told))


def _recipe(hierarchy: dict[str, Any]) -> str:
    """A hierarchy of a policy file, as a flag takes it."""
    kind, value = next(iter(hierarchy.items()))
    return kind if value is True else f"{kind}:{','.join(map(str, value)) if isinstance(value, list) else value}"


def say_suggested(guide: Guide) -> None:
    """The suggested roles, a line for each column."""
    from sfumato.cli.inspect import words

    rows = [[c.name, c.role, words(c.hierarchy)] for c in guide.columns]
    say_table(["column", "suggested role", "blurred by"], rows, short=0)


def refuse(guide: Guide, arguments: Sequence[str], promised: bool, output: bool, as_json: bool) -> int:
    """Say what is suggested and what to type, a promise and a folder too where there is none; the exit code."""
    typed = [word for word in arguments if word not in ("--json", "--suggest")]
    flags = [*([] if promised else [("--k", str(K))]), *guide.flags, *([] if output else [("-o", guide.output)])]
    command = _lines(["sfumato", *typed], flags)
    what = "no column is named that others may know (--quasi), so nothing is promised"
    init = shlex.join(["sfumato", "inspect", *typed_source(guide.named), "--init", "policy.toml"])
    if as_json:
        hint = "judge the suggested roles; the command asks for them, and --suggest goes on with them"
        error = {"type": "NoRoles", "message": what, "hint": hint, "suggested": guide.to_dict()}
        say_json({"error": {**error, "command": command.replace(" \\\n   ", ""), "init": init}})
        return 2
    with redirect_stdout(sys.stderr):
        tell(guide.notes)
        complain(f"error: {what}")
        say("suggested, from names and patterns, for you to judge:")
        say_suggested(guide)
        say_command("to go on with these roles, type", command, "\n  ")
        say_command("to read why and change them first, type", init, "\n  ")
        say("or add --suggest to go on with them as they stand")
    return 2


def typed_source(named: inputs.NamedSource) -> list[str]:
    """The words that name the table."""
    table = [] if named.table is None else ["--input", *named.data, "--table", named.table]
    reader = [] if named.stream is None else ["--stream" if named.stream else "--no-stream"]
    for key, value in named.reader.items():
        reader += [f"--{'' if value else 'no-'}{key}"] if isinstance(value, bool) else [f"--{key}", str(value)]
    return [*(table or named.data), *reader]


def _lines(words: Sequence[str], flags: Sequence[tuple[str, str]]) -> str:
    """A command that can be pasted, on as many lines as it takes."""
    lines = [shlex.join(words)]
    for flag, value in flags:
        text = f"{flag} {shlex.quote(value)}"
        if len(lines[-1]) + len(text) >= WIDE:
            lines.append(f"   {text}")
        else:
            lines[-1] += f" {text}"
    return " \\\n ".join(lines)
