"""Dates: hour, day, week, month, quarter, year, five years, decade, twenty years."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from sfumato.core.exact import EPOCH, has_time, times, zoned
from sfumato.core.hierarchy import Categories, Groups, Hierarchy, grow, leaves_of
from sfumato.core.label_grammar import range_text
from sfumato.core.parameters import OneOf
from sfumato.errors import HierarchyError, PolicyError, did_you_mean


def _week(day: dt.datetime) -> str:
    year, week, _ = day.isocalendar()
    return f"{year:04d}-W{week:02d}"


def _hour(moment: dt.datetime) -> str:
    start = moment.replace(minute=0, second=0, microsecond=0)
    last = dt.datetime.max.replace(minute=0, second=0, microsecond=0)
    after = None if start == last else (start + dt.timedelta(hours=1)).isoformat(timespec="minutes")
    return range_text(start.isoformat(timespec="minutes"), after, closed=False)


UNITS: dict[str, Callable[[dt.datetime], str]] = {
    "hour": _hour,
    "day": lambda day: day.date().isoformat(),
    "week": _week,
    "month": lambda day: f"{day.year:04d}-{day.month:02d}",
    "quarter": lambda day: f"{day.year:04d}-Q{(day.month + 2) // 3}",
    "year": lambda day: f"{day.year:04d}",
    "5 years": lambda day: f"{day.year // 5 * 5:04d}-{day.year // 5 * 5 + 4:04d}",
    "decade": lambda day: f"{day.year // 10 * 10:04d}s",
    "20 years": lambda day: f"{day.year // 20 * 20:04d}-{day.year // 20 * 20 + 19:04d}",
}
MONTHS = {"month": 1, "quarter": 3, "year": 12, "5 years": 60, "decade": 120, "20 years": 240}
UNIT = re.compile(
    r"(?P<year>[0-9]{4})"
    r"(?:(?P<decade>s)|-Q(?P<quarter>[1-4])|-W(?P<week>[0-9]{2})|-(?P<month>[0-9]{2})(?:-(?P<day>[0-9]{2}))?"
    r"|-(?P<last>[0-9]{4}))?"
)

FIRST = int((dt.datetime.min - EPOCH) / dt.timedelta(microseconds=1))  # microseconds
LAST = int((dt.datetime.max - EPOCH) / dt.timedelta(microseconds=1)) + 1


def days_of(label: str) -> tuple[dt.date, dt.date] | None:
    """The first and the last day of a unit as it prints; None for other labels.

    >>> [str(day) for label in ("2024-02", "1970s", "2024-W07", "1965-1969") for day in days_of(label)]
    ['2024-02-01', '2024-02-29', '1970-01-01', '1979-12-31', '2024-02-12', '2024-02-18', '1965-01-01', '1969-12-31']
    """
    found = UNIT.fullmatch(label)
    if found is None:
        return None
    year, month, months = int(found["year"]), int(found["month"] or 1), 120 if found["decade"] else 12
    if found["last"]:
        months = 12 * (int(found["last"]) - year + 1)
        if months <= 0:
            return None
    elif found["quarter"] or found["month"]:
        month, months = (3 * int(found["quarter"]) - 2, 3) if found["quarter"] else (month, 1)
    try:
        if found["day"]:
            return (day := dt.date.fromisoformat(label)), day
        if found["week"]:
            first = dt.date.fromisocalendar(year, int(found["week"]), 1)
            return first, first + dt.timedelta(days=6)
        after = year * 12 + month - 1 + months
        last = dt.date.max if after >= 120_000 else dt.date(after // 12, after % 12 + 1, 1) - dt.timedelta(days=1)
        return dt.date(max(year, 1), month, 1), last  # the decade of the year 1 is that of the year 0
    except (ValueError, OverflowError):
        return None


@dataclass(frozen=True)
class Dates:
    """Dates generalise to the units asked for, which go from fine to coarse."""

    units: tuple[str, ...] = ("day", "month", "quarter", "year", "decade")

    def __post_init__(self) -> None:
        known, allowed = list(UNITS), ", ".join(UNITS)
        faults = []
        for unit in self.units:
            if unit not in known:
                faults.append(f'unknown unit "{unit}"; {did_you_mean(str(unit), known) or f"allowed: {allowed}"}')
        places = [known.index(unit) for unit in self.units if unit in known]
        if places != sorted(set(places)):
            faults.append(f"dates takes each unit once, from fine to coarse: {allowed}")
        coarser = [unit for unit in self.units if unit in known and known.index(unit) > known.index("week")]
        if "week" in self.units and coarser:
            faults.append(
                f"a week may lie in two {coarser[0]}s, so week does not nest in {', '.join(coarser)}; leave it out"
            )
        if not self.units:
            faults.append(f"dates takes at least one of: {allowed}")
        if faults:
            raise PolicyError("these dates make no hierarchy", faults)

    @property
    def counts_days(self) -> bool:
        """Whether it has a level less where no value has a time."""
        return "hour" in self.units or "day" in self.units

    def build(self, categories: Categories) -> Hierarchy:
        """One level per unit, then the root; where the values are days already, day is level 0 itself."""
        leaves = leaves_of(categories)
        if leaves and categories.kind not in ("date", "datetime", "text"):
            raise HierarchyError(f'"{categories.name}" does not hold dates', got=categories.kind)
        moments = moments_of(categories, leaves)
        if lost := int(np.isnat(moments).sum()):
            what = f'{lost} of {len(moments)} values of "{categories.name}" are no dates of the years 1 to 9999'
            raise HierarchyError(what, hint="write dates as 2024-02-29")
        days = categories.kind == "date" or (categories.kind == "text" and not any(map(has_time, leaves)))
        units = [unit for unit in self.units if unit not in ("hour", "day") or not days]
        return grow(categories.name, leaves, [in_unit(moments, unit) for unit in units])

    def describe(self) -> str:
        """A few words for the manifest."""
        return "dates " + ", ".join(self.units)


def moments_of(categories: Categories, leaves: Sequence[str]) -> np.ndarray:
    """What the clock on the wall showed, per value, in microseconds; not a time outside the years 1 to 9999."""
    place = categories.position
    if place is not None and categories.kind in ("date", "datetime") and not (leaves and zoned(leaves[0])):
        factor = 86_400_000_000 if categories.kind == "date" else 1_000_000
        known = place[: len(leaves)] * factor
        fine = (known >= FIRST) & (known < LAST)
        micro = np.where(fine, np.floor(np.where(fine, known, 0)), np.iinfo(np.int64).min)
        return np.asarray(micro.astype(np.int64).astype("M8[us]"))
    none = np.datetime64("NaT", "us")
    return np.array([none if m is None else np.datetime64(m, "us") for m in times(categories, leaves)], "M8[us]")


def in_unit(moments: np.ndarray, unit: str) -> Groups:
    """The unit that each moment lies in, and how these print."""
    if unit in MONTHS:
        key = (moments.astype("M8[M]").astype(np.int64) + 1970 * 12) // MONTHS[unit]
    else:
        days = moments.astype("M8[D]").astype(np.int64)
        key = {"day": days, "week": (days + 3) // 7}.get(unit, moments.astype("M8[h]").astype(np.int64))
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    return group.reshape(-1), [UNITS[unit](moment) for moment in moments[first].tolist()]


def dates(*units: Annotated[str, OneOf(tuple(UNITS))]) -> Dates:
    """Dates and times by hour, day, week, month, quarter, year, five years, decade and twenty years.

    They print as `[2024-02-13T14:00, 2024-02-13T15:00)`, `2024-02-13`, `2024-W07` (ISO 8601), `2024-02`, `2024-Q1`,
    `2024`, `2020-2024`, `2020s`, `2020-2039`, and last `*`. `units`: any of "hour", "day", "week", "month",
    "quarter", "year", "5 years", "decade", "20 years", in that order; without any, day, month, quarter, year and
    decade. A week may lie in two months or years, so week stands with hour and day only. Values with a time zone count
    by their own clock.

    >>> dates("month", "year").describe()
    'dates month, year'
    """
    if len(units) == 1 and isinstance(units[0], list | tuple):
        units = tuple(units[0])
    return Dates(units) if units else Dates()
