"""Streams: rows are released while they arrive, none of them later than a delay; an algorithm a file."""

from __future__ import annotations

from sfumato.core.registry import Registry, Variant
from sfumato.series.streams.b_castle import BCastle
from sfumato.series.streams.castle import CASTLE
from sfumato.series.streams.fads import FADS
from sfumato.series.streams.values import StreamAlgorithm
from sfumato.series.streams.z_anonymity import ZAnonymity

__all__ = ["CASTLE", "FADS", "STREAMS", "BCastle", "ZAnonymity"]

STREAMS: Registry[StreamAlgorithm] = Registry(
    "streams",
    "stream algorithm",
    (StreamAlgorithm,),
    {
        "castle": Variant(CASTLE, example=CASTLE(), cite="Cao, Carminati, Ferrari and Tan 2011"),
        "b-castle": Variant(BCastle, example=BCastle(), cite="Wang, Lu, Zhao and Yang 2010"),
        "fads": Variant(FADS, example=FADS(), cite="Guo and Zhang 2013"),
        "z-anonymity": Variant(ZAnonymity, example=ZAnonymity(), cite="Jha et al. 2020"),
    },
)
