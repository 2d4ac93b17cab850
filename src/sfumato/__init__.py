"""Sfumato releases tables about people safely: it blurs a table, proves what the release still gives away, and says
what the blurring cost.

    import sfumato as sf
    release = sf.anonymize(df, quasi=["age", "zip"], sensitive=["disease"], require=[sf.KAnonymity(10)])
    release.save("out/")
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

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
    "sfumato.verbs.suggest": ("suggest",),
    "sfumato.measures.measure": ("Measure",),
    "sfumato.verbs.compare": (
        "CompareWarning",
        "compare",
    ),
    "sfumato.core.spelling": ("SpellingWarning",),
    "sfumato.release.arguments": (
        "RoleWarning",
        "UnprotectedWarning",
    ),
    "sfumato.engines.order": ("RowOrderWarning",),
    "sfumato.criteria": (
        "KAnonymity",
        "DistinctLDiversity",
        "EntropyLDiversity",
        "RecursiveCLDiversity",
        "TCloseness",
        "AlphaK",
        "BetaLikeness",
        "DeltaDisclosure",
        "KMap",
        "AverageRisk",
        "SampleUniqueness",
        "PopulationUniqueness",
        "CRITERIA",
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
        "Datafly",
        "MuArgus",
        "TDS",
        "KOptimize",
        "Genetic",
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
    "sfumato.hierarchies": (
        "intervals",
        "redact",
        "dates",
        "levels",
        "order",
        "tree",
        "wide",
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
    "sfumato.release.value_map": ("ValueMap",),
    "sfumato.release.release": ("Release",),
    "sfumato.release.stored": ("StoredRelease",),
    "sfumato.release.destination": (
        "Folder",
        "Table",
    ),
    "sfumato.engines.files.table": ("Scanned",),
    "sfumato.engines.sql.table": ("Database",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

_MODULES = ("errors", "measures")

__all__ = ["__version__", *_MODULES, *sorted(_HOME)]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name in _MODULES:
        return import_module(f"sfumato.{name}")
    raise AttributeError(f"module 'sfumato' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
