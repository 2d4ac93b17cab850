"""Edits: a hierarchy changed by hand, one step at a time. Each gives a new hierarchy, so that undoing is the old one.

The leaves and their order never change, every level stays a coarsening of the one below, and no label stands twice
within a level. An edit that would break this is a HierarchyError that lists all that is wrong with it. A label that
lists the leaves below it, `{a, b}`, does so after an edit, too. Messages name levels and columns; a label may be a
value of the table, and is not repeated.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.exact import exact, show
from sfumato.core.hierarchy import Hierarchy, by_label, parents
from sfumato.core.label_grammar import range_text, set_text
from sfumato.core.parameters import is_text, is_whole, shown
from sfumato.core.wording import count
from sfumato.errors import HierarchyError

Paths = list[list[str]]  # of each level, the label of each leaf


def merge_groups(hierarchy: Hierarchy, level: int, labels: Iterable[str], into: str) -> Hierarchy:
    """Groups of a level become one, named `into`. They must have one parent: merge, or move, the parents first.

    >>> towns = _example()
    >>> merge_groups(towns, 1, ["north", "south"], "west").labels
    (('a', 'b', 'c', 'd'), ('west', 'east'), ('*',))
    """
    edit, merged = _Edit(hierarchy), list(labels)
    if edit.level(level, 1, hierarchy.height - 1):
        edit.known(level, merged)
        if len(set(merged)) < 2:
            edit.faults.append("two different groups, or more, are merged")
        edit.named(level, [into], instead_of=merged)
        edit.settle()
        above = {up for label, up in zip(edit.paths[level], edit.paths[level + 1], strict=True) if label in merged}
        if len(above) > 1:
            edit.faults.append(f"the groups are in {len(above)} different groups of level {level + 1}")
            edit.hint = "move them under one parent first, or merge their parents"
        edit.paths[level] = [into if label in merged else label for label in edit.paths[level]]
        edit.lists.discard(into)
    return edit.done()


def split_group(hierarchy: Hierarchy, level: int, label: str, parts: Mapping[str, Iterable[str]]) -> Hierarchy:
    """A group of a level becomes several: `parts` maps each new label to the labels of the level below that it takes.

    >>> split_group(_example(), 1, "east", {"far east": ["d"], "east": ["c"]}).labels[1]
    ('north', 'south', 'east', 'far east')
    """
    edit = _Edit(hierarchy)
    if not isinstance(parts, Mapping):
        edit.faults.append(f"the parts must map new labels to labels of the level below; got {type(parts).__name__}")
    elif edit.level(level, 1, hierarchy.height - 1):
        edit.known(level, [label])
        taken = {name: list(labels) for name, labels in parts.items()}
        edit.named(level, list(taken), instead_of=[label])
        below = {low for low, up in zip(edit.paths[level - 1], edit.paths[level], strict=True) if up == label}
        edit.parted(below, taken, f"the labels of level {level - 1} in the group")
        edit.settle()
        part = {low: name for name, labels in taken.items() for low in labels}
        edit.paths[level] = [
            part[low] if up == label else up for low, up in zip(edit.paths[level - 1], edit.paths[level], strict=True)
        ]
    return edit.done()


def group_labels(hierarchy: Hierarchy, level: int, labels: Iterable[str], into: str) -> Hierarchy:
    """Labels of a level, which have one parent, become a group `into` of their own at the next level. Below the root
    there is a new level for it, at which all other labels stay as they are.

    >>> group_labels(_example(), 0, ["d"], "far east").labels[1]
    ('north', 'south', 'east', 'far east')
    >>> group_labels(_example(), 1, ["north", "south"], "west").labels[2]
    ('west', 'east')
    """
    edit, taken = _Edit(hierarchy), list(labels)
    if edit.level(level, 0, hierarchy.height - 1, "below the root"):
        edit.known(level, taken)
        if not taken:
            edit.faults.append("a group has a label at least")
        edit.settle()
        here, above = edit.paths[level], edit.paths[level + 1]
        over = {up for low, up in zip(here, above, strict=True) if low in taken}
        if len(over) > 1:
            edit.faults.append(f"the labels are in {len(over)} different groups of level {level + 1}")
            edit.hint = "move them under one parent first"
        if into in (above if level + 1 < hierarchy.height else {*here} - {*taken}):
            edit.faults.append(f"level {level + 1} has a group of that label already")
        edit.settle()
        if level + 1 == hierarchy.height:
            return insert_level(hierarchy, level + 1, {into: taken} | {one: [one] for one in here if one not in taken})
        parent = over.pop()
        rest = [low for low, up in zip(here, above, strict=True) if up == parent and low not in taken]
        return split_group(
            hierarchy, level + 1, parent, {into: taken} | ({parent: dict.fromkeys(rest)} if rest else {})
        )
    return edit.done()


def rename_label(hierarchy: Hierarchy, level: int, label: str, to: str) -> Hierarchy:
    """A group of a level, or the root, has another label; those of the leaves are values, and stay.

    >>> rename_label(_example(), 2, "*", "all towns").labels[2]
    ('all towns',)
    """
    edit = _Edit(hierarchy)
    if edit.level(level, 1, hierarchy.height):
        edit.known(level, [label])
        edit.named(level, [to], instead_of=[label])
        if level == hierarchy.height and to in hierarchy.leaves:
            edit.faults.append("a leaf has that label already, and would be its own parent in a file")
        edit.settle()
        edit.paths[level] = [to if one == label else one for one in edit.paths[level]]
        edit.lists.discard(to)
    return edit.done()


def move_group(hierarchy: Hierarchy, level: int, label: str, to: str) -> Hierarchy:
    """A leaf (level 0) or a group goes to the group `to` of the next level; a group that has none left is gone.

    >>> move_group(_example(), 0, "b", "east").paths()[1]
    ('b', 'east', '*')
    """
    edit = _Edit(hierarchy)
    if edit.level(level, 0, hierarchy.height - 2, "below the level of the root's children"):
        edit.known(level, [label])
        edit.known(level + 1, [to])
        edit.settle()
        there = edit.paths[level + 1].index(to)
        for above in range(level + 1, hierarchy.height):
            moved = edit.paths[above][there]
            edit.paths[above] = [
                moved if low == label else up for low, up in zip(edit.paths[level], edit.paths[above], strict=True)
            ]
    return edit.done()


def insert_level(hierarchy: Hierarchy, level: int, groups: Mapping[str, Iterable[str]] | None = None) -> Hierarchy:
    """A new level comes between two, and is `level` from then on.

    `groups` maps its labels to the labels of the level below that each takes; without it, it repeats the level below,
    and its groups can be merged one by one.

    >>> insert_level(_example(), 2, {"west": ["north", "south"], "rest": ["east"]}).labels[2]
    ('west', 'rest')
    """
    edit = _Edit(hierarchy)
    if groups is not None and not isinstance(groups, Mapping):
        edit.faults.append(f"groups must map labels to labels of the level below; got {type(groups).__name__}")
    elif edit.level(level, 1, hierarchy.height):
        below = edit.paths[level - 1]
        taken = {one: [one] for one in below} if groups is None else {name: list(g) for name, g in groups.items()}
        if groups is not None:
            edit.named(level, list(taken), instead_of=hierarchy.labels[level])
        edit.parted(set(below), taken, f"the labels of level {level - 1}")
        edit.settle()
        part = {low: name for name, labels in taken.items() for low in labels}
        edit.paths.insert(level, [part[low] for low in below])
        edit.nested(level)
    return edit.done()


def remove_level(hierarchy: Hierarchy, level: int) -> Hierarchy:
    """A level goes: neither the leaves nor the root.

    >>> remove_level(_example(), 1).labels
    (('a', 'b', 'c', 'd'), ('*',))
    """
    edit = _Edit(hierarchy)
    if edit.level(level, 1, hierarchy.height - 1):
        del edit.paths[level]
    return edit.done()


def set_cut_points(hierarchy: Hierarchy, level: int, cuts: Sequence[Any]) -> Hierarchy:
    """The groups of a level become intervals of numbers or dates, each cut being the first value of the next one.

    Groups of the level below must lie between two cuts, and intervals within a group of the level above.

    >>> ages = Hierarchy("age", (("18", "25", "40"), ("18", "25", "40"), ("*",)), np.array([[0, 1, 2]] * 2 + [[0] * 3]))
    >>> set_cut_points(ages, 1, [20, 30]).labels[1]
    ('< 20', '[20, 30)', '>= 30')
    """
    edit = _Edit(hierarchy)
    if edit.level(level, 1, hierarchy.height - 1):
        values, points, texts = edit.ordered(cuts)
        edit.settle()
        if any(high <= low for low, high in pairwise(points)) or not points:
            edit.faults.append("the cut points must rise, and there must be one at least")
            edit.settle()
        ends = [None, *texts, None]
        interval = [int(np.searchsorted(np.array(points, dtype=object), value, side="right")) for value in values]
        edit.paths[level] = [range_text(ends[i], ends[i + 1], closed=False) for i in interval]
        edit.nested(level - 1)
        edit.nested(level)
    return edit.done()


class _Edit:
    """A hierarchy as the labels of each leaf, which an edit changes, and what is wrong with the edit."""

    def __init__(self, hierarchy: Hierarchy) -> None:
        self.hierarchy, self.faults = hierarchy, list[str]()
        self.hint: str | None = None
        levels = zip(hierarchy.labels, hierarchy.ancestor.tolist(), strict=True)
        self.paths: Paths = [[names[i] for i in row] for names, row in levels]
        self.lists = {label for labels in self.paths[1:] for label, under in _under(self.paths[0], labels).items()
                      if label == set_text(under, True)}  # fmt: skip

    def level(self, level: Any, least: int, most: int, where: str = "between the leaves and the root") -> bool:
        """Whether there is that level to change."""
        if is_whole(level) and least <= level <= most:
            return True
        allowed = f"{least} to {most}" if most >= least else f"none: there is no level {where}"
        self.faults.append(f"there is no such level to change; got {shown(level)}; allowed: {allowed}")
        return False

    def known(self, level: int, labels: Sequence[Any]) -> None:
        """Labels must stand in a level."""
        if absent := sum(label not in self.hierarchy.labels[level] for label in labels):
            self.faults.append(f"{absent} of {count(len(labels), 'label')} are not of level {level}")

    def named(self, level: int, names: Sequence[Any], instead_of: Sequence[Any]) -> None:
        """New labels must be texts that a file can hold, and differ from the labels of a level that stay."""
        self.lists -= {name for name in names if is_text(name) and name not in instead_of}
        for name in names:
            if not is_text(name) or not name.strip() or name != name.strip() or any(ord(c) < 32 for c in name):
                self.faults.append("a label must be a text on one line that neither begins nor ends with a space")
            elif name in self.hierarchy.labels[level] and name not in instead_of:
                self.faults.append(f"level {level} has a group of that label already")

    def parted(self, below: set[str], taken: Mapping[str, list[Any]], what: str) -> None:
        """Every label is in one part, and every part has one."""
        given = [one for labels in taken.values() for one in labels]
        if not all(taken.values()) or not taken:
            self.faults.append("each part must have a label at least")
        if strange := sum(one not in below for one in given):
            self.faults.append(f"{count(strange, 'label')} are not among {what}")
        if missing := len(below - set(given)):
            self.faults.append(f"{missing} of {what} are in no part")
        if len(set(given)) < len(given):
            self.faults.append("a label is in two parts")

    def nested(self, level: int) -> None:
        """Groups of a level must lie in one group of the next."""
        pairs = set(zip(self.paths[level], self.paths[level + 1], strict=True))
        if crossed := len(pairs) - len(set(self.paths[level])):
            self.faults.append(f"{count(crossed, 'group')} of level {level} would lie in several of level {level + 1}")
            self.hint = "change the finer level first, or the coarser one, so that each group lies in one"

    def ordered(self, cuts: Any) -> tuple[list[Any], list[Any], list[str]]:
        """The leaves and cut points as numbers or times that compare, and the cut points as they print."""
        from sfumato.core.microdata import encode  # which learns hierarchies

        listed = list(cuts) if isinstance(cuts, Iterable) and not isinstance(cuts, str | bytes) else [cuts]
        leaves, name = list(self.hierarchy.leaves), self.hierarchy.attribute
        kind = encode(pl.Series(name, leaves, pl.String))[0].kind
        if kind in ("integer", "decimal") and not self.hierarchy.codes:
            try:
                points = [exact(cut) for cut in listed]
                return [exact(leaf) for leaf in leaves], points, [show(point) for point in points]
            except ValueError:
                self.faults.append("leaves and cut points must be finite numbers")
        elif kind in ("date", "datetime"):
            texts = [str(cut).replace(" ", "T") for cut in listed]
            found, code = encode(pl.Series(name, [*leaves, *texts], pl.String))
            if found.kind in ("date", "datetime") and found.position is not None and not found.missing:
                place = found.position[code].tolist()
                return place[: len(leaves)], place[len(leaves) :], texts
            self.faults.append(f"the cut points of a {kind} must be written as its values are")
        else:
            self.faults.append("only numbers and dates have cut points")
        return [], [], []

    def settle(self) -> None:
        """Raise what is wrong so far."""
        if self.faults:
            what = f'the hierarchy of "{self.hierarchy.attribute}" cannot be changed so'
            raise HierarchyError(what, self.faults, hint=self.hint)

    def done(self) -> Hierarchy:
        """The changed hierarchy, its labels in the order of their first leaves."""
        self.settle()
        old = self.hierarchy
        groups = [by_label(self._listing(labels)) for labels in self.paths]
        labels, ancestor = tuple(tuple(names) for _, names in groups), np.array([group for group, _ in groups])
        return Hierarchy(old.attribute, labels, ancestor.reshape(len(labels), -1), old.learned, old.codes)

    def _listing(self, labels: list[str]) -> list[str]:
        """The labels of a level, where those that listed the leaves below them list what is there now."""
        under = _under(self.paths[0], labels)
        new = {label: set_text(leaves, True) if label in self.lists else label for label, leaves in under.items()}
        return [new[label] for label in labels] if len({*new.values()}) == len(new) else labels


def _under(leaves: Sequence[str], labels: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for leaf, label in zip(leaves, labels, strict=True):
        found.setdefault(label, []).append(leaf)
    return found


@dataclass(frozen=True)
class HierarchyNode:
    """A node of a hierarchy as it is drawn: how many leaves, and rows where they were given, are below it."""

    label: str
    level: int
    leaves: int
    rows: int | None = None
    children: tuple[HierarchyNode, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for json."""
        own = {"label": self.label, "level": self.level, "leaves": self.leaves, "rows": self.rows}
        return own | {"children": [child.to_dict() for child in self.children]}


