"""CASTLE: J. Cao, B. Carminati, E. Ferrari, K.-L. Tan, CASTLE: continuously anonymizing data streams, IEEE TDSC 8(3),
2011."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from sfumato.core.compiled import inner, kernel
from sfumato.core.parameters import Whole
from sfumato.series.streams.boxes import Shape, loss_of, losses, widen
from sfumato.series.streams.values import Grouping
from sfumato.series.streams.window import (
    Outlet,
    Rules,
    Window,
    covering,
    draw,
    emit,
    emit_again,
    enough,
    new_outlet,
    new_window,
    people_in,
    place,
    ranked,
    remember,
    suppress,
    threshold,
)


@dataclass(frozen=True)
class CASTLE(Grouping):
    """Rows wait in clusters, and a cluster is published when one of its rows may wait no longer.

    A row joins the cluster that it enlarges least, if what that then loses is within tau, the mean loss of the last
    `mu` clusters that were published; else it opens one, while there are fewer than `beta`. When a row expires, its
    cluster is published, split first if it has 2k people or more; one without k people (and l values) is merged with
    the nearest ones; what cannot be merged is suppressed. By the authors' text a row of a small cluster leaves
    first under a range that was published before and covers it: here only for `reuse` arrivals after that, and never
    unless it is asked for, since such a row leaves alone. Their rule that drops a row of a cluster smaller than most is
    left out: such a cluster is merged.

    Parameters: `beta`, how many clusters wait at most; `mu`, how many published ones tau is the mean of; `reuse`, how
    many arrivals long a published range may be used again.
    """

    beta: Annotated[int, Whole(1, 10_000)] = 50
    mu: Annotated[int, Whole(1, 1_000_000)] = 100
    reuse: Annotated[int, Whole(0)] = 0

    def window(self, columns: int, sensitive: int, delay: int, k: int, seed: int) -> Window:
        """A window without rows."""
        ranges = (self.reuse + delay) // k + 2 if self.reuse else 1
        return new_window(columns, sensitive, delay, self.clusters(delay, k), self.mu, ranges, seed)

    def clusters(self, delay: int, k: int) -> int:
        """How many clusters there may be at once."""
        return self.beta + 1

    def bound(self, delay: int, k: int) -> int:
        """How many rows a cluster takes."""
        return delay + 1

    def advance(
        self, window: Window, rules: Rules, shape: Shape, first: int, rows: Sequence[np.ndarray], end: bool
    ) -> Outlet:
        """Take rows that arrive as number `first` and on, and publish what may wait no longer; all, at the end."""
        row, person, value = rows
        outlet = new_outlet(rules.delay + len(row), row.shape[1])
        bound = self.bound(rules.delay, rules.k)
        advance_castle(window, rules, shape, outlet, first, row, person, value, self.beta, bound, end)
        return outlet


@inner
def choose(window, slot, beta, bound, shape):  # type: ignore[no-untyped-def]
    """The cluster that a row joins; a free one where it opens one."""
    clusters = len(window.first)
    which, then = np.empty(clusters, np.int64), np.empty(clusters)
    many, free = 0, -1
    for c in range(clusters):
        if window.first[c] < 0:
            if free < 0:
                free = c
            continue
        if window.size[c] < bound:
            which[many] = c
            many += 1
    if many == 0:
        return free
    losses(window.lo, window.hi, which, many, window.row, window.row, slot, shape, then)
    least = np.inf
    for i in range(many):
        least = min(least, then[i] - window.loss[which[i]])
    tau, best, any_best = threshold(window), -1, -1
    for i in range(many):
        c = which[i]
        if then[i] - window.loss[c] <= least + 1e-12:
            if any_best < 0 or window.size[c] < window.size[any_best]:
                any_best = c
            if then[i] <= tau and (best < 0 or window.size[c] < window.size[best]):
                best = c
    if best >= 0:
        return best
    return any_best if many >= beta else free


@inner
def join(window, slot, c, shape):  # type: ignore[no-untyped-def]
    """Put a row into a cluster."""
    if window.first[c] < 0:
        for j in range(window.row.shape[1]):
            window.lo[c, j] = window.hi[c, j] = window.row[slot, j]
    else:
        widen(window.lo, window.hi, c, window.row, window.row, slot, shape)
    window.loss[c] = loss_of(window.lo, window.hi, c, shape)
    window.after[slot] = window.first[c]
    window.first[c], window.cluster[slot] = slot, c
    window.size[c] += 1


@inner
def leave(window, slot, c, shape):  # type: ignore[no-untyped-def]
    """Take a row out of its cluster, whose box becomes that of the others."""
    members = members_of(window, c)
    window.first[c], window.size[c] = -1, 0
    for other in members:
        if other != slot:
            join(window, other, c, shape)
    window.cluster[slot] = -1


@inner
def members_of(window, c):  # type: ignore[no-untyped-def]
    """The rows of a cluster, the oldest first."""
    members = np.empty(window.size[c], np.int64)
    slot, i = window.first[c], len(members)
    while slot >= 0:
        i -= 1
        members[i] = slot
        slot = window.after[slot]
    return members


@inner
def merged(window, c, rules, shape):  # type: ignore[no-untyped-def]
    """The rows of a cluster with those of the nearest ones, as many as it takes to be published; none where all are too
    few. Second, which clusters they are."""
    clusters = len(window.first)
    taken = np.zeros(clusters, np.bool_)
    taken[c] = True
    members = members_of(window, c)
    lo, hi = window.lo[c : c + 1].copy(), window.hi[c : c + 1].copy()
    which, then = np.empty(clusters, np.int64), np.empty(clusters)
    while not enough(window, members, rules):
        many = 0
        for other in range(clusters):
            if window.first[other] >= 0 and not taken[other]:
                which[many] = other
                many += 1
        if many == 0:
            return members[:0], taken
        losses(window.lo, window.hi, which, many, lo, hi, 0, shape, then)
        nearest = which[int(np.argmin(then[:many]))]
        taken[nearest] = True
        widen(lo, hi, 0, window.lo, window.hi, nearest, shape)
        members = np.concatenate((members, members_of(window, nearest)))
    return members, taken


@inner
def split_by_person(window, members, rules, shape):  # type: ignore[no-untyped-def]
    """The number of a part for each row: k rows of different people around a random one, while there are so many; the
    rest goes where it enlarges least. Second, how many parts there are."""
    n, k = len(members), rules.k
    members[:] = members[ranked(window.person[members])]
    start, left, people = np.empty(n, np.int64), np.zeros(n, np.int64), 0
    for i in range(n):
        if i == 0 or window.person[members[i]] != window.person[members[i - 1]]:
            start[people] = i
            people += 1
        left[people - 1] += 1
    part, parts = np.full(n, -1, np.int64), 0
    columns = window.row.shape[1]
    lo, hi = np.empty((n // k + 1, columns)), np.empty((n // k + 1, columns))
    alive, pick, slots = np.arange(people), np.empty(people, np.int64), np.empty(people, np.int64)
    near, at, far = np.empty(k), np.empty(k, np.int64), np.empty(people)
    while people >= k:
        for p in range(people):  # one row of each person, at random; those that were taken stand behind
            bucket = alive[p]
            pick[p] = start[bucket] + (draw(window.published, left[bucket]) if left[bucket] > 1 else 0)
            slots[p] = members[pick[p]]
        seed, found = draw(window.published, people), 0
        losses(window.row, window.row, slots, people, window.row, window.row, slots[seed], shape, far)
        for p in range(people):
            if p != seed and k > 1 and (found < k - 1 or far[p] < near[found - 1]):
                i = found if found < k - 1 else found - 1
                while i > 0 and near[i - 1] > far[p]:
                    near[i], at[i] = near[i - 1], at[i - 1]
                    i -= 1
                near[i], at[i] = far[p], p
                found = min(found + 1, k - 1)
        at[k - 1] = seed
        for j in range(columns):
            lo[parts, j] = hi[parts, j] = window.row[slots[seed], j]
        for i in range(k):
            p = at[i]
            bucket, chosen = alive[p], slots[p]
            widen(lo, hi, parts, window.row, window.row, chosen, shape)
            left[bucket] -= 1
            last = start[bucket] + left[bucket]
            members[pick[p]], members[last] = members[last], chosen
            part[last] = parts
        parts += 1
        stay = 0
        for p in range(people):
            if left[alive[p]] > 0:
                alive[stay] = alive[p]
                stay += 1
        people = stay
    to_nearest(window, members, part, lo, hi, parts, shape)
    return part, parts


@inner
def to_nearest(window, members, part, lo, hi, parts, shape):  # type: ignore[no-untyped-def]
    """Put the rows that are in no part where they enlarge its box least."""
    which, then, now, best = np.arange(parts), np.empty(parts), np.empty(parts), 0
    for p in range(parts):
        now[p] = loss_of(lo, hi, p, shape)
    for i in range(len(members)):
        if part[i] < 0 < parts:
            losses(lo, hi, which, parts, window.row, window.row, members[i], shape, then)
            best = int(np.argmin(then - now))
            part[i], now[best] = best, then[best]
            widen(lo, hi, best, window.row, window.row, members[i], shape)


@inner
def split_by_value(window, members, rules, shape):  # type: ignore[no-untyped-def]
    """The same for l-diverse parts: each takes of every value its share of k people around a random one, the nearest
    first, then other values until it has l, then others until it has k; one row of a person counts, with their least
    value."""
    n, k, l = len(members), rules.k, rules.l[0]
    by_value = members[ranked(window.value[members, 0])]
    members[:] = by_value[ranked(window.person[by_value])]
    heads, people = np.empty(n, np.int64), 0
    for i in range(n):
        if i == 0 or window.person[members[i]] != window.person[members[i - 1]]:
            heads[people] = i
            people += 1
    part, parts = np.full(n, -1, np.int64), 0
    columns = window.row.shape[1]
    lo, hi = np.empty((n // k + 1, columns)), np.empty((n // k + 1, columns))
    held = window.value[members[heads[:people]], 0]
    by_held, value, values = ranked(held), np.empty(people, np.int64), 0
    for i in range(people):
        values += i == 0 or held[by_held[i]] != held[by_held[i - 1]]
        value[by_held[i]] = values - 1
    there, far, slots = np.zeros(values, np.int64), np.empty(people), np.empty(people, np.int64)
    for p in range(people):
        there[value[p]] += 1
    alive = np.arange(people)
    while len(alive) >= k and (there > 0).sum() >= l:
        many = len(alive)
        for i in range(many):
            slots[i] = members[heads[alive[i]]]
        seed = draw(window.published, many)
        losses(window.row, window.row, slots, many, window.row, window.row, slots[seed], shape, far)
        far[seed] = -1.0
        order = alive[np.argsort(far[:many], kind="mergesort")]
        share, taken = k * there // many, np.zeros(values, np.int64)
        chosen, size, had = np.zeros(people, np.bool_), 0, 0
        for turn in range(3):
            for p in order:
                v = value[p]
                if turn == 0:
                    wanted = size == 0 or taken[v] < share[v]
                elif turn == 1:
                    wanted = had < l and taken[v] == 0
                else:
                    wanted = size < k
                if wanted and not chosen[p]:
                    chosen[p] = True
                    had += taken[v] == 0
                    taken[v] += 1
                    size += 1
        first = members[heads[order[0]]]
        for j in range(columns):
            lo[parts, j] = hi[parts, j] = window.row[first, j]
        stay = 0
        for q in order:
            if chosen[q]:
                part[heads[q]] = parts
                there[value[q]] -= 1
                widen(lo, hi, parts, window.row, window.row, members[heads[q]], shape)
        for q in alive:
            if not chosen[q]:
                alive[stay] = q
                stay += 1
        alive = alive[:stay]
        parts += 1
    to_nearest(window, members, part, lo, hi, parts, shape)
    return part, parts


@inner
def publish(window, members, rules, now, shape, outlet):  # type: ignore[no-untyped-def]
    """Publish rows that are enough, in parts where these are enough too."""
    if people_in(window, members) >= 2 * rules.k:
        if len(rules.l) == 0:
            part, parts = split_by_person(window, members, rules, shape)
        else:
            part, parts = split_by_value(window, members, rules, shape)
        fine = parts > 1
        for p in range(parts):
            fine = fine and enough(window, members[part == p], rules)
        if fine:
            for p in range(parts):
                loss = emit(window, members[part == p], rules, now, shape, outlet)
                remember(window, loss, rules, now, outlet)
            return
    loss = emit(window, members, rules, now, shape, outlet)
    remember(window, loss, rules, now, outlet)


@inner
def expire(window, slot, rules, now, shape, outlet):  # type: ignore[no-untyped-def]
    """A row may wait no longer."""
    c = window.cluster[slot]
    if rules.reuse > 0 and not enough(window, members_of(window, c), rules):
        at = covering(window, slot, rules, now, shape)
        if at >= 0:
            leave(window, slot, c, shape)
            emit_again(window, slot, at, rules, now, outlet)
            return
    members, taken = merged(window, c, rules, shape)
    if len(members) == 0:
        leave(window, slot, c, shape)
        suppress(window, slot, rules, now, outlet)
        return
    for other in range(len(taken)):
        if taken[other]:
            window.first[other], window.size[other] = -1, 0
    publish(window, members, rules, now, shape, outlet)


@kernel
def advance_castle(window, rules, shape, outlet, first, row, person, value, beta, bound, end):  # type: ignore[no-untyped-def]
    """Take rows as they arrive, and publish what may wait no longer."""
    now = first - 1
    for i in range(len(row)):
        now = first + i
        slot = now % rules.delay
        place(window, row[i], person[i], value[i], slot)
        join(window, slot, choose(window, slot, beta, bound, shape), shape)
        oldest = now - rules.delay + 1
        if oldest >= 0 and window.waits[oldest % rules.delay]:
            expire(window, oldest % rules.delay, rules, now, shape, outlet)
    if end:
        for oldest in range(max(now - rules.delay + 1, 0), now + 1):
            if window.waits[oldest % rules.delay]:
                expire(window, oldest % rules.delay, rules, now, shape, outlet)
