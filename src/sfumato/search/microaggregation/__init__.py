"""Microaggregation: groups of at least k near rows, whose aggregate each row takes; one way to group per file."""

from __future__ import annotations

from sfumato.core.protocols import Masker
from sfumato.core.registry import Variant
from sfumato.search.microaggregation.gower import GowerMicroaggregation
from sfumato.search.microaggregation.individual_ranking import IndividualRanking
from sfumato.search.microaggregation.mdav import MDAV
from sfumato.search.microaggregation.mhm import MHM
from sfumato.search.microaggregation.refined import RefinedMicroaggregation
from sfumato.search.microaggregation.robust import RobustMicroaggregation
from sfumato.search.microaggregation.tfrp import TFRP
from sfumato.search.microaggregation.v_mdav import VMDAV

__all__ = [
    "MDAV",
    "MHM",
    "MICROAGGREGATIONS",
    "TFRP",
    "VMDAV",
    "GowerMicroaggregation",
    "IndividualRanking",
    "RefinedMicroaggregation",
    "RobustMicroaggregation",
]

MICROAGGREGATIONS: dict[str, Variant[Masker]] = {
    "mdav": Variant(MDAV, example=MDAV(k=3), cite="Domingo-Ferrer and Torra 2005", words="MDAV"),
    "vmdav": Variant(VMDAV, example=VMDAV(k=3), cite="Solanas and Martinez-Balleste 2006", words="V-MDAV"),
    "tfrp": Variant(TFRP, example=TFRP(k=3), cite="Chang, Li and Huang 2007", words="TFRP"),
    "mhm": Variant(MHM, example=MHM(k=3), cite="Hansen and Mukherjee 2003, Domingo-Ferrer et al. 2006", words="MHM"),
    "individual-ranking": Variant(IndividualRanking, example=IndividualRanking(k=3), cite="Defays and Nanopoulos 1993"),
    "gower-microaggregation": Variant(
        GowerMicroaggregation, example=GowerMicroaggregation(k=3), cite="Gower 1971, Domingo-Ferrer and Torra 2005"
    ),
    "robust-microaggregation": Variant(
        RobustMicroaggregation, example=RobustMicroaggregation(k=3), cite="Rousseeuw and Van Driessen 1999, Templ 2008"
    ),
    "refined-microaggregation": Variant(
        RefinedMicroaggregation, example=RefinedMicroaggregation(k=3, rounds=20), cite="Kirkpatrick et al. 1983"
    ),
}
