"""Mondrian in plain Python, one region after the other, with each step told: the same cuts as those of its kernel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sfumato.core.cells import classes_of
from sfumato.core.wording import listed
from sfumato.search.events import (
    ChildrenFound,
    ClassClosed,
    ColumnChosen,
    CutAllowed,
    CutRefused,
    MedianFound,
    Record,
    RegionOpened,
    RegionsMade,
    Trace,
)
from sfumato.search.mondrian.cuts import BALANCED, WIDEST
from sfumato.search.mondrian.parts import OrderedColumn, Parts
from sfumato.search.problem import Problem, records_of

Sides = list[np.ndarray]


def cut_all(problem: Problem, columns: list[OrderedColumn], parts: Parts) -> tuple[np.ndarray, np.ndarray, int]:
    """Cut the parts as `mondrian._cut_all` does: where the final ones start and end, and how many cuts were checked."""
    plane = _Plane.of(problem, columns, parts)
    waiting, closed, checks = [np.arange(len(problem.cells))], [np.zeros(0, np.int64)], 0
    while waiting:
        region = waiting.pop()
        plane.tell_region(region)
        sides, checked = plane.cut(region)
        checks += checked
        if not sides:
            closed.append(region)
        waiting += sides[::-1]
    order = np.concatenate(closed)
    parts.codes, parts.n, parts.idx = parts.codes[:, order], parts.n[order], parts.idx[order]
    ends = np.cumsum([len(region) for region in closed])
    return ends[:-1], ends[1:], checks


@dataclass(frozen=True, eq=False)
class _Plane:
    """The cells at their places in each column, and what cuts them."""

    problem: Problem
    columns: list[OrderedColumn]
    parts: Parts
    records: tuple[Record, ...]
    trace: Trace

    @staticmethod
    def of(problem: Problem, columns: list[OrderedColumn], parts: Parts) -> _Plane:
        assert problem.trace is not None
        return _Plane(problem, columns, parts, records_of(problem), problem.trace)

    def inside(self, region: np.ndarray) -> tuple[Record, ...]:
        """The records of a region."""
        return tuple(self.records[i] for i in region.tolist())

    def rows(self, region: np.ndarray) -> int:
        """The rows of a region."""
        return int(self.parts.n[region].sum())

    def value(self, a: int, place: int) -> str | None:
        """The value at a place of a column."""
        return self.columns[a].attribute.categories.text[self.columns[a].codes[place]]

    def ends(self, a: int, region: np.ndarray) -> tuple[int, int]:
        """The least and the greatest place of a region in a column."""
        places = self.parts.codes[a, region]
        return int(places.min()), int(places.max())

    def tell_region(self, region: np.ndarray) -> None:
        """A region, with its range in each column."""
        ends = [self.ends(a, region) for a in range(len(self.columns))]
        names = [column.attribute.name for column in self.columns]
        ranges = [(names[a], self.value(a, low), self.value(a, high)) for a, (low, high) in enumerate(ends)]
        self.trace(RegionOpened(tuple(ranges), self.inside(region), self.rows(region)))

    def cut(self, region: np.ndarray) -> tuple[Sides, int]:
        """The sides of the first cut that is allowed, none where the region is a class, and how many were checked."""
        least, checks = self.parts.rules.least, 0
        why = f"two classes take {2 * least} rows" if self.rows(region) < 2 * least else "all its rows are equal"
        if self.rows(region) >= 2 * least and len(region) > 1:
            why = "no cut is allowed"
            wide = [self.width(a, region) for a in range(len(self.columns))]
            widest = self.parts.rules.order == WIDEST
            rank = sorted(range(len(wide)), key=lambda a: -wide[a]) if widest else [*range(len(wide))]
            for a in (a for a in rank if wide[a] >= 0):
                self.tell_column(a, wide, rank)
                for cut, at, sides in self.cuts(a, region):
                    sizes, name = tuple(map(self.rows, sides)), self.columns[a].attribute.name
                    fails = [f"a side has fewer than {least} rows"] if min(sizes) < least else []
                    if not fails:
                        checks += 1
                        fails = self.failing(sides)
                    if not fails:
                        self.trace(CutAllowed(name, cut, at, sizes))
                        self.trace(RegionsMade(name, cut, tuple(map(self.inside, sides))))
                        return sides, checks
                    self.trace(CutRefused(name, cut, at, sizes, listed(fails)))
        self.trace(ClassClosed(self.inside(region), self.rows(region), why))
        return [], checks

    def width(self, a: int, region: np.ndarray) -> float:
        """The range of a region in a column as a share of that of the table; -1 where it has one value."""
        low, high = self.ends(a, region)
        shape, column = self.parts.shape, self.columns[a]
        if low == high:
            return -1.0
        if column.tree is not None:
            level = int(np.argmax(column.tree[:, low] == column.tree[:, high]))
            return float(shape.width[shape.tree_at[a] + level * shape.values[a] + low])
        if high == shape.missing[a]:
            return 1.0
        position = shape.position[shape.position_at[a] :]
        return float((position[high] - position[low]) / shape.span[a]) if shape.span[a] > 0 else 0.0

    def tell_column(self, a: int, wide: list[float], rank: list[int]) -> None:
        """The column that is tried, and why no other is."""
        others = []
        for b, column in enumerate(self.columns):
            if b != a:
                why = "narrower" if wide[b] < wide[a] else "as wide, and later" if wide[b] == wide[a] else "later"
                why = "cut in vain" if rank.index(b) < rank.index(a) else "one value" if wide[b] < 0 else why
                others.append((column.attribute.name, max(wide[b], 0.0), why))
        self.trace(ColumnChosen(self.columns[a].attribute.name, wide[a], tuple(others)))

    def cuts(self, a: int, region: np.ndarray) -> Iterator[tuple[str, str | None, Sides]]:
        """The cuts of a column, each with the value it is at: at the children of a node; else missing values off, and
        the better balanced of v <= median and v < median first."""
        column, places, n = self.columns[a], self.parts.codes[a, region], self.parts.n[region]
        low, high = self.ends(a, region)
        name = column.attribute.name
        if column.tree is not None:
            yield self.children(a, region, low, high)
            return
        if high == self.parts.shape.missing[a]:
            yield f"{name} is missing", None, [region[places < high], region[places == high]]
        order = np.argsort(places, kind="stable")
        median = int(places[order][np.searchsorted(np.cumsum(n[order]), (n.sum() - 1) // 2, side="right")])
        below, up_to = int(n[places < median].sum()), int(n[places <= median].sum())
        value = self.value(a, median)
        self.trace(MedianFound(name, value, below, up_to))
        shown = "missing" if value is None else value
        upper = f"{name} <= {shown}", value, [region[places <= median], region[places > median]]
        lower = f"{name} < {shown}", value, [region[places < median], region[places >= median]]
        rows = below + int(n[places >= median].sum())
        if self.parts.rules.how != BALANCED:
            both = [upper]
        else:
            both = [lower, upper] if abs(rows - 2 * below) < abs(rows - 2 * up_to) else [upper, lower]
        yield from (cut for cut in both if min(map(len, cut[2])))

    def children(self, a: int, region: np.ndarray, low: int, high: int) -> tuple[str, None, Sides]:
        """The cut at the children of the node of a hierarchy that a region spans."""
        column, places = self.columns[a], self.parts.codes[a, region]
        assert column.tree is not None
        level = int(np.argmax(column.tree[:, low] == column.tree[:, high]))
        child = column.tree[level - 1]
        nodes = list(dict.fromkeys(child[np.unique(places)].tolist()))
        sides = [region[child[places] == node] for node in nodes]
        text = column.attribute.ladder.text
        spanned = text[level][column.tree[level, low]]
        found = tuple((text[level - 1][node], self.rows(side)) for node, side in zip(nodes, sides, strict=True))
        self.trace(ChildrenFound(column.attribute.name, spanned, found))
        return f"children of {'missing' if spanned is None else spanned}", None, sides

    def failing(self, sides: Sides) -> list[str]:
        """The criteria that a side fails, in words."""
        if self.problem.policy.by_size:
            return []
        cells, side = np.concatenate(sides), np.repeat(np.arange(len(sides), dtype=np.int32), [*map(len, sides)])
        order = np.argsort(cells)
        classes = classes_of(self.problem.cells.take(cells[order]), side[order], len(sides))
        broken = [c.model for c in self.problem.policy.require if not c.holds(classes).all()]
        return [f"a side fails {model}" for model in broken]
