"""The privacy models, one per file, and the table that names them.

>>> criterion("entropy-l-diversity", attribute="disease", l=3)
EntropyLDiversity(attribute='disease', l=3)
>>> parse("t-closeness disease 0.2 ordered")
TCloseness(attribute='disease', t=0.2, distance='ordered')
"""

from __future__ import annotations

from typing import Any

from sfumato.core.protocols import Criterion
from sfumato.core.registry import Registry, Variant
from sfumato.criteria.alpha_k import AlphaK
from sfumato.criteria.average_risk import AverageRisk
from sfumato.criteria.beta_likeness import BetaLikeness
from sfumato.criteria.delta_disclosure import DeltaDisclosure
from sfumato.criteria.differential_privacy import DifferentialPrivacy
from sfumato.criteria.distinct_l_diversity import DistinctLDiversity
from sfumato.criteria.entropy_l_diversity import EntropyLDiversity
from sfumato.criteria.k_anonymity import KAnonymity
from sfumato.criteria.k_map import KMap
from sfumato.criteria.model import Model
from sfumato.criteria.named import build, read_line
from sfumato.criteria.personal_k_anonymity import PersonalKAnonymity
from sfumato.criteria.personal_l_diversity import PersonalLDiversity
from sfumato.criteria.population_uniqueness import PopulationUniqueness
from sfumato.criteria.recursive_cl_diversity import RecursiveCLDiversity
from sfumato.criteria.sample_uniqueness import SampleUniqueness
from sfumato.criteria.t_closeness import TCloseness

DIVERSITY = "Machanavajjhala et al. 2007"
_OURS: tuple[Variant[Criterion], ...] = (
    Variant(KAnonymity, example=KAnonymity(5), cite="Samarati 2001"),
    Variant(DistinctLDiversity, example=DistinctLDiversity("disease", 3), cite=DIVERSITY),
    Variant(EntropyLDiversity, example=EntropyLDiversity("disease", 3), cite=DIVERSITY),
    Variant(
        RecursiveCLDiversity,
        example=RecursiveCLDiversity("disease", 4, 3),
        cite=DIVERSITY,
        words="Recursive (c, l)-diversity",
    ),
    Variant(TCloseness, example=TCloseness("disease", 0.2), cite="Li, Li, Venkatasubramanian 2007"),
    Variant(AlphaK, example=AlphaK(0.5, 3, "disease"), cite="Wong, Li, Fu, Wang 2006", words="(α, k)-anonymity"),
    Variant(BetaLikeness, example=BetaLikeness("disease", 2), cite="Cao, Karras 2012", words="β-likeness"),
    Variant(
        DeltaDisclosure,
        example=DeltaDisclosure("disease", 1),
        cite="Brickell, Shmatikov 2008",
        words="δ-disclosure privacy",
    ),
    Variant(KMap, example=KMap(20, 0.1), cite="El Emam, Dankar 2008", words="Estimated k-map"),
    Variant(
        PersonalKAnonymity,
        example=PersonalKAnonymity("wish", 3),
        cite="Gedik, Liu 2008",
        words="Personalised k-anonymity",
    ),
    Variant(
        PersonalLDiversity,
        example=PersonalLDiversity("disease", "wish", 2),
        cite="Xiao, Tao 2006",
        words="Personalised l-diversity",
    ),
    Variant(AverageRisk, example=AverageRisk(0.05), cite="El Emam 2013"),
    Variant(SampleUniqueness, example=SampleUniqueness(0.05), cite="Dalenius 1986"),
    Variant(PopulationUniqueness, example=PopulationUniqueness(0.01, 0.1), cite="Dankar et al. 2012"),
    Variant(DifferentialPrivacy, example=DifferentialPrivacy(1, 1e-6), cite="Bild, Kuhn, Prasser 2018"),
)
CRITERIA = Registry("criteria", "criterion", (Criterion,), {variant.name: variant for variant in _OURS})


def criterion(name: str, /, **parameters: object) -> Any:
    """The criterion of that table name with these parameters, as in a policy file or a manifest.

    >>> criterion("k-anonymity", k=10)
    KAnonymity(k=10)
    """
    return build(CRITERIA, name, parameters)


def parse(text: str) -> Any:
    """The criterion that a line of the shell asks for: its name, then its parameters in order or as key=value.

    Quotes keep a name with spaces together; what follows the attribute of alpha-k are values to guard.

    >>> parse("alpha-k 0.5 3 'main diagnosis' HIV syphilis")
    AlphaK(alpha=0.5, k=3, attribute='main diagnosis', values=('HIV', 'syphilis'))
    >>> parse("t-closeness attribute=disease t=0.2")
    TCloseness(attribute='disease', t=0.2, distance='equal')
    """
    return read_line(CRITERIA, text)


__all__ = [
    "CRITERIA",
    "AlphaK",
    "AverageRisk",
    "BetaLikeness",
    "DeltaDisclosure",
    "DifferentialPrivacy",
    "DistinctLDiversity",
    "EntropyLDiversity",
    "KAnonymity",
    "KMap",
    "Model",
    "PersonalKAnonymity",
    "PersonalLDiversity",
    "PopulationUniqueness",
    "RecursiveCLDiversity",
    "SampleUniqueness",
    "TCloseness",
    "criterion",
    "parse",
]
