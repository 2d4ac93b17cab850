"""Linkability: can two sources about a person be joined through the release?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Annotated, Any

import numpy as np
import polars as pl

from sfumato.core.cells import count_cells
from sfumato.core.parameters import checked, column_names
from sfumato.core.wording import percent, quoted
from sfumato.errors import PolicyError
from sfumato.measures.arguments import (
    ATTEMPTS,
    COUNT,
    HIERARCHIES,
    LISTED,
    ORIGINAL,
    RELEASED,
    SEED,
    SOME_COLUMNS,
    TABLE,
    WILDCARD,
)
from sfumato.measures.attacks.classes import Encoded, tables_with
from sfumato.measures.attacks.matching import DistanceSpace, Matching
from sfumato.measures.attacks.result import MOST, TRIALS, Attack, drawing, outcome, records, sample

POWER = 0.09  # columns that join fewer people through an unprotected copy cannot tell what a release adds
ALL = 6  # columns up to which every balanced split is looked at
SOME = 40  # splits that are looked at where there are more columns
SCREENED = 10  # splits carried out on a few people, which is every split of up to six columns
GLANCE = 150  # people tried there
TRIED = 2  # splits carried out in full, those that did best there
WIDEST = 12  # columns dealt out, beside the quasi-identifiers


@checked
def linkability(
    released: Annotated[Any, RELEASED],
    original: Annotated[Any, ORIGINAL],
    first: Annotated[Any, SOME_COLUMNS],
    second: Annotated[Any, SOME_COLUMNS],
    *,
    neighbours: Annotated[int, COUNT] = 1,
    holdout: Annotated[Any, TABLE] = None,
    hierarchies: Annotated[Mapping[str, Any] | None, HIERARCHIES] = None,
    wildcard: Annotated[bool, WILDCARD] = False,
    trials: Annotated[int, ATTEMPTS] = TRIALS,
    seed: Annotated[int, SEED] = 0,
    most: Annotated[int, LISTED] = MOST,
) -> Attack:
    """How often two disjoint sets of columns about a person lead to the same released record.

    One source knows the columns `first` of a person, another the columns `second`. Each is matched with its nearest
    released records; the attack succeeds where the two share one. Of equally near records some are drawn, for each
    source on its own. The baseline draws all neighbours blindly: 1 - C(n - k, k)/C(n, k) for k neighbours of n records.

    `details` say how many people would be joined through an unprotected copy ("ceiling", one neighbour each). Where
    that is 9 % or less, the columns of one source hardly tell anybody apart: a success of 0 then says nothing about
    the release, and the sentence says that linkability was not examined (`details["examined"]`).

    Parameters
    ----------
    released, original
        The released table, and the one behind it, whose people are attacked.
    first, second
        The columns that each source knows.
    neighbours
        How many nearest records each source considers.
    holdout
        People who are not in the original: what succeeds for them too is no fault of the release. `details` then hold
        the success on them ("control") and what is beyond it ("risk").
    hierarchies
        Column to the hierarchy that explains its labels.
    wildcard
        Whether a missing released value matches any value, instead of missing ones only.
    trials, seed
        How many people to try, and the seed that draws.
    most
        How many row numbers to name.

    Examples
    --------
    >>> table = {"age": [20, 30, 40, 50], "zip": ["a", "b", "c", "d"]}
    >>> linkability(table, table, ["age"], ["zip"]).success
    1.0

    References
    ----------
    Giomi et al., "A unified framework for quantifying privacy risk in synthetic data", PoPETs 2023; Article 29 Working
    Party, Opinion 05/2014 on anonymisation techniques.
    """
    parts = [tuple(dict.fromkeys(column_names(part, what))) for part, what in ((first, "first"), (second, "second"))]
    both = set(parts[0]) & set(parts[1])
    if both or not all(parts):
        what = "first and second must be two sets of columns with none in common"
        raise PolicyError(what, got=", ".join(f'"{name}"' for name in sorted(both)) or "an empty one")
    names = (*parts[0], *parts[1])
    frame, people, *control = tables_with(names, released, original, holdout=holdout)
    tables = [people, *control]
    trials, rng = drawing(trials, seed)
    k = min(int(neighbours), frame.height)
    encoded = Encoded()
    spaces = [DistanceSpace(Matching(frame, names, tables, hierarchies, wildcard, encoded)) for names in parts]
    rows = sample(rng, people.height, trials)
    hit = _linked(spaces, people, rows, k, rng)
    baseline = 1 - math.comb(frame.height - k, k) / math.comb(frame.height, k)
    successes = int(hit.sum())
    ceiling = _joined(people, parts, encoded)
    sources = f"wo sources, one with {quoted(parts[0])} and one with {quoted(parts[1])}, "
    sentence = (
        f"T{sources}can be joined through the release for {records(successes, len(rows))}; blind guessing joins "
        f"{percent(baseline)}, an unprotected copy {percent(ceiling)}."
        if ceiling > POWER
        else f"Linkability was not examined: t{sources}could be joined for only {percent(ceiling)} of the people even "
        "through an unprotected copy."
    )
    details: dict[str, Any] = {"first": list(parts[0]), "second": list(parts[1]), "neighbours": k}
    details |= {"ceiling": ceiling, "examined": ceiling > POWER, "sampled": len(rows) < people.height}
    for others in control:
        joined = _linked(spaces, others, sample(rng, others.height, trials), k, rng)
        details |= beyond(successes / len(rows), float(joined.mean()))
    exposed = rows[np.flatnonzero(hit)][:most]
    return outcome(
        "linkability", successes, len(rows), baseline, exposed, sentence, seed=seed, of="original", details=details
    )


def across_splits(
    released: pl.DataFrame,
    original: pl.DataFrame,
    quasi: Sequence[str],
    *,
    holdout: pl.DataFrame | None,
    **options: Any,
) -> Attack | None:
    """Linkability by the worst of several balanced splits of the columns in common; None where there is one column.

    Every split of up to six columns is carried out on some people; of the forty drawn for more columns, the ten that
    the classes of the release and of the original promise most of. The two that succeed most often are carried out in
    full, and the worse is reported: of several tries, so rather too high than too low.
    """
    tables = [original] if holdout is None else [original, holdout]
    encoded = Encoded()
    others = [name for name in shared_of(released, *tables) if name not in quasi]
    others.sort(key=lambda name: -len(encoded(original, name)[0]))  # those that tell most first
    columns = (*quasi, *others[: max(0, WIDEST - len(quasi))])
    splits = splits_of(columns, int(options.get("seed", 0)))
    if not splits:
        return None
    promise = [(_joined(released, split, encoded), _joined(original, split, encoded)) for split in splits]
    order = sorted(range(len(splits)), key=lambda i: (promise[i][1] > POWER, *promise[i]), reverse=True)
    if promise[order[0]][1] <= POWER:  # no split can tell: one try, to say so
        return linkability(released, original, *splits[order[0]], holdout=holdout, **{**options, "trials": 1})
    able = [splits[i] for i in order if promise[i][1] > POWER][:SCREENED]
    few = {**options, "trials": min(GLANCE, int(options.get("trials", TRIALS)))}
    glance = {split: linkability(released, original, *split, holdout=None, **few).success for split in able}
    best = sorted(able, key=lambda split: glance[split], reverse=True)[:TRIED]
    tried = [linkability(released, original, *split, holdout=holdout, **options) for split in best]
    worst = max(tried, key=lambda attack: attack.success)
    return replace(worst, details={**worst.details, "splits": len(able)})


def splits_of(columns: Sequence[str], seed: int = 0) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """The ways to deal columns out to two sources in halves: all for up to six columns, else forty.

    >>> splits_of(["age", "zip", "sex"])
    [(('age',), ('zip', 'sex')), (('zip',), ('age', 'sex')), (('sex',), ('age', 'zip'))]
    """
    width = len(columns)
    half = width // 2
    if width <= ALL:
        firsts = [some for some in combinations(range(width), half) if some and (2 * half < width or some[0] == 0)]
    else:
        rng = np.random.default_rng(seed)
        drawn = (tuple(np.sort(rng.permutation(width)[:half]).tolist()) for _ in range(SOME))
        firsts = list(dict.fromkeys([tuple(range(half)), tuple(range(0, 2 * half, 2)), *drawn]))
    return [
        (tuple(columns[i] for i in some), tuple(name for i, name in enumerate(columns) if i not in some))
        for some in firsts
    ]


def shared_of(released: pl.DataFrame, *tables: pl.DataFrame) -> tuple[str, ...]:
    """The released columns that the other tables have, too."""
    return tuple(name for name in released.columns if all(name in table.columns for table in tables))


def _joined(table: pl.DataFrame, parts: Sequence[tuple[str, ...]], encoded: Encoded) -> float:
    """The share of records that two sources would be joined for if each picked one of those that look alike to it."""
    sizes = []
    for names in (*parts, (*parts[0], *parts[1])):
        coded = [encoded(table, name) for name in names]
        cells, cell_of_row = count_cells(
            names, [code for _, code in coded], [len(categories) for categories, _ in coded]
        )
        sizes.append(cells.count[cell_of_row].astype(np.float64))
    return float(np.mean(sizes[2] / (sizes[0] * sizes[1])))


def beyond(success: float, control: float) -> dict[str, float]:
    """The success on people who are not in the data, and the share of what is left that the release adds."""
    return {"control": control, "risk": max(0.0, (success - control) / (1 - control)) if control < 1 else 0.0}


def _linked(
    spaces: list[DistanceSpace], table: pl.DataFrame, rows: np.ndarray, k: int, rng: np.random.Generator
) -> np.ndarray:
    """Whether both sources share a neighbour, for each person."""
    values = [space.matching.values_of(table, rows) for space in spaces]
    found = np.zeros(len(rows), np.bool_)
    for i in range(len(rows)):
        here, there = (space.neighbours(v[i], k, rng) for space, v in zip(spaces, values, strict=True))
        found[i] = bool(np.isin(here, there).any())
    return found
