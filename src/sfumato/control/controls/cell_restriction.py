"""Cell restriction, or partitioning: C. T. Yu and F. Y. Chin, "A study on the protection of statistical databases",
SIGMOD 1977; D. Denning, Cryptography and Data Security, Addison-Wesley 1982, section 6.4."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import polars as pl

from sfumato.control.controls.model import AskedSet, Auditor, QueryModel, Setting
from sfumato.control.query import COUNT, MEAN, SUM
from sfumato.core.parameters import ColumnSet, Real, Whole, known_columns
from sfumato.core.wording import listed


@dataclass(frozen=True)
class CellRestriction(QueryModel):
    """Answers counts, sums and means of whole cells of a table, each of which is safe by itself.

    No query set divides a cell, so that whatever is computed from answers is about whole cells.

    by: columns of the table, which formulas may use. least: people of a cell, at least; fewer are refused. p: also
        refuse a sum where the second largest contributor of a cell could compute the largest within p percent.
    """

    by: Annotated[tuple[str, ...], ColumnSet()]
    least: Annotated[int, Whole(2)] = 3
    p: Annotated[float | None, Real(0, above=True)] = None
    audits: ClassVar[frozenset[str]] = frozenset({COUNT, SUM, MEAN})

    @property
    def carries(self) -> bool:
        """Whether it holds over snapshots: who comes or goes divides a cell."""
        return False

    def start(self, setting: Setting) -> SafeCells:
        """The cells, which do not depend on what is asked."""
        known_columns(self.by, setting.keys, "the list of keys")
        return SafeCells(self, setting)

    def sentence(self) -> str:
        """What it says."""
        wide = "" if self.p is None else f"; sums are safe by the p-percent rule with {self.p:g}"
        return f"Query sets are made of whole cells of {listed(self.by)}, each of at least {self.least} people{wide}."


class SafeCells(Auditor):
    """Whether the cell of each row is safe, for counts and for the sums of each column."""

    def __init__(self, rule: CellRestriction, setting: Setting) -> None:
        self._rule = rule
        size = setting.table.select(pl.len().over(list(rule.by))).to_series().to_numpy()
        self._large = size >= rule.least
        self._sums = {name: self._large & self._apart(setting.table, name) for name in setting.values}

    def _apart(self, table: pl.DataFrame, name: str) -> np.ndarray:
        if self._rule.p is None:
            return np.ones(table.height, np.bool_)
        own = pl.col(name).abs().cast(pl.Float64)
        largest, second = own.max(), own.top_k(2).min()
        rest = own.sum() - largest - second
        safe = (rest >= self._rule.p / 100 * largest).over(list(self._rule.by))
        return table.select(safe).to_series().to_numpy()

    def refusal(self, asked: AskedSet) -> str | None:
        """The set is not made of cells, or one of them is not safe."""
        query = asked.query
        if query.kind not in CellRestriction.audits:  # as other controls audit it
            return None
        if {*query.where.columns} - {*self._rule.by}:
            return f"a formula is over {listed(self._rule.by)} alone"
        safe = self._large if query.column is None else self._sums[query.column]
        return None if safe[asked.rows].all() else "a cell of the query set is not safe"

    def record(self, asked: AskedSet, answer: float) -> None:
        """Nothing is remembered."""
