"""Singling out: does the release give a predicate that exactly one person of the original meets?"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

import numpy as np

from sfumato.core.parameters import column_names, known_columns, whole_number
from sfumato.core.wording import percent, quoted
from sfumato.engines.memory.table import enter
from sfumato.errors import PolicyError
from sfumato.measures.attacks.classes import Encoded
from sfumato.measures.attacks.linkability import beyond, shared_of
from sfumato.measures.attacks.predicates import Side, blind, multivariate, rarest, univariate
from sfumato.measures.attacks.result import MOST, TRIALS, Attack, drawing, outcome

MODES = ("univariate", "multivariate")
TRIES = 4  # predicates drawn per one that is wanted: those that fit one released record are kept


def singling_out(
    released: Any,
    original: Any,
    columns: Any = None,
    *,
    mode: str = "multivariate",
    size: int = 3,
    holdout: Any = None,
    hierarchies: Mapping[str, Any] | None = None,
    wildcard: bool = False,
    trials: int = TRIALS,
    seed: int = 0,
    most: int = MOST,
) -> Attack:
    """How often a predicate made from the release holds for exactly one record of the original.

    Univariate predicates say that one column has a certain released label, or a number at most or at least a released
    one; multivariate ones join such conditions on `size` columns of one released record. The attacker puts forward
    those that hold for exactly one released record or, where there is none, for the fewest (a hundred where more could
    be drawn). A label holds for every
    original value that it covers. The baseline draws predicates of the same shape blindly, from the domain of each
    column (numbers anywhere in their range) instead of from released records; texts that hardly repeat, such as names
    or codes, cannot be guessed that way. `details` say whether the predicates are a sample ("sampled").

    Parameters
    ----------
    released, original
        The released table, and the one behind it.
    columns
        The columns that predicates may use; all that both tables have unless given. A release can be safe on its
        quasi-identifiers and still single people out by these and the sensitive column together.
    mode
        "univariate" or "multivariate".
    size
        How many columns a multivariate predicate uses.
    holdout
        People who are not in the original, about as many: a predicate that isolates one of them too is luck. `details`
        then hold the success on them ("control") and what is beyond it ("risk").
    hierarchies
        Column to the hierarchy that explains its labels.
    wildcard
        Whether a missing released value matches any value, instead of missing ones only.
    trials, seed
        How many predicates to try at most, and the seed that draws them.
    most
        How many row numbers to name.

    Examples
    --------
    >>> table = {"age": [20, 30, 40, 50], "zip": ["a", "a", "b", "b"]}
    >>> singling_out(table, table).success, singling_out({"age": ["*"] * 4, "zip": ["*"] * 4}, table).success
    (1.0, 0.0)

    References
    ----------
    Giomi et al., "A unified framework for quantifying privacy risk in synthetic data", PoPETs 2023; Cohen and Nissim,
    "Towards formalizing the GDPR's notion of singling out", PNAS 2020.
    """
    if mode not in MODES:
        raise PolicyError("unknown mode of singling out", got=repr(mode), allowed=", ".join(MODES))
    size = whole_number(size, "size")
    frame, people = enter(released)[0], enter(original)[0]
    others = None if holdout is None else enter(holdout)[0]
    tables = [people] if others is None else [people, others]
    names = tuple(dict.fromkeys(column_names(columns, "columns"))) or shared_of(frame, *tables)
    for table, what in zip([frame, *tables], ["the release", "the original", "the holdout"], strict=False):
        known_columns(names, table.columns, what)
    if not names:
        raise PolicyError("the release and the original have no column in common")
    (trials, rng), encoded = drawing(trials, seed), Encoded()
    here, *elsewhere = (Side(frame, names, table, hierarchies, wildcard, encoded) for table in (frame, *tables))
    width = 1 if mode == "univariate" else min(int(size), len(names))
    drawn = (
        univariate(here, elsewhere[0], rng) if mode == "univariate" else multivariate(here, elsewhere[0], rng, width)
    )
    every = mode == "univariate"
    predicates, sampled = rarest(drawn if every else islice(drawn, TRIES * trials), here, trials, every)
    found = [elsewhere[0].matches(predicate) for predicate in predicates]
    successes = sum(len(rows) == 1 for rows in found)
    baseline = sum(len(elsewhere[0].rows_of(blind(elsewhere[0], rng, width))) == 1 for _ in range(trials)) / trials
    sentence = (
        f"Of {len(predicates)} {mode} predicates on {quoted(names)} made from the release, {successes} "
        f"({percent(successes / len(predicates))}) single out one person of the original; of {trials} blind ones "
        f"{percent(baseline)} do."
    )
    details: dict[str, Any] = {"mode": mode, "columns": list(names), "size": width, "sampled": sampled}
    if others is not None:
        control = float(np.mean([len(elsewhere[1].matches(predicate)) == 1 for predicate in predicates]))
        details |= beyond(successes / len(predicates), control) | {"holdout rows": others.height}
    exposed = list(dict.fromkeys(int(rows[0]) for rows in found if len(rows) == 1))[:most]
    return outcome(
        f"singling out ({mode})",
        successes,
        len(predicates),
        baseline,
        exposed,
        sentence,
        seed=seed,
        of="original",
        details=details,
    )


def widest(released: Any, original: Any, columns: Any, *, mode: str = "multivariate", **options: Any) -> Attack:
    """Singling out by three columns at a time or by all at once, whichever succeeds more often.

    Coarse columns tell people apart only together, noisy ones only where few have to agree.
    """
    sizes = sorted({3, max(3, len(columns))}) if mode == "multivariate" else [1]
    tried = [singling_out(released, original, columns, mode=mode, size=size, **options) for size in sizes]
    return max(tried, key=lambda attack: attack.success)
