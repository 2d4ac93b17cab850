"""Query controls: one file for each rule by which a statistical database refuses or changes answers."""

from __future__ import annotations

from sfumato.control.controls.model import QueryControl
from sfumato.control.controls.order import QueryOrder
from sfumato.control.controls.set_overlap import QuerySetOverlap
from sfumato.control.controls.set_size import QuerySetSize
from sfumato.core.registry import Registry, Variant

__all__ = ["QUERY_CONTROLS", "QueryOrder", "QuerySetOverlap", "QuerySetSize"]

_OURS: tuple[Variant[QueryControl], ...] = (
    Variant(QuerySetSize, example=QuerySetSize(3), cite="Fellegi 1972", words="Query-set size"),
    Variant(QuerySetOverlap, example=QuerySetOverlap(2), cite="Dobkin et al. 1979", words="Query-set overlap"),
    Variant(QueryOrder, example=QueryOrder(2), cite="Denning 1982", words="Maximum order"),
)
QUERY_CONTROLS = Registry("query_controls", "control", (QueryControl,), {v.name: v for v in _OURS})
