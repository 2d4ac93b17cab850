"""Background knowledge: the attacker rules values out, until one is left."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from sfumato.core.parameters import Whole, checked
from sfumato.core.wording import count, percent
from sfumato.measures.arguments import LISTED, QUASI, RELEASED, SENSITIVE, SHARE
from sfumato.measures.attacks.classes import View, of_values, view
from sfumato.measures.attacks.result import MOST, Attack, outcome, records, worst


@checked
def background_knowledge(
    released: Annotated[Any, RELEASED],
    quasi: Annotated[Any, QUASI],
    sensitive: Annotated[str, SENSITIVE],
    *,
    rule_out: Annotated[int, Whole(0)] = 1,
    values: Any = None,
    certainty: Annotated[float, SHARE] = 1.0,
    most: Annotated[int, LISTED] = MOST,
) -> Attack:
    """The share of records whose sensitive value is known once the attacker has ruled other values out.

    The worst case: of each record the attacker knows `rule_out` values that it has not, and they are the most frequent
    other ones of its class. Or, with `values`, those that the attacker can rule out, the same for everybody; only the
    records that have none of them are attacked. The value is known where its probability among the records left in the
    class is at least `certainty`. The baseline is the same for an attacker who knows no quasi-identifier.

    Parameters
    ----------
    released
        The released table.
    quasi, sensitive
        Its quasi-identifying columns, and the sensitive one.
    rule_out
        How many values the attacker rules out per record.
    values
        The values that the attacker rules out, instead.
    certainty
        The probability from which on a value counts as known.
    most
        How many row numbers to name.

    Examples
    --------
    >>> table = {"age": ["3*", "3*", "3*"], "disease": ["heart disease", "cancer", "cancer"]}
    >>> background_knowledge(table, ["age"], "disease", values=["heart disease"]).exposed
    (1, 2)

    References
    ----------
    Machanavajjhala et al., "l-Diversity: privacy beyond k-anonymity", ICDE 2006; Martin et al., "Worst-case background
    knowledge for privacy-preserving data publishing", ICDE 2007.
    """
    seen = view(released, quasi, sensitive)
    out = None if values is None else of_values(seen, values)
    chance = chance_of(seen, int(rule_out), out)[seen.entry_of_row]
    attacked = np.ones(len(seen.code), np.bool_) if out is None else ~out[seen.code]
    alone = chance_of(seen.everyone, int(rule_out), out)[seen.everyone.entry_of_row]
    hit, hit_alone = (attacked & (p >= certainty - 1e-12) for p in (chance, alone))
    trials, successes = int(seen.total(attacked)), int(seen.total(hit))
    ruled = int(rule_out) if out is None else int(out.sum())
    knows = f"{count(ruled, 'value')} that {'a record has not' if out is None else 'nobody has'}"
    sure = "for certain" if certainty == 1 else f"with at least {percent(certainty)} certainty"
    sentence = f'An attacker who rules out {knows} learns "{sensitive}" of {records(successes, trials)} {sure}.'
    details = {
        "column": sensitive,
        "ruled out": int(rule_out) if out is None else int(out.sum()),
        "certainty": certainty,
        "average probability": seen.total(chance * attacked) / trials if trials else 0.0,
        "average probability baseline": seen.total(alone * attacked) / trials if trials else 0.0,
    }
    baseline = seen.total(hit_alone) / trials if trials else 0.0
    exposed = worst(chance, hit, most)
    return outcome("background knowledge", successes, trials, baseline, exposed, sentence, details=details)


def chance_of(seen: View, rule_out: int, out: np.ndarray | None) -> np.ndarray:
    """For each entry of the histogram, the probability of its value once others are ruled out."""
    h = seen.histogram
    owner = np.repeat(np.arange(len(seen.size)), np.diff(h.start))
    if out is not None:
        keep = ~out[h.value]
        left = np.bincount(owner, weights=h.count * keep, minlength=len(seen.size))[owner]
        return np.where(keep, h.count / np.maximum(left, 1), 0.0)
    order = np.lexsort((-h.count, owner))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order)) - h.start[owner[order]]
    # the most frequent other values: the first ones, or one more of them where this is itself among the first
    most_frequent = np.bincount(owner, weights=h.count * (rank < rule_out), minlength=len(seen.size))[owner]
    one_more = np.bincount(owner, weights=h.count * (rank <= rule_out), minlength=len(seen.size))[owner]
    gone = np.where(rank < rule_out, one_more - h.count, most_frequent)
    return h.count / (seen.size_of_entry - gone)
