"""k-loose association of two fragments: S. De Capitani di Vimercati et al., Fragments and loose associations:
respecting privacy in data publishing, PVLDB 3(1), 2010."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import polars as pl

from sfumato.core.parameters import Whole, Written
from sfumato.core.protocols import Side
from sfumato.core.wording import count
from sfumato.criteria.audit import SLACK, Finding
from sfumato.criteria.sets.fragmentation import checked, fragments_of
from sfumato.criteria.sets.model import SetModel
from sfumato.criteria.sets.published import PublishedSet
from sfumato.errors import PolicyError


@dataclass(frozen=True)
class LooseAssociation(SetModel):
    """Every row of two fragments is associated with k different values of the other, none more probable than 1/k.

    Rows of both have a group, and a table has the pairs of groups that a row of the private table lies in. Each pair
    stands once, and a group in as many pairs as it has rows. So whatever rows belong together, all ways that fit the
    groups are as many for each row of a group: a row has a value of the other fragment with the share of its rows in
    each associated group, over the size of its own. That is what is measured, for each constraint on both fragments,
    in both directions.

    Parameters: `constraints`, lists of columns; `k`, a whole number from 2.

    >>> LooseAssociation([["name", "disease"]], 4).bound
    4
    """

    constraints: Annotated[Any, Written("lists", "column")]
    k: Annotated[int, Whole(2)]

    bounded_by: ClassVar[str] = "k"
    side: ClassVar[Side] = "at least"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "constraints", checked(self.constraints, self.model))

    def parameters(self) -> dict[str, Any]:
        """Its parameters as plain values."""
        return {"constraints": [[*one] for one in self.constraints], "k": self.k}

    def sentence(self) -> str:
        """The promise in words."""
        known = "Whoever knows a row of one fragment learns no constrained value of the associated one"
        return f"{known} with a share above 1/{self.k}."

    def audit(self, published: PublishedSet) -> Finding:
        """What the tables say: one over the largest share of a value, and how many groups have one above 1/k."""
        fragments, found = fragments_of(published)
        if not found:
            raise PolicyError("no table of pairs of groups joins two fragments")
        sides = [one for one in fragments if one.columns("group")]
        names = [one.column("group") for one in sides]
        pairs = found[0].texts.select(pl.col(name).cast(pl.String) for name in names)
        if pairs.is_duplicated().any():
            raise PolicyError("a pair of groups stands twice", got=count(int(pairs.is_duplicated().sum()), "row"))
        for side, name in zip(sides, names, strict=True):
            rows = side.texts.select(pl.col(name).cast(pl.String)).group_by(name).agg(rows=pl.len())
            both = rows.join(pairs.group_by(name).agg(pairs=pl.len()), on=name, how="full", nulls_equal=True)
            if apart := both.filter(pl.col("rows").ne_missing(pl.col("pairs")) | pl.col(name).is_null()).height:
                raise PolicyError("groups have not as many rows as pairs", got=f"{apart} that differ")
        crossing = [
            one for one in self.constraints
            if {*one} <= {name for side in sides for name in side.texts.columns}
            and not any({*one} <= {*side.texts.columns} for side in sides)
        ]  # fmt: skip
        if not crossing:
            raise PolicyError("no constraint is on both of the fragments that are associated")
        most, failing = 0.0, 0
        for here, there in ((0, 1), (1, 0)):
            sizes = pairs.group_by(names[here]).agg(own=pl.len())
            others = sides[there].texts.with_columns(pl.col(names[there]).cast(pl.String))
            bad: set[str] = set()
            for one in crossing:
                held = [name for name in others.columns if name in one]
                value = pl.concat_list(pl.col(name).cast(pl.String) for name in held).alias("value")
                shares = others.select(names[there], value).group_by(names[there], "value").agg(n=pl.len())
                rows = others.group_by(names[there]).agg(size=pl.len())
                shares = shares.join(rows, on=names[there]).join(pairs, on=names[there]).join(sizes, on=names[here])
                share = (pl.col("n") / (pl.col("size") * pl.col("own"))).sum().alias("share")
                chance = shares.group_by(names[here], "value").agg(share)
                most = max(most, float(chance.select(pl.col("share").max()).item() or 0.0))
                above = chance.filter(pl.col("share") * self.k > 1 + SLACK)
                bad |= {*above.get_column(names[here])}
            failing += len(bad)
        least = round(1 / most, 9) if most else None
        return Finding(failing == 0, least, self.k, failing)
