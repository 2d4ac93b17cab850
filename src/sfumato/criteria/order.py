"""The order of printed values: by number where all are numbers, by time where all are dates, else by text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date, datetime
from decimal import Decimal
from typing import Any

_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?|[+-]?inf")
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
    if all(_NUMBER.fullmatch(value) for value in known):
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
