"""Runs: sums and maxima over the runs of a sparse histogram, without a loop over classes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sfumato.core.protocols import HistogramView, ValueLimits

ROUNDING = 1e-9  # of bounds, which may be too low but not too high
STEPS = 4  # towards the most rows that a class can keep; each is a bound


def run_sums(x: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Sum of x over each run start[c]:start[c + 1]; an empty run sums to 0.

    >>> run_sums(np.array([1, 2, 3]), np.array([0, 2, 2, 3])).tolist()
    [3, 0, 3]
    """
    return _reduced(np.add, x, start)


def run_maxima(x: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Greatest x of each run; 0 for an empty run.

    >>> run_maxima(np.array([1, 2, 3]), np.array([0, 2, 2, 3])).tolist()
    [2, 0, 3]
    """
    return _reduced(np.maximum, x, start)


def run_of(start: np.ndarray) -> np.ndarray:
    """The run that each entry belongs to.

    >>> run_of(np.array([0, 2, 2, 3])).tolist()
    [0, 0, 2]
    """
    return np.repeat(np.arange(len(start) - 1), np.diff(start))


def _reduced(how: np.ufunc, x: np.ndarray, start: np.ndarray) -> np.ndarray:
    filled = start[1:] > start[:-1]  # reduceat gives x[start] for an empty run: those are left out
    if len(filled) and filled.all():
        whole: np.ndarray = how.reduceat(x, start[:-1])
        return whole
    out = np.zeros(len(filled), dtype=x.dtype)
    if filled.any():
        out[filled] = how.reduceat(x, start[:-1][filled])
    return out


def most_rows(size: np.ndarray, histogram: HistogramView, cap: np.ndarray, share: float = 1.0) -> np.ndarray:
    """How many rows of each class can stay at most where, of the n that stay, those of value v count up to cap[v] n,
    and what counts must be a `share` of n.

    n is at most the sum of min(count, cap n) divided by the share, for any n from above: those that count in full, and
    n times the caps of the others. This is solved for n, and repeated.

    >>> from sfumato.testing.classes import search_side
    >>> classes = search_side([["x", "x", "x", "x", "y"]])
    >>> most_rows(classes.size, classes.histogram("s"), np.array([0.5, 0.5])).tolist()
    [2]
    """
    most, rest = size.astype(np.float64), np.arange(len(size))
    of, start, count, limit = run_of(histogram.start), histogram.start, histogram.count, cap[histogram.value]
    for _ in range(STEPS):
        capped = limit * most[of] < count
        full, caps = run_sums(count * ~capped, start), run_sums(limit * capped, start)
        with np.errstate(divide="ignore", invalid="ignore"):
            less = np.floor(full / (share - caps) * (1 + ROUNDING) + ROUNDING)
        lower = (caps < share) & (less < most[rest])
        if not lower.any():
            break
        most[rest[lower]] = less[lower]
        if 4 * np.count_nonzero(lower) < 3 * len(rest):  # the others are where they stay
            width = np.diff(start)
            inside = np.repeat(lower, width)
            start = np.concatenate([[0], np.cumsum(width[lower])])
            rest, of, count, limit = rest[lower], of[inside], count[inside], limit[inside]
    return most.astype(np.int64)


def most_rows_within(size: np.ndarray, histogram: HistogramView, divergence: float) -> np.ndarray:
    """How many rows of each class can stay at most where their Kullback-Leibler divergence is to be within a bound.

    Of all choices of m rows min(count, x q) of each value diverge least, for the x that makes them m, and the more rows
    the more: where they exceed the bound, fewer stay. x is halved in.

    >>> from sfumato.testing.classes import search_side
    >>> classes = search_side([["x"] * 9 + ["y"]], ["y"] * 8)
    >>> most_rows_within(classes.size, classes.histogram("s"), 0.0).tolist()
    [2]
    """
    of, start, count = run_of(histogram.start), histogram.start, histogram.count
    share = histogram.overall / histogram.overall.sum()
    with np.errstate(divide="ignore"):
        q, terms = share[histogram.value], count * (np.log(count) - np.log(share)[histogram.value])
    low, high = np.zeros(len(size)), run_maxima(count / q, start)
    for _ in range(STEPS):
        x = (low + high) / 2
        capped = q * x[of] < count
        shares = run_sums(q * capped, start)
        rows = np.maximum(run_sums(count * ~capped, start) + x * shares, ROUNDING)
        sums = run_sums(terms * ~capped, start) + x * np.log(np.maximum(x, ROUNDING)) * shares
        beyond = sums / rows - np.log(rows) > divergence + ROUNDING
        low, high = np.where(beyond, low, x), np.where(beyond, x, high)
    stay = run_sums(np.minimum(count, q * high[of]), start)
    return np.minimum(np.floor(stay * (1 + ROUNDING) + ROUNDING), size).astype(np.int64)


def share_limits(low: np.ndarray, high: np.ndarray, cap: np.ndarray) -> ValueLimits:
    """Limits of the share of each value in a class alone, and of the rows with it among those that stay."""
    return ValueLimits(low, high, cap, np.full(len(low), np.inf), np.zeros(len(low)))


def within_shares(size: np.ndarray, histogram: HistogramView, limits: ValueLimits) -> np.ndarray:
    """Whether each value v of a class has more than low[v] n and at most high[v] n of its n rows, or none, and it has
    enough values.

    >>> from sfumato.testing.classes import search_side
    >>> classes = search_side([["x", "x", "y"], ["x", "y"]])
    >>> half = share_limits(np.zeros(2), np.full(2, 0.5), np.full(2, 0.5))
    >>> within_shares(classes.size, classes.histogram("s"), half).tolist()
    [False, True]
    """
    n, value, count = size[run_of(histogram.start)], histogram.value, histogram.count
    outside = (count > limits.high[value] * n) | (count <= limits.low[value] * n)
    found: np.ndarray = ~run_maxima(outside, histogram.start) & (size > 0)
    return found & (np.diff(histogram.start) >= limits.distinct)


def equal(size: np.ndarray, histogram: HistogramView) -> np.ndarray:
    """1/2 sum |p - q|, which is the sum of p - q over the values with p > q: those are in the class."""
    of = run_of(histogram.start)
    excess = histogram.count / size[of] - (histogram.overall / histogram.overall.sum())[histogram.value]
    return run_sums(np.maximum(excess, 0.0), histogram.start)


def kullback_leibler(size: np.ndarray, histogram: HistogramView) -> np.ndarray:
    """Sum p ln(p/q)."""
    with np.errstate(divide="ignore"):  # q is 0 only for values that the whole table lacks: infinitely far
        log_q = np.log(histogram.overall / histogram.overall.sum())
    # with counts r of n records: the sum of r/n ln(r/n/q) is (sum of r (ln r - ln q))/n - ln n
    terms = histogram.count * (np.log(histogram.count) - log_q[histogram.value])
    n = np.maximum(size, 1)
    return run_sums(terms, histogram.start) / n - np.log(n)


def ordered(size: np.ndarray, histogram: HistogramView) -> np.ndarray:
    """1/(m-1) sum over i of |P(i) - Q(i)|, with P and Q the cumulated distributions over the m values in order.

    From one value of the class to its next, P is constant and Q rises: |P - Q| is P - Q up to the place where Q
    reaches P and Q - P after it, and both stretches have closed sums through the running sum of Q. That running sum
    is kept in whole numbers, so that nothing cancels.
    """
    m = len(histogram.overall)
    if m < 2:
        return np.zeros(len(size))
    start, first = histogram.start, histogram.value.astype(np.int64)
    of = run_of(start)
    rising = np.cumsum(histogram.overall)
    area = np.concatenate([[0], np.cumsum(rising)])  # area[j] = sum of rising[:j]
    total = rising[-1]
    running = np.concatenate([[0], np.cumsum(histogram.count)])
    level = (running[1:] - running[start[:-1]][of]) / size[of]  # P from this value on
    after = np.append(first[1:], m)
    after[start[1:][start[1:] > start[:-1]] - 1] = m  # the last stretch of a class ends with the values
    turn = np.clip(np.searchsorted(rising / total, level), first, after)
    below = level * (turn - first) - (area[turn] - area[first]) / total
    above = (area[after] - area[turn]) / total - level * (after - turn)
    head = np.zeros(len(size))  # before the first value of the class P is 0
    filled = start[1:] > start[:-1]
    head[filled] = area[first[start[:-1][filled]]] / total
    found: np.ndarray = (run_sums(below + above, start) + head) / (m - 1)
    return found


def hierarchical(size: np.ndarray, histogram: HistogramView) -> np.ndarray:
    """Sum over inner nodes N of height(N)/H min(pos_extra(N), neg_extra(N)).

    min(pos, neg) of a node is pos - max(extra, 0), as extra = pos - neg. Summed over a level, pos is the sum of the
    positive extras one level below, so the costs telescope: the distance is the mean, over the levels below the root,
    of the sum of positive extras; and a node with a positive extra is one that the class has.
    """
    assert histogram.ancestor is not None
    height = len(histogram.ancestor) - 1
    found = np.zeros(len(size))
    if height == 0:
        return found
    of = run_of(histogram.start)
    for ancestor in histogram.ancestor[:-1]:
        nodes = int(ancestor.max(initial=0)) + 1
        q = np.bincount(ancestor, weights=histogram.overall, minlength=nodes) / histogram.overall.sum()
        pair = of * nodes + ancestor[histogram.value]
        if len(size) * nodes <= 4 * len(pair):
            rows = np.bincount(pair, weights=histogram.count, minlength=len(size) * nodes).reshape(len(size), nodes)
            found += np.maximum(rows / size[:, None] - q, 0.0).sum(axis=1)
            continue
        order = np.argsort(pair, kind="stable") if (np.diff(pair) < 0).any() else slice(None)
        pair, count = pair[order], histogram.count[order]
        first = np.flatnonzero(np.concatenate([[True], pair[1:] != pair[:-1]])) if len(pair) else np.zeros(0, np.int64)
        sums = np.add.reduceat(count, first) if len(first) else count
        at, node = np.divmod(pair[first], nodes)
        extra = sums / size[at] - q[node]
        found += np.bincount(at, weights=np.maximum(extra, 0.0), minlength=len(size))
    return found / height


SEARCHED: dict[str, Callable[[np.ndarray, HistogramView], np.ndarray]] = {
    "equal": equal,
    "ordered": ordered,
    "hierarchical": hierarchical,
    "kl": kullback_leibler,
}
