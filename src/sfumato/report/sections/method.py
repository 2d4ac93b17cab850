"""How the release was made: method and parameters, what was left out, and the line of the shell that makes it again."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sfumato.core.wording import as_flag, count, number, parameter, percent
from sfumato.hierarchies import TEMPLATES
from sfumato.losses import LOSSES
from sfumato.report.manifest import (
    Manifest,
    called,
    constructed,
    is_masked,
    is_synthetic,
    look,
    model,
    promises,
    quasi,
    rows,
    table,
    titled,
)
from sfumato.report.markup import Markup, facts, join, name, names, section, tag
from sfumato.report.markup import table as html_table
from sfumato.report.sections.columns import ROLES

INPUT = "INPUT"  # the manifest does not name the input, for a path may tell something
_WAYS = {  # how a manifest describes a hierarchy, and the flag that asks for it
    re.compile(r"intervals ([0-9., ]+)"): "intervals:{}",
    re.compile(r"dates ([a-z, ]+)"): "dates:{}",
    re.compile(r"redact ((?:left|right)(?: by [0-9, ]+)?)"): "redact:{}",
    re.compile(rf"((?:flat|learned|{'|'.join(TEMPLATES)})(?::[a-z0-9,]+)?)"): "{}",
    re.compile(r"(?:file|tree|wide) (?!given rows)(.+)"): "{}",
}


def command(manifest: Manifest) -> tuple[str, list[str]]:
    """The line, and the columns whose hierarchy cannot be written as a flag.

    >>> command({"policy": {"quasi": [["age"]], "require": [{"model": "k-anonymity", "k": 5}]}})[0]
    'sfumato anonymize INPUT --quasi age --k 5 -o OUTPUT'
    """
    policy = table(manifest, "policy")
    parts: list[tuple[str, str]] = [("--quasi", as_flag(names)) for names in quasi(manifest)]
    for role in ("identifying", "sensitive", "insensitive", "unprotected"):
        if named := [str(name) for name in rows(policy, role)]:
            parts.append((f"--{role}", as_flag(named)))
    if dropped := [str(name) for name in rows(manifest, "input", "reading", "drop_missing", "columns")]:
        parts.append(("--drop-missing-in", as_flag(dropped)))
    if key := [str(name) for name in rows(policy, "row_key")]:
        parts.append(("--row-key", as_flag(key)))
    columns = [column for column in rows(manifest, "data", "columns") if isinstance(column, Mapping)]
    parts += [("--weight", str(column.get("name"))) for column in columns if column.get("role") == "weight"]
    flags, unwritten = _hierarchies(table(policy, "hierarchies"))
    parts += flags
    for column, bounds in table(policy, "levels").items():
        if isinstance(bounds, list | tuple) and len(bounds) == 2:
            parts.append(("--levels", f"{as_flag([column], '=')}={bounds[0]}:{bounds[1]}"))
    parts += flags_of(manifest)
    if policy.get("suppression"):
        parts.append(("--suppression", str(policy["suppression"])))
    parts += [(f"--{key}", text) for key in ("search", "loss") if (text := _variant(policy.get(key)))]
    parts += [("--tidy", "")] if policy.get("tidy") else []
    parts += [("--ends", "exact")] if policy.get("ends") == "exact" else []
    parts += [("--numbers", form) for form in _forms(manifest)[:1]]
    parts += [("--profile", str(policy["profile"]))] if policy.get("profile") else []
    parts += [("--seed", str(seed)) for seed in [look(manifest, "seed")] if seed is not None]
    parts += [("--order", str(o)) for o in [look(manifest, "data", "order")] if o not in (None, "canonical")]
    parts += [("--format", str(format)) for format in [look(manifest, "data", "format")] if format not in (None, "csv")]
    words = " ".join(f"{flag} {shlex.quote(text)}" if text else flag for flag, text in parts)
    return f"sfumato anonymize {INPUT} {words} -o OUTPUT", unwritten


def _forms(manifest: Manifest) -> list[str]:
    """The forms that numbers and dates are written in."""
    written = table(manifest, "data", "numbers").values()
    return list(dict.fromkeys(str(one.get("form")) for one in written if isinstance(one, Mapping)))


def _hierarchies(used: Mapping[str, Any]) -> tuple[list[tuple[str, str]], list[str]]:
    flags, unwritten = [], []
    for column, described in used.items():
        if (text := _hierarchy(str(described))) is None:
            unwritten.append(column)
        else:
            flags.append(("--hierarchy", f"{as_flag([column], '=')}={text}"))
    return flags, unwritten


def _hierarchy(described: str) -> str | None:
    """The flag that asks for a hierarchy as a manifest describes it; None where there is none.

    >>> _hierarchy("redact right by 2, 4"), _hierarchy("either parent in file zip.csv"), _hierarchy("tree given rows")
    ('redact:right,2,4', 'either:zip.csv', None)
    """
    if several := re.fullmatch(r"either (?:parent in )?(.+)", described):
        parts = [_hierarchy(part) for part in several[1].split(" or ")]
        return None if None in parts else f"either:{' or '.join(map(str, parts))}"
    for pattern, way in _WAYS.items():
        if found := pattern.fullmatch(described):
            return way.format(found[1] if way == "{}" else found[1].replace(", ", ",").replace(" by ", ","))
    return None


MOST_LISTED = 20  # values that a line of the shell names


def flags_of(manifest: Manifest) -> list[tuple[str, str]]:
    """The flags of what was promised."""
    return [_model(one) for one in rows(manifest, "policy", "require") if isinstance(one, Mapping) and one.get("model")]


def _model(one: Mapping[str, Any]) -> tuple[str, str]:
    given = {key: value for key, value in one.items() if value is not None}
    name = str(given.pop("model"))
    if name == "k-anonymity" and set(given) == {"k"}:
        return "--k", str(given["k"])
    values, over = given.pop("values", None), given.pop("quasi", None)  # those to guard stand last, without a name
    maps = {key: given.pop(key) for key in list(given) if isinstance(given[key], Mapping)}
    shown = {key: str(value) for key, value in given.items()}
    words = [shlex.quote(text if values else f"{key}={text}") for key, text in shown.items()]
    for key, of in maps.items():  # a long one is in the manifest, and would come from a file
        listed = [f"{value}={n}" for value, n in of.items()] if len(of) <= MOST_LISTED else [key.upper()]
        words += [shlex.quote(f"{key}={text}") for text in listed]
    words += [shlex.quote(str(value)) for value in values or ()]
    words += [shlex.quote(f"quasi={as_flag(map(str, over))}")] if isinstance(over, list | tuple) and over else []
    return "--require", " ".join([name, *words])


def _variant(given: Any) -> str | None:
    """A search or a loss with the parameters that a flag can hold."""
    if not isinstance(given, Mapping) or not given.get("name"):
        return None
    plain = {key: value for key, value in given.items() if key != "name" and isinstance(value, str | int | float)}
    words = [f"{key}={str(value).lower() if isinstance(value, bool) else value}" for key, value in plain.items()]
    return " ".join([str(given["name"]), *map(shlex.quote, words)])


RECODINGS = {
    "partition": "local: every class has ranges and sets of its own",
    "levels": "global: one level of the hierarchy per column",
    "columns": "global: one label per value of a column",
}
ENDS = {
    "rounded": "rounded outward to a step, so that they are not the values of people",
    "exact": "exact: each is the value of somebody in the class",
}
TIDY = "they nest, and a number or date has no more of them than it had values"
ALIKE = "texts are grouped by their order, their prefix, or with others whose rows look alike in the other columns"
FORMS = {
    "bounds": "the bounds of their range",
    "midpoint": "the middle of their range",
    "draw": "a value drawn at random within the bounds of their range, beside these",
}
OPTIMAL = {True: "yes: no better one exists for this method and loss", False: "not claimed"}


def method(manifest: Manifest) -> Markup:
    """The section of method and parameters."""
    asked = [_as_promise(one) for one in rows(manifest, "policy", "require")] or promises(manifest)
    recoding, optimal = look(manifest, "solution", "recoding"), look(manifest, "solution", "optimal")
    pairs = [
        ("Search", _variant_line(look(manifest, "policy", "search"), _search)),
        ("Picked because", _chosen(look(manifest, "policy", "chosen"))),
        ("Recoding", RECODINGS.get(str(recoding), recoding)),
        ("Optimal", OPTIMAL.get(optimal) if isinstance(optimal, bool) else None),
        ("Proven", look(manifest, "solution", "proven")),
        ("Required", join([model(one) for one in asked], tag("br")) or None),
        ("Quasi-identifiers", join([names(one, most=99) for one in quasi(manifest)], tag("br")) or None),
        ("Loss to keep small", _variant_line(look(manifest, "policy", "loss"), lambda name: called(LOSSES, name))),
        ("Labels", TIDY if look(manifest, "policy", "tidy") else None),
        ("Without a hierarchy", _ungrouped(manifest)),
        ("Ends of ranges", ENDS.get(str(look(manifest, "policy", "ends")))),
        ("Numbers are written as", join([FORMS[form] for form in _forms(manifest) if form in FORMS], ", ") or None),
        ("Rows with equal values", _dealt(rows(manifest, "policy", "row_key"))),
        ("Suppression allowed", _limit(look(manifest, "policy", "suppression"))),
    ]
    return section("method", "Method and parameters", facts(pairs, "record"), _hierarchy_lines(manifest))


def _dealt(row_key: Sequence[Any]) -> Markup | None:
    """How rows of an out-of-core table with equal values get different labels."""
    if not row_key:
        return None
    return join(["may have different labels: dealt by ", names(row_key), ", in an order that is secret"])


def _ungrouped(manifest: Manifest) -> str | None:
    """What becomes of texts that were given no hierarchy, where there are such."""
    given, columns = table(manifest, "policy", "hierarchies"), rows(manifest, "data", "columns")
    texts = {c.get("name") for c in columns if isinstance(c, Mapping) and c.get("kind") == "text"}
    bare = [name for names in quasi(manifest) for name in names if given.get(name, "learned") == "learned"]
    return ALIKE if texts.intersection(bare) else None


def _as_promise(asked: Any) -> dict[str, Any]:
    given = dict(asked) if isinstance(asked, Mapping) else {"model": asked}
    return {"model": given.pop("model", None), "parameters": given}


def _search(name: str) -> str:
    """A search and what it does, by the first line of its own documentation without its code."""
    from sfumato.search import SEARCHES

    if name not in SEARCHES:
        return name
    summary = re.sub(r"( \([^()]*\))?\.?$", "", SEARCHES[name].summary)
    return f"{titled(SEARCHES, name)}: {summary[:1].lower()}{summary[1:]}"


def _variant_line(given: Any, words: Callable[[str], str]) -> str | None:
    """A search or a loss: what it is, and the parameters it was given."""
    given = dict(given) if isinstance(given, Mapping) else {"name": given}
    title = given.pop("name", None)
    more = [f"{key} = {parameter(value)}" for key, value in given.items() if value is not None]
    return None if title is None else "; ".join([words(str(title)), *more])


def _chosen(chosen: Any) -> str | None:
    """Why the search was picked, and the runner-up, where it was not asked for."""
    if not isinstance(chosen, Mapping):
        return None
    return f"{chosen.get('why')}; runner-up {chosen.get('runner_up')}"


def _limit(limit: Any) -> str | None:
    if limit is None:
        return None
    return f"{percent(limit)} of the rows" if isinstance(limit, float) else count(limit, "row")


def _hierarchy_lines(manifest: Manifest) -> Markup | None:
    used, allowed = table(manifest, "policy", "hierarchies"), table(manifest, "policy", "levels")
    chosen = table(manifest, "solution", "levels")
    columns = list(dict.fromkeys([*chosen, *used, *allowed]))
    if not columns:
        return None
    head: list[str] = ["Column", "Hierarchy"]
    lines: list[list[object]] = [[name(column), _described(used.get(column))] for column in columns]
    for title, source in (("Levels allowed", allowed), ("Level chosen", chosen)):
        if source:
            head.append(title)
            lines = [[*line, _level(source.get(column))] for line, column in zip(lines, columns, strict=True)]
    return html_table(head, lines, "Hierarchies, from the value itself (level 0) up to everything alike", "stack")


def _described(hierarchy: Any) -> Markup | str:
    """What a manifest says of a hierarchy; one that goes by a name of its own is set apart."""
    if not hierarchy:
        return "none given"
    named = re.fullmatch(r"\S+", str(hierarchy)) and hierarchy not in ("flat", "learned")
    return tag("code", hierarchy) if named else str(hierarchy)


def _level(level: Any) -> str:
    if isinstance(level, list | tuple):
        return " to ".join("–" if one is None else number(one) for one in level)
    return "–" if level is None else number(level)


REPEAT = "The same input, policy and seed give the same bytes."
REPEAT_MASKED = (
    "The same input, steps and seed give the same bytes to the owner. The random numbers come from the owner's secret "
    "key and the seed together: whoever knows the seed alone, as it stands here, can undo nothing."
)
REPEAT_DRAWN = (
    "The same input, generator and seed give the same bytes to the owner. The random numbers come from the owner's "
    "secret key and the seed together: whoever knows the seed alone, as it stands here, can undo nothing."
)
NO_NOISE_TWICE = "The noise is drawn anew each time and kept nowhere: nobody can make the same table again."
DESCRIBED = "To check that the file is the one described here, run "
ORDERS = {
    "canonical": "sorted by what is released of them",
    "random": "random, by a secret seed",
    "input": "that of the input",
}
ORDER = {"d": "day", "m": "month", "y": "year"}
READINGS = {
    "units": "numbers without their unit",
    "missing": "texts declared missing",
    "value_labels": "value labels in place of codes",
}
NO_REPEAT = "The search reached a limit on time or nodes: another run may give another release."


def suppression(manifest: Manifest, by_size: Sequence[tuple[str, int, int]] = ()) -> Markup:
    """The section of suppressed rows; `by_size` has the size of a class in the original, its rows, those suppressed."""
    absent, limit = look(manifest, "solution", "suppressed"), look(manifest, "solution", "suppression_limit")
    before = look(manifest, "input", "rows")
    if absent is None:
        told = "The manifest does not say how many rows were suppressed."
    elif absent == 0:
        told = "No row was suppressed."
    else:
        told = f"{count(absent, 'row')} could not be hidden among others and {'is' if absent == 1 else 'are'} left out."
    pairs = [
        ("Suppressed", number(absent) if absent is not None else None),
        ("Share of the input", percent(absent / before) if absent is not None and before else None),
        ("Allowed", count(limit, "row") if limit is not None else None),
        ("Allowed share", percent(limit / before) if limit is not None and before else None),
    ]
    shown = None
    if by_size and absent:
        lines = [(size, number(n), number(gone), percent(gone / n)) for size, n, gone in by_size]
        head = ("Records alike in the original", "Records", "Suppressed", "Share")
        shown = html_table(head, lines, "Suppressed rows by how many records looked alike before", "figured")
    return section("suppression", "Suppressed rows", tag("p", told), facts(pairs), shown)


def _reading(reading: Mapping[str, Any]) -> Markup | None:
    """What was not taken as it was written."""
    parts = []
    for column, order in table(reading, "dates").items():
        parts.append(join(["dates as ", ", ".join(ORDER.get(c, c) for c in str(order)), " in ", names([column])]))
    for column, last in table(reading, "years_up_to").items():
        parts.append(join(["years of two digits up to ", str(last), " in ", names([column])]))
    if (mark := look(reading, "decimal")) is not None:
        parts.append(join(["numbers with a decimal ", mark]))
    for key, what in READINGS.items():
        if found := rows(reading, key):
            parts.append(join([what] if found == ["*"] else [what, " in ", names(found)]))
    if (above := look(reading, "skip")) is not None:
        parts.append(join([count(above, "line"), " above the header skipped"]))
    if (gone := look(reading, "drop_missing", "rows")) is not None:
        columns = names(rows(reading, "drop_missing", "columns"))
        parts.append(join([count(gone, "row"), " left out for a missing value in ", columns]))
    return join(parts, "; ") if parts else None


def reproduction(manifest: Manifest) -> Markup:
    """The section of what it takes to check and to repeat the release."""
    data, whole = table(manifest, "data"), sorted(table(manifest, "whole"))
    versions = [f"{library} {version}" for library, version in table(manifest, "versions").items() if version]
    seed = look(manifest, "seed")
    pairs = [
        ("Sfumato", look(manifest, "sfumato")),
        ("Released file", _code(data.get("file"))),
        ("Format", data.get("format")),
        ("SHA-256 of the file", _code(data.get("sha256"))),
        ("How the table was read", _reading(table(manifest, "input", "reading"))),
        ("Fingerprint of the input", _code(look(manifest, "input", "fingerprint"))),
        ("Order of the rows", ORDERS.get(str(data.get("order")))),
        ("Seed", "none" if seed is None else str(seed)),
        ("Versions", ", ".join(versions) or None),
        ("Spreadsheet formulas", "guarded: no cell is run as a formula" if data.get("guarded") else None),
        ("Also in the manifest", join(["frequencies of ", names(whole), " in the whole table"]) if whole else None),
    ]
    told = NO_REPEAT if look(manifest, "solution", "reproducible") is False else REPEAT
    told = NO_NOISE_TWICE if constructed(manifest) else told
    what = "the promises"
    if is_masked(manifest):
        told = REPEAT_DRAWN if is_synthetic(manifest) else REPEAT_MASKED
        told = NO_NOISE_TWICE if constructed(manifest) else told
        what = "promises and facts" if promises(manifest) else "the facts"
    again = f"To check {what} again from the released file alone, run "
    if is_synthetic(manifest) and all(look(fact, "private") for fact in rows(manifest, "facts")):
        again = again.replace(what, "the promises") if promises(manifest) else DESCRIBED
    check = [again, tag("code", "sfumato verify"), " on its folder."]
    if is_masked(manifest) and rows(manifest, "facts"):
        check += [" Its owner adds ", tag("code", "--original"), " for the facts that compare with the original."]
    parts = [tag("p", told), facts(pairs, "record"), _again(manifest), tag("p", *check)]
    return section("reproduction", "Reproduction", *parts)


def _again(manifest: Manifest) -> Markup | None:
    """The line that makes the release again."""
    if not quasi(manifest) or look(manifest, "solution") is None or constructed(manifest):
        return None
    line, unwritten = command(manifest)
    told = "To make it again from the same input:"
    more = ["The hierarchies of ", names(unwritten), " cannot be written as flags: give them as the policy file did."]
    return join([tag("p", told), tag("pre", tag("code", line)), tag("p", *more) if unwritten else None])


def _code(value: object) -> Markup | None:
    return tag("code", tag("bdi", value)) if value else None


def foreign(manifest: Manifest) -> Markup:
    """The section of the file."""
    told = (
        "This table was made by another tool. How it was made is not on record here; everything above was measured on "
        "the file itself."
    )
    file, digest = look(manifest, "data", "file"), look(manifest, "data", "sha256")
    pairs = [
        ("File", tag("code", tag("bdi", file)) if file else None),
        ("SHA-256 of the file", tag("code", digest) if digest else None),
        ("Measured by", join(["Sfumato ", look(manifest, "sfumato") or ""])),
    ]
    lines = [
        (name(look(column, "name") or "unnamed"), ROLES.get(str(look(column, "role")), ""), look(column, "kind") or "")
        for column in rows(manifest, "data", "columns")
    ]
    words = [("--quasi", as_flag(names)) for names in quasi(manifest)] + flags_of(manifest)
    flags = [f"{flag} {shlex.quote(text)}" for flag, text in words]
    line = tag("pre", tag("code", " ".join(["sfumato verify", shlex.quote(str(file)), *flags])))
    again = join([tag("p", "To check it again:"), line]) if rows(manifest, "policy", "require") else None
    return section(
        "reproduction",
        "The file",
        tag("p", told),
        facts(pairs, "record"),
        html_table(("Column", "Role", "Kind"), lines, "The columns of the file", "stack"),
        again,
    )
