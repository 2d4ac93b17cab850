"""Probabilistic linkage: Fellegi and Sunter's weights for and against two records being the same person's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from sfumato.core.compiled import threads, workers
from sfumato.core.keys import first_of
from sfumato.core.parameters import checked
from sfumato.core.wording import percent, quoted
from sfumato.errors import PolicyError
from sfumato.measures.arguments import COUNT, HIERARCHIES, LISTED, RELEASED, SEED, SHARE, SOME_COLUMNS, TABLE
from sfumato.measures.attacks.classes import Encoded
from sfumato.measures.attacks.kernels import best_cells, patterns
from sfumato.measures.attacks.linkage import LinkedPair, chunks, common_columns, credited, pair_of
from sfumato.measures.attacks.linkage.covering import CodedPair, code_pair, sum_covering
from sfumato.measures.attacks.matching import TIE
from sfumato.measures.attacks.result import MOST, Attack

PAIRS = 200_000_000  # of a person and a released cell, compared at most
LEARNT_FROM = 20_000_000  # pairs that the model learns from
PATTERNS = 4_000_000  # of agreement, times people
TOGETHER = 9  # columns that the model learns at a time
STARTS = (0.95, 0.8, 0.6, 0.99)  # m at the beginning
FIRST_ROUNDS, ROUNDS, SETTLED = 15, 200, 1e-4
PRIOR, IMAGINED = 0.9, 0.5  # m that so many imagined people per real one stand for
NEVER = 1e-6  # nothing is impossible


@checked
def probabilistic_linkage(
    released: Annotated[Any, RELEASED],
    external: Annotated[Any, TABLE],
    columns: Annotated[Any, SOME_COLUMNS] = None,
    *,
    truth: Any = None,
    upper: Annotated[float, SHARE] = 0.9,
    lower: Annotated[float, SHARE] = 0.5,
    hierarchies: Annotated[Mapping[str, Any] | None, HIERARCHIES] = None,
    max_pairs: Annotated[int, COUNT] = PAIRS,
    seed: Annotated[int, SEED] = 0,
    most: Annotated[int, LISTED] = MOST,
    encoded: Encoded | None = None,
) -> Attack:
    """How many people of an external table are found by weighing which columns agree.

    A column agrees where the released label covers the person's value. m is the probability that it does for the same
    person and u for different ones; agreement adds log2(m/u) to the weight of a pair (u being that of the value: rare
    ones say more), disagreement log2((1 - m)/(1 - u)), a value that is unknown or a label that says nothing adds
    nothing. u is counted, m comes from expectation maximisation over pairs, from several starts, of which the
    likeliest is taken. A person has one released record at most, m is never below u, and starts from 0.9 as if half as
    many people more had agreed so. Where the pairs alone would put m below u the model is implausible, and the
    sentence and `details` say so. Each person is
    linked to the released record of the highest weight: a link where its probability is at least `upper`, for review
    from `lower` on, no link below. The success counts the best record whatever its weight; of n equally good ones one
    is picked blindly, and so is any where nothing can be compared. Where it is not known who is who, the
    probabilities themselves are added up, 1/n at most.

    Parameters
    ----------
    released, external
        Frames or paths: the release, and the table with the people an attacker knows.
    columns
        The columns to link on; by default all that both tables have.
    truth
        Who is who: a pair of column names (released, external), the released row of each external row (-1: none), or
        "unknown"; by default row i is row i where both tables have as many rows.
    upper, lower
        The two thresholds of the match probability.
    hierarchies
        Column to the hierarchy that explains its labels; a value agrees with the label that covers it.
    max_pairs
        Compare so many pairs of different people and different records at most; where there are more, some of the
        people stand for all.
    seed
        Of the people drawn.
    most
        How many row numbers to name.
    encoded
        Columns that another attack has encoded.

    References
    ----------
    Fellegi, Sunter, "A theory for record linkage", JASA 1969; Winkler, "Using the EM algorithm for weight computation
    in the Fellegi-Sunter model of record linkage", 1988; Linacre et al., "Splink", 2022.

    Examples
    --------
    >>> people = {"age": [21, 25, 33, 38], "sex": ["f", "m", "f", "m"]}
    >>> release = {"age": ["[20, 30)", "[20, 30)", "[30, 40)", "[30, 40)"], "sex": ["f", "m", "f", "f"]}
    >>> found = probabilistic_linkage(release, people)  # the last one's sex was changed
    >>> found.success, found.baseline
    (0.75, 0.25)
    """
    if lower > upper:
        what = "the thresholds are no probabilities in order"
        raise PolicyError(what, got=f"lower {lower:g}, upper {upper:g}", allowed="0 <= lower <= upper <= 1")
    pair = pair_of(released, external, truth)
    names = common_columns(pair, columns)
    coded = code_pair(pair, names, hierarchies, encoded)
    rng = np.random.default_rng(seed)
    rows = np.arange(pair.external.height)
    points, cells = coded.point.shape[1], coded.labels.shape[1]
    if points * cells > max_pairs:  # some people stand for all
        rows = np.sort(rng.choice(len(rows), max(1, min(len(rows), max_pairs // cells)), replace=False))
        some = None if pair.truth is None else pair.truth[rows]
        pair = LinkedPair(pair.released, pair.external[rows.tolist()], some)
    model = fit(coded, rng)
    best = _best(pair, coded, model, rows)
    credit, p, links = _credit(pair, best, upper)
    review = (p >= lower) & (p < upper)
    expected = float(credit.sum())
    compared = [names[c] for c in model.columns]
    doubtful = [names[c] for c in model.columns if model.doubtful[c]]
    told = "are expected to be found" if pair.truth is not None else "are expected to be found, as the model has it"
    sentence = (
        f"Weighing agreement on {quoted(names)}, {int(links.sum())} of {len(credit)} people are linked to a released "
        f"record, {int(review.sum())} are for review, {int((~links & ~review).sum())} are not linked; taking the best "
        f"record for each, {expected:.1f} ({percent(expected / len(credit))}) {told}; "
        f"guessing finds {percent(pair.baseline)}."
    )
    if doubtful:
        sentence += (
            f" The model is implausible: the same person would agree on {quoted(doubtful)} less often than others do."
        )
    details: dict[str, Any] = {
        "columns": list(names),
        "compared": compared,
        "m": {names[c]: float(model.m[c]) for c in model.columns},
        "u": {names[c]: float(model.u[c]) for c in model.columns},
        "implausible": doubtful,
        "links": int(links.sum()),
        "review": int(review.sum()),
        "non-links": int((~links & ~review).sum()),
        "upper": float(upper),
        "lower": float(lower),
        "truth known": pair.truth is not None,
    }
    if pair.truth is not None:
        right = float(credit[links].sum())
        details["precision"] = right / int(links.sum()) if links.any() else None
        details["recall"] = right / pair.present if pair.present else None
    found = None if pair.truth is not None else best.row
    attack = credited("probabilistic linkage", pair, credit, sentence, most, rows=found, seed=seed, details=details)
    if "external rows" in attack.details:
        people = [int(rows[i]) for i in attack.details["external rows"]]
        return replace(attack, details={**attack.details, "external rows": people})
    return replace(attack, exposed=tuple(int(rows[i]) for i in attack.exposed))


@dataclass(frozen=True, eq=False)
class AgreementModel:
    """How often columns agree: m and u of each, u of each value, and the share of pairs that match."""

    columns: tuple[int, ...]  # those that tell something
    m: np.ndarray
    u: np.ndarray
    of_value: tuple[np.ndarray, ...]
    share: float
    doubtful: np.ndarray  # columns on which the same person would agree less often than others, if m were free

    def weights(self, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What agreement and disagreement add to the weight of a pair with these people: [columns, points].

        Agreement never counts against a match, also where many have the value.
        """
        agree, differ = np.zeros((2, *point.shape))
        for c in self.columns:
            m, known = self.m[c], point[c] >= 0
            agree[c] = np.where(known, np.log2(np.maximum(m / self.of_value[c][point[c]], 1.0)), 0.0)
            differ[c] = np.where(known, np.log2((1 - m) / (1 - self.u[c])), 0.0)
        return agree, differ


