"""The order of printed values: by number where all are numbers, by time where all are dates, else by text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from functools import cached_property
from typing import Any

import polars as pl

from sfumato.core.label_grammar import NUMBER
from sfumato.core.printed import tuple_keys
from sfumato.errors import PolicyError

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}:[0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?([+-][0-9]{2}:[0-9]{2})?"
)


def in_order(values: Iterable[str | None]) -> list[str | None]:
    """The values in order, ties by text, the missing value last.

    >>> in_order(["10", "9", None, "1e1"]), in_order(["10", "9", "x"])
    (['9', '10', '1e1', None], ['10', '9', 'x'])
    """
    distinct = set(values)
    known = sorted(value for value in distinct if value is not None)
    return [*sorted(known, key=_key(known)), *([None] if None in distinct else [])]


def _key(known: list[str]) -> Any:
    if all(NUMBER.match(value) for value in known):
        # floats where they tell whole numbers apart, exact decimals beyond
        return float if all(abs(float(value)) < 2**53 for value in known) else Decimal
    for pattern, key in ((_DATE, date.fromisoformat), (_TIME, _moment)):
        if all(pattern.fullmatch(value) for value in known):
            try:
                sorted(known, key=key)
            except (ValueError, TypeError):  # looks like a date and is none, or has an offset where others have none
                return str
            return key
    return str


def _moment(value: str) -> tuple[datetime, int]:
    found = _TIME.fullmatch(value)
    assert found is not None
    day, minute, second, fraction, offset = found.groups()
    moment = datetime.fromisoformat(f"{day}T{minute}:{second or '00'}{offset or ''}")
    return moment, int((fraction or "").ljust(9, "0"))


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

    `keys` holds that text, a column per quasi-identifier, `text` the printed sensitive attributes, null where a cell is
    missing; keys may be an Enum of texts. `given` maps an attribute to its counts in the table before suppression,
    where they are known, `hierarchies` to its hierarchy; `outside` are attributes whose distribution was given from
    outside. With `row_counts` an entry stands for so many rows: distinct tuples, counted.
    """

    keys: pl.DataFrame
    text: Mapping[str, pl.Series]
    given: Mapping[str, Mapping[Any, float]] = field(default_factory=dict)
    hierarchies: Mapping[str, Wide] = field(default_factory=dict)
    row_counts: pl.Series | None = None
    outside: frozenset[str] = frozenset()

    def beside(self, attribute: str, reference: Any) -> Groups:
        """The same groups, beside a distribution of the attribute that was given from outside, unless it is None."""
        if reference is None:
            return self
        found = copy(self)  # with what it has grouped
        object.__setattr__(found, "given", {**self.given, attribute: dict(reference)})
        object.__setattr__(found, "outside", self.outside | {attribute})
        return found

    def _grouped(self, frame: pl.DataFrame, on: list[str], name: str) -> pl.DataFrame:
        """Rows per group of equal entries."""
        if self.row_counts is None:
            frame = frame.sort(on) if len(on) == 1 else frame  # numbers are sorted faster than hashed
            return frame.group_by(on).agg(pl.len().cast(pl.Int64).alias(name))
        counted = frame.with_columns(self.row_counts.cast(pl.Int64).alias(name))
        return counted.group_by(on).agg(pl.col(name).sum())

    @cached_property
    def _codes(self) -> pl.DataFrame:
        """The key columns as few integers, equal where all texts are: those group faster."""
        return tuple_keys(self.keys.get_columns())

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

    def overall(self, attribute: str) -> pl.DataFrame:
        """Counts in the table before suppression where given, else in the released rows: value, n."""
        if attribute in self.given:
            table = self.given[attribute]
            kind = pl.Float64 if attribute in self.outside else pl.Int64
            columns = {"value": [v or None for v in table], "n": list(table.values())}
            frame = pl.DataFrame(columns, schema={"value": pl.String, "n": kind}, strict=False)
        else:
            frame = self._grouped(pl.DataFrame({"value": self.text[attribute]}), ["value"], "n")
        return frame.filter(pl.col("n") > 0).sort("value")

    def source(self, attribute: str) -> str | None:
        """A note on where the distribution of the whole table comes from, where it was not given."""
        if attribute in self.given:
            return None
        return f'compared with "{attribute}" in the released rows, as its distribution before suppression is not given'

    def strictest(self, attribute: str, bound: float, per: Any, *, greatest: bool) -> pl.DataFrame:
        """The strictest bound among the values of each class, the greatest or the least one: class, asked."""
        asked = self.counts(attribute).join(bounds_frame(per), on="value", how="left", nulls_equal=True)
        each = pl.col("asked").fill_null(float(bound))
        return asked.group_by("class").agg(asked=each.max() if greatest else each.min())

    def absent(self, attribute: str, per: Any) -> str | None:
        """A note on values with a bound of their own that no released row has."""
        released = {value or "" for value in self.text[attribute].unique()}
        lacking = sum(value not in released for value, _ in per or ())
        if not lacking:
            return None
        return f'{lacking} of {len(per)} values with a bound of their own do not occur in the released "{attribute}"'

    def order(self, attribute: str) -> list[str | None]:
        """All values, of the whole table and of the released rows, in their order; missing last.

        Of a distribution that was given from outside, its values alone.
        """
        if attribute in self.outside:
            return in_order(value or None for value in self.given[attribute])
        known = set(self.overall(attribute)["value"]) | set(self.text[attribute].unique())
        return in_order(known)

    def levels(self, attribute: str) -> pl.DataFrame:
        """The hierarchy over these values: columns "0" (the value) to the root, one row per value."""
        if attribute not in self.hierarchies:
            raise PolicyError(
                f't-closeness of "{attribute}" with distance hierarchical needs a hierarchy, and it has none',
                hint=f'give one in hierarchies for "{attribute}", or take distance equal or ordered',
            )
        rows = [[row[0] or None, *row[1:]] for row in self.hierarchies[attribute]]
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


def bounds_frame(per: Any) -> pl.DataFrame:
    """Values with a bound of their own: value, asked."""
    columns = {"value": [value or None for value, _ in per or ()], "asked": [float(n) for _, n in per or ()]}
    return pl.DataFrame(columns, schema={"value": pl.String, "asked": pl.Float64})


def rounded(x: float) -> float:
    """A measured value to twelve digits: the last bits depend on the order of a sum, which threads may change."""
    return float(f"{x:.12g}")


AT_ONCE = 2_000_000  # rows of a join held in memory at a time
COUNTED = 100  # how many different values are counted at least


class WildcardGroups(Groups):
    """Two rows match where each of their quasi-identifiers is equal or missing in at least one of them.

    The class of a row is all rows that match it, itself included, so classes overlap: there is one for each distinct
    tuple of quasi-identifiers. Only k-anonymity and distinct l-diversity are defined on them.

    Tuples are taken by the pattern of what they know. A tuple of pattern P meets one of pattern Q where they agree on
    what both know, which is an equality join on P & Q; the patterns Q with the same P & Q are joined together.
    """

    @cached_property
    def _codes(self) -> pl.DataFrame:
        """The key columns as integers, equal where the texts are, null where missing."""
        return self.keys.select(
            pl.nth(i).cast(pl.String).cast(pl.Categorical).to_physical().alias(f"q{i}") for i in range(self.keys.width)
        )

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
