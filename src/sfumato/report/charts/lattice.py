"""The generalisation lattice as a drawing: rows by height, the most general node on top, every node marked twice,
by colour and by shape. One SVG file that stands alone, for light and dark."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING

from sfumato.report.markup import Markup, drawing, join, n, tag

if TYPE_CHECKING:
    from sfumato.core.lattice import Node
    from sfumato.search.lattice.minimal import Minimal

MOST = 400  # nodes of a lattice that is drawn as a whole
CROWDED = 150  # nodes from which labels are short and lines thin
MOST_ALONE = 200  # k-minimal nodes drawn where the lattice is too large
_LEFT, _EDGE, _TALL, _GAP, _WIDEST = 92.0, 40.0, 26.0, 14.0, 1500.0
_CHARACTER = 7.3  # width of a digit in the labels
_MARKS = {
    "satisfied": "M-3.6 .4 -1 3 3.8 -3",
    "violated": "M-2.8 -2.8 2.8 2.8M2.8 -2.8 -2.8 2.8",
    "minimal": "M0 -4 4 0 0 4 -4 0Z",
    "chosen": "M0 -5.2 1.5 -1.7 5 -1.6 2.2 .7 3.2 4.3 0 2.2 -3.2 4.3 -2.2 .7 -5 -1.6 -1.5 -1.7Z",
}


@dataclass(frozen=True)
class _Node:
    levels: Node
    height: int
    kinds: tuple[str, ...]  # the first names the mark
    told: str


@dataclass(frozen=True)
class _Place:
    x: float
    y: float
    wide: float


def draw(found: Minimal, chosen: Node | None = None, about: str = "") -> str:
    """The lattice of `found` as SVG, with the `chosen` node marked; `about` says what is asked of a node.

    A lattice of more than 400 nodes is not drawn: only its k-minimal nodes are (those of least loss, where there are
    more than 200), and the drawing says so.
    """
    whole = len(found.satisfied) <= MOST
    nodes = _all_nodes(found, chosen) if whole else _minimal_nodes(found, chosen)
    between = "" if whole and len(nodes) > CROWDED and max(found.lattice.greatest) < 10 else ","
    label = {node.levels: between.join(map(str, node.levels)) for node in nodes}
    place, bands, width, bottom = _layout(nodes, label, whole)
    parts: list[Markup] = [_band(height, y, width, whole) for height, y in bands]
    if whole:
        parts += _edges(nodes, place)
    parts += [_node(node, label[node.levels], place[node.levels]) for node in nodes]
    legend, foot = _legend(found, chosen, width, bottom + 30)
    head = _head(found, chosen, about, whole, width)
    tall = foot + 26
    style = files("sfumato.report").joinpath("lattice.css").read_text(encoding="utf-8")
    paper = tag("rect", class_="paper", width=n(width), height=n(tall))
    drawn = (paper, join(head), join(parts, "\n"), legend)
    return f"{drawing('Generalisation lattice', _summary(found), 'lattice', width, tall, *drawn, style=style)}\n"


def _all_nodes(found: Minimal, chosen: Node | None) -> list[_Node]:
    minimal = {node.levels for node in found.nodes}
    nodes = []
    for i, levels in enumerate(found.lattice.nodes().tolist()):
        vector = tuple(levels)
        verdict = "satisfied" if found.satisfied[i] else "violated"
        special = ("chosen",) if vector == chosen else ("minimal",) if vector in minimal else ()
        kinds = (*special, verdict, *(() if found.checked[i] else ("pruned",)))
        told = f"({', '.join(map(str, levels))}): {_words(kinds)}"
        if found.checked[i]:
            told += f"; {found.suppressed[i]:,} rows suppressed"
            told += f", loss {found.loss[i]:.6g}, {found.classes[i]:,} classes" if found.satisfied[i] else ""
        nodes.append(_Node(vector, sum(vector), kinds, told))
    return nodes


def _minimal_nodes(found: Minimal, chosen: Node | None) -> list[_Node]:
    kept = sorted(found.nodes, key=lambda node: (node.loss, node.levels))[:MOST_ALONE]
    nodes = [
        _Node(
            node.levels,
            node.height,
            ("chosen" if node.levels == chosen else "minimal", "satisfied"),
            f"({', '.join(map(str, node.levels))}): k-minimal; {node.suppressed:,} rows suppressed, "
            f"loss {node.loss:.6g}, {node.classes:,} classes",
        )
        for node in kept
    ]
    if chosen is not None and chosen not in {node.levels for node in nodes}:
        nodes.append(_Node(chosen, sum(chosen), ("chosen", "satisfied"), f"{chosen}: chosen"))
    return sorted(nodes, key=lambda node: node.levels)


def _layout(
    nodes: list[_Node], label: dict[Node, str], whole: bool
) -> tuple[dict[Node, _Place], list[tuple[int, float]], float, float]:
    """Where each node stands, where each height is written, and the size of it all: long rows go over several lines."""
    wide = max((len(text) for text in label.values()), default=1) * _CHARACTER + 34
    rows: dict[int, list[Node]] = {}
    for node in nodes:
        rows.setdefault(node.height, []).append(node.levels)
    longest = max((len(row) for row in rows.values()), default=1)
    if not whole:
        longest = min(longest, max(1, int(_WIDEST // (wide + _GAP))))
    inner = max(longest * (wide + _GAP) - _GAP, 560.0)
    place, bands, y = {}, [], 128.0
    for height in sorted(rows, reverse=True):
        row = rows[height]
        bands.append((height, y))
        for at in range(0, len(row), longest):
            line = row[at : at + longest]
            x = _LEFT + ((inner - (len(line) * (wide + _GAP) - _GAP)) / 2 if whole else 0)
            for levels in line:
                place[levels] = _Place(x, y, wide)
                x += wide + _GAP
            y += _TALL + 8
        y += 20 + (10 + min(longest, 60) * 1.6 if whole else 0)
    return place, bands, _LEFT + inner + _EDGE, max((p.y for p in place.values()), default=y) + _TALL


def _above(levels: Node) -> list[Node]:
    """The vectors one level up in one place."""
    return [(*levels[:a], levels[a] + 1, *levels[a + 1 :]) for a in range(len(levels))]


def _edges(nodes: list[_Node], place: dict[Node, _Place]) -> list[Markup]:
    """Lines from each node to those one level up; among satisfying nodes they are stronger."""
    good = {node.levels for node in nodes if "satisfied" in node.kinds}
    plain: list[str] = []
    strong: list[str] = []
    for node in nodes:
        here = place[node.levels]
        for upper in _above(node.levels):
            if upper in place:
                there = place[upper]
                line = f"M{n(here.x + here.wide / 2)} {n(here.y)}L{n(there.x + there.wide / 2)} {n(there.y + _TALL)}"
                (strong if node.levels in good and upper in good else plain).append(line)
    dense = " dense" if len(nodes) > CROWDED else ""
    return [tag("path", class_=kind + dense, d="".join(d)) for kind, d in (("edge", plain), ("edge good", strong)) if d]


def _node(node: _Node, label: str, place: _Place) -> Markup:
    round_ = _TALL / 2 if "satisfied" in node.kinds else 3
    box = {"x": n(place.x), "y": n(place.y), "width": n(place.wide), "height": n(_TALL)}
    parts = [tag("title", node.told), tag("rect", **box, rx=n(round_))]
    if node.kinds[0] == "chosen":
        ring = {"x": n(place.x - 4), "y": n(place.y - 4), "width": n(place.wide + 8), "height": n(_TALL + 8)}
        parts.append(tag("rect", class_="ring", **ring, rx=n(round_ + 4)))
    middle = place.y + _TALL / 2
    parts.append(tag("path", d=_MARKS[node.kinds[0]], transform=f"translate({n(place.x + 14)} {n(middle)})"))
    words = {"x": n(place.x + place.wide / 2 + 8), "y": n(middle + 4.2), "text_anchor": "middle"}
    parts.append(tag("text", label, class_="label", **words))
    return tag("g", *parts, class_=" ".join(("node", *node.kinds)))


def _band(height: int, y: float, width: float, whole: bool) -> Markup:
    ends = {"x1": n(_LEFT - 14), "x2": n(width - 16), "y1": n(y + _TALL / 2), "y2": n(y + _TALL / 2)}
    line = tag("line", class_="band", **ends) if whole else None
    return join([line, tag("text", f"height {height}", class_="soft", x="24", y=n(y + _TALL / 2 + 4.2))])


def _head(found: Minimal, chosen: Node | None, about: str, whole: bool, width: float) -> list[Markup]:
    lines = [about] if about else []
    lines.append("Each node is a vector of levels, in the order " + ", ".join(found.columns) + ".")
    if not whole:
        some = f"its k-minimal nodes ({len(found.nodes):,})"
        if len(found.nodes) > MOST_ALONE:
            some = f"the {MOST_ALONE} of least loss of its {len(found.nodes):,} k-minimal nodes,"
        some += " and the chosen one" if chosen is not None else ""
        lines.append(f"The lattice has {len(found.satisfied):,} nodes, too many to draw: here are {some}.")
    most = int((width - 48) / 6.2)
    shown = [line if len(line) <= most else f"{line[: most - 1]}…" for line in lines]
    head = [tag("text", "Generalisation lattice", class_="title", x="24", y="44")]
    return head + [tag("text", line, class_="soft", x="24", y=n(68 + 19 * i)) for i, line in enumerate(shown)]


def _legend(found: Minimal, chosen: Node | None, width: float, y: float) -> tuple[Markup, float]:
    """What the marks mean, with how many nodes have each; and where it ends."""
    good, bad = int(found.satisfied.sum()), int((~found.satisfied).sum())
    pruned = int((~found.checked).sum())
    entries: list[tuple[tuple[str, ...], str]] = [
        *([(("chosen", "satisfied"), "chosen")] if chosen is not None else []),
        (("minimal", "satisfied"), f"k-minimal: {len(found.nodes):,}"),
        (("satisfied",), f"satisfies: {good:,}"),
        (("violated",), f"violates: {bad:,}"),
        (("violated", "pruned"), f"dashed, known without a check: {pruned:,}"),
    ]
    parts, x = [], 24.0
    for kinds, words in entries:
        long = 48 + len(words) * 6.6
        if x + long > width - 16 and x > 24:
            x, y = 24.0, y + 36
        node = _Node((), 0, kinds, words)
        parts += [_node(node, "", _Place(x, y, 28)), tag("text", words, x=n(x + 38), y=n(y + 17))]
        x += long + 14
    return join(parts), y + _TALL


def _summary(found: Minimal) -> str:
    minimal = "; ".join(f"({', '.join(map(str, n.levels))})" for n in found.nodes[:20])
    more = f" and {len(found.nodes) - 20} more" if len(found.nodes) > 20 else ""
    good, count = int(found.satisfied.sum()), len(found.satisfied)
    return f"{good:,} of {count:,} nodes satisfy, {len(found.nodes):,} are k-minimal: {minimal}{more}."


def _words(kinds: Iterable[str]) -> str:
    named = {"minimal": "k-minimal", "pruned": "known without a check"}
    return ", ".join(named.get(kind, kind) for kind in kinds)
