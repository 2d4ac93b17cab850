"""Frequent keys: counts of values that nobody listed, published where they are frequent; Korolova, Kenthapadi, Mishra
and Ntoulas, "Releasing search queries and clicks privately", 2009."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from sfumato.core.parameters import ColumnNames, Written, known_columns
from sfumato.core.printed import printed, refuse_unprintable
from sfumato.dp.queries.query import Law, Part, Query
from sfumato.dp.rows import PrivateRows, RowView
from sfumato.dp.values import Public, Unit
from sfumato.errors import PolicyError

DENSE = 2**22  # numbers that are looked up in a table, rather than sorted


@dataclass(frozen=True)
class FrequentKeys(Query):
    """How many rows have each value of one column, or of several together, where no list of values is public.

    A value is published where its noisy count reaches a threshold, so that what few people have stays unknown: but for
    a probability of delta, at most, that one person's value is told. Missing is a value, too.
    """

    by: Annotated[Any, ColumnNames()]
    where: Annotated[Any, Written("text")] = None
    how: ClassVar[str] = (
        "a unit is in at most so many groups, with at most so many rows in all and in each; the threshold is the least "
        "that hides a unit's own groups but for delta"
    )
    needs_delta: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        names = self.by
        if not names or len(set(names)) < len(names):
            raise PolicyError("keys are of one column or several different ones", allowed="town, or town, sex")
        if "count" in names:
            raise PolicyError('a column of the answer is called "count"', hint="rename that of the table")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the keys."""
        return tuple(self.by)

    def parts(self, public: Public, unit: Unit) -> tuple[Part, ...]:
        """Counts of keys, of as many as there are: a unit that is exchanged leaves its groups, and another comes."""
        known_columns(self.columns, public.schema)
        refuse_unprintable({name: public.schema[name] for name in self.by})
        groups, rows = unit.most_groups * unit.times, unit.in_groups * unit.times
        return (Part(0, rows, keys=(groups, rows, unit.in_group)),)

    def exact(self, rows: PrivateRows) -> list[Any]:
        """The rows of each key, by its printed values."""
        found = rows.of(self.columns, self.conditions, self.places)
        place = self.places(found)
        counts = found.per_cell(place, int(place.max(initial=-1)) + 1)
        first = np.zeros(len(counts), np.int64)
        first[place] = np.arange(len(place))  # a row of each key
        own = [found.column(name).gather(first) for name in self.by]
        texts = [_texts(column, rows.public).to_list() for column in own]
        keys = [json.dumps(key) for key in zip(*texts, strict=True)]  # ASCII, and no two alike
        added = dict.fromkeys(keys, 0)
        for key, often in zip(keys, counts.tolist(), strict=True):  # were two alike, none would take another's place
            added[key] += often
        return [added]

    def places(self, rows: RowView) -> np.ndarray:
        """The number of the key of each row, in the order of its printed values, which no other row decides."""
        place = np.zeros(rows.height, np.int64)
        for name in self.by:
            own = rows.codes(name)
            place = _dense(place * (int(own.max(initial=0)) + 1) + own)
        return place

    def answer(self, noisy: Sequence[Any], scales: Sequence[float], public: Public, law: Law) -> tuple[Any, Any]:
        """A frame of the keys that were found and their counts, the most frequent first, with the interval of each."""
        half = law.whole(scales[0])
        found = sorted(((-count, json.loads(key)) for key, count in noisy[0].counts.items()), key=_order)
        keys = [key for _, key in found]
        frame = self._frame([*zip(*keys, strict=True)] or [()] * len(self.by), [-count for count, _ in found])
        return frame, [(count - half, count + half) for count in frame["count"]]

    def _frame(self, columns: Sequence[Sequence[Any]], counts: Sequence[int]) -> pl.DataFrame:
        own = [pl.Series(name, list(values), pl.String) for name, values in zip(self.by, columns, strict=True)]
        return pl.DataFrame([*own, pl.Series("count", counts, pl.Int64)])

    def read(self, stored: Any) -> Any:
        """The frame, also where no key was found."""
        kept = stored["frame"]
        return self._frame([kept[name] for name in self.by], kept["count"])


def _dense(place: np.ndarray) -> np.ndarray:
    """Numbers from 0 on that are in the same order, none left out."""
    if (most := int(place.max(initial=0))) >= max(DENSE, 2 * len(place)):
        return np.unique(place, return_inverse=True)[1].astype(np.int64)
    seen = np.zeros(most + 1, np.bool_)
    seen[place] = True
    return (np.cumsum(seen) - 1)[place]


def _texts(column: pl.Series, public: Public) -> pl.Series:
    """The printed values: different where the codes of values are. Whole numbers with bounds are held as others, and
    printed as whole ones where 64 bits hold them."""
    texts = printed(column)
    if column.name not in public.bounds or not public.schema[column.name].is_integer():
        return texts
    return column.cast(pl.Int64, strict=False).cast(pl.String).fill_null(texts)


def _order(one: tuple[int, list[str | None]]) -> tuple[Any, ...]:
    return one[0], [(text is None, text or "") for text in one[1]]
