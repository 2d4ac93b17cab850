"""The columns: their roles, what each lost, what their values look like, and which go together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.roles import why_of_name
from sfumato.core.wording import count, is_real, number, percent
from sfumato.losses import LOSSES
from sfumato.report.charts.axis import GroupName
from sfumato.report.charts.svg import bar
from sfumato.report.manifest import (
    Manifest,
    called,
    is_masked,
    is_synthetic,
    look,
    perturbed,
    promises,
    quasi,
    rows,
    table,
)
from sfumato.report.markup import Markup, join, name, names, section, tag
from sfumato.report.markup import table as html_table
from sfumato.report.sections.about import blank, said
from sfumato.report.sections.evidence import ColumnShape, Heat

if TYPE_CHECKING:
    from sfumato.core.policy import Verdict


NO_LOSS = "The manifest gives no loss per column."
UNTOLD = "do not say how many values they stand for, and hidden values are not counted"
FREQUENCIES = "it is made of the frequencies of original values, which would give hidden ones away."
ROLES = {
    "identifying": "Identifying",
    "quasi": "Quasi-identifying",
    "sensitive": "Sensitive",
    "insensitive": "Insensitive",
    "weight": "Weight",
    "masked": "Masked",
    "synthetic": "Made anew",
    "copy": "Number of the copy",
}
MASKED = (
    "A changed column is one that a step took. A perturbed one has other values than it had; one that is changed and "
    "not perturbed has coarser ones, or pseudonyms. The rest is released as it is."
)
SYNTHETIC = (
    "A column made anew has values that were drawn from the model, whatever its role. Identifying columns were removed "
    "before the model saw them. Roles say what promises and measures are about."
)


def roles(manifest: Manifest) -> Markup:
    """The section of roles."""
    intro = (
        "Identifying columns name a person and are removed. Quasi-identifying columns may be known to others and are "
        "blurred. Sensitive columns are what others should not learn about a person. The rest is released as it is."
    )
    intro = SYNTHETIC if is_synthetic(manifest) else MASKED if is_masked(manifest) else intro
    lines: list[tuple[object, ...]] = [
        (name(column), ROLES["identifying"], "", "removed", _why(manifest, str(column), "identifying", ""))
        for column in rows(manifest, "policy", "identifying")
    ]
    for column in rows(manifest, "data", "columns"):
        title, role = str(look(column, "name") or "unnamed"), str(look(column, "role") or "")
        kind = str(look(column, "kind") or "")
        why = _why(manifest, title, role, kind)
        lines.append((name(title), _role(manifest, title, role), kind, _fate(manifest, title, role), why))
    head = ("Column", "Role", "Kind", "In the release", "Why it has this role")
    shown = html_table(head, lines, "The columns of the input and what became of them", "stack roles")
    taken = [str(column) for column in rows(manifest, "about", "suggested")]
    note = tag(
        "p", "Suggested by Sfumato from names and patterns, and taken as they were: the roles of ", names(taken), "."
    )
    parts = [tag("p", intro), note if taken else None, shown if lines else None]
    return section("roles", "The columns" if is_masked(manifest) else "Roles of the columns", *parts)


def _why(manifest: Manifest, column: str, role: str, kind: str) -> Markup | str:
    """The owner's reason, else that of the name alone, else a line to fill in: no reason looks at the original."""
    return said(manifest, "columns", column) or why_of_name(column, role, kind in ("integer", "decimal")) or blank()


def _role(manifest: Manifest, column: str, role: str) -> str:
    if role == "quasi" and column in rows(manifest, "policy", "sensitive"):
        return "Quasi-identifying and sensitive"
    sets = quasi(manifest)
    member = [str(i) for i, one in enumerate(sets, 1) if column in one]
    if role != "quasi" or len(sets) < 2 or not member:
        return ROLES.get(role, role)
    return f"{ROLES[role]}, set{'s' if len(member) > 1 else ''} {' and '.join(member)}"


