"""Prefixes: codes whose first characters say what they lie in, postcodes among them."""

from __future__ import annotations

import re
from functools import partial
from typing import Annotated, NamedTuple

from sfumato.core.parameters import OneOf, Whole
from sfumato.errors import PolicyError
from sfumato.hierarchies.templates.template import Template


class Postcode(NamedTuple):
    """How the postcodes of a country are written, and how many of their characters each level shows.

    The groups of the pattern, joined by `joint`, are the code.
    """

    pattern: str
    shown: tuple[int, ...]
    digits: int = 0
    joint: str = ""


FOUR, FIVE = Postcode("([0-9]{4})", (3, 2, 1), 4), Postcode("([0-9]{5})", (3, 2, 1), 5)
POSTCODES = {
    "at": FOUR,
    "au": FOUR,
    "be": FOUR,
    "ca": Postcode("([A-Z][0-9][A-Z]) ?([0-9][A-Z][0-9])", (3, 2, 1), joint=" "),
    "ch": FOUR,
    "cz": Postcode("([0-9]{3}) ?([0-9]{2})", (3, 2, 1), 5, " "),
    "de": Postcode("(?:D-)?([0-9]{5})", (3, 2, 1), 5),
    "dk": FOUR,
    "es": Postcode("([0-9]{5})", (3, 2), 5),  # two digits are a province
    "fi": FIVE,
    "fr": Postcode("([0-9]{5})", (3, 2), 5),  # two digits are a departement
    "it": FIVE,
    "lu": Postcode("(?:L-)?([0-9]{4})", (3, 2, 1), 4),
    "nl": Postcode("([0-9]{4})(?: ?([A-Z]{2}))?", (4, 3, 2, 1), joint=" "),
    "no": FOUR,
    "pl": Postcode("([0-9]{2})-?([0-9]{3})", (4, 2, 1), 5, "-"),
    "pt": Postcode("([0-9]{4})(?:-?([0-9]{3}))?", (4, 3, 2, 1), joint="-"),
    "se": Postcode("([0-9]{3}) ?([0-9]{2})", (3, 2, 1), 5, " "),
    "uk": Postcode("([A-Z]{1,2}[0-9][0-9A-Z]?) ?([0-9])([A-Z]{2})", ()),
    "us": Postcode("([0-9]{5})(?:-?([0-9]{4}))?", (5, 3, 1), 5, "-"),
}


def masked(code: str, shown: int) -> str:
    """A code of which so many letters and digits are shown, as 080** or 00-9**.

    >>> masked("08012", 3), masked("00-950", 3)
    ('080**', '00-9**')
    """
    signs, found = 0, []
    for sign in code:
        signs += sign.isalnum()
        found.append(sign if signs <= shown or not sign.isalnum() else "*")
    return "".join(found)


def _postcode(country: str, text: str) -> list[str] | None:
    """The areas that a postcode lies in.

    >>> _postcode("uk", "SW1A 1AA"), _postcode("nl", "1012 AB"), _postcode("us", "12345-6789")
    (['SW1A 1', 'SW1A', 'SW'], ['1012', '101*', '10**', '1***'], ['12345', '123**', '1****'])
    """
    form = POSTCODES[country]
    found = re.fullmatch(form.pattern, text.upper(), re.ASCII)
    if found is None:
        return None
    if country == "uk":
        return [f"{found[1]} {found[2]}", found[1], re.split("[0-9]", found[1])[0]]
    parts = [part for part in found.groups() if part]
    if form.pattern.endswith("?"):  # not all codes have the second part, so no label has it
        return [masked(parts[0], shown) for shown in form.shown]
    return [masked(form.joint.join(parts), shown) for shown in form.shown]


COUNTRY, LENGTH = OneOf(tuple(POSTCODES)), Whole(1)


def postcode(country: Annotated[str, COUNTRY]) -> Template:
    """Postcodes of a country by their structure: 01067, 010**, 01***, 0**** of Germany; SW1A 1AA, SW1A 1, SW1A, SW.

    `country`: at, au, be, ca, ch, cz, de, dk, es, fi, fr, it, lu, nl, no, pl, pt, se, uk or us. Postcodes that were
    read as numbers get their leading zeros back.

    >>> postcode("de").describe()
    'postcode:de'
    """
    COUNTRY(country, "country of postcode")
    hint = "look for postcodes of other countries, which want a hierarchy of their own; empty cells stay missing"
    path, form = partial(_postcode, country), POSTCODES[country]
    return Template(
        f"postcode:{country}",
        f"postcodes of {country}",
        path,
        hint,
        form.digits,
        masks=bool(form.shown),
        steps=len(form.shown) or 3,
    )


def _prefix(lengths: tuple[int, ...], text: str) -> list[str]:
    return [text[:length] + "*" * (len(text) - length) for length in lengths]


def prefix(*lengths: Annotated[int, LENGTH]) -> Template:
    """Codes by their first characters: prefix:5,2 of 08012001 is 08012***, then 08******.

    `lengths`: how many characters each level shows, in any order. For nested codes of regions and others: AGS
    (prefix:5,3,2), ISTAT (prefix:3), FIPS of counties (prefix:2).

    >>> prefix(2, 5).describe()
    'prefix:5,2'
    """
    if len(lengths) == 1 and isinstance(lengths[0], list | tuple):
        lengths = tuple(lengths[0])
    if not lengths:
        raise PolicyError("prefix takes at least one length", hint="prefix:2 shows two characters")
    shown = tuple(sorted({LENGTH(length, "a length of prefix") for length in lengths}, reverse=True))
    name = f"prefix:{','.join(map(str, shown))}"
    return Template(name, "codes", partial(_prefix, shown), "", fill=True, masks=True)
