"""Hierarchy file: an edge list where it has two columns, the wide form where it has more."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from sfumato.core.hierarchy import Categories, Hierarchy
from sfumato.core.parameters import PlainText, Written
from sfumato.errors import PolicyError
from sfumato.hierarchies.rows import RowSource, Way, rows_of_way, source
from sfumato.hierarchies.tree import from_edges
from sfumato.hierarchies.wide import from_rows


@dataclass(frozen=True)
class File:
    """A hierarchy file: two columns are an edge list, more are the wide form.

    With `way`, of a value with several parents, or lines, the one that the way follows counts.
    """

    source: RowSource
    way: Way | None = None

    def build(self, categories: Categories) -> Hierarchy:
        """The hierarchy in the file."""
        rows = self.source.rows() if self.way is None else rows_of_way(self.source.rows(), self.way)
        form = from_edges if max(len(row.fields) for row in rows) == 2 else from_rows
        return form(self.source, rows, categories)

    def describe(self) -> str:
        """A few words for the manifest."""
        return f"file {self.source.short}"


def file(path: Annotated[str | Path, Written("path")], delimiter: Annotated[str | None, PlainText()] = None) -> File:
    """A hierarchy file: two columns are an edge list `child,parent`, more are the wide form `value;level1;...;*`.

    `path`: the file. `delimiter`: what stands between columns; found unless given.

    The delimiter is sniffed among , ; | and tab unless given. Values match by their printed form.

    >>> file("data/disease.csv").describe()
    'file disease.csv'
    """
    if not isinstance(path, str | Path):
        raise PolicyError("file takes a path", got=type(path).__name__)
    return File(source(path, delimiter))
