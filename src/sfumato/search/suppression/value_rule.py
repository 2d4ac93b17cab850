"""Rows assigned to released tuples, each of which needs enough rows: opening, joining and closing them."""

from __future__ import annotations

import math

import numpy as np

from sfumato.core.compiled import kernel
from sfumato.core.progress import Progress, check_cancelled
from sfumato.search.problem import CellSplit
from sfumato.search.suppression.cells import (
    capacity_for,
    kept_bits,
    packed,
    ranked,
    sets_of_columns,
    slot,
    weight_of,
    weight_of_bits,
)
from sfumato.search.suppression.exact import best_classes
from sfumato.search.suppression.wildcard_rule import known_bits

TINY = 1e-9

# Entry e is state[e] = (tuple, columns it shows blank, rows, class or -1), and each of its rows pays paid[e], what its
# blanks weigh; class c is the released tuple keys[c], and has load[c] rows. used = (entries, classes): both have room
# for more. inside and worth are scratch per class, zero.


@kernel
def move(
    state: np.ndarray,
    paid: np.ndarray,
    used: np.ndarray,
    load: np.ndarray,
    e: int,
    rows: int,
    blank: int,
    to: int,
    price: float,
) -> None:
    """Move rows of an entry to a class; a part of them becomes an entry of its own."""
    if rows < state[e, 2]:
        state[used[0]] = state[e]
        state[e, 2] -= rows
        e = used[0]
        state[e, 2] = rows
        used[0] += 1
    if state[e, 3] >= 0:
        load[state[e, 3]] -= rows
    state[e, 1], state[e, 3], paid[e] = blank, to, price
    load[to] += rows


