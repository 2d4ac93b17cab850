"""m-uniqueness of groups: X. Xiao, Y. Tao, m-Invariance: towards privacy preserving re-publication, SIGMOD 2007."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, ClassVar

import polars as pl

from sfumato.core.parameters import Column, Whole
from sfumato.core.protocols import Side
from sfumato.criteria.audit import Finding
from sfumato.criteria.sets.model import SetModel
from sfumato.criteria.sets.published import PublishedSet, PublishedTable, only
from sfumato.errors import PolicyError


@dataclass(frozen=True)
class MUniqueness(SetModel):
    """Every group has at least m rows, no two of which have the same sensitive value.

    Rows of a group look alike in the quasi-identifiers. Some may be counterfeits, which stand for nobody: a second
    table says how many of each group are, always fewer than the group has. The tables must speak of the same groups.

    Parameters: `attribute`, the sensitive column; `m`, a whole number from 2.

    >>> MUniqueness("disease", 3).sentence()
    'Whoever knows the group of a person learns no value of "disease" with a share above 1/3 from this release alone.'
    """

    attribute: Annotated[str, Column("sensitive column")]
    m: Annotated[int, Whole(2)]

    bounded_by: ClassVar[str] = "m"
    side: ClassVar[Side] = "at least"

    def sentence(self) -> str:
        """The promise in words."""
        known = "Whoever knows the group of a person learns no value"
        return f'{known} of "{self.attribute}" with a share above 1/{self.m} from this release alone.'

    def audit(self, published: PublishedSet) -> Finding:
        """What the tables say: the fewest different values of a group."""
        data, counts = tables_of(published, self.attribute)
        group, quasi = data.column("group"), data.columns("quasi")
        shown = {group: "group", self.attribute: "sensitive"} | dict.fromkeys(quasi, "quasi")
        only(published, {
            data.name: {re.escape(name): role for name, role in shown.items()},
            counts.name: {re.escape(counts.column(role)): role for role in ("group", "count")},
        })  # fmt: skip
        keys = data.texts.get_column(group).cast(pl.String)
        rows = pl.DataFrame({"group": keys, "value": data.texts.get_column(self.attribute).cast(pl.String)})
        labels = pl.DataFrame(
            [keys.alias("group"), *(data.texts.get_column(name).alias(f"q {name}") for name in quasi)]
        )
        groups = rows.group_by("group").agg(pl.len().alias("rows"), pl.col("value").n_unique().alias("values"))
        looks = labels.unique().group_by("group").agg(pl.len().alias("looks"))
        groups = groups.join(looks, on="group", nulls_equal=True)
        often = counts.numbers(counts.column("count"))
        if often is None:
            raise PolicyError(f'a count of the table "{counts.name}" is no whole number')
        listed = pl.DataFrame({
            "group": counts.texts.get_column(counts.column("group")).cast(pl.String),
            "counterfeits": often,
        })  # fmt: skip
        if listed.get_column("group").n_unique() < listed.height or keys.null_count():
            raise PolicyError("a group is listed twice, or a row has none")
        both = groups.join(listed, on="group", how="full", nulls_equal=True, coalesce=True)
        if apart := int((both["rows"].is_null() | both["counterfeits"].is_null()).sum()):
            raise PolicyError("the tables do not speak of the same groups", got=f"{apart} that one of them lacks")
        twice = both["values"] < both["rows"]
        few, nobody = both["values"] < self.m, both["counterfeits"] >= both["rows"]
        unlike = both["looks"] > 1
        told = {"with a value twice": twice, "of counterfeits alone": nobody, "whose rows do not look alike": unlike}
        notes = [f"{int(wrong.sum())} {what}" for what, wrong in told.items() if wrong.any()]
        failing = int((twice | few | nobody | unlike).sum())
        least = both.select(pl.col("values").min()).item()
        return Finding(failing == 0, int(least or 0), self.m, failing, "; ".join(notes) or None)


def tables_of(published: PublishedSet, attribute: str) -> tuple[PublishedTable, PublishedTable]:
    """The table of rows, and the one that counts counterfeits."""
    of_groups = [table for table in published.tables.values() if table.columns("group")]
    rows = [table for table in of_groups if attribute in table.columns("sensitive") and table.columns("quasi")]
    counts = [table for table in of_groups if table.columns("count")]
    if len(rows) != 1 or len(counts) != 1 or rows[0] is counts[0] or not rows[0].texts.height:
        raise PolicyError(f'there is no table of groups with "{attribute}" beside one that counts counterfeits')
    return rows[0], counts[0]
