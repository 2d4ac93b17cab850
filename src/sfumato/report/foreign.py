"""What is on record about a table that another tool released: the file, its columns, and how to check it again."""

from __future__ import annotations

import shlex

from sfumato.report.columns import ROLES
from sfumato.report.command import asked, listed
from sfumato.report.look import Manifest, look, quasi, rows
from sfumato.report.markup import Markup, facts, join, name, section, tag
from sfumato.report.markup import table as html_table


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
