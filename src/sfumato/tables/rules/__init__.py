"""Primary rules: one file per rule that says which cells of a table are unsafe by themselves."""

from __future__ import annotations

from sfumato.core.registry import Registry, Variant
from sfumato.tables.rules.dominance import Dominance
from sfumato.tables.rules.group_disclosure import GroupDisclosure
from sfumato.tables.rules.minimum_frequency import MinimumFrequency
from sfumato.tables.rules.model import CellRule
from sfumato.tables.rules.p_percent import PPercent
from sfumato.tables.rules.prior_posterior import PriorPosterior
from sfumato.tables.rules.requests import Requests

__all__ = ["CELL_RULES", "Dominance", "GroupDisclosure", "MinimumFrequency", "PPercent", "PriorPosterior", "Requests"]

_OURS: tuple[Variant[CellRule], ...] = (
    Variant(MinimumFrequency, example=MinimumFrequency(3), cite="Hundepool et al. 2012", words="Minimum frequency"),
    Variant(GroupDisclosure, example=GroupDisclosure(), cite="Hundepool et al. 2012", words="Group disclosure"),
    Variant(Dominance, example=Dominance(2, 85), cite="Willenborg and de Waal 2001", words="Dominance"),
    Variant(PPercent, example=PPercent(10), cite="Willenborg and de Waal 2001", words="p-percent"),
    Variant(PriorPosterior, example=PriorPosterior(10, 50), cite="Cox 1981", words="Prior-posterior"),
    Variant(Requests, example=Requests(), cite="Hundepool et al. 2014", words="Requests"),
)
CELL_RULES = Registry("rules", "rule", (CellRule,), {v.name: v for v in _OURS})
