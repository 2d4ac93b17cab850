"""Dates: day, week, month, quarter, year, decade."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from dataclasses import dataclass

from sfumato.core.exact import has_time, times
from sfumato.core.hierarchy import Categories, Hierarchy, by_label, grow, leaves_of
from sfumato.errors import HierarchyError, PolicyError, did_you_mean


def _week(day: dt.datetime) -> str:
    year, week, _ = day.isocalendar()
    return f"{year:04d}-W{week:02d}"


UNITS: dict[str, Callable[[dt.datetime], str]] = {
    "day": lambda day: day.date().isoformat(),
    "week": _week,
    "month": lambda day: f"{day.year:04d}-{day.month:02d}",
    "quarter": lambda day: f"{day.year:04d}-Q{(day.month + 2) // 3}",
    "year": lambda day: f"{day.year:04d}",
    "decade": lambda day: f"{day.year // 10 * 10:04d}s",
}
UNIT = re.compile(
    r"(?P<year>[0-9]{4})"
    r"(?:(?P<decade>s)|-Q(?P<quarter>[1-4])|-W(?P<week>[0-9]{2})|-(?P<month>[0-9]{2})(?:-(?P<day>[0-9]{2}))?)?"
)


def days_of(label: str) -> tuple[dt.date, dt.date] | None:
    """The first and the last day of a unit as it prints; None for other labels.

    >>> [str(day) for label in ("2024-02", "1970s", "2024-W07") for day in days_of(label)]
    ['2024-02-01', '2024-02-29', '1970-01-01', '1979-12-31', '2024-02-12', '2024-02-18']
    """
    found = UNIT.fullmatch(label)
    if found is None:
        return None
    year, month, months = int(found["year"]), int(found["month"] or 1), 120 if found["decade"] else 12
    if found["quarter"] or found["month"]:
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
    """Dates generalise to day, week, month, quarter, year, decade: those asked for, in that order."""

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

    def build(self, categories: Categories) -> Hierarchy:
        """One level per unit, then the root; where the values are days already, day is level 0 itself."""
        leaves = leaves_of(categories)
        if leaves and categories.kind not in ("date", "datetime", "text"):
            raise HierarchyError(f'"{categories.name}" does not hold dates', got=categories.kind)
        read = times(categories, leaves)
        moments = [moment for moment in read if moment is not None]
        if len(moments) < len(read):
            lost = len(read) - len(moments)
            what = f'{lost} of {len(read)} values of "{categories.name}" are no dates of the years 1 to 9999'
            raise HierarchyError(what, hint="write dates as 2024-02-29")
        days = categories.kind == "date" or (categories.kind == "text" and not any(map(has_time, leaves)))
        units = [unit for unit in self.units if unit != "day" or not days]
        return grow(categories.name, leaves, [by_label(list(map(UNITS[unit], moments))) for unit in units])

    def describe(self) -> str:
        """A few words for the manifest."""
        return "dates " + ", ".join(self.units)


def dates(*units: str) -> Dates:
    """Dates and times by day, week, month, quarter, year and decade.

    They print as `2024-02-13`, `2024-W07` (ISO 8601), `2024-02`, `2024-Q1`, `2024`, `2020s`, and last `*`. `units` are
    any of them, in that order; without any, all but week. A week may lie in two months, quarters, years or decades, so
    week stands with day only. Values with a time zone count by their own clock.

    >>> dates("month", "year").describe()
    'dates month, year'
    """
    if len(units) == 1 and isinstance(units[0], list | tuple):
        units = tuple(units[0])
    return Dates(units) if units else Dates()