def hierarchy_tree(hierarchy: Hierarchy, rows: Sequence[int] | None = None) -> HierarchyNode:
    """The root of a hierarchy with all nodes below it; `rows` has those of each leaf.

    >>> root = hierarchy_tree(_example(), rows=[5, 1, 0, 2])
    >>> root.leaves, root.rows, [(child.label, child.rows) for child in root.children]
    (4, 8, [('north', 5), ('south', 1), ('east', 2)])
    """
    if rows is not None and len(rows) != len(hierarchy.leaves):
        what = f'the rows of the leaves of "{hierarchy.attribute}" must be as many as there are leaves'
        raise HierarchyError(what, got=len(rows), allowed=len(hierarchy.leaves))
    counted = [None] * len(hierarchy.leaves) if rows is None else [int(n) for n in rows]
    nodes = [HierarchyNode(label, 0, 1, n) for label, n in zip(hierarchy.leaves, counted, strict=True)]
    for level, labels in enumerate(hierarchy.labels[1:], 1):
        children: list[list[HierarchyNode]] = [[] for _ in labels]
        for node, parent in zip(nodes, parents(hierarchy.ancestor, level - 1).tolist(), strict=True):
            children[parent].append(node)
        nodes = [
            HierarchyNode(label, level, sum(one.leaves for one in below), _rows(below), tuple(below))
            for label, below in zip(labels, children, strict=True)
        ]
    return nodes[0]


def _rows(nodes: Sequence[HierarchyNode]) -> int | None:
    return None if nodes[0].rows is None else sum(node.rows or 0 for node in nodes)


def _example() -> Hierarchy:
    """Four towns in three parts."""
    labels = (("a", "b", "c", "d"), ("north", "south", "east"), ("*",))
    return Hierarchy("town", labels, np.array([[0, 1, 2, 3], [0, 1, 2, 2], [0, 0, 0, 0]]))
