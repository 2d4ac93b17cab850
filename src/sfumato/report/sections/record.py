"""For the record: the suppressed rows, and what it takes to check and to repeat the release."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from sfumato.core.wording import count, number, percent
from sfumato.report.look import Manifest, look, quasi, rows, table
from sfumato.report.markup import Markup, facts, join, name, names, section, tag
from sfumato.report.markup import table as html_table
from sfumato.report.sections.columns import ROLES
from sfumato.report.sections.method import asked, command, listed

REPEAT = "The same input, policy and seed give the same bytes."
ORDERS = {
    "canonical": "sorted by what is released of them",
    "random": "random, by a secret seed",
    "input": "that of the input",
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
        ("Fingerprint of the input", _code(look(manifest, "input", "fingerprint"))),
        ("Order of the rows", ORDERS.get(str(data.get("order")))),
        ("Seed", "none" if seed is None else str(seed)),
        ("Versions", ", ".join(versions) or None),
        ("Spreadsheet formulas", "guarded: no cell is run as a formula" if data.get("guarded") else None),
        ("Also in the manifest", join(["frequencies of ", names(whole), " in the whole table"]) if whole else None),
    ]
    told = NO_REPEAT if look(manifest, "solution", "reproducible") is False else REPEAT
    check = [
        "To check the promises again from the released file alone, run ",
        tag("code", "sfumato verify"),
        " on its folder.",
    ]
    parts = [tag("p", told), facts(pairs, "record"), _again(manifest), tag("p", *check)]
    return section("reproduction", "Reproduction", *parts)


def _again(manifest: Manifest) -> Markup | None:
    """The line that makes the release again."""
    if not quasi(manifest) or look(manifest, "solution") is None:
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
    words = [("--quasi", listed(names)) for names in quasi(manifest)] + asked(manifest)
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


LINES = ("Name", "Role", "Date", "Signature")
# who signed, and when, must not change these bytes, which are signed
DIGITAL = (
    "A digital signature stands in ",
    tag("code", "signature.json"),
    " beside this file, if it was signed: ",
    tag("code", "sfumato verify"),
    " shows by whom, and whether it is valid.",
)


def signature(manifest: Manifest) -> Markup:
    """The section to be filled in by hand."""
    file, digest = look(manifest, "data", "file"), look(manifest, "data", "sha256")
    told = ["I have read this report", " on ", tag("bdi", file) if file else "the released table"]
    told += [", the file with SHA-256 ", tag("code", digest)] if digest else []
    boxes = tag(
        "p", *(tag("span", tag("i", class_="box"), text) for text in ("I approve", "I do not approve")), class_="boxes"
    )
    lines = [tag("div", tag("dt", line), tag("dd", class_="blank")) for line in LINES]
    return section(
        "signature",
        "Approval",
        tag("p", *told, ", and decide on its publication:"),
        boxes,
        tag("dl", *lines, class_="sign"),
        None if look(manifest, "foreign") else tag("p", *DIGITAL, class_="quiet"),
    )
