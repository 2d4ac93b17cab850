"""Numbers and models in plain words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

MODELS = {
    "k-anonymity": "k-anonymity",
    "distinct-l-diversity": "Distinct l-diversity",
    "entropy-l-diversity": "Entropy l-diversity",
    "recursive-cl-diversity": "Recursive (c, l)-diversity",
    "t-closeness": "t-closeness",
    "alpha-k": "(α, k)-anonymity",
    "beta-likeness": "β-likeness",
    "delta-disclosure": "δ-disclosure privacy",
    "k-map": "Estimated k-map",
    "average-risk": "Average risk",
    "sample-uniqueness": "Sample uniqueness",
    "population-uniqueness": "Population uniqueness",
}
LOSSES = {
    "lm": "loss metric (LM)",
    "ncp": "normalised certainty penalty (NCP)",
    "discernibility": "discernibility",
    "c-avg": "average class size (C-avg)",
    "precision": "precision, as a loss",
    "height": "height in the lattice",
    "non-uniform-entropy": "non-uniform entropy",
}
SEARCHES = {
    "mondrian": "Mondrian: cuts the table into ever smaller boxes while every box keeps the promises",
    "optimal": "Optimal: looks for the best of all level vectors",
    "samarati": "Samarati: looks for a level vector of least height",
    "incognito": "Incognito: finds all level vectors that keep the promises and takes the best",
    "ola": "Optimal lattice anonymisation: finds all minimal level vectors and takes the best",
    "lightning": "Lightning: goes from the most general level vector to better ones until its time is over",
    "datafly": "Datafly: generalises the column with the most values, then suppresses outliers",
    "mu-argus": "mu-Argus: recodes columns, then blanks single cells",
    "tds": "Top-down specialisation: replaces general labels by finer ones while the promises hold",
    "k-optimize": "k-Optimize: looks for the best intervals in every column",
    "genetic": "Genetic: breeds ever better cuts of the columns",
    "annealing": "Annealing: changes the cuts of the columns step by step, less and less wildly",
    "tuple-suppression": "Tuple suppression: only rows are suppressed",
    "forest-suppression": "Forest suppression: near rows form trees, and what differs in a tree is blanked",
    "greedy-suppression": "Greedy suppression: balls of near rows, and what differs in a ball is blanked",
    "forest-generalisation": "Forest generalisation: near rows form trees, and each tree shares its labels",
    "minimal-suppression": "Minimal suppression: as few cells as possible are blanked",
    "iterated": "Iterated lattice recoding: every class at the cheapest level vector, then on with the rest",
    "top-down": "Top-down local recoding: halves the table around far rows, and mends small groups",
    "bottom-up": "Bottom-up local recoding: joins small groups to the nearest",
    "alpha-k-local": "(α, k) local recoding: specialises from the top, and leaves behind what cannot follow",
    "one-pass-k-means": "One-pass k-means: each row to the nearest centre, then every cluster to k rows",
    "k-member": "k-member clustering: clusters grow by the row that costs least",
    "refined": "Refined: near classes are clustered anew while the loss falls",
    "attribute-suppression": "Attribute suppression: the fewest columns are dropped",
}
AT_LEAST = frozenset({"k-anonymity", "distinct-l-diversity", "entropy-l-diversity", "k-map"})
AT_MOST = frozenset(
    {"t-closeness", "alpha-k", "beta-likeness", "average-risk", "sample-uniqueness", "population-uniqueness"}
)
BELOW = frozenset({"recursive-cl-diversity", "delta-disclosure"})
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


def model(promise: Mapping[str, Any]) -> str:
    """The model of a promise in the literature's words.

    >>> model({"model": "k-anonymity", "parameters": {"k": 10}})
    'k-anonymity, k = 10'
    """
    parameters = dict(promise.get("parameters") or {})
    attribute = parameters.pop("attribute", None)
    named = str(promise.get("model") or "unnamed promise")
    title = MODELS.get(named, named)
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
