"""Released rows grouped for an audit that counts people.

K. Wang and B. Fung, Anonymizing sequential releases, KDD 2006: their (X,Y)-anonymity with the column of persons as Y.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from sfumato.criteria.audit import Groups

WHOSE = "__whose"  # the column of people, beside codes of the quasi-identifiers, which are named q0, q1, ...


@dataclass(frozen=True, eq=False)
class PeopleGroups(Groups):
    """Groups in which several entries of one person count once, and once for each value that they have.

    `people` tells whose each entry is. The share of a value is that of the people of the class who have it, so that
    shares may add up to more than 1. With `concentrated`, each person is counted with one of their values: as many as
    possible with the value that most people have, of the others as many as possible with the next one, and so on. No
    choice of a value per person is less varied.

    >>> text = {"ill": pl.Series(["flu", "cold", "flu", "flu"])}
    >>> groups = PeopleGroups(pl.DataFrame({"age": ["3*"] * 4}), text, people=pl.Series([1, 1, 1, 2]))
    >>> groups.sizes["size"].to_list(), groups.counts("ill")["n"].to_list()
    ([2], [1, 2])
    """

    people: pl.Series = field(kw_only=True)
    concentrated: bool = field(default=False, kw_only=True)

    def _grouped(self, frame: pl.DataFrame, on: list[str], name: str) -> pl.DataFrame:
        """People per group of equal entries."""
        once = frame.with_columns(self.people.alias(WHOSE)).select(*on, WHOSE).unique()
        return once.group_by(on).agg(pl.len().cast(pl.Int64).alias(name))

    def counts(self, attribute: str) -> pl.DataFrame:
        """How many people of each class have each value: class, value, n."""
        found = super().counts(attribute)
        if not self.concentrated:
            return found
        falling = found.join(self.sizes, on="class").sort(["class", "n", "value"], descending=[False, True, False])
        others = pl.col("size") - (pl.col("n").cum_sum().over("class") - pl.col("n"))  # who have none of those before
        counted = falling.with_columns(n=pl.min_horizontal(pl.col("n"), others)).filter(pl.col("n") > 0)
        return counted.select("class", "value", "n").sort(["class", "value"])
