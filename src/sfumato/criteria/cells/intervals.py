"""The interval of every hidden cell that an outsider can compute from the published table."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from sfumato.criteria.cells.equations import Equations, contradiction, hidden_equations
from sfumato.criteria.cells.linear import CLOSE
from sfumato.criteria.cells.polytope import Polytope
from sfumato.criteria.cells.published import PublishedCells
from sfumato.errors import PolicyError


@dataclass(frozen=True, eq=False)
class HiddenRanges:
    """What an outsider knows of each hidden cell, in the order of `published.hidden_cells`.

    `component` is the polytope that a cell is in, -1 where bounds alone settle it, and `place` its number there. `near`
    is how close two numbers of a cell must be to count as equal.
    """

    published: PublishedCells
    low: np.ndarray
    high: np.ndarray
    near: np.ndarray
    component: np.ndarray
    place: np.ndarray
    polytopes: tuple[Polytope, ...]
    exact: bool


def outsider_ranges(
    published: PublishedCells,
    *,
    true: np.ndarray | None = None,
    absolute: float | None = None,
    seconds: float = np.inf,
) -> HiddenRanges:
    """The exact interval of each hidden cell, by linear programs, and by integer ones where counts need them.

    `true` (the values of all cells, where the caller has them; NaN where not) makes it faster and changes nothing. A
    PolicyError where no values of the hidden cells fit the published ones. After so many `seconds` intervals are left
    at what points that fit have reached, which is never too wide.
    """
    deadline = time.monotonic() + seconds
    equations = hidden_equations(published, absolute)
    low, high = published.bounds()
    if (low > high).any():
        raise contradiction()
    whole, values = published.whole, np.abs(published.values[~published.hidden])
    near = 0.0 if whole else 10 * CLOSE * 1e-6 * float(values.max(initial=0.0))
    point = None if true is None or np.isnan(true).any() else fitting_point(published, equations, true)
    low, high = equations.tightened(low, high, whole, near)
    fixed = high - low <= near
    if not whole:
        low[fixed] = high[fixed] = (low[fixed] + high[fixed]) / 2
    component, place = np.full(len(low), -1), np.zeros(len(low), np.int64)
    polytopes, exact = [], True
    integral = has_whole_vertices(published)
    rest = equations.without(fixed, low)
    for i, part in enumerate(rest.split() if len(rest.cells) else ()):
        cells = part.cells
        component[cells], place[cells] = i, np.arange(len(cells))
        body = Polytope(part, low[cells], high[cells], whole, integral, deadline)
        ranges = body.solve(None if point is None else point[cells])
        low[cells], high[cells], exact = ranges.low, ranges.high, exact and ranges.exact
        polytopes.append(body)
    nearness = np.full(len(low), 1e-6 if whole else near)
    if not whole:
        for i, body in enumerate(polytopes):
            nearness[component == i] = np.maximum(near, body.near)
        finite = np.where(np.isfinite(high), np.abs(high), np.where(np.isfinite(low), np.abs(low), 0.0))
        nearness = np.maximum(nearness, CLOSE * finite)
    return HiddenRanges(published, low, high, nearness, component, place, tuple(polytopes), exact)


def has_whole_vertices(published: PublishedCells) -> bool:
    """Whether counts of this shape are known to need no integer program: one dimension, or two, one of them flat."""
    grids = published.grids
    many = [one.nested for one in grids[0].dimensions if len(one.totals)]
    return len(grids) == 1 and (len(many) <= 1 or (len(many) == 2 and not all(many)))


def fitting_point(published: PublishedCells, equations: Equations, true: np.ndarray) -> np.ndarray:
    """The true values of the hidden cells; a PolicyError where they are not those of the published table."""
    if true.shape != published.values.shape or not np.isfinite(true).all():
        raise PolicyError("the true values do not have a number for each cell")
    point = true.reshape(-1)[published.hidden_cells].astype(float)
    largest = float(np.abs(true).max(initial=1.0))
    near = 0.0 if published.whole else CLOSE * largest
    if (np.abs(true - published.values)[~published.hidden] > near).any():
        raise PolicyError("a published value is not the true one", hint="audit changed values by their own bounds")
    low, high = published.bounds()
    if (point < low - near).any() or (point > high + near).any():
        raise PolicyError("a true value is outside the bounds that attackers are said to know")
    if equations.residual(point) > near or (published.whole and (point != np.rint(point)).any()):
        raise PolicyError("the true values do not add up, or are no whole numbers")
    return point
