"""Attacks on query control: what answers tell together about single people. One attack per file."""

from __future__ import annotations

from typing import Any

from sfumato.control.attacks.averaging import averaging
from sfumato.control.attacks.differencing import differencing
from sfumato.control.attacks.evidence import LogEvidence
from sfumato.control.attacks.extremes import extremes
from sfumato.control.attacks.intervals import intervals
from sfumato.control.attacks.linear_system import linear_system
from sfumato.control.attacks.reconstruction import rebuilt_share, reconstruction
from sfumato.control.attacks.regression import regression
from sfumato.control.attacks.snapshots import snapshots
from sfumato.control.attacks.summary import attack_queries
from sfumato.control.attacks.trackers.double_tracker import double_tracker
from sfumato.control.attacks.trackers.general_tracker import general_tracker
from sfumato.control.attacks.trackers.individual_tracker import individual_tracker
from sfumato.control.attacks.trackers.union_tracker import union_tracker
from sfumato.core.registry import Variant

__all__ = [
    "QUERY_ATTACKS",
    "LogEvidence",
    "attack_queries",
    "averaging",
    "differencing",
    "double_tracker",
    "extremes",
    "general_tracker",
    "individual_tracker",
    "intervals",
    "linear_system",
    "rebuilt_share",
    "reconstruction",
    "regression",
    "snapshots",
    "union_tracker",
]

TRACKER = "Denning, Denning and Schwartz, TODS 1979"

# an example is the keywords of a call on evidence
QUERY_ATTACKS: dict[str, Variant[Any]] = {
    "individual-tracker": Variant(individual_tracker, {"most": 20}, "Schloerer 1975"),
    "general-tracker": Variant(general_tracker, {"most": 20}, TRACKER),
    "double-tracker": Variant(double_tracker, {"most": 20}, TRACKER),
    "union-tracker": Variant(union_tracker, {"most": 20}, "Schloerer, TODS 1980"),
    "differencing": Variant(differencing, {"most": 20}, "Denning 1982"),
    "linear-system": Variant(linear_system, {"most": 20}, "Dobkin, Jones and Lipton, TODS 1979"),
    "regression": Variant(regression, {"left": 0.05}, "Palley and Simonoff, TODS 1987"),
    "extremes": Variant(extremes, {"most": 20}, "Chin, JACM 1986"),
    "intervals": Variant(intervals, {"narrow": 0.1, "trials": 1000}, "Li, Wang, Wang and Jajodia, CAiSE 2002"),
    "averaging": Variant(averaging, {"within": 0.05}, "Denning, TODS 1980"),
    "snapshots": Variant(snapshots, {"most": 20}, "Denning 1982"),
    "reconstruction": Variant(reconstruction, {"within": 0.05}, "Dinur and Nissim, PODS 2003"),
}
