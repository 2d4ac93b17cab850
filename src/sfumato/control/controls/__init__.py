"""Query controls: one file for each rule by which a statistical database refuses or changes answers."""

from __future__ import annotations

from sfumato.control.controls.cell_restriction import CellRestriction
from sfumato.control.controls.count_auditing import CountAuditing
from sfumato.control.controls.extreme_auditing import ExtremeAuditing
from sfumato.control.controls.model import QueryControl
from sfumato.control.controls.order import QueryOrder
from sfumato.control.controls.random_sample import RandomSample
from sfumato.control.controls.rounded_answers import RoundedAnswers
from sfumato.control.controls.set_overlap import QuerySetOverlap
from sfumato.control.controls.set_size import QuerySetSize
from sfumato.control.controls.sum_auditing import SumAuditing
from sfumato.core.registry import Registry, Variant

__all__ = [
    "QUERY_CONTROLS",
    "CellRestriction",
    "CountAuditing",
    "ExtremeAuditing",
    "QueryOrder",
    "QuerySetOverlap",
    "QuerySetSize",
    "RandomSample",
    "RoundedAnswers",
    "SumAuditing",
]

_OURS: tuple[Variant[QueryControl], ...] = (
    Variant(QuerySetSize, example=QuerySetSize(3), cite="Fellegi 1972", words="Query-set size"),
    Variant(QuerySetOverlap, example=QuerySetOverlap(2), cite="Dobkin et al. 1979", words="Query-set overlap"),
    Variant(QueryOrder, example=QueryOrder(2), cite="Denning 1982", words="Maximum order"),
    Variant(CellRestriction, example=CellRestriction(("sex",)), cite="Yu and Chin 1977", words="Cell restriction"),
    Variant(RandomSample, example=RandomSample(0.9), cite="Denning 1980", words="Random sample"),
    Variant(RoundedAnswers, example=RoundedAnswers(5), cite="Denning 1982", words="Rounded answers"),
    Variant(SumAuditing, example=SumAuditing(), cite="Chin and Ozsoyoglu 1982", words="Sum auditing"),
    Variant(ExtremeAuditing, example=ExtremeAuditing(), cite="Nabar et al. 2006", words="Auditing of extremes"),
    Variant(CountAuditing, example=CountAuditing(("ill",)), cite="Kleinberg et al. 2000", words="Count auditing"),
)
QUERY_CONTROLS = Registry("controls", "control", (QueryControl,), {v.name: v for v in _OURS})
