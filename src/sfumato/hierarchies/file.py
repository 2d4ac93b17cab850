"""Hierarchy file: an edge list where it has two columns, the wide form where it has more."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from sfumato.core.hierarchy import Categories, Hierarchy
from sfumato.core.parameters import PlainText, Written, YesNo, yes_or_no
from sfumato.errors import PolicyError
from sfumato.hierarchies.rows import RowSource, Way, rows_of_way, source
from sfumato.hierarchies.tree import from_edges
from sfumato.hierarchies.wide import from_rows


@dataclass(frozen=True)
class File:
    """A hierarchy file: two columns are an edge list, more are the wide form.

    With `way`, of a value with several parents, or lines, the one that the way follows counts. What is `learned` was
    made from the table: its labels name no value that only suppressed rows have.
    """

    source: RowSource
    way: Way | None = None
    learned: bool = False

    def build(self, categories: Categories) -> Hierarchy:
        """The hierarchy in the file."""
        rows = self.source.rows() if self.way is None else rows_of_way(self.source.rows(), self.way)
        form = from_edges if max(len(row.fields) for row in rows) == 2 else from_rows
        found = form(self.source, rows, categories)
        return replace(found, learned=True) if self.learned else found  # which checks it once more

    def describe(self) -> str:
        """A few words for the manifest."""
        return f"file {self.source.short}" + (", made from the table" if self.learned else "")


def file(
    path: Annotated[str | Path, Written("path")],
    delimiter: Annotated[str | None, PlainText()] = None,
    learned: Annotated[bool, YesNo()] = False,
) -> File:
    """A hierarchy file: two columns are an edge list `child,parent`, more are the wide form `value;level1;...;*`.

    `path`: the file. `delimiter`: what stands between columns; found unless given. `learned`: whether the file was made
    from the table, and edited, so that it may tell what only suppressed rows have: sets then list released values
    alone, and neither levels nor leaves are counted in what is published. Of another file all is taken to be public.

    The delimiter is sniffed among , ; | and tab unless given. Values match by their printed form.

    >>> file("data/disease.csv").describe()
    'file disease.csv'
    """
    if not isinstance(path, str | Path):
        raise PolicyError("file takes a path", got=type(path).__name__)
    return File(source(path, delimiter), learned=yes_or_no(learned, "learned of file"))
