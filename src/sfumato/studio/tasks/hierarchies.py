"""Hierarchies of the quasi-identifiers: drawn as trees, edited, made by a builder, read from files and written."""

from __future__ import annotations

import os
import re
import tempfile
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

import sfumato.hierarchies as edits
from sfumato.core.forms import fill
from sfumato.core.hierarchy import Categories, Hierarchy, Recipe, leaves_of, says_codes, write_wide
from sfumato.core.microdata import encode, microdata, reads_codes
from sfumato.errors import HierarchyError, PolicyError, SfumatoError
from sfumato.hierarchies import HIERARCHIES, HierarchyNode, file, hierarchy_tree, parse
from sfumato.hierarchies.bounds import cuts_of
from sfumato.hierarchies.learned import Learned
from sfumato.hierarchies.spec import policy_table, written
from sfumato.policyfile.file import Draft
from sfumato.policyfile.paths import with_paths
from sfumato.release.request import recipes_of
from sfumato.studio.tasks.data import described
from sfumato.studio.tasks.table import draft_of, rows_of

CHILDREN = 200  # drawn of a node at first
DRAWN = 1000  # nodes at most
LISTED = 200  # values and groups that a list has at most
EXAMPLES = 5  # labels of a level in a preview
CUTS = 60  # that a level may have to be shown as cuts
KEPT = 8  # hierarchies, as long as their table is the same
NUMBERS = ("integer", "decimal")
UNASKED = ("path", "variant", "mapping")  # parameters of builders that a form does not ask for
_built: OrderedDict[Any, tuple[Any, ColumnHierarchy]] = OrderedDict()


@dataclass(frozen=True, eq=False)
class ColumnHierarchy:
    """The hierarchy of a column, what is wrong with it, the rows of its leaves, and the values that it lacks."""

    categories: Categories
    recipe: Recipe
    hierarchy: Hierarchy | None
    fault: str
    root: HierarchyNode | None
    rows: np.ndarray  # of each leaf
    lacking: tuple[tuple[str, int], ...]  # values that are no leaves, with their rows

    @property
    def cuttable(self) -> bool:
        """Whether its groups can be intervals."""
        return self.categories.kind in (*NUMBERS, "date", "datetime") and not (self.hierarchy and self.hierarchy.codes)


def _quasi(draft: Draft) -> list[str]:
    named = draft.tables.get("roles", {}).get("quasi", [])
    return list(dict.fromkeys(name for one in named for name in (one if isinstance(one, list) else [one])))


def _built_of(asked: Mapping[str, Any], column: str, recipe: Recipe | None = None) -> ColumnHierarchy:
    """The hierarchy of a column as its policy, or another recipe, makes it of the table."""
    draft = draft_of(asked)
    frame, quasi = rows_of(draft).frame, _quasi(draft)
    if column not in frame.columns:
        raise PolicyError(f'the table has no column "{column}"')
    spec = draft.tables.get("hierarchies", {}).get(column)
    key = (column, repr(spec if recipe is None else recipe), tuple(quasi), tuple(_times(draft.folder, column, spec)))
    known = _built.get(key)
    if known is not None and known[0] is frame:
        _built.move_to_end(key)
        return known[1]
    if recipe is None:
        recipe = (
            parse(spec, draft.folder) if spec is not None else recipes_of(frame, {}, [column]).get(column, Learned())
        )
    found = _build(frame, column, quasi, recipe, _codes(draft, quasi))
    _built[key] = frame, found
    while len(_built) > KEPT:
        _built.popitem(last=False)
    return found


def _times(folder: Path, column: str, spec: Any) -> Iterator[int]:
    """When the file of a hierarchy was changed."""
    paths: list[str] = []
    with_paths({"hierarchies": {column: spec}}, lambda path: paths.append(path) or path)  # type: ignore[func-returns-value]
    for path in paths:
        try:
            yield (folder / path).stat().st_mtime_ns
        except OSError:
            yield 0


