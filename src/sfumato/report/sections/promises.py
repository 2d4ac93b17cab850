"""Promise by promise: what was promised, what was measured, whether it holds."""

from __future__ import annotations

from typing import Any

from sfumato.report.charts.svg import mark
from sfumato.report.look import Manifest, promises, quasi, rows
from sfumato.report.markup import Markup, facts, names, section, tag
from sfumato.report.words import AT_LEAST, AT_MOST, BELOW, model, number


def promised(manifest: Manifest) -> Markup:
    """The section of promises."""
    several = len(quasi(manifest)) > 1
    items = [_item(promise, several) for promise in promises(manifest)]
    if not items:
        return section("promises", "Promise by promise", tag("p", "The policy of this release asks for nothing."))
    intro = "Measured on the released rows alone, by code that shares nothing with the search."
    return section(
        "promises", "Promise by promise", tag("p", intro, class_="quiet"), tag("ol", *items, class_="promises")
    )


def _item(promise: Manifest, several: bool) -> Markup:
    holds = bool(promise.get("holds"))
    word = tag("span", mark(holds), "Holds" if holds else "Does not hold", class_="verdict")
    measured, bound = pair(promise.get("measured"), promise.get("bound"))
    name = str(promise.get("model"))
    side = "at least " if name in AT_LEAST else "at most " if name in AT_MOST else "below " if name in BELOW else ""
    columns = rows(promise, "quasi")
    pairs = [
        ("Measured", measured if promise.get("measured") is not None else None),
        ("Promised", side + bound if promise.get("bound") is not None else None),
    ]
    return tag(
        "li",
        tag("header", tag("h3", model(promise)), word),
        tag("p", promise["sentence"]) if promise.get("sentence") else None,
        facts(pairs),
        tag("p", "For those who know ", names(columns), ".", class_="quiet") if several and columns else None,
        tag("p", "Note: ", promise["note"], class_="quiet") if promise.get("note") else None,
        class_=None if holds else "broken",
    )


def pair(measured: Any, bound: Any) -> tuple[str, str]:
    """Two numbers with as many digits as it takes to tell them apart.

    >>> pair(2.99997, 3)
    ('2.99997', '3')
    """
    for digits in range(3, 10):
        shown = number(measured, digits), number(bound, digits)
        if shown[0] != shown[1] or measured == bound:
            return shown
    return number(measured), number(bound)
