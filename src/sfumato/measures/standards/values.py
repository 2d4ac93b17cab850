"""What values and labels tell: check digits, ZIP codes beyond three digits, dates beyond the year, ages over 89."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from importlib import import_module

import polars as pl

from sfumato.core.label_grammar import NUMBER, Range, read_decade, read_range, read_set
from sfumato.core.roles import PATTERNS

# Three-digit ZIP areas of 20,000 people or fewer in the census of 2000: they must read 000.
_RESTRICTED = "036 059 063 102 203 556 692 790 821 823 830 831 878 879 884 890 893"
RESTRICTED = frozenset(_RESTRICTED.split())
OLDEST = 89
MASK = re.compile(r"([0-9]*)([*xX#?]+)\Z")
_DAY, _MONTH, _YEAR = "(?:0?[1-9]|[12][0-9]|3[01])", "(?:0?[1-9]|1[0-2])", "(?:[0-9]{4}|[0-9]{2})"
_MONTHS = """
january jan february feb march mar april apr may june jun july jul august aug september sept sep october oct november
nov december dec januar jänner februar märz mär mrz mai juni juli oktober okt dezember dez janvier janv février
fevrier févr fév mars avril avr juin juillet juil août aout septembre octobre novembre décembre decembre déc enero ene
febrero marzo abril abr mayo junio julio agosto ago septiembre setiembre octubre noviembre diciembre dic gennaio
febbraio aprile maggio giugno giu luglio lug settembre ottobre ott dicembre januari februari maart mrt mei augustus
augusti maj janeiro fevereiro março maio junho julho setembro outubro novembro dezembro
"""
_WORD = f"(?i:{'|'.join(sorted(_MONTHS.split(), key=len, reverse=True))})"
_FULL_YEAR = "(?:18|19|20)[0-9]{2}"
DATE = re.compile(
    f"(?<![0-9./-])(?:[0-9]{{4}}[-/.]{_MONTH}[-/.]{_DAY}|{_DAY}[./-]{_MONTH}[./-]{_YEAR}|{_MONTH}[./-]{_DAY}[./-]{_YEAR}"
    f"|{_FULL_YEAR}(?:[-/](?:0[1-9]|1[0-2])|[-/ ]?(?:[Qq][1-4]|[Ww][0-5][0-9])|([ _])(?:0[1-9]|1[0-2])\\1[0-3][0-9])"
    f"|(?:{_MONTH}[/-]|0[1-9]\\.){_FULL_YEAR}|[Qq][1-4][-/ ]{_FULL_YEAR})(?![./-]?[0-9])"
    f"|(?<![0-9])[0-9]{{1,2}}[. -]*(?:de |di |of )?{_WORD}\\b[., -]*(?:de |of )?(?:{_FULL_YEAR}|[0-9]{{2}}\\Z)"
    f"|\\b{_WORD}\\b[. ,-]*(?:[0-9]{{1,2}}(?:st|nd|rd|th)?,? |de )?{_FULL_YEAR}"
    f"|(?<![0-9])[0-9]{{2}}{_WORD}(?:{_FULL_YEAR}|[0-9]{{2}})(?![0-9])"
)
MONTH = re.compile(_WORD + r"\.?")
# March 4, 4. März, Jan-20: whatever the number is, it is more than a year; MARCH1 is a gene
DAY_OF_MONTH = re.compile(
    rf"(?:[0-9]{{1,2}}(?:st|nd|rd|th)?[ .-]+{_WORD}|{_WORD}[ .'-]+[0-9]{{1,2}}(?:st|nd|rd|th)?)\.?\Z", re.IGNORECASE
)
_DD, _MM = "(?:0[1-9]|[12][0-9]|3[01])", "(?:0[1-9]|1[0-2])"
SHORT_DATE = re.compile(  # where a name says date: 3/4, 2020-123, 04031980, 040380
    rf"{_MONTH}[/.-]{_DAY}[/.]?\Z|{_DAY}[/.-]{_MONTH}[/.]?\Z|{_FULL_YEAR}-(?:[0-2][0-9]{{2}}|3[0-6][0-9])\Z"
    rf"|(?:{_DD}{_MM}|{_MM}{_DD})(?:{_FULL_YEAR}|[0-9]{{2}})\Z"
)
COMPACT = re.compile(r"(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])\Z")  # 20240213
COMPACT_MONTH = re.compile(r"(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])\Z")  # 202402
YEARS = re.compile(
    r"(?<=[0-9+)\]*])[ -]*(?:years?|yrs?|y/?o?|jahre?|ans?|años?|anni|anos?|jaar)\.?(?:[ -]*(?:old|alt|of age))?\Z",
    re.IGNORECASE,
)
# "90 or older" may stay, and 95 months are no 95 years
_OVER, _UP = (
    "(?:9[0-9]|1[0-2][0-9])",
    r"(?!(?: ?(?:\+|-|or|and|to)| ?(?:months?|mos?|weeks?|wks?|days?|hours?))\b| ?\+)",
)
OLD = re.compile(  # in a text: 92 years old, a 92-year-old, 92 y/o, aged 92
    rf"\b{_OVER}[ -]?(?:(?:years?|yrs?)[ -]?old|y/?o)\b{_UP}|\baged?:? {_OVER}\b{_UP}", re.IGNORECASE
)
WHOLE_YEARS = re.compile(
    r"\[([0-9]{4})-01-01(?:T00:00:00)?, (?:[0-9]{4}-12-31(?:T[0-9:.]*)?\]|[0-9]{4}-01-01(?:T00:00:00)?\))\Z"
)


_LESS = (
    "under|below|less than|younger than|up to|before|unter|jünger als|bis|vor|avant|moins de|menos de|antes de|meno di"
)
_MORE = (
    "over|above|more than|older than|after|über|ueber|älter als|nach|plus de|más de|mas de|oltre|più di|ouder dan|boven"
)
_AND_UP = "or|and|oder|und|et|y|o|e|en|of"
_UPWARD = "older|over|above|more|up|plus|later|älter|mehr|später|más|mas|oltre|più|ouder|meer"
_DOWNWARD = "younger|under|below|less|before|earlier|jünger|weniger|früher|moins|menos|meno"
LESS, MORE = (re.compile(rf"(?:{words}) (\S+)\Z", re.IGNORECASE) for words in (_LESS, _MORE))
UPWARD, DOWNWARD = (
    re.compile(rf"(\S+),? (?:(?:{_AND_UP}) )?(?:{words})\Z", re.IGNORECASE) for words in (_UPWARD, _DOWNWARD)
)
PER_YEAR = {  # words that end an age which is not in years, and how many of those are a year
    12: re.compile(
        r"[ -]*(?:months?|mos?|monaten?|monat|mois|meses|mesi|maanden)\.?(?:[ -]*(?:old|alt))?\Z", re.IGNORECASE
    ),
    52: re.compile(
        r"[ -]*(?:weeks?|wks?|wochen?|semaines?|semanas?|settimane|weken)\.?(?:[ -]*(?:old|alt))?\Z", re.IGNORECASE
    ),
    365: re.compile(
        r"[ -]*(?:days?|tagen?|tage?|jours?|d[ií]as?|giorni|dagen)\.?(?:[ -]*(?:old|alt))?\Z", re.IGNORECASE
    ),
}


def read_words(label: str) -> Range | None:
    """The range that a label writes in words, in several languages, or by signs; None where it writes none.

    >>> read_words("over 95").low, read_words("90 or older").low, read_words("before 1930").high
    ('95', '90', '1930')
    """
    if match := MORE.match(label):
        return Range(match[1], None, False, False)
    if match := LESS.match(label):
        return Range(None, match[1], False, label.lower().startswith(("up to", "bis")))
    if match := UPWARD.match(label):
        return Range(match[1], None)
    if match := DOWNWARD.match(label):
        return Range(None, match[1])
    return read_range(label)


def zip_fault(label: str, number: bool = False) -> bool:
    """Whether a label tells more of a ZIP code than its first three digits, or those of a sparsely peopled area.

    `number` says that the column holds numbers, so that leading zeros may be gone.

    >>> [zip_fault(z) for z in ("13053", "130", "130**", "1305*", "036", "000", "*")]
    [True, False, False, True, True, False, False]
    >>> [zip_fault(z) for z in ("[13000, 13099]", "[13053, 13068]", "{130, 131}", "13053-1234")]
    [False, True, False, True]
    """
    text = re.sub(r"(?<=[0-9])\.0+\Z", "", label.strip())  # a number that was read as a float
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
    if DAY_OF_MONTH.match(label.strip()):
        return True
    return DATE.search(label) is not None and WHOLE_YEARS.match(label.strip()) is None


def short_date(label: str) -> bool:
    """Whether a text in a column of dates tells a day without a year, or without signs between.

    >>> [short_date(d) for d in ("3/4", "2020-123", "04031980", "2020", "120")]
    [True, True, True, False, False]
    """
    return SHORT_DATE.match(label.strip()) is not None


def counted_date(label: str) -> bool:
    """Whether a number may be a date as programs count it: days of Excel, or seconds or milliseconds of Unix.

    >>> [counted_date(n) for n in ("43831", "1577836800", "1577836800000", "2020", "12")]
    [True, True, True, False, False]
    """
    if not NUMBER.match(label):
        return False
    return any(low <= Decimal(label) <= high for low, high in COUNTED)


COUNTED = ((3654, 73_050), (100_000_000, 4_200_000_000), (100_000_000_000, 4_200_000_000_000))


def age_fault(label: str, per_year: int = 1) -> bool:
    """Whether a label tells an age over 89 otherwise than as 90 or older: a range that ends above 89 does.

    `per_year` says in what an age is counted: 12 for months. A unit that stands in the label goes before it.

    >>> [age_fault(a) for a in ("89", "90", "90+", ">= 90", "[90, 95)", "[85, 95]", ">= 95", "92 years", "95 months")]
    [False, True, False, False, True, True, True, True, False]
    """
    text = YEARS.sub("", label.strip())
    if text != label.strip():
        per_year = 1
    for often, unit in PER_YEAR.items():
        if unit.search(text) and text[:1] not in "{":
            text, per_year = unit.sub("", text), often
            break
    if words := read_set(text):
        return any(age_fault(word, per_year) for word in words)
    oldest = (OLDEST + 1) * per_year
    if decade := re.match(r"([0-9]{1,2}0)s\Z", text):  # in their nineties
        return int(decade[1]) >= oldest
    if (mask := MASK.match(text)) and mask[1]:
        return int(mask[1] + "9" * len(mask[2])) >= oldest
    if NUMBER.match(text):
        return Decimal(text) >= oldest
    found = read_words(text)
    ends = _numbers(found)
    if found is None or ends is None:
        return False
    low, high = ends
    if high is None or high.is_infinite():  # 90 or older, and what is older than 89
        return low is not None and low >= oldest and (low > oldest or not found.left)
    return high > oldest or (high == oldest and found.right)


def birth_year_fault(label: str, year: int) -> bool:
    """Whether a year of birth, or a range of them, tells an age over 89 in `year` otherwise than as 90 or older.

    >>> [birth_year_fault(b, 2024) for b in ("1930", "1940", "1930s", "[1930, 1939]", "193*", "<= 1934", "before 1930")]
    [True, False, True, True, True, False, True]
    """
    text, last = re.sub(r"(?<=[0-9]{4})\.0+\Z", "", label.strip()), year - OLDEST - 1
    if words := read_set(text):
        return any(birth_year_fault(word, year) for word in words)
    if re.match(r"[0-9]{4}\Z", text):
        return int(text) <= last
    if mask := re.match(r"([0-9]{2,3})([*xX#?]{1,2})\Z", text):
        return len(mask[1] + mask[2]) == 4 and int(mask[1] + "0" * len(mask[2])) <= last
    found = read_decade(text) or read_words(text)
    years = [None if end is None else re.match(r"[0-9]{4}(?![0-9])", end) for end in (found or ())[:2]]
    if (
        found is None
        or not any(years)
        or any(y is None and end is not None for y, end in zip(years, found, strict=False))
    ):
        return False
    low, high = (None if y is None else int(y[0]) for y in years)
    if low is None:
        assert high is not None
        return high - (not found.right) < last
    return low + (not found.left) <= last


def _numbers(found: Range | None) -> tuple[Decimal | None, Decimal | None] | None:
    """The ends of a range as numbers; None where one is none."""
    ends = () if found is None else found[:2]
    if not any(ends) or any(end is not None and not NUMBER.match(end) for end in ends):
        return None
    low, high = (None if end is None else Decimal(end) for end in ends)
    return low, high


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


MOST = 20_000  # distinct values checked one by one; more would tell no more


@dataclass(frozen=True)
class Detector:
    """A pattern, a second look at what matches, and the share of a column that must match for it to count.

    What cannot be anything else counts from one value on (`least` 0), what may be by chance only where most match, and
    plain digits only where they hardly repeat, as numbers of people do (`distinct`, values per row).
    """

    identifier: int
    what: str
    pattern: str
    check: Callable[[str], bool] | None = None
    least: float = 0.0
    distinct: float = 0.0


def _address(text: str) -> bool:
    try:
        ipaddress.ip_address(text.strip())
    except ValueError:
        return False
    return True


def _phone(text: str) -> bool:
    try:
        import phonenumbers
    except ImportError:
        return True
    try:
        return bool(phonenumbers.is_possible_number(phonenumbers.parse(text, "US")))
    except phonenumbers.NumberParseException:
        return False


def _in_words(pattern: str, check: Callable[[str], bool]) -> Callable[[str], bool]:
    """Whether a text with words in it has a part that matches a pattern and passes a check."""
    part, word = re.compile(pattern), re.compile("[A-Za-z]{2}")
    return lambda text: word.search(text) is not None and any(check(found) for found in part.findall(text))


def _place(text: str) -> bool:
    """Whether two numbers are a latitude and a longitude."""
    numbers = [float(part) for part in re.findall(r"[-+]?[0-9]+\.[0-9]+", text)]
    return len(numbers) == 2 and abs(numbers[0]) <= 90 and abs(numbers[1]) <= 180


def _imei(text: str) -> bool:
    return luhn(text) and not text.startswith(("34", "37"))


_US_PHONE = r"(?:\+?1[ .-]?)?\(?[0-9]{3}\)?[ .-][0-9]{3}[ .-][0-9]{4}"
_PHONE_PART = rf"(?<![0-9.+-])(\+[0-9][0-9 ()/.-]{{6,}}[0-9]|{_US_PHONE})(?![0-9])"
_IP_PART = r"(?<![0-9.])([0-9]{1,3}(?:\.[0-9]{1,3}){3})(?!\.?[0-9])"
_SSN_PART = r"(?<![0-9-])[0-9]{3}([- ])[0-9]{2}\1[0-9]{4}(?![0-9-])"
# Endings that are no words go anywhere; those of countries, some of which are, only before a path.
_COUNTRIES = "at|au|be|br|ca|ch|cn|de|dk|es|fi|fr|ie|in|io|it|jp|me|nl|no|nz|pl|pt|se|uk|us"
_DOMAINS = (
    r"(?i)(?:^|[\s(<,;])(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+"
    rf"(?:(?:com|org|net|edu|gov|mil|biz|info|eu)(?:[/:?#\s),;>.]|$)|(?:{_COUNTRIES})/[^\s/])"
)
_STATES = (
    "AL|AK|AZ|AR|CA|CO|CT|DE|DC|FL|GA|HI|ID|IL|IN|IA|KS|KY|LA|ME|MD|MA|MI|MN|MS|MO|MT|NE|NV|NH|"
    "NJ|NM|NY|NC|ND|OH|OK|OR|PA|RI|SC|SD|TN|TX|UT|VT|VA|WA|WV|WI|WY"
)
MBI_LETTER = "[AC-HJKMNP-RT-Y]"
DETECTORS = (
    Detector(6, "e-mail addresses", r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}"),
    Detector(14, "web addresses", r"(?i)\bhttps?://|\bwww\.[a-z0-9-]+\.[a-z]{2,}|" + _DOMAINS),
    Detector(
        7,
        "social security numbers",
        r"\b\d{3}(?:-\d{2}-| \d{2} )\d{4}\b",
        lambda text: any(ssn(part[0]) for part in re.finditer(_SSN_PART, text)),
    ),
    Detector(7, "social security numbers", r"^\d{9}$", ssn, 0.5, 0.9),
    Detector(
        15,
        "network addresses",
        r"^\s*(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*)\s*$",
        _address,
    ),
    Detector(
        15,
        "network addresses",
        r"\d{1,3}(?:\.\d{1,3}){3}",
        _in_words(_IP_PART, _address),
    ),
    Detector(10, "account numbers (IBAN)", PATTERNS["account numbers (IBAN)"], lambda text: valid("iban", text)),
    Detector(13, "hardware addresses (MAC)", r"^(?i)[0-9a-f]{2}(?:[:-][0-9a-f]{2}){5}$"),
    Detector(2, "ZIP codes with nine digits", r"^\d{5}-\d{4}$"),
    Detector(
        2,
        "street addresses",
        r"(?i)^\d+[a-z]?\s+(?:[\w.'-]+\s+){1,4}(?:street|st|avenue|ave|road|rd|drive|dr|lane|ln|boulevard|blvd|court|ct|way)\b",
    ),
    Detector(
        2,
        "street addresses",
        r"[ ,;(]\d+[A-Za-z]?\s+(?:\p{Lu}[\w.'-]+\s+){1,3}"
        r"(?:Street|Avenue|Road|Drive|Lane|Boulevard|St\.|Ave\.?|Rd\.?|Blvd\.?)(?:\W|$)",
    ),
    Detector(2, "ZIP codes behind a state", rf"(?:^|, ?)(?:{_STATES}),? \d{{5}}\b"),
    Detector(
        1,
        "names of people behind a title",
        r"\b(?:Mr|Mrs|Ms|Miss|Dr|Herr|Frau|Signora?|Mme|Madame)\.? \p{Lu}[\p{Ll}'’-]+",
    ),
    Detector(8, "medical record numbers", r"^(?i)(?:mrn|pat|pt)[-_ #:]?\d{4,}$"),
    Detector(8, "medical record numbers", r"(?i)\b(?:mrn|(?:medical )?record (?:number|no\.?)|patient id)[ :#]*\d{4,}"),
    Detector(
        9,
        "Medicare numbers",
        f"^[1-9]{MBI_LETTER}(?:{MBI_LETTER}|\\d)\\d-?{MBI_LETTER}(?:{MBI_LETTER}|\\d)\\d-?{MBI_LETTER}{{2}}\\d{{2}}$",
    ),
    Detector(17, "images", r"(?i)^data:image/|\.(?:jpe?g|png|gif|bmp|tiff?|heic|dcm)$"),
    Detector(18, "unique keys (UUID)", PATTERNS["unique keys (UUID)"]),
    Detector(
        4,
        "telephone numbers",
        r"^(?:\+\d[\d ()/.-]{6,}\d|(?:\+?1[ .-]?)?\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4})(?:\s*x\d+)?$",
        _phone,
        0.5,
    ),
    Detector(
        4,
        "telephone numbers",
        r"\d{3}\)?[ .-]\d{3}[ .-]\d{4}|\+\d[\d ()/.-]{6,}\d",
        _in_words(_PHONE_PART, _phone),
    ),
    Detector(
        4,
        "telephone numbers",
        r"(?i)\b(?:call|phone|telephone|tel|cell|mobile|contact|reach|fax)\b\D{0,20}1?[2-9]\d{2}[2-9]\d{6}\b",
    ),
    Detector(4, "telephone numbers", r"^1?[2-9]\d{2}[2-9]\d{6}$", _phone, 0.9, 0.9),
    Detector(11, "provider numbers (NPI)", r"^[12]\d{9}$", npi, 0.5),
    Detector(
        2,
        "coordinates",
        r"^\(?[-+]?\d{1,2}\.\d+(?:\s*[,;]\s*|\s+)[-+]?\d{1,3}\.\d+\)?$",
        lambda text: _place(text) and (not text.startswith("(") or re.search(r"\.\d{3}", text) is not None),
        0.5,
    ),
    Detector(2, "coordinates", r"(?i)\bpoint ?z? ?\(\s*[-+]?\d"),
    Detector(2, "coordinates", r"\d{1,3}°\s*\d{1,2}(?:[.,]\d+)?\s*['′’]"),
    Detector(
        3, "ages over 89", r"(?i)\d[ -]?(?:y/?o\b|years?|yrs?)|\baged?:? \d", lambda text: OLD.search(text) is not None
    ),
    Detector(9, "NHS numbers", r"^\d{3} \d{3} \d{4}$", lambda text: valid("gb.nhs", text), 0.5),
    Detector(
        10,
        "card numbers",
        r"^(?:\d{13,14}|\d{16,19}|3[47]\d{13}|\d{4}[ -]\d{4}[ -]\d{4}[ -]\d{1,7}|3[47]\d{2}[ -]\d{6}[ -]\d{5})$",
        luhn,
        0.5,
    ),
    Detector(13, "device numbers (IMEI)", r"^\d{15}$", _imei, 0.5),
    Detector(12, "vehicle identification numbers", r"^(?i)[A-HJ-NPR-Z0-9]{17}$", vin, 0.5),
)


def detect(text: pl.Series, count: pl.Series) -> list[tuple[Detector, float]]:
    """The detectors that a column sets off, each with its share of the known values.

    `text` are distinct printed values, `count` how often each occurs.
    """
    rows = int(count.sum())
    found = []
    for detector in DETECTORS if rows else ():
        hits = text.str.contains(detector.pattern)
        if not hits.any():
            continue
        share = int(count.filter(hits).sum()) / rows
        if detector.check is not None and share > detector.least:
            some = text.filter(hits).head(MOST).to_list()
            right = sum(map(detector.check, some)) / len(some)
            share *= right
        if detector.distinct and int(hits.sum()) < detector.distinct * int(count.filter(hits).sum()):
            continue
        if share > detector.least:
            found.append((detector, share))
    return found
