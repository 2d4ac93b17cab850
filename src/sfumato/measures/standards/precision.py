"""How precise a released label is: ZIP codes beyond three digits, dates beyond the year, ages over 89."""

from __future__ import annotations

import re
from decimal import Decimal

from sfumato.core.label_grammar import NUMBER, Range, read_range, read_set

# Three-digit ZIP areas of 20,000 people or fewer in the census of 2000: they must read 000.
_RESTRICTED = "036 059 063 102 203 556 692 790 821 823 830 831 878 879 884 890 893"
RESTRICTED = frozenset(_RESTRICTED.split())
OLDEST = 89
MASK = re.compile(r"([0-9]*)([*xX#?]+)\Z")
_DAY, _MONTH, _YEAR = "(?:0?[1-9]|[12][0-9]|3[01])", "(?:0?[1-9]|1[0-2])", "(?:[0-9]{4}|[0-9]{2})"
_WORD = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\\.?"
DATE = re.compile(
    f"(?<![0-9./-])(?:[0-9]{{4}}[-/]{_MONTH}[-/]{_DAY}|{_DAY}[./-]{_MONTH}[./-]{_YEAR}|{_MONTH}[./-]{_DAY}[./-]{_YEAR}"
    "|(?:19|20)[0-9]{2}-(?:0[1-9]|1[0-2]|Q[1-4]|W[0-5][0-9]))(?![./-]?[0-9])"
    f"|\\b[0-9]{{1,2}}\\.? {_WORD} [0-9]{{4}}|\\b{_WORD} (?:[0-9]{{1,2}},? )?[0-9]{{4}}"
)
COMPACT = re.compile(r"(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])\Z")  # 20240213
YEARS = re.compile(
    r"(?<=[0-9+)\]*])[ -]*(?:years?|yrs?|y/?o?|jahre?|ans?|años?|anni|anos?|jaar)\.?(?:[ -]*(?:old|alt|of age))?\Z",
    re.IGNORECASE,
)
_OVER, _UP = "(?:9[0-9]|1[0-2][0-9])", r"(?! ?(?:\+|-|or|and|to)\b| ?\+)"  # "90 or older" may stay
OLD = re.compile(  # in a text: 92 years old, a 92-year-old, 92 y/o, aged 92
    rf"\b{_OVER}[ -]?(?:(?:years?|yrs?)[ -]?old|y/?o)\b{_UP}|\baged?:? {_OVER}\b{_UP}", re.IGNORECASE
)
WHOLE_YEARS = re.compile(
    r"\[([0-9]{4})-01-01(?:T00:00:00)?, (?:[0-9]{4}-12-31(?:T[0-9:.]*)?\]|[0-9]{4}-01-01(?:T00:00:00)?\))\Z"
)


def zip_fault(label: str, number: bool = False) -> bool:
    """Whether a label tells more of a ZIP code than its first three digits, or those of a sparsely peopled area.

    `number` says that the column holds numbers, so that leading zeros may be gone.

    >>> [zip_fault(z) for z in ("13053", "130", "130**", "1305*", "036", "000", "*")]
    [True, False, False, True, True, False, False]
    >>> [zip_fault(z) for z in ("[13000, 13099]", "[13053, 13068]", "{130, 131}", "13053-1234")]
    [False, True, False, True]
    """
    text = label.strip()
    if not text.strip("*xX#?"):
        return False
    if words := read_set(text):
        return any(zip_fault(word, number) for word in words)
    if text.isdecimal():
        return len(text) > 3 or (text.zfill(3) if number else text) in RESTRICTED
    if mask := MASK.match(text):
        return len(mask[1]) > 3 or mask[1] in RESTRICTED
    low, high, _, right = read_range(text) or Range("", "")
    if low is None or high is None:
        return False
    if text[0] in "[](":
        return _zip_range(low, high, right)
    if low.isdecimal() and high.isdecimal():
        return len(high) < len(low) or _zip_range(low, high, True)  # 13053-1234 is no range
    if text[0] in "*#?":
        return True  # the last digits tell more than the first
    return len(re.sub(r"[^0-9A-Za-z]", "", text)) > 3


def _zip_range(low: str, high: str, closed: bool) -> bool:
    """Whether a range of ZIP codes is finer than three digits."""
    if not (low.isdecimal() and high.isdecimal()):
        return True
    if len(high) <= 3:
        return closed and low == high and low in RESTRICTED
    start, stop = int(low), int(high) + closed  # up to, not including
    if start % 100 or stop % 100:
        return True
    return stop - start <= 100 and f"{start // 100:03d}" in RESTRICTED


def date_fault(label: str) -> bool:
    """Whether a label tells more of a date than its year.

    >>> [date_fault(d) for d in ("2024", "2020s", "2024-02", "2024-02-13", "13/02/2024", "[2020-01-01, 2021-12-31]")]
    [False, False, True, True, True, False]
    """
    return DATE.search(label) is not None and WHOLE_YEARS.match(label.strip()) is None


def age_fault(label: str) -> bool:
    """Whether a label tells an age over 89 otherwise than as 90 or older.

    >>> [age_fault(a) for a in ("89", "90", "90+", ">= 90", "[90, 95)", "[80, 100)", ">= 95", "92 years")]
    [False, True, False, False, True, False, True, True]
    """
    text = YEARS.sub("", label.strip())
    if (mask := MASK.match(text)) and mask[1]:
        return int(mask[1] + "0" * len(mask[2])) > OLDEST
    if NUMBER.match(text):
        return Decimal(text) > OLDEST
    low, high, _, _ = read_range(text) or Range(None, None)
    if low is None or not NUMBER.match(low) or (high is not None and not NUMBER.match(high)):
        return False
    return Decimal(low) > OLDEST + (high is None or Decimal(high).is_infinite())


def birth_year_fault(label: str, year: int) -> bool:
    """Whether a year of birth tells an age over 89 in `year`.

    >>> birth_year_fault("1930", 2024), birth_year_fault("1940", 2024)
    (True, False)
    """
    text = label.strip()
    return bool(re.match(r"[0-9]{4}(?:\.0)?\Z", text)) and year - int(text[:4]) > OLDEST
