"""The fewest fragments that keep confidentiality constraints: Ciriani et al., ACM TISSEC 13(3), 2010, section 4.

Every column lies in one fragment, and no constraint lies in any: a colouring of the hypergraph of constraints. For up
to 20 columns the fewest are found by an integer program, for more greedily.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from sfumato.errors import MissingExtra

MOST_COLUMNS = 20  # in constraints, of which the fewest fragments are found
NODES = 5_000  # of the integer program, so that it ends, and in the same way whatever the machine

Fragment = tuple[str, ...]


def fewest_fragments(columns: Sequence[str], constraints: Sequence[Sequence[str]]) -> tuple[list[Fragment], bool]:
    """Disjoint fragments with all of the columns, none of which has a constraint in it, and whether they are proven to
    be the fewest. No two can be joined; the largest comes first. Columns without a constraint lie in the first.

    >>> fewest_fragments(["name", "zip", "disease"], [["name", "disease"], ["zip", "disease"]])
    ([('name', 'zip'), ('disease',)], True)
    """
    sets = [frozenset(one) for one in constraints if {*one} <= {*columns}]
    tied = [name for name in columns if any(name in one for one in sets)]
    found = greedy_fragments(tied, sets)
    proven = len(found) <= 2  # a constraint needs two
    if not proven and len(tied) <= MOST_COLUMNS:
        fewer = _exact(tied, sets, len(found))
        if fewer is not None:
            found, proven = fewer, True
    place = {name: i for i, name in enumerate(columns)}
    found = sorted((sorted(one, key=place.__getitem__) for one in found), key=lambda one: (-len(one), place[one[0]]))
    free = [name for name in columns if name not in tied]
    first = sorted([*(found[0] if found else []), *free], key=place.__getitem__)
    return [tuple(one) for one in ([first, *found[1:]] if first else [])], proven


def greedy_fragments(columns: Sequence[str], constraints: Sequence[frozenset[str]]) -> list[list[str]]:
    """Fragments, each column put into the first that allows it, those with the most constraints first; then fragments
    are joined as long as any two can be."""
    often = {name: sum(name in one for one in constraints) for name in columns}
    found: list[list[str]] = []
    for name in sorted(columns, key=lambda name: -often[name]):
        for one in found:
            if allowed([*one, name], constraints):
                one.append(name)
                break
        else:
            found.append([name])
    return joined(found, constraints)


def joined(fragments: list[list[str]], constraints: Sequence[frozenset[str]]) -> list[list[str]]:
    """The fragments with those joined that can be."""
    left, found = list(fragments), []
    while left:
        first = left.pop(0)
        for other in list(left):
            if allowed([*first, *other], constraints):
                first = [*first, *other]
                left.remove(other)
        found.append(first)
    return found


def allowed(names: Sequence[str], constraints: Sequence[frozenset[str]]) -> bool:
    """Whether columns may be seen together."""
    together = {*names}
    return not any(one <= together for one in constraints)


def _exact(columns: Sequence[str], constraints: Sequence[frozenset[str]], most: int) -> list[list[str]] | None:
    """Fewest fragments, of `most` at most, by an integer program; None where it was not finished.

    x[a, f] says that column a lies in fragment f, y[f] that this is used. Each column lies in one; of a constraint each
    fragment lacks a column; and fragments are used in their order, so that no solution is counted twice.
    """
    optimize = scipy_module("optimize")
    n, width = len(columns), len(columns) * most + most
    lines, low, high = [], [], []

    def line(numbers: dict[int, float], least: float, largest: float) -> None:
        row = np.zeros(width)
        row[[*numbers]] = [*numbers.values()]
        lines.append(row)
        low.append(least)
        high.append(largest)

    for a in range(n):
        line({a * most + f: 1 for f in range(most)}, 1, 1)
    for f in range(most):
        for one in constraints:
            of = {columns.index(name) * most + f: 1.0 for name in one}
            line({**of, n * most + f: 1.0 - len(one)}, -np.inf, 0)
        for a in range(n):
            line({a * most + f: 1, n * most + f: -1}, -np.inf, 0)
        if f:
            line({n * most + f - 1: 1, n * most + f: -1}, 0, 1)
    cost = np.concatenate([np.zeros(n * most), np.ones(most)])
    found = optimize.milp(
        cost,
        integrality=np.ones(width),
        bounds=optimize.Bounds(0, 1),
        constraints=optimize.LinearConstraint(np.array(lines), low, high),
        options={"node_limit": NODES},
    )
    if found.status != 0 or found.x is None:
        return None
    chosen = np.rint(found.x[: n * most]).reshape(n, most).argmax(axis=1)
    fragments = [[name for name, of in zip(columns, chosen, strict=True) if of == f] for f in range(most)]
    fragments = [one for one in fragments if one]
    return fragments if all(allowed(one, constraints) for one in fragments) else None


def scipy_module(name: str) -> Any:
    """A module of SciPy, which holds HiGHS."""
    try:
        return import_module(f"scipy.{name}")
    except ImportError:
        raise MissingExtra("scipy", "ml") from None