@kernel
def sweep(
    words: np.ndarray,
    missing: np.ndarray,
    weight: np.ndarray,
    least: int,
    masks: np.ndarray,
    kept: np.ndarray,
    alone: float,
    take: np.ndarray,
    state: np.ndarray,
    paid: np.ndarray,
    keys: np.ndarray,
    load: np.ndarray,
    slots: np.ndarray,
    used: np.ndarray,
    inside: np.ndarray,
    worth: np.ndarray,
) -> float:
    """For each set of columns, look at the tuples that are equal without them: rows that would gain join the class if
    it is there, and else open it, with rows that others can spare where it needs them, if all in all it gains. A row
    that has no class would pay `alone`. Only the entries in `take` and their parts are looked at."""
    before = used[0]
    room = len(state)
    groups = np.empty(capacity_for(room), np.int64)
    head, link, lead = np.empty(len(words), np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
    gain, price = np.empty(room), np.empty(room)
    dearest, known = 0.0, True
    for e in take:
        known &= missing[state[e, 0]] == 0
        dearest = max(dearest, alone if state[e, 3] < 0 else paid[e])
    gained = 0.0
    for m in range(len(masks)):
        blank = masks[m]
        full = weight_of_bits(blank, weight)
        if full >= dearest and known:
            continue
        entries, found = len(take) + used[0] - before, 0
        table = groups[: capacity_for(entries)]
        table[:] = -1
        for i in range(entries):
            e = take[i] if i < len(take) else before + i - len(take)
            t = state[e, 0]
            if missing[t] & ~blank or (state[e, 3] >= 0 and state[e, 1] == blank):
                gain[e] = -np.inf
                continue
            price[e] = full if missing[t] == 0 else weight_of_bits(blank & ~missing[t], weight)
            gain[e] = (alone if state[e, 3] < 0 else paid[e]) - price[e]
            if gain[e] <= TINY:
                continue
            j = slot(table, words, kept[m], words, t, kept[m])
            if table[j] < 0:
                table[j] = t
                lead[found] = t
                head[t] = -1
                found += 1
            link[e] = head[table[j]]
            head[table[j]] = e
        if found == 0:
            continue
        for i in range(entries):
            e = take[i] if i < len(take) else before + i - len(take)
            if gain[e] <= TINY and gain[e] > -np.inf and load[state[e, 3]] > least:
                j = slot(table, words, kept[m], words, state[e, 0], kept[m])
                if table[j] >= 0:
                    link[e] = head[table[j]]
                    head[table[j]] = e
        for g in range(found):
            gained += _settle(
                words, lead[g], blank, kept[m], least, head[lead[g]], link, gain, price,
                state, paid, keys, load, slots, used, inside, worth,
            )  # fmt: skip
    return gained


@kernel
def _settle(
    words: np.ndarray,
    t: int,
    blank: int,
    kept: np.ndarray,
    least: int,
    first: int,
    link: np.ndarray,
    gain: np.ndarray,
    price: np.ndarray,
    state: np.ndarray,
    paid: np.ndarray,
    keys: np.ndarray,
    load: np.ndarray,
    slots: np.ndarray,
    used: np.ndarray,
    inside: np.ndarray,
    worth: np.ndarray,
) -> float:
    """Join or open the class of one group of entries; what is gained."""
    whole = np.full(words.shape[1], -1, np.int64)
    j = slot(slots, keys, whole, words, t, kept)
    to = slots[j]
    if to < 0 and used[1] == len(keys):
        return 0.0
    need = 0 if to >= 0 and load[to] >= least else least
    count = there = 0
    e = first
    while e >= 0:
        count += 1
        there += state[e, 2]
        e = link[e]
    if there < need:
        return 0.0
    members, key = np.empty(count, np.int64), np.empty(count)
    e = first
    for i in range(count):
        members[i] = e
        if state[e, 3] >= 0:
            inside[state[e, 3]] += state[e, 2]
            worth[state[e, 3]] += gain[e] * state[e, 2]
        e = link[e]
    for i in range(count):  # classes that are here as a whole, and gain: they come as a whole, before all others
        c = state[members[i], 3]
        together = c >= 0 and inside[c] == load[c] and worth[c] > TINY
        key[i] = -np.inf if together else -gain[members[i]]
    order = ranked(key)
    rows, total, parts = 0, 0.0, 0
    taken = np.zeros(count, np.int64)
    for i in range(count):
        e = members[order[i]]
        c = state[e, 3]
        can = state[e, 2]
        if not (c >= 0 and inside[c] == load[c] and worth[c] > TINY):
            if gain[e] <= TINY:
                if rows >= need:
                    break
                can = min(can, need - rows)
            if c >= 0:
                spare = load[c] - least
                for b in range(i):  # less what others of its class give
                    if state[members[order[b]], 3] == c:
                        spare -= taken[b]
                can = min(can, spare)
        if can > 0:
            taken[i] = can
            rows += can
            total += gain[e] * can
            parts += can < state[e, 2]
    for i in range(count):
        c = state[members[i], 3]
        if c >= 0:
            inside[c] = 0
            worth[c] = 0.0
    if rows < need or total <= TINY or used[0] + parts > len(state):
        return 0.0
    if to < 0:
        to = used[1]
        keys[to] = words[t] & kept
        slots[j] = to
        used[1] += 1
    for i in range(count):
        if taken[i]:
            e = members[order[i]]
            move(state, paid, used, load, e, taken[i], blank, to, price[e])
    return total


@kernel
def close(
    words: np.ndarray,
    missing: np.ndarray,
    weight: np.ndarray,
    least: int,
    masks: np.ndarray,
    kept: np.ndarray,
    state: np.ndarray,
    paid: np.ndarray,
    keys: np.ndarray,
    load: np.ndarray,
    slots: np.ndarray,
    used: np.ndarray,
) -> float:
    """Close the classes whose rows are better off in other classes that are there."""
    whole = np.full(words.shape[1], -1, np.int64)
    head, link = np.full(len(keys), -1, np.int64), np.empty(len(state), np.int64)
    for e in range(used[0]):
        if state[e, 3] >= 0:
            link[e] = head[state[e, 3]]
            head[state[e, 3]] = e
    better = np.empty(len(state), np.int64)
    gained = 0.0
    for c in range(used[1]):
        gain, rows = 0.0, 0
        e = head[c]
        while e >= 0:
            if state[e, 3] == c:
                t = state[e, 0]
                rows += state[e, 2]
                better[e] = -1
                for m in range(len(masks)):
                    if missing[t] & ~masks[m] == 0:
                        j = slot(slots, keys, whole, words, t, kept[m])
                        if slots[j] >= 0 and slots[j] != c and load[slots[j]] >= least:
                            better[e] = m
                            gain += state[e, 2] * (paid[e] - weight_of_bits(masks[m] & ~missing[t], weight))
                            break
                if better[e] < 0:
                    rows = -1
                    break
            e = link[e]
        if rows == load[c] and gain > TINY:
            gained += gain
            e = head[c]
            while e >= 0:
                if state[e, 3] == c:
                    to = slots[slot(slots, keys, whole, words, state[e, 0], kept[better[e]])]
                    blank = masks[better[e]]
                    price = weight_of_bits(blank & ~missing[state[e, 0]], weight)
                    move(state, paid, used, load, e, state[e, 2], blank, to, price)
                e = link[e]
    return gained


@kernel
def rehash(keys: np.ndarray, slots: np.ndarray, classes: int) -> None:
    """Put the first classes into an empty table."""
    whole = np.full(keys.shape[1], -1, np.int64)
    for c in range(classes):
        slots[slot(slots, keys, whole, keys, c, whole)] = c


MOST_SETS = 1024  # sets of columns that are tried
MOST_ROWS = 15  # of a table whose partitions are all looked at
ROUNDS = 8  # of opening, joining and closing, at most
TIDY = 64  # tries after which parts are put together again
REACH = (1, 2, 2)  # columns in which what is taken apart differs from its centre, at most
NOISE = 0.5  # by which the order of the sets of columns varies, in weights of a cell
AT_ONCE = 200  # entries that are placed anew, beside those that were taken apart
STEP = 2.1  # by which the price of having no class grows


class Assignment:
    """Which rows are released as which tuple: parts of the cells, with what they show blank.

    Every row may be released as any tuple that is itself with some columns blank. As in primal-dual methods for
    placing facilities, the price that a row would pay for a class grows step by step, and a class opens as soon as the
    rows that want it pay for those it takes from others. Then classes are opened, joined and closed while that gains.
    """

    def __init__(self, codes: np.ndarray, count: np.ndarray, weight: np.ndarray, least: int) -> None:
        self.codes, self.count, self.weight, self.least = codes, count, weight, least
        self.words, fields = packed(codes)
        self.missing = (1 << codes.shape[1]) - 1 & ~known_bits(codes)
        self.masks, every = sets_of_columns(weight, MOST_SETS)
        if not every:  # blanking all columns would swallow what no small set helps
            self.masks = self.masks[:-1]
        self.kept = kept_bits(fields, self.masks)
        room = int(min(count.sum(), 4 * len(codes) + 1024))
        self.state = np.zeros((room, 4), np.int64)
        entries = np.stack([np.arange(len(codes)), self.missing, count, np.full(len(codes), -1)], axis=1)
        self.state[: len(codes)] = entries
        self.keys = np.zeros((room + len(codes), self.words.shape[1]), np.int64)
        self.load = np.zeros(len(self.keys), np.int64)
        self.slots = np.full(capacity_for(len(self.keys)), -1, np.int64)
        self.used = np.array([len(codes), 0])
        self.paid = np.zeros(room)
        self.greatest = float(weight.sum()) * least * 1.01  # the price at which k rows without any value pay off
        self.scratch = np.zeros(len(self.keys), np.int64), np.zeros(len(self.keys))
        self.order = np.arange(len(self.masks))
        self.weights_of = weight_of(self.masks, weight)

    def solve(self, rounds: int, report_progress: Progress) -> None:
        """Raise the price until all have a class, or nobody can have one; then improve."""
        self._place(np.arange(len(self._parts)), self.order)
        self._settle()
        rng = np.random.default_rng(0)
        for i in range(rounds):
            check_cancelled()
            if i % TIDY == 0:
                self._tidy()
                report_progress("improving", i / rounds)
            if not self._try_again(rng):
                break
        self._settle()

    def _place(self, take: np.ndarray, order: np.ndarray) -> np.ndarray:
        """Give the entries that have none a class, at growing prices; the entries with the parts cut from them."""
        price = float(self.weight.min()) * 1.001
        while True:
            check_cancelled()
            take = self._sweep(min(price, self.greatest), take, order)[0]
            if price > self.greatest or (self.state[take, 3] >= 0).all():
                return take
            price *= STEP

    def _settle(self) -> None:
        """Open, join and close while that gains."""
        for _ in range(ROUNDS):
            check_cancelled()
            gained = self._sweep(math.inf, np.arange(self.used[0]), self.order)[1]
            rules = self.words, self.missing, self.weight, self.least, self.masks, self.kept
            if gained + close(*rules, *self._open) <= 1e-9:
                break

    def _try_again(self, rng: np.random.Generator) -> bool:
        """Take the costly classes around a row apart, and place their rows anew; keep what is no worse."""
        parts = self._parts
        costly = np.flatnonzero(self.paid[: len(parts)] > 0)
        if not len(costly):
            return False
        centre = parts[costly[rng.integers(len(costly))], 0]
        far = (self.codes[parts[:, 0]] != self.codes[centre]).sum(axis=1)
        reach = REACH[rng.integers(len(REACH))]
        broken = np.zeros(len(self.load), np.bool_)
        inner = costly[far[costly] <= reach]
        broken[parts[inner, 3]] = True
        apart = broken[parts[:, 3]] & (parts[:, 3] >= 0)
        take = np.flatnonzero(apart | (far <= reach + 1))
        if len(take) > AT_ONCE:
            take = np.union1d(np.flatnonzero(apart), take[np.argsort(far[take], kind="stable")[:AT_ONCE]])
        kept = parts[take], self.paid[take], self.load.copy(), self.used[0]
        before = self._price(take)
        self.load[broken] = 0
        parts[apart, 1], parts[apart, 3], self.paid[: len(parts)][apart] = self.missing[parts[apart, 0]], -1, 0.0
        noise = self.weights_of + rng.random(len(self.masks)) * NOISE * self.weight.min()
        done = self._place(take, np.argsort(noise, kind="stable"))
        done = self._sweep(math.inf, done, self.order)[0]
        if self._price(done) > before + 1e-9:
            self.state[take], self.paid[take], self.load[:], self.used[0] = kept
        return True

    def _price(self, take: np.ndarray) -> float:
        """What the rows of some entries pay, those that have no class the greatest price."""
        alone = self.state[take, 3] < 0
        return float(np.where(alone, self.greatest, self.paid[take]) @ self.state[take, 2])

    def _tidy(self) -> None:
        """Put the parts of a cell that are in the same class together again, and forget empty classes."""
        parts = self._parts
        live = np.unique(parts[parts[:, 3] >= 0, 3])
        of = np.where(parts[:, 3] < 0, -1, np.searchsorted(live, parts[:, 3]))
        pairs, one = np.unique(parts[:, 0] * (len(live) + 1) + of + 1, return_inverse=True)
        rows = np.bincount(one, weights=parts[:, 2]).astype(np.int64)
        first = np.unique(one, return_index=True)[1]
        self.state[: len(pairs)] = parts[first]
        self.paid[: len(pairs)] = self.paid[first]
        self.state[: len(pairs), 2] = rows
        self.state[: len(pairs), 3] = of[first]
        keys, load = self.keys[live], self.load[live]
        self.keys[: len(live)], self.load[:], self.slots[:] = keys, 0, -1
        self.load[: len(live)] = load
        self.used[:] = len(pairs), len(live)
        rehash(self.keys, self.slots, len(live))

    @property
    def _parts(self) -> np.ndarray:
        return self.state[: self.used[0]]

    @property
    def _open(self) -> tuple[np.ndarray, ...]:
        return self.state, self.paid, self.keys, self.load, self.slots, self.used

    def _sweep(self, alone: float, take: np.ndarray, order: np.ndarray) -> tuple[np.ndarray, float]:
        """Sweep over the sets of columns in an order; the entries with the parts cut from them, and what was gained."""
        rules = self.words, self.missing, self.weight, self.least, self.masks[order], self.kept[order]
        entries = self.used[0]
        gained = float(sweep(*rules, alone, take, *self._open, *self.scratch))
        return np.append(take, np.arange(entries, self.used[0])), gained

    def classes(self) -> tuple[np.ndarray, CellSplit]:
        """The class of each part, and the parts; rows without a class are alone."""
        parts = self._parts[np.argsort(self._parts[:, 0], kind="stable")]
        of = parts[:, 3].copy()
        lost = np.flatnonzero(of < 0)
        of[lost] = self.used[1] + np.arange(len(lost))
        _, of = np.unique(of, return_inverse=True)
        return of, CellSplit(parts[:, 0].copy(), parts[:, 2].copy())


def all_partitions(
    codes: np.ndarray, count: np.ndarray, weight: np.ndarray, least: int
) -> tuple[np.ndarray, CellSplit] | None:
    """The best classes of single rows, where they are few."""
    if count.sum() > MOST_ROWS:
        return None
    cell = np.repeat(np.arange(len(codes)), count)
    return best_classes(codes[cell], weight, least), CellSplit(cell, np.ones(len(cell), np.int64))
