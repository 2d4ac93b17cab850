"""The tree of splits of k-Optimize: a line per node, its cost as a bar, its bound as a tick, the best as a line."""

from __future__ import annotations

from sfumato.studio.lessons import SplitsSeen
from sfumato.studio.lessons.splits import SplitNode, Splits
from sfumato.studio.pictures.svg import WIDTH, line, rect, short, svg, text
from sfumato.studio.texts import Texts

MOST = 34  # nodes that are drawn: beyond it those that the current one does not hang on are left out
TOP, INDENT, LEFT = 44.0, 17.0, 300.0
SIGNS = {"open": "", "done": "–", "pruned": "✗"}


def tree_picture(seen: SplitsSeen, words: Texts) -> str:
    """Nodes below each other, each indented below its parent."""
    nodes = [node for node in seen.nodes.values() if _drawn(node, seen)]
    row = min(30.0, max(19.0, 330.0 / max(len(nodes), 1)))
    y_of = {node.splits: TOP + row * (i + 0.5) for i, node in enumerate(nodes)}
    highest = max((node.cost for node in nodes), default=1)
    end = WIDTH - 44

    def x_of(cost: int) -> float:
        return LEFT + (end - LEFT) * cost / highest

    bottom = TOP + row * max(len(nodes), 6)
    parts = [
        text(words("teach.splits"), 6, 18, "start quiet"),
        text(words("teach.cost"), LEFT, 18, "start quiet"),
        line(LEFT, TOP - 4, LEFT, bottom, "axis"),
    ]
    if seen.least is not None:
        x = x_of(seen.least)
        parts.append(line(x, TOP - 8, x, bottom, "cut"))
        parts.append(text(words("teach.best_cost", cost=seen.least), x, TOP - 14, "alarm"))
    for node in nodes:
        y, depth = y_of[node.splits], len(node.splits)
        x = 12 + INDENT * min(depth, 9)
        if depth and node.splits[:-1] in y_of:
            up = 12 + INDENT * min(depth - 1, 9)
            parts.append(f'<path class="edge" d="M{up:.1f} {y_of[node.splits[:-1]] + 5:.1f}V{y:.1f}H{x - 5:.1f}"/>')
        look = f"node {node.state}" + (" current" if node.splits == seen.current else "")
        look += " best" if node.splits == seen.best else ""
        parts.append(f'<circle class="{look}" cx="{x:.1f}" cy="{y:.1f}" r="5"/>')
        sign = "★" if node.splits == seen.best else SIGNS[node.state]
        added = " ".join(str(one) for one in node.splits[-1]) if depth else words("teach.root")
        label = f"{short(added, 26)} {sign}".strip()
        strong = "strong" if node.splits in (seen.current, seen.best) else ""
        parts.append(text(label, x + 10, y + 4, f"start small {strong}"))
        parts.append(rect(LEFT, y - 6, x_of(node.cost) - LEFT, 12, "bar current" if strong else "bar"))
        parts.append(text(node.cost, x_of(node.cost) + 5, y + 4, "start small"))
        if node.bound is not None:
            parts.append(line(x_of(node.bound), y - 8, x_of(node.bound), y + 8, "tick"))
    hidden = len(seen.nodes) - len(nodes)
    note = words("teach.bound_note") + (f" {words('teach.nodes_hidden', nodes=hidden)}" if hidden else "")
    parts.append(text(note, WIDTH / 2, bottom + 20, "quiet"))
    return svg(parts, words("teach.picture_tree"), bottom + 32)


def _drawn(node: SplitNode, seen: SplitsSeen) -> bool:
    """Whether a node is on the way to the current one or the best, or hangs on it."""
    if len(seen.nodes) <= MOST:
        return True
    own: Splits = node.splits
    ways = [way for way in (seen.current, seen.best) if way is not None]
    return any(own == way[: len(own)] for way in ways) or own[:-1] == seen.current
