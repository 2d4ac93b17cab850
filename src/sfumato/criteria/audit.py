"""The released side: Finding, and Groups of released rows, re-derived from printed text with Polars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import polars as pl

from sfumato.criteria.order import in_order
from sfumato.errors import PolicyError

SLACK = 1e-9  # wider than the search's tolerance, so that what the search lets pass passes here

Counts = Mapping[Any, int]  # rows per printed value; the missing value as None or the empty text
Wide = Sequence[Sequence[str]]  # a hierarchy: one row per leaf, its label at each level, the root last


@dataclass(frozen=True)
class Finding:
    """What the released rows say about a criterion."""

    holds: bool
    measured: float | int | None  # what the worst class achieves
    bound: float | int
    failing_classes: int
    note: str | None = None


@dataclass(frozen=True, eq=False)
class Groups:
    """Released rows grouped by the printed text of their quasi-identifiers.

    `keys` holds that text, a column per quasi-identifier; `text` the printed sensitive attributes; both null where a
    cell is missing. `given` maps an attribute to its counts in the table before suppression, where they are known,
    `trees` to its hierarchy. With `times` an entry stands for so many rows: distinct tuples that an engine counted.
    """

    keys: pl.DataFrame
    text: Mapping[str, pl.Series]
    given: Mapping[str, Counts] = field(default_factory=dict)
    trees: Mapping[str, Wide] = field(default_factory=dict)
    times: pl.Series | None = None

    def _grouped(self, frame: pl.DataFrame, on: list[str], name: str) -> pl.DataFrame:
        """Rows per group of equal entries."""
        if self.times is None:
            return frame.group_by(on).agg(pl.len().cast(pl.Int64).alias(name))
        counted = frame.with_columns(self.times.cast(pl.Int64).alias(name))
        return counted.group_by(on).agg(pl.col(name).sum())

    @cached_property
    def _codes(self) -> pl.DataFrame:
        """The key columns as integers, equal where the texts are, null where missing: those group faster."""
        return self.keys.select(
            pl.nth(i).cast(pl.Categorical).to_physical().alias(f"q{i}") for i in range(self.keys.width)
        )

    @cached_property
    def _classes(self) -> pl.DataFrame:
        return self._grouped(self._codes, self._codes.columns, "size").with_row_index("class")

    @property
    def sizes(self) -> pl.DataFrame:
        """Rows per class: class, size."""
        return self._classes.select("class", "size")

    def counts(self, attribute: str) -> pl.DataFrame:
        """How often each value occurs in each class: class, value, n; sorted, so that sums repeat to the last bit."""
        on = self._codes.columns
        cells = self._grouped(self._codes.with_columns(value=self.text[attribute]), [*on, "value"], "n")
        found = cells.join(self._classes, on=on, nulls_equal=True).sort(["class", "value"])
        return found.select("class", "value", "n")

    def variety(self, attribute: str, enough: int) -> pl.DataFrame:
        """How many different values each class has: class, values. Missing is a value. Above `enough` a lower bound."""
        return self.counts(attribute).group_by("class").agg(values=pl.len())

    def whole(self, attribute: str) -> pl.DataFrame:
        """Counts in the table before suppression where given, else in the released rows: value, n."""
        if attribute in self.given:
            table = self.given[attribute]
            frame = pl.DataFrame({"value": [v or None for v in table], "n": list(table.values())}, schema=_WHOLE)
        else:
            frame = self._grouped(pl.DataFrame({"value": self.text[attribute]}), ["value"], "n")
        return frame.filter(pl.col("n") > 0).sort("value")

    def source(self, attribute: str) -> str | None:
        """A note on where the distribution of the whole table comes from, where it was not given."""
        if attribute in self.given:
            return None
        return f'compared with "{attribute}" in the released rows, as its distribution before suppression is not given'

    def order(self, attribute: str) -> list[str | None]:
        """All values, of the whole table and of the released rows, in their order; missing last."""
        known = set(self.whole(attribute)["value"]) | set(self.text[attribute].unique())
        return in_order(known)

    def levels(self, attribute: str) -> pl.DataFrame:
        """The hierarchy over these values: columns "0" (the value) to the root, one row per value."""
        if attribute not in self.trees:
            raise PolicyError(
                f't-closeness of "{attribute}" with distance hierarchical needs a hierarchy, and it has none',
                hint=f'give one in hierarchies for "{attribute}", or take distance equal or ordered',
            )
        rows = [[row[0] or None, *row[1:]] for row in self.trees[attribute]]
        path: dict[str | None, list[str | None]] = {row[0]: row for row in rows}
        values = self.order(attribute)
        if len({len(row) for row in rows}) != 1 or len({row[-1] for row in rows}) != 1:
            raise PolicyError(f'the hierarchy of "{attribute}" must have rows of one length that end in one root')
        if None in values and None not in path:  # missing values are a branch of their own below the root
            if len(rows[0]) == 1:
                path = {value: [*row, "*"] for value, row in path.items()}
            some = next(iter(path.values()))
            path[None] = [*[None for _ in some[1:]], some[-1]]
        absent = sum(value not in path for value in values)
        if absent:
            raise PolicyError(f'the hierarchy of "{attribute}" lacks {absent} of the {len(values)} released values')
        height = len(next(iter(path.values()))) - 1
        columns = {str(i): [path[value][i] for value in values] for i in range(height + 1)}
        return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))


_WHOLE = {"value": pl.String, "n": pl.Int64}


def rounded(x: float) -> float:
    """A measured value to twelve digits: the last bits depend on the order of a sum, which threads may change."""
    return float(f"{x:.12g}")
