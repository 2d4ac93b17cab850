"""A statistical table as a page shows it: what readers see of it, or what its owner does."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from sfumato.studio.texts import Texts

MARKS = {1: "unsafe", 2: "protecting"}


def cell_table(text: Texts, grid: Mapping[str, Any], owner: bool, flags: bool = False) -> str:
    """The table with its totals; hidden cells have a shape and a word. Which of them are unsafe is for the owner, or
    for all with `flags`."""
    heads = "".join(f'<th scope="col">{escape(name)}</th>' for name in grid["down"])
    if grid["across"] is None:
        top = f'<tr>{heads}<th scope="col" class="figure">{escape(text("statistical.cells"))}</th></tr>'
    else:
        span = f'<th scope="colgroup" colspan="{len(grid["columns"])}">{escape(grid["across"])}</th>'
        blank = f'<td colspan="{len(grid["down"])}"></td>'
        columns = "".join(f'<th scope="col" class="figure">{_label(text, one)}</th>' for one in grid["columns"])
        top = f"<tr>{blank}{span}</tr><tr>{heads}{columns}</tr>"
    body = []
    for row in grid["rows"]:
        names = "".join(
            f'<th scope="row" style="--depth: {one["depth"]}">{_label(text, one)}</th>' for one in row["head"]
        )
        total = ' class="total"' if all(one["total"] for one in row["head"]) else ""
        body.append(f"<tr{total}>{names}{''.join(_cell(text, one, owner, flags) for one in row['cells'])}</tr>")
    return f'<table class="cells"><thead>{top}</thead><tbody>{"".join(body)}</tbody></table>'


def _label(text: Texts, one: Mapping[str, Any]) -> str:
    label = text("statistical.total") if one["root"] else one["label"]
    return f"<b>{escape(label)}</b>" if one["total"] else escape(label)


def _cell(text: Texts, one: Mapping[str, Any] | None, owner: bool, flags: bool) -> str:
    if one is None:
        return '<td class="figure"></td>'
    if not one["status"] and one["value"] is not None:
        was = ""
        if owner and one["value"] != one["true"]:
            was = f"<small>{escape(text('statistical.was', value=text.number(one['true'])))}</small>"
        return f'<td class="figure">{text.number(one["value"])}{was}</td>'
    look = MARKS[one["status"]] if owner or flags else "hidden"
    word = escape(text(f"statistical.{look}"))
    value = text.number(one["true"]) if owner else ""
    ends = _ends(text, one["ends"])
    return f'<td class="figure cell-{look}"><i aria-hidden="true"></i>{value} {word}<small>{ends}</small></td>'


def _ends(text: Texts, ends: Any) -> str:
    """What everybody can compute of a hidden cell."""
    if ends is None or ends == [None, None]:
        return ""
    low, high = ends
    if high is None:
        return escape(text("statistical.from", low=text.number(low)))
    if low is None:
        return escape(text("statistical.to", high=text.number(high)))
    return escape(text("statistical.between", low=text.number(low), high=text.number(high)))
