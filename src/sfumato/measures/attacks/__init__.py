"""Attacks: what somebody with a released table, and perhaps another one, can find out. One attack per file."""

from __future__ import annotations

from typing import Any

from sfumato.core.registry import Variant
from sfumato.measures.attacks.background_knowledge import background_knowledge
from sfumato.measures.attacks.homogeneity import homogeneity
from sfumato.measures.attacks.inference import inference
from sfumato.measures.attacks.intersection import intersection
from sfumato.measures.attacks.linkability import linkability
from sfumato.measures.attacks.linkage.clusters import cluster_linkage
from sfumato.measures.attacks.linkage.deterministic import deterministic_linkage
from sfumato.measures.attacks.linkage.distance import distance_linkage
from sfumato.measures.attacks.linkage.probabilistic import probabilistic_linkage
from sfumato.measures.attacks.membership import membership
from sfumato.measures.attacks.negative_disclosure import negative_disclosure
from sfumato.measures.attacks.order import order
from sfumato.measures.attacks.result import Attack
from sfumato.measures.attacks.similarity import similarity
from sfumato.measures.attacks.singling_out import singling_out
from sfumato.measures.attacks.skewness import skewness
from sfumato.measures.attacks.summary import attack_summary

__all__ = [
    "ATTACKS",
    "Attack",
    "attack_summary",
    "background_knowledge",
    "cluster_linkage",
    "deterministic_linkage",
    "distance_linkage",
    "homogeneity",
    "inference",
    "intersection",
    "linkability",
    "membership",
    "negative_disclosure",
    "order",
    "probabilistic_linkage",
    "similarity",
    "singling_out",
    "skewness",
]


L_DIVERSITY = "Machanavajjhala et al., ICDE 2006"
T_CLOSENESS = "Li, Li and Venkatasubramanian, ICDE 2007"
UNIFIED = "Giomi et al., PoPETs 2023; Article 29 Working Party, Opinion 05/2014"

# an example is the keywords of a call on a release with columns age, zip, disease and salary
ATTACKS: dict[str, Variant[Any]] = {
    "deterministic-linkage": Variant(deterministic_linkage, {"columns": ["age", "zip"]}, "Sweeney 2002"),
    "probabilistic-linkage": Variant(
        probabilistic_linkage, {"columns": ["age", "zip"], "upper": 0.9, "lower": 0.5}, "Fellegi and Sunter, JASA 1969"
    ),
    "distance-linkage": Variant(
        distance_linkage, {"columns": ["age", "zip"], "metric": "gower"}, "Domingo-Ferrer and Torra 2005; Gower 1971"
    ),
    "cluster-linkage": Variant(cluster_linkage, {"groups": 4}, "Bacher, Brand and Bender 2002"),
    "homogeneity": Variant(homogeneity, {"quasi": ["age", "zip"], "sensitive": "disease"}, L_DIVERSITY),
    "background-knowledge": Variant(
        background_knowledge, {"quasi": ["age", "zip"], "sensitive": "disease", "rule_out": 1}, L_DIVERSITY
    ),
    "skewness": Variant(skewness, {"quasi": ["age", "zip"], "sensitive": "disease", "threshold": 0.25}, T_CLOSENESS),
    "similarity": Variant(similarity, {"quasi": ["age", "zip"], "sensitive": "salary", "width": 0.25}, T_CLOSENESS),
    "negative-disclosure": Variant(
        negative_disclosure, {"quasi": ["age", "zip"], "sensitive": "disease", "common": 0.1}, L_DIVERSITY
    ),
    "membership": Variant(membership, {"quasi": ["age", "zip"]}, "Nergiz, Atzori and Clifton, SIGMOD 2007"),
    "intersection": Variant(
        intersection, {"quasi": ["age", "zip"], "sensitive": "disease"}, "Ganta, Kasiviswanathan and Smith, KDD 2008"
    ),
    "order": Variant(order, {"quasi": ["age", "zip"], "sensitive": "disease"}, "Hunt and Szymanski, CACM 1977"),
    "singling-out": Variant(singling_out, {"columns": ["age", "zip"], "mode": "multivariate"}, UNIFIED),
    "linkability": Variant(linkability, {"first": ["age"], "second": ["zip"]}, UNIFIED),
    "inference": Variant(inference, {"known": ["age", "zip"], "secret": "disease"}, UNIFIED),
}
