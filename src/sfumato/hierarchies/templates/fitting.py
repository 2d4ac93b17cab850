"""Which template fits a column, by the words of its name and its values."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.core.hierarchy import Categories, leaves_of
from sfumato.core.roles import name_runs
from sfumato.hierarchies.templates.amounts import OLDEST
from sfumato.hierarchies.templates.icd10 import icd10
from sfumato.hierarchies.templates.occupations import isced, isco, nace
from sfumato.hierarchies.templates.places import countries, ip, nuts
from sfumato.hierarchies.templates.prefixes import postcode
from sfumato.hierarchies.templates.template import Template

Spec = dict[str, Any]  # as in a policy file

_WORDS = {  # of column names, as `core.roles` reads them
    "age": "age ages alter eta edad idade leeftijd",
    "coordinates": "lat latitude lon lng longitude breitengrad laengengrad langengrad latitudine longitudine",
    "countries": "country countries land pays pais paese nation nationality nativecountry birthcountry citizenship "
    "staatsangehorigkeit staatsangehoerigkeit nationalitat nationalitaet nazionalita cittadinanza herkunftsland",
    "icd10": "icd icd10 diagnosis diagnoses diagnose diagnosi dx",
    "nuts": "nuts nuts1 nuts2 nuts3",
    "isco": "isco isco08 occupation job beruf professione profession",
    "nace": "nace ateco wz wz2008 industry branche wirtschaftszweig",
    "isced": "isced isced11 isced2011",
    "income": "income salary wage wages earnings einkommen gehalt lohn reddito stipendio revenu salaire",
}
WORDS = {name: frozenset(words.split()) for name, words in _WORDS.items()}
_POSTCODES = {  # how postcodes are called, and where
    "plz postleitzahl": "de at",
    "cap": "it",
    "codepostal": "fr",
    "codigopostal": "es",
    "zip zipcode": "us",
    "postcode postcodes postalcode postal": "uk ca nl",
    "postnummer": "se dk",
}
NAMED_POSTCODES = [(frozenset(words.split()), places.split()) for words, places in _POSTCODES.items()]
REGIONS: dict[str, dict[int, list[int]]] = {  # length of a code to the prefixes that are regions too
    "ags": {8: [5, 2], 5: [2]},
    "fips": {5: [2]},
    "istat": {6: [3]},
}
CODES = (icd10, ip, countries, nuts, isco, nace, isced)
FEW = 10  # numbers that are better kept or dropped than grouped


def fitting(categories: Categories) -> Spec | None:
    """The template that fits name and values of a column, as in a policy file; None where none does."""
    words, values = name_runs(categories.name), leaves_of(categories)
    if not values or categories.kind in ("date", "datetime", "boolean"):
        return None
    for make in CODES:
        if _fits(make(), categories) and (words & WORDS.get(make.__name__, set()) or _telling(make.__name__, values)):
            return {make.__name__: True}
    for names, places in NAMED_POSTCODES:
        if words & names and (found := next((place for place in places if _fits(postcode(place), categories)), None)):
            return {"postcode": found}
    lengths = {len(text) for text in values}
    for name, prefixes in REGIONS.items():
        shown = prefixes.get(max(lengths))
        if name in words and shown and len(lengths) == 1 and all(map(str.isdigit, values)):
            return {"prefix": shown}
    return _amount(words, categories) if len(values) > FEW else None


def _fits(template: Template, categories: Categories) -> bool:
    return all(path is not None for path in template.paths(categories))


def _telling(name: str, values: tuple[str, ...]) -> bool:
    """Whether values that all fit a template are hardly anything else, whatever their column is called."""
    if name == "ip":
        return True
    if name == "icd10":
        return len(values) >= 5 and all(len(text) > 4 and text[3] == "." for text in values)
    if name == "countries":
        return len(values) >= 5 and all(len(text) > 2 for text in values)
    return name == "nuts" and len(values) >= 5 and all(len(text) == 5 and text[-1].isdigit() for text in values)


def _amount(words: frozenset[str], categories: Categories) -> Spec | None:
    """The template of a number."""
    if categories.kind not in ("integer", "decimal") or categories.position is None:
        return None
    known = categories.position[: len(categories) - categories.missing]
    low, high = float(known.min()), float(known.max())
    if words & WORDS["age"] and low >= 0 and high <= OLDEST and bool((known == np.round(known)).all()):
        return {"age": True}
    if words & WORDS["coordinates"] and low >= -180 and high <= 180 and categories.kind == "decimal":
        return {"coordinates": True}
    return {"income": True} if words & WORDS["income"] and high >= 10_000 and low >= 0 else None
