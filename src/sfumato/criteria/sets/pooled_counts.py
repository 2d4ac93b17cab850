"""Counts of values by class, none of which is of a few people: rare values are counted together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import polars as pl

from sfumato.core.parameters import Whole
from sfumato.core.protocols import Side
from sfumato.core.wording import count
from sfumato.criteria.audit import Finding
from sfumato.criteria.sets.model import SetModel
from sfumato.criteria.sets.published import PublishedSet, only
from sfumato.errors import PolicyError


@dataclass(frozen=True)
class PooledCounts(SetModel):
    """Every published count is of k people, and so is what is left of a class without some values of one column.

    In each column all people of a class are counted, each once: what is left of a class without some values are the
    others, which are published. Counts of different columns may differ by fewer.

    Parameters: `k`, how many people a count is of at least.

    >>> PooledCounts(5).sentence()
    'Every count, and what is left of a class without some values of one column, is of 5 people at least, or of none.'
    """

    k: Annotated[int, Whole(1)]

    bounded_by: ClassVar[str] = "k"
    side: ClassVar[Side] = "at least"

    def sentence(self) -> str:
        """The promise in words."""
        least = count(self.k, "person", "people")
        what = "Every count, and what is left of a class without some values of one column,"
        return f"{what} is of {least} at least, or of none."

    def audit(self, published: PublishedSet) -> Finding:
        """What the published tables say: the smallest count."""
        counted = {"then": "sensitive", "people": "count"}
        only(published, {"classes": counted, "counts": {"column|value": "quasi", **counted}})
        found = {}
        for name in ("classes", "counts"):
            table = published.table(name)
            people = table.numbers(table.column("count"))
            if people is None:
                raise PolicyError(f'a count of the table "{name}" is no whole number')
            found[name] = table.texts.with_columns(people=people)
        classes, counts = found["classes"], found["counts"]
        if classes["then"].is_duplicated().any() or counts.select("column", "value", "then").is_duplicated().any():
            raise PolicyError("something is counted twice")
        sums = counts.group_by("column", "then").agg(pl.col("people").sum())
        expected = counts.select(pl.col("column").unique()).join(classes, how="cross")
        if expected.join(sums, on=["column", "then", "people"], how="anti").height or sums.height != expected.height:
            raise PolicyError("the values of a column do not add up to the people of a class")
        every = pl.concat([classes["people"], counts["people"]])
        rare = int((every < self.k).sum())
        note = f"{count(rare, 'count')} below {self.k}" if rare else None
        return Finding(not rare, int(str(every.min())), self.k, 0, note)