def _fate(manifest: Manifest, column: str, role: str) -> str:
    if is_synthetic(manifest):
        anew = column in rows(manifest, "changed")
        return "says which table a row is of" if role == "copy" else "drawn from the model" if anew else "as it was"
    if is_masked(manifest) or (role != "quasi" and column in rows(manifest, "changed")):
        taken = [str(i) for i, step in enumerate(rows(manifest, "steps"), 1) if column in rows(step, "columns")]
        by = f" by {'steps' if len(taken) > 1 else 'step'} {' and '.join(taken)}" if taken else ""
        how = f"perturbed{by}" if column in perturbed(manifest) else f"changed{by}, not perturbed"
        return how if column in rows(manifest, "changed") else "as it was"
    named = sum(look(promise, "parameters", "attribute") == column for promise in promises(manifest))
    if role == "quasi" and named:
        return f"{_blurred(manifest, column)}; protected by {count(named, 'promise')}"
    if role == "quasi":
        return _blurred(manifest, column)
    if role == "sensitive":
        kept = "in one spelling" if column in rows(manifest, "policy", "normalise") else "as it was"
        return f"{kept}; " + (f"protected by {count(named, 'promise')}" if named else "no promise names it")
    return "as it was"


def _blurred(manifest: Manifest, column: str) -> str:
    level = table(manifest, "solution", "levels").get(column)
    lost = table(manifest, "solution", "loss_per_attribute").get(column)
    if level is not None:
        return f"generalised to level {level}" if level else "as it was"
    if lost == 0:
        return "as it was"
    return "generalised, class by class" if look(manifest, "solution", "recoding") == "partition" else "generalised"


def losses(manifest: Manifest, exact: Verdict | None = None) -> Markup:
    """The section of the loss per attribute: of the released labels, or the `exact` one of an internal report."""
    per_column = table(manifest, "solution", "loss_per_attribute") if exact is None else exact.per_attribute
    whole = look(manifest, "solution", "loss") if exact is None else exact.loss
    lost = {key: value for key, value in per_column.items() if _is_number(value)}
    kind = look(manifest, "policy", "loss", "name")
    measure = called(LOSSES, str(kind)) if kind else "the policy's measure"
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
    return is_real(value) and value == value


LONG = 90  # characters of a label


def shapes(found: Sequence[ColumnShape], least: int | None = None, drawn: bool = False) -> Markup | None:
    """The section of distributions; `least` is the count below which those of the original are not told; `drawn`,
    whether records are others than before."""
    if not found:
        return None
    if least is None:
        title, intro = "What the columns look like", "The released labels and how many records have each."
    else:
        title = "What changed per column"
        intro = (
            "The share of the records in each group of values, before and after. A released range or set is spread "
            f"evenly over what it covers. Values of fewer than {least} original records are not named."
        )
    if least is not None and drawn:
        title = "Each column beside the original"
        intro = (
            "The share of the records in each group of values, in the original and in this table. Values of fewer than "
            f"{least} original records are not named."
        )
    parts = [tag("div", _shape(shape, least, drawn), class_="shape") for shape in found]
    return section("columns", title, tag("p", intro), tag("div", *parts, class_="shapes"))


def _shape(shape: ColumnShape, least: int | None, drawn: bool) -> Markup:
    role = ROLES.get(shape.role, shape.role).lower()
    title = tag("h3", name(shape.name), tag("span", f" {role}, {count(shape.labels, 'label')}", class_="quiet"))
    if shape.axis is None:
        note = "Nearly every record has a value of its own; there is nothing to draw."
        return join([title, tag("p", note, class_="quiet")])
    if least is None or shape.original is None:
        shown = _released(shape)
    else:
        shown = _compared(shape, least, drawn)
    return join([title, shown, _note(shape, least)])


def _note(shape: ColumnShape, least: int | None) -> Markup | None:
    axis = shape.axis
    assert axis is not None
    if least is None and axis.spread:
        return tag("p", "Each record is spread evenly over its released range.", class_="quiet")
    if axis.gathered:
        what = f"Other: {count(axis.gathered, 'more label' if least is None else 'more value')}."
        return tag("p", what, class_="quiet")
    return None


