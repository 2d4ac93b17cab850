"""Histogram and contingency table over public bins and values: each row is in one cell at most."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from sfumato.core.parameters import ColumnNames, Written, known_columns, real_number
from sfumato.core.printed import printed
from sfumato.dp.queries.query import Law, Part, Query
from sfumato.dp.rows import PrivateRows, RowView
from sfumato.dp.values import CELLS, Public, Unit
from sfumato.errors import PolicyError

BINS = 10
STEPS = 2**16  # that bins are looked up in
TINY = 1e-290  # a width that steps cannot divide


@dataclass(frozen=True)
class ContingencyTable(Query):
    """How many rows are in each cell of one column or several, every combination of their public values and bins.

    Bins are of columns with bounds: their edges, ascending, or how many of equal width; the last has its upper end. A
    row with another value, or none, is in no cell.
    """

    by: Annotated[Any, ColumnNames()]
    bins: Annotated[Any, Written()] = BINS
    where: Annotated[Any, Written("text")] = None
    how: ClassVar[str] = "a unit has at most so many rows, and each is in one cell; where units are exchanged, in two"

    def __post_init__(self) -> None:
        super().__post_init__()
        names = self.by
        if not names or len(set(names)) < len(names):
            raise PolicyError("a histogram is over one column or several different ones", allowed="sex, age")
        if taken := {"count", "mean"} & {*names}:
            raise PolicyError(f'a column of the answer is called "{min(taken)}"', hint="rename that of the table")
        given = self.bins if isinstance(self.bins, dict) else dict.fromkeys(names, self.bins)
        known_columns(given, names, "the histogram")
        object.__setattr__(self, "bins", {name: _bins(bins) for name, bins in given.items()})

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the cells."""
        return tuple(self.by)

    def cells(self, public: Public) -> list[list[Any]]:
        """The values and bins of each column, bins by their ends."""
        found: list[list[Any]] = []
        for name in self.by:
            if name in public.bounds:
                edges = self._edges(name, public)
                found.append(list(pairwise(edges)))
            else:
                found.append(list(public.values(name)))
        if math.prod(map(len, found)) > CELLS:
            raise PolicyError(
                "a histogram has too many cells", got=f"{math.prod(map(len, found)):,}", allowed=f"{CELLS:,}"
            )
        return found

    def _edges(self, name: str, public: Public) -> list[float]:
        bins = self.bins.get(name, BINS)
        if isinstance(bins, int):
            return [float(edge) for edge in np.linspace(*public.ends(name), bins + 1)]
        return list(bins)

    def parts(self, public: Public, unit: Unit) -> tuple[Part, ...]:
        """All cells together: a unit's rows change them by their number in all."""
        l1 = unit.in_groups * unit.times
        return (Part(self.size(public), l1, l2=math.sqrt(l1 * unit.in_group)),)

    def size(self, public: Public) -> int:
        """How many cells there are."""
        return math.prod(map(len, self.cells(public)))

    def exact(self, rows: PrivateRows) -> list[np.ndarray]:
        """The rows of each cell."""
        found = rows.of(self.columns, self.conditions, self.places)
        return [found.per_cell(self.places(found), self.size(rows.public))]

    def places(self, rows: RowView) -> np.ndarray:
        """The number of the cell of each row, -1 where it is in none."""
        public = rows.rows.public
        place, there = np.zeros(rows.height, np.int64), np.ones(rows.height, np.bool_)
        for name, own in zip(self.by, self.cells(public), strict=True):
            code = rows.codes(name, tuple(own), partial(self._codes, name, own, public))
            there &= code >= 0
            place = place * len(own) + code
        return np.where(there, place, -1)

    def _codes(self, name: str, own: Sequence[Any], public: Public, column: pl.Series) -> np.ndarray:
        if name not in public.bounds:
            codes = pl.DataFrame({"v": list(own), "c": np.arange(len(own))}, schema_overrides={"v": pl.String})
            texts = printed(column).fill_null("").to_frame("v")
            return texts.join(codes, on="v", how="left", maintain_order="left")["c"].fill_null(-1).to_numpy()
        edges = np.array(self._edges(name, public))
        x = column.clip(*public.ends(name)).fill_null(np.nan).to_numpy()
        return bin_codes(x, edges)

    def answer(self, noisy: Sequence[Any], scales: Sequence[float], public: Public, law: Law) -> tuple[Any, Any]:
        """A frame of the cells and their counts, with the interval of each."""
        half = law.whole(scales[0])
        counts = [int(value) for value in noisy[0]]
        frame = self.labelled(public).with_columns(pl.Series("count", counts, pl.Int64))
        return frame, [(value - half, value + half) for value in counts]

    def labelled(self, public: Public) -> pl.DataFrame:
        """The cells, by the values and bins of their columns."""
        cells = self.cells(public)
        grid = np.indices([len(own) for own in cells]).reshape(len(cells), -1)
        labels = {name: [_label(own[i]) for i in at] for name, own, at in zip(self.by, cells, grid, strict=True)}
        return pl.DataFrame(labels, schema=dict.fromkeys(labels, pl.String()))


def bin_codes(x: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The bin of each number, the last with its upper end; -1 outside of all, and for NaN.

    A number is looked up among equal steps, and compared with the one edge that is in its step, or so near to it that
    rounding may tell: some times faster than a search among all edges.

    >>> bin_codes(np.array([0.0, 1.5, 2.0, 3.0, np.nan]), np.array([0.0, 1.0, 2.0])).tolist()
    [0, 1, 1, -1, -1]
    """
    low, high = edges[0], edges[-1]
    inside = (x >= low) & (x <= high)
    nearest = np.diff(edges).min()
    if 4 * (high - low) > STEPS * nearest or high - low < TINY:  # edges that are too near to each other
        code = np.searchsorted(edges, x, side="right") - 1
    else:
        steps = int(4 * (high - low) / nearest) + 1
        scale = steps / (high - low)
        starts = low + (np.arange(steps + 1) - 0.25) / scale
        before = np.searchsorted(edges, starts)  # how many edges are before a step
        near = np.append(edges, np.inf)[before]
        near[near > starts + 1.5 / scale] = np.inf
        step = ((np.where(inside, x, low) - low) * scale).astype(np.int64)
        code = (before - 1)[step] + (x >= near[step])
    return np.where(inside, np.minimum(code, len(edges) - 2), -1)


def _bins(given: Any) -> int | tuple[float, ...]:
    if isinstance(given, int) and not isinstance(given, bool) and 1 <= given <= CELLS:
        return given
    unordered = isinstance(given, str | bytes | set | frozenset | Mapping)
    try:
        edges = () if unordered else tuple(float(real_number(edge, "an edge", -math.inf)) for edge in given)
    except (TypeError, PolicyError):
        edges = ()
    if len(edges) < 2 or not all(math.isfinite(edge) for edge in edges) or any(np.diff(edges) <= 0):
        raise PolicyError("bins must be a number of them, or their ascending edges", allowed="10, or [0, 18, 65, 120]")
    return edges


def _label(cell: Any) -> str:
    return cell if isinstance(cell, str) else f"[{cell[0]:.12g}, {cell[1]:.12g})"
