"""Check digits: numbers that validate are hardly there by chance. Through python-stdnum where it is installed."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module

VIN_VALUES = dict(zip("ABCDEFGHJKLMNPRSTUVWXYZ", [*range(1, 9), *range(1, 6), 7, 9, *range(2, 10)], strict=True))
VIN_WEIGHTS = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)


@cache
def validator(module: str) -> Callable[[str], bool] | None:
    """The validator of a module of python-stdnum, such as "us.ssn"; None where the library is not installed."""
    try:
        found: Callable[[str], bool] = import_module(f"stdnum.{module}").is_valid
    except ImportError:
        return None
    return found


def installed() -> bool:
    """Whether python-stdnum is there."""
    return validator("luhn") is not None


def luhn(text: str) -> bool:
    """Whether the digits of a text pass the Luhn check of cards and devices.

    >>> luhn("4111 1111 1111 1111"), luhn("4111111111111112")
    (True, False)
    """
    digits = [int(c) for c in text if c.isdecimal() and c.isascii()]
    odd, even = digits[-1::-2], digits[-2::-2]
    return bool(digits) and (sum(odd) + sum(sum(divmod(2 * d, 10)) for d in even)) % 10 == 0


def npi(text: str) -> bool:
    """Whether a text is a National Provider Identifier: ten digits that pass the Luhn check after 80840.

    >>> npi("1234567893"), npi("1234567890")
    (True, False)
    """
    return len(text) == 10 and luhn("80840" + text)


def ssn(text: str) -> bool:
    """Whether nine digits can be a social security number: no area 000, 666 or 900 and up, group 00, serial 0000.

    It has no check digit. Numbers known from advertisements are not left out: somebody may have entered them.

    >>> ssn("536-22-8145"), ssn("666228145"), ssn("900 22 8145"), ssn("536220000")
    (True, False, False, False)
    """
    digits = "".join(c for c in text if c.isdecimal())
    area, group, serial = digits[:3], digits[3:5], digits[5:]
    return len(digits) == 9 and area not in ("000", "666") and area < "900" and group != "00" and serial != "0000"


def vin(text: str) -> bool:
    """Whether a text is a vehicle identification number with a right check digit (49 CFR 565).

    >>> vin("1M8GDM9AXKP042788"), vin("1M8GDM9A1KP042788")
    (True, False)
    """
    text = text.strip().upper()
    if len(text) != 17:
        return False
    total = 0
    for character, weight in zip(text, VIN_WEIGHTS, strict=True):
        if character.isdecimal() and character.isascii():
            total += int(character) * weight
        elif character in VIN_VALUES:
            total += VIN_VALUES[character] * weight
        else:
            return False
    return text[8] == ("X" if total % 11 == 10 else str(total % 11))


def valid(module: str, text: str) -> bool:
    """What a validator says, True where it is not installed: the pattern alone then decides."""
    check = validator(module)
    return True if check is None else bool(check(text))
