"""Countries, regions, coordinates and addresses on the internet: what they lie in."""

from __future__ import annotations

import csv
import ipaddress
import re
import unicodedata
from collections import Counter
from functools import cache
from importlib.resources import files

from sfumato.hierarchies.intervals import intervals
from sfumato.hierarchies.templates.template import NumberTemplate, Template

_NUTS = (
    "AL AT BA BE BG CH CY CZ DE DK EE EL ES FI FR HR HU IE IS IT LI LT LU LV ME MK MT NL NO PL PT RO RS SE SI SK TR UK"
)
NUTS = frozenset((*_NUTS.split(), "XK"))
ARTICLE = re.compile(r"^(the|die|der|das|il|la|lo|le|gli|i) ")


@cache
def known_countries() -> dict[str, list[str]]:
    """Region and continent of each code and name."""
    text = files("sfumato.hierarchies.templates").joinpath("countries.csv").read_text(encoding="utf-8")
    found = {}
    for row in csv.DictReader(text.splitlines()):
        for name in (row["alpha2"], row["alpha3"], *row["names"].split("|")):
            found[spelt(name)] = [row["region"], row["continent"]]
    return found


def spelt(name: str) -> str:
    """A name of a country in one spelling: without accents, signs and article.

    >>> spelt("Côte d'Ivoire"), spelt("The Netherlands")
    ('cote d ivoire', 'netherlands')
    """
    letters = unicodedata.normalize("NFKD", name.replace("ß", "ss").replace("&", " and ").casefold())
    plain = re.sub("[^a-z0-9]+", " ", "".join(c for c in letters if not unicodedata.combining(c))).strip()
    return ARTICLE.sub("", plain)


def _country(text: str) -> list[str] | None:
    return known_countries().get(spelt(text))


@cache
def _in_region() -> Counter[str]:
    """How many countries lie in each region and continent."""
    found = {code: where for code, where in known_countries().items() if len(code) == 2 and code != "uk"}
    return Counter(name for where in found.values() for name in {*where})


def _countries_in(label: str) -> int:
    return _in_region().get(label, 1)


def countries() -> Template:
    """Countries: region and continent of the United Nations, as Italy, Southern Europe, Europe.

    Countries are codes of two or three letters (ISO 3166), or names in English, German or Italian.

    >>> countries().describe()
    'countries'
    """
    hint = "write ISO 3166 codes, or names in English, German or Italian; empty cells stay missing"
    return Template("countries", "countries of ISO 3166", _country, hint, size=_countries_in, domain=250, steps=2)


def _nuts(text: str) -> list[str] | None:
    """The regions that a region lies in.

    >>> _nuts("ITC41")
    ['ITC4', 'ITC', 'IT']
    """
    code = text.upper()
    return [code[:n] for n in (4, 3, 2)] if re.fullmatch("[A-Z]{2}[0-9A-Z]{0,3}", code) and code[:2] in NUTS else None


def _nuts_size(label: str) -> int:
    """How many regions a label stands for, ten to the next larger one."""
    return 10 ** (5 - len(label))


def nuts() -> Template:
    """Regions of Europe, NUTS: ITC41, ITC4, ITC, IT.

    >>> nuts().describe()
    'nuts'
    """
    hint = "codes are those of Eurostat, as ITC41; Greece is EL"
    return Template("nuts", "NUTS codes", _nuts, hint, size=_nuts_size, domain=1000 * len(NUTS), steps=3)


def _ip(text: str) -> list[str] | None:
    """The networks that an address lies in.

    >>> _ip("192.0.2.7"), _ip("2001:db8:1:2::5")[0]
    (['192.0.2.0/24', '192.0.0.0/16', '192.0.0.0/8'], '2001:db8:1:2::/64')
    """
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    if "%" in text:  # a zone is of one machine
        return None
    sizes = (24, 16, 8) if address.version == 4 else (64, 48, 32)
    return [str(ipaddress.ip_network((address, size), strict=False)) for size in sizes]


def ip() -> Template:
    """IP addresses by network: /24, /16 and /8 of version 4, /64, /48 and /32 of version 6.

    >>> ip().describe()
    'ip'
    """
    return Template("ip", "IP addresses", _ip, "addresses are written 192.0.2.7 or 2001:db8::7", steps=3)


def coordinates() -> NumberTemplate:
    """Latitude or longitude in decimal degrees: intervals of 0.01, 0.1, 1 and 10.

    0.01 of a degree is a kilometre or less.

    >>> coordinates().describe()
    'coordinates'
    """
    return NumberTemplate("coordinates", "degrees", intervals("0.01", "0.1", 1, 10), -180, 180)
