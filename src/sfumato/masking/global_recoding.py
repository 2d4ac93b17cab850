"""Global recoding: the values of a column become few labels, the same everywhere (Willenborg and de Waal, Elements of
Statistical Disclosure Control, 2001)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
import polars as pl

from sfumato.core.exact import exact, roundest
from sfumato.core.exact import printed as text_of
from sfumato.core.hierarchy import leaves_of
from sfumato.core.masked import Change, Context, Fact, MaskStep, numbers_of, refuse_constant
from sfumato.core.microdata import encode
from sfumato.core.parameters import OneOf, Real, Whole, Written, real_number
from sfumato.core.printed import as_text, text_column
from sfumato.core.wording import count, number, quoted
from sfumato.errors import ColumnError
from sfumato.hierarchies.intervals import between

METHODS = ("equal-width", "equal-count", "logarithmic")
MOST = 1000  # intervals
SLACK = 0.1  # of a group, by which a cut may move to a rounder number


@dataclass(frozen=True)
class GlobalRecoding(MaskStep):
    """Cut numbers into intervals, or merge categories.

    One of four. cuts: own cut points, each the first number of the next interval. width: that of the intervals, which
    begin at its multiples. groups: how many intervals, about. merge: {new label: [values]}.

    method: how groups are made, of "equal-width", "equal-count" (of rows) or "logarithmic" (of equal width in
    logarithms). rest: beside merge, the label of all other values, which stay as they are where it is left out.

    Intervals include their lower end, and cuts that come from the
    values are round numbers near them. The outermost intervals are open, but for those of equal width.
    """

    groups: Annotated[Any, Whole(2, MOST)] = None
    method: Annotated[Any, OneOf(METHODS)] = None
    width: Annotated[Any, Real(0, above=True)] = None
    cuts: Annotated[Any, Written("list")] = None
    merge: Annotated[Any, Written("mapping")] = None
    rest: Annotated[Any, Written("text")] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        ways = {"groups": self.groups, "width": self.width, "cuts": self.cuts, "merge": self.merge}
        if len(given := [name for name, value in ways.items() if value is not None]) != 1:
            raise self.refuse("give one of groups, width, cuts and merge", got=", ".join(given) or "none")
        if self.method is not None and self.groups is None:
            raise self.refuse("a method is for a number of groups", got=given[0])
        if self.cuts is not None:
            given_cuts = self.cuts if isinstance(self.cuts, list | tuple) else [self.cuts]
            cuts = tuple(real_number(c, f"{self.name}: cuts", -1e300) for c in given_cuts)
            if not cuts or sorted(set(cuts)) != list(cuts):
                raise self.refuse("cuts must be given once each, and ascend", allowed="[18, 40, 65]")
            self.settle(cuts=cuts)
        if self.merge is not None:
            self.settle(merge=self._merged(self.merge))
        if self.rest is not None:
            if self.merge is None:
                raise self.refuse("rest is for merged categories")
            self.settle(rest=text_of(self.rest))

    def _merged(self, given: Any) -> dict[str, tuple[str, ...]]:
        if not isinstance(given, Mapping) or not given:
            allowed = '{"flat": ["rented", "owned"]}'
            raise self.refuse("merge maps labels to lists of values", got=type(given).__name__, allowed=allowed)
        found = {
            text_of(new): tuple(map(text_of, old if isinstance(old, list | tuple) else [old]))
            for new, old in given.items()
        }
        every = [value for values in found.values() for value in values]
        if "" in found or "" in every or not all(found.values()):
            raise self.refuse("merge has a label or value that is empty", hint="missing values stay missing")
        if twice := sorted({value for value in every if every.count(value) > 1}):
            raise self.refuse("merge names a value twice", got=quoted(twice))
        return found

    @property
    def kinds(self) -> tuple[str, ...]:
        """Categories to merge, or numbers."""
        return ("number",) if self.merge is None else ("category",)

    @property
    def weighs(self) -> bool:
        """Groups of as many rows depend on how often each value is there."""
        return self.method == "equal-count"

    named_kinds = ("number", "date")  # codes may be digits
    perturbs = False
    stored = "map"
    leaves = "A label that few rows have still stands out, and so may labels of several columns together."

    def sentence(self) -> str:
        """What it does."""
        if self.merge is not None:
            rest = "" if self.rest is None else ", and all others into one"
            return f"values are merged into {count(len(self.merge), 'label')}{rest}"
        if self.cuts is not None:
            return f"numbers are cut into intervals at {', '.join(map(number, self.cuts))}"
        if self.width is not None:
            return f"numbers are cut into intervals of width {number(self.width)}"
        how = {None: "equal width", "equal-width": "equal width", "equal-count": "about as many rows"}
        return (
            f"numbers are cut into about {self.groups} intervals of {how.get(self.method, 'equal width in logarithms')}"
        )

    def parameters(self) -> dict[str, Any]:
        """With lists for tuples."""
        found = super().parameters()
        return found if self.merge is None else {**found, "merge": {k: list(v) for k, v in self.merge.items()}}

    def apply(self, columns: pl.DataFrame, context: Context) -> Change:
        """The label of each value."""
        made, facts = [], []
        x = None if self.merge is not None else numbers_of(columns, self)
        for i, column in enumerate(columns.iter_columns()):
            texts, of = self._by_name(column) if x is None else self._by_cuts(x[:, i], column.name, context)
            made.append(as_text(text_column(column.name, texts, of)))
            there = np.bincount(of, minlength=len(texts)) > 0
            shown = list(dict.fromkeys(t for t, some in zip(texts, there, strict=True) if some and t is not None))
            facts.append(Fact("among", (column.name,), {"values": shown}))
        return Change(pl.DataFrame(made), facts=tuple(facts))

    def _by_name(self, column: pl.Series) -> tuple[list[str | None], np.ndarray]:
        """Categories that have labels, and the label of each row."""
        categories, codes = encode(column, as_text=True)
        texts = leaves_of(categories)
        new = {value: label for label, values in self.merge.items() for value in values}
        if absent := [value for value in new if value not in set(texts)]:
            what = f'{self.name}: "{column.name}" does not have all values that are merged'
            raise ColumnError(what, got=quoted(absent), hint="check how they are spelt")
        alone = {value for value in texts if value not in new} if self.rest is None else set()
        if taken := [label for label in (*self.merge, self.rest) if label in alone]:
            what = f'{self.name}: "{column.name}" has values with the name of a new label'
            raise ColumnError(what, got=quoted(taken), hint="merge these values too, or name the label otherwise")
        labels: list[str | None] = [new.get(value, value if self.rest is None else self.rest) for value in texts]
        return [*labels, None], codes

    def _by_cuts(self, x: np.ndarray, name: str, context: Context) -> tuple[list[str | None], np.ndarray]:
        """Intervals that print, and the interval of each row."""
        known = ~np.isnan(x)
        edges = self._edges(x[known], None if context.weights is None else context.weights[known], name)
        of = np.searchsorted(np.array([float(edge) for edge in edges]), x, side="right")
        of[~known] = len(edges) + 1
        ends = [None, *edges, None]
        return [*(between(low, high) for low, high in pairwise(ends)), None], of

    def _edges(self, x: np.ndarray, weights: np.ndarray | None, name: str) -> list[Fraction]:
        """The cut points of one column."""
        if self.cuts is not None:
            return [exact(cut) for cut in self.cuts]
        low, high = float(x.min()), float(x.max())
        if self.width is not None:
            return self._multiples(exact(self.width), low, high)
        refuse_constant(x[:, None], [name], self)
        if self.method in (None, "equal-width"):
            step = (high - low) / self.groups
            return self._multiples(roundest(step * (1 - SLACK), step * (1 + 3 * SLACK)), low, high)
        if self.method == "logarithmic":
            if high <= 0:
                raise ColumnError(f'{self.name}: "{name}" has no number above 0, which logarithms need')
            low = float(x[x > 0].min())
            step = math.log(high / low) / self.groups
            at = math.log(low) + step * np.arange(1, self.groups)
            pairs = zip(np.exp(at - SLACK * step).tolist(), np.exp(at + SLACK * step).tolist(), strict=True)
            return sorted({roundest(*pair) for pair in pairs}) if step else []
        return _quantile_cuts(x, weights, self.groups)

    def _multiples(self, step: Fraction, low: float, high: float) -> list[Fraction]:
        """The multiples of a width from the last up to the lowest value to the first above the highest."""
        first, last = exact(low) // step, exact(high) // step + 1
        if last - first > MOST:
            raise self.refuse("the width makes too many intervals", got=f"{last - first:,}", allowed=f"{MOST:,}")
        return [i * step for i in range(first, last + 1)]


def _quantile_cuts(x: np.ndarray, weights: np.ndarray | None, groups: int) -> list[Fraction]:
    """Round cuts between groups of about as many rows, or as much weight."""
    order = np.argsort(x, kind="stable")
    x, w = x[order], np.ones(len(x)) if weights is None else weights[order]
    below = (np.cumsum(w) - w / 2) / w.sum()
    found = set()
    for i in range(1, groups):
        start, stop = np.searchsorted(below, [(i - SLACK) / groups, (i + SLACK) / groups])
        low, high = x[max(int(start) - 1, 0)], x[min(int(stop), len(x) - 1)]
        if low == high:  # many rows have one value, which begins a group
            before = np.searchsorted(x, low) - 1
            if before < 0:
                continue
            low = x[before]
        found.add(roundest(float(low), float(high)))
    return sorted(found)
