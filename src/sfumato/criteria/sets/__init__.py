"""Promises about several tables that are published together, one per file, and the table that names them.

>>> set_promise("frequency-l-diversity", attribute="disease", l=3)
FrequencyLDiversity(attribute='disease', l=3)
"""

from __future__ import annotations

from typing import Any

from sfumato.core.forms import make_variant
from sfumato.core.protocols import SetPromise
from sfumato.core.registry import Registry, Variant
from sfumato.criteria.sets.frequency_l_diversity import FrequencyLDiversity

__all__ = ["SET_PROMISES", "FrequencyLDiversity", "set_promise"]

_OURS: tuple[Variant[SetPromise], ...] = (
    Variant(
        FrequencyLDiversity,
        example=FrequencyLDiversity("disease", 3),
        cite="Xiao and Tao 2006",
        words="Frequency l-diversity of groups",
        stops="Learning the sensitive value of a person whose row is found, from the group that it is in.",
        leaves="Rows stand as they are: that a person is in the table, and all else of the row, is known. Where values "
        "go with quasi-identifiers, a model learnt of both tables guesses better than 1/l (deFinetti attack).",
    ),
)
SET_PROMISES = Registry("set_promises", "promise about several tables", (SetPromise,), {v.name: v for v in _OURS})


def set_promise(name: str, **parameters: Any) -> Any:
    """A promise from its name and parameters."""
    return make_variant(SET_PROMISES, "promise about several tables", name, parameters)
