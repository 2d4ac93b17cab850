"""The map of a comparison: utility to the right, risk upwards, a line per method; as a drawing and as a page."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from sfumato.comparing.curves import curve_chart, dimension_curves
from sfumato.comparing.drawing import (
    RADIUS,
    RING,
    ChartScale,
    Mark,
    Place,
    Scene,
    Stroke,
    Text,
    css,
    place_labels,
    png,
    scale,
    svg,
    written,
)
from sfumato.comparing.lines import ChartLine, lines_of, of_family, point_name, swept_name
from sfumato.comparing.points import FAMILIES, MASKING, RECODING, SYNTHESIS
from sfumato.core.wording import count, number
from sfumato.engines.atomic import atomic_file
from sfumato.report.charts.svg import mark as tick_mark
from sfumato.report.markup import Markup, facts, join, name, names, section, tag
from sfumato.report.markup import table as markup_table
from sfumato.report.page import html, style_of

TITLE = "Risk and utility"
_RIGHT, _BOTTOM, _EDGE = 18.0, 52.0, 22.0
_NARROW = 500.0  # below this width there is room for the essential only
_HEAD = 66.0  # room for the name of a family in the legend
_LEGEND = {RECODING: "Recoded:", MASKING: "Masked:", SYNTHESIS: "Synthetic:"}
_UP = 6  # ticks of the risk, at most
_LETTER = 6.9  # width of one in the legend


def chart(document: Mapping[str, Any], width: float = 920, heading: bool = True, whole: bool = False) -> Scene:
    """The map drawn for a width in pixels, so that its text keeps its size; with a heading where it stands alone.

    `whole`: from nothing released to everything released, with both ends, instead of where the releases are.
    """
    drawn = [p for p in document["points"] if p["risk"] is not None and p["utility"] is not None]
    lines = [x for x in lines_of(document) if x.family == RECODING or any(p in drawn for p in x.points)]
    items: list[Stroke | Mark | Text] = []
    y = 12.0
    if heading:
        items += [Text("title", (_EDGE, 40), TITLE), Text("about", (_EDGE, 62), _about(document, width))]
        y = 84.0
    legend, top = _legend(lines, document, drawn, width, y, beside=not whole)
    items += legend
    bottom = top + max(350.0, min(0.56 * width, 500.0))
    risk = scale([p["risk"] for p in drawn], bottom, top, may_be_log=True)
    if whole:
        risk = ChartScale(0.0, 1.04, bottom, top)
    left = _EDGE + 16 + 6.8 * max(map(len, written(risk.ticks(_UP))), default=1)
    x = (
        ChartScale(0.0, 1.04, left, width - _RIGHT)
        if whole
        else scale([p["utility"] for p in drawn], left, width - _RIGHT)
    )
    items += _axes(document, x, risk, width)
    if whole:
        items += _between_ends(document, lines, x, risk, (left, top - 6, width - 4, bottom))
    elif drawn:
        items += _points(document, lines, x, risk, (left, top - 6, width - 4, bottom))
    else:
        items.append(Text("quiet", ((left + width) / 2, (top + bottom) / 2), "No point could be measured.", "middle"))
    return Scene(width, bottom + _BOTTOM, TITLE, described(document), tuple(items))


def described(document: Mapping[str, Any]) -> str:
    """The map in a sentence, for those who hear it."""
    done = [p for p in document["points"] if p["status"] == "done"]
    front = [p for p in done if p["pareto"]]
    methods = _methods(document)
    told = f"{count(len(done), 'release')} by {count(methods, 'method')}; {len(front)} on the Pareto front"
    if front:
        named = [f"{point_name(p)} (utility {p['utility']:.3f}, risk {p['risk']:.4f})" for p in front[:8]]
        told += ": " + "; ".join(named) + (f" and {len(front) - 8} more" if len(front) > 8 else "")
    return told + "."


def _methods(document: Mapping[str, Any]) -> int:
    """How many methods there are: searches with their parameters, lists of steps, and generators."""
    own = len({(p["search"], p["parameters"]) for p in of_family(document, RECODING)})
    return own + sum(len({p["search"] for p in of_family(document, family)}) for family in (MASKING, SYNTHESIS))


def _about(document: Mapping[str, Any], width: float) -> str:
    columns = ", ".join(dict.fromkeys(name for names in document["quasi"] for name in names))
    told = f"{count(document['rows'], 'row')}; quasi-identifiers {columns}"
    most = int((width - 44) / 6.3)
    return told if len(told) <= most else f"{told[: most - 1]}…"


def _legend(
    lines: Sequence[ChartLine],
    document: Mapping[str, Any],
    drawn: Sequence[Mapping[str, Any]],
    width: float,
    y: float,
    beside: bool,
) -> tuple[list[Stroke | Mark | Text], float]:
    """What the lines are, in rows as wide as the map; and where the plot may start."""
    entries: list[tuple[str, ChartLine | None]] = [(line.name, line) for line in lines]
    if any(p["pareto"] for p in drawn):
        entries.append(("Pareto front: no other point beats these" if width > _NARROW else "Pareto front", None))
    items: list[Stroke | Mark | Text] = []
    x, y = _EDGE, y + 6
    both, family = len({line.family for line in lines}) > 1, ""
    for words, line in entries:
        kind = "" if line is None else _LEGEND[line.family]
        if both and kind != family:
            y, x, family = y + 23 * bool(family), _EDGE, kind
            items.append(Text("quiet", (x, y + 4.3), kind))
            x += _HEAD if kind else 0.0
        fits = int((width - 44 - 40) / _LETTER)
        words = words if len(words) <= fits else f"{words[: fits - 1]}…"
        long = 40 + len(words) * _LETTER
        start = _EDGE + (_HEAD if both and kind and width > _NARROW else 0.0)
        if x > start and x + long > width - 12:
            x, y = start, y + 23
        ends = (x, y), (x + 28, y)
        if line is None:
            items += [Stroke("front", ((x + 5, y), (x + 23, y))), Mark((x + 14, y), -1, True)]
        else:
            items += [Stroke("line", ends, line.method, line.variant)] if _drawn(line) else []
            items.append(_mark(line, (x + 14, y)))
        items.append(Text("legend", (x + 36, y + 4.3), words))
        x += long + 18
    swept = {"k": "k", "suppression": "the suppression allowed", "require": "what is required", "loss": "the loss"}
    if beside and len({p[swept_name(document)] for p in of_family(document, RECODING)}) > 1:
        words = f"Beside {'solid' if both else 'the'} points: {swept[document['swept']]}."
        if x > _EDGE and x + len(words) * 6.4 > width - 12:
            x, y = _EDGE, y + 23
        items.append(Text("quiet", (x, y + 4.3), words))
    return items, y + 30


def _drawn(line: ChartLine) -> bool:
    """Whether it is drawn as a line: a masking alone, or several along no parameter, are marks only."""
    return line.joined and (line.family == RECODING or len(line.points) > 1)


def _mark(line: ChartLine, at: Place, ring: bool = False, told: str = "") -> Mark:
    """The mark of a point of a line."""
    return Mark(at, line.method, ring, told, hollow=line.family != RECODING, dotted=line.family == SYNTHESIS)


def _axes(document: Mapping[str, Any], x: ChartScale, y: ChartScale, width: float) -> list[Stroke | Mark | Text]:
    left, right, bottom, top = x.start, x.end, y.start, y.end
    items: list[Stroke | Mark | Text] = []
    across, up = x.ticks(8 if width > 600 else 4), y.ticks(_UP)
    for tick, words in zip(across, written(across), strict=True):
        at = x(tick)
        items += [Stroke("grid", ((at, top), (at, bottom))), Text("tick", (at, bottom + 18), words, "middle")]
    for tick, words in zip(up, written(up), strict=True):
        at = y(tick)
        items += [Stroke("grid", ((left, at), (right, at))), Text("tick", (left - 8, at + 4.2), words, "end")]
    items.append(Stroke("axis", ((left, top), (left, bottom), (right, bottom))))
    items.append(Text("name", (right, bottom + 40), f"{document['utility']['label']} →", "end"))
    risk = document["risk"]["label"] + (", logarithmic" if y.log else "")
    items.append(Text("name", (16, (top + bottom) / 2), f"{risk} →", "middle", upright=True))
    return items


def _points(
    document: Mapping[str, Any],
    lines: Sequence[ChartLine],
    x: ChartScale,
    y: ChartScale,
    within: tuple[float, float, float, float],
) -> list[Stroke | Mark | Text]:
    front = sorted({(p["utility"], p["risk"]) for p in document["points"] if p["pareto"]})
    under: list[Stroke | Mark | Text] = []
    if len(front) > 1:
        under.append(Stroke("front", tuple((x(u), y(r)) for u, r in front)))
    marks: list[Mark] = []
    words: list[str] = []
    paths: list[tuple[Place, ...]] = []
    for line in lines:
        named = zip(line.points, line.labels, strict=True)
        there = [(p, label) for p, label in named if p["risk"] is not None and p["utility"] is not None]
        places = tuple((x(p["utility"]), y(p["risk"])) for p, _ in there)
        if len(places) > 1 and line.joined:
            under.append(Stroke("line", places, line.method, line.variant))
            paths.append(places)
        for (p, label), at in zip(there, places, strict=True):
            told = f"{point_name(p)}: utility {p['utility']:.4f}, risk {p['risk']:.4g}"
            told += ", on the Pareto front" if p["pareto"] else ""
            marks.append(_mark(line, at, p["pareto"], told))
            words.append(label)
    return [*under, *marks, *_beside(marks, words, paths, within)]


def _between_ends(
    document: Mapping[str, Any],
    lines: Sequence[ChartLine],
    x: ChartScale,
    y: ChartScale,
    within: tuple[float, float, float, float],
) -> list[Stroke | Mark | Text]:
    """The releases between the two ends, and the line on which the score is as low as that of the best."""
    items: list[Stroke | Mark | Text] = [
        item for item in _points(document, lines, x, y, within) if not isinstance(item, Text)
    ]
    best = least_score(document)
    marks, words = [item for item in items if isinstance(item, Mark)], []
    if best is not None:
        twice = 2 * best["score"]  # risk = twice + utility - 1
        ends = [(u, twice + u - 1) for u in (max(0.0, 1 - twice), min(1.0, 2 - twice))]
        items.insert(0, Stroke("line", tuple((x(u), y(r)) for u, r in ends), 7, 1))
        marks.append(Mark((x(best["utility"]), y(best["risk"])), -1, True))
    words = ["" if best is None or mark is not marks[-1] else "least score" for mark in marks]
    for words_of, end in (("everything released", document["original"]), ("nothing released", document["nothing"])):
        if end["score"] is not None:
            marks.append(Mark((x(end["utility"]), y(end["risk"])), 7, told=f"{words_of}: score {end['score']:.3f}"))
            words.append(words_of)
    paths = [item.places for item in items if isinstance(item, Stroke)]
    found = place_labels([m.at for m in marks], [RING if m.ring else RADIUS for m in marks], words, paths, within)
    items += [mark for mark in marks if mark not in items]
    items += [
        Text("label", (at[0], at[1] + 4), text, "middle", halo=True)
        for at, text in zip(found, words, strict=True) if at is not None and text
    ]  # fmt: skip
    return items


def least_score(document: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The release with the least mean of risk and loss; of several, the first."""
    return min((p for p in document["points"] if p["score"] is not None), key=lambda p: p["score"], default=None)