def _codes(draft: Draft, quasi: Sequence[str]) -> dict[str, Recipe]:
    """The columns whose digits are codes: what is alike to them counts so."""
    found: dict[str, Recipe] = {}
    for name in quasi:
        spec = draft.tables.get("hierarchies", {}).get(name)
        try:
            codes = spec is not None and says_codes(parse(spec, draft.folder))
        except SfumatoError:
            codes = False
        if codes:
            found[name] = Learned(digits="codes")
    return found


def _build(
    frame: Any, column: str, quasi: Sequence[str], recipe: Recipe, codes: Mapping[str, Recipe]
) -> ColumnHierarchy:
    if isinstance(recipe, Learned):  # groups of texts are learned by the other quasi-identifiers
        names = dict.fromkeys([column, *(name for name in quasi if name in frame.columns)], "quasi")
        categories = microdata(frame, names, {**codes, column: recipe}).attribute(column).categories
    else:
        series = frame.get_column(column)
        categories = encode(series, reads_codes(series, recipe))[0]
    fault, hierarchy = "", None
    try:
        hierarchy = recipe.build(categories)
    except HierarchyError as error:
        fault = str(error)
        if _from_file(recipe):
            hierarchy = _alone(recipe, column)
    values = list(zip(leaves_of(categories), categories.count.tolist(), strict=False))
    if hierarchy is None:
        return ColumnHierarchy(categories, recipe, None, fault, None, np.zeros(0), ())
    rows = np.zeros(len(hierarchy.leaves), np.int64)
    place = hierarchy.locate(leaves_of(categories))
    rows[place[place >= 0]] = categories.count[: len(place)][place >= 0]
    lacking = tuple(value for value, at in zip(values, place.tolist(), strict=True) if at < 0)
    root = hierarchy_tree(hierarchy, rows.tolist())
    return ColumnHierarchy(categories, recipe, hierarchy, fault, root, rows, lacking)


def _from_file(recipe: Recipe) -> bool:
    """Whether a hierarchy was written down, by people or by an edit."""
    return written(recipe) or bool(getattr(recipe, "learned", False))


def _alone(recipe: Recipe, column: str) -> Hierarchy | None:
    """A hierarchy that was written down, whatever the table holds."""
    try:
        return recipe.build(Categories(column, "text", (), None, np.zeros(0, np.int64)))
    except HierarchyError:
        return None


# What is drawn


def tree(
    asked: Mapping[str, Any], column: str, opened: Sequence[Any], find: str, reveal: Sequence[Any] | None, progress: Any
) -> dict[str, Any]:
    """The hierarchy of a column: its levels, what is wrong with it, and its nodes as far as they are opened: the root,
    those above a node to `reveal`, and `opened` ones, each a level, a label and how many children."""
    try:
        found = _built_of(asked, column)
    except (HierarchyError, PolicyError) as error:  # a spec that makes none
        return {"fault": str(error), "root": None, "levels": [], "lacking": 0, "about": "", "values": 0, "cuts": False,
                "opened": []}  # fmt: skip
    hierarchy, root = found.hierarchy, found.root
    shown = {(one[0], one[1]): one[2] for one in opened}
    if root is not None and not find:
        shown.setdefault((root.level, root.label), CHILDREN)
        for above, place in _way(root, reveal) if reveal else ():
            shown[above.level, above.label] = max(shown.get((above.level, above.label), CHILDREN), place + 1)
    levels = [
        {"level": level, "labels": len(labels), "cuts": _cuts(found, level)}
        for level, labels in enumerate(() if hierarchy is None else hierarchy.labels)
    ]
    return {
        "about": found.recipe.describe(),
        "fault": found.fault,
        "values": len(leaves_of(found.categories)),
        "lacking": len(found.lacking),
        "levels": levels,
        "cuts": found.cuttable,
        "opened": [[*node, most] for node, most in shown.items()],
        "root": None if root is None else _drawn(root, shown, find),
    }


def node(asked: Mapping[str, Any], column: str, level: int, label: str, most: int, find: str, progress: Any) -> Any:
    """A node with its first children."""
    found = _node(_built_of(asked, column).root, level, label)
    return None if found is None else _drawn(found, {(level, label): most}, find)


