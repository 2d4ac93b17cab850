"""Rows assigned to released tuples, each of which needs enough rows: opening, joining and closing them."""

from __future__ import annotations

import numpy as np

from sfumato.kernels import kernel
from sfumato.kernels.suppression_keys import capacity_for, ranked, slot, weight_of_bits

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
