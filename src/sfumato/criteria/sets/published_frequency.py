"""Frequencies that are published: A. Hundepool et al., Statistical Disclosure Control, Wiley 2012, chapter 5."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import polars as pl

from sfumato.core.parameters import Whole
from sfumato.core.protocols import Side
from sfumato.core.wording import count
from sfumato.criteria.audit import Finding
from sfumato.criteria.sets.hidden_cells import PUBLISHED, STATUS, VALUE
from sfumato.criteria.sets.model import SetModel
from sfumato.criteria.sets.published import PublishedSet
from sfumato.errors import PolicyError


@dataclass(frozen=True)
class PublishedFrequency(SetModel):
    """Every published count is of nobody, or of n people at least.

    Parameters: `n`, how many people a published count is of at least.

    >>> PublishedFrequency(3).sentence()
    'Every published count is of 3 people at least, or of none.'
    """

    n: Annotated[int, Whole(2)]

    bounded_by: ClassVar[str] = "n"
    side: ClassVar[Side] = "at least"

    def sentence(self) -> str:
        """The promise in words."""
        return f"Every published count is of {count(self.n, 'person', 'people')} at least, or of none."

    def audit(self, published: PublishedSet) -> Finding:
        """What the published tables say: their smallest count above zero."""
        texts = [table.texts for table in published.tables.values()]
        if not texts or not all({VALUE, STATUS} <= {*one.columns} for one in texts):
            raise PolicyError(f'a table has the columns "{VALUE}" and "{STATUS}"')
        shown = pl.concat([one.filter(pl.col(STATUS) == PUBLISHED).select(VALUE) for one in texts]).get_column(VALUE)
        number = shown.cast(pl.Int64, strict=False)
        if number.null_count() or (number < 0).any():
            raise PolicyError("a published count is no natural number")
        some = number.filter(number > 0)
        if not some.len():
            return Finding(True, None, self.n, 0)
        small = int((some < self.n).sum())
        return Finding(not small, int(str(some.min())), self.n, 0, f"{count(small, 'cell')} below" if small else None)
