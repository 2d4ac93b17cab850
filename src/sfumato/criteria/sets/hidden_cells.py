"""Hidden cells of a statistical table: M. Fischetti and J. J. Salazar, Solving the cell suppression problem on tabular
data with linear constraints, Management Science 47, 2001 (the attacker's problem)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from sfumato.core.parameters import Declared, Real, Whole, YesNo
from sfumato.core.protocols import Side
from sfumato.criteria.audit import Finding
from sfumato.criteria.cells.audit import audit_cells
from sfumato.criteria.cells.linked import LinkedTable
from sfumato.criteria.cells.published import PublishedCells
from sfumato.criteria.sets.model import SetModel
from sfumato.criteria.sets.published import PublishedSet, PublishedTable
from sfumato.errors import HierarchyError, PolicyError, ReadError

CELLS, VALUE, STATUS = "cells", "value", "status"
PUBLISHED = "published"
STATUSES = (PUBLISHED, "hidden")
UNSAFE = (PUBLISHED, "primary", "secondary")


@dataclass(frozen=True)
class HiddenCells(SetModel):
    """No hidden cell of a table can be computed from those that are published.

    Every total is the sum of its parts, so that hidden cells have to fit all that is published; the least and the
    greatest value that a hidden cell can have are not the same.

    Parameters: `parents`, of each column the pairs of a label and the one that it is part of; `whole`, whether cells
    are natural numbers; `least`, what everybody knows a hidden cell to be at least; `frequency`, below which a count is
    unsafe, where the status of a hidden cell says whether it is: then everybody knows that too; `found`, how many
    hidden cells can be computed at most.

    >>> HiddenCells({"sex": [["f", "*"], ["m", "*"]]}).sentence()
    'No hidden cell can be computed from the published ones.'
    """

    parents: Annotated[Mapping[str, Sequence[Sequence[str]]], Declared()]
    whole: Annotated[bool, YesNo()] = True
    least: Annotated[float | None, Real(-1e300)] = 0.0
    frequency: Annotated[int | None, Whole(2)] = None
    found: Annotated[int, Declared()] = 0

    bounded_by: ClassVar[str] = "found"
    side: ClassVar[Side] = "at most"

    def __post_init__(self) -> None:
        super().__post_init__()
        pairs = isinstance(self.parents, Mapping) and all(
            isinstance(name, str) and all(len(pair) == 2 and all(isinstance(t, str) for t in pair) for pair in edges)
            for name, edges in self.parents.items()
        )
        if not pairs or self.found != 0:
            raise PolicyError("parents has pairs of a label and the one above it, by column; found is 0")

    def parameters(self) -> dict[str, Any]:
        """Its parameters as plain values."""
        parents = {name: [list(pair) for pair in edges] for name, edges in self.parents.items()}
        flagged = {} if self.frequency is None else {"frequency": self.frequency}
        return {"parents": parents, "whole": self.whole, "least": self.least, **flagged}

    def sentence(self) -> str:
        """The promise in words."""
        return "No hidden cell can be computed from the published ones."

    def cells(self, published: PublishedSet) -> PublishedCells:
        """The cells of the published table, with what everybody knows of those that are hidden."""
        return cells_of(published, self.parents, self.whole, self.least, self.frequency)

    def tables(self, published: PublishedSet) -> list[tuple[LinkedTable, PublishedCells]]:
        """The table, as it is linked with others."""
        cells = self.cells(published)
        shown = tuple((True,) * len(one.labels) for one in cells.dimensions)
        return [(LinkedTable(CELLS, cells.dimensions, shown), cells)]

    def audit(self, published: PublishedSet) -> Finding:
        """What the published table says: how many hidden cells have one value alone that fits."""
        cells = self.cells(published)
        if faults := cells.additivity_faults():
            raise PolicyError(f"{len(faults)} published totals are not the sums of their parts")
        found = audit_cells(cells)
        return Finding(not found.exposed, found.exposed, 0, found.exposed)


def cells_of(
    published: PublishedSet, parents: Mapping[str, Sequence[Sequence[str]]], whole: bool, least: float | None,
    frequency: int | None,
) -> PublishedCells:  # fmt: skip
    """The cells of a published table that stands alone."""
    table = published.table(CELLS)
    if len(published.tables) > 1:
        raise PolicyError("a table stands alone", got=len(published.tables))
    return _read(table, parents, whole, least, frequency, False)[1]


def linked_of(
    published: PublishedSet, parents: Mapping[str, Mapping[str, Sequence[Sequence[str]]]], whole: bool,
    least: float | None, frequency: int | None,
) -> list[tuple[LinkedTable, PublishedCells]]:  # fmt: skip
    """The cells of each of several published tables, and what links them: labels that are not in a table are part of
    those that are."""
    if {*published.tables} != {*parents}:
        raise PolicyError("the tables are not those that have parents", got=", ".join(published.tables))
    return [
        _read(table, parents[name], whole, least, frequency, True) for name, table in published.tables.items()
    ]  # fmt: skip


def _read(
    table: PublishedTable, parents: Mapping[str, Sequence[Sequence[str]]], whole: bool, least: float | None,
    frequency: int | None, further: bool,
) -> tuple[LinkedTable, PublishedCells]:  # fmt: skip
    """The cells of a published table, hidden where their status says so and only there; with a `frequency` an unsafe
    one is known to be below it, and one that is hidden for another's sake not to be. `further`: whether there may be
    labels that the table does not have."""
    texts = table.texts
    by = texts.columns[:-2]
    if texts.columns[-2:] != [VALUE, STATUS] or {*by} != {*parents}:
        raise PolicyError(f'a table has the columns that it is counted by, "{VALUE}" and "{STATUS}"')
    status, value = texts.get_column(STATUS), texts.get_column(VALUE).cast(pl.Float64, strict=False)
    flags = UNSAFE if frequency is not None else STATUSES
    if not status.is_in(flags).all() or ((status == PUBLISHED) != value.is_not_null()).any():
        raise PolicyError("the value of a hidden cell is published, or that of a published one is not")
    frame = texts.select(*by, value.alias(VALUE))
    try:
        edges = {name: [(child, above) for child, above in pairs] for name, pairs in parents.items()}
        linked = LinkedTable.of(table.name, frame, by, edges)
        dimensions = linked.published() if further else linked.dimensions
        cells = PublishedCells.of(frame, dimensions, whole=whole, least=-float("inf") if least is None else least)
    except (HierarchyError, ReadError) as error:
        raise PolicyError(error.what) from None
    if frequency is None:
        return linked, cells
    lower, upper = np.full(cells.values.size, -np.inf), np.full(cells.values.size, np.inf)
    assert cells.rows is not None
    word = status.gather(cells.rows.ravel())
    upper[(word == "primary").to_numpy()] = frequency - 1
    if least is not None and least > 0:  # where empty cells are hidden, it may be empty
        lower[(word == "secondary").to_numpy()] = frequency
    shape = cells.values.shape
    return linked, replace(cells, lower=lower.reshape(shape), upper=upper.reshape(shape))
