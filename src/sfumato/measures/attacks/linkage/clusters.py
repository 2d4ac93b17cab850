"""Linkage without common columns: both tables are grouped on their own, groups are matched, and ranks within them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import polars as pl

from sfumato.core.hierarchy import Categories
from sfumato.core.label_grammar import says_nothing
from sfumato.core.microdata import encode
from sfumato.core.parameters import checked, column_names, known_columns
from sfumato.core.wording import percent
from sfumato.errors import PolicyError
from sfumato.measures.arguments import COUNT, LISTED, RELEASED, SOME_COLUMNS, TABLE
from sfumato.measures.attacks.linkage import LinkedPair, credited, pair_of
from sfumato.measures.attacks.result import MOST, Attack

NUMBERS = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
ROUNDS = 50
FEWEST = 5  # records of a group that stands apart
CLEAR = 0.75  # mean silhouette above which groups are taken as they stand
SOME = 20_000


@checked
def cluster_linkage(
    released: Annotated[Any, RELEASED],
    external: Annotated[Any, TABLE],
    released_columns: Annotated[Any, SOME_COLUMNS] = None,
    external_columns: Annotated[Any, SOME_COLUMNS] = None,
    *,
    truth: Any = None,
    groups: Annotated[int | None, COUNT] = None,
    most: Annotated[int, LISTED] = MOST,
) -> Attack:
    """How many people are found though the two tables share no column, because both are shaped alike.

    Each table is turned into ranks: of its numbers (each column with its long tail upwards), of the frequency of its
    names. Each is grouped by k-means, the groups of one are assigned to those of the other by their size and by where
    they lie and how wide they are along the main direction of the ranks, and within a pair of groups the records are
    linked by their rank in that direction. Of records of equal rank one is picked blindly, and so is any record for
    somebody whose group has no counterpart.

    Parameters
    ----------
    released, external
        Frames or paths: the release, and the table with the people an attacker knows.
    released_columns, external_columns
        The columns to look at, by default all but those of `truth`.
    truth
        Who is who: a pair of column names (released, external), or the released row of each external row (-1: none); by
        default row i is row i where both tables have as many rows.
    groups
        Number of groups; by default as many as stand clearly apart, else one for fifty records, eight at most.
    most
        How many row numbers to name.

    Examples
    --------
    >>> people, release = {"income": [10, 20, 30, 90]}, {"rent": [5, 6, 7, 20]}
    >>> cluster_linkage(release, people).success
    1.0

    References
    ----------
    Bacher, Brand, Bender, "Re-identifying register data by survey data using cluster analysis", 2002; Torra,
    Domingo-Ferrer, "Record linkage methods for multidatabase data mining", 2003.
    """
    pair = pair_of(released, external, truth)
    if pair.truth is None:
        raise PolicyError(
            "it is not known which released row belongs to which external one",
            hint='pass truth, as in truth=("id", "id")',
        )
    told = truth if isinstance(truth, tuple | list) and all(isinstance(name, str) for name in truth) else (None, None)
    ours_by = _columns(pair.released, released_columns, told[0], "released_columns", "the release")
    theirs_by = _columns(pair.external, external_columns, told[1], "external_columns", "the external table")
    k = groups or max(1, min(8, min(pair.released.height, pair.external.height) // 50))
    sides = pair.released.select(ours_by), pair.external.select(theirs_by)
    clear = [None if groups else _separated(np.stack([_standardised(c) for c in side], axis=1)) for side in sides]
    if any(found is not None for found in clear):  # as many groups on the other side
        k = max(int(found.max()) + 1 for found in clear if found is not None)
    ours, theirs = (_shape(side, k, found) for side, found in zip(sides, clear, strict=True))
    partner = _assign(_profile(theirs), _profile(ours))
    credit = _credit(pair, ours, theirs, partner)
    expected = float(credit.sum())
    sentence = (
        f"Without a common column, matching {theirs.groups} groups of {len(credit)} people with {ours.groups} groups "
        f"of released records and ranks within them, {expected:.1f} ({percent(expected / len(credit))}) are expected "
        f"to be found; guessing finds {percent(pair.baseline)}."
    )
    details = {
        "released columns": list(ours_by),
        "external columns": list(theirs_by),
        "released groups": ours.groups,
        "external groups": theirs.groups,
        "matched groups": int((partner >= 0).sum()),
    }
    return credited("cluster linkage", pair, credit, sentence, most, details=details)


def _columns(frame: pl.DataFrame, given: Any, identifier: str | None, what: str, table: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(column_names(given, what)))
    if given is None:
        names = tuple(name for name in frame.columns if name != identifier)
    known_columns(names, frame.columns, table)
    if not names:
        raise PolicyError(f"{what} must name a column at least")
    return names


@dataclass(frozen=True, eq=False)
class ClusterShape:
    """A table without its values: the group of each row, and its score along the main direction (in ranks)."""

    group: np.ndarray  # int64 per row
    score: np.ndarray
    groups: int


def _shape(frame: pl.DataFrame, k: int, clear: np.ndarray | None) -> ClusterShape:
    ranks = np.stack([_ranks(frame.get_column(name)) for name in frame.columns], axis=1)
    middle = ranks - ranks.mean(axis=0)
    _, directions = np.linalg.eigh(middle.T @ middle)
    main = directions[:, -1]
    main = main if main.sum() >= 0 else -main
    # adding up in one order for all rows keeps equal rows equal
    score = np.round(sum((middle[:, c] * main[c] for c in range(len(main))), np.zeros(len(middle))), 12)
    order = np.lexsort((*ranks.T[::-1], score))  # from here on nothing depends on the order of the rows
    group = np.empty(len(ranks), np.int64)
    group[order] = _k_means(ranks[order], k) if clear is None else clear[order]
    _, group = np.unique(group, return_inverse=True)
    return ClusterShape(group.reshape(-1), score, int(group.max()) + 1)


def _separated(points: np.ndarray) -> np.ndarray | None:
    """The group of each row where groups are far from each other: 2 to 8 of them, by the mean silhouette of centres.

    None has less than five rows, so that a few records far out are no group.
    The first centre is the point nearest to the middle, each further one the point farthest from all before.
    """
    some = points[:: 1 + len(points) // SOME]
    best, found = CLEAR, None
    far = ((some - some.mean(axis=0)) ** 2).sum(axis=1)
    centre = some[[int(np.argmin(far))]]
    for _ in range(2, min(8, len(some) // 10) + 1):
        far = ((some[:, None, :] - centre[None, :, :]) ** 2).sum(axis=2).min(axis=1)
        if not far.max() > 0:
            break
        centre = np.concatenate([centre, some[[int(np.argmax(far))]]])
        moved = centre
        for _ in range(ROUNDS):
            label = _closest(some, moved)
            before, moved = moved, np.stack([some[label == i].mean(axis=0) for i in np.unique(label)])
            if before.shape == moved.shape and np.allclose(before, moved):
                break
        near = np.sort(np.sqrt(((some[:, None, :] - moved[None, :, :]) ** 2).sum(axis=2)), axis=1)
        silhouette = float((1 - near[:, 0] / np.maximum(near[:, 1], 1e-12)).mean()) if len(moved) > 1 else 0.0
        if silhouette > best + 0.01 and np.bincount(label).min() >= FEWEST:
            best, found = silhouette, moved
    return None if found is None else _closest(points, found)


def _standardised(series: pl.Series) -> np.ndarray:
    """Values in standard deviations from their mean, missing ones at it."""
    _, code, known, value = _placed(series)
    there = known[code]
    if not there.any():
        return np.zeros(len(code))
    scale = np.abs(value).max() or 1.0
    x = value[code] / scale
    spread = float(x[there].std())
    return np.where(there, x - x[there].mean(), 0.0) / (spread if spread > 0 else 1.0)


def _placed(series: pl.Series) -> tuple[Categories, np.ndarray, np.ndarray, np.ndarray]:
    """The categories and codes of a column, which of them say something, and where they stand on a line."""
    categories, code = encode(series)
    known = np.array([not says_nothing(text) for text in categories.text])
    place = categories.position
    if place is None:
        found = [NUMBERS.findall(text) if text and ok else [] for text, ok in zip(categories.text, known, strict=True)]
        if known.any() and all(found[i] for i in np.flatnonzero(known)):  # ranges and masks: what they say on average
            place = np.array([np.mean([float(x) for x in numbers]) if numbers else np.nan for numbers in found])
        else:
            place = categories.count.astype(np.float64)
    known &= np.isfinite(place)
    return categories, code, known, np.where(known, place, 0.0)


def _ranks(series: pl.Series) -> np.ndarray:
    """Mid-ranks from 0 to 1, missing values in the middle; numbers with the long tail upwards, names by frequency."""
    categories, code, known, value = _placed(series)
    if not known.any():
        return np.full(len(code), 0.5)
    weight = np.where(known, categories.count, 0)
    scale = np.abs(value).max() or 1.0
    far = value / scale - np.average(value / scale, weights=weight)
    value = -value if float((weight * far**3).sum()) < 0 else value
    levels, level = np.unique(value[known], return_inverse=True)
    count = np.bincount(level, weights=weight[known], minlength=len(levels))
    rank = np.full(len(categories), 0.5)
    rank[known] = ((np.cumsum(count) - count / 2) / count.sum())[level]
    return rank[code]


def _k_means(points: np.ndarray, k: int) -> np.ndarray:
    """Lloyd's k-means, started from k slices of equal size; points come in order of their score.

    Of a long table every so-many-th point is looked at to find the centres.
    """
    some = points[:: 1 + len(points) // SOME]
    label = np.minimum(np.arange(len(some)) * k // len(some), k - 1)
    for _ in range(ROUNDS):
        count = np.bincount(label, minlength=k)
        sums = [np.bincount(label, weights=column, minlength=k) for column in some.T]
        centre = np.stack([total[count > 0] / count[count > 0] for total in sums], axis=1)
        before, label = label, _closest(some, centre)
        if np.array_equal(before, label):
            break
    return _closest(points, centre)


def _closest(points: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """The nearest centre of each point, the first of equally near ones."""
    nearest, least = np.zeros(len(points), np.int64), np.full(len(points), np.inf)
    for i, c in enumerate(centre):
        far = ((points - c) ** 2).sum(axis=1)
        closer = far < least - 1e-12
        nearest[closer], least[closer] = i, far[closer]
    return nearest


def _profile(shape: ClusterShape) -> np.ndarray:
    """Per group: its share of the rows, and where it lies and how wide it is in ranks of the score."""
    _, level, count = np.unique(shape.score, return_inverse=True, return_counts=True)
    rank = ((np.cumsum(count) - count / 2) / count.sum())[level.reshape(-1)]
    size = np.bincount(shape.group)
    mean = np.bincount(shape.group, weights=rank) / size
    wide = np.sqrt(np.maximum(np.bincount(shape.group, weights=rank**2) / size - mean**2, 0))
    return np.stack([size / size.sum(), mean, wide], axis=1)


def _assign(theirs: np.ndarray, ours: np.ndarray) -> np.ndarray:
    """For each external group the released one assigned to it (-1: none), at the least total difference.

    The Hungarian method (Kuhn, 1955), with potentials.
    """
    cost = np.abs(theirs[:, None, :] - ours[None, :, :]).sum(axis=2)
    turned = cost.shape[0] > cost.shape[1]
    cost = cost.T if turned else cost
    rows, columns = cost.shape
    u, v = np.zeros(rows + 1), np.zeros(columns + 1)
    taken_by, way = np.zeros(columns + 1, np.int64), np.zeros(columns + 1, np.int64)
    for row in range(1, rows + 1):
        taken_by[0], column = row, 0
        least, used = np.full(columns + 1, np.inf), np.zeros(columns + 1, np.bool_)
        while True:
            used[column] = True
            slack = cost[taken_by[column] - 1] - u[taken_by[column]] - v[1:]
            better = ~used[1:] & (slack < least[1:])
            least[1:][better], way[1:][better] = slack[better], column
            following = int(np.argmin(np.where(used, np.inf, least)[1:])) + 1
            step = least[following]
            u[taken_by[used]] += step
            v[used] -= step
            least[~used] -= step
            column = following
            if taken_by[column] == 0:
                break
        while column:
            taken_by[column] = taken_by[way[column]]
            column = int(way[column])
    partner = np.full(len(theirs), -1, np.int64)
    for column in range(1, columns + 1):
        if taken_by[column]:
            one, other = int(taken_by[column]) - 1, column - 1
            partner[other if turned else one] = one if turned else other
    return partner


def _credit(pair: LinkedPair, ours: ClusterShape, theirs: ClusterShape, partner: np.ndarray) -> np.ndarray:
    """The probability that each person is linked to the right record.

    A person's rank among the people of the group, as a share, points at a record of the partner group. Equal scores
    share a stretch of ranks: the person is anywhere in it, and the record any of those with that score.
    """
    assert pair.truth is not None
    a, b, _ = _stretch(theirs)
    c, d, alike = _stretch(ours)
    row = np.maximum(pair.truth, 0)
    overlap = np.maximum(np.minimum(b, d[row]) - np.maximum(a, c[row]), 0.0)
    together = partner[theirs.group] == ours.group[row]
    credit = np.where(together, overlap / (b - a) / alike[row], 0.0)
    credit[partner[theirs.group] < 0] = 1 / pair.released.height
    return np.where(pair.truth >= 0, np.minimum(credit, 1.0), 0.0)


def _stretch(shape: ClusterShape) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Per row the start and stop, as shares of its group, of the ranks that its score takes, and how many share it."""
    order = np.lexsort((shape.score, shape.group))
    group, score = shape.group[order], shape.score[order]
    new = np.ones(len(order), np.bool_)
    new[1:] = (np.diff(group) != 0) | (np.diff(score) != 0)
    block = np.cumsum(new) - 1
    count = np.bincount(block)
    size = np.bincount(shape.group)
    first_of_group = np.concatenate([[0], np.cumsum(size)])[:-1]
    start = np.flatnonzero(new) - first_of_group[group[new]]
    low, high = start / size[group[new]], (start + count) / size[group[new]]
    found = [np.empty(len(order)) for _ in range(3)]
    for target, per_block in zip(found, (low, high, count), strict=True):
        target[order] = per_block[block]
    return found[0], found[1], found[2]
