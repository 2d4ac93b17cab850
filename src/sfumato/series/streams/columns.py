"""The quasi-identifiers of a stream: where their values stand, and what a box prints in each column.

Numbers and dates stand on a line, and print ranges; all else stands in a tree, and prints the lowest common ancestor.
The domains of numbers, and hierarchies made from values, are those given or those of the first window: later values
that a hierarchy does not know have the root above them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.hierarchy import Hierarchy, kind_of
from sfumato.core.label_grammar import STAR
from sfumato.core.microdata import encode, reads_codes
from sfumato.core.parameters import mapping
from sfumato.core.printed import plain_values, printed
from sfumato.errors import ColumnError, HierarchyError, PolicyError
from sfumato.hierarchies.spec import fixed
from sfumato.series.streams.boxes import MISSING, Shape

STEPS = 25  # of a domain, at least: how wide a step of rounded ends may be
LARGEST = 2**53
LINES = ("integer", "decimal", "date")


@dataclass(frozen=True)
class Line:
    """A numeric column: its kind, its domain, who said so, and the step that ends are rounded to, factor * 10**power;
    None where they are exact."""

    name: str
    kind: str
    low: float
    high: float
    learned: bool
    step: tuple[int, int] | None

    def place(self, column: pl.Series) -> np.ndarray:
        """Where each value stands; `MISSING` where there is none."""
        if column.null_count() == len(column):
            return np.full(len(column), MISSING)
        kind, found = numbers(column)
        if kind not in LINES or (kind == "date") != (self.kind == "date"):
            what = f'column "{self.name}" has another type than in the first rows'
            raise ColumnError(what, got=str(column.dtype), allowed="dates" if self.kind == "date" else "numbers")
        known = found.drop_nulls()
        if not bool(known.is_finite().all()) or not bool((known.abs() < LARGEST).all()):
            raise ColumnError(f'column "{self.name}" has numbers that have no place on a line', allowed="below 2**53")
        if self.kind == "integer" and kind == "decimal" and not bool((known % 1 == 0).all()):
            raise ColumnError(f'column "{self.name}" had whole numbers in the first rows, and has fractions now')
        return found.fill_null(MISSING).to_numpy()

    def labels(self, lo: np.ndarray, hi: np.ndarray) -> pl.Series:
        """What the range of each class prints: a value alone where all have it, else a range."""
        single, gone, mixed = lo == hi, lo >= MISSING, (hi >= MISSING) & (lo < MISSING)
        low, high = np.where(gone, 0.0, lo), np.where(gone | mixed, 0.0, hi)
        if self.step is None:
            first, last, end = self._texts(low), self._texts(high), "]"
        else:
            step = Fraction(self.step[0]) * Fraction(10) ** self.step[1]
            # whole arithmetic where the step is whole; a step below 1 is 1 / (10**n / factor)
            below, above = _steps(low, step), _steps(high, step) + 1
            whole = self.kind != "decimal"
            first, last = self._points(below, step), self._points(above, step, 1 if whole else 0)
            end = "]" if whole else ")"
        frame = pl.DataFrame({"one": self._texts(low), "first": first, "last": last})
        one = pl.when(pl.Series(gone)).then(None).when(pl.Series(mixed)).then(pl.lit(STAR))
        text = one.when(pl.Series(single)).then("one").otherwise(pl.format(f"[{{}}, {{}}{end}", "first", "last"))
        return frame.select(text.alias(self.name)).to_series()

    def _texts(self, at: np.ndarray) -> pl.Series:
        """Places as they print."""
        if self.kind == "decimal":
            return printed(pl.Series(at))
        whole = pl.Series(at.astype(np.int64))
        return printed(whole.cast(pl.Int32).cast(pl.Date) if self.kind == "date" else whole)

    def _points(self, number: np.ndarray, step: Fraction, less: int = 0) -> pl.Series:
        """The points of a grid as they print."""
        if step.denominator == 1:
            at = number * int(step) - less
            if self.kind == "decimal":
                return pl.Series(at).cast(pl.String)
            return self._texts(at.astype(np.float64))
        scale = int(step.denominator)
        digits = len(str(scale)) if 10 ** (len(str(scale)) - 1) != scale else len(str(scale)) - 1
        values = np.round(number * float(step.numerator) / scale, digits)
        return printed(pl.Series(values)).str.strip_suffix(".0")


def numbers(column: pl.Series) -> tuple[str, pl.Series]:
    """The kind of a column, and its numbers, days or seconds, null where there are none; texts are read, as those of a
    file are everywhere.

    >>> numbers(pl.Series(["7", None, "30"]))[1].to_list(), numbers(pl.Series(["07", "30"]))[0]
    ([7.0, None, 30.0], 'text')
    """
    kind = kind_of(column.dtype)
    if kind == "text":
        read, codes = encode(column)
        if read.position is None:
            return read.kind, pl.Series(column.name, [None] * len(column), dtype=pl.Float64)
        return read.kind, pl.Series(column.name, read.position[codes]).fill_nan(None)
    column = plain_values(column)
    unit = {"ms": 1e3, "us": 1e6, "ns": 1e9}[column.dtype.time_unit] if isinstance(column.dtype, pl.Datetime) else 1
    return kind, (column.to_physical() if kind in ("date", "datetime") else column).cast(pl.Float64) / unit


def _steps(at: np.ndarray, step: Fraction) -> np.ndarray:
    """The step that each place lies in; a place that floats cannot tell from a point of the grid lies above it."""
    exactly = at / float(step)
    near = np.round(exactly)
    return np.where(np.abs(exactly - near) < 1e-9, near, np.floor(exactly)).astype(np.int64)


@dataclass
class Trees:
    """The hierarchies of all other columns, as one forest of numbered nodes, which grows with new values."""

    recipes: Mapping[str, Any]
    parent: list[int] = field(default_factory=list)
    depth: list[int] = field(default_factory=list)
    cost: list[float] = field(default_factory=list)
    label: list[str | None] = field(default_factory=list)
    root: dict[str, int] = field(default_factory=dict)
    leaf: dict[str, dict[str, int]] = field(default_factory=dict)  # column to printed value ("" is missing) to node
    inner: dict[str, dict[str, int]] = field(default_factory=dict)  # column to "parent depth label" to node
    typical: dict[str, dict[int, float]] = field(default_factory=dict)  # column to what a node of a depth loses

    def plant(self, column: pl.Series) -> None:
        """Make the tree of a column, over the values of the first window."""
        name, recipe = column.name, self.recipes.get(column.name)
        self.leaf[name], self.inner[name], self.typical[name] = {}, {}, {}
        self.root[name] = self._node(0, 0, 1.0, STAR)
        self.parent[self.root[name]] = self.root[name]
        if recipe is None:
            return
        known = plain_values(printed(column)).drop_nulls()
        self._graft(name, recipe.build(encode(known.alias(name), reads_codes(column, recipe))[0]), True)

    def _node(self, parent: int, depth: int, cost: float, label: str | None) -> int:
        self.parent.append(parent)
        self.depth.append(depth)
        self.cost.append(cost)
        self.label.append(label)
        return len(self.parent) - 1

    def _graft(self, name: str, tree: Hierarchy, first: bool) -> None:
        """Take over the paths of a hierarchy."""
        height = tree.height
        if first:
            self.label[self.root[name]] = tree.labels[-1][0]
            for level in range(1, height):
                under = np.bincount(tree.ancestor[level]) / max(len(tree.leaves), 1)
                self.typical[name][height - level] = float((under * under).sum())
        for number, leaf in enumerate(tree.leaves):
            if leaf in self.leaf[name]:
                continue
            above = self.root[name]
            for level in range(height - 1, 0, -1):
                label, depth = tree.label(level, number), height - level
                key = f"{above} {depth} {label}"
                if key not in self.inner[name]:
                    cost = float((tree.ancestor[level] == tree.ancestor[level, number]).mean()) if first else None
                    lost = self.typical[name].get(depth, 1.0) if cost is None else cost
                    self.inner[name][key] = self._node(above, depth, lost, label)
                above = self.inner[name][key]
            self.leaf[name][leaf] = self._node(above, height, 0.0, leaf)

    def place(self, column: pl.Series) -> np.ndarray:
        """The node of each value."""
        name, text = column.name, printed(column).fill_null("")
        every = text.unique(maintain_order=True)
        known = self.leaf[name]
        new = [one for one in every.to_list() if one not in known]
        recipe = self.recipes.get(name)
        if new and recipe is not None and fixed(recipe):
            values = pl.Series(name, [one for one in new if one])
            with suppress(HierarchyError):  # values that a written hierarchy does not know
                self._graft(name, recipe.build(encode(values, reads_codes(column, recipe))[0]), False)
        for one in new:
            if one not in known:
                known[one] = self._node(self.root[name], 1, 0.0, one or None)
        nodes = [known[one] for one in every.to_list()]
        return text.replace_strict(every, nodes, return_dtype=pl.Float64).to_numpy()

    def labels(self, name: str, node: np.ndarray) -> pl.Series:
        """What each node prints."""
        used, of = np.unique(node.astype(np.int64), return_inverse=True)
        return pl.Series(name, [self.label[one] for one in used.tolist()], dtype=pl.String).gather(of)


@dataclass
class QuasiColumns:
    """The quasi-identifiers, in order."""

    names: tuple[str, ...]
    lines: dict[str, Line]
    trees: Trees

    def place(self, frame: pl.DataFrame) -> np.ndarray:
        """Where each row stands, in all columns."""
        found = np.empty((frame.height, len(self.names)))
        for j, name in enumerate(self.names):
            column = frame.get_column(name)
            found[:, j] = self.lines[name].place(column) if name in self.lines else self.trees.place(column)
        return found

    def shape(self) -> Shape:
        """What boxes are measured against, as it is now."""
        trees = self.trees
        return Shape(
            tree=np.array([name not in self.lines for name in self.names]),
            span=np.array([max(one.high - one.low, 0.0) if one else 1.0 for one in map(self.lines.get, self.names)]),
            parent=np.array(trees.parent or [0], np.int32),
            depth=np.array(trees.depth or [0], np.int32),
            cost=np.array(trees.cost or [0.0]),
        )

    def labels(self, lo: np.ndarray, hi: np.ndarray) -> pl.DataFrame:
        """What boxes print, a column each."""
        return pl.DataFrame(
            [
                self.lines[name].labels(lo[:, j], hi[:, j]).alias(name)
                if name in self.lines
                else self.trees.labels(name, lo[:, j])
                for j, name in enumerate(self.names)
            ]
        )

    def stored(self) -> dict[str, Any]:
        """Plain values, for a checkpoint."""
        trees = {key: value for key, value in vars(self.trees).items() if key != "recipes"}
        return {"lines": [asdict(line) for line in self.lines.values()], "trees": trees}


def restored(names: Sequence[str], recipes: Mapping[str, Any], stored: Mapping[str, Any]) -> QuasiColumns:
    """The columns of a checkpoint."""
    lines = {}
    for one in stored["lines"]:
        step = one["step"]
        lines[one["name"]] = Line(**{**one, "step": None if step is None else tuple(step)})
    trees = dict(stored["trees"])
    trees["typical"] = {name: {int(d): v for d, v in by.items()} for name, by in trees["typical"].items()}
    return QuasiColumns(tuple(names), lines, Trees(recipes, **trees))


def learn(
    frame: pl.DataFrame, names: Sequence[str], recipes: Mapping[str, Any], domains: Mapping[str, Any], ends: str
) -> QuasiColumns:
    """The columns as they are after the first window of rows, with the domains given."""
    lines, trees = {}, Trees(recipes)
    for name in names:
        column = frame.get_column(name)
        kind = kind_of(column.dtype) if name in recipes else numbers(column)[0]
        if kind == "datetime":
            raise ColumnError(f'column "{name}" has times, of which there are no ranges', hint="cut them to dates")
        if name in recipes or kind not in LINES:
            if name in domains:
                raise PolicyError(f'"{name}" is given a domain, and is no column of numbers without a hierarchy')
            trees.plant(column)
        else:
            lines[name] = _line(column, kind, domains.get(name), ends)
    return QuasiColumns(tuple(names), lines, trees)


def domains_of(given: Any, names: Sequence[str]) -> dict[str, tuple[Any, Any]]:
    """Column to its least and greatest value, checked."""
    found = {}
    for name, pair in mapping(given, "domains", names, "the quasi-identifiers").items():
        both = tuple(pair) if isinstance(pair, list | tuple) else ()
        try:
            fine = len(both) == 2 and bool(both[0] < both[1])
        except TypeError:
            fine = False
        if not fine:
            what = f'the domain of "{name}" must be its least and its greatest value'
            raise PolicyError(what, got=type(pair).__name__, allowed="for example (0, 120)")
        found[name] = (both[0], both[1])
    return found


def _line(column: pl.Series, kind: str, domain: tuple[Any, Any] | None, ends: str) -> Line:
    bare = Line(column.name, kind, 0.0, 0.0, domain is None, None)
    values = bare.place(column)
    values = np.unique(values[values < MISSING])
    if domain is not None:
        try:
            low, high = bare.place(pl.Series(column.name, domain, strict=True)).tolist()
        except (TypeError, ColumnError):
            raise PolicyError(f'the domain of "{column.name}" is not of the type of its values') from None
    else:
        low, high = (float(values[0]), float(values[-1])) if len(values) else (0.0, 0.0)
    step = _step(kind, high - low, values) if ends == "rounded" else None
    return Line(column.name, kind, low, high, domain is None, step)


def _step(kind: str, span: float, values: np.ndarray) -> tuple[int, int]:
    """The least of 1, 2 and 5 times a power of ten that is a `STEPS`th of the domain or more, and coarser than what the
    values are given in."""
    gaps = np.diff(values)
    given = 1.0 if kind != "decimal" else float(gaps.min()) if len(gaps) else 0.0
    least = max(span / STEPS, 1.5 * given)
    if not least > 0:
        return (2, 0) if kind != "decimal" else (1, 0)
    power = int(np.floor(np.log10(least)))
    tried = [(factor, power + more) for more in (0, 1) for factor in (1, 2, 5)]
    return next((f, p) for f, p in tried if f * 10.0**p >= least * (1 - 1e-9))
