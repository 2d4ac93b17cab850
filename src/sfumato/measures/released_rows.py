"""Released rows as verify groups them: rows in memory, or distinct tuples that were counted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import polars as pl

from sfumato.criteria.audit import Counts as Whole
from sfumato.criteria.audit import Groups, Wide
from sfumato.engines.printed import printed, printed_frame
from sfumato.engines.store import COUNT
from sfumato.measures.counted import Counts

GroupsOf = Callable[[Sequence[str]], Groups]


class Released(Protocol):
    """A released table."""

    @property
    def columns(self) -> list[str]:
        """The names of its columns, in order."""

    @property
    def rows(self) -> int:
        """How many rows it has."""

    def grouped(self, names: Sequence[str], attributes: Sequence[str]) -> GroupsOf:
        """Its groups by these columns; of the function that gives them, for some of the attributes."""

    def marginal(self, name: str) -> dict[str | None, int]:
        """The rows of each printed value of a column."""


class Rows:
    """Released rows, each column printed once."""

    def __init__(self, table: pl.DataFrame, whole: Mapping[str, Whole], trees: Mapping[str, Wide]) -> None:
        self.table, self.whole, self.trees = table, whole, trees
        self._text: dict[str, pl.Series] = {}

    @property
    def columns(self) -> list[str]:
        """The names of its columns, in order."""
        return self.table.columns

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return self.table.height

    def _printed(self, name: str) -> pl.Series:
        if name not in self._text:
            self._text[name] = printed(self.table.get_column(name))
        return self._text[name]

    def grouped(self, names: Sequence[str], attributes: Sequence[str]) -> GroupsOf:
        """One grouping, for all attributes."""
        keys = pl.DataFrame([self._printed(name) for name in names])
        groups = Groups(keys, {a: self._printed(a) for a in attributes}, self.whole, self.trees)
        return lambda needs: groups

    def marginal(self, name: str) -> dict[str | None, int]:
        """The rows of each printed value of a column."""
        return dict(self._printed(name).alias("value").value_counts(name="number of rows").iter_rows())


class Tallied:
    """Released rows by their distinct tuples: each attribute is counted with the groups, never two together."""

    def __init__(self, counts: Counts, whole: Mapping[str, Whole], trees: Mapping[str, Wide]) -> None:
        self.counts, self.whole, self.trees = counts, whole, trees

    @property
    def columns(self) -> list[str]:
        """The names of its columns, in order."""
        return self.counts.columns

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return self.counts.rows

    def grouped(self, names: Sequence[str], attributes: Sequence[str]) -> GroupsOf:
        """A grouping for each set of attributes that is asked for; one count answers for all where there is one."""
        if len(attributes) == 1:
            self.counts.entries([*names, *attributes])
        made: dict[tuple[str, ...], Groups] = {}

        def groups(needs: Sequence[str]) -> Groups:
            mine = tuple(a for a in needs if a in attributes)
            if mine not in made:
                frame, times = self.counts.entries([*names, *mine])
                text = printed_frame(frame)
                of = {a: text.get_column(a) for a in mine}
                made[mine] = Groups(text.select(names), of, self.whole, self.trees, pl.Series(COUNT, times))
            return made[mine]

        return groups

    def marginal(self, name: str) -> dict[str | None, int]:
        """The rows of each printed value of a column."""
        frame, times = self.counts.entries([name])
        return dict(zip(printed(frame.get_column(name)).to_list(), times.tolist(), strict=True))
