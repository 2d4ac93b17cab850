"""Hidden cells of linked tables: L. H. Cox, Suppression methodology and statistical disclosure control, Journal of the
American Statistical Association 75(370), 1980."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from sfumato.core.parameters import Declared, Real, Whole, YesNo
from sfumato.core.protocols import Side
from sfumato.core.wording import count
from sfumato.criteria.audit import Finding
from sfumato.criteria.cells.audit import TableAudit, audit_cells
from sfumato.criteria.cells.intervals import outsider_ranges
from sfumato.criteria.cells.linked import LinkedCells, LinkedTable, link_tables, linked_cells
from sfumato.criteria.cells.published import PublishedCells
from sfumato.criteria.sets.hidden_cells import linked_of
from sfumato.criteria.sets.model import SetModel
from sfumato.criteria.sets.published import PublishedSet
from sfumato.errors import HierarchyError, PolicyError


@dataclass(frozen=True)
class LinkedHiddenCells(SetModel):
    """No hidden cell of several tables can be computed from all that is published of them.

    A cell is a set of people: those with some values of each column. Cells of two tables that are the same set are one
    cell, and each cell is the sum of finer ones, also of those that no table has.

    Parameters: `parents`, of each table and column the pairs of a label and the one that it is part of, down to the
    values that tables share, also where a table does not have them; `whole`, whether cells are natural numbers;
    `least`, what everybody knows a hidden cell to be at least; `n`, how many people a difference between tables is of,
    where it can be computed: so many at least, or none; `frequency`, below which a count is unsafe, where the status of
    a hidden cell says whether it is; `found`, how many cells can be computed at most.

    >>> LinkedHiddenCells({"by sex": {"sex": [["f", "*"], ["m", "*"]]}}).sentence()
    'No hidden cell of a table can be computed from all tables together.'
    """

    parents: Annotated[Mapping[str, Mapping[str, Sequence[Sequence[str]]]], Declared()]
    whole: Annotated[bool, YesNo()] = True
    least: Annotated[float | None, Real(-1e300)] = 0.0
    n: Annotated[int | None, Whole(2)] = None
    frequency: Annotated[int | None, Whole(2)] = None
    found: Annotated[int, Declared()] = 0

    bounded_by: ClassVar[str] = "found"
    side: ClassVar[Side] = "at most"

    def __post_init__(self) -> None:
        super().__post_init__()
        pairs = isinstance(self.parents, Mapping) and all(
            isinstance(table, Mapping)
            and all(len(p) == 2 and all(isinstance(t, str) for t in p) for edges in table.values() for p in edges)
            for table in self.parents.values()
        )
        if not pairs or not self.parents or self.found != 0:
            raise PolicyError("parents has pairs of a label and the one above it, by table and column; found is 0")

    def parameters(self) -> dict[str, Any]:
        """Its parameters as plain values."""
        parents = {
            table: {name: [list(pair) for pair in edges] for name, edges in columns.items()}
            for table, columns in self.parents.items()
        }
        asked = {name: value for name, value in (("n", self.n), ("frequency", self.frequency)) if value is not None}
        return {"parents": parents, "whole": self.whole, "least": self.least, **asked}

    def sentence(self) -> str:
        """The promise in words."""
        said = "No hidden cell of a table can be computed from all tables together"
        return f"{said}, nor people by their difference, if fewer than {self.n}." if self.n else f"{said}."

    def tables(self, published: PublishedSet) -> list[tuple[LinkedTable, PublishedCells]]:
        """Each table, as it is linked with others."""
        return linked_of(published, self.parents, self.whole, self.least, self.frequency)

    def audit(self, published: PublishedSet) -> Finding:
        """What the published tables say: how many hidden cells have one value alone that fits, and how many differences
        are known to be of a few people."""
        tables = self.tables(published)
        try:
            cells = joined(tables, self.whole)
        except HierarchyError as error:
            raise PolicyError(error.what) from None
        found = audit_linked(cells)
        few = 0 if self.n is None else len(few_in_differences(cells, self.n))
        note = f"{count(few, 'difference')} of fewer than {self.n} people" if few else None
        return Finding(not found.exposed and not few, found.exposed + few, 0, found.exposed + few, note)


def joined(tables: Sequence[tuple[LinkedTable, PublishedCells]], whole: bool) -> LinkedCells:
    """The cells of published tables together; a PolicyError where they do not add up."""
    links = link_tables([table for table, _ in tables])
    cells = [cells for _, cells in tables]
    found = linked_cells(links, cells, whole=whole)
    for (table, _), own in zip(tables, cells, strict=True):
        if faults := own.additivity_faults():
            first = faults[0]
            raise PolicyError(
                f"{len(faults)} published totals are not the sums of their parts",
                got=f'the first in "{table.name}" along "{first.dimension}", in row {(first.row or 0) + 1}',
            )
    return found


def audit_linked(cells: LinkedCells, n: int | None = None) -> TableAudit:
    """What whoever has all of some published tables can compute of the cells that one of them hides and, with `n`, of
    differences that are of 1 to n-1 people."""
    wanted = np.zeros(cells.values.size)
    asked = cells.hidden_cells[cells.asked]
    if n is not None:
        asked = np.append(asked, few_in_differences(cells, n))
    wanted[asked] = 1.0 if cells.whole else 1e-300
    return audit_cells(cells, sliding=wanted)


def few_in_differences(cells: LinkedCells, n: int) -> np.ndarray:
    """The cells that no table has, can be computed, and are of 1 to n-1 people."""
    ranges = outsider_ranges(cells)
    few = ~cells.asked & (ranges.low == ranges.high) & (ranges.low >= 1) & (ranges.high < n)
    found: np.ndarray = cells.hidden_cells[few]
    return found
