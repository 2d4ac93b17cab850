"""The tracker: everybody as points, the person and the tracker as circles, and what was asked of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from sfumato.studio.lessons import QueriesSeen
from sfumato.studio.pictures.svg import WIDTH, rect, short, svg, text
from sfumato.studio.texts import Texts

BOX = (14.0, 34.0, 330.0, 330.0)  # everybody: x, y, width, height
SHOWN = 12  # questions that are listed


def circles_picture(seen: QueriesSeen, words: Texts, person: str) -> str:
    """Points in the circles that they belong to, filled where the last question counts them."""
    x, y, width, height = BOX
    tracker, people = set(seen.tracker or ()), set(seen.person)
    inside = bool(people and people <= tracker)
    big = (x + 118, y + height / 2, 108.0)
    small = (big[0] + (46 if inside else 176), big[1] + (0 if inside else -88), 40.0)
    parts = [
        rect(x, y, width, height, "everybody"),
        text(words("teach.everybody", rows=seen.rows), x + 4, y - 10, "start"),
    ]
    if seen.tracker is not None:
        parts.append(_circle(big, "tracker"))
        parts.append(text(short(seen.tracker_name, 26), big[0], big[1] - big[2] - 8, "strong"))
    if seen.person:
        parts.append(_circle(small, "person"))
        parts.append(text(short(person, 20), small[0], small[1] + small[2] + 15, "strong"))
    places = {
        "both": _around(small if inside else big, len(people & tracker)),
        "person": _around(small, len(people - tracker)),
        "tracker": _ring(big, small if inside else None, len(tracker - people)),
        "rest": _corner(BOX, big, small, seen.rows - len(tracker | people)),
    }
    for row in range(seen.rows):
        kind = ("both" if row in tracker else "person") if row in people else "tracker" if row in tracker else "rest"
        px, py = next(places[kind])
        look = "point counted" if row in seen.counted else "point hollow"
        parts.append(f'<circle class="{look}" cx="{px:.1f}" cy="{py:.1f}" r="9"/>')
        parts.append(text(row + 1, px, py + 3.5, "in" + (" inverse" if row in seen.counted else "")))
    parts += _asked(seen, words)
    return svg(parts, words("teach.picture_circles"))


def _asked(seen: QueriesSeen, words: Texts) -> Iterator[str]:
    """The questions so far with their answers, and the sums of them."""
    x, y = BOX[0] + BOX[2] + 22, 24.0
    yield text(words("teach.limits", low=seen.limits[0], high=seen.limits[1]), x, y, "start quiet")
    asked = seen.asked[-SHOWN:]
    for what, answer in asked:
        y += 22
        refused = words("teach.refused")
        yield text(short(what, 34), x, y, "start small")
        yield text(
            refused if answer is None else answer, WIDTH - 8, y, "end strong" + (" alarm" if answer is None else "")
        )
    for said in seen.sums[-3:]:
        y += 24
        yield text(said, WIDTH - 8, y, "end strong good")
    if seen.found is not None:
        y += 26
        yield text(f"⇒ {seen.found[0]}", WIDTH - 8, y, "end strong alarm")


def _circle(of: tuple[float, float, float], look: str) -> str:
    return f'<circle class="{look}" cx="{of[0]:.1f}" cy="{of[1]:.1f}" r="{of[2]:.1f}"/>'


def _around(circle: tuple[float, float, float], many: int) -> Iterator[tuple[float, float]]:
    """Places in a small circle."""
    x, y, r = circle
    for i in range(many):
        angle = 2 * math.pi * i / max(many, 1)
        away = 0.0 if many == 1 else r * 0.5
        yield x + away * math.cos(angle), y + away * math.sin(angle)


def _grid(box: Sequence[float], step: float) -> Iterator[tuple[float, float]]:
    x, y, width, height = box
    rows, columns = int(height // step), int(width // step)
    for i in range(rows):
        for j in range(columns):
            yield x + step * (j + 0.5), y + step * (i + 0.5)


def _ring(
    big: tuple[float, float, float], without: tuple[float, float, float] | None, many: int
) -> Iterator[tuple[float, float]]:
    """Places in a large circle, outside of a small one."""
    x, y, r = big
    free = [
        (px, py)
        for px, py in _grid((x - r, y - r, 2 * r, 2 * r), 27 if many <= 25 else 15)
        if math.hypot(px - x, py - y) < r - 12
        and (without is None or math.hypot(px - without[0], py - without[1]) > 52)
    ]
    return _spread(free, many)


def _corner(
    box: Sequence[float], big: tuple[float, float, float], small: tuple[float, float, float], many: int
) -> Iterator[tuple[float, float]]:
    """Places outside of both circles."""
    free = [
        (px, py)
        for px, py in _grid(box, 27 if many <= 40 else 15)
        if all(math.hypot(px - x, py - y) > r + 26 for x, y, r in (big, small))
    ]
    return _spread(free, many)


def _spread(free: Sequence[tuple[float, float]], many: int) -> Iterator[tuple[float, float]]:
    """So many places, evenly drawn from those that are free; the last one again where they do not suffice."""
    for i in range(many):
        yield free[min(int(i * len(free) / max(many, 1)), len(free) - 1)]
