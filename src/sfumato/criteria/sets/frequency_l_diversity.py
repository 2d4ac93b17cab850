"""Frequency l-diversity of groups: X. Xiao, Y. Tao, Anatomy: simple and effective privacy preservation, VLDB 2006."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import polars as pl

from sfumato.core.parameters import Column, Whole
from sfumato.core.protocols import Side
from sfumato.criteria.audit import Finding
from sfumato.criteria.sets.model import SetModel
from sfumato.criteria.sets.published import PublishedSet, PublishedTable
from sfumato.errors import PolicyError


@dataclass(frozen=True)
class FrequencyLDiversity(SetModel):
    """In every group at most one record in l has the same sensitive value; missing is a value.

    The quasi-identifiers are published as they are in one table, the sensitive values of each group with their counts
    in another. Whoever finds the row of a person there knows the group, and each value with a share of at most 1/l. The
    tables must speak of the same rows: each group has as many in one as the counts of the other come to. Nothing else
    may be published beside them: a third table, or a further column beside the counts, could say who has which value.

    Parameters: `attribute`, the sensitive column; `l`, a whole number, of which 1 promises nothing.

    >>> FrequencyLDiversity("disease", 3).sentence()
    'Whoever knows all quasi-identifiers of a person learns no value of "disease" with a share above 1/3.'
    """

    attribute: Annotated[str, Column("sensitive column")]
    l: Annotated[int, Whole(1)]

    bounded_by: ClassVar[str] = "l"
    side: ClassVar[Side] = "at least"

    def sentence(self) -> str:
        """The promise in words."""
        known = "Whoever knows all quasi-identifiers of a person learns no value"
        return f'{known} of "{self.attribute}" with a share above 1/{self.l}.'

    def audit(self, published: PublishedSet) -> Finding:
        """What the tables say: the least ratio of a group's rows to those of its most frequent value."""
        listed, counted = self._both(published)
        often, group, here = counted.numbers(counted.column("count")), counted.column("group"), listed.column("group")
        if often is None or not (often > 0).all():
            raise PolicyError(f'a count of the table "{counted.name}" is no whole number above 0')
        values = pl.DataFrame({
            "group": counted.texts.get_column(group).cast(pl.String),
            "value": counted.texts.get_column(self.attribute).cast(pl.String),
            "n": often,
        })  # fmt: skip
        values = values.group_by("group", "value").agg(pl.col("n").sum())  # a value that is listed twice is one
        sums = values.group_by("group").agg(size=pl.col("n").sum(), most=pl.col("n").max())
        rows = listed.texts.select(group=pl.col(here).cast(pl.String)).group_by("group").agg(rows=pl.len())
        both = sums.join(rows, on="group", how="full", nulls_equal=True, coalesce=True).with_columns(
            pl.col("size", "most", "rows").cast(pl.Int64).fill_null(0)
        )
        apart = int((both["size"] != both["rows"]).sum())
        if apart:
            raise PolicyError("the tables do not speak of the same rows", got=f"{apart} groups that differ in size")
        failing = int((both["most"] * self.l > both["size"]).sum())
        least = both.select((pl.col("size") / pl.col("most")).min()).item()
        return Finding(failing == 0, float(least), self.l, failing)

    def _both(self, published: PublishedSet) -> tuple[PublishedTable, PublishedTable]:
        """The table of rows, and the one that counts values; a PolicyError where anything else is published that says
        more of a value than its group: a third table, or a further column beside the counts."""
        of_groups = [table for table in published.tables.values() if table.columns("group")]
        counted = [table for table in of_groups if table.columns("count")]
        listed = [table for table in of_groups if not table.columns("count")]
        if len(counted) != 1 or len(listed) != 1 or len(published.tables) != 2:
            raise PolicyError("there is no table of groups beside one that counts their values, and nothing else")
        if self.attribute in listed[0].texts.columns or counted[0].columns("sensitive") != (self.attribute,):
            raise PolicyError(
                f'"{self.attribute}" must stand in the table that counts the values of groups, and only there'
            )
        if counted[0].texts.width != 3:
            raise PolicyError(
                f'the table "{counted[0].name}" must have groups, values and counts alone',
                got=f"{counted[0].texts.width} columns",
            )
        return listed[0], counted[0]
