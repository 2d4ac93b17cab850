"""Groups that lose less: records move, are swapped and dealt anew along paths, at a temperature that falls."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.core.compiled import inner, kernel
from sfumato.search.microaggregation.kernels import chain, path

WIDE = 4  # groups that are dealt anew at once, at most

# The state of the groups: of[row], size[group], total[group, column], member[group, place], place[row] there.


@inner
def draw(random: Any) -> Any:
    """The next number of a sequence, xorshift64*."""
    s = random[0]
    s ^= s >> np.uint64(12)
    s ^= s << np.uint64(25)
    s ^= s >> np.uint64(27)
    random[0] = s
    return (s * np.uint64(2685821657736338717)) >> np.uint64(11)


@inner
def below(random: Any, n: int) -> Any:
    """A number from 0 to n - 1."""
    return np.int64(draw(random) % np.uint64(n))


@inner
def accepts(rise: float, heat: float, random: Any) -> bool:
    """Whether a change is made: where the loss falls, and at times where it rises."""
    if rise <= 0.0:
        return rise < 0.0
    if heat <= 0.0 or rise > 30.0 * heat:
        return False
    return np.float64(draw(random)) * (1.0 / 9007199254740992.0) < np.exp(-rise / heat)


@kernel
def neighbours(x: np.ndarray, found: np.ndarray, stop: np.ndarray) -> None:
    """The rows nearest to each row, in order; rows are rows of x here."""
    n, d = x.shape
    most = found.shape[1]
    far = np.empty(most)
    for i in range(n):
        if stop[0]:
            return
        size = 0
        for j in range(n):
            if j == i:
                continue
            bound = far[most - 1] if size == most else np.inf
            s = 0.0
            for first in range(0, d, 8):
                for c in range(first, min(first + 8, d)):
                    s += (x[i, c] - x[j, c]) ** 2
                if s >= bound:
                    break
            if s >= bound:
                continue
            at = size if size < most else most - 1
            while at > 0 and s < far[at - 1]:
                far[at], found[i, at] = far[at - 1], found[i, at - 1]
                at -= 1
            far[at], found[i, at] = s, j
            size = min(size + 1, most)


@inner
def put(x: Any, i: int, g: int, of: Any, size: Any, total: Any, member: Any, place: Any) -> None:
    """Put a row into a group."""
    of[i], place[i] = g, size[g]
    member[g, size[g]] = i
    size[g] += 1
    for c in range(x.shape[1]):
        total[g, c] += x[i, c]


@inner
def pull(x: Any, i: int, of: Any, size: Any, total: Any, member: Any, place: Any) -> None:
    """Take a row out of its group."""
    g = of[i]
    size[g] -= 1
    last = member[g, size[g]]
    member[g, place[i]], place[last] = last, place[i]
    for c in range(x.shape[1]):
        total[g, c] -= x[i, c]


@inner
def moved(x: Any, i: int, a: int, b: int, size: Any, total: Any) -> float:
    """By how much the loss rises where row i goes from group a to group b."""
    out, into = 0.0, 0.0
    na, nb = 1.0 / size[a], 1.0 / size[b]
    for c in range(x.shape[1]):
        v = x[i, c]
        p, q = v - total[a, c] * na, v - total[b, c] * nb
        out += p * p
        into += q * q
    return into * size[b] / (size[b] + 1) - out * size[a] / (size[a] - 1)


@inner
def swapped(x: Any, i: int, j: int, a: int, b: int, size: Any, total: Any) -> float:
    """By how much the loss rises where row i of group a and row j of group b change places."""
    na, nb = 1.0 / size[a], 1.0 / size[b]
    cross, square = 0.0, 0.0
    for c in range(x.shape[1]):
        t = x[j, c] - x[i, c]
        cross += (total[a, c] * na - total[b, c] * nb) * t
        square += t * t
    return -2.0 * cross - square * (na + nb)


@inner
def of_group(x: Any, g: int, size: Any, total: Any, member: Any) -> float:
    """The loss of a group."""
    s, n = 0.0, 1.0 / size[g]
    for j in range(size[g]):
        for c in range(x.shape[1]):
            t = x[member[g, j], c] - total[g, c] * n
            s += t * t
    return s


@inner
def gather(a: int, want: int, of: Any, size: Any, member: Any, near: Any, some: Any, random: Any) -> int:
    """Group a and others near it, at most `want`, ascending; how many they are."""
    some[0] = a
    count = 1
    for _ in range(3 * len(some)):
        g = some[below(random, count)]
        j = member[g, below(random, size[g])]
        g = of[near[j, below(random, near.shape[1])]]
        at = count
        while at > 0 and some[at - 1] > g:
            at -= 1
        if at > 0 and some[at - 1] == g:
            continue
        for q in range(count, at, -1):
            some[q] = some[q - 1]
        some[at] = g
        count += 1
        if count == want:
            break
    return count


@kernel
def anneal(
    x: np.ndarray,
    of: np.ndarray,
    k: int,
    near: np.ndarray,
    steps: int,
    heat: float,
    dealing: float,
    seed: int,
    stop: np.ndarray,
) -> None:
    """Change the groups `of` rows in so many steps at a heat; a share of them deals several groups anew."""
    n, d = x.shape
    groups, most = of.max() + 1, n // k + 1
    size, place = np.zeros(most, np.int64), np.zeros(n, np.int64)
    total, member = np.zeros((most, d)), np.zeros((most, 2 * k), np.int64)
    for i in range(n):
        put(x, i, of[i], of, size, total, member, place)
    some = np.empty(WIDE, np.int64)
    m = WIDE * (2 * k - 1)
    rows = np.empty(m, np.int64)
    upto, square, cost, before = np.empty((m + 1, d)), np.empty(m + 1), np.empty(m + 1), np.zeros(m + 1, np.int64)
    random = np.empty(1, np.uint64)
    random[0] = np.uint64(2 * seed + 1) * np.uint64(0x9E3779B97F4A7C15)
    for _ in range(8):
        draw(random)
    often = np.uint64(dealing * 9007199254740992.0)
    for _ in range(steps):
        if stop[0]:
            return
        i = below(random, n)
        a = of[i]
        if draw(random) < often:  # groups near each other are dealt anew along a path
            count = gather(a, 2 + below(random, WIDE - 1), of, size, member, near, some, random)
            m, lost = 0, 0.0
            for q in range(count):
                g = some[q]
                lost += of_group(x, g, size, total, member)
                for j in range(size[g]):
                    rows[m] = member[g, j]
                    m += 1
            chain(x, rows, m, below(random, m), stop)
            found = path(x, rows, m, k, upto, square, cost, before)
            if not accepts(found - lost + 1e-12 * lost, heat, random):
                continue
            for q in range(count):
                size[some[q]] = 0
                total[some[q]] = 0.0
            end, used = m, 0
            while end > 0:
                g = some[used] if used < count else groups
                groups += used >= count
                used += 1
                for j in range(before[end], end):
                    put(x, rows[j], g, of, size, total, member, place)
                end = before[end]
            for q in range(count - 1, used - 1, -1):  # the last group takes the number of one that is no more
                g = some[q]
                groups -= 1
                if g != groups:
                    size[g] = size[groups]
                    total[g] = total[groups]
                    for j in range(size[g]):
                        member[g, j] = member[groups, j]
                        of[member[g, j]] = g
                size[groups] = 0
                total[groups] = 0.0
            continue
        b = of[near[i, below(random, near.shape[1])]]
        if a == b:
            continue
        if size[a] > k and size[b] < 2 * k - 1 and draw(random) & np.uint64(1) == 0:
            if accepts(moved(x, i, a, b, size, total), heat, random):
                pull(x, i, of, size, total, member, place)
                put(x, i, b, of, size, total, member, place)
        else:
            j = member[b, below(random, size[b])]
            if accepts(swapped(x, i, j, a, b, size, total), heat, random):
                p, q = place[i], place[j]
                of[i], of[j], place[i], place[j] = b, a, q, p
                member[a, p], member[b, q] = j, i
                for c in range(d):
                    t = x[j, c] - x[i, c]
                    total[a, c] += t
                    total[b, c] -= t