def _node(root: HierarchyNode | None, level: int, label: str) -> HierarchyNode | None:
    waiting = [] if root is None else [root]
    while waiting:
        one = waiting.pop()
        if (one.level, one.label) == (level, label):
            return one
        waiting += one.children if one.level > level else ()
    return None


def _way(root: HierarchyNode, to: Sequence[Any]) -> list[tuple[HierarchyNode, int]]:
    """The nodes above one, each with the place of the child that leads to it; none where it is not in the tree."""
    for place, child in enumerate(root.children if root.level > to[0] else ()):
        if (child.level, child.label) == tuple(to):
            return [(root, place)]
        if further := _way(child, to):
            return [(root, place), *further]
    return []


def _drawn(root: HierarchyNode, opened: Mapping[tuple[int, str], int], find: str) -> dict[str, Any]:
    """Nodes as plain values: children of those that are opened, or, of a filter, all that it finds and lie above it."""
    asked, budget = find.strip().casefold(), DRAWN

    def draw(node: HierarchyNode, hit: bool) -> dict[str, Any]:
        nonlocal budget
        budget -= 1
        hit = hit or (bool(asked) and asked in node.label.casefold())
        children = node.children if not asked or hit else [one for one in node.children if _holds(one, asked)]
        most = opened.get((node.level, node.label), CHILDREN if asked and not hit else 0)
        shown = [draw(child, hit) for child in children[:most] if budget > 0]
        return {
            "label": node.label, "level": node.level, "rows": node.rows, "leaves": node.leaves,
            "children": shown, "hidden": len(children) - len(shown), "inner": bool(node.children),
        }  # fmt: skip

    return draw(root, False)


def _holds(node: HierarchyNode, asked: str) -> bool:
    return asked in node.label.casefold() or any(_holds(child, asked) for child in node.children)


def _cuts(found: ColumnHierarchy, level: int) -> list[str] | None:
    """Where the intervals of a level begin, as they print; None where it has none, or too many."""
    assert found.hierarchy is not None
    labels = found.hierarchy.labels[level]
    if not found.cuttable or not 1 <= level < found.hierarchy.height or len(labels) > CUTS:
        return None
    ends = [cuts_of(label, found.categories.kind) for label in labels]
    known = [end[0] for end in ends if end is not None and end[0] is not None]
    return [text for _, text in sorted(known)[0 if len(known) < len(labels) else 1 :]]


def lacking(asked: Mapping[str, Any], column: str, progress: Any) -> list[list[Any]]:
    """The first values of the table that the hierarchy does not have, with their rows."""
    return [list(one) for one in _built_of(asked, column).lacking[:LISTED]]


def groups(asked: Mapping[str, Any], column: str, level: int, progress: Any) -> list[str]:
    """The first labels of a level."""
    hierarchy = _built_of(asked, column).hierarchy
    return [] if hierarchy is None or level > hierarchy.height else list(hierarchy.labels[level][:LISTED])


def histogram(asked: Mapping[str, Any], column: str, progress: Any) -> dict[str, Any]:
    """How the numbers of a column are spread, and where they begin and end."""
    found = described(rows_of(draft_of(asked)).frame.get_column(column))
    ends = None
    if found["kind"] in NUMBERS and found["distinct"]:
        low, high = float(found["low"]), float(found["high"])
        ends = [low, high] if low < high and np.isfinite([low, high]).all() else None
    return {"bars": found["bars"], "low": found["low"], "high": found["high"], "ends": ends}


# What is changed


def edited(asked: Mapping[str, Any], column: str, edit: Mapping[str, Any], progress: Any) -> Any:
    """Edit the hierarchy of a column, and write it into the folder of the project; the file as a policy names it.

    One whose values, or groups, are those of the table stays so: a release must not tell what it says of suppressed
    rows.
    """
    found = _built_of(asked, column)
    if found.hierarchy is None:
        raise HierarchyError(f'there is no hierarchy of "{column}" to change', hint="make one, or import one")
    path = _written(_edit(found.hierarchy, **edit), Path(asked["folder"]))
    return path if written(found.recipe) else {"file": path, "learned": True}


