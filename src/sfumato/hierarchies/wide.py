"""Wide form: a hierarchy with one line `value;level1;...;root` per leaf."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from sfumato.core.hierarchy import Categories, Hierarchy
from sfumato.core.parameters import PlainText, Written
from sfumato.hierarchies.rows import Row, RowSource, fail, first_lines, source, uncovered
from sfumato.hierarchies.tree import grow_paths


@dataclass(frozen=True)
class Wide:
    """A tree given by the path of every leaf up to the root."""

    source: RowSource

    def build(self, categories: Categories) -> Hierarchy:
        """The tree; shorter rows are filled by repeating the value until all are equally long."""
        return from_rows(self.source, self.source.rows(), categories)

    def describe(self) -> str:
        """A few words for the manifest."""
        return f"wide {self.source.short}"


def wide(
    rows: Annotated[str | Path | Iterable[object], Written("path")],
    delimiter: Annotated[str | None, PlainText()] = None,
) -> Wide:
    """A hierarchy in wide form: `value;level1;...;root` on each line of a file, or rows in Python.

    `rows`: the file, or the rows. `delimiter`: what stands between columns; found unless given.

    The last column is the root, the same on every line. The delimiter is sniffed among , ; | and tab unless given.

    >>> wide([("flu", "lung", "*"), ("ulcer", "stomach", "*")]).describe()
    'wide given rows'
    """
    return Wide(source(rows, delimiter))


def from_rows(source: RowSource, rows: list[Row], categories: Categories) -> Hierarchy:
    """Check the rows, all faults together, and build the hierarchy."""
    faults = [f"{source.at([row.line])}: has one column only" for row in rows if len(row.fields) == 1]
    for row in (row for row in rows if "" in row.fields):
        empty = [i + 1 for i, field in enumerate(row.fields) if not field and any(row.fields[:i])]
        if empty:
            faults.append(f"{source.at([row.line])}: column {', '.join(map(str, empty))} is empty")
    whole = [row for row in rows if len(row.fields) > 1]
    roots = first_lines((row.fields[-1], row.line) for row in whole)
    if len(roots) > 1:
        fault = f"{source.at(roots.values())}: no single root: the last column holds {len(roots)} labels"
        others = {row.fields[-1] for row in whole[1:]}
        faults.append(fault + ("; is line 1 a header?" if len(others) == 1 and whole[0].line == 1 else ""))
    elif (root := next(iter(roots), "")) != root.strip():
        faults.append(f"{source.at(roots.values())}: the name of the root begins or ends with a space")
    distinct: dict[str, Row] = {}
    for row in whole:
        known = distinct.setdefault(row.fields[0], row)
        if known.fields != row.fields:
            faults.append(f"{source.at([known.line, row.line])}: a value stands twice, with different levels above it")
    faults += _crossings(source, list(distinct.values()))
    faults += uncovered(source, categories, distinct)
    fail(categories.name, source, faults, rows)
    return grow_paths(source, categories.name, [list(row.fields) for row in distinct.values()])


def _crossings(source: RowSource, rows: list[Row]) -> list[str]:
    """One fault per label that stands under two labels, told once for each level."""
    faults = []
    height = max((len(row.fields) for row in rows), default=0)
    full = [(row.line, (row.fields[0],) * (height - len(row.fields)) + row.fields) for row in rows]
    for level in range(1, height - 1):
        above: dict[str, tuple[str, int]] = {}
        told: set[str] = set()
        for line, path in full:
            parent, first = above.setdefault(path[level], (path[level + 1], line))
            if parent != path[level + 1] and path[level] not in told:
                told.add(path[level])
                where = source.at([first, line])
                faults.append(f"{where}: the same label of level {level} stands under two labels of level {level + 1}")
    return faults
