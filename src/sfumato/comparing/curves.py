"""Curves: what is lost along a parameter, such as k or the number of quasi-identifiers, as a drawing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.comparing.drawing import ChartScale, Mark, Place, Scene, Stroke, Text, place_labels, scale, written

_EDGE, _RIGHT, _BOTTOM, _LETTER, _UP = 22.0, 18.0, 52.0, 6.9, 5


@dataclass(frozen=True)
class Curve:
    """A line of a chart: its name, the method and variant it is drawn for, and places with what they say when touched.

    A place is the value along the axis, the value upwards, and words; ringed ones stand out and have a label.
    """

    name: str
    method: int
    variant: int
    places: tuple[tuple[float, float, str], ...]
    ringed: Mapping[float, str] | None = None


def curve_chart(
    curves: Sequence[Curve],
    across: str,
    up: str,
    title: str,
    description: str,
    width: float = 920,
    heading: bool = True,
    legend: bool = True,
) -> Scene:
    """Curves over whole numbers, of which each that has a place is a tick where there is room for it."""
    items: list[Stroke | Mark | Text] = [Text("title", (_EDGE, 40), title)] if heading else []
    top = 66.0 if heading else 16.0
    if legend:
        shown, top = _legend(curves, width, top)
        items += shown
    bottom = top + max(260.0, min(0.4 * width, 360.0))
    values = sorted({x for curve in curves for x, _, _ in curve.places})
    y = scale([0.0, *(value for curve in curves for _, value, _ in curve.places)], bottom, top)
    left = _EDGE + 16 + 6.8 * max(map(len, written(y.ticks(_UP))), default=1)
    x = _whole(values, left, width - _RIGHT)
    items += _axes(x, y, values, across, up)
    marks, words, paths = [], [], []
    for curve in curves:
        places = tuple((x(at), y(value)) for at, value, _ in curve.places)
        if len(places) > 1:
            items.append(Stroke("line", places, curve.method, curve.variant))
            paths.append(places)
        ringed = curve.ringed or {}
        for (at, _, told), place in zip(curve.places, places, strict=True):
            marks.append(Mark(place, curve.method, at in ringed, told))
            words.append(ringed.get(at, ""))
    items += marks
    items += _labels(marks, words, paths, (left, top - 6, width - 4, bottom))
    return Scene(width, bottom + _BOTTOM, title, description, tuple(items))


def dimension_curves(points: Sequence[Mapping[str, Any]], lines: Sequence[Any]) -> list[Curve]:
    """Loss against the number of quasi-identifiers: a curve per method and value of what is not swept."""
    found = []
    for i, line in enumerate(lines):
        same = [p for p in points if p["utility"] is not None and all(_alike(p, line.points[0], name) for name in TELL)]
        places = tuple(
            (p["columns"], 1 - p["utility"], f"{line.name}, {p['columns']} columns: loss {1 - p['utility']:.4f}")
            for p in sorted(same, key=lambda p: p["columns"])
        )
        found.append(Curve(line.name, i, 0, places))
    return [curve for curve in found if curve.places]


TELL = ("search", "parameters", "minimised", "k", "require", "suppression")


def _alike(one: Mapping[str, Any], other: Mapping[str, Any], name: str) -> bool:
    return str(one[name]) == str(other[name])


def _whole(values: Sequence[float], start: float, end: float) -> ChartScale:
    """A scale of whole numbers; logarithmic where the greatest is many times the least."""
    low, high = min(values, default=1.0), max(values, default=1.0)
    if low > 0 and high / low >= 8:
        room = (high / low) ** 0.04
        return ChartScale(low / room, high * room, start, end, True)
    room = 0.04 * (high - low) or 0.5
    return ChartScale(low - room, high + room, start, end)


def _axes(x: ChartScale, y: ChartScale, values: Sequence[float], across: str, up: str) -> list[Stroke | Mark | Text]:
    items: list[Stroke | Mark | Text] = []
    left, right, bottom, top = x.start, x.end, y.start, y.end
    free = left - 30.0
    for value in values:
        at = x(value)
        items.append(Stroke("grid", ((at, top), (at, bottom))))
        if at - free >= 26:  # a tick that would touch the one before is left out
            items.append(Text("tick", (at, bottom + 18), f"{value:,.0f}", "middle"))
            free = at
    ticks = y.ticks(_UP)
    for tick, words in zip(ticks, written(ticks), strict=True):
        at = y(tick)
        items += [Stroke("grid", ((left, at), (right, at))), Text("tick", (left - 8, at + 4.2), words, "end")]
    items.append(Stroke("axis", ((left, top), (left, bottom), (right, bottom))))
    named = across + (", logarithmic" if x.log else "")
    items.append(Text("name", (right, bottom + 40), f"{named} →", "end"))
    items.append(Text("name", (16, (top + bottom) / 2), f"{up} →", "middle", upright=True))
    return items


def _legend(curves: Sequence[Curve], width: float, y: float) -> tuple[list[Stroke | Mark | Text], float]:
    items: list[Stroke | Mark | Text] = []
    x, y = _EDGE, y + 6
    for curve in curves:
        fits = int((width - 84) / _LETTER)
        words = curve.name if len(curve.name) <= fits else f"{curve.name[: fits - 1]}…"
        long = 40 + len(words) * _LETTER
        if x > _EDGE and x + long > width - 12:
            x, y = _EDGE, y + 23
        items += [Stroke("line", ((x, y), (x + 28, y)), curve.method, curve.variant), Mark((x + 14, y), curve.method)]
        items.append(Text("legend", (x + 36, y + 4.3), words))
        x += long + 18
    return items, y + 30


def _labels(
    marks: Sequence[Mark],
    words: Sequence[str],
    paths: Sequence[Sequence[Place]],
    within: tuple[float, float, float, float],
) -> list[Text]:
    reach = [9.4 if mark.ring else 6.3 for mark in marks]
    found = place_labels([mark.at for mark in marks], reach, words, paths, within)
    return [
        Text("label", (at[0], at[1] + 4), text, "middle", halo=True)
        for text, at in zip(words, found, strict=True)
        if at is not None and text
    ]
