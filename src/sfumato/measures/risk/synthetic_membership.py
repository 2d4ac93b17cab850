"""Membership: does a synthetic table tell which real rows its model was fitted on?

J. Hayes, L. Melis, G. Danezis, E. De Cristofaro, LOGAN: Membership inference attacks against generative models, PoPETs
2019; interval: E. R. DeLong, D. M. DeLong, D. L. Clarke-Pearson, Comparing the areas under two or more correlated
receiver operating characteristic curves, Biometrics 1988.
"""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np

from sfumato.core.keys import tally
from sfumato.core.parameters import checked
from sfumato.core.wording import percent
from sfumato.measures.arguments import ORIGINAL, SEED, SOME_COLUMNS, TABLE
from sfumato.measures.attacks.kernels import NIL, SAME
from sfumato.measures.measure import Measure, Z, wilson
from sfumato.measures.risk.copied_uniques import one_off
from sfumato.measures.risk.nearest_record import Space, with_hold_out
from sfumato.measures.risk.synthetic_tables import tables_of


@checked
def synthetic_membership(
    original: Annotated[Any, ORIGINAL],
    synthetic: Annotated[Any, TABLE] = None,
    *,
    hold_out: Annotated[Any, TABLE] = None,
    columns: Annotated[Any, SOME_COLUMNS] = None,
    seed: Annotated[int, SEED] = 0,
) -> Measure:
    """How well the distance to the nearest synthetic row tells rows that the model saw from rows that it did not.

    The value is the area under the curve: how often a row of the original is nearer to the synthetic table than one of
    the hold-out, ties as one half. Guessing gives one half; less than that tells, too: rows of the original that are
    kept away from the synthetic table leave holes.

    Parameters
    ----------
    original, synthetic
        The rows that the model was fitted on, and those drawn from it.
    hold_out
        Real rows of the same kind that the model never saw.
    columns
        The columns that the attacker knows, all that the tables share unless given. Distances as in `nearest_record`.
    seed
        Draws the real rows that are attacked where they are more than 25,000, or take long.

    Returns
    -------
    A Measure with the interval of DeLong; `details` say how many rows of each were attacked.

    Examples
    --------
    >>> real, others = {"age": [20, 40, 60, 80]}, {"age": [30, 50, 70, 90]}
    >>> synthetic_membership(real, {"age": [20, 40, 60, 79]}, hold_out=others).value
    1.0
    """
    tables = with_hold_out(tables_of(original, synthetic, hold_out, columns))
    space = Space.of(tables)
    real, drawn, others = space.points
    tree = space.tree(drawn)
    far = [tree.find(some[space.looked_at(some, [tree], seed)])[0] for some in (real, others)]
    members, strangers = np.split(-steps(np.concatenate(far)), [len(far[0])])
    value, interval = area(members, strangers)
    sentence = (
        "An attacker who takes the real rows nearest to synthetic ones for those that the model was fitted on ranks "
        f"such a row above one that it never saw {_how_often(value, interval)}."
    )
    details = {"columns": list(tables.names), "rows": {"original": len(members), "hold_out": len(strangers)}}
    return Measure("synthetic-membership", value, (0.0, 1.0), sentence, interval, 0.5, details)


