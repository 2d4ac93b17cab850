"""Level vectors in rows by height, and the distinct values of columns as bars."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from itertools import product

from sfumato.studio.lessons import NodesSeen
from sfumato.studio.pictures.svg import EDGE, HEIGHT, WIDTH, svg

SIGNS = {"satisfied": "✓", "tagged": "✓", "violated": "✗", "ruled-out": "✗", "pruned": "–"}
MOST_LABELS = 160  # nodes with their levels and edges


def lattice_picture(seen: NodesSeen, heights: Mapping[str, int], title: str) -> str:
    """Level vectors in rows by height, the most general on top."""
    vectors = list(product(*(range(heights[name] + 1) for name in seen.columns)))
    top = max(map(sum, vectors), default=0)
    rows = [[one for one in vectors if sum(one) == height] for height in range(top + 1)]
    labelled = len(vectors) <= MOST_LABELS
    place = {
        node: (EDGE + (WIDTH - 2 * EDGE) * (i + 1) / (len(row) + 1), HEIGHT - 28 - (HEIGHT - 56) * height / max(top, 1))
        for height, row in enumerate(rows)
        for i, node in enumerate(row)
    }
    parts = []
    if labelled:
        for node, (x, y) in place.items():
            for i in range(len(node)):
                above = (*node[:i], node[i] + 1, *node[i + 1 :])
                if above in place:
                    parts.append(f'<line class="edge" x1="{x:.1f}" y1="{y:.1f}" x2="{place[above][0]:.1f}" '
                                 f'y2="{place[above][1]:.1f}"/>')  # fmt: skip
    widest = max(map(len, rows), default=1)
    across = min(19.0, (WIDTH - 2 * EDGE) / (2.2 * widest))
    for node, (x, y) in place.items():
        state = seen.state.get(node, "unknown")
        more = " current" if node == seen.current else ""
        more += " best" if node == seen.best else ""
        parts.append(f'<ellipse class="node {state}{more}" cx="{x:.1f}" cy="{y:.1f}" rx="{across:.1f}" ry="11"/>')
        if labelled:
            sign = SIGNS.get(state, "")
            text = ",".join(map(str, node)) if across > 12 else "".join(map(str, node))
            parts.append(f'<text class="in" x="{x:.1f}" y="{y + 3.5:.1f}">{text}</text>')
            parts.append(f'<text class="sign" x="{x + across + 2:.1f}" y="{y - 5:.1f}">{sign}</text>')
    parts += [f'<text class="quiet" x="6" y="{HEIGHT - 24 - (HEIGHT - 56) * h / max(top, 1):.1f}">{h}</text>'
              for h in range(top + 1)]  # fmt: skip
    return svg(parts, f"{title}: {', '.join(seen.columns)}")


def bars_picture(distinct: Mapping[str, int], now: str | None, title: str) -> str:
    """A bar per column: its distinct values."""
    most, step = max(distinct.values(), default=1), (HEIGHT - 40) / max(len(distinct), 1)
    parts = []
    for i, (name, values) in enumerate(distinct.items()):
        y = 20 + i * step
        width = (WIDTH - 220) * values / most
        current = " current" if name == now else ""
        parts.append(f'<text class="end" x="130" y="{y + step / 2:.1f}">{escape(name)}</text>')
        parts.append(f'<rect class="bar{current}" x="140" y="{y + step / 4:.1f}" width="{width:.1f}" '
                     f'height="{step / 2:.1f}"/>')  # fmt: skip
        parts.append(f'<text class="start" x="{146 + width:.1f}" y="{y + step / 2:.1f}">{values}</text>')
    return svg(parts, title)
