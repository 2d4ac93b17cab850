"""Tree: a hierarchy from an edge list, one line `child,parent` per node but the root."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from sfumato.core.hierarchy import Categories, Hierarchy, HierarchyNote, by_label, grow
from sfumato.core.parameters import PlainText, Written
from sfumato.hierarchies.rows import Row, RowSource, fail, first_lines, source, uncovered

TWO_PARENTS = "a value has two parents"


@dataclass(frozen=True)
class TreeRecipe:
    """A tree given by its edges: child and parent."""

    source: RowSource

    def build(self, categories: Categories) -> Hierarchy:
        """The tree; leaves nearer to the root than others are repeated upwards until all are equally deep."""
        return from_edges(self.source, self.source.rows(), categories)

    def describe(self) -> str:
        """A few words for the manifest."""
        return f"tree {self.source.short}"


def tree(
    edges: Annotated[str | Path | Iterable[object], Written("path")],
    delimiter: Annotated[str | None, PlainText()] = None,
) -> TreeRecipe:
    """A tree from an edge list: `child,parent` on each line of a file, or pairs in Python.

    `edges`: the file, or the pairs. `delimiter`: what stands between child and parent; found unless given.

    The root is the one node without a parent and prints as it is named; leaves are the nodes without children. The
    delimiter is sniffed among , ; | and tab unless given; blank lines are ignored, spaces are not.

    >>> tree([("flu", "lung"), ("asthma", "lung"), ("lung", "*"), ("ulcer", "*")]).describe()
    'tree given rows'
    """
    return TreeRecipe(source(edges, delimiter))


def from_edges(source: RowSource, rows: list[Row], categories: Categories) -> Hierarchy:
    """Check the edges, all faults together, and build the hierarchy."""
    faults = [
        f"{source.at([row.line])}: an edge is child and parent, neither empty; got columns: {len(row.fields)}"
        for row in rows
        if len(row.fields) != 2
    ]
    edges = [(row.line, *row.fields) for row in rows if len(row.fields) == 2]
    parent: dict[str, str] = {}
    line_of = first_lines((child, line) for line, child, _ in edges)
    for line, child, above in edges:
        if child == above:
            faults.append(f"{source.at([line])}: a value is its own parent (a cycle)")
        elif parent.setdefault(child, above) != above:
            faults.append(f"{source.at([line_of[child], line])}: {TWO_PARENTS}")
    faults += _cycles(source, parent, line_of)
    named = first_lines((above, line) for line, child, above in edges if child != above)
    inner = set(parent.values())
    looped = {child for _, child, above in edges if child == above}
    roots = [name for name in named if name not in parent and name not in looped]
    if not roots:
        faults.append(f"{source.name}: no single root: every node has a parent")
    elif len(roots) > 1:
        lines = [named[name] for name in roots]
        header = "; is line 1 a header?" if len(roots) == 2 and 1 in lines else ""
        faults.append(f"{source.at(lines)}: no single root: {len(roots)} parents have no parent of their own{header}")
    elif roots[0] != roots[0].strip():
        faults.append(f"{source.at([named[roots[0]]])}: the name of the root begins or ends with a space")
    leaves = [name for name in parent if name not in inner]
    faults += uncovered(source, categories, leaves, inner)
    almost = [line for line, child, above in edges if child != above and child.strip() == above.strip()]
    if faults and almost:
        faults.append(f"{source.at(almost)}: but for spaces a value is its own parent")
    several = all(fault.endswith(TWO_PARENTS) for fault in faults)
    fail(categories.name, source, faults, rows, "either takes a file in which values have several" if several else None)
    return _grow(source, categories.name, leaves, parent)


def _cycles(source: RowSource, parent: dict[str, str], line_of: dict[str, int]) -> list[str]:
    """One fault per cycle, with the lines of its edges."""
    faults: list[str] = []
    walked: dict[str, int] = {}  # the walk that first met the node
    for walk, start in enumerate(parent):
        node = start
        while node in parent and node not in walked:
            walked[node] = walk
            node = parent[node]
        if node in parent and walked[node] == walk:
            lines, at = [line_of[node]], parent[node]
            while at != node:
                lines.append(line_of[at])
                at = parent[at]
            faults.append(f"{source.at(lines)}: a cycle")
    return faults


def _grow(source: RowSource, name: str, leaves: list[str], parent: dict[str, str]) -> Hierarchy:
    paths = []
    for leaf in leaves:
        path = [leaf]
        while path[-1] in parent:
            path.append(parent[path[-1]])
        paths.append(path)
    return grow_paths(source, name, paths)


def grow_paths(source: RowSource, name: str, paths: list[list[str]]) -> Hierarchy:
    """Paths from leaf to root, made equally long by repeating the leaf, as a hierarchy."""
    height = max(map(len, paths))
    short = sum(len(path) < height for path in paths)
    if short:
        note = (
            f"{source.name}: {short} of {len(paths)} leaves are nearer to the root than others and repeated up to level"
        )
        warnings.warn(f"{note} {height - min(map(len, paths))}", HierarchyNote, stacklevel=2)
    full = [[path[0]] * (height - len(path)) + path for path in paths]
    columns = [by_label(column) for column in list(zip(*full, strict=True))[1:]]
    return grow(name, [path[0] for path in full], columns, root=None)
