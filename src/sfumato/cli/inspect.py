"""sfumato inspect: roles, uniques and risky combinations of a table, before anything is done to it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli import inputs, options
from sfumato.cli.console import (
    Progress,
    notes,
    refuse_existing,
    say,
    say_json,
    say_table,
    say_wrapped,
    tell,
    without_user,
)
from sfumato.cli.options import WRITING, option
from sfumato.core.wording import as_flag, number, percent, quoted

if TYPE_CHECKING:
    from sfumato.verbs.inspect import ColumnReport, Inspection

SECRETS = "\nThe weakest promises that keep attacks on a sensitive column near guessing, read off classes of k records."
ABOUT = (
    "What the report says in your words, published with the release: dataset, controller, purpose, recipient,\n"
    "legal_basis, date, review_date, attacker (why it is assumed), language (en or it); else a line to fill in."
)
SHOWN = 10  # pairs told to people; machines get all
SAMPLE = 100_000  # rows looked at of a table that is not read into memory


def inspect_table(
    source: Annotated[options.Texts, typer.Argument(help="Data.", metavar="FILE")] = None,
    *,
    init: Annotated[
        Path | None, option("--init", "Write a policy file with these suggestions.", WRITING, "FILE")
    ] = None,
    overwrite: Annotated[bool, option("--overwrite", "Replace that policy file.", WRITING)] = False,
    reading: options.ReadingOptions,
    as_json: options.Json = False,
) -> int:
    """Show the columns of a table, suggested roles and hierarchies, and how many people they single out.

    No value of the table is shown. Suggestions are a start to judge, from names and patterns.

    Of several files, and of a table of a database, a sample is inspected.
    """
    from sfumato.engines.atomic import atomic_file
    from sfumato.engines.tables import is_engine
    from sfumato.errors import ColumnError
    from sfumato.verbs.inspect import inspect

    refuse_existing(init, overwrite, "policy file")
    named = inputs.named(source, reading)
    with Progress("inspecting"), notes() as told:
        data = inputs.measured(named)
        stored = is_engine(data)
        frame = data.sample(SAMPLE) if stored else data
        found = inspect(frame)
        if init is not None and not found.roles.quasi:
            raise ColumnError(
                "no policy is suggested: no column looks quasi-identifying, so there is nothing to promise",
                hint="name what others may know yourself: sfumato anonymize --quasi COLUMN",
            )
        protection = protection_of(frame, found) if init is not None else {}
    told += _missing(frame, found)
    if stored and found.rows < data.rows():
        told.append(f"these are figures of a sample of {number(found.rows)} rows, of about {number(data.rows())}")
    if init is not None:
        with atomic_file(init, overwrite) as part:
            part.write_text(
                _policy(found, protection, _input(named, init), init, stored), encoding="utf-8", newline="\n"
            )
    if as_json:
        more = ({"policy": str(init)} if init else {}) | ({"notes": told} if told else {})
        say_json(found.as_dict() | more)
    else:
        tell(told)
        _show(found)
        if init is not None:
            say(f"written: {init}. Read it, correct it, then: sfumato anonymize {init}")
    return 0


def _missing(frame: Any, found: Inspection) -> list[str]:
    """Columns of text with what elsewhere stands for a missing value."""
    from sfumato.engines.files.forms import suggest_missing

    texts = [column.name for column in found.columns if column.kind == "text"]
    marked = {name: markers for name in texts if (markers := suggest_missing(frame.get_column(name)))}
    if not marked:
        return []
    flag = shlex.quote(as_flag(sorted({marker for markers in marked.values() for marker in markers})))
    return [f"{quoted(marked)} may have missing values that are written as text: --missing {flag} reads them so"]


def _show(found: Inspection) -> None:
    say(f"{number(found.rows)} rows, {len(found.columns)} columns")
    say_columns(found.columns)
    say("why:")
    for why, names in _by(found, lambda c: c.why).items():
        say_wrapped(f"{why}: {', '.join(names)}")
    if coarser := _by(found, lambda c: words(c.hierarchy)):
        say("how a value gets coarser:")
        for recipe, names in coarser.items():
            say_wrapped(f"{recipe}: {', '.join(names)}")
    if not found.risks:
        say("no column looks quasi-identifying: judge for yourself what others can know")
        return
    say("rows that stand alone by what others may know:")
    alone = [r for r in found.risks if len(r.columns) == 1]
    whole = [r for r in found.risks if len(r.columns) == len(alone) > 1]
    pairs = [r for r in found.risks if r not in alone and r not in whole]
    told = [[", ".join(r.columns), number(r.rows), percent(r.share)] for r in [*alone, *pairs[:SHOWN], *whole]]
    say_table(["columns", "rows", "share"], told, right=(1, 2), short=0)
    if len(pairs) > SHOWN:
        say(f"and {len(pairs) - SHOWN} pairs with fewer; --json has them all")


def say_columns(columns: Sequence[ColumnReport]) -> None:
    """A line for each column: what it holds, how much it tells apart, and the suggested role."""
    head = ["column", "kind", "distinct", "missing", "unique", "suggested role"]
    rows = [[c.name, c.kind, number(c.distinct), number(c.missing), percent(c.unique), c.role] for c in columns]
    say_table(head, rows, right=(2, 3, 4), short=0)


def _by(found: Inspection, key: Callable[[ColumnReport], str]) -> dict[str, list[str]]:
    """The columns of which the same is said, in their order."""
    grouped: dict[str, list[str]] = {}
    for column in found.columns:
        if said := key(column):
            grouped.setdefault(said, []).append(column.name)
    return grouped


def words(hierarchy: dict[str, Any] | None) -> str:
    """A hierarchy as it stands in a policy file, in a few words."""
    if hierarchy is None:
        return ""
    kind, value = next(iter(hierarchy.items()))
    return kind if value is True else f"{kind} {', '.join(map(str, value)) if isinstance(value, list) else value}"


def _input(named: inputs.NamedSource, init: Path) -> dict[str, Any]:
    """The table [input] of a policy file: paths as seen from its folder, addresses without their user."""
    paths = [without_user(path) if "://" in path else os.path.relpath(path, init.parent) for path in named.data]
    given = {str(key[1]): value for key, value in named.keys().items() if key[1] != "path"}
    return {"path": paths[0] if len(paths) == 1 else paths, **given}


def _k(found: Inspection) -> int:
    return max(2, min(5, found.rows))


def protection_of(frame: Any, found: Inspection) -> dict[str, dict[str, Any]]:
    """For each sensitive column the weakest criterion that protects it, read off classes of k records."""
    import sfumato as sf
    from sfumato.errors import SfumatoError
    from sfumato.measures.attacks.classes import view
    from sfumato.measures.suggestion import suggest_criterion

    some = frame if frame.height <= SAMPLE else frame.sample(SAMPLE, seed=0)
    secrets, quasi = list(found.roles.sensitive), [list(names) for names in found.roles.quasi]
    try:
        blurred = sf.anonymize(
            some.select([*found.roles.named()[1][1], *secrets]),
            quasi=quasi,
            unprotected=secrets,
            require=sf.KAnonymity(_k(found)),
            search="mondrian",
            hierarchies={c.name: c.hierarchy for c in found.columns if c.hierarchy},
        ).table
    except SfumatoError:  # the policy will say why it cannot be run; until then everybody is one class
        blurred, quasi = some, [[]]
    asked = {name: suggest_criterion([view(blurred, names, name) for names in quasi]) for name in secrets}
    return {name: one.require for name, one in asked.items() if one is not None}


def suggested_tables(
    found: Inspection, protection: dict[str, dict[str, Any]], source: dict[str, Any], output: dict[str, Any]
) -> dict[str, Any]:
    """The tables of a policy of the suggestions, ready to run."""
    roles = found.roles
    named = {role: list(names) for role, names in roles.named() if role != "weight"}
    if bare := [name for name in roles.sensitive if name not in protection]:
        named["unprotected"] = bare
    # what is promised against the whole table cannot always be shown where rows are left out
    uses_overall_distribution = any(one["model"] == "t-closeness" for one in protection.values())
    tables: dict[str, Any] = {
        "input": source,
        "roles": {**named, **({"weight": roles.weight} if roles.weight else {})},
        "hierarchies": {c.name: c.hierarchy for c in found.columns if c.hierarchy},
        "require": [
            {"model": "k-anonymity", "k": _k(found)},
            *protection.values(),
        ],
        "search": {"method": "auto", "loss": "ncp", "suppression": 0.0 if uses_overall_distribution else 0.02},
        "output": output,
        "about": {"purpose": ""},
        "about.columns": found.reasons,
    }
    return {name: table for name, table in tables.items() if table}


def _policy(
    found: Inspection, protection: dict[str, dict[str, Any]], source: dict[str, Any], init: Path, stored: bool
) -> str:
    """A policy file of the suggestions, with their reasons."""
    from sfumato.policyfile.dump import dump

    output = {"path": f"{init.stem}-release", **({} if stored else {"format": "csv"})}
    tables, k = suggested_tables(found, protection, source, output), _k(found)
    why = {role: [f"{c.name}: {c.why}" for c in found.columns if c.role == role] for role in tables["roles"]}
    why.pop("weight", None)
    if "unprotected" in tables["roles"]:
        why["unprotected"] = ["no promise can be about these: they hardly vary"]
    comments: dict[tuple[str, ...], str] = {("roles", role): "\n".join(reasons) for role, reasons in why.items()}
    comments |= {
        ("input",): "Suggested by `sfumato inspect` from names and patterns: read every line before you trust it.",
        ("hierarchies",): "How a value gets coarser, level by level; a column without one gets a learned one.",
        ("require",): f"What the release promises. k = {k}: everybody looks like at least {k - 1} others."
        + (SECRETS if protection else ""),
        ("about",): ABOUT,
        ("about.columns",): "Why columns have their roles, where their names do not say so.",
        ("search", "suppression"): "A share (0.02) or a count (20) of rows that may be dropped.",
    }
    return dump(tables, comments)
