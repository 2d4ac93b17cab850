"""What each column looks like: bars of its released labels, or of its values before and after."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.report.columns import ROLES
from sfumato.report.evidence import Shape
from sfumato.report.markup import Markup, join, name, section, tag
from sfumato.report.markup import table as html_table
from sfumato.report.svg import bar
from sfumato.report.words import count, percent

LONG = 90  # characters of a label


def shapes(found: Sequence[Shape], least: int | None = None) -> Markup | None:
    """The section of distributions; `least` is the count below which those of the original are not told."""
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
    parts = [tag("div", _shape(shape, least), class_="shape") for shape in found]
    return section("columns", title, tag("p", intro), tag("div", *parts, class_="shapes"))


def _shape(shape: Shape, least: int | None) -> Markup:
    role = ROLES.get(shape.role, shape.role).lower()
    title = tag("h3", name(shape.name), tag("span", f" {role}, {count(shape.labels, 'label')}", class_="quiet"))
    if shape.axis is None:
        note = "Nearly every record has a value of its own; there is nothing to draw."
        return join([title, tag("p", note, class_="quiet")])
    if least is None or shape.original is None:
        shown = _released(shape)
    else:
        shown = _compared(shape, least)
    return join([title, shown, _note(shape, least)])


def _note(shape: Shape, least: int | None) -> Markup | None:
    axis = shape.axis
    assert axis is not None
    if least is None and axis.spread:
        return tag("p", "Each record is spread evenly over its released range.", class_="quiet")
    if axis.gathered:
        what = f"Other: {count(axis.gathered, 'more label' if least is None else 'more value')}."
        return tag("p", what, class_="quiet")
    return None


def _released(shape: Shape) -> Markup:
    total, top = max(shape.released.sum(), 1.0), _top(shape, shape.released)
    lines = [
        (_label(label), "" if _is_rest(shape, i) else bar(n / top), percent(n / total))
        for i, (label, n) in enumerate(zip(shape.groups, shape.released.tolist(), strict=True))
    ]
    return html_table(("Label", "Records", "Share"), lines, f"Released labels of {shape.name}", "shares bars")


def _compared(shape: Shape, least: int) -> Markup:
    assert shape.original is not None
    before, after = (values / max(values.sum(), 1.0) for values in (shape.original, shape.released))
    top = max(_top(shape, before), _top(shape, after))
    lines = []
    for i, label in enumerate(shape.groups):
        few = 0 < shape.original[i] < least
        drawn = [bar(0 if few else before[i] / top, "bar was"), bar(after[i] / top)]
        was = f"under {least} records" if few else percent(float(before[i]))
        lines.append((_label(label), "" if _is_rest(shape, i) else join(drawn), was, percent(float(after[i]))))
    moved = float(np.abs(before - after).sum() / 2)
    caption = f"{percent(moved)} of the records are in another group than before"
    head = ("Values", "Before above, after below", "Before", "After")
    return html_table(head, lines, caption if moved >= 5e-5 else "As before", "shares bars two")


def _label(text: str) -> Markup:
    """A label, cut where it would fill the page."""
    return tag("bdi", text if len(text) <= LONG else f"{text[: LONG - 1]}…")


def _is_rest(shape: Shape, group: int) -> bool:
    """What is gathered as "other" has no bar: it would hide the others."""
    return shape.axis is not None and shape.axis.rest == group


def _top(shape: Shape, values: np.ndarray) -> float:
    drawn = [float(value) for i, value in enumerate(values) if not _is_rest(shape, i)]
    return max([*drawn, 1e-9])
