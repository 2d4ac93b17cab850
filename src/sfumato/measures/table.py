"""Counts: a table that is known by what an engine counts in it, never by its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, Protocol

import numpy as np
import polars as pl

from sfumato.core.microdata import distinct_in
from sfumato.core.parameters import known_columns, max_cells_of
from sfumato.core.printed import plain
from sfumato.core.progress import Progress, quiet
from sfumato.engines.memory.table import enter
from sfumato.engines.protocol import COUNT, refuse_many, refuse_types
from sfumato.engines.tables import store_of
from sfumato.errors import EmptyTable, PolicyError

DEFAULT_MAX_CELLS = 10_000_000  # distinct tuples held in memory
SAMPLE = 400_000  # rows looked at before the work


class Counting(Protocol):
    """What can be counted: an out-of-core table, a released file, a frame."""

    def schema(self) -> dict[str, pl.DataType]:
        """Column to type, in order."""

    def count(self, columns: Sequence[str], report_progress: Progress, most: int) -> pl.DataFrame:
        """Distinct tuples of columns, and in `COUNT` how many rows have them; more than `most` are a PolicyError."""

    def singled(self, sets: Sequence[Sequence[str]]) -> list[int]:
        """For each set of columns how many rows have values of them that no other row has."""


class TupleCounts:
    """A table that is asked for the distinct tuples of some columns, with how many rows have each.

    A question that an earlier answer holds the answer to is not asked again. At most `most` tuples are held for that,
    beside those just asked for. `known` is an answer that is there already.

    >>> from sfumato.engines.memory.table import MemoryTable
    >>> counts = TupleCounts(MemoryTable(pl.DataFrame({"age": [30, 30, 41], "sex": ["f", "f", "m"]})))
    >>> counts.entries(["sex"])[1].sum(), counts.rows
    (np.int64(3), 3)
    """

    def __init__(
        self,
        table: Counting,
        most: int = DEFAULT_MAX_CELLS,
        report_progress: Progress = quiet,
        known: pl.DataFrame | None = None,
    ) -> None:
        self.table, self.most, self.report_progress = table, max_cells_of(most), report_progress
        self.schema = dict(table.schema())
        self._answers: dict[tuple[str, ...], pl.DataFrame] = {}
        if known is not None:
            self._answers[tuple(name for name in known.columns if name != COUNT)] = known
        self._refused: list[set[str]] = []
        self._rows: int | None = None

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.schema)

    @property
    def rows(self) -> int:
        """How many rows there are, counted."""
        if self._rows is None and not any(self.holds([name]) for name in self.columns):
            refuse_many(self.most + 1, self.most)
        assert self._rows is not None
        return self._rows

    def holds(self, names: Sequence[str]) -> bool:
        """Count some columns together for later questions; False where they have too many different tuples."""
        if any(few <= set(names) for few in self._refused):
            return False
        try:
            self.entries(names)
        except PolicyError:
            self._refused.append(set(names))
            return False
        return True

    def entries(self, names: Sequence[str]) -> tuple[pl.DataFrame, np.ndarray]:
        """The distinct tuples of columns, in no order, and how many rows have each."""
        asked = tuple(dict.fromkeys(names))
        known_columns(asked, self.schema)
        refuse_types(self.schema, asked)
        found = self._known(asked)
        if found is None:
            found = self.table.count(asked, self.report_progress, self.most)
            refuse_many(found.height, self.most)
        self._keep(asked, found)
        row_counts = found.get_column(COUNT).cast(pl.Int64).to_numpy()
        self._rows = int(row_counts.sum())
        if not self._rows:
            raise EmptyTable("the table has no rows")
        return pl.DataFrame(list(map(found.get_column, asked))), row_counts

    def _known(self, asked: tuple[str, ...]) -> pl.DataFrame | None:
        """The answer, where one to a wider question holds it: the smallest of those."""
        wider = [found for names, found in self._answers.items() if set(asked) <= set(names)]
        if not wider:
            return None
        found = min(wider, key=lambda frame: frame.height)
        if found.width == len(asked) + 1:
            return found
        keys = [str(i) for i in range(len(asked))]  # a column may be called "*"
        some = pl.DataFrame([found.get_column(name).alias(key) for name, key in zip(asked, keys, strict=True)])
        fewer = some.with_columns(found.get_column(COUNT)).group_by(keys).agg(pl.col(COUNT).sum())
        fewer.columns = [*asked, COUNT]
        return fewer

    def _keep(self, asked: tuple[str, ...], found: pl.DataFrame) -> None:
        self._answers.pop(asked, None)
        self._answers[asked] = found
        while len(self._answers) > 1 and sum(frame.height for frame in self._answers.values()) > self.most:
            del self._answers[next(iter(self._answers))]  # the oldest


def estimate(sample: pl.DataFrame, columns: Sequence[str], schema: Mapping[str, pl.DataType], rows: int) -> int:
    """About how many different tuples a table of so many rows has, from how often a sample has each.

    >>> table = pl.DataFrame({"a": [1, 1, 2, 3]})
    >>> estimate(table, ["a"], dict(table.schema), 16)
    5
    """
    names = list(columns)
    cells = sample.select(plain(name, schema[name]) for name in names).group_by(names).agg(pl.len().alias("n"))
    return distinct_in(cells["n"].to_numpy(), rows)


Table = pl.DataFrame | TupleCounts

LOAD = "measure a sample, as in table.sample(100_000), or read the table into memory, as in sf.read(path)"


def table_of(data: Any, most: int = DEFAULT_MAX_CELLS) -> Table:
    """A frame, or counts of an out-of-core table; counts stay as they are.

    >>> table_of({"age": [30, 41]}).columns
    ['age']
    """
    if isinstance(data, TupleCounts):
        return data
    store = store_of(data)
    return enter(data)[0] if store is None else TupleCounts(store, most)


def entries(table: Table, names: Sequence[str]) -> tuple[pl.DataFrame, np.ndarray | None]:
    """The rows of a frame; of counts the distinct tuples of these columns, and how many rows have each."""
    return (table, None) if isinstance(table, pl.DataFrame) else table.entries(names)


def rows_of(table: Table) -> int:
    """How many rows a table has."""
    return table.height if isinstance(table, pl.DataFrame) else table.rows


def refuse(what: str) -> NoReturn:
    """Raise a PolicyError that names what needs rows."""
    raise PolicyError(f"{what} cannot be measured on an out-of-core table", hint=LOAD)
