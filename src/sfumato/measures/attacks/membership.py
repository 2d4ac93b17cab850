"""Membership: is this person's record behind the release at all?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np

from sfumato.core.parameters import checked, column_names
from sfumato.core.wording import percent, quoted
from sfumato.engines.memory.table import enter
from sfumato.measures.arguments import ATTEMPTS, HIERARCHIES, LISTED, ORIGINAL, QUASI, RELEASED, SEED, TABLE, WILDCARD
from sfumato.measures.attacks.classes import tables_with
from sfumato.measures.attacks.matching import Matching
from sfumato.measures.attacks.result import MOST, TRIALS, Attack, drawing, outcome, sample, worst


@checked
def membership(
    released: Annotated[Any, RELEASED],
    original: Annotated[Any, ORIGINAL],
    holdout: Annotated[Any, TABLE],
    quasi: Annotated[Any, QUASI],
    *,
    hierarchies: Annotated[Mapping[str, Any] | None, HIERARCHIES] = None,
    population: Annotated[Any, TABLE] = None,
    wildcard: Annotated[bool, WILDCARD] = False,
    trials: Annotated[int, ATTEMPTS] = TRIALS,
    seed: Annotated[int, SEED] = 0,
    most: Annotated[int, LISTED] = MOST,
) -> Attack:
    """How often an attacker tells people in the data from people who are not.

    The attacker knows the quasi-identifiers of a person and says "in" where some released record covers them. As many
    people of the original as of the holdout are tried, so that guessing is right half of the time. The advantage is
    the share of members found minus the share of others taken for members. With `population`, `details` also say the
    highest presence: released records of a class divided by the people of the population that it covers.

    Parameters
    ----------
    released, original
        The released table, and the one behind it.
    holdout
        People like those of the original who are not in it.
    quasi
        The quasi-identifying columns, in all tables.
    hierarchies
        Column to the hierarchy that explains its labels.
    population
        Everybody among whom the members are, where that is known.
    wildcard
        Whether a missing released value matches any value, instead of missing ones only.
    trials, seed
        How many people to try, half of each kind, and the seed that draws them.
    most
        How many row numbers to name.

    Examples
    --------
    >>> here, others = {"age": [20, 30, 40]}, {"age": [25, 35, 45]}
    >>> membership(here, here, others, ["age"]).success, membership({"age": ["*"] * 3}, here, others, ["age"]).success
    (1.0, 0.5)

    References
    ----------
    Nergiz, Atzori and Clifton, "Hiding the presence of individuals from shared databases", SIGMOD 2007; Shokri et al.,
    "Membership inference attacks against machine learning models", S&P 2017.
    """
    names = tuple(dict.fromkeys(column_names(quasi, "quasi")))
    people = {"holdout": enter(holdout)[0], "population": population}
    frame, here, others, *everybody = tables_with(names, released, original, **people)
    trials, rng = drawing(trials, seed)
    matching = Matching(frame, names, [here, others, *everybody], hierarchies, wildcard, strangers=True)
    each = max(1, min(trials // 2, here.height, others.height))
    members, strangers = sample(rng, here.height, each), sample(rng, others.height, each)
    found, taken = (
        np.array([int(matching.cells.count[matching.candidates(v)].sum()) for v in matching.values_of(table, rows)])
        for table, rows in ((here, members), (others, strangers))
    )
    successes = int((found > 0).sum() + (taken == 0).sum())
    hits, alarms = float((found > 0).mean()), float((taken > 0).mean())
    sentence = (
        f"An attacker who knows {quoted(names)} tells people in the data from others in "
        f"{percent(successes / (2 * each))} of {2 * each} cases, where guessing gives 50%: "
        f"{percent(hits)} of the members are recognised, and {percent(alarms)} of the others are taken for members."
    )
    details: dict[str, Any] = {"members found": hits, "others taken": alarms, "advantage": hits - alarms}
    if everybody:
        details["presence"] = _presence(matching, everybody[0])
    exposed = worst(-found, found > 0, most, members)  # the fewer records a person may be, the more exposed
    return outcome("membership", successes, 2 * each, 0.5, exposed, sentence, seed=seed, of="original", details=details)


def _presence(matching: Matching, everybody: Any) -> float:
    """The highest share of released records among the people that a class covers."""
    values, of = np.unique(matching.values_of(everybody), axis=0, return_inverse=True)
    people = np.bincount(of.ravel(), minlength=len(values))
    covered = np.zeros(len(matching.cells), np.int64)
    for value, count in zip(values, people.tolist(), strict=True):
        covered[matching.candidates(value)] += count
    known = covered > 0
    share = matching.cells.count[known] / covered[known]
    return float(min(share.max(initial=0.0), 1.0))