@dataclass(frozen=True, eq=False)
class BestRecords:
    """Per person the released records of the highest weight: how many rows, their match probability, whether the own
    record is among them, and the row of a single one (-1)."""

    ties: np.ndarray
    p: np.ndarray
    hit: np.ndarray
    row: np.ndarray


def fit(coded: CodedPair, rng: np.random.Generator) -> AgreementModel:
    """u by counting, m by expectation maximisation over how some people agree with all cells."""
    width, released = len(coded.names), int(coded.count.sum())
    u, of_value, columns = np.zeros(width), [], []
    for c in range(width):
        rows = np.bincount(coded.labels[c], coded.count, len(coded.blank)) * ~coded.blank
        labels = np.flatnonzero(rows)
        share = sum_covering(labels, rows[labels], coded.table, coded.values[c]) / max(rows.sum(), 1.0)
        known = coded.point[c] >= 0
        if known.any():
            u[c] = np.average(share[coded.point[c][known]], weights=coded.people[known])
        of_value.append(np.append(np.maximum(share, 1 / released), 1.0))  # the last: not known
        if NEVER < u[c] < 1 - NEVER:
            columns.append(c)
    columns.sort(key=lambda c: u[c])  # the most telling first
    m, match, doubtful = np.maximum(PRIOR, u), 1 / released, np.zeros(width, np.bool_)
    half = TOGETHER // 2
    more = [columns[:half] + columns[i : i + half] for i in range(half, len(columns), half)]
    groups = [columns] if 0 < len(columns) <= TOGETHER else more
    for group in reversed(groups):  # the first, of the most telling columns, has the last word
        chosen = np.array(group, np.int64)
        most = max(1, min(LEARNT_FROM // len(coded.count), PATTERNS // 3 ** len(group)))
        people, often = np.unique(coded.point_of[rng.permutation(len(coded.point_of))[:most]], return_counts=True)
        digit = np.zeros((len(coded.names), coded.point.shape[1]))
        digit[chosen] = 3.0 ** np.arange(len(group))[:, None]
        given = _given(coded, coded.point, digit, 2 * digit, np.zeros_like(digit))
        counts = np.zeros((len(people), 3 ** len(group)))
        patterns(people, _cells(coded, chosen), coded.count, counts, *given)
        m[chosen], match, doubtful[chosen] = _likeliest(counts, often, u[chosen])
    return AgreementModel(tuple(sorted(columns)), m, u, tuple(of_value), match, doubtful)


def _likeliest(counts: np.ndarray, often: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
    """m and the share of pairs that match, as the patterns of agreement make them likeliest: counts[person, pattern].

    And whether agreement would count against a match if m were free. A person has one record or none, which is any of
    the released ones; m is at least u, and imagined people keep it from what few real ones happen to agree on. Digit c
    of a pattern, to base 3, is 1 where column c agrees, 0 where it differs, 2 if unknown.
    """
    person, pattern = np.nonzero(counts)
    pairs, released = counts[person, pattern], counts[0].sum()
    some, of = np.unique(pattern, return_inverse=True)
    digits = some[:, None] // 3 ** np.arange(len(u)) % 3
    agree, differ = (digits == 1).astype(np.float64), (digits == 0).astype(np.float64)
    start = np.searchsorted(person, np.arange(len(counts)))
    imagined = IMAGINED * often.sum()

    def climb(m: np.ndarray, share: float, rounds: int) -> tuple[float, np.ndarray, float, np.ndarray]:
        likelihood = -np.inf
        for _ in range(rounds):
            ratio = pairs * np.exp(agree @ np.log(m / u) + differ @ np.log((1 - m) / (1 - u)))[of]
            fits = 1 - share + share * np.add.reduceat(ratio, start) / released
            free = np.append(m, share)
            prior = imagined * (PRIOR * np.log(free) + (1 - PRIOR) * np.log(1 - free)).sum()
            likelihood = float(often @ np.log(fits) + prior)
            match = np.bincount(of, share * ratio / released * (often / fits)[person], len(some))
            share = float((match.sum() + PRIOR * imagined) / (often.sum() + imagined))
            before, known = m, match @ (agree + differ)
            m = np.clip((match @ agree + PRIOR * imagined) / (known + imagined), u, 1 - NEVER)
            if np.abs(m - before).max() < SETTLED:
                break
        return likelihood, m, share, match @ agree / np.maximum(known, NEVER)

    starts = [climb(np.clip(first, u, 1 - NEVER), 0.9, FIRST_ROUNDS) for first in STARTS]
    _, m, share, alone = climb(*max(starts, key=lambda found: found[0])[1:3], ROUNDS)
    return m, share / released, alone < u


def _best(pair: LinkedPair, coded: CodedPair, model: AgreementModel, rows: np.ndarray) -> BestRecords:
    """The best records of some external rows."""
    own = np.full(len(coded.point_of), -1, np.int64)
    own[coded.here] = coded.own
    own = own[rows]
    if not model.columns:  # nothing can be compared
        nobody = np.full(len(rows), -1, np.int64)
        return BestRecords(np.full(len(rows), pair.released.height), np.zeros(len(rows)), own >= 0, nobody)
    points, of = np.unique(coded.point_of[rows], return_inverse=True)
    point = coded.point[:, points]
    agree, differ = model.weights(point)
    telling = np.array(sorted(model.columns, key=lambda c: -float((agree - differ)[c].mean())), np.int64)
    given = _given(coded, point, np.zeros_like(agree), agree, agree - differ)
    cells, there = _cells(coded, telling), np.flatnonzero(own >= 0)
    there = there[np.argsort(of[there], kind="stable")]
    known = own[there], np.searchsorted(of[there], np.arange(len(points) + 1)), np.zeros(len(there))
    cost, ties, sole = np.zeros(len(points)), np.zeros(len(points), np.int64), np.zeros(len(points), np.int64)
    with workers() as pool:
        parts = chunks(len(points), 8 * threads())
        list(pool.map(lambda part: best_cells(*part, cells, coded.count, cost, ties, sole, *known, *given), parts))
    hit = np.zeros(len(rows), np.bool_)
    hit[there] = known[2] <= cost[of[there]] + TIE
    weight = agree.sum(axis=0) - cost
    p = 1 / (1 + (1 - model.share) / model.share * np.exp2(-weight))
    row = np.where(ties == 1, first_of(coded.cell_of, len(coded.count))[sole], -1)
    return BestRecords(ties[of], p[of], hit, row[of])


def _cells(coded: CodedPair, columns: np.ndarray) -> np.ndarray:
    """The labels of each cell in some columns."""
    return np.ascontiguousarray(coded.labels[columns].T.astype(np.int32))


def _given(
    coded: CodedPair, point: np.ndarray, agree: np.ndarray, blank: np.ndarray, differ: np.ndarray
) -> tuple[np.ndarray, ...]:
    """What the kernels take: the column of each label, people, what labels count, and what they cover.

    What is not known of a person counts nothing or, as all the labels do then, the same.
    """
    return coded.column, point, agree, blank, differ, coded.blank, *coded.table


def _credit(pair: LinkedPair, best: BestRecords, upper: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Per external row: the probability of being right, the match probability of its best record, whether linked."""
    blind = 1 / pair.released.height
    if pair.truth is None:
        credit = np.clip(best.p, blind, np.maximum(1 / best.ties, blind))
    else:
        credit = best.hit / best.ties
    return credit, best.p, best.p >= upper
