"""Sfumato releases tables about people safely: it blurs a table, proves what the release still gives away, and says
what the blurring cost.

    import sfumato as sf
    release = sf.anonymize(df, quasi=["age", "zip"], sensitive=["disease"], require=[sf.KAnonymity(10)])
    release.save("out/")
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if os.environ.get("SFUMATO_THREADS", "").isdecimal():  # Polars, which is not imported yet, takes it from there
    os.environ.setdefault("POLARS_MAX_THREADS", os.environ["SFUMATO_THREADS"])

if TYPE_CHECKING:
    from sfumato import dp as dp
    from sfumato import errors as errors
    from sfumato import hierarchies as hierarchies
    from sfumato import measures as measures
    from sfumato import pseudonyms as pseudonyms
    from sfumato import synthetic as synthetic
    from sfumato.control import QUERY_CONTROLS as QUERY_CONTROLS
    from sfumato.control import AssumedKeysWarning as AssumedKeysWarning
    from sfumato.control import CellRestriction as CellRestriction
    from sfumato.control import CountAuditing as CountAuditing
    from sfumato.control import ExtremeAuditing as ExtremeAuditing
    from sfumato.control import OfflineAuditingWarning as OfflineAuditingWarning
    from sfumato.control import QueryOrder as QueryOrder
    from sfumato.control import QuerySetOverlap as QuerySetOverlap
    from sfumato.control import QuerySetSize as QuerySetSize
    from sfumato.control import RandomSample as RandomSample
    from sfumato.control import RoundedAnswers as RoundedAnswers
    from sfumato.control import StatisticalDatabase as StatisticalDatabase
    from sfumato.control import SumAuditing as SumAuditing
    from sfumato.control.attacks import QUERY_ATTACKS as QUERY_ATTACKS
    from sfumato.control.attacks.summary import attack_queries as attack_queries
    from sfumato.control.attacks.targeted.trials import attack_controls as attack_controls
    from sfumato.core.hierarchy import Hierarchy as Hierarchy
    from sfumato.core.hierarchy import write_edges as write_edges
    from sfumato.core.hierarchy import write_wide as write_wide
    from sfumato.core.registry import Variant as Variant
    from sfumato.core.spelling import SpellingWarning as SpellingWarning
    from sfumato.criteria import CRITERIA as CRITERIA
    from sfumato.criteria import AlphaK as AlphaK
    from sfumato.criteria import AverageRisk as AverageRisk
    from sfumato.criteria import BetaLikeness as BetaLikeness
    from sfumato.criteria import ConfidentDeltaPresence as ConfidentDeltaPresence
    from sfumato.criteria import DeltaDisclosure as DeltaDisclosure
    from sfumato.criteria import DeltaPresence as DeltaPresence
    from sfumato.criteria import DifferentialPrivacy as DifferentialPrivacy
    from sfumato.criteria import DistinctLDiversity as DistinctLDiversity
    from sfumato.criteria import EntropyLDiversity as EntropyLDiversity
    from sfumato.criteria import KAnonymity as KAnonymity
    from sfumato.criteria import KMap as KMap
    from sfumato.criteria import PersonalKAnonymity as PersonalKAnonymity
    from sfumato.criteria import PersonalLDiversity as PersonalLDiversity
    from sfumato.criteria import PopulationUniqueness as PopulationUniqueness
    from sfumato.criteria import RecursiveCLDiversity as RecursiveCLDiversity
    from sfumato.criteria import SampleUniqueness as SampleUniqueness
    from sfumato.criteria import TCloseness as TCloseness
    from sfumato.criteria import XYAnonymity as XYAnonymity
    from sfumato.criteria import XYLinkability as XYLinkability
    from sfumato.criteria.sets import SET_PROMISES as SET_PROMISES
    from sfumato.criteria.sets import HKPCoherence as HKPCoherence
    from sfumato.criteria.sets import KAnonymousLeaves as KAnonymousLeaves
    from sfumato.criteria.sets import KAnonymousPatterns as KAnonymousPatterns
    from sfumato.criteria.sets import KKMAnonymity as KKMAnonymity
    from sfumato.criteria.sets import KMAnonymity as KMAnonymity
    from sfumato.criteria.sets import PooledCounts as PooledCounts
    from sfumato.engines.files.forms import ReadWarning as ReadWarning
    from sfumato.engines.files.table import scan as scan
    from sfumato.engines.order import RowOrderWarning as RowOrderWarning
    from sfumato.engines.sql.table import Database as Database
    from sfumato.errors import Cancelled as Cancelled
    from sfumato.errors import QueryRefused as QueryRefused
    from sfumato.fragments.views import Dependency as Dependency
    from sfumato.fragments.views import TableView as TableView
    from sfumato.fragments.views import ViewsFinding as ViewsFinding
    from sfumato.fragments.views import check_views as check_views
    from sfumato.fragments.views import release_views as release_views
    from sfumato.hierarchies import HIERARCHIES as HIERARCHIES
    from sfumato.hierarchies import dates as dates
    from sfumato.hierarchies import either as either
    from sfumato.hierarchies import file as file
    from sfumato.hierarchies import flat as flat
    from sfumato.hierarchies import intervals as intervals
    from sfumato.hierarchies import learned as learned
    from sfumato.hierarchies import levels as levels
    from sfumato.hierarchies import order as order
    from sfumato.hierarchies import redact as redact
    from sfumato.hierarchies import tree as tree
    from sfumato.hierarchies import wide as wide
    from sfumato.losses import LM as LM
    from sfumato.losses import LOSSES as LOSSES
    from sfumato.losses import NCP as NCP
    from sfumato.losses import CAvg as CAvg
    from sfumato.losses import Discernibility as Discernibility
    from sfumato.losses import Height as Height
    from sfumato.losses import NonUniformEntropy as NonUniformEntropy
    from sfumato.losses import Precision as Precision
    from sfumato.masking import MASKERS as MASKERS
    from sfumato.masking import Rounding as Rounding
    from sfumato.masking.additive_noise import AdditiveNoise as AdditiveNoise
    from sfumato.masking.correlated_noise import CorrelatedNoise as CorrelatedNoise
    from sfumato.masking.dp_microaggregation import DPMicroaggregation as DPMicroaggregation
    from sfumato.masking.generalisation import Generalisation as Generalisation
    from sfumato.masking.global_recoding import GlobalRecoding as GlobalRecoding
    from sfumato.masking.lossy_compression import LossyCompression as LossyCompression
    from sfumato.masking.masked_release import MaskedRelease as MaskedRelease
    from sfumato.masking.massc import MASSC as MASSC
    from sfumato.masking.multiplicative_noise import MultiplicativeNoise as MultiplicativeNoise
    from sfumato.masking.multivariate_top_coding import MultivariateTopCoding as MultivariateTopCoding
    from sfumato.masking.outlier_noise import OutlierNoise as OutlierNoise
    from sfumato.masking.pram import Pram as Pram
    from sfumato.masking.pram import true_shares as true_shares
    from sfumato.masking.rank_swapping import RankSwapping as RankSwapping
    from sfumato.masking.record_swapping import RecordSwapping as RecordSwapping
    from sfumato.masking.resampling import Resampling as Resampling
    from sfumato.masking.restricted_noise import RestrictedNoise as RestrictedNoise
    from sfumato.masking.risk_suppression import RiskSuppression as RiskSuppression
    from sfumato.masking.romm import ROMM as ROMM
    from sfumato.masking.sampling import Sampling as Sampling
    from sfumato.masking.shuffling import Shuffling as Shuffling
    from sfumato.masking.swapping import Swapping as Swapping
    from sfumato.masking.top_bottom_coding import TopBottomCoding as TopBottomCoding
    from sfumato.measures.measure import Measure as Measure
    from sfumato.mining import MINERS as MINERS
    from sfumato.mining import FrequentItemsets as FrequentItemsets
    from sfumato.mining import KAnonymousTree as KAnonymousTree
    from sfumato.mining import PooledNaiveBayes as PooledNaiveBayes
    from sfumato.mining.mined_release import MinedRelease as MinedRelease
    from sfumato.pseudonyms import PSEUDONYMS as PSEUDONYMS
    from sfumato.pseudonyms import DateShift as DateShift
    from sfumato.pseudonyms import FormatPreserving as FormatPreserving
    from sfumato.pseudonyms import KeyedTokens as KeyedTokens
    from sfumato.pseudonyms import RandomTokens as RandomTokens
    from sfumato.pseudonyms import Substitution as Substitution
    from sfumato.relational import BASKET_SEARCHES as BASKET_SEARCHES
    from sfumato.relational import Apriori as Apriori
    from sfumato.relational import MoleSuppression as MoleSuppression
    from sfumato.relational import OptimalCut as OptimalCut
    from sfumato.relational.basket_release import BasketRelease as BasketRelease
    from sfumato.release.destination import Folder as Folder
    from sfumato.release.destination import Table as Table
    from sfumato.release.fragmented import SuppressionWarning as SuppressionWarning
    from sfumato.release.recoded import Recoded as Recoded
    from sfumato.release.release import Release as Release
    from sfumato.release.release_set import ReleaseSet as ReleaseSet
    from sfumato.release.request import RoleWarning as RoleWarning
    from sfumato.release.request import UnprotectedWarning as UnprotectedWarning
    from sfumato.release.signature import new_key as new_key
    from sfumato.release.signature import sign as sign
    from sfumato.release.signature import trust as trust
    from sfumato.release.value_map import ValueMap as ValueMap
    from sfumato.search import MPALM as MPALM
    from sfumato.search import OLA as OLA
    from sfumato.search import SEARCHES as SEARCHES
    from sfumato.search import SPALM as SPALM
    from sfumato.search import TDS as TDS
    from sfumato.search import AlphaKLocal as AlphaKLocal
    from sfumato.search import Anatomy as Anatomy
    from sfumato.search import Annealing as Annealing
    from sfumato.search import AttributeSuppression as AttributeSuppression
    from sfumato.search import Automatic as Automatic
    from sfumato.search import BottomUp as BottomUp
    from sfumato.search import Datafly as Datafly
    from sfumato.search import ForestGeneralisation as ForestGeneralisation
    from sfumato.search import ForestSuppression as ForestSuppression
    from sfumato.search import Genetic as Genetic
    from sfumato.search import GreedySuppression as GreedySuppression
    from sfumato.search import Incognito as Incognito
    from sfumato.search import Iterated as Iterated
    from sfumato.search import KMember as KMember
    from sfumato.search import KOptimize as KOptimize
    from sfumato.search import Lightning as Lightning
    from sfumato.search import MinimalSuppression as MinimalSuppression
    from sfumato.search import Mondrian as Mondrian
    from sfumato.search import MuArgus as MuArgus
    from sfumato.search import OnePassKMeans as OnePassKMeans
    from sfumato.search import Optimal as Optimal
    from sfumato.search import Refined as Refined
    from sfumato.search import SafePub as SafePub
    from sfumato.search import Samarati as Samarati
    from sfumato.search import Slicing as Slicing
    from sfumato.search import TopDown as TopDown
    from sfumato.search import TupleSuppression as TupleSuppression
    from sfumato.search.microaggregation import MDAV as MDAV
    from sfumato.search.microaggregation import MHM as MHM
    from sfumato.search.microaggregation import TFRP as TFRP
    from sfumato.search.microaggregation import VMDAV as VMDAV
    from sfumato.search.microaggregation import GowerMicroaggregation as GowerMicroaggregation
    from sfumato.search.microaggregation import IndividualRanking as IndividualRanking
    from sfumato.search.microaggregation import RefinedMicroaggregation as RefinedMicroaggregation
    from sfumato.search.microaggregation import RobustMicroaggregation as RobustMicroaggregation
    from sfumato.series.republish import Republished as Republished
    from sfumato.series.republish import republish as republish
    from sfumato.series.streams import CASTLE as CASTLE
    from sfumato.series.streams import FADS as FADS
    from sfumato.series.streams import STREAMS as STREAMS
    from sfumato.series.streams import BCastle as BCastle
    from sfumato.series.streams import ZAnonymity as ZAnonymity
    from sfumato.synthetic import AIM as AIM
    from sfumato.synthetic import GENERATORS as GENERATORS
    from sfumato.synthetic import MST as MST
    from sfumato.synthetic import Bayes as Bayes
    from sfumato.synthetic import Bootstrap as Bootstrap
    from sfumato.synthetic import GaussianCopula as GaussianCopula
    from sfumato.synthetic import Hybrid as Hybrid
    from sfumato.synthetic import LinkedTables as LinkedTables
    from sfumato.synthetic import Marginals as Marginals
    from sfumato.synthetic import Mix as Mix
    from sfumato.synthetic import MultivariateNormal as MultivariateNormal
    from sfumato.synthetic import PrivBayes as PrivBayes
    from sfumato.synthetic import SequentialTrees as SequentialTrees
    from sfumato.synthetic import load_model as load_model
    from sfumato.synthetic.synthesized_release import SynthesizedRelease as SynthesizedRelease
    from sfumato.tables import CELL_RULES as CELL_RULES
    from sfumato.tables import PROTECTIONS as PROTECTIONS
    from sfumato.tables import Barnardisation as Barnardisation
    from sfumato.tables import CellKey as CellKey
    from sfumato.tables import ControlledRounding as ControlledRounding
    from sfumato.tables import DeterministicRounding as DeterministicRounding
    from sfumato.tables import Dominance as Dominance
    from sfumato.tables import Exact as Exact
    from sfumato.tables import GroupDisclosure as GroupDisclosure
    from sfumato.tables import Hypercube as Hypercube
    from sfumato.tables import MinimumFrequency as MinimumFrequency
    from sfumato.tables import Modular as Modular
    from sfumato.tables import NetworkFlow as NetworkFlow
    from sfumato.tables import PPercent as PPercent
    from sfumato.tables import PriorPosterior as PriorPosterior
    from sfumato.tables import RandomRounding as RandomRounding
    from sfumato.tables import Redesign as Redesign
    from sfumato.tables import Requests as Requests
    from sfumato.tables import TabularAdjustment as TabularAdjustment
    from sfumato.tables.release import ProtectedTable as ProtectedTable
    from sfumato.tables.values import StatTable as StatTable
    from sfumato.verbs import anonymize as anonymize
    from sfumato.verbs import read as read
    from sfumato.verbs import verify as verify
    from sfumato.verbs.anonymizer import Anonymizer as Anonymizer
    from sfumato.verbs.baskets import anonymize_baskets as anonymize_baskets
    from sfumato.verbs.choose import choose as choose
    from sfumato.verbs.compare import CompareWarning as CompareWarning
    from sfumato.verbs.compare import compare as compare
    from sfumato.verbs.explain import explain as explain
    from sfumato.verbs.fragment import fragment as fragment
    from sfumato.verbs.inspect import inspect as inspect
    from sfumato.verbs.mask import mask as mask
    from sfumato.verbs.measure import attack as attack
    from sfumato.verbs.measure import risk as risk
    from sfumato.verbs.measure import utility as utility
    from sfumato.verbs.mine import mine as mine
    from sfumato.verbs.register import register as register
    from sfumato.verbs.stream import stream as stream
    from sfumato.verbs.suggest import suggest as suggest
    from sfumato.verbs.synthesize import synthesize as synthesize
    from sfumato.verbs.tables import audit_table as audit_table
    from sfumato.verbs.tables import protect as protect
    from sfumato.verbs.tables import read_table as read_table
    from sfumato.verbs.tables import tabulate as tabulate

__version__ = "0.1.0"

# Names are fetched when first used: `sfumato --help` must not wait for Polars and numba.
_HOMES = {
    "sfumato.verbs": (
        "read",
        "anonymize",
        "verify",
    ),
    "sfumato.release.signature": (
        "sign",
        "new_key",
        "trust",
    ),
    "sfumato.verbs.measure": (
        "risk",
        "utility",
        "attack",
    ),
    "sfumato.verbs.anonymizer": ("Anonymizer",),
    "sfumato.verbs.baskets": ("anonymize_baskets",),
    "sfumato.verbs.choose": ("choose",),
    "sfumato.verbs.fragment": ("fragment",),
    "sfumato.verbs.inspect": ("inspect",),
    "sfumato.verbs.mask": ("mask",),
    "sfumato.verbs.mine": ("mine",),
    "sfumato.verbs.synthesize": ("synthesize",),
    "sfumato.verbs.register": ("register",),
    "sfumato.verbs.tables": (
        "tabulate",
        "read_table",
        "protect",
        "audit_table",
    ),
    "sfumato.control": (
        "AssumedKeysWarning",
        "CellRestriction",
        "CountAuditing",
        "ExtremeAuditing",
        "QUERY_CONTROLS",
        "OfflineAuditingWarning",
        "QueryOrder",
        "QuerySetOverlap",
        "QuerySetSize",
        "RandomSample",
        "RoundedAnswers",
        "StatisticalDatabase",
        "SumAuditing",
    ),
    "sfumato.control.attacks": ("QUERY_ATTACKS",),
    "sfumato.control.attacks.summary": ("attack_queries",),
    "sfumato.control.attacks.targeted.trials": ("attack_controls",),
    "sfumato.tables": (
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
    ),
    "sfumato.tables.release": ("ProtectedTable",),
    "sfumato.tables.values": ("StatTable",),
    "sfumato.verbs.stream": ("stream",),
    "sfumato.series.streams": (
        "STREAMS",
        "CASTLE",
        "BCastle",
        "FADS",
        "ZAnonymity",
    ),
    "sfumato.core.registry": ("Variant",),
    "sfumato.errors": (
        "Cancelled",
        "QueryRefused",
    ),
    "sfumato.verbs.explain": ("explain",),
    "sfumato.verbs.suggest": ("suggest",),
    "sfumato.measures.measure": ("Measure",),
    "sfumato.verbs.compare": (
        "CompareWarning",
        "compare",
    ),
    "sfumato.core.spelling": ("SpellingWarning",),
    "sfumato.release.request": (
        "RoleWarning",
        "UnprotectedWarning",
    ),
    "sfumato.engines.files.forms": ("ReadWarning",),
    "sfumato.engines.order": ("RowOrderWarning",),
    "sfumato.release.fragmented": ("SuppressionWarning",),
    "sfumato.criteria": (
        "KAnonymity",
        "DistinctLDiversity",
        "EntropyLDiversity",
        "RecursiveCLDiversity",
        "TCloseness",
        "AlphaK",
        "BetaLikeness",
        "ConfidentDeltaPresence",
        "DeltaDisclosure",
        "DeltaPresence",
        "KMap",
        "PersonalKAnonymity",
        "PersonalLDiversity",
        "XYAnonymity",
        "XYLinkability",
        "AverageRisk",
        "SampleUniqueness",
        "PopulationUniqueness",
        "DifferentialPrivacy",
        "CRITERIA",
    ),
    "sfumato.criteria.sets": (
        "HKPCoherence",
        "KAnonymousLeaves",
        "KAnonymousPatterns",
        "KKMAnonymity",
        "KMAnonymity",
        "PooledCounts",
        "SET_PROMISES",
    ),
    "sfumato.losses": (
        "LM",
        "NCP",
        "Discernibility",
        "CAvg",
        "Precision",
        "Height",
        "NonUniformEntropy",
        "LOSSES",
    ),
    "sfumato.search": (
        "Samarati",
        "Incognito",
        "OLA",
        "Optimal",
        "Lightning",
        "MPALM",
        "SPALM",
        "SafePub",
        "Datafly",
        "MuArgus",
        "TDS",
        "KOptimize",
        "Genetic",
        "Anatomy",
        "Slicing",
        "Annealing",
        "ForestSuppression",
        "GreedySuppression",
        "ForestGeneralisation",
        "MinimalSuppression",
        "TupleSuppression",
        "AttributeSuppression",
        "Mondrian",
        "Iterated",
        "AlphaKLocal",
        "Automatic",
        "TopDown",
        "BottomUp",
        "OnePassKMeans",
        "KMember",
        "Refined",
        "SEARCHES",
    ),
    "sfumato.masking.massc": ("MASSC",),
    "sfumato.masking.rank_swapping": ("RankSwapping",),
    "sfumato.masking.record_swapping": ("RecordSwapping",),
    "sfumato.masking.swapping": ("Swapping",),
    "sfumato.masking.pram": (
        "Pram",
        "true_shares",
    ),
    "sfumato.masking.sampling": ("Sampling",),
    "sfumato.masking.additive_noise": ("AdditiveNoise",),
    "sfumato.masking.correlated_noise": ("CorrelatedNoise",),
    "sfumato.masking.romm": ("ROMM",),
    "sfumato.masking.outlier_noise": ("OutlierNoise",),
    "sfumato.masking.multiplicative_noise": ("MultiplicativeNoise",),
    "sfumato.masking.resampling": ("Resampling",),
    "sfumato.masking.lossy_compression": ("LossyCompression",),
    "sfumato.masking.shuffling": ("Shuffling",),
    "sfumato.masking.restricted_noise": ("RestrictedNoise",),
    "sfumato.masking.global_recoding": ("GlobalRecoding",),
    "sfumato.masking.top_bottom_coding": ("TopBottomCoding",),
    "sfumato.masking.dp_microaggregation": ("DPMicroaggregation",),
    "sfumato.masking.generalisation": ("Generalisation",),
    "sfumato.masking.risk_suppression": ("RiskSuppression",),
    "sfumato.search.microaggregation": (
        "MDAV",
        "VMDAV",
        "TFRP",
        "MHM",
        "IndividualRanking",
        "GowerMicroaggregation",
        "RobustMicroaggregation",
        "RefinedMicroaggregation",
    ),
    "sfumato.masking.multivariate_top_coding": ("MultivariateTopCoding",),
    "sfumato.hierarchies": (
        "intervals",
        "redact",
        "dates",
        "levels",
        "order",
        "tree",
        "wide",
        "either",
        "file",
        "flat",
        "learned",
        "HIERARCHIES",
    ),
    "sfumato.core.hierarchy": (
        "Hierarchy",
        "write_edges",
        "write_wide",
    ),
    "sfumato.relational": (
        "Apriori",
        "BASKET_SEARCHES",
        "MoleSuppression",
        "OptimalCut",
    ),
    "sfumato.mining": (
        "FrequentItemsets",
        "KAnonymousTree",
        "MINERS",
        "PooledNaiveBayes",
    ),
    "sfumato.mining.mined_release": ("MinedRelease",),
    "sfumato.relational.basket_release": ("BasketRelease",),
    "sfumato.release.value_map": ("ValueMap",),
    "sfumato.release.release": ("Release",),
    "sfumato.release.release_set": ("ReleaseSet",),
    "sfumato.release.recoded": ("Recoded",),
    "sfumato.masking.masked_release": ("MaskedRelease",),
    "sfumato.synthetic.synthesized_release": ("SynthesizedRelease",),
    "sfumato.synthetic": (
        "AIM",
        "GENERATORS",
        "MST",
        "Bayes",
        "Bootstrap",
        "GaussianCopula",
        "Hybrid",
        "LinkedTables",
        "Marginals",
        "Mix",
        "MultivariateNormal",
        "PrivBayes",
        "SequentialTrees",
        "load_model",
    ),
    "sfumato.series.republish": (
        "Republished",
        "republish",
    ),
    "sfumato.masking": (
        "Rounding",
        "MASKERS",
    ),
    "sfumato.release.destination": (
        "Folder",
        "Table",
    ),
    "sfumato.pseudonyms": (
        "DateShift",
        "FormatPreserving",
        "KeyedTokens",
        "PSEUDONYMS",
        "RandomTokens",
        "Substitution",
    ),
    "sfumato.fragments.views": (
        "Dependency",
        "TableView",
        "ViewsFinding",
        "check_views",
        "release_views",
    ),
    "sfumato.engines.files.table": ("scan",),
    "sfumato.engines.sql.table": ("Database",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

_MODULES = ("dp", "errors", "hierarchies", "measures", "pseudonyms", "synthetic")

__all__ = ["__version__", *_MODULES, *sorted(_HOME)]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name in _MODULES:
        return import_module(f"sfumato.{name}")
    raise AttributeError(f"module 'sfumato' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
