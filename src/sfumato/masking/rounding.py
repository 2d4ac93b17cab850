"""Rounding to points, deterministic and unbiased random (Willenborg and de Waal, Elements of Statistical Disclosure
Control, 2001)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import polars as pl

from sfumato.core.masked import Change, Context, Fact, MaskStep, as_numbers, numbers_of
from sfumato.core.parameters import Real, Written, YesNo, real_number, shown
from sfumato.core.wording import number
from sfumato.masking.moments import Moments, moments_of, refuse_empty


@dataclass(frozen=True)
class Rounding(MaskStep):
    """Round numbers to multiples of a base, or to stated points.

    base: the width of the grid. points: rounding points, multiples of the base: a value beyond the first or last
    becomes that point; None for all multiples. random: up or down by chance, so that the expected value is the value
    itself; else to the nearest, halves up.
    """

    base: Annotated[Any, Real(0, above=True)] = 1
    points: Annotated[Any, Written("list")] = None
    random: Annotated[bool, YesNo()] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.points is not None:
            if not isinstance(self.points, list | tuple):
                raise self.refuse("points must be a list of numbers", got=shown(self.points), allowed="[10, 20, 30]")
            points = tuple(real_number(p, f"{self.name}: points", -1e300) for p in self.points)
            if not points or sorted(set(points)) != list(points):
                raise self.refuse("points must be given once each, and ascend", allowed="[10, 20, 30]")
            off = np.asarray(points) / self.base
            if np.abs(off - np.round(off)).max() > 1e-9 or (len(points) > 1 and np.ptp(np.diff(points)) > 1e-9):
                raise self.refuse("points must be successive multiples of the base", got=f"base {number(self.base)}")
            self.settle(points=points)

    kinds = ("number",)
    stored = "rows"
    leaves = "Values far from all others still stand out by the point that they are rounded to."

    @property
    def draws(self) -> bool:
        """Only where it is by chance."""
        return self.random

    def look(self, columns: pl.DataFrame, context: Context) -> Moments:
        """Whether columns have values."""
        return moments_of(columns, context, self)

    def sentence(self) -> str:
        """What it does."""
        how = ", up or down by chance" if self.random else ""
        to = "the stated points" if self.points is not None else f"multiples of {number(self.base)}"
        return f"numbers are rounded to {to}{how}"

    def apply(self, columns: pl.DataFrame, context: Context) -> Change:
        """Round each column."""
        x, names, b = numbers_of(columns, self, context.seen is not None), columns.columns, float(self.base)
        if context.seen is not None:
            refuse_empty(context.seen, names, self)
        if self.random:
            u = np.column_stack([context.random.part(name).uniform(len(x)) for name in names])
            grid = np.floor(x / b) + (u < x / b - np.floor(x / b))
        else:
            grid = np.floor(x / b + 0.5)
        y = grid * b
        if self.points is not None:
            y = np.clip(y, self.points[0], self.points[-1])
        stated = {"base": self.base} if self.points is None else {"points": list(self.points)}
        whole = all(float(point).is_integer() for point in (b, *(self.points or ())))
        return Change(as_numbers(columns, y, whole), facts=(Fact("points", tuple(names), stated),))
