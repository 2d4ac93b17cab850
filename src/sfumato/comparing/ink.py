"""Ink: the colours of the map, for light and dark, and the shapes of its marks. One source for every pen."""

from __future__ import annotations

import math

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
RADIUS, RING = 4.8, 8.4


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
