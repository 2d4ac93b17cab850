"""CountedPair: an original and a release of which at least one is known by counts alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.parameters import mapping
from sfumato.engines.memory.table import MemoryTable
from sfumato.errors import ColumnError, PolicyError
from sfumato.measures.table import LOAD, Table, TupleCounts
from sfumato.measures.utility.column import ComparedColumn
from sfumato.measures.utility.pair import Pair


@dataclass(frozen=True, eq=False)
class CountedPair(Pair):
    """A pair whose tables are asked for distinct tuples of the columns that a measure looks at. It has no rows.

    Columns with `too_many` different values are not looked at.
    """

    before: TupleCounts = field(kw_only=True)
    after: TupleCounts = field(kw_only=True)
    too_many: tuple[str, ...] = field(kw_only=True, default=())

    @property
    def original_rows(self) -> int:
        """How many rows the original has."""
        return self.before.rows

    @property
    def released_rows(self) -> int:
        """How many rows the release has."""
        return self.after.rows

    @property
    def shared(self) -> tuple[str, ...]:
        """The columns that both tables have, in the order of the original, without those of too many values."""
        return tuple(name for name in super().shared if name not in self.too_many)

    def on(self, names: Sequence[str]) -> Pair:
        """The distinct tuples of these columns, of those of them that a table has."""
        one, often = self.before.entries([name for name in names if name in self.before.columns])
        other, stands = self.after.entries([name for name in names if name in self.after.columns])
        return Pair(one, other, None, self.hierarchies, times=(often, stands))

    def holds(self, names: Sequence[str]) -> bool:
        """Whether these columns can be counted together; they then are."""
        return not names or (self.before.holds(names) and self.after.holds(names))

    def column(self, name: str) -> ComparedColumn:
        """What the release says in a column, read once."""
        if name not in self._columns:
            self._columns[name] = self.on([name]).column(name)
        return self._columns[name]

    def aligned(self, what: str) -> np.ndarray:
        """Refused: nothing is known of rows."""
        raise PolicyError(f"{what} compares row by row, which an out-of-core table does not allow", hint=LOAD)


def counted_pair(
    original: Table, released: Table, hierarchies: Mapping[str, Any], needed: Sequence[str] = ()
) -> CountedPair:
    """A pair of tables by counts. A column that is `needed` may not have too many values.

    >>> counted_pair(pl.DataFrame({"age": [30, 41]}), pl.DataFrame({"age": ["*"]}), {}).suppressed
    1
    """
    before, after = (TupleCounts(MemoryTable(t)) if isinstance(t, pl.DataFrame) else t for t in (original, released))
    mapping(hierarchies, "hierarchies", before.columns, "the original")
    shared = [name for name in before.columns if name in after.columns]
    if not shared:
        raise ColumnError("the original and the release share no column")
    together = [name for name in needed if name in shared]
    if together:  # one count answers for each of them
        before.entries(together)
        after.entries(together)
    small = [name for name in shared if before.holds([name]) and after.holds([name])]
    one, other = pl.DataFrame(schema=before.schema), pl.DataFrame(schema=after.schema)
    too_many = tuple(name for name in shared if name not in small)
    return CountedPair(one, other, None, hierarchies, before=before, after=after, too_many=too_many)
