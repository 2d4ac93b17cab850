"""CellRule: which cells of a table tell too much by themselves, and how far an attacker must be kept off them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from sfumato.core.parameters import check_fields
from sfumato.core.registry import field_values, variant_name
from sfumato.tables.values import StatTable


@dataclass(frozen=True, eq=False)
class UnsafeCells:
    """The cells that a rule finds, and how far below and above the value an attacker's interval has to reach there.

    `zeros`: empty cells have to be hidden as well, so that nobody knows of a hidden cell that it is not empty.
    """

    cells: np.ndarray  # bool
    below: np.ndarray  # float64, 0 where the cell is safe
    above: np.ndarray
    zeros: bool = False


class CellRule(Protocol):
    """A rule for cells that are unsafe by themselves; it looks at no other cell."""

    @property
    def model(self) -> str:
        """Its name in the table of rules."""

    def unsafe(self, table: StatTable) -> UnsafeCells:
        """The cells that it finds."""

    def parameters(self) -> dict[str, Any]:
        """Its parameters as plain values."""

    def sentence(self) -> str:
        """What it says of a cell, in words."""


@dataclass(frozen=True)
class CellModel:
    """What rules share, and protections that hide no cell: their parameters are the fields of a dataclass."""

    def __post_init__(self) -> None:
        check_fields(self, self.model)

    @property
    def model(self) -> str:
        """Its name in its table."""
        return variant_name(type(self).__name__)

    def parameters(self) -> dict[str, Any]:
        """Its parameters as plain values."""
        return field_values(self)


def found(cells: np.ndarray, either_way: np.ndarray, zeros: bool = False) -> UnsafeCells:
    """Unsafe cells that need the same protection below and above."""
    width = np.where(cells, either_way, 0.0)
    return UnsafeCells(cells, width, width, zeros)


@dataclass(frozen=True, eq=False)
class Primary:
    """The cells that all rules together find: the first rule that found each (-1 none), and what they need."""

    rule: np.ndarray  # int8, -1 where no rule found the cell
    below: np.ndarray
    above: np.ndarray
    zeros: bool

    @property
    def cells(self) -> np.ndarray:
        """Which cells are unsafe."""
        return self.rule >= 0


def primary_cells(rules: Sequence[CellRule], table: StatTable) -> Primary:
    """The cells that any of the rules finds, each with the widest protection that one asks for; an unsafe sum of 0, of
    which a share is nothing, may not be computed either."""
    rule = np.full(table.value.shape, -1, np.int8)
    below, above, zeros = np.zeros(table.value.shape), np.zeros(table.value.shape), False
    for number, one in enumerate(rules):
        unsafe = one.unsafe(table)
        rule[unsafe.cells & (rule < 0)] = number
        below, above = np.maximum(below, unsafe.below), np.maximum(above, unsafe.above)
        zeros |= unsafe.zeros
    nothing = np.where((rule >= 0) & (below == 0) & (above == 0), 10.0**-table.decimals, 0.0)
    return Primary(rule, below + nothing, above + nothing, zeros)


def also_hidden(primary: Primary, cells: np.ndarray, table: StatTable) -> Primary:
    """The same where other cells have to be hidden too: nobody may compute them, by whatever little."""
    least = np.where(cells.reshape(table.value.shape), 10.0**-table.decimals, 0.0)
    return replace(primary, below=np.maximum(primary.below, least), above=np.maximum(primary.above, least))