@checked
def likely_but_absent(
    original: Annotated[Any, ORIGINAL],
    synthetic: Annotated[Any, TABLE] = None,
    *,
    hold_out: Annotated[Any, TABLE] = None,
    columns: Annotated[Any, SOME_COLUMNS] = None,
) -> Measure:
    """How well the rows of unique people are told by their absence from a synthetic table that has many like them.

    Where rows that repeat a unique real row are dropped or drawn again, a combination of values that the model finds
    likely, yet that never appears, is probably such a person's. Compared are the rows that are unique among all real
    rows, those held out included, for they are kept away as well, and combinations that nobody has and that the model
    finds as likely: each synthetic row that no real row equals, looked for in the other synthetic rows. The attacker
    takes a combination for a person's if it is absent, and the more so the more synthetic rows differ from it in
    exactly one column. The value is the area under the curve, as in `synthetic_membership`: one half where nobody was
    kept away, 1 where so many rows were drawn that only people are absent.

    Parameters
    ----------
    original, synthetic
        The rows that the model was fitted on, and those drawn from it. hold_out: the other real rows, if there are any.
    columns
        The columns to compare, all that the tables share unless given.

    Returns
    -------
    A Measure, nan where no real row is unique, or every synthetic one equals a real one. Its interval counts equal
    synthetic rows as one. `details`: the unique `people` and the synthetic rows that are `nobodys`, and of both the
    share that is `absent`.

    Examples
    --------
    >>> real, drawn = {"a": [1, 2], "b": [1, 2]}, {"a": [1, 1, 2, 2], "b": [2, 2, 1, 1]}
    >>> likely_but_absent(real, drawn).value
    1.0
    """
    tables = tables_of(original, synthetic, hold_out, columns)
    of, _, drawn = tables.counts(tables.names)
    original_rows, _, *held = tables.parts(of)
    real, near = tally(np.concatenate([original_rows, *held]), len(drawn)), np.empty(len(drawn), np.int64)
    near[of] = one_off(tables, of, drawn)
    score = np.where(drawn > (real == 0), -1, near)  # a synthetic row is looked for in the others
    rows = drawn[real == 0]
    people, others = score[real == 1], np.repeat(score[real == 0], rows)
    details: dict[str, Any] = {"columns": list(tables.names), "people": len(people), "nobodys": len(others)}
    if not len(people) or not len(others):
        why = "every synthetic row equals a real one" if len(people) else "no real row is unique"
        sentence = f"Nobody is told by their absence from the synthetic table: {why}."
        return Measure("likely-but-absent", np.nan, (0.0, 1.0), sentence, None, 0.5, details | {"absent": None})
    value, interval = area(people, others, apart=round(len(others) ** 2 / int(np.square(rows).sum())))
    absent = {"people": float((people >= 0).mean()), "nobodys": float((others >= 0).mean())}
    sentence = (
        f"Of the {len(people):,} rows that are unique among all real rows, {percent(absent['people'])} are absent from "
        f"the synthetic table; of combinations as likely that nobody has, {percent(absent['nobodys'])} are. An "
        "attacker who takes what is absent for people's, the more so the more synthetic rows differ from it in one "
        f"column only, ranks a person's row above such a combination {_how_often(value, interval)}."
    )
    return Measure("likely-but-absent", value, (0.0, 1.0), sentence, interval, 0.5, details | {"absent": absent})


def steps(distances: np.ndarray) -> np.ndarray:
    """The rank of each distance; those that differ by rounding alone have the same.

    >>> steps(np.array([0.3, 0.1 + 0.2, 0.0, 0.4])).tolist()
    [1, 1, 0, 2]
    """
    order = np.argsort(distances)
    ranked = distances[order]
    found = np.zeros(len(distances), np.int64)
    found[order[1:]] = np.cumsum(ranked[1:] > ranked[:-1] * (1 + SAME) + NIL)
    return found


def area(members: np.ndarray, strangers: np.ndarray, apart: int | None = None) -> tuple[float, tuple[float, float]]:
    """How often a member has the higher score of two, ties as one half, and its 95% interval; of the strangers only
    `apart`, all unless given, tell something of their own.

    >>> area(np.array([3, 2]), np.array([1, 2]))[0]
    0.875
    """
    above, below = _wins(members, strangers), 1 - _wins(strangers, members)
    rows = len(members), len(strangers) if apart is None else apart
    value, fewest = float(above.mean()), min(rows)
    spread = sum(float(np.var(part, ddof=1)) / n for part, n in zip((above, below), rows, strict=True) if len(part) > 1)
    if fewest < 2 or (spread == 0 and value != 0.5):  # of so few rows, or a perfect order, it knows no spread
        low, high = wilson(round(value * fewest), fewest)
        return value, (min(low, value), max(high, value))
    half = Z * math.sqrt(spread)
    return value, (max(0.0, value - half), min(1.0, value + half))


def _wins(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """For each score the share of the others that it is above, ties as one half."""
    ranked = np.sort(other)
    found: np.ndarray = (np.searchsorted(ranked, one, "left") + np.searchsorted(ranked, one, "right")) / (
        2 * len(other)
    )
    return found


def _how_often(value: float, interval: tuple[float, float]) -> str:
    often = f"in {percent(value)} of all pairs, where guessing gives 50%"
    return f"{often}: so few that it tells, too" if interval[1] < 0.5 else often
