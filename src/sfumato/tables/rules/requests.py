"""Requests: contributors who asked for confidentiality, as in the request rule of tau-Argus (Hundepool et al. 2014)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from sfumato.core.parameters import Real, Whole
from sfumato.errors import PolicyError
from sfumato.tables.rules.model import CellModel, UnsafeCells, found
from sfumato.tables.values import StatTable


@dataclass(frozen=True)
class Requests(CellModel):
    """A cell with a contributor who asked for confidentiality is unsafe, unless it has n contributors.

    n: contributors among whom a request needs no cell to be hidden. margin: of a sum, the share of it that has to stay
    open below and above.
    """

    n: Annotated[int, Whole(2)] = 10
    margin: Annotated[float, Real(0, above=True)] = 0.1

    def unsafe(self, table: StatTable) -> UnsafeCells:
        """The small cells with a request."""
        if table.requests is None:
            raise PolicyError("the table does not say who asked for confidentiality",
                              hint='tabulate with request="column"')  # fmt: skip
        cells = (table.requests > 0) & (table.contributors < self.n)
        return found(cells, cells * 1.0 if table.counts else self.margin * abs(table.value))

    def sentence(self) -> str:
        """What it says of a cell."""
        return f"A cell with somebody who asked for confidentiality has at least {self.n} contributors."
