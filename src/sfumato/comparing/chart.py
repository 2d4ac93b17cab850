"""Chart: a comparison as a scene, utility to the right, risk upwards, a line per method, a mark per point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.comparing.scene import (
    RADIUS,
    RING,
    ChartScale,
    Mark,
    Place,
    Scene,
    Stroke,
    Text,
    place_labels,
    scale,
    written,
)
from sfumato.core.wording import count, number

TITLE = "Risk and utility"
_RIGHT, _BOTTOM, _EDGE = 18.0, 52.0, 22.0
_NARROW = 500.0  # below this width there is room for the essential only
_UP = 6  # ticks of the risk, at most
_LETTER = 6.9  # width of one in the legend
_VARIANTS = ("minimised", "require", "suppression", "k")  # what may tell lines of one method apart


@dataclass(frozen=True)
class ChartLine:
    """The points of one method under one set of the other parameters, along the parameter that is swept."""

    name: str
    method: int
    variant: int
    points: tuple[Mapping[str, Any], ...]


def lines_of(document: Mapping[str, Any]) -> list[ChartLine]:
    """The lines of a map: every method, and within it every combination of what is not swept."""
    points = document["points"]
    swept = "minimised" if document["swept"] == "loss" else document["swept"]
    several = [name for name in _VARIANTS if name != swept and len({str(p[name]) for p in points}) > 1]
    methods = list(dict.fromkeys((p["search"], p["parameters"]) for p in points))
    variants = list(dict.fromkeys(tuple(str(p[name]) for name in several) for p in points))
    found: dict[tuple[int, int], list[Mapping[str, Any]]] = {}
    for p in points:
        place = methods.index((p["search"], p["parameters"])), variants.index(tuple(str(p[name]) for name in several))
        found.setdefault(place, []).append(p)
    lines = []
    for (method, variant), members in sorted(found.items()):
        words = [" ".join(filter(None, methods[method])), *(_named(name, members[0][name]) for name in several)]
        lines.append(ChartLine(", ".join(filter(None, words)), method, variant, tuple(members)))
    return lines


def chart(document: Mapping[str, Any], width: float = 920, heading: bool = True) -> Scene:
    """The map drawn for a width in pixels, so that its text keeps its size; with a heading where it stands alone."""
    lines = lines_of(document)
    drawn = [p for p in document["points"] if p["risk"] is not None and p["utility"] is not None]
    items: list[Stroke | Mark | Text] = []
    y = 12.0
    if heading:
        items += [Text("title", (_EDGE, 40), TITLE), Text("about", (_EDGE, 62), _about(document, width))]
        y = 84.0
    legend, top = _legend(lines, document, drawn, width, y)
    items += legend
    bottom = top + max(350.0, min(0.56 * width, 500.0))
    risk = scale([p["risk"] for p in drawn], bottom, top, may_be_log=True)
    left = _EDGE + 16 + 6.8 * max(map(len, written(risk.ticks(_UP))), default=1)
    x = scale([p["utility"] for p in drawn], left, width - _RIGHT)
    items += _axes(document, x, risk, width)
    if drawn:
        items += _points(document, lines, x, risk, (left, top - 6, width - 4, bottom))
    else:
        items.append(Text("quiet", ((left + width) / 2, (top + bottom) / 2), "No point could be measured.", "middle"))
    return Scene(width, bottom + _BOTTOM, TITLE, described(document), tuple(items))


def described(document: Mapping[str, Any]) -> str:
    """The map in a sentence, for those who hear it."""
    done = [p for p in document["points"] if p["status"] == "done"]
    front = [p for p in done if p["pareto"]]
    methods = len({(p["search"], p["parameters"]) for p in document["points"]})
    told = f"{count(len(done), 'release')} by {count(methods, 'method')}; {len(front)} on the Pareto front"
    if front:
        named = [f"{point_name(p)} (utility {p['utility']:.3f}, risk {p['risk']:.4f})" for p in front[:8]]
        told += ": " + "; ".join(named) + (f" and {len(front) - 8} more" if len(front) > 8 else "")
    return told + "."


def point_name(point: Mapping[str, Any]) -> str:
    """A point in a few words."""
    words = [point["search"], point["parameters"], None if point["k"] is None else f"k {point['k']}", point["require"]]
    if point["suppression"]:
        words.append(_named("suppression", point["suppression"]))
    return ", ".join(filter(None, words))


def _about(document: Mapping[str, Any], width: float) -> str:
    columns = ", ".join(dict.fromkeys(name for names in document["quasi"] for name in names))
    told = f"{count(document['rows'], 'row')}; quasi-identifiers {columns}"
    most = int((width - 44) / 6.3)
    return told if len(told) <= most else f"{told[: most - 1]}…"


def _named(name: str, value: Any) -> str:
    if name == "suppression":
        return f"suppression {value:g}" if value else "no suppression"
    return {"minimised": f"loss {value}", "k": f"k {value}" if value is not None else "", "require": str(value)}[name]


def _legend(
    lines: Sequence[ChartLine], document: Mapping[str, Any], drawn: Sequence[Mapping[str, Any]], width: float, y: float
) -> tuple[list[Stroke | Mark | Text], float]:
    """What the lines are, in rows as wide as the map; and where the plot may start."""
    entries: list[tuple[str, ChartLine | None]] = [(line.name, line) for line in lines]
    if any(p["pareto"] for p in drawn):
        entries.append(("Pareto front: no other point beats these" if width > _NARROW else "Pareto front", None))
    items: list[Stroke | Mark | Text] = []
    x, y = _EDGE, y + 6
    for words, line in entries:
        fits = int((width - 44 - 40) / _LETTER)
        words = words if len(words) <= fits else f"{words[: fits - 1]}…"
        long = 40 + len(words) * _LETTER
        if x > _EDGE and x + long > width - 12:
            x, y = _EDGE, y + 23
        ends = (x, y), (x + 28, y)
        if line is None:
            items += [Stroke("front", ((x + 5, y), (x + 23, y))), Mark((x + 14, y), -1, True)]
        else:
            items += [Stroke("line", ends, line.method, line.variant), Mark((x + 14, y), line.method)]
        items.append(Text("legend", (x + 36, y + 4.3), words))
        x += long + 18
    swept = {"k": "k", "suppression": "the suppression allowed", "require": "what is required", "loss": "the loss"}
    if len({p[_swept(document)] for p in document["points"]}) > 1:
        words = f"Beside the points: {swept[document['swept']]}."
        if x > _EDGE and x + len(words) * 6.4 > width - 12:
            x, y = _EDGE, y + 23
        items.append(Text("quiet", (x, y + 4.3), words))
    return items, y + 30


def _swept(document: Mapping[str, Any]) -> str:
    return "minimised" if document["swept"] == "loss" else str(document["swept"])


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
    named = _labels(document)
    for line in lines:
        there = [p for p in line.points if p["risk"] is not None and p["utility"] is not None]
        places = tuple((x(p["utility"]), y(p["risk"])) for p in there)
        if len(places) > 1:
            under.append(Stroke("line", places, line.method, line.variant))
            paths.append(places)
        for p, at in zip(there, places, strict=True):
            told = f"{point_name(p)}: utility {p['utility']:.4f}, risk {p['risk']:.4g}"
            marks.append(Mark(at, line.method, p["pareto"], told + (", on the Pareto front" if p["pareto"] else "")))
            words.append(named.get(str(p[_swept(document)]), ""))
    return [*under, *marks, *_beside(marks, words, paths, within)]


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


def _labels(document: Mapping[str, Any]) -> dict[str, str]:
    """The value that is swept, as it stands beside a point: of what is required, the words that not all have."""
    name = _swept(document)
    values = list(dict.fromkeys(str(p[name]) for p in document["points"]))
    if len(values) < 2:
        return {}
    if name == "suppression":
        return {value: number(float(value)) for value in values}
    if name == "k":
        return {value: value for value in values}
    common = set.intersection(*(set(value.replace(";", "").split()) for value in values))
    return {value: " ".join(w for w in value.replace(";", "").split() if w not in common) for value in values}
