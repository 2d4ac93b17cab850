"""The values of a class beside those of the whole table: bars, the mass that is moved, and what is measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.studio.lessons import ValuesSeen
from sfumato.studio.lessons.values import Move
from sfumato.studio.pictures.svg import SIGNS, WIDTH, line, rect, short, svg, text
from sfumato.studio.texts import Texts

MOST = 14  # values that are drawn
LEFT, TOP = 128.0, 46.0
NARROW, WIDE = 196.0, 440.0  # bars with moves beside them, and without
BASE = LEFT + NARROW + 48  # where moves begin and end
Paths = Sequence[Sequence[str]]


@dataclass(frozen=True)
class Gauge:
    """What a class is measured by: the words for it, what is asked, and the least and the most that it can be."""

    words: str
    asked: float
    least: float
    most: float
    moves: bool
    paths: Paths = ()  # of a hierarchy that mass is moved along


def histograms_picture(seen: ValuesSeen, words: Texts, column: str, by: Gauge) -> str:
    """A value per row, its share in the class above its share in the whole table; beside them what is moved, below
    them what is measured against what is asked, and the classes so far."""
    values, wide = list(seen.overall), NARROW if by.moves else WIDE
    if by.paths:  # leaves of a node stand together
        values.sort(key=lambda value: [row[0] for row in by.paths].index(value))
    values = values[:MOST]
    row = min(46.0, max(26.0, 300.0 / max(len(values), 1)))
    high, bottom = row * 0.32, TOP + row * len(values)
    y_of = {value: TOP + row * (i + 0.5) for i, value in enumerate(values)}
    parts = [text(column, 6, 20, "start strong"), *_legend(words), line(LEFT, TOP - 4, LEFT, bottom, "axis")]
    for value, y in y_of.items():
        share, whole = (seen.shares or {}).get(value, 0.0), seen.overall[value]
        parts.append(text(short(value, 18), LEFT - 8, y + 4, "end small"))
        if share:
            parts.append(rect(LEFT, y - high, wide * share, high, "bar current"))
            parts.append(text(words.percent(share), LEFT + wide * share + 4, y - 2, "start tiny"))
        parts.append(rect(LEFT, y, wide * whole, high, "bar whole"))
        parts.append(text(words.percent(whole), LEFT + wide * whole + 4, y + high - 1, "start tiny quiet"))
    parts += _moves(seen.moves, y_of) + _brackets(y_of, by.paths)
    parts += _gauge(seen, words, bottom + 46, by) + _verdicts(seen, words, bottom + 100)
    return svg(parts, f"{words('teach.picture')}: {column}", bottom + 90 + 22 * max((len(seen.verdicts) + 1) // 2, 1))


def _legend(words: Texts) -> list[str]:
    return [
        rect(LEFT, 11, 12, 10, "bar current"), text(words("teach.in_class"), LEFT + 16, 20, "start small"),
        rect(LEFT + 100, 11, 12, 10, "bar whole"), text(words("teach.in_table"), LEFT + 116, 20, "start small"),
    ]  # fmt: skip


def _level(distance: float) -> float:
    """Where a move of this distance turns."""
    return BASE + (WIDTH - BASE - 24) * distance


def _moves(moves: Sequence[Move], y_of: dict[str, float]) -> list[str]:
    """Arcs from the values that give to those that take, wider for more mass, which turn farther out for a longer way:
    along a hierarchy at the node where both meet."""
    parts = []
    for i, move in enumerate(moves):
        if move.source not in y_of or move.target not in y_of:
            continue
        y1, y2, turn = y_of[move.source], y_of[move.target], _level(move.distance)
        out = BASE + (turn - BASE) / 0.75  # a curve reaches three quarters of the way to its controls
        last = i == len(moves) - 1
        look, width = "move current" if last else "move", 1 + 6 * move.mass
        shape = f"M{BASE:.1f} {y1:.1f}C{out:.1f} {y1:.1f} {out:.1f} {y2:.1f} {BASE + 7:.1f} {y2:.1f}"
        parts.append(f'<path class="{look}" stroke-width="{width:.1f}" d="{shape}"/>')
        parts.append(f'<path class="head {look}" d="M{BASE:.1f} {y2:.1f}l9 -4.5v9z"/>')
        if last:
            parts.append(text(f"{move.mass:.3g}", turn - 8, (y1 + y2) / 2 + 4, "end small strong halo"))
    return parts


def _brackets(y_of: dict[str, float], paths: Paths) -> list[str]:
    """The nodes of a hierarchy beside the values below them."""
    parts: list[str] = []
    height = len(paths[0]) - 1 if paths else 0
    for level in range(1, height + 1):
        x = _level(level / height)
        inside: dict[tuple[str, ...], list[float]] = {}
        for row in paths:
            if row[0] in y_of:
                inside.setdefault(tuple(row[level:]), []).append(y_of[row[0]])
        for node, ys in inside.items():
            middle = (min(ys) + max(ys)) / 2
            turned = f'transform="rotate(90 {x + 8:.1f} {middle:.1f})"'
            parts.append(line(x, min(ys) - 8, x, max(ys) + 8, "bracket"))
            parts.append(text(short(node[0], 22), x + 8, middle, "quiet tiny halo").replace("<text", f"<text {turned}"))
    return parts


def _verdicts(seen: ValuesSeen, words: Texts, y: float) -> list[str]:
    """The classes so far, in two columns."""
    parts = [text(words("teach.classes"), LEFT - 8, y, "end quiet")] if seen.verdicts else []
    for i, (labels, rows, holds) in enumerate(seen.verdicts):
        now = "strong" if rows == seen.rows else ""
        look = "" if holds is None else "good" if holds else "alarm"
        said = f"{i + 1}: {short(labels, 26)} {SIGNS[holds]}".strip()
        parts.append(text(said, LEFT + (i % 2) * 240, y + 22 * (i // 2), f"start {now} {look}"))
    return parts


def _gauge(seen: ValuesSeen, words: Texts, y: float, by: Gauge) -> list[str]:
    """What is measured of the class on a line, and what is asked."""
    end = WIDTH - 40

    def x_of(value: float) -> float:
        return LEFT + (end - LEFT) * min(max((value - by.least) / max(by.most - by.least, 1e-9), 0.0), 1.0)

    x = x_of(by.asked)
    parts = [text(by.words, LEFT - 8, y + 4, "end small"), line(LEFT, y, end, y, "axis")]
    parts += [line(x, y - 12, x, y + 8, "cut")]
    parts.append(text(words("teach.asked", value=words.number(by.asked)), x, y - 17, "alarm small"))
    parts += [text(words.number(value), x_of(value), y + 18, "quiet tiny") for value in (by.least, by.most)]
    if seen.measured is not None:
        x = x_of(seen.measured)
        parts.append(f'<path class="pointer" d="M{x:.1f} {y:.1f}l-6 11h12z"/>')
        parts.append(text(words.number(seen.measured), x, y + 25, "strong small halo"))
    return parts
