"""Multiplicative noise (Kim and Winkler, "Multiplicative noise for masking continuous data", US Census Bureau 2003;
two-sided with a gap: Evans, Zayatz and Slanta, Journal of Official Statistics 14, 1998)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import polars as pl

from sfumato.core.masked import Change, Context, MaskStep, as_numbers
from sfumato.core.parameters import OneOf, Real, YesNo
from sfumato.core.random_stream import RandomStream
from sfumato.core.wording import number, percent
from sfumato.masking.moments import DIGITS, Moments, looked_at, moments_of, points, refuse_undone

KINDS_OF_NOISE = ("normal", "log-normal", "two-sided")
SHARE, GAP, END = 0.1, 0.05, 0.15  # unless they are given


@dataclass(frozen=True)
class MultiplicativeNoise(MaskStep):
    """Multiply numbers by random factors around 1: large values change by more than small ones.

    kind: "normal" or "log-normal", factors of mean 1 whose standard deviation is the share, 0.1 unless given, the
    latter never below 0; "two-sided", factors even on [1 - b, 1 - a] and [1 + a, 1 + b], so that every value changes by
    at least a and at most b. share: the standard deviation of normal and log-normal factors. a: the least change of
    two-sided factors, 0.05 unless given. b: the largest, 0.15 unless given. together: one factor for all columns of a
    row, so that their ratios and sums stay.
    """

    kind: Annotated[Any, OneOf(KINDS_OF_NOISE)] = "log-normal"
    share: Annotated[Any, Real(0, 1, above=True)] = None
    a: Annotated[Any, Real(0, 1)] = None
    b: Annotated[Any, Real(0, 1, above=True)] = None
    together: Annotated[bool, YesNo()] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        two_sided = self.kind == "two-sided"
        for name, of_two_sided in (("share", False), ("a", True), ("b", True)):
            if getattr(self, name) is not None and of_two_sided != two_sided:
                allowed = "a and b" if two_sided else "share"
                raise self.refuse(f'{name} is no parameter of kind "{self.kind}"', allowed=allowed)
        if two_sided:
            a = GAP if self.a is None else self.a
            b = max(END, 2 * a) if self.b is None else self.b
            if b > 1 or a >= b:
                got, allowed = f"a={a}, b={b}", "a < b <= 1"
                raise self.refuse("the gap is no smaller than the largest change", got=got, allowed=allowed)
            self.settle(a=a, b=b)
        else:
            self.settle(share=SHARE if self.share is None else self.share)

    kinds = ("number",)
    stored = "rows"

    @property
    def leaves(self) -> str:
        """What small, large and related values tell."""
        told = " Whoever knows one value of a changed row learns its other values." if self.together else ""
        return (
            "Zeros stay, small values hardly change, and the largest value is most likely still the largest; several"
            f" releases of a table average the noise out.{told}"
        )

    @property
    def spread(self) -> float:
        """The standard deviation of the factors."""
        if self.kind == "two-sided":
            return float(np.sqrt((self.a**2 + self.a * self.b + self.b**2) / 3))
        return float(self.share)

    def sentence(self) -> str:
        """What it does."""
        all_columns = ", one for all columns of a row" if self.together else ""
        if self.kind == "two-sided":
            return f"numbers change up or down by {percent(self.a)} to {percent(self.b)} by chance{all_columns}"
        return f"numbers are multiplied by {self.kind} factors of standard deviation {number(self.share)}{all_columns}"

    def look(self, columns: pl.DataFrame, context: Context) -> Moments:
        """The moments of the columns."""
        return moments_of(columns, context, self)

    def apply(self, columns: pl.DataFrame, context: Context) -> Change:
        """Multiply each column."""
        (x, seen), names = looked_at(columns, context, self), columns.columns
        streams = [context.random.part("row" if self.together else name) for name in names]
        y = x * np.column_stack([self._factors(stream, len(x)) for stream in streams])
        digits = int(np.ceil(-np.log10(self.spread))) + DIGITS + 1
        facts = []
        for i, name in enumerate(names):
            unit = float(seen.unit[i])
            refuse_undone(name, self.spread * float(seen.size[i] / seen.known[i]), unit, self)
            y[:, i] = significant(y[:, i], digits)
            if unit:
                places = max(-round(np.log10(unit)), 0)
                y[:, i] = np.round(y[:, i], places)
                facts.append(points(name, places))
        return Change(as_numbers(columns, y), facts=tuple(facts))

    def _factors(self, stream: RandomStream, rows: int) -> np.ndarray:
        if self.kind == "normal":
            return np.asarray(1 + self.share * stream.normal(rows))
        if self.kind == "log-normal":
            variance = np.log1p(self.share**2)
            return np.asarray(np.exp(np.sqrt(variance) * stream.normal(rows) - variance / 2))
        u = 2 * stream.uniform(rows) - 1
        return np.asarray(1 + np.sign(u) * (self.a + (self.b - self.a) * np.abs(u)))


def significant(y: np.ndarray, digits: int) -> np.ndarray:
    """Numbers to so many digits: what a product's last ones tell of its factors is not released.

    >>> significant(np.array([1234.56, -0.00123456, 0.0]), 4).tolist()
    [1235.0, -0.001235, 0.0]
    """
    size = np.abs(y)
    power = np.floor(np.log10(np.where((size > 0) & np.isfinite(size), size, 1.0))) - digits + 1
    up, down = 10.0 ** np.maximum(power, 0), 10.0 ** np.maximum(-power, 0)  # powers below 1 are no exact floats
    return np.asarray(np.round(y / up * down) / down * up)
