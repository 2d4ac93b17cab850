"""Drawing: scales, colours, shapes and labels of a map, as SVG, and as PNG by matplotlib in the same places."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from sfumato.errors import MissingExtra
from sfumato.report.markup import Markup, drawing, join, n, tag

WIDE = 20  # from this ratio of the greatest to the least value on, an axis is logarithmic


@dataclass(frozen=True)
class ChartScale:
    """Values from `low` to `high` on places from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high, here = (math.log(v) for v in (self.low, self.high, value)) if self.log else (
            self.low, self.high, value)  # fmt: skip
        return self.start + (self.end - self.start) * (here - low) / (high - low)

    def ticks(self, most: int) -> list[float]:
        """Round numbers within the range, at most so many."""
        if self.log:
            return _log_ticks(self.low, self.high, most)
        step = _step((self.high - self.low) / most)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [round(i * step, 14) for i in range(first, last + 1)]


def scale(values: Sequence[float], start: float, end: float, may_be_log: bool = False) -> ChartScale:
    """A scale that holds the values with some room around them.

    >>> scale([0.2, 0.4], 0, 100).ticks(5)
    [0.2, 0.25, 0.3, 0.35, 0.4]
    """
    low, high = min(values, default=0.0), max(values, default=1.0)
    if may_be_log and low > 0 and high / low >= WIDE:
        room = (high / low) ** 0.06
        return ChartScale(low / room, high * room, start, end, True)
    room = 0.06 * (high - low) or 0.05 * abs(high) or 0.5
    bottom = max(low - room, 0.0) if low >= 0 else low - room
    top = min(high + room, 1.0 + 0.02 * (high - bottom)) if high <= 1 else high + room
    return ChartScale(bottom, max(top, bottom + 1e-9), start, end)


def written(ticks: Sequence[float]) -> list[str]:
    """Ticks with as many digits as tell them apart.

    >>> written([0.1, 0.15, 0.2]), written([0.01, 0.1, 1.0])
    (['0.10', '0.15', '0.20'], ['0.01', '0.1', '1'])
    """
    if len(ticks) > 1 and ticks[0] > 0 and ticks[-1] / ticks[0] >= WIDE:
        return [f"{tick:.10f}".rstrip("0").rstrip(".") if tick >= 1e-6 else f"{tick:.0e}" for tick in ticks]
    apart = min((abs(b - a) for a, b in pairwise(ticks)), default=0.0) or 1.0
    digits = next((d for d in range(9) if all(abs(round(t, d) - t) < 1e-3 * apart for t in ticks)), None)
    return [f"{tick:,.{digits}f}" if digits is not None else f"{tick:.3g}" for tick in ticks]


def _step(least: float) -> float:
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * m for m in (1, 2, 2.5, 5, 10, 20) if power * m >= least * (1 - 1e-9))


def _log_ticks(low: float, high: float, most: int) -> list[float]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in ((1, 2, 5), (1, 3), (1,)):
        found = [round(d * 10.0**p, 12 - p) for p in powers for d in digits if low <= d * 10.0**p <= high]
        if len(found) <= most + 2:
            return found
    return found[:: math.ceil(len(found) / most)]


LIGHT = {
    "paper": "#f7f5f0", "card": "#fdfcf9", "ink": "#2a2724", "soft": "#6a635b", "rule": "#ddd6ca", "front": "#e3d9bd",
    "c0": "#1f6f63", "c1": "#b5482f", "c2": "#3c5fa8", "c3": "#96700a", "c4": "#7d4a8d", "c5": "#4f7d2b",
    "c6": "#c0467f", "c7": "#5f5a53",
}  # fmt: skip
DARK = {
    "paper": "#1b1917", "card": "#23201d", "ink": "#e9e3d9", "soft": "#a89f93", "rule": "#3b3631", "front": "#4d4530",
    "c0": "#6cc3b0", "c1": "#f08a6e", "c2": "#8fb2f0", "c3": "#e0b64a", "c4": "#cc9be0", "c5": "#9fd06e",
    "c6": "#f191bd", "c7": "#b8b0a5",
}  # fmt: skip
COLOURS = 8
SANS = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Liberation Sans", Arial, sans-serif'
SERIF = '"Iowan Old Style", "Palatino Linotype", Palatino, "URW Palladio L", "Book Antiqua", Georgia, serif'
DASHES: tuple[tuple[float, ...], ...] = ((), (7, 4), (2, 4), (10, 4, 2, 4))
# what a text is for: its size, colour, and whether it is in the display face
TEXTS = {
    "title": (21, "ink", True),
    "about": (12.5, "soft", False),
    "tick": (12, "soft", False),
    "name": (12.5, "ink", False),
    "legend": (12.5, "ink", False),
    "label": (11.5, "ink", False),
    "quiet": (12, "soft", False),
}

