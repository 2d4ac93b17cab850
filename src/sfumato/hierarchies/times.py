"""Times: dates and times of day, read from the printed values of a column."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from sfumato.categories import Categories

EPOCH = dt.datetime(1970, 1, 1)


def times(categories: Categories, leaves: Sequence[str]) -> list[dt.datetime | None]:
    """What the clock on the wall showed, for each printed value; None where that cannot be read.

    Printed forms are those of ISO 8601. Where a form cannot be read, the position of a date column says the time.
    """
    read = [_read(text) for text in leaves]
    if categories.position is not None and categories.kind in ("date", "datetime"):
        for i, moment in enumerate(read):
            if moment is None:
                read[i] = _from_position(float(categories.position[i]), categories.kind)
    return read


def zoned(text: str | None) -> bool:
    """Whether a printed time says its time zone.

    >>> zoned("2024-03-31T02:30:00+02:00"), zoned("2024-03-31T02:30:00")
    (True, False)
    """
    return text is not None and len(text) > 19 and (text[-6] in "+-" or text.endswith("Z"))


def has_time(text: str) -> bool:
    """Whether a printed date goes on with a time of day."""
    try:
        dt.date.fromisoformat(text)
    except ValueError:
        return True
    return False


def _read(text: str) -> dt.datetime | None:
    try:
        return dt.datetime.fromisoformat(text).replace(tzinfo=None)
    except ValueError:
        return None


def _from_position(position: float, kind: str) -> dt.datetime | None:
    try:
        return EPOCH + (dt.timedelta(days=position) if kind == "date" else dt.timedelta(seconds=position))
    except (OverflowError, ValueError):
        return None
