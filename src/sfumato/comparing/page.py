"""Page: the map, its points in a table and how to read it, as one file of HTML that needs no script."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from sfumato.comparing.chart import chart, described, point_name
from sfumato.comparing.picture import png
from sfumato.comparing.scene import css, svg
from sfumato.core.wording import count, number
from sfumato.engines.atomic import atomic_file
from sfumato.report.charts.svg import mark
from sfumato.report.markup import Markup, facts, join, names, section, tag

_WIDTHS = {"wide": 944, "narrow": 350}
READING = (
    "A point is a release that was made and measured, and then thrown away. Further right it is more useful, further "
    "down less risky: the lower right corner is where one wants to be. A line joins the releases of one method. Ringed "
    "points are the Pareto front: no other release here has at least as much utility with at most as much risk, so a "
    "choice is a choice among these."
)


def page(document: Mapping[str, Any]) -> str:
    """The map as a page of HTML: light and dark, nothing from another host."""
    style = files("sfumato.report").joinpath("page.css").read_text(encoding="utf-8")
    style += files("sfumato.comparing").joinpath("map.css").read_text(encoding="utf-8") + css()
    about = [
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", "Risk and utility: a map of releases"),
        tag("style", Markup(style)),
    ]
    body = [_head(document), tag("main", _figure(document), _table(document), _left_out(document), _asked(document))]
    body.append(tag("footer", f"Made by Sfumato {document['sfumato']} from map.json and nothing else."))
    whole = tag("html", tag("head", join(about, "\n")), tag("body", join(body, "\n")), lang="en")
    return f"<!doctype html>\n{whole}\n"


def _head(document: Mapping[str, Any]) -> Markup:
    points = document["points"]
    done = [p for p in points if p["status"] == "done"]
    front = [p for p in done if p["pareto"]]
    methods = len({(p["search"], p["parameters"]) for p in points})
    lead = f"{count(len(done), 'release')} of a table of {count(document['rows'], 'row')}, "
    lead += f"made by {count(methods, 'method')}"
    lead += f", {number(len(front))} of them on the Pareto front." if front else "."
    if len(done) < len(points):
        lead += f" {count(len(points) - len(done), 'point')} could not be released."
    return tag(
        "header", tag("p", "A map of releases", class_="over"), tag("h1", "Risk and utility"),
        tag("p", lead, class_="lead"), _best(document, front),
    )  # fmt: skip


def _best(document: Mapping[str, Any], front: Sequence[Mapping[str, Any]]) -> Markup | None:
    """The ends of the front, and the table before anything is done to it."""
    if not front:
        return None
    useful, safe = max(front, key=lambda p: p["utility"]), min(front, key=lambda p: p["risk"])
    before = document["original"]
    shown = [("Most useful", useful["utility"], useful["risk"], point_name(useful))]
    if safe is not useful:
        shown.append(("Least risky", safe["utility"], safe["risk"], point_name(safe)))
    if before["risk"] is not None and before["utility"] is not None:
        shown.append(("The table as it is", before["utility"], before["risk"], "nothing done to it"))
    pairs = [
        (term, join([f"utility {number(u)}, risk {number(r)}", tag("br"), tag("span", words, class_="quiet")]))
        for term, u, r, words in shown
    ]
    return facts(pairs)


def _figure(document: Mapping[str, Any]) -> Markup:
    drawings = [
        tag("div", svg(chart(document, width, heading=False), f"map-{kind}", alone=False), class_=kind)
        for kind, width in _WIDTHS.items()
    ]
    return section("map", "The map", tag("figure", *drawings), tag("p", READING, class_="quiet"))


def _table(document: Mapping[str, Any]) -> Markup | None:
    done = [p for p in document["points"] if p["status"] == "done"]
    if not done:
        return None
    columns = [
        column
        for column in (
            ("k", lambda p: number(p["k"]), any(p["k"] is not None for p in done)),
            ("Required", lambda p: p["require"], any(p["require"] for p in done)),
            ("May suppress", lambda p: number(p["suppression"]), any(p["suppression"] for p in done)),
            ("Loss kept low", lambda p: p["minimised"], len({p["minimised"] for p in done}) > 1),
            ("Utility", lambda p: _figure_of(p["utility"]), True),
            ("Risk", lambda p: _figure_of(p["risk"]), True),
            ("Loss", lambda p: _figure_of(p["loss"]), True),
            ("Suppressed", lambda p: number(p["suppressed"]), True),
            ("Classes", lambda p: number(p["classes"]), True),
            ("Seconds", lambda p: f"{p['seconds']:.3f}", True),
        )
        if column[2]
    ]
    words = ("Required", "Loss kept low")
    kinds = [None if title in words else "no" for title, _, _ in columns]
    head = [tag("th", "Method", scope="col")]
    head += [tag("th", title, scope="col", class_=kind) for (title, _, _), kind in zip(columns, kinds, strict=True)]
    head.append(tag("th", "Front", scope="col"))
    rows = []
    for p in done:
        cells = [
            tag("td", text(p), data_head=title, class_=kind)
            for (title, text, _), kind in zip(columns, kinds, strict=True)
        ]
        on = join([mark(True), " front"]) if p["pareto"] else ""
        method = " ".join(filter(None, (p["search"], p["parameters"])))
        cells.append(tag("td", on, data_head="Pareto"))
        rows.append(tag("tr", tag("th", method, scope="row"), *cells, class_="front" if p["pareto"] else None))
    caption = tag("caption", "Loss is what the method kept low; seconds are those of its search.")
    table = tag(
        "table", caption, tag("thead", tag("tr", *head)), tag("tbody", *rows), class_="points stack"
    )  # fmt: skip
    return section("points", "The releases", table)


def _figure_of(value: float | None) -> str:
    """A figure with four places, so that a column can be read downwards; very small and large ones as they need."""
    if value is None:
        return "undefined"
    return f"{value:.4f}" if value == 0 or 0.001 <= abs(value) < 1000 else number(value)


def _left_out(document: Mapping[str, Any]) -> Markup | None:
    rest = [p for p in document["points"] if p["status"] != "done"]
    if not rest:
        return None
    head = tag("tr", *(tag("th", title, scope="col") for title in ("Point", "Outcome", "Why")))
    rows = [
        tag(
            "tr", tag("th", point_name(p), scope="row"), tag("td", p["status"], data_head="Outcome", class_="word"),
            tag("td", p["reason"] or "", data_head="Why"),
        )
        for p in rest
    ]  # fmt: skip
    table = tag("table", tag("thead", head), tag("tbody", *rows), class_="stack")
    return section("left-out", "What could not be released", table)


def _asked(document: Mapping[str, Any]) -> Markup:
    sets = [names(quasi) for quasi in document["quasi"]]
    shown = facts(
        [
            ("Utility", f"{document['utility']['label']}: 1 is the best there is"),
            ("Risk", document["risk"]["label"]),
            ("Quasi-identifiers", join(sets, "; ")),
            ("Sensitive", names(document["sensitive"]) if document["sensitive"] else None),
            ("Loss kept low", ", ".join(dict.fromkeys(p["minimised"] for p in document["points"]))),
            ("Seed", None if document["seed"] is None else number(document["seed"])),
            ("In a sentence", described(document)),
        ],
        "record",
    )
    note = (
        "The axes may compare releases with the original, which a release alone does not: keep this map in the house "
        "that has the original."
    )
    return section("asked", "What was compared", shown, tag("p", note, class_="quiet"))


def write_maps(folder: Path, document: Mapping[str, Any]) -> None:
    """map.json, map.svg, map.html and, last, map.png: MissingExtra where only that cannot be drawn."""
    scene = chart(document)
    text = json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False)
    for name, content in (("map.json", text), ("map.svg", str(svg(scene, "map"))), ("map.html", page(document))):
        _write(folder / name, (content.rstrip("\n") + "\n").encode("utf-8"))
    _write(folder / "map.png", png(scene))


def _write(target: Path, content: bytes) -> None:
    with atomic_file(target, overwrite=True) as place:
        place.write_bytes(content)