def _edit(
    hierarchy: Hierarchy, kind: str, level: int, labels: Sequence[str] = (), to: str = "", cuts: Sequence[str] = ()
) -> Hierarchy:
    if kind == "move":
        for label in labels:
            hierarchy = edits.move_group(hierarchy, level, label, to)
        return hierarchy
    if kind == "rename":
        return edits.rename_label(hierarchy, level, labels[0], to)
    if kind in ("insert", "remove"):
        return (edits.insert_level if kind == "insert" else edits.remove_level)(hierarchy, level)
    if kind == "cuts":
        return edits.set_cut_points(hierarchy, level, cuts)
    return (edits.merge_groups if kind == "merge" else edits.group_labels)(hierarchy, level, labels, to)


def imported(asked: Mapping[str, Any], column: str, path: str, progress: Any) -> str:
    """Take a hierarchy file, and write it into the folder of the project."""
    folder = Path(asked["folder"])
    return _written(file(folder / path).build(Categories(column, "text", (), None, np.zeros(0, np.int64))), folder)


def exported(asked: Mapping[str, Any], column: str, progress: Any) -> str:
    """The hierarchy of a column in wide form."""
    hierarchy = _built_of(asked, column).hierarchy
    if hierarchy is None:
        raise HierarchyError(f'there is no hierarchy of "{column}" to export')
    with tempfile.TemporaryDirectory(dir=Path(asked["folder"]) / "private") as place:
        write_wide(hierarchy, Path(place) / "hierarchy.csv")
        return (Path(place) / "hierarchy.csv").read_text(encoding="utf-8")


def _written(hierarchy: Hierarchy, folder: Path) -> str:
    """Write a hierarchy under the next number: a file never changes. Its name is published, and tells nothing."""
    place = folder / "hierarchies"
    place.mkdir(mode=0o700, exist_ok=True)
    part = place / f".{os.urandom(8).hex()}.part"
    stem = re.sub(r"[^\w-]+", "-", hierarchy.attribute).strip("-")[:40] or "column"
    try:
        write_wide(hierarchy, part)
        for number in count(1):
            target = place / f"{stem}-{number}.csv"
            with suppress(FileExistsError):
                target.touch(0o600, exist_ok=False)
                part.replace(target)
                break
    finally:
        part.unlink(missing_ok=True)
    return target.relative_to(folder).as_posix()


# What is made anew


def builders(asked: Mapping[str, Any], column: str, progress: Any) -> dict[str, Any]:
    """The builders that a form can ask for, the one that suits the column best, and what some are given at first."""
    categories = encode(rows_of(draft_of(asked)).frame.get_column(column))[0]
    values = leaves_of(categories)
    suits = {"integer": "intervals", "decimal": "intervals", "date": "dates", "datetime": "dates"}
    return {
        "names": [name for name, one in HIERARCHIES.items() if not any(p.type in UNASKED for p in one.parameters)],
        "first": suits.get(categories.kind, "order" if len(values) <= LISTED else "redact"),
        "given": {"order": {"values": list(values), "learned": True}} if len(values) <= LISTED else {},
    }


def preview(
    asked: Mapping[str, Any], column: str, name: str, values: Mapping[str, Any], progress: Any
) -> dict[str, Any]:
    """What a builder makes of the column, level by level, or what is wrong with it."""
    recipe, faults = fill(name, HIERARCHIES[name], values)
    if recipe is None:
        return {"faults": [fault for _, fault in faults]}
    try:
        found = _built_of(asked, column, recipe)
    except SfumatoError as error:
        return {"faults": [str(error)]}
    if found.hierarchy is None or found.fault:
        return {"faults": [found.fault]}
    return {"faults": [], "spec": policy_table(name, values), "levels": _levels(found)}


def _levels(found: ColumnHierarchy) -> list[dict[str, Any]]:
    assert found.hierarchy is not None
    levels = []
    for labels, ancestor in zip(found.hierarchy.labels, found.hierarchy.ancestor, strict=True):
        rows = np.bincount(ancestor, weights=found.rows, minlength=len(labels)).astype(np.int64).tolist()
        examples = [list(one) for one in zip(labels[:EXAMPLES], rows, strict=False)]
        levels.append({"labels": len(labels), "least": min(rows, default=0), "examples": examples})
    return levels
