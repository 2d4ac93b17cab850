"""The report of tables that are published together: what is promised of all of them, how they join, and their rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from sfumato.core.printed import printed
from sfumato.core.protocols import PROVEN, STATED
from sfumato.core.wording import count, number, quoted
from sfumato.criteria.sets import SET_PROMISES
from sfumato.report.manifest import spoken
from sfumato.report.markup import Markup, facts, join, name, names, section, table, tag
from sfumato.report.page import html, style_of
from sfumato.report.sections.about import lines
from sfumato.report.translation import translated_page

SHOWN = 20  # rows of a table
CELLS = 200  # of a statistical table
KNOWN = {
    PROVEN: "Proven from the published tables alone; sfumato verify does it again.",
    STATED: "Stated by the owner: the published tables do not show it.",
    "by construction": "Holds by construction: it follows from how the tables were made, and no table shows it.",
}


def set_report(manifest: Mapping[str, Any], tables: Mapping[str, pl.DataFrame]) -> str:
    """The page of HTML, in the language that the manifest asks for: all it says comes from the manifest and the tables,
    so it may be published with them."""
    promises = manifest["promises"]
    first = kept(promises) if promises else "Nothing is promised of these tables"
    called = f"{count(len(tables), 'table')} published{' together' if len(tables) > 1 else ''}: release report"
    body = [
        tag("header", tag("h1", first), tag("p", called.split(":")[0], "."), *map(_open, promises)),
        tag(
            "main",
            *map(_promise, promises),
            section("about", "About this release", facts(lines(manifest), "record")),
            method_section(manifest),
            _links(manifest),
            *(rows_section(one, tables[one["name"]]) for one in manifest["tables"]),
        ),
        tag("footer", f"Made by Sfumato {manifest['sfumato']} from the manifest and the tables."),
    ]
    return translated_page(html(called, style_of("page.css", "evidence.css"), body), spoken(manifest))


def kept(promises: Sequence[Mapping[str, Any]]) -> str:
    """How many promises there are, and whether they are kept."""
    promised = count(len(promises), "promise")
    if not all(promise["holds"] for promise in promises):
        return f"{promised}: NOT KEPT"
    stated = sum(promise["how"] == STATED for promise in promises)
    return f"{promised}: kept, {stated} of them by the owner's word" if stated else f"{promised}: kept"


def _open(promise: Mapping[str, Any]) -> Markup | None:
    """What a promise leaves open, which whoever reads no further has to know."""
    known = SET_PROMISES.get(promise["model"])
    return None if known is None or not known.leaves else tag("p", tag("strong", "Not covered: "), known.leaves)


def _promise(promise: Mapping[str, Any]) -> Markup:
    """A promise, how it is known, and the attack that it stops."""
    known = SET_PROMISES.get(promise["model"])
    title = promise["model"] if known is None or not known.words else known.words
    stops = tag("p", tag("strong", "It stops: "), known.stops) if known is not None and known.stops else None
    return promise_section(title, promise, KNOWN, stops)


def promise_section(
    title: object, promise: Mapping[str, Any], how: Mapping[str, str], more: Markup | None = None
) -> Markup:
    """A promise, and how it is known, which `how` has words for."""
    said = [tag("p", promise["sentence"]), tag("p", how.get(promise["how"], promise["how"]))]
    if promise["measured"] is not None and promise["how"] == PROVEN:
        measured = f"Measured {number(promise['measured'])}, asked {number(promise['bound'])}."
        said.append(tag("p", measured, "" if promise["holds"] else " It does not hold."))
    if promise["note"]:
        said.append(tag("p", "Note: ", promise["note"], class_="quiet"))
    return tag("section", tag("h2", title), *said, more)


def method_section(manifest: Mapping[str, Any]) -> Markup:
    """How the tables were made, and of which columns."""
    policy, method, before = manifest["policy"], manifest["method"], manifest["input"]["rows"]
    rows = [[what.replace("_", " "), join([_value(value)])] for what, value in method.items() if value is not None]
    if before is not None:
        rows.append(["rows of the input", number(before)])
    roles = [
        [role, names(policy[role])] for role in ("identifying", "quasi", "sensitive", "insensitive") if policy.get(role)
    ]
    return tag(
        "section",
        tag("h2", "How they were made"),
        table(["what", "value"], rows, "How the tables were made"),
        table(["role", "columns"], roles, "Roles of the columns") if roles else None,
    )


def _value(value: Any) -> str | Markup:
    """A value as text; a name, which no language has another word for, is set apart."""
    if isinstance(value, Markup):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return number(value)
    if isinstance(value, Mapping):
        return join([join([key, " ", _value(one)]) for key, one in value.items()], ", ")
    if isinstance(value, list | tuple):
        return quoted(value)
    return str(value) if " " in str(value) else tag("bdi", str(value))


def _links(manifest: Mapping[str, Any]) -> Markup | None:
    """What joins the tables, or that they are of the same people though nothing does."""
    rows = []
    for link in manifest["links"]:
        by = names(link["columns"]) if link["columns"] else ""
        rows.append([link["kind"], names(link["tables"]), by])
    if not rows:
        return None
    return tag("section", tag("h2", "How they belong together"), table(["link", "tables", "by"], rows, "Links"))


def rows_section(said: Mapping[str, Any], frame: pl.DataFrame) -> Markup:
    """The first rows of a table."""
    counted = {"value", "status"} <= {*frame.columns}
    first = frame.head(CELLS if counted else SHOWN)
    head = [tag("span", name(one["name"]), f" ({one['role']})") for one in said["columns"]]
    texts = [printed(first.get_column(column)).fill_null("").to_list() for column in first.columns]
    cells = [[tag("bdi", cell) for cell in row] for row in zip(*texts, strict=True)]
    left = frame.height - first.height
    more = tag("p", f"and {number(left)} more in its file") if left else None
    found = tag("div", table(head, cells, "First rows", "counted"), class_="scroll")
    return tag("section", tag("h2", name(said["name"]), f": {count(frame.height, 'row')}"), join([found, more]))