def _beside(
    marks: Sequence[Mark],
    words: Sequence[str],
    paths: Sequence[Sequence[Place]],
    within: tuple[float, float, float, float],
) -> list[Text]:
    """The words beside the marks, those of marks on the same place together; on a narrow map those of the front."""
    told: dict[Place, list[str]] = {}
    ringed: set[Place] = set()
    for mark, text in zip(marks, words, strict=True):
        at = round(mark.at[0]), round(mark.at[1])
        ringed |= {at} if mark.ring else set()
        if text and text not in told.setdefault(at, []):
            told[at].append(text)
    few = within[2] < _NARROW and len(told) > 12
    places = sorted(told, key=lambda at: at not in ringed)  # those on the front choose first
    texts = [", ".join(told[at]) if at in ringed or not few else "" for at in places]
    reach = [RING + 1 if at in ringed else RADIUS + 1.5 for at in places]
    found = place_labels(places, reach, texts, paths, within)
    return [
        Text("label", (at[0], at[1] + 4), text, "middle", halo=True)
        for text, at in zip(texts, found, strict=True)
        if at is not None and text
    ]


_WIDTHS = {"wide": 944, "narrow": 350}
SAID = {
    RECODING: " Solid marks are recodings: values are true and coarser, and what is required is proven.",
    MASKING: " Hollow marks are maskings: values were changed, and nothing is promised of them. Who knows how a masker "
    "works may find more people than an attack that does not.",
    SYNTHESIS: " Marks with a dot are synthetic tables: rows were drawn from a model, none is a person's row, and "
    "nothing is promised of them. A model that fits too well repeats people all the same.",
}
READING = (
    "A point is a release that was made and measured, and then thrown away. Further right it is more useful, further "
    "down less risky: the lower right corner is where one wants to be. A line joins the releases of one method. Ringed "
    "points are the Pareto front: no other release here has at least as much utility with at most as much risk, so a "
    "choice is a choice among these."
)
ENDS = (
    "Every release lies between two ends: the table as it is, with all its risk and no loss, and nothing at all, with "
    "neither risk nor use. The score is the mean of risk and loss (1 − utility), and less is better; on the dashed "
    "line it is as low as that of the best release. It takes a point of risk to be as bad as a point of loss, which "
    "nobody but you can say: take it for a first look, and choose on the front."
)
CURSE = (
    "The same releases by the first quasi-identifier alone, by the first two, and so on, in the order given. The more "
    "columns tell people apart, the fewer people are alike in all of them, and the more has to be blurred in each: the "
    "curse of dimensionality. A column that makes the curve jump is the first to leave out, or to release coarser."
)


