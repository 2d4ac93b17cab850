"""Protections that publish every cell, some of them with other values: one file per method."""

from __future__ import annotations

from sfumato.tables.perturbation.barnardisation import Barnardisation
from sfumato.tables.perturbation.cell_key import CellKey
from sfumato.tables.perturbation.controlled_rounding import ControlledRounding
from sfumato.tables.perturbation.redesign import Redesign
from sfumato.tables.perturbation.rounding import DeterministicRounding, RandomRounding
from sfumato.tables.perturbation.tabular_adjustment import TabularAdjustment

__all__ = [
    "Barnardisation", "CellKey", "ControlledRounding", "DeterministicRounding", "RandomRounding", "Redesign",
    "TabularAdjustment",
]  # fmt: skip
