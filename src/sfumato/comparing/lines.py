"""The lines of a map: which points belong together, along which parameter, and what they are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.comparing.points import MASKING, RECODING, SYNTHESIS
from sfumato.core.wording import number

_VARIANTS = ("minimised", "require", "suppression", "k")  # what may tell lines of one method apart


@dataclass(frozen=True)
class ChartLine:
    """The points of one method under one set of the other parameters, along the parameter that is swept."""

    name: str
    method: int
    variant: int
    points: tuple[Mapping[str, Any], ...]
    labels: tuple[str, ...]  # what stands beside each point
    family: str = RECODING
    joined: bool = True  # whether the points follow each other along a parameter


def lines_of(document: Mapping[str, Any]) -> list[ChartLine]:
    """The lines of a map: every method, and within it every combination of what is not swept; then maskings, and
    generators."""
    points = of_family(document, RECODING)
    swept = "minimised" if document["swept"] == "loss" else document["swept"]
    several = [name for name in _VARIANTS if name != swept and len({str(p[name]) for p in points}) > 1]
    methods = list(dict.fromkeys((p["search"], p["parameters"]) for p in points))
    variants = list(dict.fromkeys(tuple(str(p[name]) for name in several) for p in points))
    found: dict[tuple[int, int], list[Mapping[str, Any]]] = {}
    beside = _labels(points, swept_name(document))
    for p in points:
        place = methods.index((p["search"], p["parameters"])), variants.index(tuple(str(p[name]) for name in several))
        found.setdefault(place, []).append(p)
    lines = []
    for (method, variant), members in sorted(found.items()):
        words = [" ".join(filter(None, methods[method])), *(named(name, members[0][name]) for name in several)]
        labels = tuple(beside.get(str(p[swept_name(document)]), "") for p in members)
        lines.append(ChartLine(", ".join(filter(None, words)), method, variant, tuple(members), labels))
    for family in (MASKING, SYNTHESIS):
        first = 1 + max((line.method for line in lines), default=-1)
        lines += _changed_lines(of_family(document, family), family, first)
    return lines


def _changed_lines(points: Sequence[Mapping[str, Any]], family: str, first: int) -> list[ChartLine]:
    """A line for each list of steps on the same columns, or generator, along the parameter that its points differ in,
    where that is one number."""
    found: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for p in points:
        columns = (word for word in p["parameters"].split() if "=" not in word)
        found.setdefault((p["search"], *columns), []).append(p)
    lines = []
    for method, ((steps, *_), members) in enumerate(found.items(), first):
        words = [p["parameters"].replace(";", "").split() for p in members]
        shared = [word for word in words[0] if all(word in own for own in words)]
        own = [[word for word in each if word not in shared] for each in words]
        numbers = [_number_of(each) for each in own]
        joined = len({key for key, _ in numbers}) == 1 and None not in {value for _, value in numbers}
        order = sorted(range(len(members)), key=lambda i: numbers[i][1] or 0.0 if joined else i)
        name = ", ".join(filter(None, (steps, " ".join(shared)))) if len(members) > 1 else point_name(members[0])
        labels = tuple(" ".join(own[i]).replace("=", " ") for i in order)
        ordered = tuple(members[i] for i in order)
        lines.append(ChartLine(name, method, 0, ordered, labels, family, joined))
    return lines


def _number_of(words: Sequence[str]) -> tuple[str, float | None]:
    """The name and the number of a parameter that stands alone, as in p=5."""
    name, _, value = words[0].partition("=") if len(words) == 1 else ("", "", "")
    try:
        return name, float(value)
    except ValueError:
        return name, None


def of_family(document: Mapping[str, Any], family: str) -> list[Mapping[str, Any]]:
    """The points of a family."""
    return [p for p in document["points"] if p.get("family", RECODING) == family]


def point_name(point: Mapping[str, Any]) -> str:
    """A point in a few words."""
    words = [point["search"], point["parameters"], None if point["k"] is None else f"k {point['k']}", point["require"]]
    if point["suppression"]:
        words.append(named("suppression", point["suppression"]))
    return ", ".join(filter(None, words))


def named(name: str, value: Any) -> str:
    """A parameter in words."""
    if name == "suppression":
        return f"suppression {value:g}" if value else "no suppression"
    return {"minimised": f"loss {value}", "k": f"k {value}" if value is not None else "", "require": str(value)}[name]


def swept_name(document: Mapping[str, Any]) -> str:
    """The parameter that runs along the lines of searches."""
    return "minimised" if document["swept"] == "loss" else str(document["swept"])


def _labels(points: Sequence[Mapping[str, Any]], name: str) -> dict[str, str]:
    """The value that is swept, as it stands beside a point: of what is required, the words that not all have."""
    values = list(dict.fromkeys(str(p[name]) for p in points))
    if len(values) < 2:
        return {}
    if name == "suppression":
        return {value: number(float(value)) for value in values}
    if name == "k":
        return {value: value for value in values}
    common = set.intersection(*(set(value.replace(";", "").split()) for value in values))
    return {value: " ".join(w for w in value.replace(";", "").split() if w not in common) for value in values}
