"""The columns: their roles, and what each of them lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.report.look import Manifest, look, promises, quasi, rows, table
from sfumato.report.markup import Markup, name, names, section, tag
from sfumato.report.markup import table as html_table
from sfumato.report.svg import bar
from sfumato.report.words import LOSSES, count, number

if TYPE_CHECKING:
    from sfumato.policy import Verdict

NO_LOSS = "The manifest gives no loss per column."
UNTOLD = "do not say how many values they stand for, and hidden values are not counted"
FREQUENCIES = "it is made of the frequencies of original values, which would give hidden ones away."
ROLES = {
    "identifying": "Identifying",
    "quasi": "Quasi-identifying",
    "sensitive": "Sensitive",
    "insensitive": "Insensitive",
    "weight": "Weight",
}


def roles(manifest: Manifest) -> Markup:
    """The section of roles."""
    intro = (
        "Identifying columns name a person and are removed. Quasi-identifying columns may be known to others and are "
        "blurred. Sensitive columns are what others should not learn about a person. The rest is released as it is."
    )
    lines = [(name(column), ROLES["identifying"], "", "removed") for column in rows(manifest, "policy", "identifying")]
    for column in rows(manifest, "data", "columns"):
        title, role = str(look(column, "name") or "unnamed"), str(look(column, "role") or "")
        lines.append(
            (name(title), _role(manifest, title, role), look(column, "kind") or "", _fate(manifest, title, role))
        )
    head = ("Column", "Role", "Kind", "In the release")
    shown = html_table(head, lines, "The columns of the input and what became of them", "stack")
    return section("roles", "Roles of the columns", tag("p", intro), shown if lines else None)


def _role(manifest: Manifest, column: str, role: str) -> str:
    sets = quasi(manifest)
    member = [str(i) for i, one in enumerate(sets, 1) if column in one]
    if role != "quasi" or len(sets) < 2 or not member:
        return ROLES.get(role, role)
    return f"{ROLES[role]}, set{'s' if len(member) > 1 else ''} {' and '.join(member)}"


def _fate(manifest: Manifest, column: str, role: str) -> str:
    if role == "quasi":
        level = table(manifest, "solution", "levels").get(column)
        lost = table(manifest, "solution", "loss_per_attribute").get(column)
        if level is not None:
            return f"generalised to level {level}" if level else "as it was"
        if lost == 0:
            return "as it was"
        return "generalised, class by class" if look(manifest, "solution", "recoding") == "partition" else "generalised"
    if role == "sensitive":
        named = sum(look(promise, "parameters", "attribute") == column for promise in promises(manifest))
        kept = "in one spelling" if column in rows(manifest, "policy", "normalise") else "as it was"
        return f"{kept}; " + (f"protected by {count(named, 'promise')}" if named else "no promise names it")
    return "as it was"


def losses(manifest: Manifest, exact: Verdict | None = None) -> Markup:
    """The section of the loss per attribute: of the released labels, or the `exact` one of an internal report."""
    per_column = table(manifest, "solution", "loss_per_attribute") if exact is None else exact.per_attribute
    whole = look(manifest, "solution", "loss") if exact is None else exact.loss
    lost = {key: value for key, value in per_column.items() if _is_number(value)}
    kind = look(manifest, "policy", "loss", "name")
    measure = LOSSES.get(str(kind), str(kind)) if kind else "the policy's measure"
    base = "the released rows and labels alone" if exact is None else "the original values"
    untold = [key for key in per_column if key not in lost]
    parts = []
    if whole is not None:
        parts = [tag("p", f"Measured as {measure} on {base}: {number(whole)} over all quasi-identifying columns.")]
    elif kind == "non-uniform-entropy":
        parts = [tag("p", f"The {measure} is not published: {FREQUENCIES}")]
    if untold and kind != "non-uniform-entropy":
        so = "." if whole is not None else f": so the {measure} over all columns is not published."
        parts.append(tag("p", "The labels of ", names(untold), f" {UNTOLD}{so}"))
    if not lost:
        return section("loss", "Loss per column", *(parts if kind else [tag("p", NO_LOSS, class_="quiet")]))
    top = max(1.0, *lost.values())
    scale = tag(
        "span", tag("span", "0, as it was"), tag("span", "1, erased" if top == 1 else number(top)), class_="scale"
    )
    lines = [(name(key), bar(value / top), f"{value:,.3f}") for key, value in lost.items()]
    shown = html_table(("Column", scale, "Loss"), lines, "How much of each column's detail is gone", "shares")
    return section("loss", "Loss per column", *parts, shown)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value
