"""Searches: one algorithm per file, each a frozen value that maps a Problem to a Solution."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from sfumato.core.lattice import lattice as lattice_of
from sfumato.core.protocols import Search
from sfumato.core.registry import Registry, Variant
from sfumato.core.wording import quoted
from sfumato.errors import PolicyError
from sfumato.hierarchies.either import Either
from sfumato.search.automatic import Automatic
from sfumato.search.clustering.k_member import KMember
from sfumato.search.clustering.one_pass_k_means import OnePassKMeans
from sfumato.search.clustering.refined import Refined
from sfumato.search.clustering.utility_based import BottomUp, TopDown
from sfumato.search.cuts.annealing import Annealing
from sfumato.search.cuts.genetic import Genetic
from sfumato.search.cuts.k_optimize import KOptimize
from sfumato.search.cuts.tds import TDS
from sfumato.search.fragments.anatomy import Anatomy
from sfumato.search.fragments.slicing import Slicing
from sfumato.search.iterated.iterated import Iterated
from sfumato.search.lattice.datafly import Datafly
from sfumato.search.lattice.incognito import Incognito
from sfumato.search.lattice.lightning import Lightning
from sfumato.search.lattice.ola import OLA
from sfumato.search.lattice.optimal import Optimal
from sfumato.search.lattice.safepub import SafePub
from sfumato.search.lattice.samarati import Samarati
from sfumato.search.lattice.spalm import SPALM
from sfumato.search.microaggregation.mdav import MDAV
from sfumato.search.microaggregation.refined import RefinedMicroaggregation
from sfumato.search.mondrian.alpha_k_local import AlphaKLocal
from sfumato.search.mondrian.mondrian import Mondrian
from sfumato.search.mondrian.mpalm import MPALM
from sfumato.search.problem import Problem
from sfumato.search.suppression.forest import ForestGeneralisation, ForestSuppression
from sfumato.search.suppression.greedy import GreedySuppression
from sfumato.search.suppression.minimal import MinimalSuppression
from sfumato.search.suppression.mu_argus import MuArgus
from sfumato.search.suppression.whole import AttributeSuppression, TupleSuppression

__all__ = [
    "MDAV",
    "MPALM",
    "OLA",
    "SEARCHES",
    "SPALM",
    "TDS",
    "AlphaKLocal",
    "Anatomy",
    "Annealing",
    "AttributeSuppression",
    "Automatic",
    "BottomUp",
    "Datafly",
    "ForestGeneralisation",
    "ForestSuppression",
    "Genetic",
    "GreedySuppression",
    "Incognito",
    "Iterated",
    "KMember",
    "KOptimize",
    "Lightning",
    "MinimalSuppression",
    "Mondrian",
    "MuArgus",
    "OnePassKMeans",
    "Optimal",
    "Refined",
    "RefinedMicroaggregation",
    "SafePub",
    "Samarati",
    "Slicing",
    "TopDown",
    "TupleSuppression",
    "refuse_trace",
    "search",
    "search_name",
]

_OURS: dict[str, Variant[Search]] = {
    "auto": Variant(Automatic, example=Automatic(), cite="picks one of the others"),
    "samarati": Variant(Samarati, example=Samarati(), cite="Samarati 2001"),
    "incognito": Variant(Incognito, example=Incognito(), cite="LeFevre et al. 2005"),
    "ola": Variant(OLA, example=OLA(), cite="El Emam et al. 2009", words="Optimal lattice anonymisation"),
    "optimal": Variant(Optimal, example=Optimal(), cite="Kohlmayer et al. 2012"),
    "spalm": Variant(SPALM, example=SPALM(), cite="Nergiz, Atzori and Clifton 2007", words="SPALM"),
    "lightning": Variant(Lightning, example=Lightning(), cite="Prasser et al. 2016"),
    "safepub": Variant(SafePub, example=SafePub(), cite="Bild, Kuhn and Prasser 2018", words="SafePub"),
    "datafly": Variant(Datafly, example=Datafly(), cite="Sweeney 1997"),
    "mu-argus": Variant(MuArgus, example=MuArgus(), cite="Hundepool and Willenborg 1996", words="mu-Argus"),
    "k-optimize": Variant(KOptimize, example=KOptimize(), cite="Bayardo and Agrawal 2005", words="k-Optimize"),
    "genetic": Variant(Genetic, example=Genetic(), cite="Iyengar 2002"),
    "annealing": Variant(Annealing, example=Annealing(), cite="Winkler 2002"),
    "tds": Variant(TDS, example=TDS(), cite="Fung, Wang and Yu 2005", words="Top-down specialisation"),
    "forest-suppression": Variant(ForestSuppression, example=ForestSuppression(), cite="Aggarwal et al. 2005"),
    "greedy-suppression": Variant(GreedySuppression, example=GreedySuppression(), cite="Meyerson and Williams 2004"),
    "forest-generalisation": Variant(ForestGeneralisation, example=ForestGeneralisation(), cite="Aggarwal et al. 2005"),
    "minimal-suppression": Variant(
        MinimalSuppression, example=MinimalSuppression(), cite="Templ, Kowarik and Meindl 2015"
    ),
    "tuple-suppression": Variant(TupleSuppression, example=TupleSuppression(), cite="Ciriani et al. 2007"),
    "attribute-suppression": Variant(
        AttributeSuppression, example=AttributeSuppression(), cite="Meyerson and Williams 2004"
    ),
    "mondrian": Variant(Mondrian, example=Mondrian(), cite="LeFevre et al. 2006"),
    "mpalm": Variant(MPALM, example=MPALM(), cite="Nergiz, Atzori and Clifton 2007", words="MPALM"),
    "iterated": Variant(Iterated, example=Iterated(), cite="Prasser et al. 2020", words="Iterated lattice recoding"),
    "top-down": Variant(TopDown, example=TopDown(), cite="Xu et al. 2006", words="Top-down local recoding"),
    "bottom-up": Variant(BottomUp, example=BottomUp(), cite="Xu et al. 2006", words="Bottom-up local recoding"),
    "alpha-k-local": Variant(
        AlphaKLocal, example=AlphaKLocal(), cite="Wong et al. 2006", words="(α, k) local recoding"
    ),
    "one-pass-k-means": Variant(OnePassKMeans, example=OnePassKMeans(), cite="Lin and Wei 2008"),
    "k-member": Variant(KMember, example=KMember(), cite="Byun et al. 2007", words="k-member clustering"),
    "refined": Variant(Refined, example=Refined(), cite="Shaw 1998"),
    "mdav": Variant(MDAV, example=MDAV(), cite="Domingo-Ferrer and Torra 2005", words="Microaggregation by MDAV"),
    "refined-microaggregation": Variant(
        RefinedMicroaggregation, example=RefinedMicroaggregation(), cite="Kirkpatrick et al. 1983"
    ),
    "anatomy": Variant(Anatomy, example=Anatomy(), cite="Xiao and Tao 2006"),
    "slicing": Variant(Slicing, example=Slicing(), cite="Li et al. 2012"),
}
SEARCHES = Registry("searches", "search", (Search,), _OURS)


def search(spec: Any) -> Any:
    """A search from its name, from a mapping of its name and parameters, or a search as it is.

    >>> search("optimal")
    Optimal(seconds=None, nodes=None)
    """
    if isinstance(spec, Mapping):
        given = dict(spec)
        name = given.pop("name", None) or given.pop("method", None)
        made: Any = SEARCHES.value(str(name))
        try:
            return replace(made, **given)
        except TypeError:
            known = ", ".join(f.name for f in fields(made))
            raise PolicyError(f"{name}: unknown parameter", got=", ".join(given), allowed=known or "none") from None
    return SEARCHES.value(spec)


def search_name(value: Any) -> str:
    """The table name of a search."""
    return str(SEARCHES.name_of(value))


MOST_TRACED = 5_000  # values of a table, and level vectors, whose steps are told


def refuse_trace(search: Any, problem: Problem) -> None:
    """Refuse to tell the steps of a search that does not, or those of a large table."""
    if not search.traces:
        name, told = search_name(search), [name for name, one in SEARCHES.items() if one.example.traces]
        what = f"{name} does not tell its steps" + (" with these parameters" if name in told else "")
        raise PolicyError(what, allowed=", ".join(told), hint="leave trace out, or name one of these searches")
    if several := [a.name for a in problem.attributes if isinstance(a.recipe, Either)]:
        what = f"steps of a search need one hierarchy per column, and {quoted(several)} has alternatives"
        raise PolicyError(what, hint="take one of them")
    values = problem.rows * len(problem.attributes)
    if values > MOST_TRACED:
        raise PolicyError(
            "the steps of a search can be shown for small tables only",
            got=f"{problem.rows} rows of {len(problem.attributes)} quasi-identifiers, {values} values",
            allowed=f"at most {MOST_TRACED} values",
            hint="take a part of the rows",
        )
    vectors = lattice_of(problem.attributes, problem.levels).size if search.code == "AG_TS" else 0
    if vectors > MOST_TRACED:
        raise PolicyError(
            "the steps of a search can be shown for small lattices only",
            got=f"{vectors} level vectors",
            allowed=f"at most {MOST_TRACED}",
            hint="take fewer columns, or bound the levels",
        )
