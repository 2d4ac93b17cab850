"""Data in which a person has many items: baskets of what somebody bought, did or was given.

`BASKET_SEARCHES` has the ways to make baskets safe.
"""

from __future__ import annotations

from sfumato.core.registry import Registry, Variant
from sfumato.relational.apriori import Apriori
from sfumato.relational.mole_suppression import MoleSuppression
from sfumato.relational.optimal_cut import OptimalCut
from sfumato.relational.values import BasketSearch

__all__ = ["BASKET_SEARCHES", "Apriori", "MoleSuppression", "OptimalCut"]

TERROVITIS = "Terrovitis, Mamoulis and Kalnis 2008"
_OURS: tuple[Variant[BasketSearch], ...] = (
    Variant(Apriori, example=Apriori(), cite=TERROVITIS, words="Apriori-based anonymisation"),
    Variant(OptimalCut, example=OptimalCut(), cite=TERROVITIS, words="Optimal anonymisation"),
    Variant(MoleSuppression, example=MoleSuppression(), cite="Xu, Wang, Fu and Yu 2008", words="Suppression of moles"),
)
BASKET_SEARCHES = Registry("basket_searches", "search of baskets", (BasketSearch,), {v.name: v for v in _OURS})
