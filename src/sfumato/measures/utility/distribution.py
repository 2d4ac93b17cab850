"""Distances between the distributions of columns and of classes in the original and in the release."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np

from sfumato.core.compiled import kernel
from sfumato.core.parameters import OneOf, checked
from sfumato.core.wording import count
from sfumato.measures.arguments import HIERARCHIES, KEY, ORIGINAL, QUASI, RELEASED, ROWS, SOME_COLUMNS
from sfumato.measures.measure import Measure
from sfumato.measures.utility.column import ComparedColumn
from sfumato.measures.utility.pair import Boxes, Pair, pair_of


def implied(pair: Pair, names: Sequence[str], found: Boxes) -> np.ndarray:
    """Per original cell, the log of how many released rows it would have if each were spread evenly over its box.

    Logs, for a box of many columns may have more cells than a number can say; -inf where no box covers the cell. Boxes
    may overlap. Those with the same first labels share the cells that these cover, and so do cells their first values.
    """
    columns = [pair.column(name) for name in names]
    if not columns or not found.boxes.shape[1] or not found.cells.shape[1]:
        return np.full(found.cells.shape[1], -np.inf)
    weight = np.log(found.box_count)
    for column, label in zip(columns, found.boxes, strict=True):
        weight -= np.log(np.maximum(column.size, 1))[label]
    # columns whose labels say the most first: they leave the fewest cells to look at
    order = sorted(
        range(len(columns)), key=lambda i: float((columns[i].size * columns[i].count).sum()) / columns[i].values
    )
    by_cell, by_box = np.lexsort(found.cells[order[::-1]]), np.lexsort(found.boxes[order[::-1]])
    wide = np.cumsum([0, *(len(columns[i].support) for i in order)])
    labels = np.cumsum([0, *(len(columns[i].text) for i in order)])
    members = [columns[i].members for i in order]
    start = np.cumsum([0, *(size for i in order for size in columns[i].size)])
    total = np.full(len(by_cell), -np.inf)
    add_boxes(
        *_prefixes(found.cells[order][:, by_cell]), *_prefixes(found.boxes[order][:, by_box]), weight[by_box],
        np.concatenate(members).astype(np.int64), start.astype(np.int64), labels, wide, total,
    )  # fmt: skip
    return total[np.argsort(by_cell)]


def _prefixes(tuples: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The distinct prefixes of sorted tuples, by their length: the last entry of each, and where those that go on from
    it begin; prefixes of length d + 1 are those from first[d] to first[d + 1]."""
    new = np.zeros(tuples.shape[1], np.bool_)
    new[0] = True
    at, codes = [], []
    for row in tuples:
        new[1:] |= row[1:] != row[:-1]
        at.append(np.flatnonzero(new))
        codes.append(row[at[-1]])
    first = np.cumsum([0, *map(len, at)])
    after = [np.searchsorted(at[d + 1], at[d]) + first[d + 1] for d in range(len(at) - 1)]
    begin = np.concatenate([*after, np.arange(len(at[-1])), [0]])  # the last ones are whole tuples, by number
    return np.concatenate(codes).astype(np.int64), begin.astype(np.int64), first.astype(np.int64)


