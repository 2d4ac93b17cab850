"""ISCO-08, NACE Rev. 2 and ISCED 2011: occupations, industries and education."""

from __future__ import annotations

import re
from bisect import bisect_right

from sfumato.hierarchies.templates.template import Template

MAJOR_GROUPS = (
    "0 Armed forces occupations",
    "1 Managers",
    "2 Professionals",
    "3 Technicians and associate professionals",
    "4 Clerical support workers",
    "5 Service and sales workers",
    "6 Skilled agricultural workers",
    "7 Craft and related trades workers",
    "8 Plant and machine operators",
    "9 Elementary occupations",
)
_SUB_MAJOR = (
    "01 02 03 11 12 13 14 21 22 23 24 25 26 31 32 33 34 35 41 42 43 44 51 52 53 54 61 62 63 71 72 73 74 75 81 82 83 "
    "91 92 93 94 95 96"
)
SUB_MAJOR = frozenset(_SUB_MAJOR.split())
SECTIONS = (  # first and last division, letter and title
    (1, 3, "A Agriculture"),
    (5, 9, "B Mining"),
    (10, 33, "C Manufacturing"),
    (35, 35, "D Electricity and gas"),
    (36, 39, "E Water and waste"),
    (41, 43, "F Construction"),
    (45, 47, "G Trade"),
    (49, 53, "H Transport"),
    (55, 56, "I Accommodation and food"),
    (58, 63, "J Information and communication"),
    (64, 66, "K Finance and insurance"),
    (68, 68, "L Real estate"),
    (69, 75, "M Professional and scientific"),
    (77, 82, "N Administrative services"),
    (84, 84, "O Public administration"),
    (85, 85, "P Education"),
    (86, 88, "Q Health and social work"),
    (90, 93, "R Arts and recreation"),
    (94, 96, "S Other services"),
    (97, 98, "T Households"),
    (99, 99, "U Extraterritorial organisations"),
)
ATTAINMENT = ("low (0-2)",) * 3 + ("medium (3-4)",) * 2 + ("high (5-8)",) * 4


def _isco(text: str) -> list[str] | None:
    """Minor, sub-major and major group of an occupation.

    >>> _isco("2512"), _isco("110")
    (['251', '25', '2 Professionals'], ['011', '01', '0 Armed forces occupations'])
    """
    code = "0" + text if text in ("110", "210", "310") else text  # no minor groups, but of the armed forces
    if not re.fullmatch("[0-9]{1,4}", code, re.ASCII) or (len(code) > 1 and code[:2] not in SUB_MAJOR):
        return None
    return [code[:3], code[:2], MAJOR_GROUPS[int(code[0])]]


def _isco_size(label: str) -> int:
    """How many codes a label stands for, ten to a group."""
    return 10 ** (4 - len(label)) if label.isdigit() else 1000


def isco() -> Template:
    """Occupations of ISCO-08: 2512, minor group 251, sub-major group 25, major group 2 Professionals.

    Codes have one to four digits.

    >>> isco().describe()
    'isco'
    """
    hint = "codes have one to four digits, as 2512"
    return Template("isco", "ISCO-08 codes", _isco, hint, size=_isco_size, domain=10_000, steps=3)


def _nace(text: str) -> list[str] | None:
    """Group, division and section of an industry.

    >>> _nace("01.11"), _nace("P85"), _nace("6201")[2]
    (['01.1', '01', 'A Agriculture'], ['85', '85', 'P Education'], 'J Information and communication')
    """
    found = re.fullmatch(
        r"([A-U])?([0-9]{1,2})(?:\.([0-9]{1,2}))?|([A-U])?([0-9]{2})([0-9]{1,2})", text.upper(), re.ASCII
    )
    if found is None:
        return None
    letter, division, rest = found[1] or found[4], (found[2] or found[5]).zfill(2), found[3] or found[6] or ""
    at = bisect_right(SECTIONS, (int(division), 100, "")) - 1
    if at < 0 or int(division) > SECTIONS[at][1] or (letter and letter != SECTIONS[at][2][0]):
        return None
    return [f"{division}.{rest[0]}" if rest else division, division, SECTIONS[at][2]]


def _nace_size(label: str) -> int:
    """How many codes a label stands for, ten to a group and a hundred to a division."""
    section = next((100 * (last - first + 1) for first, last, title in SECTIONS if title == label), None)
    digits = label.lstrip("ABCDEFGHIJKLMNOPQRSTU").replace(".", "")
    return section or 10 ** max(4 - len(digits), 0)


def nace() -> Template:
    """Industries of NACE Rev. 2: 01.11, group 01.1, division 01, section A Agriculture.

    Codes stand with or without their dot and the letter of their section.

    >>> nace().describe()
    'nace'
    """
    hint, domain = "write codes as 01.11, 0111 or A01.11", 100 * sum(last - first + 1 for first, last, _ in SECTIONS)
    return Template("nace", "NACE Rev. 2 codes", _nace, hint, fill=True, size=_nace_size, domain=domain)


def _isced(text: str) -> list[str] | None:
    """Level and attainment, low, medium or high.

    >>> _isced("ISCED 3"), _isced("665")
    (['3', 'medium (3-4)'], ['6', 'high (5-8)'])
    """
    found = re.fullmatch(r"(?:ISCED|ED|LEVEL)?[ _-]*([0-8])(?:[0-9]{2})?", text.upper(), re.ASCII)
    return None if found is None else [found[1], ATTAINMENT[int(found[1])]]


def _isced_size(label: str) -> int:
    """How many levels a label stands for."""
    return max(ATTAINMENT.count(label), 1)


def isced() -> Template:
    """Education levels of ISCED 2011: 0 to 8, then low (0-2), medium (3-4) or high (5-8).

    Codes of three digits count by their first.

    >>> isced().describe()
    'isced'
    """
    hint = "levels are 0 to 8, or codes of three digits"
    return Template("isced", "ISCED 2011 levels", _isced, hint, size=_isced_size, domain=9, steps=2)
