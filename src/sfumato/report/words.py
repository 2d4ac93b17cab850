"""Numbers and models in plain words."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from sfumato.core.registry import Variant
from sfumato.criteria import CRITERIA

NOT_RECORDED = "not recorded"


def number(value: Any, digits: int = 3) -> str:
    """A number with thousands apart and no more digits than it needs.

    >>> number(19988), number(0.1), number(38.6667), number(None)
    ('19,988', '0.1', '38.667', 'not recorded')
    """
    if value is None:
        return NOT_RECORDED
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return "undefined" if math.isnan(value) else "unbounded"
    if abs(value) >= 1e12:
        return f"{value:.3g}"
    if value == int(value):
        return f"{int(value):,}"
    if abs(value) < 10**-digits:
        return f"{value:.1e}"
    return f"{value:,.{digits}f}".rstrip("0").rstrip(".")


def percent(share: Any) -> str:
    """A share as a percentage that never rounds something to nothing, nor most to all.

    >>> percent(0.026), percent(0.0006), percent(0.00004), percent(0), percent(0.99999)
    ('2.6%', '0.06%', 'under 0.01%', '0%', 'over 99.99%')
    """
    if not isinstance(share, int | float) or not math.isfinite(share):
        return number(share)
    if 0 < share < 0.0001:
        return "under 0.01%"
    if 0.9999 < share < 1:
        return "over 99.99%"
    digits = 2 if 0 < share < 0.001 or 0.999 < share < 1 else 1
    return f"{100 * share:.{digits}f}".rstrip("0").rstrip(".") + "%"


def one_in(risk: Any) -> str:
    """A risk as a chance; rounded so that it is never stated smaller than it is.

    >>> one_in(0.1), one_in(0.026), one_in(1.0)
    ('1 in 10', '1 in 38', '1 in 1')
    """
    if not isinstance(risk, int | float) or not 0 < risk <= 1:
        return number(risk)
    return f"1 in {math.floor(1 / risk + 1e-9):,}"


def count(amount: Any, noun: str, plural: str | None = None) -> str:
    """An amount and its noun.

    >>> count(1, "row"), count(2000, "row"), count(3, "class", "classes")
    ('1 row', '2,000 rows', '3 classes')
    """
    return f"{number(amount)} {noun if amount == 1 else plural or noun + 's'}"


def called(table: Mapping[str, Variant], name: str) -> str:
    """What the registry calls a variant; one without words of its own, or not installed here, goes by its name.

    >>> called(CRITERIA, "alpha-k"), called(CRITERIA, "sample-uniqueness"), called(CRITERIA, "entropy-l-diversity")
    ('(α, k)-anonymity', 'sample uniqueness', 'entropy l-diversity')
    """
    words = table[name].words if name in table else ""
    return words or re.sub(r"(?<!\b\w)-", " ", name)


def titled(table: Mapping[str, Variant], name: str) -> str:
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


def parameter(value: Any) -> str:
    """The value of a parameter.

    >>> parameter({"age": 2, "sex": 1}), parameter(["HIV", "flu"]), parameter(True)
    ('age 2, sex 1', 'HIV, flu', 'yes')
    """
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {parameter(one)}" for key, one in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(parameter, value))
    return ("yes" if value else "no") if isinstance(value, bool) else number(value)
