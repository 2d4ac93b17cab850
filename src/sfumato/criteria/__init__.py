"""The privacy models, one per file, and the table that names them.

>>> criterion("entropy-l-diversity", attribute="disease", l=3)
EntropyLDiversity(attribute='disease', l=3)
>>> parse("t-closeness disease 0.2 ordered")
TCloseness(attribute='disease', t=0.2, distance='ordered')
"""

from __future__ import annotations

from typing import Any

from sfumato.core.forms import make_variant
from sfumato.core.protocols import Criterion
from sfumato.core.registry import Registry, Variant
from sfumato.criteria.alpha_k import AlphaK
from sfumato.criteria.average_risk import AverageRisk
from sfumato.criteria.beta_likeness import BetaLikeness
from sfumato.criteria.confident_delta_presence import ConfidentDeltaPresence
from sfumato.criteria.delta_disclosure import DeltaDisclosure
from sfumato.criteria.delta_presence import DeltaPresence
from sfumato.criteria.differential_privacy import DifferentialPrivacy
from sfumato.criteria.distinct_l_diversity import DistinctLDiversity
from sfumato.criteria.entropy_l_diversity import EntropyLDiversity
from sfumato.criteria.k_anonymity import KAnonymity
from sfumato.criteria.k_map import KMap
from sfumato.criteria.model import Model
from sfumato.criteria.named import read_line
from sfumato.criteria.personal_k_anonymity import PersonalKAnonymity
from sfumato.criteria.personal_l_diversity import PersonalLDiversity
from sfumato.criteria.population_uniqueness import PopulationUniqueness
from sfumato.criteria.recursive_cl_diversity import RecursiveCLDiversity
from sfumato.criteria.sample_uniqueness import SampleUniqueness
from sfumato.criteria.t_closeness import TCloseness
from sfumato.criteria.xy_anonymity import XYAnonymity
from sfumato.criteria.xy_linkability import XYLinkability

