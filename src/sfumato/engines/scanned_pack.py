"""One whole number per tuple of whole numbers: exact, and made wider as larger numbers come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

LARGEST = 1 << 62  # a key above it could wrap, and merge tuples that differ


@dataclass(frozen=True)
class Layout:
    """Where each column's number stands in a key: columns count from `low`, `size` places each, the first for missing.

    >>> layout = Layout((20, 0), (4, 3))
    >>> rows = pl.DataFrame({"a": [20, 22, None], "b": [1, 0, 0]})
    >>> layout.unpacked(layout.packed(rows), rows.columns).equals(rows)
    True
    """

    low: tuple[int, ...]
    size: tuple[int, ...]

    @property
    def domain(self) -> int:
        """How many keys there are."""
        return int(np.prod(np.array(self.size, dtype=object), initial=1))

    def packed(self, rows: pl.DataFrame) -> np.ndarray:
        """The key of each row, whose numbers the layout has places for."""
        key = np.zeros(rows.height, np.int64)
        for series, low, size in zip(rows.iter_columns(), self.low, self.size, strict=True):
            key *= size
            key += series.fill_null(low - 1).to_numpy()
            key -= low - 1
        return key

    def unpacked(self, key: np.ndarray, names: Sequence[str]) -> pl.DataFrame:
        """The numbers of each key."""
        found: dict[str, pl.Series] = {}
        for name, low, size in reversed(list(zip(names, self.low, self.size, strict=True))):
            above = key // size
            place = key - above * size  # in two steps: `divmod` is slower
            key = above
            number = pl.Series(name, place + (low - 1))
            missing = pl.Series(place == 0)
            found[name] = number.set(missing, None) if missing.any() else number
        return pl.DataFrame({name: found[name] for name in names})


def layout(rows: pl.DataFrame, old: Layout | None) -> Layout | None:
    """A layout with places for all rows, the old one where it has them; None where keys would be too large.

    A layout that had to grow has places to spare, so that it does not have to with every batch.
    """
    low, size = [], []
    for i, series in enumerate(rows.iter_columns()):
        least, most = series.min(), series.max()
        if old is None:
            least, most = (0, -1) if least is None else (int(least), int(most))  # type: ignore[arg-type]
        else:
            first, last = old.low[i], old.low[i] + old.size[i] - 2
            below = first if least is None else min(first, int(least))  # type: ignore[arg-type]
            above = last if most is None else max(last, int(most))  # type: ignore[arg-type]
            spare = (above - below) // 4
            least = below - spare if below < first else first
            most = above + spare if above > last else last
        low.append(least)
        size.append(most - least + 2)
    wide = Layout(tuple(low), tuple(size))
    if old == wide:
        return old
    return wide if wide.domain < LARGEST and min(low) > -LARGEST else None