@kernel
def add_boxes(
    code: np.ndarray,
    begin: np.ndarray,
    first: np.ndarray,
    label: np.ndarray,
    box_begin: np.ndarray,
    box_first: np.ndarray,
    weight: np.ndarray,
    members: np.ndarray,
    start: np.ndarray,
    labels: np.ndarray,
    wide: np.ndarray,
    total: np.ndarray,
) -> None:
    """Add the weight of each box, a log, to the cells that it covers.

    Prefixes of boxes are walked in depth; those of cells that fit the boxes so far are listed for each length.
    """
    depths = len(first) - 1
    inside = np.zeros(wide[depths], np.bool_)
    fits = np.empty(first[depths] + 1, np.int64)  # the prefixes of length d + 1 that fit stand from first[d] on
    many = np.zeros(depths, np.int64)
    here, stop = np.zeros(depths, np.int64), np.zeros(depths, np.int64)
    here[0], stop[0], d = 0, box_first[1], 0
    while d >= 0:
        if here[d] == stop[d]:
            d -= 1
            continue
        box = here[d]
        here[d] += 1
        of = labels[d] + label[box]
        for m in range(start[of], start[of + 1]):
            inside[wide[d] + members[m]] = True
        found = first[d]
        for f in range(1 if d == 0 else many[d - 1]):
            if d == 0:
                a, b = 0, first[1]
            else:
                parent = fits[first[d - 1] + f]
                a = begin[parent]
                b = begin[parent + 1] if parent + 1 < first[d] else first[d + 1]
            for c in range(a, b):
                if inside[wide[d] + code[c]]:
                    fits[found] = c
                    found += 1
        many[d] = found - first[d]
        for m in range(start[of], start[of + 1]):
            inside[wide[d] + members[m]] = False
        if many[d] == 0:
            continue
        if d == depths - 1:
            more = weight[box_begin[box]]
            for f in range(first[d], found):
                i = begin[fits[f]]
                low, high = min(total[i], more), max(total[i], more)
                total[i] = high + np.log1p(np.exp(low - high))
        else:
            d += 1
            here[d] = box_begin[box]
            stop[d] = box_begin[box + 1] if box + 1 < box_first[d] else box_first[d + 1]


MEANING = {
    "total-variation": "the share of records that would have to change to undo it",
    "hellinger": "0 is the same, 1 is no value in common",
    "jensen-shannon": "0 is the same, 1 is no value in common",
    "kolmogorov-smirnov": "the most by which the share of records up to any value differs",
    "wasserstein": "how far values moved, as a share of their range",
}
DISTANCES = tuple(MEANING)
BINS = 20  # of a numeric column with more than FEW values, by quantiles of the original
FEW = 50


@checked
def distribution_distance(
    original: Annotated[Any, ORIGINAL],
    released: Annotated[Any, RELEASED] = None,
    columns: Annotated[Any, SOME_COLUMNS] = None,
    *,
    distance: Annotated[
        str, OneOf(DISTANCES, help="how the distance of two distributions is taken")
    ] = "total-variation",
    hierarchies: Annotated[Mapping[str, Any] | None, HIERARCHIES] = None,
    rows: Annotated[Sequence[int] | np.ndarray | None, ROWS] = None,
    key: Annotated[str | None, KEY] = None,
) -> Measure:
    """How far the distribution of each column moved, in 0..1, and the mean over the columns. No alignment is needed.

    With p and q the shares of each value before and after, a released row spread evenly over what its label covers:
    "total-variation" 1/2 sum abs(p - q); "hellinger" sqrt(1/2 sum (sqrt p - sqrt q)^2); "jensen-shannon" the divergence
    in bits; "kolmogorov-smirnov" the greatest difference of the cumulated shares (ordered columns); "wasserstein" the
    earth mover's distance of numbers and dates over the range of the original, 1 at most, its plain value in the
    details. The first three put a numeric column of more than 50 values into 20 bins of equal frequency.

    >>> distribution_distance({"a": ["x", "x", "y", "y"]}, {"a": ["x", "x", "x", "y"]}).value
    0.25
    """
    pair = pair_of(original, released, rows=rows, key=key, hierarchies=hierarchies)
    found = {name: distances(pair.column(name)) for name in pair.names(columns)}
    per_column = {name: of[distance] for name, of in found.items() if distance in of}
    if not per_column:
        sentence = f"There is no {distance} distance: no column is ordered."
        return Measure(distance, math.nan, (0.0, 1.0), sentence)
    value = float(np.mean(list(per_column.values())))
    worst = max(per_column, key=per_column.__getitem__)
    sentence = (
        f"The distributions of {count(len(per_column), 'column')} moved by {value:.3f} on average, on a scale from 0 "
        f'to 1 ({distance}: {MEANING[distance]}); that of "{worst}" most, by {per_column[worst]:.3f}.'
    )
    details: dict[str, Any] = {"per_column": per_column, "percent": 100 * value}
    if distance == "wasserstein":
        details["plain"] = {name: of["wasserstein-plain"] for name, of in found.items() if "wasserstein-plain" in of}
    return Measure(distance, value, (0.0, 1.0), sentence, details=details)