LINKAGE = "Finding the record of a person by what is known of them (linkage)."
HOMOGENEITY = "A group whose records agree in a sensitive column gives it away (homogeneity)."
MORE = "Whoever knows more columns, or puts several releases together, may still find somebody."
SPREAD = "Values may mean much the same (similarity), and a group may differ from the whole table (skewness)."
FINDS = "It does not keep records from being found: promise k-anonymity beside it."
DIVERSITY = "Machanavajjhala et al. 2007"
_OURS: tuple[Variant[Criterion], ...] = (
    Variant(
        KAnonymity,
        example=KAnonymity(5),
        cite="Samarati 2001",
        stops=LINKAGE,
        leaves=f"{HOMOGENEITY} {MORE}",
    ),
    Variant(
        DistinctLDiversity,
        example=DistinctLDiversity("disease", 3),
        cite=DIVERSITY,
        stops="Learning a sensitive value because all records that fit agree in it (homogeneity).",
        leaves=f"A value that is much more frequent than the others is guessed. {SPREAD}",
    ),
    Variant(
        EntropyLDiversity,
        example=EntropyLDiversity("disease", 3),
        cite=DIVERSITY,
        stops="Learning a sensitive value because most records that fit agree in it (homogeneity).",
        leaves=SPREAD,
    ),
    Variant(
        RecursiveCLDiversity,
        example=RecursiveCLDiversity("disease", 4, 3),
        cite=DIVERSITY,
        words="Recursive (c, l)-diversity",
        stops="Guessing a frequent value, even where some rarer ones can be ruled out (background knowledge).",
        leaves=SPREAD,
    ),
    Variant(
        TCloseness,
        example=TCloseness("disease", 0.2),
        cite="Li, Li, Venkatasubramanian 2007",
        stops="Learning more about the people of a group than about everybody in the table (skewness).",
        leaves=FINDS,
    ),
    Variant(
        AlphaK,
        example=AlphaK(0.5, 3, "disease"),
        cite="Wong, Li, Fu, Wang 2006",
        words="(α, k)-anonymity",
        stops="Finding the record of a person, and guessing a value that most records agree in (linkage, homogeneity).",
        leaves=SPREAD,
    ),
    Variant(
        BetaLikeness,
        example=BetaLikeness("disease", 2),
        cite="Cao, Karras 2012",
        words="β-likeness",
        stops="Becoming much surer of a value, rare ones too, for a group than for everybody (skewness).",
        leaves=f"Somebody may become surer that a person does not have a value. {FINDS}",
    ),
    Variant(
        DeltaDisclosure,
        example=DeltaDisclosure("disease", 1),
        cite="Brickell, Shmatikov 2008",
        words="δ-disclosure privacy",
        stops="Becoming much surer that a person has a value, or does not have it (skewness).",
        leaves=FINDS,
    ),
    Variant(
        DeltaPresence,
        example=DeltaPresence("voters.csv", 0, 0.5),
        cite="Nergiz, Atzori, Clifton 2007",
        words="δ-presence",
        stops="Learning whether a person of a public table is among those of this one (membership).",
        leaves=f"It takes that public table for all that is known of who exists. {HOMOGENEITY}",
    ),
    Variant(
        ConfidentDeltaPresence,
        example=ConfidentDeltaPresence("census.csv", 300_000, 0, 0.5, 0.95),
        cite="Nergiz, Clifton 2010",
        words="Confident δ-presence",
        stops="Learning whether a person is in the table, where only a distribution of people is known (membership).",
        leaves=f"It is as true as that distribution. {HOMOGENEITY}",
    ),
    Variant(
        KMap,
        example=KMap(20, 0.1),
        cite="Sweeney 2001; El Emam, Dankar 2008",
        stops="Finding a person of the population, where nobody knows who is in the table (linkage).",
        leaves=f"Whoever knows that a person is in the table looks among fewer records. {HOMOGENEITY}",
    ),
    Variant(
        PersonalKAnonymity,
        example=PersonalKAnonymity("wish", 3),
        cite="Gedik, Liu 2008",
        words="Personalised k-anonymity",
        stops="Finding the record of a person by what is known of them, as far as each person wishes (linkage).",
        leaves=f"{HOMOGENEITY} {MORE}",
    ),
    Variant(
        PersonalLDiversity,
        example=PersonalLDiversity("disease", "wish", 2),
        cite="Xiao, Tao 2006",
        words="Personalised l-diversity",
        stops="Learning a sensitive value that records agree in, as far as each person wishes (homogeneity).",
        leaves=SPREAD,
    ),
    Variant(
        XYAnonymity,
        example=XYAnonymity("patient", 5),
        cite="Wang, Fung 2006",
        words="(X,Y)-anonymity",
        stops="Finding a person, or what a column says, where few are behind the many records of a group (linkage).",
        leaves="A value that is much more frequent than the others is guessed: promise (X,Y)-linkability beside it.",
    ),
    Variant(
        XYLinkability,
        example=XYLinkability("disease", 0.5),
        cite="Wang, Fung 2006",
        words="(X,Y)-linkability",
        stops="Guessing whose records they are, or what a column says, because most that fit agree in it (linkage).",
        leaves=SPREAD,
    ),
    Variant(
        AverageRisk,
        example=AverageRisk(0.05),
        cite="El Emam 2013",
        stops="Finding the records of many people at once: on average such guesses fail (linkage).",
        leaves=f"A single record may still stand alone, for only the mean is bounded. {HOMOGENEITY}",
    ),
    Variant(
        SampleUniqueness,
        example=SampleUniqueness(0.05),
        cite="Dalenius 1986",
        stops="Finding people by records that stand alone, but for a small share of them (linkage).",
        leaves=f"Records that stand alone are found all the same, and groups of two are small. {HOMOGENEITY}",
    ),
    Variant(
        PopulationUniqueness,
        example=PopulationUniqueness(0.01, 0.1),
        cite="Dankar et al. 2012",
        stops="Finding people who are unique in the population, but for a small share of them (linkage).",
        leaves=f"It is an estimate, and who is unique is found all the same. {HOMOGENEITY}",
    ),
    Variant(
        DifferentialPrivacy,
        example=DifferentialPrivacy(1, 1e-6),
        cite="Bild, Kuhn, Prasser 2018",
        stops="Learning whether a person was in the data at all, whatever else is known, from other releases too.",
        leaves="What is true of people in general is learned. Every further release of these people costs more.",
    ),
)
CRITERIA = Registry("criteria", "criterion", (Criterion,), {variant.name: variant for variant in _OURS})


def criterion(name: str, /, **parameters: object) -> Any:
    """The criterion of that table name with these parameters, as in a policy file or a manifest.

    >>> criterion("k-anonymity", k=10)
    KAnonymity(k=10)
    """
    return make_variant(CRITERIA, "privacy model", name, parameters)


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
    "ConfidentDeltaPresence",
    "DeltaDisclosure",
    "DeltaPresence",
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
    "XYAnonymity",
    "XYLinkability",
    "criterion",
    "parse",
]
