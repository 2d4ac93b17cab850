"""Scene: a drawing as a list of strokes, marks and texts, and the pen that writes it as SVG."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.comparing.ink import COLOURS, DASHES, RADIUS, RING, SHAPES, css
from sfumato.report.markup import Markup, join, tag

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
    """A point: the shape and colour of its method (-1: none), a ring on the front, and what it says when touched."""

    at: Place
    method: int
    ring: bool = False
    told: str = ""

    @property
    def shape(self) -> int:
        return self.method % len(SHAPES)

    @property
    def colour(self) -> int:
        return self.method % COLOURS

    @property
    def hollow(self) -> bool:
        """The second dozen of methods is drawn hollow."""
        return (self.method // COLOURS) % 2 == 1


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
    about = [tag("title", scene.title, id=f"{key}-title"), tag("desc", scene.description, id=f"{key}-desc")]
    size = {"width": n(scene.width), "height": n(scene.height)}
    paper = [tag("style", Markup(css())), tag("rect", class_="m-paper", **size)] if alone else []
    return tag(
        "svg", *about, *paper, join(map(_item, scene.items), "\n"),
        xmlns="http://www.w3.org/2000/svg" if alone else None, viewBox=f"0 0 {n(scene.width)} {n(scene.height)}",
        **(size if alone else {}), role="img", aria_labelledby=f"{key}-title {key}-desc", class_="map",
    )  # fmt: skip


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
    kind = f"m-mark m-c{item.colour} " + ("m-hollow" if item.hollow else "m-solid")
    corners = SHAPES[item.shape]
    if corners:
        path = "M" + "L".join(f"{n(x + dx)} {n(y + dy)}" for dx, dy in corners) + "Z"
        shape = tag("path", class_=kind, d=path)
    else:
        shape = tag("circle", class_=kind, cx=n(x), cy=n(y), r=n(RADIUS))
    return tag("g", tag("title", item.told) if item.told else None, ring, shape)


def n(value: float) -> str:
    """A coordinate, with as few digits as the eye can see."""
    return f"{value:.1f}".rstrip("0").rstrip(".")