def page(document: Mapping[str, Any]) -> str:
    """The map as a page of HTML: light and dark, nothing from another host."""
    style = style_of("page.css") + files("sfumato.comparing").joinpath("map.css").read_text(encoding="utf-8") + css()
    parts = [_figure(document), _table(document), _ends(document), _dimensions(document), _left_out(document)]
    body = [_head(document), tag("main", *parts, _asked(document))]
    body.append(tag("footer", f"Made by Sfumato {document['sfumato']} from map.json and nothing else."))
    return html("Risk and utility: a map of releases", style, body)


def _head(document: Mapping[str, Any]) -> Markup:
    points = document["points"]
    done = [p for p in points if p["status"] == "done"]
    front = [p for p in done if p["pareto"]]
    methods = _methods(document)
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
    best = least_score(document)
    if best is not None:
        shown.append((f"Least score: {number(best['score'])}", best["utility"], best["risk"], point_name(best)))
    if before["risk"] is not None and before["utility"] is not None:
        shown.append(("The table as it is", before["utility"], before["risk"], "nothing done to it"))
    pairs = [
        (term, join([f"utility {number(u)}, risk {number(r)}", tag("br"), tag("span", words, class_="quiet")]))
        for term, u, r, words in shown
    ]
    return facts(pairs)


