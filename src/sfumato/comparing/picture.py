"""Picture: the scene as PNG, drawn by matplotlib in the places that the SVG has."""

from __future__ import annotations

import io
from typing import Any

from sfumato.comparing.scene import COLOURS, DASHES, LIGHT, RADIUS, RING, SHAPES, TEXTS, Mark, Scene, Stroke, Text
from sfumato.errors import MissingExtra

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
            _stroke(axes, item, order)
        elif isinstance(item, Mark):
            _mark(axes, item, order)
        else:
            _text(axes, item, order)
    out = io.BytesIO()
    figure.savefig(out, format="png", facecolor=LIGHT["paper"], metadata={"Software": None})
    return out.getvalue()


def _stroke(axes: Any, item: Stroke, order: int) -> None:
    colour = {"grid": "rule", "axis": "soft", "front": "front"}.get(item.kind, f"c{item.colour % COLOURS}")
    dash = DASHES[item.dash % len(DASHES)] if item.kind == "line" else ()
    wide = WIDTHS[item.kind]
    style: Any = (0, tuple(d / wide for d in dash)) if dash else "solid"
    axes.plot(
        [x for x, _ in item.places], [y for _, y in item.places], color=LIGHT[colour], linewidth=wide * POINT,
        linestyle=style, solid_capstyle="round", solid_joinstyle="round", dash_capstyle="butt", zorder=order,
    )  # fmt: skip


def _mark(axes: Any, item: Mark, order: int) -> None:
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


def _text(axes: Any, item: Text, order: int) -> None:
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
