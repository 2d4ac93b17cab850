"""FADS: K. Guo, Q. Zhang, Fast clustering-based anonymization approaches with time constraints for data streams,
Knowledge-Based Systems 46, 2013."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from sfumato.core.compiled import inner, kernel
from sfumato.core.parameters import Whole
from sfumato.series.streams.boxes import Shape, losses, widen
from sfumato.series.streams.values import Grouping
from sfumato.series.streams.window import (
    Outlet,
    Rules,
    Window,
    covering,
    emit,
    emit_again,
    enough,
    new_outlet,
    new_window,
    place,
    remember,
    suppress,
)


@dataclass(frozen=True)
class FADS(Grouping):
    """A row that may wait no longer is published with the nearest rows of k - 1 other people, in time linear in the
    delay.

    Where the group lacks values of a sensitive column, the nearest rows of other people that have others come to it. By
    the authors' text the row leaves alone instead, under a published range that covers it and loses less than the
    group: here only for `reuse` arrivals after that was published, and never unless it is asked for. A row that
    cannot be placed is suppressed.

    Parameters: `reuse`, how many arrivals long a published range may be used again.
    """

    reuse: Annotated[int, Whole(0)] = 0

    def window(self, columns: int, sensitive: int, delay: int, k: int, seed: int) -> Window:
        """A window without rows."""
        ranges = (self.reuse + delay) // k + 2 if self.reuse else 1
        return new_window(columns, sensitive, delay, 1, 1, ranges, seed)

    def advance(
        self, window: Window, rules: Rules, shape: Shape, first: int, rows: Sequence[np.ndarray], end: bool
    ) -> Outlet:
        """Take rows that arrive as number `first` and on, and publish what may wait no longer; all, at the end."""
        row, person, value = rows
        outlet = new_outlet(rules.delay + len(row), row.shape[1])
        advance_fads(window, rules, shape, outlet, first, row, person, value, end)
        return outlet


@inner
def around(window, slot, rules, shape):  # type: ignore[no-untyped-def]
    """The rows that a row is published with, itself first; none where there are too few."""
    others, many, k = np.empty(rules.delay, np.int64), 0, rules.k
    for other in range(rules.delay):
        if window.waits[other] and window.person[other] != window.person[slot]:
            others[many] = other
            many += 1
    far = np.empty(many)
    losses(window.row, window.row, others, many, window.row, window.row, slot, shape, far)
    near, at, found = np.empty(k), np.empty(k, np.int64), 0
    for i in range(many):
        if found == k - 1 and (k == 1 or far[i] >= near[found - 1]):
            continue
        known = -1
        for p in range(found):
            if window.person[others[at[p]]] == window.person[others[i]]:
                known = p
        if known >= 0 and near[known] <= far[i]:
            continue
        p = known if known >= 0 else min(found, k - 2)  # the place that becomes free
        while p > 0 and near[p - 1] > far[i]:
            near[p], at[p] = near[p - 1], at[p - 1]
            p -= 1
        near[p], at[p] = far[i], i
        if known < 0:
            found = min(found + 1, k - 1)
    if found < k - 1:
        return others[:0]
    room = k
    for j in range(len(rules.l)):
        room += rules.l[j]
    members, size = np.empty(room, np.int64), k
    members[0] = slot
    for p in range(k - 1):
        members[p + 1] = others[at[p]]
    for j in range(len(rules.l)):
        while differ(window, members, size, j) < rules.l[j]:
            best = -1
            for i in range(many):
                if (best < 0 or far[i] < far[best]) and brings(window, members, size, others[i], j):
                    best = i
            if best < 0:
                return others[:0]
            members[size] = others[best]
            size += 1
    return members[:size]


@inner
def differ(window, members, size, j):  # type: ignore[no-untyped-def]
    """How many different values some rows have, each of a person of its own."""
    count = 0
    for i in range(size):
        new = True
        for other in range(i):
            new = new and window.value[members[i], j] != window.value[members[other], j]
        count += new
    return count


@inner
def brings(window, members, size, slot, j):  # type: ignore[no-untyped-def]
    """Whether a row is of another person than all of some rows, and has another value."""
    for i in range(size):
        if window.value[members[i], j] == window.value[slot, j] or window.person[members[i]] == window.person[slot]:
            return False
    return True


@inner
def expire_fads(window, slot, rules, now, shape, outlet):  # type: ignore[no-untyped-def]
    """A row may wait no longer."""
    members = around(window, slot, rules, shape)
    at = covering(window, slot, rules, now, shape)
    fine = len(members) > 0 and enough(window, members, rules)
    if at >= 0:
        lost = np.inf
        if fine:
            lo, hi, then = window.row[slot : slot + 1].copy(), window.row[slot : slot + 1].copy(), np.empty(1)
            for other in members:
                widen(lo, hi, 0, window.row, window.row, other, shape)
            losses(lo, hi, np.zeros(1, np.int64), 1, lo, hi, 0, shape, then)
            lost = then[0]
        if window.old_loss[at] < lost:
            emit_again(window, slot, at, rules, now, outlet)
            return
    if not fine:
        suppress(window, slot, rules, now, outlet)
        return
    remember(window, emit(window, members, rules, now, shape, outlet), rules, now, outlet)


@kernel
def advance_fads(window, rules, shape, outlet, first, row, person, value, end):  # type: ignore[no-untyped-def]
    """Take rows as they arrive, and publish what may wait no longer."""
    now = first - 1
    for i in range(len(row)):
        now = first + i
        place(window, row[i], person[i], value[i], now % rules.delay)
        oldest = now - rules.delay + 1
        if oldest >= 0 and window.waits[oldest % rules.delay]:
            expire_fads(window, oldest % rules.delay, rules, now, shape, outlet)
    if end:
        for oldest in range(max(now - rules.delay + 1, 0), now + 1):
            if window.waits[oldest % rules.delay]:
                expire_fads(window, oldest % rules.delay, rules, now, shape, outlet)
