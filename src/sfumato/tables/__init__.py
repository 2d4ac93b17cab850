"""Statistical tables: counts and sums with all totals, protected so that nobody stands out in a cell.

`CELL_RULES` says which cells are unsafe by themselves, `PROTECTIONS` what is done about them.
"""

from __future__ import annotations

from sfumato.core.registry import Registry, Variant
from sfumato.tables.perturbation import (
    Barnardisation,
    CellKey,
    ControlledRounding,
    DeterministicRounding,
    RandomRounding,
    Redesign,
    TabularAdjustment,
)
from sfumato.tables.protection import Protection
from sfumato.tables.rules import (
    CELL_RULES,
    Dominance,
    GroupDisclosure,
    MinimumFrequency,
    PPercent,
    PriorPosterior,
    Requests,
)
from sfumato.tables.suppression import Exact, Hypercube, Modular, NetworkFlow

__all__ = [
    "CELL_RULES",
    "PROTECTIONS",
    "Barnardisation",
    "CellKey",
    "ControlledRounding",
    "DeterministicRounding",
    "Dominance",
    "Exact",
    "GroupDisclosure",
    "Hypercube",
    "MinimumFrequency",
    "Modular",
    "NetworkFlow",
    "PPercent",
    "PriorPosterior",
    "RandomRounding",
    "Redesign",
    "Requests",
    "TabularAdjustment",
]

_OURS: tuple[Variant[Protection], ...] = (
    Variant(Exact, example=Exact(), cite="Fischetti and Salazar 2001", words="Exact cell suppression"),
    Variant(Modular, example=Modular(), cite="de Wolf 2002", words="Modular cell suppression"),
    Variant(Hypercube, example=Hypercube(), cite="Repsilber 1994", words="Hypercube cell suppression"),
    Variant(NetworkFlow, example=NetworkFlow(), cite="Castro 2002", words="Cell suppression by network flow"),
    Variant(Redesign, example=Redesign(), cite="Hundepool et al. 2012", words="Redesign of the table"),
    Variant(ControlledRounding, example=ControlledRounding(), cite="Cox 1987", words="Controlled rounding"),
    Variant(RandomRounding, example=RandomRounding(), cite="Fellegi 1975", words="Random rounding"),
    Variant(DeterministicRounding, example=DeterministicRounding(), cite="Hundepool et al. 2012", words="Rounding"),
    Variant(TabularAdjustment, example=TabularAdjustment(), cite="Dandekar and Cox 2002", words="Tabular adjustment"),
    Variant(CellKey, example=CellKey(), cite="Fraser and Wooton 2005", words="Cell-key perturbation"),
    Variant(Barnardisation, example=Barnardisation(), cite="Barnardisation, UK censuses", words="Barnardisation"),
)
PROTECTIONS = Registry("protections", "protection", (Protection,), {v.name: v for v in _OURS})
