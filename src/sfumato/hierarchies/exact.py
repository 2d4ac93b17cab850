"""Exact numbers: what a value or parameter says, without the rounding of floats."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal, InvalidOperation
from fractions import Fraction

DIGITS = 2000  # longer numbers would cost more than they tell
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