def _released(shape: ColumnShape) -> Markup:
    total, top = max(shape.released.sum(), 1.0), _top(shape, shape.released)
    lines = [
        (_label(label), "" if _is_rest(shape, i) else bar(n / top), percent(n / total))
        for i, (label, n) in enumerate(zip(shape.groups, shape.released.tolist(), strict=True))
    ]
    return html_table(("Label", "Records", "Share"), lines, f"Released labels of {shape.name}", "shares bars")


def _compared(shape: ColumnShape, least: int, drawn: bool) -> Markup:
    assert shape.original is not None
    before, after = (values / max(values.sum(), 1.0) for values in (shape.original, shape.released))
    top = max(_top(shape, before), _top(shape, after))
    lines = []
    for i, label in enumerate(shape.groups):
        few = 0 < shape.original[i] < least
        bars = [bar(0 if few else before[i] / top, "bar was"), bar(after[i] / top)]
        was = f"under {least} records" if few else percent(float(before[i]))
        lines.append((_label(label), "" if _is_rest(shape, i) else join(bars), was, percent(float(after[i]))))
    moved = float(np.abs(before - after).sum() / 2)
    caption = f"{percent(moved)} of the records are in another group than before"
    caption = f"The shares differ by {percent(moved)}" if drawn else caption
    head = ("Values", "Before above, after below", "Before", "After")
    return html_table(head, lines, caption if moved >= 5e-5 else "The same shares as before", "shares bars two")


def _label(text: str, long: int = LONG) -> Markup:
    """A label, cut where it would fill the page."""
    kind = "span" if isinstance(text, GroupName) else "bdi"  # what is no label is a word of ours, to be translated
    return tag(kind, text if len(text) <= long else f"{text[: long - 1]}…")


def _is_rest(shape: ColumnShape, group: int) -> bool:
    """What is gathered as "other" has no bar: it would hide the others."""
    return shape.axis is not None and shape.axis.rest == group


def _top(shape: ColumnShape, values: np.ndarray) -> float:
    drawn = [float(value) for i, value in enumerate(values) if not _is_rest(shape, i)]
    return max([*drawn, 1e-9])


SHADES = 8


def heat_map(heat: Heat | None, least: int | None = None) -> Markup | None:
    """The section of the contingency table, of the release or before and after."""
    if heat is None:
        return None
    told = join(
        [
            "Of the records with each ",
            name(heat.across),
            " (across), the share with each ",
            name(heat.down),
            " (down). Columns that differ are what the one tells about the other.",
        ]
    )
    after = _shares(heat.released)
    if heat.original is None:
        parts = [_table(heat, after, float(after.max()), "In the release", None)]
    else:
        before = _shares(heat.original)
        top = float(max(before.max(), after.max()))
        few = (heat.original > 0) & (heat.original < (least or 1))
        parts = [_table(heat, before, top, "Before", few), _table(heat, after, top, "After", None)]
    return section("heat", "Two columns together", tag("p", told), *parts)


def _shares(cells: np.ndarray) -> np.ndarray:
    return np.asarray(cells / np.maximum(cells.sum(axis=0, keepdims=True), 1e-12))


def _table(heat: Heat, share: np.ndarray, top: float, caption: str, few: np.ndarray | None) -> Markup:
    """A table, so that those who hear the page and those who print it have the figures too."""
    head = tag("tr", tag("td"), *(tag("th", _label(label, 44), scope="col") for label in heat.columns))
    lines = []
    for i, label in enumerate(heat.rows):
        hidden = [few is not None and bool(few[i, j]) for j in range(len(heat.columns))]
        cells = [
            tag("td", "few" if hidden[j] else percent(float(share[i, j])), class_=_shade(share[i, j], top))
            for j in range(len(heat.columns))
        ]
        lines.append(tag("tr", tag("th", _label(label, 44), scope="row"), *cells))
    shown = tag("table", tag("caption", caption), tag("thead", head), tag("tbody", *lines), class_="heat")
    return tag("div", shown, class_="scroll")


def _shade(share: float, top: float) -> str:
    return f"s{round(SHADES * min(share / top, 1.0)) if top > 0 else 0}"
