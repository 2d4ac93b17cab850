"""Records as points over two columns, groups as rectangles."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from sfumato.studio.lessons import GroupsSeen
from sfumato.studio.pictures.svg import EDGE, HEIGHT, WIDTH, svg

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#999900", "#882255")  # Okabe and Ito


def plane_picture(
    seen: GroupsSeen, columns: Sequence[str], rows: Sequence[Sequence[Any]], axes: tuple[int, int], title: str
) -> str:
    """Records as points over two columns; groups as rectangles with a number, what is looked at as a dashed one."""
    xs, ys = (_positions([row[axis] for row in rows]) for axis in axes)

    def at(value: float, span: tuple[float, float], flip: bool) -> float:
        share = 0.5 if span[0] == span[1] else (value - span[0]) / (span[1] - span[0])
        return HEIGHT - EDGE - share * (HEIGHT - 2 * EDGE) if flip else EDGE + share * (WIDTH - 2 * EDGE)

    spans = [(min(found, default=0.0), max(found, default=1.0)) for found in (xs, ys)]
    points = [(at(x, spans[0], False), at(y, spans[1], True)) for x, y in zip(xs, ys, strict=True)]
    parts = [
        f'<line class="axis" x1="{EDGE - 20}" y1="{HEIGHT - 20}" x2="{WIDTH - 10}" y2="{HEIGHT - 20}"/>',
        f'<line class="axis" x1="{EDGE - 20}" y1="10" x2="{EDGE - 20}" y2="{HEIGHT - 20}"/>',
        f'<text class="quiet" x="{WIDTH / 2}" y="{HEIGHT - 4}">{escape(columns[axes[0]])}</text>',
        f'<text class="quiet" transform="rotate(-90 12 {HEIGHT / 2})" x="12" y="{HEIGHT / 2}">'
        f"{escape(columns[axes[1]])}</text>",
    ]
    colour: dict[int, str] = {}
    for i, group in enumerate(seen.groups):
        colour |= dict.fromkeys(group, COLOURS[i % len(COLOURS)])
        parts.append(_box(group, points, f'fill="{COLOURS[i % len(COLOURS)]}" class="group"', str(i + 1)))
    parts += [_box(group, points, 'class="looked"', "") for group in seen.current]
    if seen.cut is not None and seen.cut[0] in columns and columns.index(seen.cut[0]) in axes:
        axis = columns.index(seen.cut[0])
        values = {row[axis]: position for row, position in zip(rows, xs if axis == axes[0] else ys, strict=True)}
        value = next((position for own, position in values.items() if str(own) == str(seen.cut[1])), None)
        if value is not None:
            across = axis == axes[0]
            p = at(value, spans[0 if across else 1], not across)
            ends = (p, 10, p, HEIGHT - 20) if across else (EDGE - 20, p, WIDTH - 10, p)
            parts.append('<line class="cut" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>'.format(*ends))
    for number, (x, y) in enumerate(points):
        look = f'style="fill: {colour[number]}"' if number in colour else ""
        parts.append(f'<circle class="point" {look} cx="{x:.1f}" cy="{y:.1f}" r="6"/>')
        if number in seen.marks:
            parts.append(f'<text class="mark" x="{x + 8:.1f}" y="{y - 8:.1f}">{escape(seen.marks[number])}</text>')
    names = [columns[axis] for axis in axes]
    if all(name in seen.middle for name in names):
        x, y = at(seen.middle[names[0]], spans[0], False), at(seen.middle[names[1]], spans[1], True)
        parts.append(f'<path class="middle" d="M{x - 8:.1f} {y:.1f}h16M{x:.1f} {y - 8:.1f}v16"/>')
    return svg(parts, f"{title}: {names[0]}, {names[1]}")


def _positions(values: Sequence[Any]) -> list[float]:
    """Numbers as they are, other values by their rank."""
    try:
        return [float(value) for value in values]
    except (TypeError, ValueError):
        order = {value: i for i, value in enumerate(sorted({str(value) for value in values}))}
        return [float(order[str(value)]) for value in values]


def _box(group: Sequence[int], points: Sequence[tuple[float, float]], look: str, name: str) -> str:
    if not group:
        return ""
    xs, ys = zip(*(points[number] for number in group), strict=True)
    x, y, width, height = min(xs) - 11, min(ys) - 11, max(xs) - min(xs) + 22, max(ys) - min(ys) + 22
    label = f'<text class="number" x="{x + 4:.1f}" y="{y - 3:.1f}">{name}</text>' if name else ""
    return f'<rect {look} x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="4"/>{label}'
