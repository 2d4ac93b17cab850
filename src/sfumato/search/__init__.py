"""Searches: one algorithm per file, each a frozen value that maps a Problem to a Solution."""

from __future__ import annotations

from typing import Any

from sfumato.search.annealing import Annealing
from sfumato.search.attribute_suppression import AttributeSuppression
from sfumato.search.datafly import Datafly
from sfumato.search.genetic import Genetic
from sfumato.search.incognito import Incognito
from sfumato.search.lightning import Lightning
from sfumato.search.mondrian import Mondrian
from sfumato.search.mu_argus import MuArgus
from sfumato.search.ola import OLA
from sfumato.search.optimal import Optimal
from sfumato.search.samarati import Samarati
from sfumato.search.tds import TDS
from sfumato.search.tuple_suppression import TupleSuppression
from sfumato.variant import Variant, name_of, variant

__all__ = [
    "OLA",
    "SEARCHES",
    "TDS",
    "Annealing",
    "AttributeSuppression",
    "Datafly",
    "Genetic",
    "Incognito",
    "Lightning",
    "Mondrian",
    "MuArgus",
    "Optimal",
    "Samarati",
    "TupleSuppression",
    "search",
    "search_name",
]

SEARCHES = {
    "samarati": Variant(Samarati, example=Samarati(), cite="Samarati 2001"),
    "incognito": Variant(Incognito, example=Incognito(), cite="LeFevre et al. 2005"),
    "ola": Variant(OLA, example=OLA(), cite="El Emam et al. 2009"),
    "optimal": Variant(Optimal, example=Optimal(), cite="Kohlmayer et al. 2012"),
    "lightning": Variant(Lightning, example=Lightning(), cite="Prasser et al. 2016"),
    "datafly": Variant(Datafly, example=Datafly(), cite="Sweeney 1997"),
    "mu-argus": Variant(MuArgus, example=MuArgus(), cite="Hundepool and Willenborg 1996"),
    "genetic": Variant(Genetic, example=Genetic(), cite="Iyengar 2002"),
    "annealing": Variant(Annealing, example=Annealing(), cite="Winkler 2002"),
    "tds": Variant(TDS, example=TDS(), cite="Fung, Wang and Yu 2005"),
    "tuple-suppression": Variant(TupleSuppression, example=TupleSuppression(), cite="Ciriani et al. 2007"),
    "attribute-suppression": Variant(
        AttributeSuppression, example=AttributeSuppression(), cite="Meyerson and Williams 2004"
    ),
    "mondrian": Variant(Mondrian, example=Mondrian(), cite="LeFevre et al. 2006"),
}


def search(spec: Any) -> Any:
    """A search from its name, or a search as it is.

    >>> search("optimal")
    Optimal(seconds=None, nodes=None)
    """
    return variant(SEARCHES, "search", spec)


def search_name(value: Any) -> str:
    """The table name of a search."""
    return name_of(SEARCHES, value)
