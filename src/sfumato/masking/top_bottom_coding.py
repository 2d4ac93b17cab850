"""Top and bottom coding: numbers beyond a bound become the bound, or a mean or median of theirs (Hundepool et al.,
Statistical Disclosure Control, 2012)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import polars as pl

from sfumato.core.exact import roundest
from sfumato.core.masked import Change, Context, Fact, MaskStep, as_numbers, numbers_of, refuse_constant
from sfumato.core.parameters import OneOf, Real, Whole, is_whole
from sfumato.core.wording import count, listed, number

KINDS_OF_BOUNDS = ("value", "percentile", "z-score")
REPLACEMENTS = ("bound", "mean", "median")
SLACK = 0.1  # of the rows beyond a percentile, or of a standard deviation, by which a bound may move inward


@dataclass(frozen=True)
class TopBottomCoding(MaskStep):
    """Replace numbers above a top bound and below a bottom bound.

    top: the largest number. bottom: the smallest; one or both. kind: what they are: a "value"; a "percentile", 0 to
    100; a "z-score", standard deviations from the mean, such as 3 and -3. Bounds that come from the values are moved
    inward to a round number. replacement: "bound", the bound itself; "mean" or "median" of the values beyond it, of
    which there must be `least` rows at least; or a number.
    """

    top: Annotated[Any, Real(-1e300, 1e300)] = None
    bottom: Annotated[Any, Real(-1e300, 1e300)] = None
    kind: Annotated[str, OneOf(KINDS_OF_BOUNDS)] = "value"
    replacement: Annotated[Any, OneOf(REPLACEMENTS, Real(-1e300))] = "bound"
    least: Annotated[int, Whole(3)] = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.top is None and self.bottom is None:
            raise self.refuse("give a top bound, a bottom bound or both", allowed="top=100000")
        if self.kind == "percentile" and not all(0 <= (end or 0) <= 100 for end in (self.top, self.bottom)):
            raise self.refuse("percentiles lie between 0 and 100")
        if self.top is not None and self.bottom is not None and self.bottom >= self.top:
            raise self.refuse("the bottom bound must be below the top bound")

    kinds = ("number",)
    perturbs = False
    stored = "map"

    @property
    def weighs(self) -> bool:
        """Bounds and replacements that come from the values depend on how often each is there."""
        return self.kind != "value" or self.replacement in ("mean", "median")

    @property
    def leaves(self) -> str:
        """What a mean tells, and that others stay."""
        told = " Whoever knows all but one of them learns that one from the mean." if self.replacement == "mean" else ""
        return "It is known of each replaced value that it lies beyond the bound; all others are as they were." + told

    def sentence(self) -> str:
        """What it does."""
        ends = [f"{word} {number(at)}" for word, at in (("above", self.top), ("below", self.bottom)) if at is not None]
        of = {"value": "", "percentile": " (percentiles)", "z-score": " (standard deviations from the mean)"}[self.kind]
        by = {"bound": "the bound", "mean": "the mean of these", "median": "the median of these, rounded"}
        to = by[self.replacement] if isinstance(self.replacement, str) else number(self.replacement)
        return f"numbers {listed(ends)}{of} are replaced by {to}"

    def apply(self, columns: pl.DataFrame, context: Context) -> Change:
        """Replace what lies beyond the bounds of each column."""
        x = numbers_of(columns, self)
        if self.kind != "value":
            refuse_constant(x, columns.columns, self)
        facts, published = [], dict[str, dict[str, float]]()
        for i, column in enumerate(columns.iter_columns()):
            known = ~np.isnan(x[:, i])
            weights = None if context.weights is None else context.weights[known]
            whole = column.dtype.is_integer()
            x[known, i], stated, bounds = self._coded(x[known, i], weights, whole, column.name)
            facts.append(Fact("between", (column.name,), stated))
            published[column.name] = bounds
        more = {} if self.kind == "value" else {"bounds": published}
        return Change(as_numbers(columns, x), facts=tuple(facts), published=more)

    def _coded(
        self, x: np.ndarray, weights: np.ndarray | None, whole: bool, name: str
    ) -> tuple[np.ndarray, dict[str, float], dict[str, float]]:
        """A column coded, the least and greatest value it may have then, and its bounds. The bottom is the top of the
        numbers with the other sign."""
        made, ends, bounds = x.copy(), dict[str, float](), dict[str, float]()
        for end, sign, at in (("high", 1, self.top), ("low", -1, self.bottom)):
            if at is None:
                continue
            bound = self._bound(sign * x, weights, at, sign)
            if whole and self.kind != "value":
                bound = math.floor(bound)
            beyond = sign * x > bound
            to = sign * self._replacement(sign * x[beyond], bound, weights[beyond] if weights is not None else None,
                                          whole, name, sign)  # fmt: skip
            made[beyond] = to
            bounds["top" if sign > 0 else "bottom"] = _plain(sign * bound)
            ends[end] = _plain(max(sign * to, bound) * sign)
        if isinstance(self.replacement, float | int):  # which may lie beyond the other bound
            ends = {
                e: _plain(max(v, self.replacement) if e == "high" else min(v, self.replacement))
                for e, v in ends.items()
            }
        return made, ends, bounds

    def _bound(self, x: np.ndarray, weights: np.ndarray | None, at: float, sign: int) -> float:
        """The top bound of numbers, which have the other sign where it is a bottom bound; one that comes
        from them is a round number that is a little lower."""
        if self.kind == "value":
            return float(sign * at)
        if self.kind == "z-score":
            at = sign * at
            mean = float(np.average(x, weights=weights))
            sd = float(np.sqrt(np.average((x - mean) ** 2, weights=weights) * len(x) / max(len(x) - 1, 1)))
            return float(roundest(mean + (at - SLACK) * sd, mean + at * sd))
        share = (at if sign > 0 else 100 - at) / 100
        order = np.argsort(x, kind="stable")
        ranked, w = x[order], np.ones(len(x)) if weights is None else weights[order]
        upto = np.cumsum(w) / w.sum()
        high, low = ranked[
            np.minimum(np.searchsorted(upto, [share - 1e-12, share - SLACK * (1 - share) - 1e-12]), len(x) - 1)
        ]
        below = ranked[: np.searchsorted(ranked, high)]
        return float(roundest(float(min(low, below[-1])), float(high))) if len(below) else float(high)

    def _replacement(
        self, tail: np.ndarray, bound: float, weights: np.ndarray | None, whole: bool, name: str, sign: int
    ) -> float:
        """What values above a bound become; `sign` is -1 where the numbers are those below a bottom bound."""
        if not isinstance(self.replacement, str):
            return float(sign * self.replacement)
        if self.replacement == "bound" or not len(tail):
            return bound
        if len(tail) < self.least:
            what = f'the {self.replacement} of few rows beyond the bound of "{name}" would tell their values'
            hint = 'move the bound inward, or replace by "bound"'
            raise self.refuse(what, got="too few rows", allowed=f"at least {count(self.least, 'row')}", hint=hint)
        if self.replacement == "mean":
            order = np.lexsort((tail,) if weights is None else (weights, tail))  # a sum depends on it in its last digit
            mean = float(np.average(tail[order], weights=None if weights is None else weights[order]))
            return float(np.round(mean)) if whole else mean
        ranked = np.sort(tail)
        middle = (len(ranked) - 1) // 2  # the median of an odd number is somebody's: a round number beside it is not
        found = float(roundest(float(max(bound, ranked[middle - 1])), float(ranked[middle + 1])))
        return max(found, bound)


def _plain(value: float) -> float:
    return int(value) if is_whole(value) or (float(value).is_integer() and abs(value) < 2**53) else float(value)
