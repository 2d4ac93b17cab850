"""How likely each answer is of two neighbouring tables, the answers that were drawn, and their ratio."""

from __future__ import annotations

import math
from collections.abc import Callable

from sfumato.studio.lessons import AnswersSeen
from sfumato.studio.pictures.svg import EDGE, HEIGHT, WIDTH, line, svg, text
from sfumato.studio.texts import Texts

BOTTOM, TOP = HEIGHT - 52, 66.0
LOOKS = ("with", "without")


def densities_picture(seen: AnswersSeen, words: Texts) -> str:
    """Two laws over the whole numbers, one with the person and one without."""
    parts = [line(EDGE - 20, BOTTOM, WIDTH - 10, BOTTOM, "axis")]
    names = words("teach.with_person", person=seen.person), words("teach.without_person", person=seen.person)
    for i, name in enumerate(names if seen.person else ()):
        x = EDGE + 250 * i
        parts.append(line(x, 18, x + 30, 18, f"curve {LOOKS[i]}"))
        parts.append(text(name, x + 36, 22, "start"))
    if seen.true is None:
        return svg(parts, words("teach.picture_densities"))
    scale = seen.scale or 1.0
    reach = max(4, math.ceil(4 * scale), *(abs(one - seen.true[0]) + 1 for one in seen.drawn or (0,)))
    first, last = seen.true[1] - reach, seen.true[0] + reach

    def x_of(answer: float) -> float:
        return EDGE + (WIDTH - 2 * EDGE) * (answer - first) / max(last - first, 1)

    a = math.exp(-1 / scale)
    top = (1 - a) / (1 + a)

    def y_of(likely: float) -> float:
        return BOTTOM - (BOTTOM - TOP) * likely / top

    every = max(1, (last - first) // 14)
    parts += [text(n, x_of(n), BOTTOM + 26, "quiet") for n in range(first, last + 1) if n % every == 0]
    parts.append(text(words("teach.answer"), WIDTH / 2, HEIGHT - 8, "quiet"))
    for look, true in zip(LOOKS, seen.true, strict=True):
        parts.append(line(x_of(true), BOTTOM + 4, x_of(true), TOP if seen.scale else BOTTOM - 40, f"true {look}"))
        if seen.scale:
            points = [(x_of(n), y_of(top * a ** abs(n - true))) for n in range(first, last + 1)]
            parts.append(f'<polyline class="curve {look}" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}"/>')
            parts += [f'<circle class="dot {look}" cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in points]
    parts += [f'<path class="drawn" d="M{x_of(one):.1f} {BOTTOM:.1f}l-5 9h10z"/>' for one in seen.drawn[:-1]]
    if seen.drawn:
        x = x_of(seen.drawn[-1])
        parts += [line(x, TOP - 10, x, BOTTOM, "cut"), text(seen.drawn[-1], x, TOP - 16, "strong alarm")]
    if seen.ratio is not None:
        parts += _ratio(seen.ratio, words, x_of(seen.drawn[-1]), y_of)
    return svg(parts, words("teach.picture_densities"))


def _ratio(ratio: tuple[float, float, float], words: Texts, x: float, y_of: Callable[[float], float]) -> list[str]:
    """The heights of both curves at the answer, and what they are to each other."""
    own, other, bound = ratio
    times, side = max(own / other, other / own), -1 if x > WIDTH * 0.62 else 1
    look, beside = "start" if side > 0 else "end", x + side * 14
    parts = [f'<circle class="at" cx="{x:.1f}" cy="{y_of(p):.1f}" r="6"/>' for p in (own, other)]
    y = min(max((y_of(own) + y_of(other)) / 2, TOP + 20), BOTTOM - 30)
    parts.append(text(words("teach.ratio", times=words.number(times)), beside, y, f"{look} strong halo"))
    parts.append(text(words("teach.ratio_bound", bound=words.number(bound)), beside, y + 18, f"{look} quiet halo"))
    return parts