Shape = tuple[tuple[float, float], ...]


def _regular(corners: int, turn: float, radius: float) -> Shape:
    angles = [turn + 2 * math.pi * i / corners for i in range(corners)]
    return tuple((round(radius * math.sin(a), 2), round(-radius * math.cos(a), 2)) for a in angles)


_ARM = 1.7
_CROSS = ((-_ARM, -5), (_ARM, -5), (_ARM, -_ARM), (5, -_ARM), (5, _ARM), (_ARM, _ARM), (_ARM, 5), (-_ARM, 5),
          (-_ARM, _ARM), (-5, _ARM), (-5, -_ARM), (-_ARM, -_ARM))  # fmt: skip
_STAR = tuple(
    (round(r * math.sin(a), 2), round(-r * math.cos(a), 2))
    for i in range(10)
    for r, a in [((6.2, 2.7)[i % 2], math.pi * i / 5)]
)
# a circle is no polygon: empty
SHAPES: tuple[Shape, ...] = (
    (), _regular(4, math.pi / 4, 5.8), _regular(3, 0, 6.2), _regular(4, 0, 6), _regular(3, math.pi, 6.2), _CROSS,
    _regular(5, 0, 5.6), _STAR,
)  # fmt: skip
RADIUS, RING, DOT = 4.8, 8.4, 2.3


def css() -> str:
    """The style of a map, alone or in a page."""
    rules = [f".map {{ {_variables(LIGHT)} }}"]
    rules.append(f"@media screen and (prefers-color-scheme: dark) {{ .map {{ {_variables(DARK)} }} }}")
    rules += [
        ".map .m-paper { fill: var(--m-paper); }",
        ".map .m-grid { stroke: var(--m-rule); stroke-width: 1; }",
        ".map .m-axis { fill: none; stroke: var(--m-soft); stroke-width: 1; }",
        ".map .m-front { fill: none; stroke: var(--m-front); stroke-width: 11; stroke-linecap: round; "
        "stroke-linejoin: round; }",
        ".map .m-line { fill: none; stroke-width: 1.7; stroke-linejoin: round; }",
        ".map .m-mark { stroke: var(--m-paper); stroke-width: 1; }",
        ".map .m-hollow { fill: var(--m-paper); stroke-width: 1.8; }",
        ".map .m-ring { fill: none; stroke: var(--m-ink); stroke-width: 1.3; }",
        ".map .m-halo { paint-order: stroke; stroke: var(--m-paper); stroke-width: 3px; stroke-linejoin: round; }",
    ]
    for i in range(COLOURS):
        rules.append(f".map .m-line.m-c{i}, .map .m-hollow.m-c{i} {{ stroke: var(--m-c{i}); }}")
        rules.append(f".map .m-solid.m-c{i} {{ fill: var(--m-c{i}); }}")
    for i, dash in enumerate(DASHES[1:], 1):
        rules.append(f".map .m-dash{i} {{ stroke-dasharray: {' '.join(f'{d:g}' for d in dash)}; }}")
    for name, (size, colour, display) in TEXTS.items():
        face = SERIF if display else SANS
        rules.append(f".map .m-{name} {{ fill: var(--m-{colour}); font: {size:g}px {face}; "
                     "font-variant-numeric: tabular-nums lining-nums; }")  # fmt: skip
    return "\n".join(rules) + "\n"


def _variables(colours: dict[str, str]) -> str:
    return " ".join(f"--m-{name}: {value};" for name, value in colours.items())


Place = tuple[float, float]


@dataclass(frozen=True)
class Stroke:
    """A line through places. `kind`: grid, axis, front or line; a line has a colour and a dash."""

    kind: str
    places: tuple[Place, ...]
    colour: int = 0
    dash: int = 0


