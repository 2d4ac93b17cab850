"""The window: rows that arrived and were not yet published, at most `delay` of them, and what leaves it.

A row that arrived as number a stands in slot a modulo `delay`, which is free by then: it left before `delay` newer rows
had arrived.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.core.compiled import inner
from sfumato.series.streams.boxes import covers, loss_of, widen


class Window(NamedTuple):
    """The rows that wait, by slot, and the clusters that they are in."""

    row: np.ndarray  # float64 (delay, columns): values or nodes
    person: np.ndarray  # int64: equal for rows of one person
    value: np.ndarray  # int64 (delay, sensitive): equal for equal values
    waits: np.ndarray  # bool
    cluster: np.ndarray  # int32 per slot, -1 where it is in none
    after: np.ndarray  # int32 per slot: the next row of its cluster, -1 at its end
    first: np.ndarray  # int32 per cluster: its first row, -1 where the cluster is free
    size: np.ndarray  # int32 per cluster
    lo: np.ndarray  # float64 (clusters, columns)
    hi: np.ndarray
    loss: np.ndarray  # float64 per cluster
    tau: np.ndarray  # the losses of the clusters that were published last, in a ring, and how many there were
    published: np.ndarray  # int64: [clusters published, state of the random numbers, next place among ranges to reuse]
    old_lo: np.ndarray  # published ranges that may be used again, in a ring
    old_hi: np.ndarray
    old_loss: np.ndarray
    old_when: np.ndarray  # int64: the arrival at which they were published, far back where there is none


class Rules(NamedTuple):
    """What is asked of a published cluster, and how long rows wait."""

    k: int
    l: np.ndarray  # int64 per sensitive column that is looked at
    delay: int
    reuse: int  # how many arrivals long a published range may be used again


class Outlet(NamedTuple):
    """What leaves the window in one go."""

    row: np.ndarray  # int64: arrivals
    of: np.ndarray  # int64: the class of each
    when: np.ndarray  # int64: the arrival at which it left
    lo: np.ndarray  # float64 (classes, columns)
    hi: np.ndarray
    loss: np.ndarray  # float64 per class
    gone: np.ndarray  # int64: arrivals that were suppressed
    counts: np.ndarray  # int64: how many rows, classes and suppressed rows there are


FAR = -(2**62)


def new_window(columns: int, sensitive: int, delay: int, clusters: int, mu: int, ranges: int, seed: int) -> Window:
    """A window without rows."""
    return Window(
        row=np.zeros((delay, columns)),
        person=np.zeros(delay, np.int64),
        value=np.zeros((delay, sensitive), np.int64),
        waits=np.zeros(delay, np.bool_),
        cluster=np.full(delay, -1, np.int32),
        after=np.full(delay, -1, np.int32),
        first=np.full(clusters, -1, np.int32),
        size=np.zeros(clusters, np.int32),
        lo=np.zeros((clusters, columns)),
        hi=np.zeros((clusters, columns)),
        loss=np.zeros(clusters),
        tau=np.zeros(mu),
        published=np.array([0, seed, 0], np.int64),
        old_lo=np.zeros((ranges, columns)),
        old_hi=np.zeros((ranges, columns)),
        old_loss=np.zeros(ranges),
        old_when=np.full(ranges, FAR, np.int64),
    )


def new_outlet(rows: int, columns: int) -> Outlet:
    """Room for so many rows to leave."""
    return Outlet(
        row=np.empty(rows, np.int64),
        of=np.empty(rows, np.int64),
        when=np.empty(rows, np.int64),
        lo=np.empty((rows, columns)),
        hi=np.empty((rows, columns)),
        loss=np.empty(rows),
        gone=np.empty(rows, np.int64),
        counts=np.zeros(3, np.int64),
    )


@inner
def draw(published, below):  # type: ignore[no-untyped-def]
    """A random number below a bound (xorshift, Marsaglia 2003)."""
    x = np.uint64(published[1])
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    published[1] = np.int64(x)
    return int((x >> np.uint64(11)) % np.uint64(below))


@inner
def threshold(window):  # type: ignore[no-untyped-def]
    """Tau: the mean loss of the clusters that were published last; 0 before there is one."""
    many = min(window.published[0], len(window.tau))
    return window.tau[:many].sum() / many if many else 0.0


@inner
def place(window, row, person, value, slot):  # type: ignore[no-untyped-def]
    """Let a row wait in its slot, in no cluster."""
    window.row[slot] = row
    window.person[slot] = person
    window.value[slot] = value
    window.waits[slot] = True
    window.cluster[slot] = -1


@inner
def ranked(numbers):  # type: ignore[no-untyped-def]
    """The places of whole numbers in their order; equal ones as they stand."""
    return np.argsort(numbers, kind="mergesort")


@inner
def different(numbers):  # type: ignore[no-untyped-def]
    """How many different ones there are among some whole numbers."""
    found, count = np.sort(numbers), min(len(numbers), 1)
    for i in range(1, len(found)):
        count += found[i] != found[i - 1]
    return count


@inner
def people_in(window, members):  # type: ignore[no-untyped-def]
    """How many different people some rows are of."""
    return different(window.person[members])


@inner
def values_in(window, members, j):  # type: ignore[no-untyped-def]
    """How many different values of a sensitive column some rows have, of which each person holds one: the least of
    theirs. At least so many different people hold different values."""
    order = ranked(window.person[members])
    held, count = np.empty(len(members), np.int64), 0
    for i in range(len(order)):
        slot = members[order[i]]
        if i and window.person[slot] == window.person[members[order[i - 1]]]:
            held[count - 1] = min(held[count - 1], window.value[slot, j])
        else:
            held[count] = window.value[slot, j]
            count += 1
    return different(held[:count])


@inner
def enough(window, members, rules):  # type: ignore[no-untyped-def]
    """Whether rows may be published as one class."""
    if len(members) < rules.k or people_in(window, members) < rules.k:
        return False
    for j in range(len(rules.l)):  # noqa: SIM110
        if values_in(window, members, j) < rules.l[j]:
            return False
    return True


@inner
def emit(window, members, rules, now, shape, outlet):  # type: ignore[no-untyped-def]
    """Publish rows as a class of their own, under the least box around them alone."""
    rows, classes = outlet.counts[0], outlet.counts[1]
    for j in range(window.row.shape[1]):
        outlet.lo[classes, j] = outlet.hi[classes, j] = window.row[members[0], j]
    for slot in members:
        widen(outlet.lo, outlet.hi, classes, window.row, window.row, slot, shape)
        outlet.row[rows] = arrival(slot, now, rules.delay)
        outlet.of[rows] = classes
        outlet.when[rows] = now
        window.waits[slot] = False
        window.cluster[slot] = -1
        rows += 1
    loss = loss_of(outlet.lo, outlet.hi, classes, shape)
    outlet.loss[classes] = loss
    outlet.counts[0], outlet.counts[1] = rows, classes + 1
    return loss


@inner
def remember(window, loss, rules, now, outlet):  # type: ignore[no-untyped-def]
    """Count the class that was just published into tau, and keep its range for reuse if it loses less than tau."""
    number = window.published[0]
    good = loss < threshold(window) or number == 0
    window.tau[number % len(window.tau)] = loss
    window.published[0] = number + 1
    if rules.reuse > 0 and good:
        at = window.published[2]
        window.old_lo[at] = outlet.lo[outlet.counts[1] - 1]
        window.old_hi[at] = outlet.hi[outlet.counts[1] - 1]
        window.old_loss[at] = loss
        window.old_when[at] = now
        window.published[2] = (at + 1) % len(window.old_when)


@inner
def covering(window, slot, rules, now, shape):  # type: ignore[no-untyped-def]
    """The published range of least loss that covers a row and may still be used; -1 where there is none."""
    best = -1
    if rules.reuse > 0:
        for at in range(len(window.old_when)):
            fits = window.old_when[at] >= now - rules.reuse and (
                best < 0 or window.old_loss[at] < window.old_loss[best]
            )
            if fits and covers(window.old_lo, window.old_hi, at, window.row, slot, shape):
                best = at
    return best


@inner
def emit_again(window, slot, at, rules, now, outlet):  # type: ignore[no-untyped-def]
    """Publish a row under a range that was published before."""
    rows, classes = outlet.counts[0], outlet.counts[1]
    outlet.lo[classes], outlet.hi[classes] = window.old_lo[at], window.old_hi[at]
    outlet.loss[classes] = window.old_loss[at]
    outlet.row[rows], outlet.of[rows], outlet.when[rows] = arrival(slot, now, rules.delay), classes, now
    outlet.counts[0], outlet.counts[1] = rows + 1, classes + 1
    window.waits[slot] = False
    window.cluster[slot] = -1


@inner
def suppress(window, slot, rules, now, outlet):  # type: ignore[no-untyped-def]
    """Drop a row that cannot be placed."""
    outlet.gone[outlet.counts[2]] = arrival(slot, now, rules.delay)
    outlet.counts[2] += 1
    window.waits[slot] = False
    window.cluster[slot] = -1


@inner
def arrival(slot, now, delay):  # type: ignore[no-untyped-def]
    """The number of the row in a slot: the last one up to now that falls there."""
    return now - (now - slot) % delay
