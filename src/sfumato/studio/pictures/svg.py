"""What all pictures of lessons share: the frame, texts, bars and signs. Colours come from the page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

WIDTH, HEIGHT, EDGE = 640.0, 420.0, 46.0
SIGNS = {True: "✓", False: "✗", None: ""}  # no sign is a colour alone


def svg(parts: Sequence[str], title: str, height: float = HEIGHT) -> str:
    """A picture with its title."""
    size = f'viewBox="0 0 {WIDTH:.0f} {height:.0f}"'
    return f'<svg class="lesson" {size} role="img"><title>{escape(title)}</title>{"".join(parts)}</svg>'


def text(words: object, x: float, y: float, look: str = "") -> str:
    """Words at a place; `look` is a class of the page's style, such as start, end or quiet."""
    return f'<text class="{look}" x="{x:.1f}" y="{y:.1f}">{escape(str(words))}</text>'


def line(x1: float, y1: float, x2: float, y2: float, look: str) -> str:
    """A straight line."""
    return f'<line class="{look}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def rect(x: float, y: float, width: float, height: float, look: str) -> str:
    """A rectangle."""
    return f'<rect class="{look}" x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{height:.1f}"/>'


def short(words: object, most: int) -> str:
    """Words that fit.

    >>> short("respiratory", 6)
    'respi…'
    """
    own = str(words)
    return own if len(own) <= most else f"{own[: most - 1]}…"
