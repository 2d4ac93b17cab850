"""Data swapping: rows alike in key columns exchange others (Dalenius and Reiss, "Data-swapping: a technique for
disclosure control", Journal of Statistical Planning and Inference 6, 1982)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import polars as pl

from sfumato.core.masked import Change, Context, Fact, MaskStep
from sfumato.core.parameters import ColumnNames, Share
from sfumato.core.wording import percent, quoted
from sfumato.engines.order import numbered


@dataclass(frozen=True)
class Swapping(MaskStep):
    """Let pairs of rows that are equal in key columns exchange the swapped columns, all at once.

    keys: columns that both rows of a pair are equal in; without any, any two rows may be a pair. rate: the share of
    rows that exchange.
    """

    keys: Annotated[Any, ColumnNames()] = ()
    rate: Annotated[Any, Share(above=True)] = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.columns:
            raise self.refuse("it needs to know which columns are exchanged", allowed='for example ["income"]')
        if both := [name for name in self.keys if name in self.columns]:
            raise self.refuse(f"{quoted(both)} is exchanged and a key too", hint="a key is what stays")

    kinds = ("number", "category", "date")
    leaves = "Swapped values stay in the table, so a rare one is still seen; rows alone in their keys are as they were."

    @property
    def needs(self) -> tuple[str, ...]:
        """The keys."""
        return tuple(self.keys)

    def sentence(self) -> str:
        """What it does."""
        alike = f" that are equal in {quoted(self.keys)}" if self.keys else ""
        return f"{percent(self.rate)} of the rows exchange these columns with others{alike}"

    def apply(self, columns: pl.DataFrame, context: Context) -> Change:
        """Pair rows by chance within each combination of keys, and exchange."""
        rows = columns.height
        group = numbered(context.table, list(self.keys)) if self.keys else np.zeros(rows, np.int64)
        size = np.bincount(group, minlength=1)
        if size.max(initial=0) < 2:
            what = f"no two rows are equal in {quoted(self.keys)}" if self.keys else "there are no two rows"
            raise self.refuse(f"{what}, or not within a stratum", hint="name fewer keys, or coarser ones")
        wanted = self.rate * size / 2
        pairs = np.floor(wanted + context.random.part("pairs").generator().random(len(size))).astype(np.int64)
        pairs = np.minimum(pairs, size // 2)
        order = np.lexsort((context.random.uniform(rows), group))
        place = np.arange(rows) - (np.cumsum(size) - size)[group[order]]
        chosen = order[place < 2 * pairs[group[order]]]  # two by two
        source = np.arange(rows)
        source[chosen] = chosen.reshape(-1, 2)[:, ::-1].ravel()
        names, together = tuple(columns.columns), {"together": True}
        facts = [Fact("marginals", names, together if len(names) > 1 else {})]
        if alike := (*self.keys, *self.by):
            facts.append(Fact("marginals", (*names, *alike), together))
        return Change(columns[source], facts=tuple(facts), published={"exchanged": round(len(chosen) / rows, 2)})
