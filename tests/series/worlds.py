"""All worlds: every way in which people may have the published values, counted one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import product

History = Sequence[tuple[frozenset[str], frozenset[str]]]  # the people of each group, and its values


def shares(groups: History) -> dict[str, dict[str, Fraction]]:
    """The share of each value of each person among all worlds that fit the groups of all releases.

    The attacker knows in which group everybody is in every release, and the values of each group, which differ: in a
    world everybody has one value, and no two of a group the same.
    """
    found: dict[str, dict[str, Fraction]] = {}
    for people, mine in _apart(groups):
        seen: Counter[tuple[str, str]] = Counter()
        total = 0
        allowed = {p: frozenset.intersection(*(values for who, values in mine if p in who)) for p in people}
        for world in _worlds(list(people), allowed, mine, {}):
            total += 1
            seen.update(world.items())
        assert total, "no world fits"
        for (person, value), often in seen.items():
            found.setdefault(person, {})[value] = Fraction(often, total)
    return found


def _worlds(people: list[str], allowed: Mapping[str, frozenset[str]], groups: History, so_far: dict[str, str]):
    if len(so_far) == len(people):
        yield dict(so_far)
        return
    person = people[len(so_far)]
    taken = {so_far[other] for who, _ in groups if person in who for other in who if other in so_far}
    for value in sorted(allowed[person] - taken):
        so_far[person] = value
        yield from _worlds(people, allowed, groups, so_far)
        del so_far[person]


def _apart(groups: History) -> Iterable[tuple[list[str], History]]:
    """People who share no group, directly or through others, are counted apart."""
    left = [group for group in groups if group[0]]
    while left:
        people, mine = set(left[0][0]), []
        while more := [group for group in left if group[0] & people]:
            mine += more
            left = [group for group in left if group not in more]
            people |= {p for who, _ in more for p in who}
        yield sorted(people), mine


def placements(covers: Mapping[str, Sequence[int]], room: Mapping[int, int]) -> list[dict[str, int]]:
    """Every way to put people into groups whose labels cover them, so that each group has as many as it has room."""
    people = sorted(covers)
    found = []
    for choice in product(*(covers[p] for p in people)):
        if Counter(choice) == Counter({group: many for group, many in room.items() if many}):
            found.append(dict(zip(people, choice, strict=True)))
    return found


def shares_by_labels(
    releases: Sequence[tuple[Mapping[str, Sequence[int]], Mapping[int, int], Mapping[int, frozenset[str]]]],
):
    """The same for an attacker who knows labels only, and that signatures stay: over all placements in all releases.

    A release is which groups cover each person, how many people each group has, and its values.
    """
    seen: Counter[tuple[str, str]] = Counter()
    totals: Counter[str] = Counter()
    for story in product(*(placements(covers, room) for covers, room, _ in releases)):
        signature: dict[str, frozenset[str]] = {}
        if any(
            signature.setdefault(p, values[group]) != values[group]
            for place, (_, _, values) in zip(story, releases, strict=True)
            for p, group in place.items()
        ):
            continue
        groups = [
            (frozenset(p for p, at in place.items() if at == group), of)
            for place, (_, _, values) in zip(story, releases, strict=True)
            for group, of in values.items()
        ]
        people = sorted({p for place in story for p in place})
        allowed = {p: signature[p] for p in people}
        for world in _worlds(people, allowed, [g for g in groups if g[0]], {}):
            seen.update(world.items())
            totals.update(people)
    return {pair: Fraction(often, totals[pair[0]]) for pair, often in seen.items()}
