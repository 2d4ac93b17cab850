"""Bounds: where the range that a label of a hierarchy says begins and ends."""

from __future__ import annotations

import datetime as dt
import math
import re

from sfumato.core.exact import EPOCH, exact, show
from sfumato.core.label_grammar import read_decade, read_range
from sfumato.hierarchies.dates import days_of

DAY = 86400
INFINITE = re.compile(r"[+-]?(?:inf|infinity|∞)", re.IGNORECASE)

Cut = tuple[float, str]  # where it is, and how it prints
Sides = tuple[tuple[str, bool] | None, tuple[str, bool] | None]  # the text of each end, and whether it belongs


def cuts_of(label: str | None, kind: str) -> tuple[Cut | None, Cut | None] | None:
    """Where the range that a label of a hierarchy says begins and ends, None where it is open; None if it says none.

    Whole numbers and days end with the last one that belongs.

    >>> cuts_of("[18, 65)", "integer"), cuts_of("65+", "integer"), cuts_of("1970s", "date")
    (((18.0, '18'), (64.0, '64')), ((65.0, '65'), None), ((0.0, '1970-01-01'), (3651.0, '1979-12-31')))
    """
    if kind not in ("integer", "decimal", "date", "datetime"):
        return None
    text, numbers = (label or "").strip(), kind in ("integer", "decimal")
    try:
        days = None if numbers else days_of(text)
        sides = _sides(text) if days is None else ((str(days[0]), True), (str(days[1]), True))
        if sides is None:
            return None
        read = _plain_number if numbers else _moment
        low, high = (None if end is None else read(*end, kind, side) for side, end in enumerate(sides))
    except (ValueError, OverflowError):
        return None
    return None if low is not None and high is not None and low[0] > high[0] else (low, high)


def _sides(text: str) -> Sides | None:
    """The ends that a label writes."""
    found = read_range(text) or read_decade(text)
    if found is None:
        return None
    ends = (found.low, found.left), (found.high, found.right)
    start, stop = (None if end is None or INFINITE.fullmatch(end) else (end, belongs) for end, belongs in ends)
    return start, stop


def _plain_number(text: str, belongs: bool, kind: str, side: int) -> Cut:
    number = exact(text)
    if kind == "integer":
        whole = math.floor(number) if (side == 1) == belongs else math.ceil(number)
        number = exact(whole if belongs else whole + (1, -1)[side])
    return float(number), show(number)


def _moment(text: str, belongs: bool, kind: str, side: int) -> Cut:
    moment = dt.datetime.fromisoformat(text)
    if moment.tzinfo is not None:
        raise ValueError("a time zone")
    midnight = moment.time() == dt.time()
    if kind == "date" and not midnight:
        raise ValueError("a time of day")
    if midnight and not belongs and (side == 1 or kind == "date"):  # the day before, or after, is the last one
        moment += dt.timedelta(days=(1, -1)[side])
    days = (moment - EPOCH).days
    if kind == "date":
        return float(days), str(moment.date())
    if midnight and (side == 0 or len(text) == 10 or not belongs):
        return days * float(DAY) + side * (DAY - 1e-6), str(moment.date())  # a day belongs as a whole
    even = not (moment.second or moment.microsecond)
    return (moment - EPOCH).total_seconds(), moment.isoformat(timespec="minutes" if even else "auto")