def drawn_twice(key: str, scene: Callable[[float], Scene]) -> Markup:
    """A drawing for wide pages and for narrow ones."""
    parts = [tag("div", svg(scene(w), f"{key}-{kind}", alone=False), class_=kind) for kind, w in _WIDTHS.items()]
    return tag("figure", *parts)


def _figure(document: Mapping[str, Any]) -> Markup:
    drawings = drawn_twice("map", lambda width: chart(document, width, heading=False))
    there = [family for family in FAMILIES if of_family(document, family)]
    told = READING + ("" if there == [RECODING] else "".join(SAID[family] for family in there))
    other = document["risk"].get("of_synthetic") if SYNTHESIS in there else None
    note = tag("p", f"Of {document['risk']['measure']}: {other}.", class_="quiet") if other else None
    return section("map", "The map", drawings, tag("p", told, class_="quiet"), note)


def _ends(document: Mapping[str, Any]) -> Markup | None:
    places = [document["original"], *(p for p in document["points"] if p["score"] is not None)]
    if any(p["score"] is None or not 0 <= p["utility"] <= 1 or not 0 <= p["risk"] <= 1 for p in places):
        return None  # a measure that knows no ends
    drawings = drawn_twice("ends", lambda width: chart(document, width, heading=False, whole=True))
    return section("ends", "Between everything and nothing", drawings, tag("p", ENDS, class_="quiet"))


def _dimensions(document: Mapping[str, Any]) -> Markup | None:
    """Loss against the number of quasi-identifiers, as a curve and as a table."""
    points = document.get("dimensions")
    if not points:
        return None
    columns, lines = document["quasi"][0], lines_of({**document, "swept": "columns"})
    curves = dimension_curves(points, lines)
    told = f"Loss of releases by 1 to {len(columns)} quasi-identifiers, for {count(len(lines), 'combination')}."
    drawings = drawn_twice("dimensions", lambda width: curve_chart(
        curves, "quasi-identifiers", f"loss ({document['utility']['measure']})", "The curse of dimensionality", told,
        width, heading=False))  # fmt: skip
    head = ["Release", *(join([f"{n} " if n == 1 else f"{n} with ", name(c)]) for n, c in enumerate(columns, 1))]
    losses = [(curve.name, {at: loss for at, loss, _ in curve.places}) for curve in curves]
    rows = [
        [words, *(_figure_of(own[n]) if n in own else "not released" for n in range(1, len(columns) + 1))]
        for words, own in losses
    ]
    caption = "Loss, by the number of quasi-identifiers and the one added last."
    table = markup_table(head, rows, caption, "points stack")
    text = tag("p", CURSE, class_="quiet")
    return section("dimensions", "What each quasi-identifier costs", drawings, text, table)


