"""Wildcard groups: released rows where a missing quasi-identifier matches any value."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import polars as pl

from sfumato.criteria.audit import Groups
from sfumato.errors import PolicyError

AT_ONCE = 2_000_000  # rows of a join held in memory at a time
COUNTED = 100  # how many different values are counted at least


class WildcardGroups(Groups):
    """Two rows match where each of their quasi-identifiers is equal or missing in at least one of them.

    The class of a row is all rows that match it, itself included, so classes overlap: there is one for each distinct
    tuple of quasi-identifiers. Only k-anonymity and distinct l-diversity are defined on them.

    Tuples are taken by the pattern of what they know. A tuple of pattern P meets one of pattern Q where they agree on
    what both know, which is an equality join on P & Q; the patterns Q with the same P & Q are joined together.
    """

    def _meetings(self, tuples: pl.DataFrame) -> Iterator[tuple[pl.DataFrame, list[tuple[list[str], pl.DataFrame]]]]:
        """For each pattern its tuples, and for each set of columns both know the tuples of the patterns they meet."""
        columns = self._codes.columns
        flags = [f"known_{c}" for c in columns]
        marked = tuples.with_columns(pl.col(c).is_not_null().alias(f) for c, f in zip(columns, flags, strict=True))
        patterns = [
            (frozenset(c for c, known in zip(columns, key, strict=True) if known), part.drop(flags))
            for key, part in marked.partition_by(flags, as_dict=True, include_key=True).items()
        ]
        for own, part in patterns:
            shared: dict[frozenset[str], list[pl.DataFrame]] = {}
            for other, frame in patterns:
                shared.setdefault(own & other, []).append(frame)
            yield part, [([c for c in columns if c in both], pl.concat(frames)) for both, frames in shared.items()]

    @cached_property
    def _sizes(self) -> pl.DataFrame:
        found = []
        for part, meetings in self._meetings(self._classes):
            for both, others in meetings:
                if both:
                    met = others.group_by(both).agg(met=pl.col("size").sum())
                    found.append(part.join(met, on=both).select("class", "met"))
                else:
                    found.append(part.select("class", met=pl.lit(others["size"].sum(), dtype=pl.Int64)))
        return pl.concat(found).group_by("class").agg(size=pl.col("met").sum())

    @property
    def sizes(self) -> pl.DataFrame:
        """For each distinct tuple, the number of rows that match it: class, size."""
        return self._sizes

    def counts(self, attribute: str) -> pl.DataFrame:
        """Refused: a histogram over overlapping classes is no distribution."""
        raise PolicyError(
            f'the wildcard reading of missing values is not defined for the model asked of "{attribute}"',
            allowed="k-anonymity, distinct-l-diversity",
            hint="verify without wildcard: a missing value is then a value of its own",
        )

    def variety(self, attribute: str, enough: int) -> pl.DataFrame:
        """How many different values the rows that match each tuple have: class, values.

        Counts are exact up to `enough` or 100, whichever is more, and lower bounds above: of each set only that many
        values, the first in order, are joined, so that the work does not grow with values times tuples.
        """
        value = self.text[attribute].cast(pl.Categorical).to_physical()
        limit = min(max(enough, COUNTED), value.n_unique())
        cells = self._codes.with_columns(value=value).unique()
        tuples = cells.join(self._classes, on=self._codes.columns, nulls_equal=True).drop("size")
        found = []
        for part, meetings in self._meetings(tuples):
            pools = [
                (both, others.select([*both, "value"]).unique().sort("value"))
                for both, others in meetings
            ]  # fmt: skip
            pools = [(b, pool.group_by(b).head(limit) if b else pool.head(limit)) for b, pool in pools]
            own = part.drop("value").unique()
            for chunk in own.iter_slices(max(1, AT_ONCE // (limit * len(pools)))):
                met = [
                    chunk.join(pool, on=both) if both else chunk.join(pool, how="cross")
                    for both, pool in pools
                ]  # fmt: skip
                values = pl.concat([frame.select("class", "value") for frame in met])
                found.append(values.group_by("class").agg(values=pl.col("value").n_unique()))
        return pl.concat(found)