def distances(column: ComparedColumn) -> dict[str, float]:
    """All distances of one column; those of ordered columns only where it is one."""
    p, q = _binned(column)
    middle = (p + q) / 2
    found = {
        "total-variation": float(np.abs(p - q).sum() / 2),
        "hellinger": float(min(1.0, math.sqrt(((np.sqrt(p) - np.sqrt(q)) ** 2).sum() / 2))),
        "jensen-shannon": float(min(1.0, max(0.0, (_bits(p, middle) + _bits(q, middle)) / 2))),
    }
    if column.place is None:
        return found
    known = np.isfinite(column.place)
    place, before, after = column.place[known], column.before[known], column.after[known]
    if not before.sum() or not after.sum():
        return found
    order = np.argsort(place, kind="stable")
    place = place[order]
    gap = np.abs(np.cumsum(before[order]) / before.sum() - np.cumsum(after[order]) / after.sum())
    last = np.append(place[1:] > place[:-1], True)  # equal places count once
    found["kolmogorov-smirnov"] = float(gap[last].max())
    with np.errstate(over="ignore"):
        plain = float((gap[:-1] * np.diff(place)).sum())
        span = float(np.ptp(place[before[order] > 0]))
    if math.isfinite(plain) and math.isfinite(span):
        found["wasserstein-plain"] = plain
        found["wasserstein"] = min(1.0, plain / span) if span > 0 else float(plain > 0)
    return found


def _binned(column: ComparedColumn) -> tuple[np.ndarray, np.ndarray]:
    """The shares before and after, per value, or per bin of an ordered column with many values."""
    if column.place is None or len(column.support) <= FEW:
        return column.before, column.after
    bin_of, bins = column.bins(BINS)
    p, q = (np.bincount(bin_of, weights=x, minlength=bins) for x in (column.before, column.after))
    return p, q


def _bits(p: np.ndarray, q: np.ndarray) -> float:
    there = p > 0
    return float((p[there] * np.log2(p[there] / q[there])).sum())


@checked
def kl_divergence(
    original: Annotated[Any, ORIGINAL],
    released: Annotated[Any, RELEASED] = None,
    quasi: Annotated[Any, QUASI] = None,
    *,
    hierarchies: Annotated[Mapping[str, Any] | None, HIERARCHIES] = None,
    rows: Annotated[Sequence[int] | np.ndarray | None, ROWS] = None,
    key: Annotated[str | None, KEY] = None,
) -> Measure:
    """Sum over tuples of p ln(p/q), p their share in the original and q the one that the release implies.

    The release implies that a row is any tuple of original values that its labels cover, with the same chance, and a
    suppressed row any tuple of the whole domain. 0 where the release gives the joint distribution exactly. It is
    infinite where the release rules out a tuple that the original has, as values with noise do. The greatest finite
    value stated is that of a release that says nothing.

    >>> round(kl_divergence({"a": [1, 2], "b": [1, 2]}, {"a": [1, 2], "b": ["*", "*"]}, ["a", "b"]).value, 4)  # ln 2
    0.6931
    """
    pair = pair_of(original, released, rows=rows, key=key, hierarchies=hierarchies)
    names = pair.changed() if quasi is None else pair.names(quasi, "quasi")
    found = pair.boxes(names)
    n = int(found.cell_count.sum())
    log_domain = sum(math.log(pair.column(name).values) for name in names)  # the domain itself may be past all numbers
    spread = implied(pair, names, found)
    if pair.suppressed:
        spread = np.logaddexp(spread, math.log(pair.suppressed) - log_domain)
    log_q = spread - math.log(pair.released_rows + pair.suppressed)
    p, log_p = found.cell_count / n, np.log(found.cell_count) - math.log(n)
    value = max(float((p * (log_p - log_q)).sum()), 0.0)
    most = max(float((p * log_p).sum()) + log_domain, 0.0)
    if math.isinf(value):
        lost = int(found.cell_count[np.isinf(log_q)].sum())
        sentence = (
            f"The release rules out the quasi-identifiers of {lost} of {n} original records, as values that were "
            "replaced do: the divergence has no bound."
        )
    else:
        sentence = (
            f"The distribution of {count(len(names), 'column')} together that the release implies is {value:.4g} nats "
            f"away from the original (0: the same); a release that says nothing would be {most:.4g} away."
        )
    return Measure("kl-divergence", value, (0.0, math.inf), sentence, baseline=most, details={"columns": list(names)})
