"""Dates shifted by a number of days of each person's own, intervals kept (Hripcsak et al., JAMIA 23(6), 2016)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import polars as pl

from sfumato.core.masked import Change, Context, kind_of_column
from sfumato.core.parameters import Column, Whole, whole_number
from sfumato.core.wording import count
from sfumato.errors import ColumnError
from sfumato.pseudonyms.key_file import digests
from sfumato.pseudonyms.step import KeyedStep, texts_of

MOST = 36_525  # days, a hundred years


@dataclass(frozen=True)
class DateShift(KeyedStep):
    """Shift all dates of a person by the same number of days, back or forth, so that intervals stay.

    person: the column that tells whose a row is; it is also the domain unless another is said, so that a person's dates
    are shifted alike in every table. low: the least number of days; nobody's are left in place. high: the greatest.
    """

    person: Annotated[str, Column(needed=True)] = ""
    low: Annotated[int, Whole(1, MOST)] = 1
    high: Annotated[int, Whole(1, MOST)] = 365

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.person in self.columns:
            raise self.refuse("the column of persons is no date that can be shifted")
        whole_number(self.high, f"{self.name}: high", self.low, MOST)

    kinds = ("date",)
    perturbs = True
    stored = "rows"
    leaves = (
        "Intervals between the dates of a person stay, and weekdays, seasons, or a date known from elsewhere may tell "
        "the shift and so all other dates of the person."
    )

    @property
    def needs(self) -> tuple[str, ...]:
        """The column of persons."""
        return (self.person,)

    def domain_of(self, column: str) -> str:
        """The domain: one for all dates of a person."""
        return self.person if self.domain is None else self.domain

    def sentence(self) -> str:
        """What it does."""
        return (
            f"all dates of a person are shifted by the same number of days, {self.low} to {self.high}, back or forth "
            "by a secret key that is not published"
        )

    def apply(self, columns: pl.DataFrame, context: Context) -> Change:
        """Shift each column."""
        people = context.table.get_column(self.person)
        nobody = texts_of(people).is_null()
        days = self.of_distinct(people, self._days)
        found = []
        for column in columns.iter_columns():
            if kind_of_column(column) != "date":
                raise ColumnError(f'{self.name} takes dates, and "{column.name}" is none', got=str(column.dtype))
            if unclear := int((nobody & column.is_not_null()).sum()):
                raise ColumnError(
                    f'{self.name}: column "{self.person}" is missing in {count(unclear, "row")} with a date',
                    hint="leave these rows out, or their dates",
                )
            shifted = _shifted(column, days)
            years = shifted.dt.year()
            if bool(((years < 1) | (years > 9999)).any()):
                raise ColumnError(f'{self.name}: column "{column.name}" has dates that cannot be shifted so far')
            found.append(shifted.alias(column.name))
        return Change(pl.DataFrame(found))

    def _days(self, people: pl.Series) -> pl.Series:
        """Days for each person, never 0."""
        made = digests(self.key_of(self.person), people.to_list())
        words = np.ascontiguousarray(made[:, :8]).view(">u8").ravel().astype(np.uint64)
        days = self.low + (words % np.uint64(self.high - self.low + 1)).astype(np.int64)
        return pl.Series(np.where(made[:, 8] & 1, days, -days))


def _shifted(column: pl.Series, days: pl.Series) -> pl.Series:
    """Dates some days later, at the same time of the clock; an hour that it leaves out that day is the next one."""
    zone = getattr(column.dtype, "time_zone", None)
    local = column.dt.replace_time_zone(None) if zone else column
    later = pl.select(pl.lit(local) + pl.duration(days=pl.lit(days))).to_series().cast(local.dtype)
    if zone is None:
        return later

    def placed(times: pl.Series) -> pl.Series:
        return times.dt.replace_time_zone(zone, ambiguous="earliest", non_existent="null")

    found = placed(later)
    return found.zip_with(found.is_not_null(), placed(later.dt.offset_by("1h")))
