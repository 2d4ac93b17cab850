"""The heat map: a contingency table of two columns, its cells shaded by their share of the column."""

from __future__ import annotations

import numpy as np

from sfumato.core.wording import percent
from sfumato.report.markup import Markup, join, name, section, tag
from sfumato.report.sections.evidence import Heat

SHADES = 8
LONG = 44  # characters of a label


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
    head = tag("tr", tag("td"), *(tag("th", _label(label), scope="col") for label in heat.columns))
    lines = []
    for i, label in enumerate(heat.rows):
        cells = [
            tag("td", "few" if few is not None and few[i, j] else _cell(share[i, j]), class_=_shade(share[i, j], top))
            for j in range(len(heat.columns))
        ]
        lines.append(tag("tr", tag("th", _label(label), scope="row"), *cells))
    shown = tag("table", tag("caption", caption), tag("thead", head), tag("tbody", *lines), class_="heat")
    return tag("div", shown, class_="scroll")


def _cell(share: float) -> str:
    return percent(float(share)) if share >= 0.0995 or share == 0 else f"{100 * share:.1f}%"


def _shade(share: float, top: float) -> str:
    return f"s{round(SHADES * min(share / top, 1.0)) if top > 0 else 0}"


def _label(text: str) -> Markup:
    return tag("bdi", text if len(text) <= LONG else f"{text[: LONG - 1]}…")
