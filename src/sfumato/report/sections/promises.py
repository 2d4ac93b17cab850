"""Promise by promise: what was promised, what was measured, whether it holds."""

from __future__ import annotations

from sfumato.core.wording import apart
from sfumato.criteria import CRITERIA
from sfumato.report.charts.svg import mark
from sfumato.report.look import Manifest, promises, quasi, rows
from sfumato.report.markup import Markup, facts, names, section, tag
from sfumato.report.words import model


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
    measured, bound = apart(promise.get("measured"), promise.get("bound"))
    name = str(promise.get("model"))
    side = f"{CRITERIA[name].example.side} ".lstrip() if name in CRITERIA else ""
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
