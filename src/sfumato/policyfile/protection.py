"""Protection: which of the ways to protect a table a policy asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def made_by(tables: Mapping[str, Any]) -> str:
    """What the tables of a policy ask for: "recoding", "masking" or "synthesis". Steps beside promises are for a search
    where its method is named, and for masked rows that keep the promises where it is not.

    >>> made_by({"require": []}), made_by({"mask": [{"step": "rounding"}]}), made_by({"synthesis": {"rows": 10}})
    ('recoding', 'masking', 'synthesis')
    """
    if "synthesis" in tables:
        return "synthesis"
    searched = tables.get("require") and "method" in tables.get("search", {})
    return "masking" if tables.get("mask") and not searched else "recoding"
