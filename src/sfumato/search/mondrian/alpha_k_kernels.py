"""Specialising all classes by bounds on sizes and shares, the criteria that (alpha,k)-anonymity has."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.core.compiled import inner, kernel


@inner
def within(count: np.ndarray, at: int, size: int, least: int, most: np.ndarray) -> Any:
    """Whether a class has `least` rows, and count[at + v] of value v, which is no share above most[v]."""
    fits = size >= least
    for v in range(len(most) if fits else 0):
        fits = fits and (count[at + v] == 0 or count[at + v] / size <= most[v])
    return fits


@inner
def look(
    s: int,
    e: int,
    rows: np.ndarray,
    code: np.ndarray,
    node: np.ndarray,
    value: np.ndarray,
    least: int,
    most: np.ndarray,
    size: np.ndarray,
    count: np.ndarray,
    fine: np.ndarray,
    rest: np.ndarray,
) -> tuple[Any, Any, Any]:
    """What the children node[code] of the rows from s to e are: size and fine of each, and rest, the values of the rows
    of the others. Gives the rows that follow, how many children they are, and whether the others satisfy too."""
    values = len(most)
    for j in range(len(size)):
        size[j] = 0
    for i in range(s, e):
        size[node[code[rows[i]]]] += 1
    largest = 0
    for j in range(len(size)):
        fine[j] = size[j] == e - s
        if size[j] > largest:
            largest = size[j]
    if largest == e - s:
        return e - s, 1, True
    if largest < least:
        return 0, 0, True
    for j in range(len(size)):
        if size[j] > 0:
            for v in range(values):
                count[j * values + v] = 0
    for i in range(s, e):
        count[node[code[rows[i]]] * values + value[rows[i]]] += 1
    for v in range(values):
        rest[v] = 0
    follow = children = 0
    for j in range(len(size)):
        if size[j] == 0:
            continue
        fine[j] = within(count, j * values, size[j], least, most)
        if fine[j]:
            follow += size[j]
            children += 1
        else:
            for v in range(values):
                rest[v] += count[j * values + v]
    left = e - s - follow
    return follow, children, follow == 0 or left == 0 or within(rest, 0, left, least, most)


@inner
def by_size(order: np.ndarray, parts: int, first: np.ndarray, last: np.ndarray, dealt: np.ndarray) -> None:
    """Sort parts dealt[first:last] by falling size, then by their first row."""
    for i in range(1, parts):
        p = order[i]
        n, row = last[p] - first[p], dealt[first[p]]
        j = i - 1
        while j >= 0:
            q = order[j]
            if last[q] - first[q] > n or (last[q] - first[q] == n and dealt[first[q]] < row):
                break
            order[j + 1] = q
            j -= 1
        order[j + 1] = p


@inner
def spare(
    first: int,
    last: int,
    dealt: np.ndarray,
    value: np.ndarray,
    least: int,
    most: np.ndarray,
    rest: np.ndarray,
    count: np.ndarray,
    place: np.ndarray,
) -> Any:
    """Where the row stands that a part can spare, of the value that is rarest in `rest`; -1: it can spare none."""
    values = len(most)
    if last - first <= least:
        return -1
    for v in range(values):
        count[v] = 0
        place[v] = -1
    for i in range(first, last):
        v = value[dealt[i]]
        if place[v] < 0:
            place[v] = i
        count[v] += 1
    while True:
        rarest = -1
        for v in range(values):
            if place[v] >= 0 and (rarest < 0 or rest[v] < rest[rarest]):
                rarest = v
        if rarest < 0:
            return -1
        count[rarest] -= 1
        if within(count, 0, last - first - 1, least, most):
            return place[rarest]
        count[rarest] += 1
        place[rarest] = -1


@inner
def give_back(
    parts: int,
    order: np.ndarray,
    first: np.ndarray,
    last: np.ndarray,
    dealt: np.ndarray,
    left: np.ndarray,
    gone: int,
    value: np.ndarray,
    least: int,
    most: np.ndarray,
    turns: int,
    rest: np.ndarray,
    count: np.ndarray,
    place: np.ndarray,
) -> tuple[Any, Any]:
    """Take rows back from parts until those left satisfy: up to so many single rows, else whole parts.

    Gives how many parts there are then, the first in order, and how many rows are left.
    """
    for _ in range(turns):
        by_size(order, parts, first, last, dealt)
        moved = -1
        for i in range(parts):
            p = order[i]
            moved = spare(first[p], last[p], dealt, value, least, most, rest, count, place)
            if moved >= 0:
                left[gone] = dealt[moved]
                gone += 1
                rest[value[dealt[moved]]] += 1
                last[p] -= 1
                for j in range(moved, last[p]):
                    dealt[j] = dealt[j + 1]
                break
        if moved < 0:
            break
        if within(rest, 0, gone, least, most):
            return parts, gone
    while parts > 0 and not within(rest, 0, gone, least, most):
        by_size(order, parts, first, last, dealt)
        parts -= 1
        for i in range(first[order[parts]], last[order[parts]]):
            left[gone] = dealt[i]
            gone += 1
            rest[value[dealt[i]]] += 1
    return parts, gone


@kernel
def specialise(
    codes: np.ndarray,
    nodes: np.ndarray,
    node_at: np.ndarray,
    widest: np.ndarray,
    value: np.ndarray,
    least: int,
    most: np.ndarray,
    turns: int,
    budget: int,
    state: np.ndarray,
    rows: np.ndarray,
    queue: np.ndarray,
    of: np.ndarray,
    levels: np.ndarray,
    room: np.ndarray,
    small: np.ndarray,
    count: np.ndarray,
    fine: np.ndarray,
) -> None:
    """Specialise the classes that wait, the first of them first, until none waits or `budget` rows were looked at.

    queue[i] is a class: where its rows begin and end, the columns that are stuck, as bits, and its levels. The node of
    code c of column a at level l is nodes[node_at[a, l] + c], of widest[a] at most. state: the first class that waits,
    how many wait, how many are done, and how many were looked at. of[row] is the class that is done, levels its levels.
    """
    columns, capacity = len(codes), len(queue)
    score, parts_of, settled = small[0], small[1], small[2]
    size, first, last, order, place, rest, tally = small[3], small[4], small[5], small[6], small[7], small[8], small[9]
    dealt, left, kept = room[0], room[1], room[2]
    while state[1] > 0 and budget > 0:
        item = queue[state[0]]
        state[0] = (state[0] + 1) % capacity
        state[1] -= 1
        state[3] += 1
        s, e, stuck = item[0], item[1], item[2]
        for a in range(columns):
            score[a] = -1
            if item[3 + a] > 0 and (stuck >> a) & 1 == 0:
                budget -= e - s
                node = nodes[node_at[a, item[3 + a] - 1] :]
                score[a], parts_of[a], settled[a] = look(
                    s, e, rows, codes[a], node, value, least, most, size[: widest[a]], count, fine, rest
                )
        best, best_rows, best_parts = -1, 0, 0
        while True:
            a = -1  # the most promising column, that is not yet looked into
            for c in range(columns):
                if score[c] > 0 and (a < 0 or (score[c], parts_of[c]) > (score[a], parts_of[a])):
                    a = c
            if a < 0 or (best >= 0 and (score[a], parts_of[a], -a) < (best_rows, best_parts, -best)):
                break
            score[a] = -1
            node = nodes[node_at[a, item[3 + a] - 1] :]
            look(s, e, rows, codes[a], node, value, least, most, size[: widest[a]], count, fine, rest)
            parts, at, gone = 0, s, 0
            for j in range(widest[a]):
                if size[j] > 0 and fine[j]:
                    first[parts], last[parts], order[parts] = at, at, parts
                    place[j] = parts
                    parts += 1
                    at += size[j]
            turn = 0
            for j in range(widest[a]):  # rows that stay stand by node
                if size[j] > 0 and not fine[j]:
                    place[j] = turn
                    turn += size[j]
            gone = turn
            for i in range(s, e):
                j = node[codes[a, rows[i]]]
                if fine[j]:
                    dealt[last[place[j]]] = rows[i]
                    last[place[j]] += 1
                else:
                    left[place[j]] = rows[i]
                    place[j] += 1
            if not settled[a]:
                parts, gone = give_back(
                    parts, order, first, last, dealt, left, gone, value, least, most, turns, rest, tally, place
                )
            follow = e - s - gone
            if parts > 0 and (
                (follow, parts) > (best_rows, best_parts)
                or (best >= 0 and (follow, parts) == (best_rows, best_parts) and a < best)
            ):
                best, best_rows, best_parts = a, follow, parts
                at = s
                for i in range(parts):
                    p = order[i]
                    small[10, i] = last[p] - first[p]
                    for j in range(first[p], last[p]):
                        kept[at] = dealt[j]
                        at += 1
                for i in range(gone):
                    kept[at + i] = left[i]
        if best < 0:
            for i in range(s, e):
                of[rows[i]] = state[2]
            for a in range(columns):
                levels[state[2], a] = item[3 + a]
            state[2] += 1
            continue
        for i in range(s, e):
            rows[i] = kept[i]
        at = s
        for i in range(best_parts + 1):
            if i == best_parts and at == e:
                break
            new = queue[(state[0] + state[1]) % capacity]
            state[1] += 1
            for c in range(3 + columns):
                new[c] = item[c]
            new[0] = at
            if i < best_parts:
                at += small[10, i]
                new[1] = at
                new[3 + best] -= 1
            else:
                new[1] = e
                new[2] = stuck | (1 << best)