def _table(document: Mapping[str, Any]) -> Markup | None:
    done = [p for p in document["points"] if p["status"] == "done"]
    if not done:
        return None
    columns = [
        column
        for column in (
            ("k", lambda p: number(p["k"], ""), any(p["k"] is not None for p in done)),
            ("Required", lambda p: p["require"], any(p["require"] for p in done)),
            ("May suppress", lambda p: number(p["suppression"], ""), any(p["suppression"] for p in done)),
            ("Loss kept low", lambda p: p["minimised"], len({p["minimised"] for p in done} - {""}) > 1),
            ("Utility", lambda p: _figure_of(p["utility"]), True),
            ("Risk", lambda p: _figure_of(p["risk"]), True),
            ("Score", lambda p: _figure_of(p["score"]), any(p["score"] is not None for p in done)),
            ("Loss", lambda p: "" if _is_changed(p) else _figure_of(p["loss"]), not all(map(_is_changed, done))),
            ("Suppressed", lambda p: number(p["suppressed"], ""), any(p["suppressed"] is not None for p in done)),
            ("Classes", lambda p: number(p["classes"], ""), not all(map(_is_changed, done))),
            ("Seconds", lambda p: f"{p['seconds']:.3f}", True),
        )
        if column[2]
    ]
    words = ("Required", "Loss kept low")
    kinds = [None if title in words else "no" for title, _, _ in columns]
    head = [tag("th", "Method", scope="col")]
    head += [tag("th", title, scope="col", class_=kind) for (title, _, _), kind in zip(columns, kinds, strict=True)]
    head.append(tag("th", "Front", scope="col"))
    rows, best = [], least_score(document)
    for p in done:
        cells = [
            tag("td", text(p), data_head=title, class_=kind)
            for (title, text, _), kind in zip(columns, kinds, strict=True)
        ]
        on = join([tick_mark(True), " front"]) if p["pareto"] else ""
        on = join([on or None, "least score"], ", ") if p is best else on
        method = " ".join(filter(None, (p["search"], p["parameters"])))
        cells.append(tag("td", on, data_head="Pareto"))
        rows.append(tag("tr", tag("th", method, scope="row"), *cells, class_="front" if p["pareto"] else None))
    told = (
        "Score is the mean of risk and 1 − utility, least is best; loss is what the method kept low; seconds are those "
    )
    there = [word for family, word in _WORK.items() if any(p.get("family", RECODING) == family for p in done)]
    caption = tag("caption", f"{told}of {' or '.join(there)}.")
    table = tag(
        "table", caption, tag("thead", tag("tr", *head)), tag("tbody", *rows), class_="points stack"
    )  # fmt: skip
    return section("points", "The releases", table)


_WORK = {RECODING: "its search", MASKING: "masking", SYNTHESIS: "fitting and drawing"}


def _is_changed(point: Mapping[str, Any]) -> bool:
    return point.get("family", RECODING) != RECODING


def _figure_of(value: float | None) -> str:
    """A figure with four places, so that a column can be read downwards; very small and large ones as they need."""
    if value is None:
        return "undefined"
    return f"{value:.4f}" if value == 0 or 0.001 <= abs(value) < 1000 else number(value)


def _left_out(document: Mapping[str, Any]) -> Markup | None:
    rest = [p for p in document["points"] if p["reason"]]
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
    every = all(p["status"] != "done" for p in rest)
    return section("left-out", f"What could not be {'released' if every else 'released or measured'}", table)


def _asked(document: Mapping[str, Any]) -> Markup:
    sets = [names(quasi) for quasi in document["quasi"]]
    shown = facts(
        [
            ("Utility", f"{document['utility']['label']}: 1 is the best there is"),
            ("Risk", document["risk"]["label"]),
            ("Quasi-identifiers", join(sets, "; ")),
            ("Sensitive", names(document["sensitive"]) if document["sensitive"] else None),
            ("Loss kept low", ", ".join(dict.fromkeys(p["minimised"] for p in of_family(document, RECODING))) or None),
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
    for file, content in (("map.json", text), ("map.svg", str(svg(scene, "map"))), ("map.html", page(document))):
        _write(folder / file, (content.rstrip("\n") + "\n").encode("utf-8"))
    _write(folder / "map.png", png(scene))


def _write(target: Path, content: bytes) -> None:
    with atomic_file(target, overwrite=True) as place:
        place.write_bytes(content)