@dataclass(frozen=True)
class Mark:
    """A point: the shape and colour of its method (-1: none), a ring on the front, and what it says when touched.

    Those of recodings are solid, those of maskings hollow, and those of synthetic tables hollow with a dot.
    """

    at: Place
    method: int
    ring: bool = False
    told: str = ""
    hollow: bool = False
    dotted: bool = False

    @property
    def shape(self) -> int:
        return (self.method + self.method // COLOURS) % len(SHAPES)  # other pairs of both in each round of colours

    @property
    def colour(self) -> int:
        return self.method % COLOURS


@dataclass(frozen=True)
class Text:
    """Words at a place; `kind` says what they are for. `halo`: they may stand on lines."""

    kind: str
    at: Place
    words: str
    anchor: str = "start"
    halo: bool = False
    upright: bool = False  # turned, to be read from below


@dataclass(frozen=True)
class Scene:
    """A drawing and its size."""

    width: float
    height: float
    title: str
    description: str
    items: tuple[Stroke | Mark | Text, ...]


def svg(scene: Scene, key: str, alone: bool = True) -> Markup:
    """The scene as SVG; `alone` with its own style and paper, to be a file. `key` makes its ids unique in a page."""
    paper = tag("rect", class_="m-paper", width=n(scene.width), height=n(scene.height)) if alone else None
    items, style = join(map(_item, scene.items), "\n"), css() if alone else None
    return drawing(
        scene.title, scene.description, key, scene.width, scene.height, paper, items, style=style, class_="map"
    )


def _item(item: Stroke | Mark | Text) -> Markup:
    if isinstance(item, Stroke):
        path = "M" + "L".join(f"{n(x)} {n(y)}" for x, y in item.places)
        dash = f" m-dash{item.dash % len(DASHES)}" if item.dash % len(DASHES) else ""
        own = f" m-c{item.colour % COLOURS}{dash}" if item.kind == "line" else ""
        return tag("path", class_=f"m-{item.kind}{own}", d=path)
    if isinstance(item, Mark):
        return _mark(item)
    x, y = item.at
    turned = f"rotate(-90 {n(x)} {n(y)})" if item.upright else None
    anchor = None if item.anchor == "start" else item.anchor
    kind = f"m-{item.kind}" + (" m-halo" if item.halo else "")
    return tag("text", item.words, class_=kind, x=n(x), y=n(y), text_anchor=anchor, transform=turned)


def _mark(item: Mark) -> Markup:
    x, y = item.at
    ring = tag("circle", class_="m-ring", cx=n(x), cy=n(y), r=n(RING)) if item.ring else None
    if item.method < 0:
        return tag("g", ring)
    own = f"m-mark m-c{item.colour}"
    kind = f"{own} m-hollow" if item.hollow else f"{own} m-solid"
    corners = SHAPES[item.shape]
    if corners:
        path = "M" + "L".join(f"{n(x + dx)} {n(y + dy)}" for dx, dy in corners) + "Z"
        shape = tag("path", class_=kind, d=path)
    else:
        shape = tag("circle", class_=kind, cx=n(x), cy=n(y), r=n(RADIUS))
    dot = tag("circle", class_=f"{own} m-solid", cx=n(x), cy=n(y), r=n(DOT)) if item.dotted else None
    return tag("g", tag("title", item.told) if item.told else None, ring, shape, dot)


Box = tuple[float, float, float, float]  # left, top, right, bottom
DIGIT_HEIGHT, DIGIT_WIDTH = 10.0, 6.6  # of a digit
# offsets of the words' middle in half their size and a gap, best first
AROUND = ((1, -1), (1, 0), (0, -1), (1, 1), (-1, -1), (-1, 0), (0, 1), (-1, 1))
GAP = 2.5  # between mark and words


def place_labels(
    marks: Sequence[Place],
    reach: Sequence[float],
    words: Sequence[str],
    lines: Sequence[Sequence[Place]],
    within: Box,
) -> list[Place | None]:
    """The middle of each label's words; of the free places around the mark, the one that the fewest lines cross and
    that no other mark is nearer to.

    `reach` is how far each mark reaches from its middle.
    """
    taken: list[Box] = [_box(x, y, r - 1, r - 1) for (x, y), r in zip(marks, reach, strict=True)]
    segments = [(a, b) for line in lines for a, b in pairwise(line)]
    found: list[Place | None] = []
    for i, ((x, y), r, text) in enumerate(zip(marks, reach, words, strict=True)):
        half, best = len(text) * DIGIT_WIDTH / 2, None
        for rank, (right, down) in enumerate(AROUND):
            gap = (r if not (right and down) else r * 0.62) + GAP
            at = x + right * (half + gap), y + down * (DIGIT_HEIGHT / 2 + gap)
            box = _box(*at, half + 1, DIGIT_HEIGHT / 2 + 1)
            if not _inside(box, within) or any(_meet(box, other) for j, other in enumerate(taken) if j != i):
                continue
            foreign = any(_far(at, other) < _far(at, (x, y)) - 1 for j, other in enumerate(marks) if j != i)
            cost = sum(_crosses(a, b, box) for a, b in segments) + 3 * foreign, rank
            if best is None or cost < best[0]:
                best = cost, at, box
        found.append(None if best is None else best[1])
        if best is not None:
            taken.append(best[2])
    return found


def _far(a: Place, b: Place) -> float:
    return ((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2) ** 0.5


def _box(x: float, y: float, wide: float, tall: float) -> Box:
    return x - wide, y - tall, x + wide, y + tall


def _inside(box: Box, outer: Box) -> bool:
    return box[0] >= outer[0] and box[1] >= outer[1] and box[2] <= outer[2] and box[3] <= outer[3]


def _meet(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _crosses(a: Place, b: Place, box: Box) -> bool:
    """Whether a segment runs through a box: what is left of it after cutting at each side (Liang and Barsky 1984)."""
    start, end = 0.0, 1.0
    for axis, low, high in ((0, box[0], box[2]), (1, box[1], box[3])):
        step = b[axis] - a[axis]
        if step == 0:
            if not low <= a[axis] <= high:
                return False
            continue
        first, last = sorted(((low - a[axis]) / step, (high - a[axis]) / step))
        start, end = max(start, first), min(end, last)
    return start < end


INCH = 100  # pixels of the scene
SHARP = 2  # pixels of the picture per pixel of the scene
POINT = 72 / INCH
WIDTHS = {"grid": 1.0, "axis": 1.0, "front": 11.0, "line": 1.7}
NARROWER = 0.94  # its letters are wider than those that pages have


def png(scene: Scene) -> bytes:
    """The scene as PNG; the same scene gives the same bytes. MissingExtra where matplotlib is not there."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("matplotlib", "plot") from None
    figure = Figure(figsize=(scene.width / INCH, scene.height / INCH), dpi=INCH * SHARP, facecolor=LIGHT["paper"])
    FigureCanvasAgg(figure)
    axes: Any = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, scene.width), ylim=(scene.height, 0))
    axes.axis("off")
    for order, item in enumerate(scene.items):
        if isinstance(item, Stroke):
            _draw_stroke(axes, item, order)
        elif isinstance(item, Mark):
            _draw_mark(axes, item, order)
        else:
            _draw_text(axes, item, order)
    out = io.BytesIO()
    figure.savefig(out, format="png", facecolor=LIGHT["paper"], metadata={"Software": None})
    return out.getvalue()


def _draw_stroke(axes: Any, item: Stroke, order: int) -> None:
    colour = {"grid": "rule", "axis": "soft", "front": "front"}.get(item.kind, f"c{item.colour % COLOURS}")
    dash = DASHES[item.dash % len(DASHES)] if item.kind == "line" else ()
    wide = WIDTHS[item.kind]
    style: Any = (0, tuple(d / wide for d in dash)) if dash else "solid"
    axes.plot(
        [x for x, _ in item.places], [y for _, y in item.places], color=LIGHT[colour], linewidth=wide * POINT,
        linestyle=style, solid_capstyle="round", solid_joinstyle="round", dash_capstyle="butt", zorder=order,
    )  # fmt: skip


def _draw_mark(axes: Any, item: Mark, order: int) -> None:
    from matplotlib.patches import Circle, Polygon

    x, y = item.at
    if item.ring:
        axes.add_patch(Circle((x, y), RING, fill=False, edgecolor=LIGHT["ink"], linewidth=1.3 * POINT, zorder=order))
    if item.method < 0:
        return
    own = LIGHT[f"c{item.colour}"]
    face, edge, wide = (LIGHT["paper"], own, 1.8) if item.hollow else (own, LIGHT["paper"], 1.0)
    look: dict[str, Any] = {"facecolor": face, "edgecolor": edge, "linewidth": wide * POINT, "zorder": order}
    corners = SHAPES[item.shape]
    shape = Polygon([(x + dx, y + dy) for dx, dy in corners], **look) if corners else Circle((x, y), RADIUS, **look)
    axes.add_patch(shape)
    if item.dotted:
        axes.add_patch(Circle((x, y), DOT - 0.5, facecolor=own, linewidth=0, zorder=order + 0.5))


def _draw_text(axes: Any, item: Text, order: int) -> None:
    from matplotlib.patheffects import withStroke

    size, colour, display = TEXTS[item.kind]
    anchor = {"start": "left", "middle": "center", "end": "right"}[item.anchor]
    words: Any = axes.text(
        *item.at, item.words, color=LIGHT[colour], fontsize=size * POINT * NARROWER, ha=anchor, va="baseline",
        family="DejaVu Serif" if display else "DejaVu Sans", zorder=order, parse_math=False,
        rotation=90 if item.upright else 0, rotation_mode="anchor",
    )  # fmt: skip
    if item.halo:
        words.set_path_effects([withStroke(linewidth=3 * POINT, foreground=LIGHT["paper"])])
