"""Models, losses and searches in plain words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sfumato.core.registry import Variant
from sfumato.core.wording import parameter
from sfumato.criteria import CRITERIA


def called(table: Mapping[str, Variant[Any]], name: str) -> str:
    """What the registry calls a variant; one without words of its own, or not installed here, goes by its name.

    >>> called(CRITERIA, "alpha-k"), called(CRITERIA, "sample-uniqueness"), called(CRITERIA, "entropy-l-diversity")
    ('(α, k)-anonymity', 'sample uniqueness', 'entropy l-diversity')
    """
    words = table[name].words if name in table else ""
    return words or re.sub(r"(?<!\b\w)-", " ", name)


def titled(table: Mapping[str, Variant[Any]], name: str) -> str:
    """The same where a line begins with it.

    >>> titled(CRITERIA, "sample-uniqueness"), titled(CRITERIA, "t-closeness")
    ('Sample uniqueness', 't-closeness')
    """
    words = called(table, name)
    lower = words[1:2] == "-" or (name in table and table[name].words)  # a letter of a formula stays as it is
    return words if lower else words[:1].upper() + words[1:]


def model(promise: Mapping[str, Any]) -> str:
    """The model of a promise in the literature's words.

    >>> model({"model": "k-anonymity", "parameters": {"k": 10}})
    'k-anonymity, k = 10'
    """
    parameters = dict(promise.get("parameters") or {})
    attribute = parameters.pop("attribute", None)
    named = str(promise.get("model") or "unnamed promise")
    title = titled(CRITERIA, named)
    given = [f"{key} = {parameter(value)}" for key, value in parameters.items() if value is not None]
    return ", ".join([f"{title} of {attribute}" if attribute is not None else title, *given])
