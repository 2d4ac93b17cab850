"""Exact numbers: what a value or parameter says, without the rounding of floats."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction

import numpy as np

from sfumato.core.hierarchy import Categories

DIGITS = 2000  # longer numbers would cost more than they tell
HELD = 15  # digits that floats hold
LONG = 24  # characters, from which on zeros are printed as an exponent


def exact(value: object) -> Fraction:
    """The number that a value prints as; ValueError where it prints as none, or as one of thousands of digits.

    >>> exact(0.1) * 3 == exact("0.3")
    True
    """
    return Fraction(*ratio(value))


def ratio(value: object) -> tuple[int, int]:
    """The same as numerator and denominator: cheaper where there are many."""
    try:
        number = Decimal("no number" if isinstance(value, bool) else str(value))
        if not number.is_finite() or number.adjusted() > DIGITS or _places(number) > DIGITS:
            raise ValueError
    except (InvalidOperation, ValueError):
        raise ValueError("not a number") from None
    return number.as_integer_ratio()


def _places(number: Decimal) -> int:
    exponent = number.as_tuple().exponent
    return -exponent if isinstance(exponent, int) else DIGITS + 1


def show(number: Fraction) -> str:
    """A number with as few digits as say it exactly.

    >>> show(exact("20.0")), show(exact(0.1) * 3), show(exact("-1e-3")), show(exact("2.5e300"))
    ('20', '0.3', '-0.001', '2.5e+300')
    """
    rest, twos, fives = number.denominator, 0, 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    if rest != 1:
        raise ValueError("not a decimal number")
    places = max(twos, fives)
    digits = str(abs(number.numerator) * 10**places // number.denominator).rjust(places + 1, "0")
    text = f"{digits[:-places]}.{digits[-places:]}" if places else digits
    if len(text) > LONG:  # a row of zeros says less than their number
        short = digits.strip("0")
        power = len(digits.lstrip("0")) - places - 1
        scientific = f"{short[0]}{'.' if short[1:] else ''}{short[1:]}e{power:+d}"
        text = min(text, scientific, key=len)
    return f"-{text}" if number < 0 else text


def in_tens(n: np.ndarray, power: int) -> np.ndarray:
    """n times a power of ten, as the nearest float.

    >>> in_tens(np.array([3.0]), -1).tolist()
    [0.3]
    """
    if abs(power) <= 22:  # those powers are floats themselves, so that there is one rounding
        return n * 10.0**power if power >= 0 else n / 10.0**-power
    return np.array([float(f"{int(x)}e{power}") if np.isfinite(x) else x for x in n.tolist()])


def steps_below(x: np.ndarray, digit: int, power: int) -> np.ndarray:
    """How many steps of digit times a power of ten fit below floats: as whole floats, exact up to 15 digits.

    >>> steps_below(np.array([0.3, 0.29, -0.1]), 1, -1).tolist()
    [3.0, 2.0, -1.0]
    """
    n = np.floor(x / float(f"{digit}e{power}"))
    for _ in range(2):  # a quotient of floats may be off by one
        n = n - (in_tens(n * digit, power) > x) + (in_tens((n + 1) * digit, power) <= x)
    return n


def roundest(low: float, high: float) -> Fraction:
    """The roundest number above one and up to another: the multiple of the largest of 1, 2, 5, 10, 20, 50, ... that
    lies there.

    >>> [show(roundest(low, high)) for low, high in ((41, 67), (36.5, 38.1), (-3, 5), (0.0171, 0.0174), (7, 7))]
    ['50', '38', '0', '0.0174', '7']
    """
    if low < 0 <= high:
        return Fraction(0)
    least, most = exact(low), exact(high)
    if least >= most:
        return most
    power = math.floor(math.log10(max(abs(low), abs(high)))) + 1
    while True:
        for digit in (5, 2, 1):
            step = digit * Fraction(10) ** power
            found = most // step * step
            if found > least:
                return found
        power -= 1


def printed(value: object) -> str:
    """A value given in Python or TOML as it prints in a table.

    >>> printed(3), printed(True), printed("a")
    ('3', 'true', 'a')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dt.datetime):
        return value.isoformat(
            timespec="milliseconds" if value.microsecond and not value.microsecond % 1000 else "auto"
        )
    return str(value)


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
