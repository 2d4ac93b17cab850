"""l-diverse slicing: T. Li, N. Li, J. Zhang, I. Molloy, Slicing, IEEE TKDE 24(3), 2012, section 3."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Annotated, ClassVar

import polars as pl

from sfumato.core.parameters import Column, Whole
from sfumato.core.protocols import Side
from sfumato.core.wording import quoted
from sfumato.criteria.audit import Finding
from sfumato.criteria.sets.model import SetModel
from sfumato.criteria.sets.published import PublishedSet
from sfumato.errors import PolicyError


@dataclass(frozen=True)
class LDiverseSlicing(SetModel):
    """In every bucket, of the records with equal values of all columns beside the sensitive one in its table, at most
    one in l has the same sensitive value; missing is a value.

    Groups of columns are published apart, each with the number of the bucket, and nothing else joins them. In the
    paper a person has the value s with a chance of sum p(B) p(s|B), over the buckets B that fit what is known of the
    person. Here each p(s|B) is at most 1/l, so that the sum is, whatever weights the buckets have, and also for those
    who know the bucket. The tables must have the same buckets, with as many rows, and no other column in common.

    Parameters: `attribute`, the sensitive column; `l`, a whole number from 1.

    >>> LDiverseSlicing("disease", 3).sentence()
    'Whoever knows all other values of a person, and the bucket, learns no value of "disease" with a share above 1/3.'
    """

    attribute: Annotated[str, Column("sensitive column")]
    l: Annotated[int, Whole(1)]

    bounded_by: ClassVar[str] = "l"
    side: ClassVar[Side] = "at least"

    def sentence(self) -> str:
        """The promise in words."""
        known = "Whoever knows all other values of a person, and the bucket, learns no value"
        return f'{known} of "{self.attribute}" with a share above 1/{self.l}.'

    def audit(self, published: PublishedSet) -> Finding:
        """What the tables say: the least ratio of rows that look alike in a bucket to those of one sensitive value."""
        tables = [*published.tables.values()]
        buckets = {table.name: table.texts.get_column(table.column("group")).cast(pl.String) for table in tables}
        own = [name for table in tables for name in table.texts.columns if name not in table.columns("group")]
        if twice := sorted(name for name, often in Counter(own).items() if often > 1):
            raise PolicyError(f"more than one table shows {quoted(twice)}, which joins their rows")
        held = [table for table in tables if self.attribute in table.texts.columns]
        if len(tables) < 2 or len(held) != 1 or held[0].columns("sensitive") != (self.attribute,):
            raise PolicyError(f'there is no table with "{self.attribute}" as its one sensitive column beside others')
        if any(table.columns("count") for table in tables):
            raise PolicyError("a table counts its rows, of which each must stand for itself")
        sizes = [one.value_counts(name="rows").rename({one.name: "bucket"}) for one in buckets.values()]
        if any(one.null_count() for one in buckets.values()):
            raise PolicyError("a row has no bucket")
        for other in sizes[1:]:
            both = sizes[0].join(other, on="bucket", how="full", suffix=" here")
            if apart := both.filter(pl.col("rows").ne_missing(pl.col("rows here"))).height:
                raise PolicyError("the tables do not have the same buckets", got=f"{apart} that differ in size")
        texts = held[0].texts
        beside = [name for name in texts.columns if name not in (self.attribute, held[0].column("group"))]
        known = {f"known {i}": texts.get_column(name).cast(pl.String) for i, name in enumerate(beside)}
        rows = pl.DataFrame({
            "bucket": buckets[held[0].name], **known, "value": texts.get_column(self.attribute).cast(pl.String)
        })  # fmt: skip
        values = rows.group_by("bucket", *known, "value").agg(n=pl.len().cast(pl.Int64))
        alike = values.group_by("bucket", *known).agg(size=pl.col("n").sum(), most=pl.col("n").max())
        least = alike.select((pl.col("size") / pl.col("most")).min()).item()
        failing = alike.filter(pl.col("most") * self.l > pl.col("size")).get_column("bucket").n_unique()
        return Finding(failing == 0, None if least is None else float(least), self.l, failing)
